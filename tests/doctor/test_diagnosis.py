"""The report, its data, its codes, and models that nobody would build."""

import json
import pickle
from pathlib import Path

import pytest

import sixfold as sf
from sixfold.checks.doctor import CODES
from sixfold.checks.doctor.finding import SEVERITIES
from sixfold.formats.bundled import SAMPLES
from tests.doctor.support import ROD, box_on, chain, codes, with_lines

SICK = sf.Inertia.from_mass(1.0, (0, 0, 0.1), (0.01, 0.02, 0.05))
PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"


def sick():
    return with_lines(chain(ROD, SICK, SICK, lower=0.5, upper=1).build())


def test_the_report_puts_file_and_line_first_and_errors_before_notes():
    lines = str(sf.diagnose(sick())).splitlines()
    assert lines[0] == "arm: 3 bodies, 3 degrees of freedom, 4 kg"
    assert lines[1].startswith("mass matrix over 100 states: condition ")
    at = lines.index("error: moments of inertia that no body can have [inertia-triangle]")
    assert lines[at + 1].startswith("arm.urdf:12: link 'b': principal moments 0.01, 0.02, 0.05")
    assert any(line.startswith("arm.urdf:22: link 'c': ") for line in lines)
    assert any(line.startswith("    fix: export the tensor again") for line in lines)
    note = lines.index("note: limits that exclude the zero position [limit-excludes-zero]")
    assert at < note
    assert lines[note + 1] == "arm.urdf:100: joint 'ja': limits 0.5 to 1 rad exclude zero"
    assert lines[-1] == "arm: 2 errors, 3 notes"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_report_keeps_to_its_width(width):
    text = sf.diagnose(sick()).text(width)
    assert max(map(len, text.splitlines())) <= width


def test_many_places_of_one_kind_are_counted_not_listed():
    text = sf.diagnose(sick()).text(most=1)
    assert text.count("link 'c'") == 0
    assert "    ... and 1 more\n" in text
    assert "    ... and 2 more\n" in text


def test_a_sound_robot_has_a_short_report():
    lines = str(sf.diagnose(chain(ROD, ROD).build())).splitlines()
    assert lines[-1] == "arm: nothing to remark"
    assert len(lines) == 4


def test_a_model_from_no_file_has_no_place():
    finding = sf.diagnose(chain(ROD, SICK).build()).errors[0]
    assert (finding.file, finding.line, finding.place) == ("", 0, "")
    assert str(finding).startswith("error: body 'b': principal moments")


def test_the_diagnosis_is_plain_data():
    diagnosis = sf.diagnose(sick())
    data = json.loads(diagnosis.to_json())
    assert data == diagnosis.to_dict()
    assert data["counts"] == {"error": 2, "warning": 0, "note": 3}
    assert data["ok"] is False and diagnosis.ok is False
    first = data["findings"][0]
    assert first["code"] == "inertia-triangle" and first["line"] == 12
    assert first["file"] == "arm.urdf" and first["severity"] == "error"
    assert first["values"]["excess"] == pytest.approx(0.02)
    # limits that JSON has no number for
    half_open = sf.diagnose(chain(ROD, lower=0.5).build())
    assert json.loads(half_open.to_json())["findings"][0]["values"]["upper"] is None
    assert pickle.loads(pickle.dumps(diagnosis)) == diagnosis


def test_the_severities_sort_the_findings():
    diagnosis = sf.diagnose(sick())
    assert diagnosis.findings == diagnosis.errors + diagnosis.warnings + diagnosis.notes
    assert (len(diagnosis.errors), len(diagnosis.warnings), len(diagnosis.notes)) == (2, 0, 3)


@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_has_an_error(name):
    assert sf.diagnose(sf.load(name)).errors == ()


def test_the_published_moments_of_the_puma_are_told():
    found = [(f.code, f.where) for f in sf.diagnose(sf.load("puma560")).warnings]
    assert found == [("inertia-massless", "body 'link1'"), ("inertia-triangle", "body 'link3'")]


@pytest.mark.parametrize(
    "options",
    [{"samples": -1}, {"samples": 1.5}, {"samples": "many"}, {"seed": -1}, {"seed": None}],
)
def test_options_that_are_no_whole_numbers_are_refused(options):
    with pytest.raises(sf.errors.OptionError, match="a whole number >= 0"):
        sf.diagnose(chain(ROD).build(), **options)


def test_what_is_no_model_is_refused():
    with pytest.raises(
        sf.errors.ArgumentError, match="diagnose: the first argument must be a Model"
    ):
        sf.diagnose("panda.urdf")


# -- codes and their page


def test_every_code_says_why_and_what_to_do():
    for code in CODES.values():
        assert code.severities and set(code.severities) <= set(SEVERITIES)
        assert min(len(code.title), len(code.explanation), len(code.fix)) > 10
        assert not code.title.endswith(".") and code.explanation.endswith(".")


def test_the_page_lists_exactly_the_codes():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    listed = [tuple(cell.strip() for cell in row.strip("|").split("|")) for row in rows]
    assert listed == [
        (f"`{name}`", ", ".join(code.severities), code.title, code.explanation, code.fix)
        for name, code in CODES.items()
    ]


# -- models that nobody would build


@pytest.mark.parametrize("mass", [1e-300, 1e-30, 1e30, 1e150, 1e300])
@pytest.mark.parametrize("length", [1e-300, 1e-6, 1.0, 1e6, 1e150, 1e300])
def test_extreme_numbers_never_crash_the_doctor(mass, length):
    heavy = sf.Inertia.from_mass(mass, (0, 0, min(length, 1.0)), (mass, mass, mass))
    model = chain(ROD, heavy, heavy, step=length).build()
    model = with_lines(model, geometries=(box_on(1, (length,) * 3, link="b"),))
    diagnosis = sf.diagnose(model, samples=5)
    json.loads(diagnosis.to_json())
    assert str(diagnosis)


def test_models_without_freedoms_or_bodies_have_a_diagnosis():
    empty = sf.ModelBuilder("empty").build()
    assert codes(empty) == []
    locked = sf.lock_joints(sick(), ["ja", "jb", "jc"])
    assert [code for code, _ in codes(locked)] == ["inertia-triangle"] * 2
    assert str(sf.diagnose(empty)).splitlines()[0] == "empty: 0 bodies, 0 degrees of freedom, 0 kg"


def test_a_thousand_bodies_are_examined_without_their_mass_matrix():
    diagnosis = sf.diagnose(sf.load("planar_chain:1000"))
    assert diagnosis.findings == ()
    assert "condition" not in diagnosis.figures
    star = sf.diagnose(sf.load("random_tree:300:1"))
    assert star.errors == ()


def test_every_kind_of_joint_is_examined():
    for seed in range(5):
        assert sf.diagnose(sf.random_tree(15, seed, properties=True), samples=5).errors == ()
