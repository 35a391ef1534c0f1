"""Examples 1 and 2 of Concurrent Dynamics: (M1) to (M4) and (N1) to (N4), numbers and symbols."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import geometry, inertial
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.kinematics import no_forces
from sixfold.scalar import ZERO, plain
from sixfold.spatial import ZERO3, Column, Force, Inertia, Motion, Vector3
from tests.dynamics.support import EPS, array, six

theta, theta_rate, theta_acc, tau = sp.symbols("theta thetadot thetaddot tau", real=True)
x, x_rate, x_acc, push = sp.symbols("x xdot xddot f", real=True)
m1, m2, L, g = sp.symbols("m1 m2 L g", positive=True)
I1 = sp.symbols("I1xx I1yy I1zz", positive=True)
I2 = sp.symbols("I2xx I2yy I2zz", positive=True)
READINGS = [inertial, equations.body_frame]


def symbolic_pendulum():
    """The sample `pendulum` with letters for its numbers."""
    bob = Inertia.from_mass(m1, (ZERO, -L, ZERO), I1)
    tree = sf.load("pendulum").tree
    return replace(
        tree, inertia=(Inertia.zero(), bob), gravity=Motion(ZERO3, Vector3(ZERO, -g, ZERO))
    )


def symbolic_cart():
    """The sample `cart_pendulum` with letters for its numbers."""
    cart = Inertia.from_mass(m1, (ZERO, ZERO, ZERO), I1)
    bob = Inertia.from_mass(m2, (ZERO, -L, ZERO), I2)
    tree = sf.load("cart_pendulum").tree
    return replace(
        tree, inertia=(Inertia.zero(), cart, bob), gravity=Motion(ZERO3, Vector3(ZERO, -g, ZERO))
    )


def same(value, expected):
    """True when two expressions are the same for all values of their letters."""
    off = sp.nsimplify(sp.sympify(value) - sp.sympify(expected), rational=True)
    return sp.simplify(off) == 0


def all_same(values, expected):
    return all(same(a, b) for a, b in zip(values, expected, strict=True))


# -- example 1: the pendulum


def pendulum_system(read=inertial):
    tree = symbolic_pendulum()
    return read(tree, {1: Column([theta])}, {1: Column([theta_rate])}, no_forces(tree))


S1 = (L * sp.sin(theta), -L * sp.cos(theta), 0)  # centre of mass from the hinge


def test_centre_of_mass_of_the_pendulum_lies_where_example_1_puts_it():
    tree = symbolic_pendulum()
    at = geometry(tree, {1: Column([theta])}, {1: Column([theta_rate])})
    assert all_same(at.s[1], S1)
    assert all_same(at.omega[1], (0, 0, theta_rate))


def test_m1_joint_map_of_the_pendulum_is_its_axis():
    (column,) = pendulum_system().G[1].columns
    assert all_same(six(column), (0, 0, 1, 0, 0, 0))


def test_m2_influence_matrix_of_the_pendulum_is_zero():
    assert pendulum_system().Phi.blocks().blocks == {}
    assert not array(pendulum_system().Phi.blocks().dense()).any()


def test_m3_propagation_matrix_of_the_pendulum_is_one():
    np.testing.assert_array_equal(array(pendulum_system().Psi.blocks().dense()), np.eye(6))


def test_bias_terms_of_the_pendulum_are_those_of_example_1():
    s = pendulum_system()
    assert all_same(six(s.A[1]), [0] * 6)
    rate2 = m1 * theta_rate**2
    assert all_same(six(s.B[1])[3:], [-rate2 * component for component in S1])
    weight = sp.Matrix([0, m1 * g, 0])
    moment = sp.Matrix(S1).cross(weight)
    assert all_same(six(s.YF[1]), [*(-moment), *(-weight)])


@pytest.mark.parametrize("read", READINGS)
def test_m4_equation_of_motion_of_the_pendulum_symbolically(read):
    s = pendulum_system(read)
    ((M,),) = equations.mass_matrix(s)
    assert same(M, I1[2] + m1 * L**2)
    (C,) = equations.bias(s)[1]
    assert same(C, m1 * g * L * sp.sin(theta))
    for solve in (equations.solve_dense, equations.solve_factorised):
        (acc,) = solve(s, {1: Column([tau])})[1]
        assert same(acc, (tau - m1 * g * L * sp.sin(theta)) / (I1[2] + m1 * L**2))


def test_m4_equation_of_motion_of_the_pendulum_by_every_algorithm_symbolically():
    tree = symbolic_pendulum()
    q, qd, qdd = ({1: Column([z])} for z in (theta, theta_rate, theta_acc))
    none = no_forces(tree)
    (force,) = rnea(tree, q, qd, qdd, none)[0][1]
    assert same(force, (I1[2] + m1 * L**2) * theta_acc + m1 * g * L * sp.sin(theta))
    ((M,),) = dense(tree, crba(tree, q))
    assert same(M, I1[2] + m1 * L**2)
    (acc,) = aba(tree, q, qd, {1: Column([tau])}, none)[1]
    assert same(acc, (tau - m1 * g * L * sp.sin(theta)) / (I1[2] + m1 * L**2))


@pytest.mark.parametrize("method", ["aba", "crba", "operators", "operators_dense"])
def test_m4_equation_of_motion_of_the_pendulum_in_numbers(method):
    model = sf.load("pendulum")
    M = 0.02 + 1.0 * 0.5**2
    for angle, rate, torque in ((0.0, 0.0, 1.0), (0.3, -2.0, 0.5), (2.5, 4.0, -3.0)):
        acc = sf.forward_dynamics(model, [angle], [rate], [torque], method=method)
        expected = (torque - 1.0 * 9.81 * 0.5 * math.sin(angle)) / M
        assert abs(acc[0] - expected) <= 8 * EPS * (abs(torque) + 9.81) / M
    assert sf.mass_matrix(model, [0.7])[0, 0] == pytest.approx(M, rel=4 * EPS)


# -- example 2: the pendulum on a cart


def cart_state():
    q = {1: Column([x]), 2: Column([theta])}
    return q, {1: Column([x_rate]), 2: Column([theta_rate])}


def cart_system(read=inertial):
    tree = symbolic_cart()
    pushed = {1: Force(ZERO3, Vector3(push, ZERO, ZERO)), 2: Force.zero()}
    return read(tree, *cart_state(), pushed)


S2 = S1


def test_n1_joint_maps_of_the_cart_and_its_pendulum():
    s = cart_system()
    assert all_same(six(s.G[1].columns[0]), (0, 0, 0, 1, 0, 0))
    assert all_same(six(s.G[2].columns[0]), (0, 0, 1, 0, 0, 0))


def test_n2_influence_matrix_of_the_cart_holds_one_identity():
    phi = cart_system().Phi
    assert phi.nilpotency == 2
    assert set(phi.blocks().blocks) == {(2, 1)}
    np.testing.assert_array_equal(array(phi.blocks().blocks[2, 1]), np.eye(6))


def test_n3_propagation_matrix_of_the_cart_is_one_plus_phi():
    one = np.eye(6)
    expected = np.block([[one, 0 * one], [one, one]])
    np.testing.assert_array_equal(array(cart_system().Psi.blocks().dense()), expected)


def test_bias_terms_of_the_cart_are_those_of_example_2():
    s = cart_system()
    assert all_same(six(s.A[1]) + six(s.A[2]), [0] * 12)
    assert all_same(six(s.B[1]) + six(s.B[2])[3:], [0] * 6 + [-m2 * theta_rate**2 * c for c in S2])
    # Y_1^T is the identity: the cart force and weight act at its joint
    assert all_same(six(s.YF[1]), (0, 0, 0, push, -m1 * g, 0))
    weight = sp.Matrix([0, m2 * g, 0])
    assert all_same(six(s.YF[2]), [*(-sp.Matrix(S2).cross(weight)), *(-weight)])


@pytest.mark.parametrize("read", READINGS)
def test_n4_equation_of_motion_of_the_cart_symbolically(read):
    s = cart_system(read)
    M = equations.mass_matrix(s)
    coupling = m2 * L * sp.cos(theta)
    assert all_same(M[0], (m1 + m2, coupling))
    assert all_same(M[1], (coupling, I2[2] + m2 * L**2))
    C = equations.bias(s)
    assert same(-C[1][0], push + m2 * L * sp.sin(theta) * theta_rate**2)
    assert same(-C[2][0], -m2 * g * L * sp.sin(theta))


@pytest.mark.parametrize("solve", [equations.solve_dense, equations.solve_factorised])
def test_n4_accelerations_of_the_cart_symbolically(solve):
    s = cart_system()
    qdd = solve(s, {1: Column([sp.Integer(0)]), 2: Column([sp.Integer(0)])})
    coupling = m2 * L * sp.cos(theta)
    M = sp.Matrix([[m1 + m2, coupling], [coupling, I2[2] + m2 * L**2]])
    right = sp.Matrix([push + m2 * L * sp.sin(theta) * theta_rate**2, -m2 * g * L * sp.sin(theta)])
    left = M * sp.Matrix([qdd[1][0], qdd[2][0]])
    assert all_same(left, right)


def test_n4_equation_of_motion_of_the_cart_by_newton_euler_symbolically():
    tree = symbolic_cart()
    pushed = {1: Force(ZERO3, Vector3(push, ZERO, ZERO)), 2: Force.zero()}
    q, qd = cart_state()
    tau, _ = rnea(tree, q, qd, {1: Column([x_acc]), 2: Column([theta_acc])}, pushed)
    coupling = m2 * L * sp.cos(theta)
    first = (m1 + m2) * x_acc + coupling * theta_acc - push
    first -= m2 * L * sp.sin(theta) * theta_rate**2
    second = coupling * x_acc + (I2[2] + m2 * L**2) * theta_acc + m2 * g * L * sp.sin(theta)
    assert same(plain(tau[1][0]), first)
    assert same(plain(tau[2][0]), second)


@pytest.mark.parametrize("method", ["aba", "crba", "operators", "operators_dense"])
def test_n4_equation_of_motion_of_the_cart_in_numbers(method):
    model = sf.load("cart_pendulum")
    M1, M2, length, Izz, weight = 2.0, 0.5, 0.4, 0.01, 9.81
    rng = np.random.default_rng(4)
    for angle, rate, force in rng.standard_normal((5, 3)) * (1.0, 3.0, 5.0):
        f_ext = np.zeros((2, 6))
        f_ext[0, 3] = force
        acc = sf.forward_dynamics(
            model, [0.7, angle], [0.2, rate], [0.0, 0.0], f_ext, method=method
        )
        c, s = math.cos(angle), math.sin(angle)
        M = np.array([[M1 + M2, M2 * length * c], [M2 * length * c, Izz + M2 * length**2]])
        right = [force + M2 * length * s * rate**2, -M2 * weight * length * s]
        bar = 16 * EPS * np.linalg.cond(M) * (np.abs(right).max() + M2 * weight)
        np.testing.assert_allclose(acc, np.linalg.solve(M, right), rtol=0, atol=bar)
        np.testing.assert_allclose(sf.mass_matrix(model, [0.7, angle]), M, rtol=0, atol=8 * EPS)
