"""The factor of the mass matrix by articulated bodies, with limbs left out of it."""

from __future__ import annotations

import numpy as np
import pytest

from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.fast.factor import FreeMotion, eliminate
from sixfold.dynamics.fast.inverse_dynamics import body_forces
from tests.dynamics.models import MODELS
from tests.dynamics.support import EPS, array, error, flat, pushes, tables

each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def motion(model, loaded) -> FreeMotion:
    """Return the motion of a random state under random forces, for rows on some bodies."""
    q, qd, tau, _ = tables(model)
    none = model.tree.zero_velocities()
    Xup, S, pA, *_ = body_forces(model.tree, q, qd, none, pushes(model))
    return eliminate(model.tree, Xup, S, pA, tau, loaded).motion()


def mass_matrix(model) -> np.ndarray:
    """Return M of the same state."""
    return array(dense(model.tree, crba(model.tree, tables(model)[0])))


@each
def test_gains_of_articulated_bodies_are_the_factor_of_the_mass_matrix(model):
    M = mass_matrix(model)
    found = motion(model, model.tree.bodies).factor
    L, D = ltdl(M.tolist(), model.tree.dof_parent)
    bar = 16 * EPS * np.linalg.cond(M)
    assert error(found.L, L) <= bar
    np.testing.assert_allclose(1.0 / array(found.reciprocals), array(D), rtol=bar)


@each
def test_limbs_follow_the_bodies_that_carry_them(model):
    """Whatever is left out of the factor, accelerations are those of all bodies."""
    q, qd, tau, _ = tables(model)
    want = flat(aba(model.tree, q, qd, tau, pushes(model)))
    bar = 64 * EPS * np.linalg.cond(mass_matrix(model))
    for loaded in ((), *([i] for i in model.tree.bodies)):
        moved = motion(model, loaded)
        assert error(moved.accelerations(moved.z), want) <= bar


@each
def test_a_force_on_the_trunk_moves_limbs_as_the_whole_mass_matrix_says(model):
    M = mass_matrix(model)
    rng = np.random.default_rng(3)
    bar = 64 * EPS * np.linalg.cond(M)
    for i in model.tree.bodies:
        moved = motion(model, [i])
        push = np.zeros(model.nv)
        for j in model.tree.support(i):
            push[model.tree.velocity_slices[j]] = rng.normal(size=model.tree.joint[j].nv)
        half = moved.factor.half(push.tolist())
        both = [x + y for x, y in zip(moved.z, half, strict=True)]
        added = array(moved.accelerations(both)) - array(moved.accelerations(moved.z))
        want = np.linalg.solve(M, push)
        scale = max(np.abs(array(moved.accelerations(both))).max(), np.abs(want).max())
        assert np.abs(added - want).max() <= bar * scale
