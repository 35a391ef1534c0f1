"""The joint-space inertia matrix: Featherstone eqs. (1) to (8), sparsity, factorisations."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl, ltl, path, solve_ltdl, solve_ltl
from sixfold.dynamics.book.lagrange import mass_matrix as by_energies
from sixfold.dynamics.energy import composite_inertias, kinetic_energy
from sixfold.dynamics.kinematics import jacobian, motions, transforms
from sixfold.scalar import ZERO
from sixfold.spatial import Inertia, Motion
from tests.dynamics.support import EPS, array, error, flat, fn, six, tables

MODELS = {
    "tree6": sf.load("tree6"),
    "tree10": sf.load("tree10"),
    "star:5": sf.load("star:5"),
    "puma560": sf.load("puma560"),
    "floating_link": sf.load("floating_link"),
    "rolling_ball": sf.load("rolling_ball"),
    "every joint": sf.random_tree(10, 4),
    "more joints": sf.random_tree(12, 9),
    "rotors": sf.random_tree(6, 8, properties=True),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
TIGHT = 128 * EPS


def axes(model, q):
    """s of every freedom in world coordinates, with its body."""
    _, X0 = transforms(model.tree, q)
    result = []
    for i in model.tree.bodies:
        zero = (ZERO,) * model.tree.joint[i].nv
        S = model.tree.joint[i].calc(q[i], zero).S
        result += [(i, X0[i].inverse() @ column) for column in S.columns]
    return result


def world_inertias(model, q):
    _, X0 = transforms(model.tree, q)
    return {i: X0[i].T @ model.tree.inertia[i] @ X0[i] for i in model.tree.bodies}


def rotors(model):
    return np.diag([float(x) for i in model.tree.bodies for x in model.tree.armature[i]])


# -- kinetic energy, eqs. (1) to (5)


@each
def test_eq_1_kinetic_energy_is_the_sum_over_bodies(model):
    q, qd, qdd, _ = tables(model)
    v, _ = motions(model.tree, q, qd, qdd)
    total = 0.0
    for i in model.tree.bodies:
        I, m = array(model.tree.inertia[i].matrix()), array(six(v[i]))
        total += 0.5 * m @ I @ m
    rate = array(flat(qd))
    total += 0.5 * rate @ rotors(model) @ rate
    assert abs(kinetic_energy(model.tree, q, qd) - total) <= TIGHT * total
    assert abs(fn.kinetic_energy(model, array(flat(q)), rate) - total) <= TIGHT * total


@each
def test_eq_2_velocity_is_the_sum_over_supporting_joints(model):
    q, qd, qdd, _ = tables(model)
    v, _ = motions(model.tree, q, qd, qdd)
    for k in model.tree.bodies:
        J = jacobian(model.tree, q, k)
        assert set(J) == set(model.tree.support(k))
        total = Motion.zero()
        for i in model.tree.support(k):
            total = total + J[i] @ qd[i]
        assert error(six(total), six(v[k])) <= TIGHT


@each
def test_eq_3_and_4_kinetic_energy_as_a_sum_over_pairs_of_joints(model):
    q, qd, _, _ = tables(model)
    s, I, rate = axes(model, q), world_inertias(model, q), flat(qd)
    by_bodies = by_joints = 0.0
    for k in model.tree.bodies:
        inside = set(model.tree.support(k))
        for a, (i, si) in enumerate(s):
            for b, (j, sj) in enumerate(s):
                if i in inside and j in inside:
                    by_bodies += 0.5 * float(si.dot(I[k] @ sj)) * rate[a] * rate[b]
    for a, (i, si) in enumerate(s):
        for b, (j, sj) in enumerate(s):
            for k in set(model.tree.subtree(i)) & set(model.tree.subtree(j)):
                by_joints += 0.5 * float(si.dot(I[k] @ sj)) * rate[a] * rate[b]
    spin = 0.5 * array(rate) @ rotors(model) @ array(rate)
    T = float(kinetic_energy(model.tree, q, qd))
    # terms of both signs: the sum of their sizes is at most some tens of T here
    assert abs(by_bodies + spin - T) <= 32 * TIGHT * T
    assert abs(by_joints + spin - T) <= 32 * TIGHT * T
    M = array(by_energies(model.tree, q))
    assert abs(0.5 * array(rate) @ M @ array(rate) - T) <= 32 * TIGHT * T


@each
def test_eq_5_kinetic_energy_is_half_the_quadratic_form_of_the_mass_matrix(model):
    q, qd, _, _ = tables(model)
    H, rate = array(dense(model.tree, crba(model.tree, q))), array(flat(qd))
    T = float(kinetic_energy(model.tree, q, qd))
    assert abs(0.5 * rate @ H @ rate - T) <= 8 * TIGHT * T
    M = fn.mass_matrix(model, array(flat(q)))
    T = fn.kinetic_energy(model, array(flat(q)), rate)
    assert abs(0.5 * rate @ M @ rate - T) <= 8 * TIGHT * T


# -- the elements, eqs. (6) to (8)


@each
def test_eq_6_elements_are_sums_over_commonly_supported_bodies(model):
    q, _, _, _ = tables(model)
    s, I = axes(model, q), world_inertias(model, q)
    H = np.zeros((model.nv, model.nv))
    for a, (i, si) in enumerate(s):
        for b, (j, sj) in enumerate(s):
            for k in set(model.tree.subtree(i)) & set(model.tree.subtree(j)):
                H[a, b] += float(si.dot(I[k] @ sj))
    # world coordinates: arms of a few metres amplify rounding a little
    expected = (H + rotors(model)).tolist()
    assert error(dense(model.tree, crba(model.tree, q)), expected) <= 8 * TIGHT
    assert error(by_energies(model.tree, q), expected) <= 8 * TIGHT


@each
def test_eq_7_common_bodies_are_the_smaller_subtree_or_none(model):
    tree = model.tree
    for i in tree.bodies:
        for j in tree.bodies:
            nu_i, nu_j = set(tree.subtree(i)), set(tree.subtree(j))
            expected = nu_i if i in nu_j else nu_j if j in nu_i else set()
            assert nu_i & nu_j == expected


@each
def test_eq_8_elements_by_composite_rigid_bodies(model):
    q, _, _, _ = tables(model)
    s, I = axes(model, q), world_inertias(model, q)
    composite = {}
    for i in model.tree.bodies:
        composite[i] = Inertia.zero()
        for k in model.tree.subtree(i):
            composite[i] = composite[i] + I[k]
    H = np.zeros((model.nv, model.nv))
    for a, (i, si) in enumerate(s):
        for b, (j, sj) in enumerate(s):
            if i in model.tree.subtree(j):
                H[a, b] = float(si.dot(composite[i] @ sj))
            elif j in model.tree.subtree(i):
                H[a, b] = float(si.dot(composite[j] @ sj))
    assert error(dense(model.tree, crba(model.tree, q)), (H + rotors(model)).tolist()) <= 8 * TIGHT


@each
def test_composite_inertia_of_the_whole_tree_is_the_sum_of_its_bodies(model):
    q, _, _, _ = tables(model)
    total = Inertia.zero()
    for I in world_inertias(model, q).values():
        total = total + I
    assert error(composite_inertias(model.tree, q)[0].matrix(), total.matrix()) <= TIGHT


@each
def test_mass_matrix_is_symmetric_positive_definite_and_equals_the_energy_form(model):
    q, _, _, _ = tables(model)
    H = array(dense(model.tree, crba(model.tree, q)))
    np.testing.assert_array_equal(H, H.T)
    assert np.linalg.eigvalsh(H)[0] > 0
    assert error(by_energies(model.tree, q), H) <= TIGHT


# -- branch-induced sparsity


def on_one_branch(model, r, c):
    owner = [i for i in model.tree.bodies for _ in range(model.tree.joint[i].nv)]
    i, j = owner[r], owner[c]
    return i in model.tree.support(j) or j in model.tree.support(i)


@each
def test_elements_between_branches_are_exact_zeros(model):
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    for r in range(model.nv):
        for c in range(model.nv):
            if not on_one_branch(model, r, c):
                assert H[r][c] is ZERO
    assert set(crba(model.tree, q)) == {
        (i, j) for i in model.tree.bodies for j in model.tree.support(i)
    }


def test_featherstones_tree_has_its_pattern_of_zeros():
    q, _, _, _ = tables(MODELS["tree6"])
    H = dense(MODELS["tree6"].tree, crba(MODELS["tree6"].tree, q))
    pattern = ["".join("." if x is ZERO else "x" for x in row) for row in H]
    assert pattern == ["xxxxxx", "xxx...", "xxx...", "x..xxx", "x..xx.", "x..x.x"]


# -- factorisations that keep the zeros


@each
def test_ltl_factors_multiply_to_the_mass_matrix(model):
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    L = array(ltl(H, model.tree.dof_parent))
    np.testing.assert_array_equal(L, np.tril(L))
    assert error(L.T @ L, H) <= TIGHT


@each
def test_ltdl_factors_multiply_to_the_mass_matrix(model):
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    L, D = ltdl(H, model.tree.dof_parent)
    L, D = array(L), array(D)
    np.testing.assert_array_equal(np.diag(L), np.ones(model.nv))
    assert (D > 0).all()
    assert error(L.T @ np.diag(D) @ L, H) <= TIGHT


@each
def test_factors_have_elements_only_where_one_joint_supports_the_other(model):
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    for L in (ltl(H, model.tree.dof_parent), ltdl(H, model.tree.dof_parent)[0]):
        for r in range(model.nv):
            for c in range(model.nv):
                if c > r or not on_one_branch(model, r, c):
                    assert L[r][c] is ZERO


@pytest.mark.parametrize("name", ["tree6", "tree10", "star:5"])
def test_factors_have_exactly_as_many_elements_as_the_mass_matrix(name):
    model = MODELS[name]
    q, _, _, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    lower = sum(x is not ZERO for r, row in enumerate(H) for x in row[: r + 1])
    assert lower < model.nv * (model.nv + 1) / 2
    for L in (ltl(H, model.tree.dof_parent), ltdl(H, model.tree.dof_parent)[0]):
        assert sum(x is not ZERO for row in L for x in row) == lower


@each
def test_solving_with_the_factors_solves_with_the_mass_matrix(model):
    q, _, qdd, _ = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    x = array(flat(qdd))
    b = (array(H) @ x).tolist()
    bar = 16 * EPS * np.linalg.cond(array(H))
    parent = model.tree.dof_parent
    assert error(list(solve_ltl(ltl(H, parent), parent, b)), x) <= bar
    assert error(list(solve_ltdl(*ltdl(H, parent), parent, b)), x) <= bar


def test_freedoms_of_one_joint_support_each_other_in_turn():
    builder = sf.ModelBuilder("arm")
    solid = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    builder.add_body("a", joint=sf.Universal(), inertia=solid)
    builder.add_body("b", parent="a", joint=sf.Spherical(), inertia=solid)
    builder.add_body("c", parent="a", joint=sf.Revolute("z"), inertia=solid)
    tree = builder.build().tree
    assert tree.dof_parent == (-1, 0, 1, 2, 3, 1)
    assert list(path(tree.dof_parent, 4)) == [3, 2, 1, 0]
    assert list(path(tree.dof_parent, 5)) == [1, 0]
