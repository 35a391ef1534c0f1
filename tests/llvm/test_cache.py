"""The cache on disk: private, whole files only, and never in the way."""

import gc
import os
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build, toolchain
from sixfold.compiler.llvm.runtime import cache, jit, kernel
from tests.long import foreign_folders, full_disk, killed_writers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "kernels"
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(where))
    monkeypatch.delenv("SIXFOLD_CACHE", raising=False)
    return where


def make(scale=2.0):
    program = trace(lambda x: [x[0] * scale + x[1]], (2,))
    return build("f", program, Layout(((2,),), ((1,),)))[0]


X = np.array([[3.0, 4.0]])


def test_a_kernel_is_kept_in_a_private_folder_and_found_again(folder):
    make()
    (path,) = folder.glob("*.kernel")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = path.stat().st_mtime_ns
    assert make()(X) == 10.0
    assert path.stat().st_mtime_ns == before


def test_a_file_cut_anywhere_is_made_again(folder):
    make()
    (path,) = folder.glob("*.kernel")
    whole = path.read_bytes()
    for length in [*range(0, 80), *range(80, len(whole), 397)]:
        path.write_bytes(whole[:length])
        assert cache.read(path.stem) is None
    assert make()(X) == 10.0
    assert path.read_bytes() == whole


def test_a_file_with_any_byte_changed_is_not_used(folder):
    make()
    (path,) = folder.glob("*.kernel")
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(whole)
        damaged[int(rng.integers(len(whole)))] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        assert cache.read(path.stem) is None
    assert make()(X) == 10.0


def test_a_file_under_another_name_is_not_used(folder):
    make()
    (path,) = folder.glob("*.kernel")
    path.rename(folder / "0123.kernel")
    assert cache.read("0123") is None


def test_a_folder_that_others_can_write_to_is_not_trusted(folder):
    make()
    folder.chmod(0o777)
    (path,) = folder.glob("*.kernel")
    assert cache.read(path.stem) is None
    assert make()(X) == 10.0


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(blocked))
    assert make(3.0)(X) == 13.0


def test_the_cache_can_be_switched_off(folder, monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE", "off")
    make()
    assert not folder.exists()
    assert cache.folder() is None
    assert list(cache.entries()) == []
    assert cache.clear() == 0


def test_clearing_removes_kernels_and_leftovers(folder):
    make()
    (folder / ".writing-left").write_bytes(b"half")
    assert len(list(cache.entries())) == 1
    assert cache.clear() == 2
    assert list(folder.iterdir()) == []


def test_a_model_is_found_without_tracing_and_gives_the_same_bits(folder):
    code = (
        "import sixfold as sf, numpy as np, sys\n"
        "import sixfold.compiler.graph as graph\n"
        "def refuse(*a): raise AssertionError('traced')\n"
        "if sys.argv[1] == 'again': graph.trace = refuse\n"
        "m = sf.load('double_pendulum'); q, v = sf.random_state(m, 5, seed=1)\n"
        "print(sf.forward_dynamics(m, q, v, v).tobytes().hex())\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, word],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "SIXFOLD_CACHE_DIR": str(folder)},
        ).stdout
        for word in ("first", "again")
    ]
    assert runs[0] == runs[1]


def test_a_changed_algorithm_does_not_get_the_kernel_of_the_old_one(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(Path(cache.__file__).parents[3], source / "sixfold")
    code = (
        "import sixfold as sf; m = sf.load('double_pendulum')\n"
        "print(sf.potential_energy(m, [0.3, 0.4]))\n"
    )

    def energy():
        environment = {**os.environ, "SIXFOLD_CACHE_DIR": str(tmp_path / "kernels")}
        environment |= {"PYTHONPATH": str(source)}
        run = [sys.executable, "-c", code]
        return float(subprocess.check_output(run, text=True, env=environment))

    first = energy()
    page = source / "sixfold" / "dynamics" / "energy.py"
    page.write_text(page.read_text().replace("spring_energy(tree, q) -", "1000.0 -"))
    assert energy() == pytest.approx(first + 1000.0)


def test_object_code_depends_on_the_compiler_alone(monkeypatch):
    kernel._compiler.cache_clear()
    asked = []
    monkeypatch.setattr(kernel, "source_digest", lambda *names: asked.extend(names) or "another")
    try:
        assert "another" in kernel.toolchain()
        assert asked == ["compiler", "scalar"]
    finally:
        kernel._compiler.cache_clear()


def test_every_number_of_lanes_has_its_own_names(monkeypatch):
    names = set()
    for lanes in jit.WIDTHS:
        monkeypatch.setenv("SIXFOLD_LANES", str(lanes))
        names.add(toolchain())
    assert len(names) == len(jit.WIDTHS)


def test_many_threads_may_start_cold_together(folder):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: float(make(5.0)(X)[0, 0]), range(16)))
    assert results == [19.0] * 16


def test_kernels_come_and_go_without_growth(folder):
    program = trace(lambda x: [x[0] + x[1]], (2,))
    layout = Layout(((2,),), ((1,),))

    def cycle(times):
        for _ in range(times):
            assert build("f", program, layout)[0](X) == 7.0
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("memory is read from /proc")
    if not hasattr(np.add, "__dict__"):
        pytest.skip("ufuncs of this NumPy carry no attributes, and are kept")
    cycle(100)
    before = cycle(50)
    assert cycle(200) - before < 2_000_000


def test_the_command_shows_and_clears(folder):
    from click.testing import CliRunner

    from sixfold.cli import main

    make()
    shown = CliRunner().invoke(main, ["cache"])
    assert "1 kernels" in shown.output
    assert "removed 1" in CliRunner().invoke(main, ["cache", "--clear"]).output
    assert sf.__version__


def test_what_killed_writers_left_behind_is_swept(folder):
    make()
    old, new = folder / ".writing-old", folder / ".writing-new"
    for path in (old, new):
        path.write_bytes(b"half a file")
    os.utime(old, (1.0, 1.0))
    cache._sweep.cache_clear()
    make(7.5)
    assert not old.exists() and new.exists()


@pytest.mark.parametrize("case", foreign_folders.CASES, ids=lambda case: case.__name__)
def test_a_folder_with_traps_does_no_harm(case):
    foreign_folders.run(case)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("case", foreign_folders.AS_ROOT, ids=lambda case: case.__name__)
def test_a_folder_of_somebody_else_is_not_used(case):
    foreign_folders.run(case)


def test_a_writer_that_is_killed_at_any_step_leaves_no_half_file(monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", "set by the script")
    monkeypatch.delenv("SIXFOLD_CACHE", raising=False)
    steps, whole, left = killed_writers.run(2000)
    assert steps > 50 and whole > 0 and left == 0


def test_a_full_disk_is_no_error(folder):
    cache.write(full_disk.NAME, full_disk.PAYLOAD)
    assert full_disk.failing_calls() == 25
    assert full_disk.limited_files() == 6


def test_the_folder_stays_within_its_limit(folder, monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE_MB", "1")
    payload = bytes(40_000)
    for k in range(60):
        cache.write(f"{k:04}", payload)
        path = folder / f"{k:04}.kernel"
        os.utime(path, (1000.0 + k, 1000.0 + k))
        if k > 3:
            os.utime(folder / "0003.kernel", (5000.0, 5000.0))  # used again and again
    kept = sorted(path.stem for path in folder.glob("*.kernel"))
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1.2 * 2**20
    assert "0003" in kept and kept[1:] == [f"{k:04}" for k in range(61 - len(kept), 60)]


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    for name in ("SIXFOLD_CACHE_DIR", "XDG_CACHE_HOME", "SIXFOLD_CACHE"):
        monkeypatch.delenv(name, raising=False)

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache.Path, "home", nowhere)
    assert cache.folder() is None and cache.read("0123") is None
    cache.write("0123", b"payload")
