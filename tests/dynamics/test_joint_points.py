"""Newton-Euler about the joint points against spatial vectors, for every joint."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.joint_points import joint_forces, loads, turning
from sixfold.dynamics.kinematics import no_forces
from sixfold.dynamics.rnea import rnea
from sixfold.spatial import Vector3
from tests.dynamics.support import EPS, array, error, flat, pushes, six, tables
from tests.dynamics.test_aba import MODELS

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


def test_the_load_of_a_body_at_rest_is_what_holds_its_weight():
    model = sf.load("puma560")
    still = model.velocities([0.0] * 6)
    none = no_forces(model.tree)
    found = loads(model.tree, model.positions([0.0] * 6), still, still, none).f
    for i in model.tree.bodies:
        size = np.linalg.norm(np.array(six(found[i]))[3:])
        assert size == pytest.approx(9.81 * float(model.tree.inertia[i].m), rel=1e-3)


def test_turning_is_the_acceleration_that_rotation_adds():
    w, wd, r = (Vector3(*row) for row in np.random.default_rng(0).standard_normal((3, 3)))
    expected = wd.cross(r) + w.cross(w.cross(r))
    np.testing.assert_allclose(turning(w, wd) @ r, expected, rtol=1e-14, atol=1e-14)
