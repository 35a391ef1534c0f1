"""Newton-Euler about the joint points against spatial vectors, for every joint."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.inverse_dynamics import (
    body_forces,
    euler_moment,
    joint_forces,
    rotation_acceleration,
)
from sixfold.dynamics.kinematics import no_forces
from sixfold.spatial import Inertia, Symmetric3, Vector3
from tests.dynamics.models import MODELS
from tests.dynamics.support import EPS, array, error, flat, pushes, six, tables

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


def test_the_force_of_a_body_at_rest_holds_its_weight():
    model = sf.load("puma560")
    still = model.velocities([0.0] * 6)
    none = no_forces(model.tree)
    found = body_forces(model.tree, model.positions([0.0] * 6), still, still, none).f
    for i in model.tree.bodies:
        size = np.linalg.norm(np.array(six(found[i]))[3:])
        assert size == pytest.approx(9.81 * float(model.tree.inertia[i].m), rel=1e-3)


def test_what_rotation_adds_to_the_acceleration_of_a_point():
    w, wd, r = (Vector3(*row) for row in np.random.default_rng(0).standard_normal((3, 3)))
    expected = wd.cross(r) + w.cross(w.cross(r))
    T, W = rotation_acceleration(w, wd)
    np.testing.assert_allclose(W @ r, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(r.cross(T @ r), r.cross(expected), rtol=1e-13, atol=1e-13)


def test_the_moment_from_second_moments_is_eulers():
    rng = np.random.default_rng(1)
    w, wd = (Vector3(*row) for row in rng.standard_normal((2, 3)))
    I = Inertia.from_mass(2.0, rng.standard_normal(3), (0.3, 0.4, 0.5))
    euler = I.I @ wd + w.cross(I.I @ w)
    found = euler_moment(I.second_moments, rotation_acceleration(w, wd)[0])
    np.testing.assert_allclose(found, euler, rtol=1e-13, atol=1e-13)


def test_the_moment_from_second_moments_takes_fewer_products_than_eulers():
    def products(function):
        return trace(function, (3, 3, 6)).counts()["mul"]

    def euler(w, wd, I):
        w, wd, I = Vector3(*w), Vector3(*wd), Symmetric3(*I)
        return [*(I @ wd + w.cross(I @ w))]

    def ours(w, wd, second):
        return [
            *euler_moment(Symmetric3(*second), rotation_acceleration(Vector3(*w), Vector3(*wd))[0])
        ]

    squares = 6  # needed for the accelerations anyway
    assert products(ours) - squares <= 0.65 * products(euler)
