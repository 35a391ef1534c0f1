"""What is no regular file is neither waited for nor replaced: pipes, devices, folders, streams."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import sixfold as sf
from sixfold.display import plot, write_report
from sixfold.display.scene.surfaces import read_surfaces
from sixfold.identification import Log
from sixfold.sweeps.study_file import read_study
from sixfold.symbolic.code import Code

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes in folders are POSIX")

READERS = {
    "load.urdf": "sf.load(path)",
    "load.json": "sf.load(path)",
    "load.xml": "sf.load(path)",
    "constraints.json": "sf.load('pendulum', constraints=path)",
    "motion.npz": "sf.Trajectory.load(path)",
    "study.toml": "read_study(path)",
    "log.npz": "Log.read(path, sf.load('pendulum'))",
    "log.csv": "Log.read(path, sf.load('pendulum'))",
    "log.parquet": "Log.read(path, sf.load('pendulum'))",
    "mesh.stl": "read_surfaces(Path(path))",
}
START = """
import sys, sixfold as sf
from pathlib import Path
from sixfold.identification import Log
from sixfold.display.scene.surfaces import read_surfaces
from sixfold.sweeps.study_file import read_study
path = sys.argv[1]
try:
    {call}
except sf.errors.SixfoldError as error:
    print(type(error).__name__, error)
"""


def outcome(call, path):
    """Return what a call says in a process that may not take forever."""
    done = subprocess.run(
        [sys.executable, "-c", START.format(call=call), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_by_every_reader(name, tmp_path):
    path = tmp_path / name
    os.mkfifo(path)
    assert "is not a regular file" in outcome(READERS[name], path)


@pytest.mark.parametrize("name", READERS)
def test_a_link_to_an_endless_device_is_refused_by_every_reader(name, tmp_path):
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    assert "is not a regular file" in outcome(READERS[name], path)


@pytest.mark.parametrize("name", READERS)
def test_links_that_lead_nowhere_and_folders_are_refused_by_every_reader(name, tmp_path):
    circle, folder = tmp_path / f"circle-{name}", tmp_path / f"folder-{name}"
    circle.symlink_to(circle)
    folder.mkdir()
    space = {"sf": sf, "Log": Log, "read_surfaces": read_surfaces, "read_study": read_study}
    for path in (circle, folder):
        with pytest.raises(sf.errors.SixfoldError) as caught:
            eval(READERS[name], {**space, "Path": Path, "path": str(path)})
        assert path.name in str(caught.value)


@pytest.fixture(scope="module")
def swing():
    return sf.simulate(sf.load("pendulum"), [0.3], None, 0.01)


def _write(path, swing):
    """Write a motion, its robot or a picture of it, by the suffix of the path."""
    suffix = path.suffix[1:]
    if suffix in ("urdf", "json"):
        sf.save(swing.model, path)
    elif suffix == "html":
        write_report(path, swing.model, swing)
    elif suffix in ("svg", "png"):
        plot(swing, path)
    elif suffix == "gif":
        swing.animate(path, fps=1, size=(64, 64))
    elif suffix == "c":
        Code({path.name: "int x;"}, 0).write(path.parent)
    else:
        swing.save(path)


SUFFIXES = ("urdf", "json", "npz", "csv", "parquet", "mcap", "html", "svg", "png", "gif", "c")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_pipe_is_neither_waited_for_nor_replaced(suffix, swing, tmp_path):
    path = tmp_path / f"out.{suffix}"
    os.mkfifo(path)
    with pytest.raises(sf.errors.OutputFileError, match="is not a regular file"):
        _write(path, swing)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_link_to_a_device_leaves_the_device_a_device(suffix, swing, tmp_path):
    path = tmp_path / f"out.{suffix}"
    path.symlink_to("/dev/null")
    with pytest.raises(sf.errors.OutputFileError, match="is not a regular file"):
        _write(path, swing)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_stream_of_the_process_is_not_taken_for_a_file(swing, tmp_path):
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stderr"):
        with pytest.raises(sf.errors.OutputFileError, match="a stream of this process"):
            write_report(name, swing.model, swing)


def test_a_link_stays_a_link_and_permissions_stay(swing, tmp_path):
    (tmp_path / "deep").mkdir()
    real, link = tmp_path / "deep" / "real.npz", tmp_path / "run.npz"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    swing.save(link)
    assert link.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640
    assert len(sf.Trajectory.load(link)) == len(swing)
    assert [p.name for p in real.parent.iterdir()] == ["real.npz"]


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_protected_file_stays_protected(swing, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(sf.errors.OutputFileError, match="write-protected"):
        swing.save(path)
    assert path.read_bytes() == b"old"


def test_the_longest_names_that_a_folder_takes_can_be_written(swing, tmp_path):
    path = tmp_path / ("\N{GRINNING FACE}" * 62 + ".npz")  # 252 bytes
    swing.save(path)
    assert len(sf.Trajectory.load(path)) == len(swing)
