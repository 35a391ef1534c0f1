"""Grouped inertial parameters: fewer numbers, the same joint forces."""

from __future__ import annotations

from functools import partial

import gmpy2
import numpy as np
import pytest
from benchmarks.bench.examples import FILES, pinocchio_example

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.identification.base_parameters import stacked_regressor
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.model.grouping import PARAMETERS, movable
from sixfold.quantities import readings
from sixfold.scalar import ZERO, Zero, plain
from sixfold.spatial import Inertia, Symmetric3, Vector3

EVERY = (
    *("pendulum", "cart_pendulum", "tree6", "tree10", "puma560", "ma23", "floating_link"),
    *("rolling_ball", "random_tree:12:1", "random_tree:12:2"),
)


def robot(name):
    if name not in FILES:
        return sf.load(name)
    pytest.importorskip("pinocchio")
    return from_pinocchio(pinocchio_example(name)[1])


def zeroed(joint):
    return {PARAMETERS[k] for k in movable(joint).zeroed}


@pytest.mark.parametrize("name", EVERY)
def test_grouping_changes_no_joint_force_and_no_acceleration(name):
    model = sf.load(name)
    least = sf.group_inertias(model)
    q, v = sf.random_state(model, 50, seed=0)
    a = np.random.default_rng(0).standard_normal(v.shape)
    tau = sf.inverse_dynamics(model, q, v, a)
    scale = np.abs(tau).max()
    np.testing.assert_allclose(sf.inverse_dynamics(least, q, v, a), tau, atol=1e-12 * scale)
    M = sf.mass_matrix(model, q)
    np.testing.assert_allclose(sf.mass_matrix(least, q), M, atol=1e-12 * np.abs(M).max())
    again = sf.forward_dynamics(least, q, v, tau)
    np.testing.assert_allclose(again, a, atol=1e-9)
    T = sf.kinetic_energy(model, q, v)
    np.testing.assert_allclose(sf.kinetic_energy(least, q, v), T, rtol=1e-11)


def operations(model, tree):
    """Return how many operations inverse dynamics takes on a tree."""
    core = partial(readings.inverse_dynamics, model, tree)
    program = optimise(trace(core, (model.nq, model.nv, model.nv)))
    return sum(n for op, n in program.counts().items() if op not in ("input", "const"))


@pytest.mark.parametrize("name", ["ur5", "panda", "puma560"])
def test_grouping_saves_a_twelfth_of_the_operations_and_more(name):
    model = robot(name)
    before, after = (operations(m, m.tree) for m in (model, sf.group_inertias(model)))
    assert after <= 0.92 * before
    q, v = sf.random_state(model, 100, seed=1)
    tau = sf.inverse_dynamics(model, q, v, v)
    found = sf.inverse_dynamics(sf.group_inertias(model), q, v, v)
    assert np.abs(found - tau).max() <= 1e-12 * np.abs(tau).max()


def test_what_moves_is_what_the_joint_neither_works_on_nor_turns():
    assert zeroed(sf.Revolute("z")) == {"m", "hz", "Iyy"}
    assert zeroed(sf.Revolute("x")) == {"m", "hx", "Iyy"}
    assert zeroed(sf.Prismatic("y")) == {"Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz"}
    assert zeroed(sf.Spherical()) == {"m"}
    assert zeroed(sf.Cylindrical("z")) == zeroed(sf.Helical("z", 0.1)) == {"Iyy"}
    assert zeroed(sf.Free()) == set()


PITCHES = (1e-200, 1e-12, -1e-3, 0.3, 1e7, 1e150)
JOINTS = (
    *(kind(axis) for kind in (sf.Revolute, sf.Prismatic, sf.Cylindrical) for axis in "xyz"),
    *(kind((0.3, -0.5, 0.8)) for kind in (sf.Revolute, sf.Prismatic, sf.Cylindrical)),
    *(sf.Helical(axis, p) for axis in ("z", (0.3, -0.5, 0.8)) for p in (0.0, *PITCHES)),
    *(kind() for kind in (sf.Planar, sf.Universal, sf.Spherical, sf.Translational, sf.Free)),
)


def inertias(joint):
    """Return a basis of what a joint says it passes on."""
    passed = joint.transferable_inertia()
    no, none = Vector3.of((0.0, 0.0, 0.0)), Symmetric3(*[0.0] * 6)
    found = [Inertia.from_second_moments(1.0, no, none)] if passed.mass else []
    found += [Inertia.from_second_moments(0.0, h, none) for h in passed.first]
    return found + [Inertia.from_second_moments(0.0, no, second) for second in passed.second]


@pytest.mark.parametrize("joint", JOINTS, ids=str)
def test_joints_neither_work_on_nor_turn_what_they_pass_on(joint):
    rng = np.random.default_rng(3)
    for J in inertias(joint):
        for _ in range(3):
            X, S, _, _ = joint.calc(joint.random(rng), (0.0,) * joint.nv)
            # a pitch counts as it is, large or small
            size = max(abs(float(x)) for c in S.columns for x in (*c.ang, *c.lin))
            work = [float(x) for f in (J @ S).columns for x in (*f.ang, *f.lin)]
            assert max(map(abs, work)) <= 4e-16 * size
            turned = [float(x) for x in ((X.T @ J @ X) - J).parameters()]
            assert max(map(abs, turned)) <= 1e-15


def dimension(joint):
    """Return how many inertias pass, from the conditions in 1000 bits."""
    with gmpy2.context(precision=1000):
        exactly = joint.map(lambda x: gmpy2.mpfr(plain(x)))
        rng = np.random.default_rng(8)
        columns = [[] for _ in range(10)]
        for _ in range(4):
            q = [gmpy2.mpfr(x) for x in joint.random(rng)]
            X, S, _, _ = exactly.calc(q, (ZERO,) * joint.nv)
            for k, column in enumerate(columns):
                J = Inertia.from_parameters([gmpy2.mpfr(k == n) for n in range(10)])
                column += [x for f in (J @ S).columns for x in (*f.ang, *f.lin)]
                column += ((X.T @ J @ X) - J).parameters()
        rank = 0
        for k in range(10):
            # columns by their own size: what is small is no less true
            size = max(abs(plain(x)) for x in columns[k])
            if size > 1e-230:
                rank += 1
                columns[k] = [plain(x) / size for x in columns[k]]
                row = max(range(len(columns[k])), key=lambda r: abs(columns[k][r]))
                for other in range(k + 1, 10):
                    share = plain(columns[other][row]) / columns[k][row]
                    pairs = zip(columns[other], columns[k], strict=True)
                    columns[other] = [_cut(plain(x) - share * y, x) for x, y in pairs]
        return 10 - rank


def _cut(x, before):
    """Return zero for what rounding of the joint's axis to doubles leaves."""
    return x if abs(x) > 1e-14 * abs(plain(before)) else gmpy2.mpfr(0)


def along_a_coordinate_axis(joint):
    return all(float(x) in (0.0, 1.0) for x in getattr(joint, "axis", ()))


@pytest.mark.parametrize("joint", [j for j in JOINTS if along_a_coordinate_axis(j)], ids=str)
def test_joints_pass_on_all_that_can_pass(joint):
    assert len(inertias(joint)) == dimension(joint)


@pytest.mark.parametrize("pitch", PITCHES)
def test_mass_on_a_screw_advances_whatever_its_pitch(pitch):
    assert zeroed(sf.Helical("z", pitch)) == {"Iyy"}
    assert zeroed(sf.Helical("z", 0.0)) == zeroed(sf.Revolute("z"))


def test_what_an_axis_askew_passes_on_has_weights_of_at_most_one():
    for axis in ((0.3, -0.5, 0.8), (1e-9, 0.0, 1.0), (1.0, 1e-13, -1.0)):
        for column in movable(sf.Revolute(axis)).columns:
            assert max(map(abs, column)) == 1


def test_zeros_of_a_grouped_model_are_exact():
    for body in sf.group_inertias(sf.load("puma560")).tree.inertia[1:]:
        assert isinstance(body.m, Zero)
        assert isinstance(body.h.z, Zero)
        assert isinstance(body.I.yy, Zero)


def test_grouping_twice_is_grouping_once():
    once = sf.group_inertias(sf.load("tree6"))
    twice = sf.group_inertias(once)
    for a, b in zip(once.bodies, twice.bodies, strict=True):
        x, y = (np.array([float(p) for p in body.inertia.parameters()]) for body in (a, b))
        np.testing.assert_allclose(x, y, atol=1e-12)


# -- the minimal set


def test_the_puma_560_has_thirty_six_base_parameters():
    """Gautier and Khalil, Direct calculation of minimum set of inertial parameters, 1990."""
    found = sf.identification.base_parameters(sf.load("puma560"))
    assert found.rank == 36
    assert found.total == 60
    assert len(found) <= 36


@pytest.mark.parametrize(
    "name", ["pendulum", "cart_pendulum", "planar_chain:3", "puma560", "tree6"]
)
def test_base_parameters_alone_give_the_joint_forces(name):
    """tau = Y phi stays what it is when every parameter that is not listed is set to zero."""
    model = sf.load(name).without(damping=True, friction=True, springs=True, armature=True)
    found = sf.identification.base_parameters(model)
    q, v = sf.random_state(model, 60, seed=0)
    a = np.random.default_rng(1).standard_normal((60, model.nv))
    tau = sf.inverse_dynamics(model, q, v, a)
    phi = np.zeros(10 * model.nb)
    for p in found.parameters:
        letters, number = p.name.rstrip("R").rstrip("0123456789"), p.name.rstrip("R")
        body = int(number[len(letters) :]) - 1
        phi[10 * body + PARAMETERS.index(letters.replace("J", "I"))] = p.value
    joint = sf.regressor(model, q, v, a) @ phi
    np.testing.assert_allclose(joint, tau, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("name", ["cart_pendulum", "planar_chain:3", "puma560", "tree6"])
def test_base_parameters_are_as_many_as_the_rank_of_the_regressor(name):
    model = sf.load(name)
    Y = stacked_regressor(model)
    assert sf.identification.base_parameters(model).rank == np.linalg.matrix_rank(
        Y, tol=1e-8 * np.linalg.norm(Y, 2)
    )


def test_formulas_say_what_is_grouped():
    found = {
        p.name: p.formula
        for p in sf.identification.base_parameters(sf.load("planar_chain:2")).parameters
    }
    assert found == {
        "hx1R": "hx1 + m2 lx2",
        "Jzz1R": "Jzz1 + m2 lx2^2",
        "hx2": "hx2",
        "Jzz2": "Jzz2",
    }


def test_the_explanation_is_in_words():
    text = str(sf.identification.base_parameters(sf.load("cart_pendulum")))
    assert "m2, hz2, Jyy2 move to cart: hinge (revolute) neither works on nor turns them" in text
    assert "m1R  = m1 + m2 = 2.5" in text
    assert "without effect: Jxx2" in text


def test_masses_of_a_gantry_act_together():
    """Two slides along one line: only the sum of the masses behind the first shows there."""
    builder = sf.ModelBuilder("gantry")
    lump = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    builder.add_body("a", joint=sf.Prismatic("x"), inertia=lump)
    builder.add_body("b", parent="a", joint=sf.Prismatic("y"), inertia=lump)
    found = sf.identification.base_parameters(builder.build())
    assert {p.formula for p in found.parameters} == {"m1", "m2"}
    assert found.rank == 2
