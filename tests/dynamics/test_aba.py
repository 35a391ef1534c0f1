"""Forward dynamics by articulated bodies, the inverse mass matrix, and one constrained body."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.aba import aba as book_aba
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.aba import aba as fast_aba
from sixfold.dynamics.fast.articulated import articulated_inertias, inverse_mass_matrix, pivots
from sixfold.spatial import Force, Inertia, Subspace
from sixfold.spatial.body_motion import apparent_inverse_inertia, constrained_motion
from tests.dynamics.models import MODELS
from tests.dynamics.support import EPS, array, error, flat, fn, pushes, six, tables

each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
both = pytest.mark.parametrize("aba", [book_aba, fast_aba], ids=["book", "fast"])


@both
@each
def test_articulated_bodies_invert_newton_euler(model, aba):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    tau, f = rnea(model.tree, q, qd, qdd, contact)
    H = array(dense(model.tree, crba(model.tree, q)))
    # joint forces round on the scale of all forces borne, which weight may dominate
    borne = max(np.abs(six(f[i])).max() for i in model.tree.bodies)
    load = 1 + borne / (np.abs(H).sum(axis=1).max() * np.abs(array(flat(qdd))).max())
    off = error(flat(aba(model.tree, q, qd, tau, contact)), flat(qdd))
    assert off <= 16 * EPS * np.linalg.cond(H) * load


@both
@each
def test_newton_euler_inverts_articulated_bodies(model, aba):
    q, qd, tau, _ = tables(model)
    contact = pushes(model)
    qdd = aba(model.tree, q, qd, tau, contact)
    back, _ = rnea(model.tree, q, qd, qdd, contact)
    H = array(dense(model.tree, crba(model.tree, q)))
    scale = np.abs(H).sum(axis=1).max() * np.abs(array(flat(qdd))).max()
    # a backward stable answer: a few eps of ||H|| |qdd|, whatever the condition
    assert np.abs(array(flat(back)) - array(flat(tau))).max() <= 16 * EPS * scale


@each
def test_inverse_mass_matrix_times_mass_matrix_is_one(model):
    q, _, _, _ = tables(model)
    H = array(dense(model.tree, crba(model.tree, q)))
    inverse = array(inverse_mass_matrix(model.tree, q))
    np.testing.assert_array_equal(inverse, inverse.T)
    bar = 16 * EPS * np.linalg.cond(H)
    assert np.abs(inverse @ H - np.eye(model.nv)).max() <= bar
    public = fn.inverse_mass_matrix(model, np.array(flat(q)))
    assert error(public, inverse) <= bar


@each
def test_pivots_of_articulated_bodies_are_those_of_the_factorised_mass_matrix(model):
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    D, sizes = pivots(model.tree, q)
    diagonal = np.diag(array(H))
    assert (array(sizes) >= diagonal * (1 - 128 * EPS)).all()
    for i in model.tree.bodies:
        # nothing cancels about a coordinate axis
        if 1.0 in map(abs, map(float, getattr(model.tree.joint[i], "axis", ()))):
            own = model.tree.velocity_slices[i]
            np.testing.assert_allclose(array(sizes)[own], diagonal[own], rtol=128 * EPS)
    _, by_factors = ltdl(H, model.tree.dof_parent)
    one = [
        k
        for i in model.tree.bodies
        if model.tree.joint[i].nv == 1
        for k in [model.tree.velocity_slices[i].start]
    ]
    bar = 16 * EPS * np.linalg.cond(array(H))
    np.testing.assert_allclose(array(D)[one], array(by_factors)[one], rtol=bar)
    # within a joint of several freedoms the orders differ, their product does not
    for i in model.tree.bodies:
        own = model.tree.velocity_slices[i]
        product = np.prod(array(D)[own]) / np.prod(array(by_factors)[own])
        assert abs(product - 1) <= bar


@each
def test_articulated_inertia_is_never_above_the_composite_one(model):
    """What yields cannot be heavier than what does not: Ic - IA is positive semidefinite."""
    q, _, _, _ = tables(model)
    x = articulated_inertias(model.tree, q)
    Ic = {i: model.tree.inertia[i] for i in model.tree.bodies}
    for i in reversed(model.tree.bodies):
        p = model.tree.parent[i]
        if p:
            Ic[p] = Ic[p] + (x.Xup[i].T @ Ic[i] @ x.Xup[i])
    for i in model.tree.bodies:
        whole, gives = array(Ic[i].matrix()), array(x.IA[i].matrix())
        # rotors resist too, so compare only without them
        if not any(float(r) for k in model.tree.subtree(i) for r in model.tree.armature[k]):
            assert np.linalg.eigvalsh(whole - gives)[0] >= -64 * EPS * np.abs(whole).max()


def test_acceleration_of_a_lone_body_is_inverse_inertia_times_force():
    I = Inertia.from_mass(2.0, (0.1, -0.2, 0.05), (0.03, 0.05, 0.04))
    builder = sf.ModelBuilder("body", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", joint=sf.Free(), inertia=I)
    f = np.array([0.3, -0.1, 0.7, 1.0, 2.0, -0.5])
    model = builder.build()
    a = fn.forward_dynamics(model, sf.neutral(model), np.zeros(6), f)
    assert error(array(I.matrix()) @ a, f) <= 64 * EPS


# -- a body constrained to a subspace, initially at rest (Featherstone's example)

BODY = Inertia.from_mass(
    2.0, (0.1, -0.2, 0.05), ((0.3, 0.02, 0.01), (0.02, 0.5, 0.03), (0.01, 0.03, 0.4))
)
APPLIED = Force.of([0.3, -0.1, 0.7, 1.0, 2.0, -0.5])


def subspaces():
    rng = np.random.default_rng(3)
    return [
        Subspace(*(sf.spatial.Motion.of(row) for row in rng.standard_normal((n, 6)).tolist()))
        for n in range(1, 6)
    ]


@pytest.mark.parametrize("S", subspaces(), ids=range(1, 6))
def test_acceleration_of_a_constrained_body_is_apparent_inverse_inertia_times_force(S):
    found = constrained_motion(BODY, S, APPLIED)
    apparent = array(apparent_inverse_inertia(BODY, S))
    s = array([six(c) for c in S.columns]).T
    I, f = array(BODY.matrix()), array(six(APPLIED))
    expected = s @ np.linalg.solve(s.T @ I @ s, s.T @ f)
    bar = 64 * EPS * np.linalg.cond(s.T @ I @ s)
    assert error(six(found.a), expected) <= bar
    assert error(apparent @ f, expected) <= bar
    # S^T f_c = 0 and f + f_c = I a
    borne = array(six(found.f_c))
    assert np.abs(s.T @ borne).max() <= bar * np.abs(borne).max()
    assert error(f + borne, I @ array(six(found.a))) <= bar


@pytest.mark.parametrize("S", subspaces(), ids=range(1, 6))
def test_apparent_inverse_inertia_is_symmetric_semidefinite_of_rank_dim_s(S):
    apparent = array(apparent_inverse_inertia(BODY, S))
    scale = np.abs(apparent).max()
    assert np.abs(apparent - apparent.T).max() <= 64 * EPS * scale
    values = np.linalg.eigvalsh((apparent + apparent.T) / 2)
    n = len(S.columns)
    assert (values[6 - n :] > 1e-6 * scale).all()
    assert np.abs(values[: 6 - n]).max() <= 1e-12 * scale


def test_apparent_inverse_inertia_does_not_depend_on_the_choice_of_s():
    S = subspaces()[2]
    a, b, c = S.columns
    other = Subspace(a + b * 2.0, b - c, c * 3.0 + a)
    first, second = (array(apparent_inverse_inertia(BODY, s)) for s in (S, other))
    assert error(first, second) <= 1e-12


def test_a_joint_to_the_base_is_such_a_constraint():
    """One body on a universal joint at rest answers a force as the constrained body does."""
    builder = sf.ModelBuilder("one", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", joint=sf.Universal(), inertia=BODY)
    model = builder.build()
    q, _, _, _ = tables(model)
    S = model.tree.joint[1].calc(q[1], (0.0, 0.0)).S
    found = constrained_motion(BODY, S, APPLIED)
    still = model.velocities([0.0, 0.0])
    qdd = book_aba(model.tree, q, still, still, {1: APPLIED})
    assert error(flat(qdd), list(found.alpha_rate)) <= 64 * EPS
