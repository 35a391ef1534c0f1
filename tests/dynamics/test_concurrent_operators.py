"""Influence matrices: definitions 1 and 2, properties (P1) to (P4), Figs. 2 and 3.

Concurrent Dynamics International, EOM with Newton-Euler Equations, 2017.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.book.operators.operators import BlockMatrix, Influence, Propagation
from sixfold.dynamics.fast.articulated import articulated_inertias
from sixfold.errors import ShapeError
from sixfold.spatial import Force, Motion
from tests.dynamics.support import EPS, array, error, six, tables
from tests.surveys.operation_counts import chain, count

TREE10 = sf.load("tree10")
BODIES = range(1, 11)

PHI = """
    0  0  0  0  0  0  0  0  0   0
    A2 0  0  0  0  0  0  0  0   0
    A3 0  0  0  0  0  0  0  0   0
    0  0  A4 0  0  0  0  0  0   0
    0  0  A5 0  0  0  0  0  0   0
    0  0  0  0  A6 0  0  0  0   0
    0  0  0  A7 0  0  0  0  0   0
    0  0  0  0  0  0  A8 0  0   0
    A9 0  0  0  0  0  0  0  0   0
    0  0  0  0  0  0  0  0  A10 0
"""
PSI = """
    e        0 0      0    0  0 0  0 0   0
    A2       e 0      0    0  0 0  0 0   0
    A3       0 e      0    0  0 0  0 0   0
    A4A3     0 A4     e    0  0 0  0 0   0
    A5A3     0 A5     0    e  0 0  0 0   0
    A6A5A3   0 A6A5   0    A6 e 0  0 0   0
    A7A4A3   0 A7A4   A7   0  0 e  0 0   0
    A8A7A4A3 0 A8A7A4 A8A7 0  0 A8 e 0   0
    A9       0 0      0    0  0 0  0 e   0
    A10A9    0 0      0    0  0 0  0 A10 e
"""


def cells(text):
    return [line.replace("[", "").replace("]", "").split() for line in text.strip().splitlines()]


def shifts(model, seed=0):
    """The transforms D_i of a tree at a random state: 6x6 blocks like any other."""
    q, qd, _, none = tables(model, seed)
    return equations.body_frame(model.tree, q, qd, none).D


def influence(model):
    return Influence(model.tree, shifts(model))


def propagation(model):
    return Propagation(model.tree, shifts(model))


def motions(model, seed=0):
    rng = np.random.default_rng(seed)
    return {i: Motion.of(rng.standard_normal(6).tolist()) for i in model.tree.bodies}


def forces(model, seed=0):
    rng = np.random.default_rng(seed)
    return {i: Force.of(rng.standard_normal(6).tolist()) for i in model.tree.bodies}


def stack(x):
    return np.concatenate([six(x[i]) for i in sorted(x)])


def full(matrix):
    return array(matrix.blocks().dense())


# -- Fig. 2: body sets


def test_supports_of_the_ten_body_tree_are_the_chains_of_fig_2():
    tree = TREE10.tree
    assert set(tree.support(2)) == {2, 1}
    assert set(tree.ancestors(5)) == {3, 1}
    assert set(tree.support(6)) == {6, 5, 3, 1}
    assert set(tree.support(10)) == {10, 9, 1}


def test_branches_of_the_ten_body_tree_are_those_of_fig_2():
    tree = TREE10.tree
    assert set(tree.subtree(1)) == set(range(1, 11))
    assert set(tree.subtree(2)) == {2}
    assert set(tree.subtree(3)) == set(range(3, 9))
    assert set(tree.subtree(4)) == {4, 7, 8}


def test_children_of_the_ten_body_tree_are_those_of_fig_2():
    tree = TREE10.tree
    assert tree.children(1) == (2, 3, 9)
    assert tree.children(3) == (4, 5)
    assert tree.children(4) == (7,)
    assert all(tree.children(i) == () for i in (2, 6, 8, 10))


def test_bodies_are_numbered_parent_first():
    assert all(TREE10.tree.parent[i] < i for i in BODIES)
    # bodies may be added in any order: the model has parents first
    parents = {"e": "d", "d": "a", "c": "b", "a": "b", "b": None}
    builder = sf.ModelBuilder("tree")
    for name, parent in parents.items():
        builder.add_body(name, parent=parent, joint=sf.Revolute("z"))
    model = builder.build()
    assert all(model.tree.parent[i] < i for i in model.tree.bodies)
    for k, name in enumerate(model.body_names, 1):
        p = model.tree.parent[k]
        assert (model.body_names[p - 1] if p else None) == parents[name]


# -- Defs. 1 and 2


def test_phi_of_the_ten_body_tree_has_the_printed_blocks():
    assert cells(str(influence(TREE10))) == cells(PHI)


def test_blocks_of_phi_are_those_of_definition_1():
    phi = influence(TREE10)
    for i in BODIES:
        for j in BODIES:
            present = (i, j) in phi.blocks().blocks
            assert present == (TREE10.tree.parent[i] == j)
            if present:
                np.testing.assert_array_equal(
                    array(phi.blocks().blocks[i, j]), array(phi.A[i].matrix())
                )


def test_blocks_of_phi_transposed_are_those_of_definition_2():
    phi = influence(TREE10)
    back = phi.T.blocks()
    for i in BODIES:
        for j in BODIES:
            present = (i, j) in back.blocks
            assert present == (TREE10.tree.parent[j] == i)
            if present:
                np.testing.assert_array_equal(array(back.blocks[i, j]), array(phi.A[j].matrix()).T)
    assert str(phi.T) == str(phi.T.T.blocks().T)


def test_phi_is_strictly_lower_triangular_and_its_transpose_strictly_upper():
    phi = influence(TREE10)
    assert all(i > j for i, j in phi.blocks().blocks)
    assert all(i < j for i, j in phi.T.blocks().blocks)
    rows = [i for i, _ in phi.blocks().blocks]
    assert sorted(rows) == list(range(2, 11))  # one block in each row but the first


# -- (P1) and (P2)


def test_phi_hands_each_parents_value_to_its_children():
    phi, x = influence(TREE10), motions(TREE10)
    z = phi @ x
    for i in BODIES:
        parent = TREE10.tree.parent[i]
        expected = six(phi.A[i] @ x[parent]) if parent else [0.0] * 6
        assert six(z[i]) == expected
    np.testing.assert_allclose(stack(z), full(phi) @ stack(x), rtol=0, atol=16 * EPS)


def test_phi_transposed_sums_over_children():
    phi, x = influence(TREE10), forces(TREE10)
    z = phi.T @ x
    for i in BODIES:
        expected = sum(
            (np.array(six(phi.A[j].T @ x[j])) for j in TREE10.tree.children(i)), np.zeros(6)
        )
        np.testing.assert_allclose(six(z[i]), expected, rtol=0, atol=16 * EPS)
    np.testing.assert_allclose(stack(z), full(phi).T @ stack(x), rtol=0, atol=32 * EPS)


# -- nilpotency


def powers(model, m):
    phi = influence(model).blocks()
    power = BlockMatrix.identity(model.tree)
    for _ in range(m):
        power = phi @ power
    return power


def test_phi_of_the_ten_body_tree_is_nilpotent_of_degree_5():
    assert influence(TREE10).nilpotency == 5
    assert powers(TREE10, 5).blocks == {}
    assert set(powers(TREE10, 4).blocks) == {(8, 1)}
    assert np.abs(array(powers(TREE10, 4).blocks[8, 1])).max() > 0.1


def test_nilpotency_is_the_length_of_the_longest_path():
    for name, longest in (("planar_chain:7", 7), ("tree6", 3), ("star:4", 2), ("pendulum", 1)):
        model = sf.load(name)
        assert influence(model).nilpotency == longest
        assert powers(model, longest).blocks == {}
        assert longest == 1 or powers(model, longest - 1).blocks


# -- (P3) and (P4)


def test_psi_of_the_ten_body_tree_has_the_printed_blocks():
    psi = propagation(TREE10)
    assert cells(str(psi)) == cells(PSI)
    labels = psi.blocks().labels
    row8 = [labels.get((8, j), "0") for j in range(1, 9)]
    assert row8 == ["A8A7A4A3", "0", "A8A7A4", "A8A7", "0", "0", "A8", "e"]


def test_psi_of_a_nilpotency_2_system_is_one_plus_phi():
    star = sf.load("star:6")
    phi, psi = influence(star), propagation(star)
    assert phi.nilpotency == 2
    np.testing.assert_array_equal(full(psi), np.eye(36) + full(phi))
    assert [row[0] for row in cells(str(phi))] == ["0", "A2", "A3", "A4", "A5", "A6"]
    assert all(x == "0" for row in cells(str(phi)) for x in row[1:])


@pytest.mark.parametrize("name", ["tree10", "tree6", "star:5", "planar_chain:4"])
def test_psi_as_a_series_is_the_inverse_of_one_minus_phi(name):
    model = sf.load(name)
    phi, psi = full(influence(model)), full(propagation(model))
    one = np.eye(len(phi))
    inverse = np.linalg.inv(one - phi)
    scale = np.abs(inverse).max() ** 2
    np.testing.assert_allclose(psi, inverse, rtol=0, atol=64 * EPS * scale)
    np.testing.assert_allclose(psi @ (one - phi), one, rtol=0, atol=64 * EPS * scale)
    back = full(propagation(model).T)
    np.testing.assert_array_equal(back, psi.T)
    np.testing.assert_allclose(back @ (one - phi.T), one, rtol=0, atol=64 * EPS * scale)


def test_the_printed_inverse_of_one_plus_phi_is_not_psi():
    phi, psi = full(influence(TREE10)), full(propagation(TREE10))
    assert np.abs(np.linalg.inv(np.eye(60) + phi) - psi).max() > 1


@pytest.mark.parametrize("name", ["tree10", "tree6", "star:5", "random_tree:12:3"])
def test_sweeps_of_order_n_equal_the_dense_products(name):
    model = sf.load(name)
    psi, x, f = propagation(model), motions(model), forces(model)
    dense_psi = full(psi)
    scale = np.abs(dense_psi).max()
    outward, inward = stack(psi @ x), stack(psi.T @ f)
    assert error(outward, dense_psi @ stack(x)) <= 64 * EPS * scale
    assert error(inward, dense_psi.T @ stack(f)) <= 64 * EPS * scale


def test_sweeps_solve_their_defining_equations():
    phi, psi, x, f = influence(TREE10), propagation(TREE10), motions(TREE10), forces(TREE10)
    z, y = psi @ x, psi.T @ f
    # z = Phi z + x and y = Phi^T y + f
    assert error(stack(z), stack(phi @ z) + stack(x)) <= 16 * EPS
    assert error(stack(y), stack(phi.T @ y) + stack(f)) <= 16 * EPS


def test_sweeps_take_a_number_of_operations_of_order_n():
    counts = []
    for n in (10, 20, 40):
        c = chain(n)
        s = inertial(c.tree, c.q, c.qd, c.f_ext)
        x = {i: s.G[i] @ c.qdd[i] for i in c.tree.bodies}
        f = {i: s.M[i] @ x[i] for i in c.tree.bodies}
        counts.append((count(lambda s=s, x=x: s.Psi @ x), count(lambda s=s, f=f: s.Psi.T @ f)))
    for small, large in pairwise(counts):
        for a, b in zip(small, large, strict=True):
            assert 1.9 < b.total / a.total < 2.2


def test_a_product_with_the_blocks_of_psi_is_of_order_n_squared():
    for n in (5, 10, 20):
        model = sf.load(f"planar_chain:{n}")
        psi = propagation(model)
        blocks = psi.blocks().blocks
        assert len(blocks) == n * (n + 1) // 2  # a 6 x 6 product for each
        x = motions(model)
        whole = np.zeros((n, 6))
        for (i, j), block in blocks.items():
            whole[i - 1] += array(block) @ six(x[j])
        assert error(stack(psi @ x), whole.ravel()) <= 64 * EPS * n


# -- blocks of different sizes


@pytest.mark.parametrize("name", ["tree10", "random_tree:6:2", "random_tree:9:4"])
def test_mass_matrix_is_a_product_of_block_matrices_of_different_sizes(name):
    model = sf.load(name)
    q, qd, _, none = tables(model)
    s = equations.body_frame(model.tree, q, qd, none)
    G, M = BlockMatrix.diagonal(s.G, "G"), BlockMatrix.diagonal(s.M, "M")
    Psi = s.Psi.blocks()
    product = G.T @ Psi.T @ M @ Psi @ G
    assert list(product.rows.values()) == [model.tree.joint[i].nv for i in model.tree.bodies]
    H = dense(model.tree, crba(model.tree, q))
    assert error(product.dense(), H) <= 128 * EPS


def test_inverse_mass_matrix_is_a_product_of_block_matrices():
    model = sf.load("random_tree:7:5")
    q, qd, _, none = tables(model)
    s = equations.body_frame(model.tree, q, qd, none)
    J, R, K = equations.branch_inertias(s)
    beta = {i: equations.Beta(s.D[i], s.G[i], K[i]) for i in model.tree.bodies}
    G, Kd = BlockMatrix.diagonal(s.G, "G"), BlockMatrix.diagonal(K, "K")
    Phi, Psi_b = s.Phi.blocks(), Propagation(model.tree, beta, "b").blocks()
    inner = array((Kd.T @ Phi @ Psi_b @ G).dense())
    Rinv = np.linalg.inv(array(BlockMatrix.diagonal({i: R[i].rows for i in R}, "R").dense()))
    one = np.eye(model.nv)
    inverse = (one - inner) @ Rinv @ (one - inner.T)
    H = array(dense(model.tree, crba(model.tree, q)))
    assert np.abs(inverse @ H - one).max() <= 16 * EPS * np.linalg.cond(H)
    IA = articulated_inertias(model.tree, q).IA
    Jd = BlockMatrix.diagonal(J, "J")
    assert Jd.rows == dict.fromkeys(model.tree.bodies, 6)
    for i in model.tree.bodies:
        assert error(Jd.blocks[i, i], IA[i].matrix()) <= 32 * EPS


def test_block_matrices_that_do_not_fit_are_refused_with_both_sizes():
    model = sf.load("random_tree:3:1")
    q, qd, _, none = tables(model)
    s = equations.body_frame(model.tree, q, qd, none)
    G = BlockMatrix.diagonal(s.G, "G")
    with pytest.raises(ShapeError, match="block rows"):
        G @ G
