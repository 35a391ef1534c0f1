"""Trees for machine code: frames and inertias moved for zeros, the same joint-space dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from benchmarks.random_trees import aligned

import sixfold as sf
from sixfold.evaluate import cores
from sixfold.evaluate.lean import kernel_tree, solver
from sixfold.model.frames import reframed
from sixfold.model.grouping import lean
from sixfold.native import optimise, trace
from sixfold.spatial import Inertia

NAMES = ("pendulum", "cart_pendulum", "tree6", "tree10", "puma560", "ma23", "floating_link")
MODELS = {
    **{name: sf.load(name) for name in NAMES},
    **{
        f"along axes {k}": aligned(sf.random_tree(8, k), np.random.default_rng(k)) for k in range(6)
    },
    "any axes": sf.random_tree(10, 4),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def offsets(tree):
    """Return how many numbers the placements of bodies on bodies hold."""
    inner = [tree.Xtree[i] for i in tree.bodies if tree.parent[i]]
    return sum(x != 0 for X in inner for x in (*X.r, *X.E.a, *X.E.b, *X.E.c))


def work(core, model, tree, sizes):
    """Return how many operations a core takes on a tree."""
    program = optimise(trace(lambda *x: core(model, tree, *x), sizes))
    return sum(n for op, n in program.counts().items() if op not in ("input", "const"))


@each
@pytest.mark.parametrize("change", [lean, reframed, lambda tree: lean(reframed(tree))])
def test_the_joint_space_dynamics_is_the_same(model, change):
    other = change(model.tree)
    q, v = (x.tolist() for x in sf.random_state(model, seed=3))
    a = np.random.default_rng(3).standard_normal(model.nv).tolist()
    borne = max(map(abs, cores.joint_wrenches(model, model.tree, q, v, a)))
    pairs = [
        [np.array(core(model, tree, *given), float) for tree in (model.tree, other)]
        for core, given in ((cores.inverse_dynamics, (q, v, a)), (cores.gravity_force, (q,)))
    ]
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-15 * borne)
    M, found = (np.array(cores.mass_matrix(model, t, q), float) for t in (model.tree, other))
    np.testing.assert_allclose(found, M, rtol=0, atol=4e-15 * np.abs(M).max())


@each
def test_frames_never_cost_operations(model):
    sizes = (model.nq, model.nv, model.nv)
    plain, moved = (
        work(cores.inverse_dynamics, model, lean(tree), sizes)
        for tree in (model.tree, reframed(model.tree))
    )
    assert moved <= 1.02 * plain
    assert offsets(reframed(model.tree)) <= offsets(model.tree)


def test_an_offset_along_an_axis_is_taken_out():
    build = sf.ModelBuilder("arm")
    inertia = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    parent = None
    for name, axis, place in (
        ("one", "z", (0.0, 0.0, 0.0)),
        ("two", "y", (0.5, 0.0, 0.25)),
        ("three", "y", (0.5, 0.1, 0.0)),
    ):
        joint = sf.Revolute(axis)
        build.add_body(name, parent=parent, joint=joint, placement=place, inertia=inertia)
        parent = name
    model = build.build()
    assert offsets(model.tree) == 4 + 6
    assert offsets(reframed(model.tree)) == 2 + 6


def test_axes_askew_become_coordinate_axes():
    model = sf.random_tree(8, 4, joints=(sf.Revolute, sf.Prismatic, sf.Helical))
    tree = reframed(model.tree)
    for i in tree.bodies:
        assert sorted(abs(float(x)) for x in tree.joint[i].axis) == [0.0, 0.0, 1.0]
        assert type(tree.joint[i]) is type(model.tree.joint[i])
    sizes = (model.nq, model.nv, model.nv)
    before, after = (
        work(cores.inverse_dynamics, model, t, sizes) for t in (model.tree, lean(tree))
    )
    assert after < 0.8 * before


def test_moments_that_stay_are_no_differences_that_cancel():
    for body in lean(sf.load("puma560").tree).inertia[1:]:
        assert all(float(x) >= 0 for x in body.parameters()[4:7])


def test_axes_that_are_no_coordinate_axes_pass_on_only_what_grows_nothing():
    model = sf.random_tree(6, 4, joints=(sf.Revolute,))
    before = [[abs(float(x)) for x in I.parameters()] for I in model.tree.inertia]
    after = [[abs(float(x)) for x in I.parameters()] for I in lean(model.tree).inertia]
    assert all(row[0] == 0 for row in after[1:])  # every mass can move
    assert max(map(max, after[1:])) <= 10 * max(map(max, before))


def test_symbols_are_left_alone():
    model = sf.load("pendulum")
    m = sp.Symbol("m")
    heavy = tuple(Inertia(m, I.h, I.I) for I in model.tree.inertia)
    tree = replace(model.tree, inertia=heavy)
    assert lean(tree) is tree
    assert reframed(tree) is tree


def test_what_belongs_to_bodies_is_traced_on_the_model_as_it_is():
    model = sf.load("puma560")
    for core in (cores.momentum, cores.body_poses, cores.joint_wrenches, cores.potential_energy):
        assert kernel_tree(core, model) is model.tree
    assert kernel_tree(cores.inverse_dynamics, model) is not model.tree


@pytest.mark.parametrize("frame", ["body", "world"])
@each
def test_external_forces_act_where_they_are_given(model, frame):
    q, v = sf.random_state(model, 5, seed=1)
    f_ext = np.random.default_rng(1).standard_normal((5, model.nb, 6))
    for function in (sf.inverse_dynamics, sf.forward_dynamics):
        found, expected = (
            function(model, q, v, v, f_ext, f_ext_frame=frame, backend=backend)
            for backend in ("unrolled", "numpy")
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def limbs_of(*names):
    """Return a model with several sample robots on one base."""
    model = sf.load(names[0])
    for k, name in enumerate(names[1:]):
        model = sf.attach(model, sf.load(name), model.base_name, prefix=f"{k}_")
    return model


def test_limbs_are_the_bodies_on_each_joint_of_the_base():
    tree = limbs_of("puma560", "double_pendulum").tree
    assert tree.limbs() == ((1, 2, 3, 4, 5, 6), (7, 8))
    second = tree.part((7, 8))
    assert second.parent == (0, 0, 1)
    assert second.inertia[1:] == tree.inertia[7:]
    assert second.dofs[-1].stop == 2


def test_each_limb_is_solved_by_the_method_that_suits_it():
    model = limbs_of("puma560", "tree6")
    assert solver(model) == ("crba", "aba")
    q, v = sf.random_state(model, 20, seed=0)
    tau = np.random.default_rng(0).standard_normal(v.shape)
    f_ext = np.random.default_rng(1).standard_normal((20, model.nb, 6))
    whole = [sf.forward_dynamics(model, q, v, tau, f_ext, method=m) for m in ("aba", "crba")]
    for backend in (None, "numpy"):
        found = sf.forward_dynamics(model, q, v, tau, f_ext, backend=backend)
        for other in whole:
            np.testing.assert_allclose(found, other, rtol=1e-8, atol=1e-9 * np.abs(other).max())


def test_trees_that_may_need_the_rolled_form_are_solved_by_articulated_bodies():
    assert solver(sf.load("star:5")) == "crba"
    assert solver(sf.load("star:200")) == "aba"


def test_shallow_trees_solve_their_mass_matrix_and_deep_ones_do_not():
    assert solver(sf.load("puma560")) == "crba"
    assert solver(sf.load("planar_chain:40")) == "aba"
    assert solver(sf.load("tree6")) == "aba"  # a light body behind a heavy one
    model = sf.load("puma560")
    q, v = sf.random_state(model, 20, seed=0)
    left_out = sf.forward_dynamics(model, q, v, v)
    assert np.array_equal(left_out, sf.forward_dynamics(model, q, v, v, method="crba"))
    np.testing.assert_allclose(left_out, sf.forward_dynamics(model, q, v, v, method="aba"))
