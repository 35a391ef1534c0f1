"""The printed algorithms as public functions: floats, batches, lists, symbols, exact numbers."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

import sixfold as sf

ROBOTS = ["double_pendulum", "ma23", "tree6", "puma560", "floating_link", "quadruped"]
FIXED_AXES = ["double_pendulum", "ma23", "tree6", "puma560"]


def states(model, n=4):
    rng = np.random.default_rng(3)
    q, v = sf.random_state(model, n, seed=3)
    return q, v, rng.standard_normal((n, model.nv)), rng.standard_normal((n, model.nb, 6))


def bare(name):
    return sf.load(name).without(damping=True, friction=True, springs=True, constraints=True)


@pytest.mark.parametrize("name", ROBOTS)
def test_they_agree_with_the_compiled_functions(name):
    arm = bare(name)
    q, v, a, f = states(arm)
    tau = sf.inverse_dynamics(arm, q, v, a, f, f_ext_frame="body")
    size = np.abs(tau).max()
    assert np.abs(sf.book.rnea(arm, q, v, a, f) - tau).max() < 1e-12 * size
    assert np.abs(sf.book.aba(arm, q, v, tau, f) - a).max() < 1e-8
    assert np.abs(sf.book.crba(arm, q) - sf.mass_matrix(arm, q)).max() < 1e-12 * size
    if arm.nv <= 8:
        M, V, G = sf.book.lagrange(arm, q, v)
        plain = sf.inverse_dynamics(arm, q, v, a)
        sums = np.einsum("tij,tj->ti", M, a) + V + G
        assert np.abs(sums - plain).max() < 1e-11 * size


@pytest.mark.parametrize("name", FIXED_AXES)
def test_those_of_fixed_axes(name):
    arm = bare(name)
    q, v, a, f = states(arm)
    tau = sf.book.newton_euler(arm, q, v, a, f)
    assert np.abs(tau - sf.book.rnea(arm, q, v, a, f)).max() < 1e-12 * np.abs(tau).max()
    c = sf.book.christoffel(arm, q)
    V = sf.bias_force(arm.without(gravity=True), q, v)
    assert np.allclose(np.einsum("tkij,ti,tj->tk", c, v, v), V, atol=1e-10)
    B, C = sf.book.craig(arm, q)
    rows, columns = np.triu_indices(arm.nv, 1)
    split = np.einsum("tkp,tp->tk", B, v[:, rows] * v[:, columns])
    assert np.allclose(split + np.einsum("tki,ti->tk", C, v**2), V, atol=1e-10)
    # centres of mass move as the frames of their bodies say
    moved = sf.book.center_velocities(arm, q, v)
    h = 1e-6
    after, before = (np.asarray(centers(arm, sf.integrate(arm, q, v, s * h))) for s in (1, -1))
    assert np.allclose(moved, (after - before) / (2 * h), atol=1e-7)


def centers(arm, q):
    poses = np.asarray(sf.body_poses(arm, q))
    points = np.array([[*map(float, body.inertia.center), 1.0] for body in arm.bodies])
    return np.einsum("...bij,bj->...bi", poses, points)[..., :3]


def test_composites_are_sums_and_the_first_is_the_whole():
    arm = sf.load("tree6")
    q, *_ = states(arm)
    Ic = sf.book.composite_inertias(arm, q)
    assert Ic.shape == (4, 7, 6, 6)
    masses = [float(body.inertia.m) for body in arm.bodies]
    for i in arm.tree.bodies:
        carried = sum(masses[k - 1] for k in arm.tree.subtree(i))
        assert np.allclose(Ic[:, i, 3, 3], carried)
    assert np.allclose(Ic[:, 0, 3, 3], sum(masses))


@pytest.mark.parametrize("name", FIXED_AXES)
def test_terms_about_the_centres_make_those_about_the_joints(name):
    arm = bare(name)
    q, v, *_ = states(arm)
    S, M_bar, A_bar, B_bar = sf.book.center_terms(arm, q, v)
    for k in range(len(q)):
        tree = arm.tree
        s = sf.book.inertial_axes.inertial(tree, arm.positions(q[k]), arm.velocities(v[k]))
        for i in tree.bodies:
            printed = S[k, i - 1].T @ M_bar[k, i - 1] @ S[k, i - 1]  # (16)
            assert np.allclose(printed, np.array(sf.spatial.to_array(s.M[i]), float))
            force = S[k, i - 1].T @ M_bar[k, i - 1] @ A_bar[k, i - 1] + B_bar[k, i - 1]  # (17)
            assert np.allclose(force, np.array([*s.B[i].ang, *s.B[i].lin], float))


def test_a_branch_resists_nothing_along_a_joint_that_yields():
    arm = sf.load("tree10")
    q, *_ = states(arm)
    J_hat, J = sf.book.yielding_inertias(arm, q), np.asarray(sf.articulated_inertias(arm, q))
    for i, joint in enumerate(sf.book.joint_maps(arm, q)):
        assert np.abs(J_hat[:, i] @ joint.S).max() < 1e-11
        G = joint.S
        R = np.einsum("tji,tjk,tkl->til", G, J[:, i], G)
        U = J[:, i] @ G
        expected = J[:, i] - U @ np.linalg.solve(R, np.swapaxes(U, 1, 2))
        assert np.allclose(J_hat[:, i], expected)


@pytest.mark.parametrize("name", ["tree6", "floating_link", "cart_pendulum"])
def test_joint_maps_move_the_bodies(name):
    arm = bare(name)
    q, v, *_ = states(arm)
    maps = sf.book.joint_maps(arm, q)
    twists = np.asarray(sf.body_velocities(arm, q, v))
    # v_i = X_J X_T v_parent + S qd, in coordinates of the body
    for body, slices in enumerate(arm.tree.velocity_slices[1:], 1):
        X, S = maps[body - 1]
        moved = np.einsum("tij,tj->ti", S, v[:, slices])
        if parent := arm.tree.parent[body]:
            Xup = X @ np.asarray(arm.tree.Xtree[body])
            moved += np.einsum("tij,tj->ti", Xup, twists[:, parent - 1])
        assert np.allclose(moved, twists[:, body - 1])


def test_symbols_and_fractions_stay_exact():
    import sympy

    arm = sf.load("double_pendulum")
    q1, q2, u = sympy.symbols("q1 q2 u")
    H = sf.book.crba(arm, [q1, q2])
    assert H.dtype == object and H[0, 0].has(sympy.cos(q2)) and isinstance(H[1, 1], float)
    tau = sf.book.rnea(arm, [q1, q2], [u, 0], [0, 0])
    V = sf.book.lagrange(arm, [q1, q2], [u, 0])
    at = {q1: 0.3, q2: -0.7, u: 1.5}
    printed = [float(x.subs(at)) for x in tau]
    assert np.allclose(printed, [float(x.subs(at)) for x in V.V + V.G])
    assert np.allclose(printed, sf.bias_force(arm, [0.3, -0.7], [1.5, 0.0]))
    four, two, five = Fraction(4), Fraction(2), Fraction(5)
    L, D = sf.book.ltdl([[four, two], [two, five]])
    assert D.tolist() == [Fraction(16, 5), 5] and L[1, 0] == Fraction(2, 5)
    assert sf.book.solve_ltdl(L, D, [six := Fraction(6), six + 1]).tolist() == [1, 1]


def test_lists_leading_axes_and_one_state_agree():
    arm = sf.load("puma560")
    q, v, a, _ = states(arm, 6)
    every = sf.book.rnea(arm, q.reshape(2, 3, 6), v.reshape(2, 3, 6), a[0])
    one = sf.book.rnea(arm, q[4].tolist(), v[4].tolist(), a[0].tolist())
    assert every.shape == (2, 3, 6) and np.allclose(every[1, 1], one, rtol=1e-14)


def test_factors_keep_the_zeros_of_the_matrix():
    arm = sf.load("tree10")
    q, *_ = states(arm, 1)
    H, parent = sf.mass_matrix(arm, q[0]), arm.tree.dof_parent
    L = sf.book.ltl(H, parent)
    assert np.allclose(L.T @ L, H) and np.all((L != 0) <= (np.tril(H) != 0))
    b = np.arange(10.0)
    assert np.allclose(H @ sf.book.solve_ltl(L, b, parent), b)
    assert np.allclose(sf.book.ltl(H).T @ sf.book.ltl(H), H)  # without parents: a full matrix


def test_wrong_input_is_said_plainly():
    arm = sf.load("puma560")
    with pytest.raises(sf.errors.ShapeError, match=r"book\.rnea.*'q'"):
        sf.book.rnea(arm, np.zeros(5), np.zeros(6), np.zeros(6))
    with pytest.raises(sf.errors.ShapeError, match=r"'f_ext'"):
        sf.book.rnea(arm, np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(36))
    with pytest.raises(sf.errors.ArgumentError, match="'q'"):
        sf.book.crba(arm, ["a"] * 6)
    with pytest.raises(sf.errors.NotApplicableError, match=r"spherical|free"):
        sf.book.newton_euler(sf.load("floating_link"), [0, 0, 0, 0, 0, 0, 1, 0], *[[0] * 7] * 2)
    with pytest.raises(sf.errors.OptionError, match="'rnea'"):
        sf.book.source("rnae")
    with pytest.raises(sf.errors.ArgumentError, match="dof_parent"):
        sf.book.ltl(np.eye(2), [0, 1])
    with pytest.raises(sf.errors.ArgumentError):
        sf.book.rnea("puma560", np.zeros(6), np.zeros(6), np.zeros(6))


def test_source_is_what_runs():
    text = sf.book.source("rnea")
    assert "f[i] = I @ a[i] + v[i].cross(I @ v[i]) - f_ext[i]" in text
    for name in ("rnea", "crba", "aba", "newton_euler", "ltl", "ltdl"):
        assert sf.book.source(name).startswith(f"def {name}(")
        assert "Args:" in inspect.getdoc(getattr(sf.book, name))
