"""Trees for machine code: frames and inertias moved for zeros, the same joint-space dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.model.grouping import reduce_inertias
from sixfold.quantities import readings
from sixfold.runtime.kernels.kernels import kernel_tree
from sixfold.runtime.kernels.reduce_frames import reduce_frames
from sixfold.spatial import IDENTITY3, Inertia, Transform, Vector3
from tests.surveys.random_trees import aligned

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
@pytest.mark.parametrize(
    "change", [reduce_inertias, reduce_frames, lambda tree: reduce_inertias(reduce_frames(tree))]
)
def test_the_joint_space_dynamics_is_the_same(model, change):
    other = change(model.tree)
    q, v = (x.tolist() for x in sf.random_state(model, seed=3))
    a = np.random.default_rng(3).standard_normal(model.nv).tolist()
    borne = max(map(abs, readings.joint_wrenches(model, model.tree, q, v, a)))
    pairs = [
        [np.array(core(model, tree, *given), float) for tree in (model.tree, other)]
        for core, given in ((readings.inverse_dynamics, (q, v, a)), (readings.gravity_force, (q,)))
    ]
    for expected, found in pairs:
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-15 * borne)
    M, found = (np.array(readings.mass_matrix(model, t, q), float) for t in (model.tree, other))
    np.testing.assert_allclose(found, M, rtol=0, atol=4e-15 * np.abs(M).max())


@each
def test_frames_never_cost_operations(model):
    sizes = (model.nq, model.nv, model.nv)
    plain, moved = (
        work(readings.inverse_dynamics, model, reduce_inertias(tree), sizes)
        for tree in (model.tree, reduce_frames(model.tree))
    )
    assert moved <= 1.02 * plain
    assert offsets(reduce_frames(model.tree)) <= offsets(model.tree)


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
    assert offsets(reduce_frames(model.tree)) == 2 + 6


SLANTED = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.15))
"""No product of inertia about the origin is zero."""


def arm(*joints, inertia=SLANTED):
    """Return a chain of hinges, each with its axis and its place on the one before."""
    build = sf.ModelBuilder("arm")
    for n, (axis, place) in enumerate(joints):
        parent = f"link{n - 1}" if n else None
        build.add_body(
            f"link{n}", parent=parent, joint=sf.Revolute(axis), placement=place, inertia=inertia
        )
    return build.build()


def offsets_of(tree):
    return [tuple(x != 0 for x in tree.Xtree[i].r) for i in tree.bodies[1:]]


def test_offsets_along_axes_go_to_the_tips():
    model = arm(
        ("z", (0, 0, 0.5)),
        ("y", (0, 0, 0)),
        ("z", (0, 0, 0.4)),
        ("y", (0.1, 0, 0)),
        ("z", (0, 0, 0)),
    )
    none = (False, False, False)
    assert offsets_of(model.tree) == [none, (False, False, True), (True, False, False), none]
    moved = reduce_frames(model.tree)
    assert offsets_of(moved) == [none, none, (True, False, True), none]
    before, after = (
        work(readings.inverse_dynamics_derivatives, model, tree, (5, 5, 5))
        for tree in (model.tree, moved)
    )
    assert after < 0.97 * before


def test_bodies_on_parallel_axes_are_shifted_together():
    # the offset along y passes through two parallel joints to where there is one already
    joints = ("z", (0, 0, 0)), ("y", (0, 0, 0.1)), ("y", (0.4, 0.02, 0)), ("y", (0.4, 0, 0))
    model = arm(*joints, ("x", (0, 0.1, 0)))
    moved = reduce_frames(model.tree)
    assert [float(x) for x in moved.Xtree[3].r] == [0.4, 0, 0]
    assert [float(x) for x in moved.Xtree[4].r] == [0.4, 0, 0]
    assert float(moved.Xtree[5].r.y) == pytest.approx(0.12, abs=1e-16)
    assert offsets(moved) < offsets(model.tree)


def test_long_chains_of_parallel_axes_are_shifted_in_parts():
    joints = [("z", (0, 0, 0))] + [("y", (0.4, 0.02, 0))] * 40
    model = arm(*joints)
    moved = reduce_frames(model.tree)
    assert offsets(moved) < offsets(model.tree)
    q, v = (x.tolist() for x in sf.random_state(model, seed=3))
    expected, found = (
        np.array(readings.inverse_dynamics(model, tree, q, v, v), float)
        for tree in (model.tree, moved)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_products_of_inertia_that_are_zero_are_worth_an_offset():
    even = Inertia.from_mass(1.0, (0.1, 0.0, 0.3), (0.1, 0.2, 0.3))
    joints = ("z", (0, 0, 0)), ("y", (0.1, 0.2, 0.3)), ("x", (0.2, 0.1, 0.2))
    slanted, flat = (reduce_frames(arm(*joints, **given).tree) for given in ({}, {"inertia": even}))
    assert float(slanted.Xtree[2].r.y) == 0
    assert float(flat.Xtree[2].r.y) == 0.2


def test_axes_askew_become_coordinate_axes():
    model = sf.random_tree(8, 4, joints=(sf.Revolute, sf.Prismatic, sf.Helical))
    tree = reduce_frames(model.tree)
    for i in tree.bodies:
        assert sorted(abs(float(x)) for x in tree.joint[i].axis) == [0.0, 0.0, 1.0]
        assert type(tree.joint[i]) is type(model.tree.joint[i])
    sizes = (model.nq, model.nv, model.nv)
    before, after = (
        work(readings.inverse_dynamics, model, t, sizes)
        for t in (model.tree, reduce_inertias(tree))
    )
    assert after < 0.8 * before


def test_moments_that_stay_are_no_differences_that_cancel():
    for body in reduce_inertias(sf.load("puma560").tree).inertia[1:]:
        assert all(float(x) >= 0 for x in body.parameters()[4:7])


def test_axes_that_are_no_coordinate_axes_pass_on_only_what_grows_nothing():
    model = sf.random_tree(6, 4, joints=(sf.Revolute,))
    before = [[abs(float(x)) for x in I.parameters()] for I in model.tree.inertia]
    after = [[abs(float(x)) for x in I.parameters()] for I in reduce_inertias(model.tree).inertia]
    assert all(row[0] == 0 for row in after[1:])  # every mass can move
    assert max(map(max, after[1:])) <= 10 * max(map(max, before))


def test_symbols_are_left_alone():
    model = sf.load("pendulum")
    m = sp.Symbol("m")
    heavy = tuple(Inertia(m, I.h, I.I) for I in model.tree.inertia)
    tree = replace(model.tree, inertia=heavy)
    assert reduce_inertias(tree) is tree
    assert reduce_frames(tree) is tree


def test_what_belongs_to_bodies_is_traced_on_the_model_as_it_is():
    model = sf.load("puma560")
    for core in (
        readings.momentum,
        readings.body_poses,
        readings.joint_wrenches,
        readings.potential_energy,
    ):
        assert kernel_tree(core, model) is model.tree
    assert kernel_tree(readings.inverse_dynamics, model) is not model.tree


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


def test_forward_dynamics_goes_by_articulated_bodies_if_nothing_is_said():
    for name in ("puma560", "star:5", "planar_chain:40"):
        model = sf.load(name)
        q, v = sf.random_state(model, 20, seed=0)
        left_out = sf.forward_dynamics(model, q, v, v)
        assert np.array_equal(left_out, sf.forward_dynamics(model, q, v, v, method="aba"))
        by_matrix = sf.forward_dynamics(model, q, v, v, method="crba")
        assert not np.array_equal(left_out, by_matrix)
        np.testing.assert_allclose(left_out, by_matrix, rtol=1e-6)


# -- what is nearly so is not so


def pair(axis="z", turn=None, offset=(0.0, 0.0, 0.3), second=None, last="z", tilt=0.0):
    """Return two hinges in a row on a ball joint; the last is turned and away from the second."""
    solid = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.15))
    build = sf.ModelBuilder("pair")
    build.add_body("zero", joint=sf.Spherical(), inertia=solid)
    build.add_body(
        "one",
        parent="zero",
        joint=sf.Revolute(axis),
        placement=Transform(Transform.turn((0.3, 0.5, 0.8), tilt).E, Vector3.of((0.2, 0.1, -0.1))),
        inertia=solid,
    )
    X = Transform.turn(*turn) if turn else Transform.identity()
    place = Transform(X.E, Vector3.of(offset))
    inertia = solid if second is None else second
    build.add_body("two", parent="one", joint=sf.Revolute(last), placement=place, inertia=inertia)
    return build.build()


def test_a_turn_about_nearly_the_same_axis_is_not_taken_for_one_about_it():
    model = pair(turn=((1e-8, 0.0, 1.0), 0.7), last="y", tilt=0.5)
    E = model.tree.Xtree[3].E
    assert float(E.c.z) == 1.0  # rounds to 1, and is not
    assert float(E.b.z) != 0
    assert reduce_frames(model.tree).Xtree[3].E == E
    about = reduce_frames(pair(turn=((0.0, 0.0, 1.0), 0.7), last="y", tilt=0.5).tree)
    assert about.Xtree[3].E == IDENTITY3  # a real one is taken out


def test_elements_that_are_small_but_known_stay():
    for size in (1e-12, 1e-15, 1e-17, 1e-30):
        tree = reduce_frames(pair(offset=(0.3, size, 0.25)).tree)
        assert tree.Xtree[3].r.y == size
        assert tree.Xtree[3].r.z == 0
        tree = reduce_frames(pair(turn=((1.0, 0.0, 0.0), size)).tree)
        assert float(tree.Xtree[3].E.b.z) == size


def test_a_frame_does_not_leave_its_mass_for_a_feather_far_away():
    far = (0.3, 0.0, 1e4)
    feather = Inertia.from_mass(1e-9, (0.1, 0.0, 0.0), (1e-12, 1e-12, 1e-12))
    light, heavy = (pair(offset=far, second=x, last="y", tilt=0.5) for x in (feather, None))
    assert float(reduce_frames(light.tree).Xtree[3].r.z) > 9999
    assert reduce_frames(heavy.tree).Xtree[3].r.z == 0
    q, _ = sf.random_state(light, 5, seed=0)
    M, expected = (sf.mass_matrix(light, q, backend=b) for b in (None, "numpy"))
    np.testing.assert_allclose(M, expected, rtol=1e-14, atol=1e-15)


def test_an_axis_askew_is_turned_to_full_accuracy():
    rng = np.random.default_rng(5)
    for scale in (1.0, 1e-4, 1e-9, 1e-14, 1e-20):
        u = np.array([0.0, 0.0, 1.0]) + scale * rng.standard_normal(3)
        model = pair(axis=u.tolist())
        tree = reduce_frames(model.tree)
        # the axis in the parent's coordinates, before and after
        before = np.array(model.tree.joint[2].axis, float)
        k = int(np.argmax(np.abs(np.array(tree.joint[2].axis, float))))
        after = np.array(tree.Xtree[2].E[k], float) * float(tree.joint[2].axis[k])
        np.testing.assert_allclose(after, before, rtol=2e-16, atol=1e-16 * scale)


def test_small_moments_behind_a_shift_keep_their_digits():
    """A rod along its hinge, shifted by half a metre: second moments move by themselves."""
    thin = Inertia.from_mass(1.0, (0.0, 0.0, 0.1), (0.1, 0.1 + 3e-10, 1e-9))
    build = sf.ModelBuilder("rod")
    build.add_body("one", joint=sf.Revolute("x"), inertia=thin)
    build.add_body(
        "two", parent="one", joint=sf.Revolute("z"), placement=(0.3, 0.0, 0.5), inertia=thin
    )
    build.add_body(
        "three", parent="two", joint=sf.Revolute("z"), placement=(0.1, 0, 0.7), inertia=thin
    )
    tree = reduce_inertias(reduce_frames(build.build().tree))
    assert tree.Xtree[3].r.z == 0
    assert tree.inertia[3].second_moments[:2] == thin.second_moments[:2]
    assert float(tree.inertia[3].I.zz) == 1e-9
