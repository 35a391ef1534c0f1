"""Newton-Euler about the joint points against spatial vectors, for every joint."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.joint_points import joint_forces, loads, turning
from sixfold.dynamics.rnea import rnea
from sixfold.spatial import Vector3
from tests.dynamics.support import EPS, array, error, flat, pushes, six, tables

MODELS = {
    "tree6": sf.load("tree6"),
    "tree10": sf.load("tree10"),
    "puma560": sf.load("puma560"),
    "rolling_ball": sf.load("rolling_ball"),
    "every joint": sf.random_tree(10, 4),
    "more joints": sf.random_tree(12, 9),
    "rotors": sf.random_tree(6, 8, properties=True),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@each
def test_joint_forces_are_those_of_spatial_vectors(model):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    tau, f = joint_forces(model.tree, q, qd, qdd, contact)
    expected, through = rnea(model.tree, q, qd, qdd, contact)
    borne = max(np.abs(six(through[i])).max() for i in model.tree.bodies)
    scale = borne / np.abs(array(flat(expected))).max()
    assert error(flat(tau), flat(expected)) <= 20 * EPS * max(1, scale)
    for i in model.tree.bodies:
        assert np.abs(np.subtract(six(f[i]), six(through[i]))).max() <= 20 * EPS * borne


@each
def test_no_acceleration_is_the_bias(model):
    q, qd, qdd, _ = tables(model)
    still = {i: x - x for i, x in qdd.items()}
    contact = pushes(model)
    bias, _ = joint_forces(model.tree, q, qd, None, contact)
    assert flat(bias) == flat(joint_forces(model.tree, q, qd, still, contact)[0])


def test_the_load_of_a_body_at_rest_is_what_holds_its_weight():
    model = sf.load("puma560")
    still = model.velocities([0.0] * 6)
    none = {i: x.f * 0 if hasattr(x, "f") else x * 0 for i, x in pushes(model).items()}
    found = loads(model.tree, model.positions([0.0] * 6), still, None, none).f
    for i in model.tree.bodies:
        size = np.linalg.norm(np.array(six(found[i]))[3:])
        assert size == pytest.approx(9.81 * float(model.tree.inertia[i].m), rel=1e-3)


def test_turning_is_the_acceleration_that_rotation_adds():
    w, wd, r = (Vector3(*row) for row in np.random.default_rng(0).standard_normal((3, 3)))
    expected = wd.cross(r) + w.cross(w.cross(r))
    np.testing.assert_allclose(turning(w, wd) @ r, expected, rtol=1e-14, atol=1e-14)
