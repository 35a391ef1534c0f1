"""Where three numbers are wanted, one number, a text or a set of numbers is refused."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.control import targets

ARM = sf.load("double_pendulum")
TIP = ARM.body_names[-1]
Q = [0.1, 0.2]
ONE = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.1, 0.1))


def _builder(**gravity):
    return sf.ModelBuilder(**gravity).add_body("a", joint=sf.Revolute("z"), inertia=ONE)


def _two():
    return _builder().add_body(
        "b", parent="a", joint=sf.Revolute("z"), inertia=ONE, placement=(1, 0, 0)
    )


def _solve(target):
    return sf.inverse_kinematics(ARM, target)


TAKES_THREE = {
    "ModelBuilder gravity": lambda x: _builder(gravity=x).build(),
    "Model gravity": lambda x: sf.Model("m", ARM.bodies, gravity=x),
    "with_gravity": ARM.with_gravity,
    "from_dh gravity": lambda x: sf.from_dh([(1, 0, 0, 0)], gravity=x),
    "from_arrays gravity": lambda x: sf.from_arrays([0], "Rz", [np.eye(6)], [ONE], gravity=x),
    "add_body placement": lambda x: _builder().add_body("c", joint=sf.Free(), placement=x),
    "add_frame placement": lambda x: _builder().add_frame("f", "a", x),
    "close placement_a": lambda x: _two().close("world", "b", sf.Spherical(), x),
    "close placement_b": lambda x: _two().close("world", "b", sf.Spherical(), None, x),
    "add_rod point_a": lambda x: _two().add_rod("world", "b", 1.0, x),
    "add_rod point_b": lambda x: _two().add_rod("world", "b", 1.0, (0, 0, 0), x),
    "add_rolling center": lambda x: _two().add_rolling("b", 0.1, center=x),
    "add_rolling axis": lambda x: _two().add_rolling("b", 0.1, axis=x),
    "add_rolling placement": lambda x: _two().add_rolling("b", 0.1, placement=x),
    "joint axis": sf.Revolute,
    "add_payload com": lambda x: sf.add_payload(ARM, TIP, mass=1.0, com=x),
    "add_payload inertia": lambda x: sf.add_payload(ARM, TIP, mass=1.0, inertia=x),
    "add_payload placement": lambda x: sf.add_payload(ARM, TIP, mass=1.0, placement=x),
    "attach placement": lambda x: sf.attach(ARM, ARM, TIP, x, prefix="second_"),
    "ImpactPoint position": lambda x: sf.contact.ImpactPoint(TIP, x),
    "ImpactPoint normal": lambda x: sf.contact.ImpactPoint(TIP, normal=x),
    "ContactPoint position": lambda x: sf.contact.ContactPoint(TIP, x),
    "ContactCapsule start": lambda x: sf.contact.ContactCapsule(TIP, x, (0, 0, 1), 0.1),
    "ContactCapsule end": lambda x: sf.contact.ContactCapsule(TIP, (0, 0, 1), x, 0.1),
    "Ground normal": lambda x: sf.contact.Ground(normal=x),
    "Inertia center": lambda x: sf.Inertia.from_mass(1.0, x),
    "Inertia rotational": lambda x: sf.Inertia.from_mass(1.0, (0, 0, 0), x),
    "Transform.translation": sf.Transform.translation,
    "Transform.from_rpy": sf.Transform.from_rpy,
    "Transform.from_rpy p": lambda x: sf.Transform.from_rpy((0, 0, 0), x),
    "Transform.turn": lambda x: sf.Transform.turn(x, 0.3),
    "Force.at_point force": lambda x: sf.spatial.Force.at_point(x, (0, 0, 0)),
    "Force.at_point point": lambda x: sf.spatial.Force.at_point((0, 0, 0), x),
    "Inertia.about": ONE.about,
    "jacobian point": lambda x: sf.jacobian(ARM, Q, TIP, x),
    "jacobian_bias point": lambda x: sf.jacobian_bias(ARM, Q, Q, TIP, x),
    "point_force force": lambda x: sf.point_force(ARM, Q, TIP, x),
    "point_force point": lambda x: sf.point_force(ARM, Q, TIP, (1, 0, 0), x),
    "Position": lambda x: _solve(targets.Position(TIP, x)),
    "Position point": lambda x: _solve(targets.Position(TIP, (0.5, 0, 0.5), x)),
    "CenterOfMass": lambda x: _solve(targets.CenterOfMass(x)),
    "Direction": lambda x: _solve(targets.Direction(TIP, x)),
    "Direction axis": lambda x: _solve(targets.Direction(TIP, (0, 0, 1), x)),
    "LookAt": lambda x: _solve(targets.LookAt(TIP, x)),
    "LookAt axis": lambda x: _solve(targets.LookAt(TIP, (1, 1, 1), x)),
    "operational_space path": lambda x: sf.control.operational_space(
        ARM, TIP, x, 9.0, 1.0, rows="position"
    ),
}
WRONG = {
    "a float": 9.81,
    "an integer": 3,
    "a NumPy number": np.float64(9.81),
    "an array of no axes": np.array(9.81),
    "a truth value": True,
    "a list of one": [9.81],
    "two numbers": (1.0, 2.0),
    "four numbers": [1, 2, 3, 4],
    "a text": "0 0 -9.81",
    "texts": ["0", "0", "1"],
    "truth values": [True, False, False],
    "a set": {1.0, 2.0, 3.0},
    "a dictionary": {0: 1.0, 1: 2.0, 2: 3.0},
    "complex numbers": [1j, 0, 0],
    "a hole": [1.0, None, 2.0],
}


@pytest.mark.parametrize("argument", TAKES_THREE)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_vector_is_refused(argument, wrong):
    with pytest.raises(sf.errors.SixfoldError):
        TAKES_THREE[argument](WRONG[wrong])


# the fields of a Model itself are tuples: it is hashed
@pytest.mark.parametrize("argument", [name for name in TAKES_THREE if name != "Model gravity"])
@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: np.array(x, dtype=int)])
def test_three_numbers_are_taken_in_any_sequence(argument, kind):
    TAKES_THREE[argument](kind([0, 1, 0]))


def test_the_message_says_how_many_numbers_are_wanted():
    with pytest.raises(sf.errors.ModelError, match=r"gravity = 9.81 is one number, not 3"):
        sf.ModelBuilder(gravity=9.81)


def test_one_number_stands_for_every_axis_of_a_joint():
    builder = sf.ModelBuilder().add_body("a", joint=sf.Free(), inertia=ONE, damping=2, friction=0.1)
    body = builder.build().bodies[0]
    assert body.damping == (2.0,) * 6
    assert body.friction == body.friction_negative == (0.1,) * 6


@pytest.mark.parametrize("option", ["rest", "lower", "upper"])
def test_one_number_is_no_position_of_a_joint_with_a_quaternion(option):
    with pytest.raises(sf.errors.ModelError, match="one number, not 7"):
        sf.ModelBuilder().add_body("a", joint=sf.Free(), inertia=ONE, **{option: 0.5})


def test_one_number_is_no_position_of_a_joint_with_several_freedoms():
    planar = sf.ModelBuilder().add_body("a", joint=sf.Planar(), inertia=ONE).build()
    with pytest.raises(sf.errors.ModelError, match="one number, not 3"):
        sf.lock_joints(planar, {"a_joint": 0.5})


@pytest.mark.parametrize("make", [sf.control.pd, lambda m, x, p, d: sf.control.pid(m, x, p, 1, d)])
@pytest.mark.parametrize("target", [0.3, 1, np.float64(0.3), np.array(0.3)])
def test_one_number_is_no_configuration_to_go_to(make, target):
    with pytest.raises(sf.errors.ShapeError, match="target"):
        make(ARM, target, 100.0, 10.0)


@pytest.mark.parametrize("gain", [5, 5.0, np.int64(5), np.float64(5), np.array(5.0), [5, 5]])
def test_one_number_is_the_gain_of_every_joint(gain):
    assert sf.control.pd(ARM, [0.1, 0.2], gain, 1.0).kp == (5.0, 5.0)
