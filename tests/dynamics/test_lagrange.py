"""Lagrange's explicit form M qdd + V + G = tau (Khatib), from energies alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.lagrange import (
    christoffel,
    coriolis_matrix,
    craig_split,
    gravity_force,
    lagrange,
    mass_matrix,
    velocity_force,
)
from sixfold.dynamics.book.planar import PlanarChain, skeleton_bias, skeleton_inertia
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.kinematics import no_forces
from sixfold.errors import NotApplicableError
from sixfold.scalar import ZERO, plain
from sixfold.spatial import ZERO3, Column, Inertia, Motion, Transform, Vector3
from tests.dynamics.support import EPS, array, error, flat, fn, pushes, rate, tables

MODELS = {
    "double_pendulum": sf.load("double_pendulum"),
    "tree6": sf.load("tree6"),
    "puma560": sf.load("puma560").without(damping=True, friction=True),
    "floating_link": sf.load("floating_link"),
    "rolling_ball": sf.load("rolling_ball"),
    "ball joints": sf.random_tree(2, 1, joints=(sf.Spherical,)),
    "two free": sf.random_tree(2, 3, joints=(sf.Free,)),
    "turning axes": sf.random_tree(3, 2, joints=(sf.Universal, sf.Planar, sf.Cylindrical)),
    "springs and rotors": sf.random_tree(
        3, 5, joints=(sf.Revolute, sf.Spherical), properties=True
    ).without(damping=True, friction=True),
    "free with rotors": sf.random_tree(
        2, 6, joints=(sf.Free, sf.Revolute), properties=True
    ).without(damping=True, friction=True),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
TIGHT = 256 * EPS


def values(model, seed=0):
    q, qd, qdd, none = tables(model, seed)
    return (q, qd, qdd, none), [np.array(flat(x)) for x in (q, qd, qdd)]


# -- M, V, G


@each
def test_kinetic_energy_is_half_the_quadratic_form_of_m(model):
    (q, _, _, _), (x, v, _) = values(model)
    M = array(mass_matrix(model.tree, q))
    assert float(fn.kinetic_energy(model, x, v)) == pytest.approx(0.5 * v @ M @ v, rel=TIGHT)
    public = fn.mass_matrix(model, x)
    assert float(fn.kinetic_energy(model, x, v)) == pytest.approx(0.5 * v @ public @ v, rel=TIGHT)


@each
def test_m_from_energies_equals_m_from_composite_bodies(model):
    (q, _, _, _), (x, _, _) = values(model)
    assert error(mass_matrix(model.tree, q), dense(model.tree, crba(model.tree, q))) <= TIGHT
    assert error(mass_matrix(model.tree, q), fn.mass_matrix(model, x)) <= TIGHT


@each
def test_explicit_form_gives_the_joint_forces_of_newton_euler(model):
    (q, qd, qdd, _), state = values(model)
    contact = pushes(model)
    expected, _ = rnea(model.tree, q, qd, qdd, contact)
    springs = fn.inverse_dynamics(model, *state) - fn.inverse_dynamics(
        model.without(springs=True), *state
    )
    found = lagrange(model.tree, q, qd, qdd, contact)
    assert error(found, array(flat(expected)) + springs) <= TIGHT


@each
def test_v_is_the_bias_without_gravity(model):
    (q, qd, _, none), _ = values(model)
    weightless = model.without(gravity=True)
    still = model.velocities([ZERO] * model.nv)
    expected, _ = rnea(weightless.tree, q, qd, still, none)
    found = velocity_force(model.tree, q, qd)
    scale = max(np.abs(array(flat(expected))).max(), 1e-2)
    assert np.abs(array(found) - array(flat(expected))).max() <= TIGHT * scale


@each
def test_v_is_the_coriolis_matrix_times_velocity(model):
    (q, qd, _, _), (x, v, _) = values(model)
    V = array(velocity_force(model.tree, q, qd))
    C = array(coriolis_matrix(model.tree, q, qd))
    scale = np.abs(C).max() * np.abs(v).max()
    assert np.abs(C @ v - V).max() <= TIGHT * scale
    # the matrix may vanish although its terms, inertias times velocities, do not
    scale = max(np.abs(C).max(), np.abs(fn.mass_matrix(model, x)).max() * np.abs(v).max())
    assert np.abs(fn.coriolis_matrix(model, x, v) - C).max() <= TIGHT * scale


@each
def test_rate_of_m_less_twice_c_is_skew(model):
    (q, qd, _, _), (x, v, _) = values(model)
    rates = rate(lambda t: fn.mass_matrix(model, fn.integrate(model, x, v * t)))
    N = rates - 2 * array(coriolis_matrix(model.tree, q, qd))
    # derivatives by differences with steps of 1e-3: 1e-11 of the scale
    assert np.abs(N + N.T).max() <= 1e-11 * max(np.abs(rates).max(), np.abs(N).max(), 1)
    assert np.abs(N).max() > 0.01 or model.nv == 1


@each
def test_g_is_the_gradient_of_the_potential_energy(model):
    (q, _, _, _), (x, _, _) = values(model)
    gradient = np.array(
        [
            rate(lambda t, e=e: fn.potential_energy(model, fn.integrate(model, x, e * t)))
            for e in np.eye(model.nv)
        ]
    )
    found = array(gravity_force(model.tree, q))
    assert np.abs(found - gradient).max() <= 1e-11 * max(np.abs(gradient).max(), 1)
    bare = model.without(springs=True)
    weights = array(gravity_force(bare.tree, q))
    assert np.abs(fn.gravity_force(model, x) - weights).max() <= TIGHT * max(
        np.abs(weights).max(), 10
    )


@each
def test_symbols_are_symmetric_where_velocities_are_rates_of_coordinates(model):
    (q, _, _, _), _ = values(model)
    symbols = array(christoffel(model.tree, q))
    scale = np.abs(symbols).max() or 1.0
    swapped = np.abs(symbols - symbols.transpose(0, 2, 1)).max()
    if all(body.joint.velocity_is_rate for body in model.bodies):
        assert swapped <= TIGHT * scale
    else:
        assert swapped > 1e-3 * scale  # torsion-free, but the brackets do not vanish


# -- Craig's split V = B [qd qd] + C [qd^2]

RATES = {
    name: model
    for name, model in MODELS.items()
    if all(body.joint.velocity_is_rate for body in model.bodies)
}


@pytest.mark.parametrize("model", RATES.values(), ids=RATES)
def test_split_into_coriolis_and_centrifugal_parts_reproduces_v(model):
    (q, qd, _, _), (_, v, _) = values(model)
    B, C = (array(x).reshape(model.nv, -1) for x in craig_split(model.tree, q))
    n = model.nv
    assert B.shape == (n, n * (n - 1) // 2)
    products = np.array([v[i] * v[j] for i in range(n) for j in range(i + 1, n)])
    V = array(velocity_force(model.tree, q, qd))
    scale = max(np.abs(B).max(initial=0), np.abs(C).max()) * (v @ v)
    assert np.abs(B @ products + C @ (v * v) - V).max() <= TIGHT * max(scale, 1e-3)


@pytest.mark.parametrize("name", ["floating_link", "ball joints"])
def test_split_does_not_apply_to_quasi_velocities(name):
    model = MODELS[name]
    (q, _, _, _), _ = values(model)
    with pytest.raises(NotApplicableError, match="coriolis_matrix"):
        craig_split(model.tree, q)


# -- the double pendulum in letters

q1, q2, w1, w2, a1, a2 = sp.symbols("q1 q2 w1 w2 a1 a2", real=True)
m1, m2, l1, c1, c2, J1, J2, g = sp.symbols("m1 m2 l1 c1 c2 J1 J2 g", positive=True)


def vanishes(expression, angles):
    """True when a polynomial in sines and cosines of the angles is zero: s^2 becomes 1 - c^2."""
    left = sp.expand_trig(sp.nsimplify(expression, rational=True))
    for k, angle in enumerate(angles):
        c, s = sp.symbols(f"c{k} s{k}")
        left = sp.expand(left.subs({sp.sin(angle): s, sp.cos(angle): c}))
        left = sp.expand(sp.rem(left, s**2 + c**2 - 1, s))
    return left == 0


def same(x, y):
    return vanishes(sp.sympify(plain(x)) - sp.sympify(y), (q1, q2))


def double_pendulum():
    """The sample `double_pendulum` with letters for its numbers."""
    tree = sf.load("double_pendulum").tree
    upper = Inertia.from_mass(m1, (ZERO, ZERO, -c1), (J1, J1, ZERO))
    lower = Inertia.from_mass(m2, (ZERO, ZERO, -c2), (J2, J2, ZERO))
    X = tree.Xtree[2]
    return replace(
        tree,
        inertia=(Inertia.zero(), upper, lower),
        Xtree=(*tree.Xtree[:2], Transform(X.E, Vector3(ZERO, ZERO, -l1))),
        gravity=Motion(ZERO3, Vector3(ZERO, ZERO, -g)),
    )


def by_hand():
    """Euler-Lagrange equations from positions of the centres of mass, by SymPy alone."""
    t = sp.Symbol("t")
    f1, f2 = sp.Function("f1")(t), sp.Function("f2")(t)
    s1, s2 = f1, f1 + f2

    def at(angle, length):
        # turning about y by q takes -z towards -x
        return sp.Matrix([-length * sp.sin(angle), -length * sp.cos(angle)])

    r1 = at(s1, c1)
    r2 = at(s1, l1) + at(s2, c2)
    kinetic = (m1 * r1.diff(t).dot(r1.diff(t)) + m2 * r2.diff(t).dot(r2.diff(t))) / 2
    kinetic += (J1 * s1.diff(t) ** 2 + J2 * s2.diff(t) ** 2) / 2
    action = kinetic - g * (m1 * r1[1] + m2 * r2[1])
    equations = [action.diff(f.diff(t)).diff(t) - action.diff(f) for f in (f1, f2)]
    names = [  # highest derivatives first
        (f1.diff(t, 2), a1),
        (f2.diff(t, 2), a2),
        (f1.diff(t), w1),
        (f2.diff(t), w2),
        (f1, q1),
        (f2, q2),
    ]
    return [equation.subs(names) for equation in equations]


def letters():
    q, qd, qdd = ({1: Column([x]), 2: Column([y])} for x, y in ((q1, q2), (w1, w2), (a1, a2)))
    return q, qd, qdd


def test_double_pendulum_newton_euler_is_the_euler_lagrange_equation():
    tree = double_pendulum()
    tau, _ = rnea(tree, *letters(), no_forces(tree))
    first, second = by_hand()
    assert same(tau[1][0], first)
    assert same(tau[2][0], second)


def test_double_pendulum_explicit_form_is_the_euler_lagrange_equation():
    tree = double_pendulum()
    tau = lagrange(tree, *letters(), no_forces(tree))
    for found, expected in zip(tau, by_hand(), strict=True):
        assert same(found, expected)


def test_double_pendulum_accelerations_solve_the_euler_lagrange_equation():
    tree = double_pendulum()
    q, qd, _ = letters()
    t1, t2 = sp.symbols("tau1 tau2", real=True)
    qdd = aba(tree, q, qd, {1: Column([t1]), 2: Column([t2])}, no_forces(tree))
    at = {a1: qdd[1][0], a2: qdd[2][0]}
    numbers = {q1: 0.4, q2: -1.1, w1: 0.7, w2: 1.9, t1: 0.3, t2: -0.8, m1: 1.2, m2: 0.7, l1: 0.9}
    numbers |= {c1: 0.4, c2: 0.6, J1: 0.11, J2: 0.07, g: 9.81}
    for equation, torque in zip(by_hand(), (t1, t2), strict=True):
        off = (equation.subs(at) - torque).subs(numbers)
        assert abs(float(off)) <= 1e-13


def test_double_pendulum_closed_form_at_a_state():
    """M and bias of the sample against the textbook's formulas."""
    model = sf.load("double_pendulum")
    I1, I2, lc1, lc2, length = 0.083, 0.33, 0.5, 1.0, 1.0
    x, v = np.array([0.7, -1.2]), np.array([1.5, -0.4])
    c, s = np.cos(x[1]), np.sin(x[1])
    M12 = I2 + lc2**2 + length * lc2 * c
    M = [[I1 + I2 + lc1**2 + length**2 + lc2**2 + 2 * length * lc2 * c, M12], [M12, I2 + lc2**2]]
    h = length * lc2 * s
    G2 = 9.81 * lc2 * np.sin(x[0] + x[1])
    G1 = 9.81 * (lc1 + length) * np.sin(x[0]) + G2
    bias = [-h * (2 * v[0] * v[1] + v[1] ** 2) + G1, h * v[0] ** 2 + G2]
    assert error(fn.mass_matrix(model, x), M) <= 16 * EPS
    assert error(fn.bias_force(model, x, v), bias) <= 16 * EPS


# -- the planar skeleton in letters


@pytest.mark.parametrize("n", [2, 3])
def test_planar_skeleton_in_letters_is_the_sample_chain(n):
    model = sf.load(f"planar_chain:{n}")
    tree = model.map(lambda x: sp.nsimplify(x, rational=True))
    angles, rates = sp.symbols(f"q:{n}", real=True), sp.symbols(f"w:{n}", real=True)
    links = PlanarChain([1] * n, [sp.Rational(1, 12)] * n, [sp.Integer(1)] * n)
    H, b = skeleton_inertia(links, angles), skeleton_bias(links, angles, rates)
    q = model.positions(angles)
    M = dense(tree, crba(tree, q))
    for r in range(n):
        for c in range(n):
            assert vanishes(plain(M[r][c]) - H[r][c], angles)
            assert not vanishes(plain(M[r][c]) - H[r][c] + sp.sin(angles[1]), angles)
    weightless = replace(tree, gravity=Motion.zero())
    still = model.velocities([ZERO] * n)
    bias, _ = rnea(weightless, q, model.velocities(rates), still, no_forces(tree))
    for k in range(n):
        assert vanishes(plain(bias[k + 1][0]) - b[k], angles)
