"""Numbers that can be computed with but are hardly meant: said when the model is built or used."""

import math
import warnings

import numpy as np
import pytest

import sixfold as sf

F = sf.Inertia.from_mass
SOLID = F(1.0, rotational=(1.0, 1.0, 1.0))


def _build(inertia=SOLID, joint=None, **options):
    joint = sf.Revolute("z") if joint is None else joint
    return sf.ModelBuilder("one").add_body("a", joint=joint, inertia=inertia, **options).build()


def _silent(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return make()


@pytest.mark.parametrize(
    ("rotational", "why"),
    [
        ((-1, 1, 1), "one is negative"),
        ((1, 1, 5), "exceeds the sum"),
        ([[1, 3, 0], [3, 1, 0], [0, 0, 1]], "one is negative"),
        ((1e-6, 1e-6, 5e-6), "exceeds the sum"),
    ],
)
def test_an_inertia_of_no_body_is_a_warning_of_build(rotational, why):
    with pytest.warns(sf.errors.UnlikelyInputWarning, match=f"body 'a'.*{why}.*diagnose"):
        _build(F(1.0, (0.1, 0, 0), rotational))


@pytest.mark.parametrize(
    "inertia",
    [
        SOLID,
        F(2.0, (5.0, 0, 0), (1, 1, 2)),
        F(1.0),
        F(1.0, rotational=(0, 0, 2.0)),  # of a planar problem
        F(1.0, rotational=(0.0125, 0.066, 0.086)),  # measured
        F(1e-3, (100.0, 50.0, 0.0), (1e-6, 1e-6, 2e-6)),
        sf.Inertia.zero(),
    ],
)
def test_inertias_of_bodies_and_of_textbooks_are_silent(inertia):
    _silent(lambda: _build(inertia))


@pytest.mark.parametrize("mass", [-1, -1.0, np.float64(-2.0)])
def test_a_negative_mass_is_an_error_of_every_builder(mass):
    calls = [
        lambda: _build(F(mass)),
        lambda: sf.from_dh([sf.DHRow(a=1.0, inertia=F(mass))]),
        lambda: sf.add_payload(sf.load("pendulum"), "bob", mass=mass),
        lambda: sf.replace_inertias(sf.load("pendulum"), {"bob": F(mass)}),
    ]
    for call in calls:
        with pytest.raises(sf.errors.ModelError, match="negative"):
            call()


@pytest.mark.parametrize("limit", [45, 90, 180, 270.0, 360])
def test_limits_in_degrees_are_a_warning_of_build(limit):
    with pytest.warns(sf.errors.UnlikelyInputWarning, match="joint 'a_joint' look like degrees"):
        _build(lower=-limit, upper=limit)


@pytest.mark.parametrize("limit", [math.pi, 2 * math.pi, 6 * math.pi, 10, 1e3, 1e16, math.inf])
def test_limits_in_radians_and_none_at_all_are_silent(limit):
    _silent(lambda: _build(lower=-limit, upper=limit))
    _silent(lambda: _build(joint=sf.Prismatic("z"), lower=-90, upper=90))


@pytest.mark.parametrize("angle", [90, 180.0, -45])
def test_simulate_and_controllers_note_angles_in_degrees(angle):
    arm = _build(lower=-2.9, upper=2.9)
    notes = sf.simulate(arm, [angle], None, 0.01).notes
    assert any("many turns" in note and "deg2rad" in note for note in notes)
    for make in (
        lambda: sf.control.pd(arm, [angle], 1.0, 1.0),
        lambda: sf.control.pid(arm, [angle], 1.0, 1.0, 1.0),
    ):
        with pytest.warns(sf.errors.UnlikelyInputWarning, match="target.*many turns"):
            make()


def test_angles_within_two_turns_or_of_joints_without_limits_are_silent():
    arm, wheel = _build(lower=-2.9, upper=2.9), _build()
    assert not any("many" in x for x in sf.simulate(arm, [6.5], None, 0.01).notes)
    assert sf.simulate(wheel, [90.0], None, 0.01).notes == ()
    _silent(lambda: sf.control.pd(wheel, [90.0], 1.0, 1.0))


def test_models_and_what_they_hold_say_that_they_cannot_be_changed():
    arm = sf.load("puma560")
    for owner, field in ((arm, "gravity"), (arm, "anything"), (arm.bodies[0], "inertia")):
        with pytest.raises(AttributeError, match="immutable") as caught:
            setattr(owner, field, None)
        assert "new" in str(caught.value)
    with pytest.raises(AttributeError, match="with_gravity"):
        arm.gravity = (0, 0, 0)
    with pytest.raises(AttributeError, match="immutable"):
        del arm.name
    with pytest.raises(ValueError, match="read-only"):
        arm.lower_position[0] = 1.0
