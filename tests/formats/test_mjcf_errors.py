"""Wrong MJCF files end in one message with file, line and a way out."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import sixfold as sf
from tests.formats.mjcf_mutations import CHAIN, mutant

pytest.importorskip("mujoco", reason="MJCF needs the mujoco package")

MUTANTS = int(os.environ.get("SIXFOLD_MJCF_MUTANTS", "500"))
BODY = '<body name="b">\n<joint/>\n<geom size="0.1"/>\n</body>'


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.xml"
    path.write_text(text)
    return path


def world(inside: str, top: str = "") -> str:
    return f"<mujoco>\n{top}<worldbody>\n{inside}\n</worldbody>\n</mujoco>"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            world('<body pos="0 nan 0"/>'),
            3,
            "attribute 'pos' is not a finite(.|\n)*pos=\"0 nan 0\"",
        ),
        (world('<body pos="0 1,5 0"/>'), 3, "attribute 'pos' is not a finite number"),
        (world('<body pos="a"/>'), 3, "attribute 'pos' is not a finite number"),
        (world("<body pos='0 1e999 0'/>"), 3, "attribute 'pos' is not a finite number"),
        (world('<body pos="0 1"/>'), 3, "does not have enough data"),
        (world("<body>\n<wheels/></body>"), 4, "wheels"),
        (world('<body colour="red"/>'), 3, "colour"),
        (world('<body>\n<joint type="knee"/></body>'), 4, "invalid keyword: 'knee'"),
        (world('<body name="a"/>\n<body name="a"/>'), 4, "repeated name 'a'"),
        (world('<body name="a">\n<joint/></body>'), 3, "mass and inertia of moving bodies"),
        (world('<geom size="1"/>\n<geom type="mesh" mesh="x"/>'), 4, "mesh 'x' not found"),
        (world("<body>\n<freejoint/><geom size='1'/><joint/></body>"), 3, "more than 6 dofs"),
        (
            world('<body><inertial mass="1" pos="0 0 0" diaginertia="1 1 9"/></body>'),
            3,
            "A . B >= C",
        ),
        (
            world("", '<asset><model name="m" file="m.xml"/></asset>\n'),
            2,
            "model file 'm.xml': there is no such file",
        ),
        (world('<attach model="m" body="b" prefix="p"/>'), 3, "<attach>: no <model> has the name"),
        (
            world("", '<asset><model name="m" file="robot.xml"/></asset>\n'),
            2,
            "<model>: 'robot.xml' contains itself",
        ),
        (world('<include file="none.xml"/>'), 3, "included file 'none.xml': there is no such file"),
        (world('<include file="robot.xml"/>'), 3, "<include>: 'robot.xml' is included twice"),
        (world("<include/>"), 3, "<include>: no attribute 'file'"),
        (world('<include file="/etc/hostname"/>'), 3, "outside the folders that may be read"),
        (world(f'<replicate count="2000">{BODY}</replicate>'), 4, "more than 4,000 replicated"),
        (world('<replicate count="1e18"><site/></replicate>'), 3, "more than 4,000 replicated"),
        (world("<site/>" * 20_001), 3, "more than 20,000 elements"),
        (world("<body>" * 401 + "</body>" * 401), 3, "nested more than 400 deep"),
        (
            world("", '<asset><mesh name="m" builtin="plate" params="999 999"/></asset>\n'),
            2,
            "a built-in mesh",
        ),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><mujoco/>", 1, "document type"),
        ("<mujoco>\n<worldbody>\n</mujoco>", 3, "mismatched tag"),
    ],
)
def test_an_error_names_file_and_line(tmp_path, text, line, says):
    path = written(tmp_path, text)
    with pytest.raises(sf.errors.RobotFileError, match=says) as caught:
        sf.load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert "\n  fix: " in str(caught.value)


def test_sums_that_overflow_are_refused(tmp_path):
    far = '<body pos="1e308 0 0"><geom size="1"/></body>'
    path = written(tmp_path, world(f'<body name="b"><joint/><geom size="1"/>{far}</body>'))
    with pytest.raises(sf.errors.RobotFileError, match=r"overflow|huge value"):
        sf.load(path)


def test_textures_height_fields_and_sizes_cost_nothing(tmp_path):
    top = """<size memory="1000G" nconmax="1000000000"/>
      <asset><texture type="2d" builtin="flat" width="1000000" height="1000000"/>
      <hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>"""
    path = written(tmp_path, world('<geom type="hfield" hfield="h"/>' + BODY, top))
    with pytest.warns(sf.errors.RobotFileWarning, match="1 x field"):
        assert sf.load(path).nv == 1


def test_a_deep_chain_loads(tmp_path):
    link = '<body pos="0 0 0.1"><joint axis="0 1 0"/><geom size="0.1" contype="0" conaffinity="0"/>'
    path = written(tmp_path, world(link * 300 + "</body>" * 300))
    assert sf.load(path).nv == 300


def test_the_undamaged_files_load(tmp_path):
    with pytest.warns(sf.errors.RobotFileWarning):
        assert sf.load(written(tmp_path, CHAIN)).nv == 11


RUN = """
import sys, time
from pathlib import Path
import warnings
warnings.simplefilter("ignore")
import numpy as np
import sixfold as sf
from tests.formats.mjcf_mutations import mutant

path = Path("robot.xml")
loaded, slowest = 0, 0.0
for number in range(int(sys.argv[1])):
    path.write_bytes(mutant(number))
    start = time.process_time()
    try:
        model = sf.load(path)
    except sf.errors.RobotFileError as error:
        assert error.line >= 1, (number, error)
        assert "fix: " in str(error), (number, error)
    else:
        loaded += 1
        for body in model.bodies:
            numbers = [float(x) for x in (*body.inertia.parameters(), *body.placement.r)]
            assert np.isfinite(numbers).all(), number
    slowest = max(slowest, time.process_time() - start)
status = Path("/proc/self/status")  # the peak since the process began, in kB
peaks = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")] \\
    if status.exists() else ["VmHWM: 0 kB"]
print(loaded, slowest, int(peaks[0].split()[1]) // 1024)
"""


def test_damaged_files_end_in_a_model_or_in_a_message(tmp_path):
    """In a process of its own, so that a crash is a failure and the memory can be measured."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(MUTANTS)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
        capture_output=True,
        text=True,
        timeout=60 + MUTANTS / 5,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded, _, megabytes = done.stdout.split()
    assert 0 < int(loaded) < MUTANTS
    assert int(megabytes) < 256
    assert sorted(p.name for p in tmp_path.iterdir()) == ["robot.xml"]


def test_the_corpus_is_the_same_every_time():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [mutant(n) for n in range(50)] == [mutant(n) for n in range(50)]
    assert len({mutant(n) for n in range(300)}) > 280
