"""The doctor on real robots: the 69 URDFs of example-robot-data.

Counted are links with an <inertial>: mass exactly 0; a principal moment below zero by more than
rounding and dust; or else one above the sum of the others by more than 1e-9 of it.
"""

from collections import Counter

import pytest

import sixfold as sf
from sixfold.formats import bundled

FOLDER = bundled.folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="example-robot-data is not installed")


@pytest.fixture(scope="module")
def diagnoses():
    found = {}
    for path in sorted(FOLDER.rglob("*.urdf")):
        if path.name == "ur3.urdf":  # has no link
            continue
        found[path] = sf.diagnose(sf.load(path), samples=5)
    return found


def of_code(diagnoses, code):
    return [(path, f) for path, d in diagnoses.items() for f in d.findings if f.code == code]


def test_all_files_are_there(diagnoses):
    assert len(diagnoses) == 68


@pytest.mark.parametrize(
    ("code", "links", "files"),
    [("inertia-triangle", 47, 15), ("inertia-not-positive", 9, 4), ("mass-zero", 219, 37)],
)
def test_every_one_is_found_on_its_line(diagnoses, code, links, files):
    found = of_code(diagnoses, code)
    assert len(found) == links
    assert len({path for path, _ in found}) == files
    texts = {path: path.read_text(encoding="utf-8").splitlines() for path, _ in found}
    for path, finding in found:
        assert finding.file == str(path)
        line = texts[path][finding.line - 1]
        assert "<inertial" in line, (path.name, finding.line, line)
        name = finding.where.removeprefix("link ").strip("'")
        before = "\n".join(texts[path][: finding.line])
        assert f'"{name}"' in before[before.rindex("<link") :]


def test_the_grave_ones_are_errors_and_dust_is_a_note(diagnoses):
    severities = Counter(f.severity for _, f in of_code(diagnoses, "inertia-triangle"))
    assert severities == {"error": 28, "warning": 5, "note": 14}
    notes = {p.name for p, f in of_code(diagnoses, "inertia-triangle") if f.severity == "note"}
    assert notes == {"icub.urdf", "icub_reduced.urdf"}


@pytest.mark.parametrize("name", ["panda.urdf", "ur5_robot.urdf", "g1_29dof_rev_1_0.urdf"])
def test_good_robots_have_no_errors_and_few_warnings(diagnoses, name):
    (diagnosis,) = [d for path, d in diagnoses.items() if path.name == name]
    assert diagnosis.errors == ()
    assert len(diagnosis.warnings) <= 3
