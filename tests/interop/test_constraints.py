"""Constraints in Pinocchio and MuJoCo: the same loops, the same accelerations."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.interop.mujoco import from_mujoco, to_mujoco
from sixfold.interop.pinocchio import pinocchio_constraints, to_pinocchio
from tests.interop.models import gripper

BAR = sf.Inertia.from_mass(1.0, (0.2, 0.01, 0.02), (0.01, 0.03, 0.03))
JOINTS = {"point": sf.Spherical(), "hinge": sf.Revolute((0.0, 0.6, 0.8)), "weld": sf.Fixed()}


def legs(joint, *, base="world"):
    """Return two arms that hold each other, and one that holds the base."""
    b = sf.ModelBuilder("legs", gravity=(1.0, -9.81, 2.0))
    for side in "ab":
        parent = "world"
        for k, axis in enumerate("zxyzxyz"):
            name = f"{side}{k}"
            place = sf.Transform.from_rpy((0.1 * k, 0.2, 0.3), (0.3, 0.1 * k, 0.2))
            b.add_body(name, parent=parent, joint=sf.Revolute(axis), placement=place, inertia=BAR)
            parent = name
    tilt = sf.Transform.from_rpy((0.3, 0.2, 0.1), (0.1, 0.2, 0.3))
    b.close("a6", "b6", joint, tilt, (0.1, 0, 0), name="hands")
    b.close(base, "b3", sf.Spherical(), (0.5, 0.2, 0.1), (0.1, 0, 0), name="knee")
    return b.build()


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_pinocchio_finds_the_same_constrained_accelerations(joint):
    pytest.importorskip("pinocchio")
    found = sf.interop.compare_with("pinocchio", legs(joint), samples=10)
    assert found.agrees, found
    assert found.worst("constrained dynamics") < 1e-10
    assert any("2 constraints: left out of all but" in text for text in found.left_out)


def test_pinocchio_constraints_are_named_and_placed():
    pin = pytest.importorskip("pinocchio")
    model = legs(JOINTS["hinge"])
    robot = to_pinocchio(model)
    found = pinocchio_constraints(model, robot)
    assert [each.name for each in found] == ["hands.0", "hands.1", "knee"]
    assert found[2].joint1_id == robot.getJointId("b3_joint")
    assert found[2].joint2_id == 0
    assert found[0].type == pin.ContactType.CONTACT_3D


def test_mujoco_compares_the_tree_and_says_so():
    pytest.importorskip("mujoco")
    found = sf.interop.compare_with("mujoco", legs(JOINTS["point"]), samples=4)
    assert found.agrees, found
    assert "2 constraints: soft in mujoco, the tree without them is compared" in found.left_out


def rods(model):
    b = sf.ModelBuilder("rod")
    b.add_body("arm", joint=sf.Revolute("z"), inertia=BAR)
    b.add_body("other", joint=sf.Revolute("z"), placement=(1, 0, 0), inertia=BAR)
    return model(b).build()


OTHERS = {
    "rod": lambda b: b.add_rod("arm", "other", 1.0, name="r"),
    "slot": lambda b: b.close("arm", "other", sf.Prismatic("x"), name="r"),
    "rolling": lambda b: b.add_rolling("arm", 1.0, axis="x", name="r"),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_constraints_are_refused_by_name(make):
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    model = rods(make)
    with pytest.raises(sf.errors.NotApplicableError, match=r"to_mujoco.*constraint 'r'"):
        to_mujoco(model)
    robot = to_pinocchio(model)
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"pinocchio_constraints.*constraint 'r'"
    ):
        pinocchio_constraints(model, robot)
    for library in ("pinocchio", "mujoco"):
        found = sf.interop.compare_with(library, model, samples=3)
        assert found.agrees
        assert any("the tree without it is compared" in text for text in found.left_out)
        assert "constrained dynamics" not in [d.quantity for d in found.differences]


def test_coupled_joints_leave_the_constraints_out():
    pytest.importorskip("pinocchio")
    model = gripper()
    loop = sf.ModelBuilder("x")
    loop.add_body("finger", joint=sf.Revolute("z"), inertia=BAR)
    loop.close("world", "finger", sf.Spherical(), name="hold")
    both = sf.attach(model, loop.build(), to=model.base_name, prefix="x_")
    found = sf.interop.compare_with("pinocchio", both, samples=3)
    assert any("coupled joints are free in pinocchio" in text for text in found.left_out)


def rigid(model, q, tau):
    """Return the acceleration at rest by MuJoCo's own M, J and bias, its softness left out."""
    mujoco = pytest.importorskip("mujoco")
    m = to_mujoco(model)
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    d = mujoco.MjData(m)
    d.qpos[:] = q
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    for k, unit in enumerate(np.eye(m.nv)):
        mujoco.mj_mulM(m, d, M[k], unit)
    J = d.efc_J.reshape(-1, m.nv)[: d.nefc]
    n = len(J)
    K = np.block([[M, J.T], [J, np.zeros((n, n))]])
    right = np.concatenate([tau - d.qfrc_bias, np.zeros(n)])
    return np.linalg.lstsq(K, right, rcond=1e-12)[0][: m.nv]


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_loops_go_to_mujoco(joint):
    pytest.importorskip("mujoco")
    model = legs(joint)
    q = sf.loops.assemble(model)
    again = from_mujoco(to_mujoco(model))
    np.testing.assert_allclose(sf.loops.constraint_gaps(again, q), 0, atol=1e-10)
    J, K = sf.loops.constraint_jacobian(model, q), sf.loops.constraint_jacobian(again, q)
    np.testing.assert_allclose(np.linalg.pinv(J) @ J, np.linalg.pinv(K) @ K, atol=1e-9)
    a = sf.forward_dynamics(again, q, np.zeros(model.nv), np.zeros(model.nv))
    b = sf.forward_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_at_rest_mujoco_accelerates_as_the_loop_does(joint):
    model = legs(joint)
    q = sf.loops.assemble(model)
    tau = np.linspace(-1, 1, model.nv)
    ours = sf.forward_dynamics(model, q, np.zeros(model.nv), tau)
    np.testing.assert_allclose(rigid(model, q, tau), ours, rtol=1e-8, atol=1e-8)


def test_gears_go_to_mujoco_and_back():
    pytest.importorskip("mujoco")
    b = sf.ModelBuilder("gears")
    for k in range(3):
        b.add_body(f"b{k}", joint=sf.Revolute("z"), placement=(k, 0, 0), inertia=BAR)
    b.add_gear("b0_joint", ("b1_joint", (2.0, 0.5, 0.1, 0.3)), offset=0.2, name="poly")
    b.add_gear("b2_joint", offset=-0.4, name="held")
    model = b.build()
    again = from_mujoco(to_mujoco(model))
    q, _ = sf.random_state(model, 3, seed=0)
    for quantity in (sf.loops.constraint_gaps, sf.loops.constraint_jacobian):
        np.testing.assert_allclose(quantity(again, q), quantity(model, q), atol=1e-14)
    assert [each.name for each in again.constraints] == ["poly", "held"]


@pytest.mark.parametrize("leaders", [("b1_joint", "b2_joint"), ("b1_joint",)])
def test_gears_beyond_mujoco_are_refused(leaders):
    pytest.importorskip("mujoco")
    b = sf.ModelBuilder("gears")
    for k in range(3):
        b.add_body(f"b{k}", joint=sf.Revolute("z"), placement=(k, 0, 0), inertia=BAR)
    b.add_gear("b0_joint", *((name, (0, 0, 0, 0, 1.0)) for name in leaders), name="g")
    with pytest.raises(sf.errors.NotApplicableError, match="constraint 'g'"):
        to_mujoco(b.build())


def test_arguments_are_looked_at():
    pytest.importorskip("pinocchio")
    model = legs(JOINTS["point"])
    with pytest.raises(sf.errors.ArgumentError, match="robot"):
        pinocchio_constraints(model, 5)
    with pytest.raises(sf.errors.ArgumentError, match="model"):
        pinocchio_constraints(5, to_pinocchio(model))
    with pytest.raises(sf.errors.UnknownNameError, match="a6_joint"):
        pinocchio_constraints(model, to_pinocchio(sf.load("puma560")))
