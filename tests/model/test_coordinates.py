"""Coordinates: places, names, owners, quaternions and the projector of couplings."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.report.html import names
from sixfold.display.viewer.panel import controls, velocity_names
from sixfold.formats.bundled import SAMPLES
from sixfold.model import Coordinates, Coupling
from sixfold.simulation.trajectory_files import labels


def coupled_tree(seed):
    """Return a random tree in which every third joint of one freedom follows two others."""
    model = sf.random_tree(16, seed)
    single = [k for k, body in enumerate(model.bodies) if body.joint.nq == body.joint.nv == 1]
    rng = np.random.default_rng(seed)
    followers = single[2::3]
    masters = [k for k in single if k not in followers]
    couplings = tuple(
        Coupling(k, tuple((int(m), float(rng.normal())) for m in masters[:2]), float(rng.normal()))
        for k in followers
    )
    assert couplings
    return replace(model, couplings=couplings)


def floating_arm():
    builder = sf.ModelBuilder("ship")
    ball = sf.Inertia.from_mass(2.0, (0.1, 0.0, 0.2), (0.02, 0.03, 0.04))
    builder.add_body("hull", joint=sf.Free(), joint_name="root", inertia=ball)
    builder.add_body("mast", parent="hull", joint=sf.Spherical(), joint_name="ball", inertia=ball)
    builder.add_body(
        "boom", parent="mast", joint=sf.Revolute("y"), joint_name="hinge", inertia=ball
    )
    return builder.build()


def own_joint():
    def transform(q):
        return sf.Transform.translation((q[0], q[1], 0.0))

    ball = sf.Inertia.from_mass(1.0, (0.0, 0.0, 0.1), (0.02, 0.03, 0.04))
    builder = sf.ModelBuilder("own")
    joint = sf.CustomJoint(transform, nq=2)
    builder.add_body("slab", joint=joint, joint_name="slot", inertia=ball)
    return builder.build()


MODELS = [
    *(sf.load(name) for name in sorted(SAMPLES)),
    *(coupled_tree(seed) for seed in range(4)),
    floating_arm(),
    own_joint(),
]


@pytest.fixture(params=MODELS, ids=lambda model: model.name)
def model(request):
    return request.param


def test_the_slices_of_free_joints_cover_q_and_v_once_in_order(model):
    free = model.coordinates.free
    followers = {c.follower for c in model.couplings}
    assert [joint.body for joint in free] == [k for k in range(model.nb) if k not in followers]
    assert [k for joint in free for k in range(model.nq)[joint.q]] == list(range(model.nq))
    assert [k for joint in free for k in range(model.nv)[joint.v]] == list(range(model.nv))
    for joint in free:
        assert model.q_slice(joint.name) == joint.q and model.v_slice(joint.name) == joint.v
        assert joint.joint is model.bodies[joint.body].joint


def test_every_coordinate_has_an_owner_and_a_name_of_its_own(model):
    found = model.coordinates
    assert len(found.q_names) == len(set(found.q_names)) == model.nq
    assert len(found.v_names) == len(set(found.v_names)) == model.nv
    for name, joint in zip(found.q_names, found.q_joints, strict=True):
        assert name == joint.name if joint.joint.nq == 1 else name.startswith(f"{joint.name}.")
    for name, joint in zip(found.v_names, found.v_joints, strict=True):
        assert name == joint.name if joint.joint.nv == 1 else name.startswith(f"{joint.name}.")
    for k, joint in enumerate(found.v_joints):
        assert k in range(model.nv)[joint.v]


def test_quaternions_are_those_that_have_unit_length_in_random_states(model):
    q, _ = sf.random_state(model, 3, seed=1)
    for joint, part in model.coordinates.quaternions:
        np.testing.assert_allclose(np.linalg.norm(q[:, part], axis=1), 1.0)
        whole = model.q_slice(joint)
        assert whole.start <= part.start < part.stop <= whole.stop
    turning = [body for body in model.bodies if body.joint.quaternion() is not None]
    assert len(model.coordinates.quaternions) == len(turning)


def test_additive_coordinates_grow_by_their_velocity(model):
    q, v = sf.random_state(model, seed=2)
    rate = sf.position_rate(model, q, v)
    for i, j in model.coordinates.additive:
        assert rate[i] == v[j]
    others = {i for i, _ in model.coordinates.additive}
    owners = {model.coordinates.q_joints[i].joint.velocity_is_rate for i in others}
    assert owners <= {True}


def test_velocities_of_all_joints_are_t_v(model):
    _, v = sf.random_state(model, seed=3)
    columns = model.velocities(list(v))
    whole = [float(x) for i in model.tree.bodies for x in columns[i]]
    np.testing.assert_allclose(model.coordinates.T @ v, whole, rtol=1e-14, atol=1e-14)
    assert model.coordinates.T.shape == (model.tree.nv, model.nv)
    if not model.couplings:
        np.testing.assert_array_equal(model.coordinates.T, np.eye(model.nv))


def test_forces_and_matrices_reduce_by_t(model):
    T, n = model.coordinates.T, model.tree.nv
    rng = np.random.default_rng(4)
    tau, M = rng.standard_normal(n), rng.standard_normal((n, n))
    slices = model.tree.velocity_slices
    found = model.coordinates.gather({i: tau[slices[i]].tolist() for i in model.tree.bodies})
    np.testing.assert_allclose(found, T.T @ tau, rtol=1e-12, atol=1e-12)
    reduced = model.coordinates.reduce(M.tolist(), slices)
    np.testing.assert_allclose(
        np.reshape(reduced, (model.nv, model.nv)), T.T @ M @ T, rtol=1e-12, atol=1e-12
    )


def test_motors_are_everywhere_but_at_floating_bases(model):
    found = model.coordinates
    bases = [k for joint in found.floating for k in range(model.nv)[joint.v]]
    assert sorted([*bases, *found.actuated_indices]) == list(range(model.nv))
    assert all(isinstance(joint.joint, sf.Free) for joint in found.floating)


def test_tables_plots_and_window_spell_a_coordinate_alike(model):
    found = model.coordinates
    assert tuple(labels(model, "nq")) == names(model, "nq") == found.q_names
    assert tuple(labels(model, "nv")) == names(model, "nv") == found.v_names
    assert velocity_names(model) == list(found.v_names)
    for control in controls(model, 1.0):
        if control.angle < 0:
            assert control.label == found.q_names[control.index]


def test_joints_with_several_coordinates_say_what_each_is():
    found = floating_arm().coordinates
    assert found.q_names == (
        *("root.x", "root.y", "root.z", "root.qx", "root.qy", "root.qz", "root.qw"),
        *("ball.qx", "ball.qy", "ball.qz", "ball.qw", "hinge"),
    )
    assert found.v_names == (
        *("root.wx", "root.wy", "root.wz", "root.vx", "root.vy", "root.vz"),
        *("ball.wx", "ball.wy", "ball.wz", "hinge"),
    )
    assert found.quaternions == (("root", slice(3, 7)), ("ball", slice(7, 11)))
    assert found.actuated_indices == (6, 7, 8, 9)
    assert own_joint().coordinates.v_names == ("slot.0", "slot.1")


def test_coordinates_are_frozen_cached_and_travel_with_the_model(model):
    found = model.coordinates
    assert found is model.coordinates and isinstance(found, Coordinates)
    with pytest.raises(FrozenInstanceError):
        found.nq = 3
    with pytest.raises(ValueError, match="read-only"):
        found.T[...] = 1.0
    if model.name != "own" and not model.name.startswith("random"):
        copy = pickle.loads(pickle.dumps(model))
        assert copy.coordinates.q_names == found.q_names


def test_names_that_are_no_joints_are_refused():
    found = coupled_tree(0)
    follower = found.joint_names[found.couplings[0].follower]
    with pytest.raises(sf.errors.ModelError, match="follows other joints"):
        found.coordinates.v_slice(follower)
    for wrong in ("elbo", 3, None, ["hinge"]):
        with pytest.raises(sf.errors.UnknownNameError):
            found.coordinates.q_slice(wrong)
