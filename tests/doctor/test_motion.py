"""Joints with nothing behind them, limits, the mass matrix over sampled states."""

from dataclasses import replace

import pytest

import sixfold as sf
from sixfold.model import SourceInfo
from tests.doctor.support import ROD, box_on, chain, codes, only, with_lines

NOTHING = sf.Inertia.zero()


def test_a_joint_with_no_inertia_behind_it_is_an_error_on_its_line():
    model = with_lines(chain(ROD, ROD, NOTHING).build())
    found = only(model, "joint-without-inertia")
    assert (found.severity, found.where, found.line) == ("error", "joint 'jc'", 102)
    with pytest.raises(sf.errors.SingularModelError):
        sf.forward_dynamics(model, [0] * 3, [0] * 3, [0] * 3)
    armed = chain(ROD, ROD, NOTHING, armature=0.1).build()
    assert "joint-without-inertia" not in dict(codes(armed))


def gimbal(tilt):
    """Two rings without mass about z and y, and a rod about z; the middle one is held at a tilt."""
    builder = sf.ModelBuilder("gimbal")
    builder.add_body("outer", joint=sf.Revolute("z"))
    builder.add_body("middle", parent="outer", joint=sf.Revolute("y"), lower=tilt, upper=tilt)
    builder.add_body("inner", parent="middle", joint=sf.Revolute("z"), inertia=ROD)
    return builder.build()


def test_a_joint_that_loses_its_inertia_at_some_states_is_a_warning():
    found = only(gimbal(0.0), "joint-loses-inertia")
    assert (found.severity, found.where) == ("warning", "joint 'outer_joint'")
    assert (found.values["states"], found.values["of"]) == (100, 100)
    assert found.values["first"][1] == 0.0
    assert "joint-loses-inertia" not in dict(codes(gimbal(0.5)))
    assert "joint-without-inertia" not in dict(codes(gimbal(0.0)))


def test_a_mass_matrix_that_is_not_positive_definite_is_an_error():
    negative = sf.Inertia.from_mass(1.0, (0, 0, 0), (-0.1, -0.1, -0.1))
    found = only(chain(ROD, negative).build(), "matrix-not-positive")
    assert found.severity == "error"
    assert found.values["smallest_eigenvalue"] < 0
    assert "100 of 100 sampled states" in found.what


def test_a_mass_matrix_close_to_singular_is_a_warning_with_its_condition():
    found = only(gimbal(1e-6), "matrix-ill-conditioned")
    assert found.severity == "warning"
    assert found.values["scaled_condition"] > 1e10
    assert "matrix-ill-conditioned" not in dict(codes(gimbal(0.5)))


def test_the_figures_are_those_of_the_sampled_states():
    model = chain(ROD, ROD).build()
    figures = sf.diagnose(model, samples=7).figures
    assert figures["states"] == 7 and figures["mass"] == 4.0
    assert 1 < figures["condition"] < 100
    assert 0 < figures["smallest_eigenvalue"] < 1
    assert sf.diagnose(model, samples=0).figures.keys() == {"bodies", "freedoms", "mass"}
    assert sf.diagnose(model, seed=1).figures != sf.diagnose(model, seed=2).figures
    assert sf.diagnose(model, seed=1) == sf.diagnose(model, seed=1)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"lower": -1, "upper": 1}, []),
        ({"lower": 0, "upper": 1}, []),
        ({"lower": 0.5, "upper": 1}, [("limit-excludes-zero", "note")]),
        ({"upper": -0.1}, [("limit-excludes-zero", "note")]),
        ({"lower": 0, "upper": 0}, [("limit-no-range", "warning")]),
        ({"velocity_limit": 0}, [("limit-zero", "note")]),
        ({"effort_limit": 0}, [("limit-zero", "note")]),
        ({"velocity_limit": 1, "effort_limit": 1}, []),
    ],
)
def test_limits(limits, expected):
    model = with_lines(chain(ROD, **limits).build())
    diagnosis = sf.diagnose(model)
    assert [(f.code, f.severity) for f in diagnosis.findings] == expected
    assert all(f.line == 100 and f.where == "joint 'ja'" for f in diagnosis.findings)


def test_a_coupling_of_ratio_zero_is_a_warning():
    constant = chain(ROD, ROD, ROD).couple("jb", ("ja", 0.0), offset=0.3).build()
    assert codes(constant) == [("coupling-constant", "warning")]
    assert codes(chain(ROD, ROD, ROD).couple("jb", ("ja", 0.5)).build()) == []


def test_a_body_that_is_nothing_is_told_and_one_with_a_shape_or_frame_is_not():
    bare = chain(ROD, NOTHING, armature=0.1).build()
    assert ("body-idle", "note") in codes(bare)
    seen = replace(bare, geometries=(box_on(1, (0.1, 0.1, 0.1)),))
    assert "body-idle" not in dict(codes(seen))
    framed = chain(ROD, NOTHING, armature=0.1).add_frame("tool", "b").build()
    assert "body-idle" not in dict(codes(framed))


def test_what_the_reader_left_out_is_repeated_with_its_line():
    notes = ("line 7: <gazebo> has no counterpart", "something else")
    model = replace(chain(ROD).build(), origin=SourceInfo("arm.urdf", notes=notes))
    found = sf.diagnose(model).notes
    assert [(f.code, f.line, f.what) for f in found] == [
        ("not-in-model", 7, "<gazebo> has no counterpart"),
        ("not-in-model", 0, "something else"),
    ]
    assert codes(replace(model, origin=SourceInfo("arm.urdf"))) == []
