"""Concurrent Dynamics International, EOM with Newton-Euler Equations, 2017, eqs. (1) to (17):
velocities, accelerations and interbody forces.
"""

from __future__ import annotations

import numpy as np
import pytest

from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import (
    center_accelerations,
    center_velocities,
    geometry,
    inertial,
)
from sixfold.dynamics.book.rnea import rnea
from sixfold.spatial import IDENTITY3, ZERO3, Column, Force, Inertia, Motion, Transform
from tests.dynamics.models import ONE_AXIS_MODELS
from tests.dynamics.support import EPS, array, error, flat, fn, pushes, rate, six, tables, vector

one_axis = pytest.mark.parametrize("model", ONE_AXIS_MODELS.values(), ids=ONE_AXIS_MODELS)
TIGHT = 128 * EPS
# first differences of numbers of order 10 with steps of 1e-3 (see `rate`)
DIFFERENCES = 1e-11


def along(model, q, qd, qdd):
    """Return t -> (q, qd) by body of the motion q + qd t + qdd t^2 / 2."""

    def at(t):
        position = {i: q[i] + qd[i] * t + qdd[i] * (t * t / 2) for i in model.tree.bodies}
        return position, {i: qd[i] + qdd[i] * t for i in model.tree.bodies}

    return at


def centers(model, q):
    x = geometry(model.tree, q, {i: Column([0.0]) for i in model.tree.bodies})
    return [vector(x.eta[i] + x.s[i]) for i in model.tree.bodies]


def joint_velocities(model, q, qd):
    """v_i = [omega_i, eta_rate_i]."""
    x = geometry(model.tree, q, qd)
    return [[*vector(x.omega[i]), *vector(x.eta_rate[i])] for i in model.tree.bodies]


def mean_parts(model, q, qd):
    """Return S_i, Mbar_i, Abar_i and Bbar_i of (2) and (11) for each body."""
    x = geometry(model.tree, q, qd)
    S, M, A, B = {}, {}, {}, {}
    for i in model.tree.bodies:
        I = model.tree.inertia[i]
        about = I.about_center.congruence(x.R[i].T)
        w, s = x.omega[i], x.s[i]
        S[i] = Transform(IDENTITY3, s)
        M[i] = Inertia.from_mass(I.m, rotational=about.matrix())
        A[i] = Motion(ZERO3, w.cross(w.cross(s)))
        B[i] = Force(w.cross(about @ w), ZERO3)
    return S, M, A, B


# -- (1) to (8): velocities and accelerations


@one_axis
def test_eq_1_velocity_of_a_centre_of_mass_is_the_rate_of_its_position(model):
    q, qd, qdd, _ = tables(model)
    path = along(model, q, qd, qdd)
    measured = rate(lambda t: centers(model, path(t)[0]))
    computed = center_velocities(model.tree, q, qd)
    assert error([vector(computed[i]) for i in model.tree.bodies], measured) <= DIFFERENCES


@one_axis
def test_eq_1_shift_to_the_centre_of_mass(model):
    q, qd, _, _ = tables(model)
    x = geometry(model.tree, q, qd)
    computed = center_velocities(model.tree, q, qd)
    for i in model.tree.bodies:
        moved = Transform(IDENTITY3, x.s[i]) @ Motion(x.omega[i], x.eta_rate[i])
        assert error(vector(moved.lin), vector(computed[i])) <= TIGHT
        assert vector(moved.ang).tolist() == vector(x.omega[i]).tolist()


@one_axis
def test_eq_2_and_3_acceleration_of_a_centre_of_mass_is_the_rate_of_its_velocity(model):
    q, qd, qdd, _ = tables(model)
    path = along(model, q, qd, qdd)

    def velocities(t):
        at = path(t)
        v = center_velocities(model.tree, *at)
        return [vector(v[i]) for i in model.tree.bodies]

    computed = center_accelerations(model.tree, q, qd, qdd)
    assert error([vector(computed[i].lin) for i in model.tree.bodies], rate(velocities)) <= (
        DIFFERENCES
    )


@one_axis
def test_eq_4_velocity_of_a_joint_comes_from_its_parent_and_its_own_rate(model):
    q, qd, qdd, none = tables(model)
    v = joint_velocities(model, q, qd)
    s = inertial(model.tree, q, qd, none)
    for i in model.tree.bodies:
        p = model.tree.parent[i]
        parent = Motion.of(v[p - 1]) if p else Motion.zero()
        assert error(six(s.D[i] @ parent + s.G[i] @ qd[i]), v[i - 1]) <= TIGHT
    path = along(model, q, qd, qdd)

    def positions(t):
        x = geometry(model.tree, *path(t))
        return [vector(x.eta[i]) for i in model.tree.bodies]

    assert error(np.array(v)[:, 3:], rate(positions)) <= DIFFERENCES


@one_axis
def test_eq_5_acceleration_of_a_joint_is_the_rate_of_its_velocity(model):
    q, qd, qdd, none = tables(model)
    path = along(model, q, qd, qdd)
    measured = rate(lambda t: joint_velocities(model, *path(t)))
    s = inertial(model.tree, q, qd, none)
    vdot = equations.accelerations(s, qdd)
    bar = DIFFERENCES * np.abs(measured).max()
    for i in model.tree.bodies:
        p = model.tree.parent[i]
        parent = Motion.of(measured[p - 1].tolist()) if p else Motion.zero()
        computed = s.D[i] @ parent + s.G[i] @ qdd[i] + s.A[i]
        assert np.abs(array(six(computed)) - measured[i - 1]).max() <= bar
        assert np.abs(array(six(vdot[i])) - measured[i - 1]).max() <= bar


def test_eq_5a_as_printed_holds_for_revolute_joints_and_starts_with_zero():
    model = ONE_AXIS_MODELS["tree10"]
    q, qd, _, none = tables(model)
    x, s = geometry(model.tree, q, qd), inertial(model.tree, q, qd, none)
    assert six(s.A[1]) == [0.0] * 6
    for i in model.tree.bodies:
        w = x.omega[model.tree.parent[i]]
        printed = [*vector(w.cross(x.g[i] * qd[i][0])), *vector(w.cross(w.cross(x.d[i])))]
        np.testing.assert_array_equal(six(s.A[i]), printed)


def test_eq_5a_of_a_slide_needs_twice_the_sliding_term():
    model = ONE_AXIS_MODELS["tree6"]
    q, qd, qdd, none = tables(model)
    path = along(model, q, qd, qdd)
    measured = rate(lambda t: joint_velocities(model, *path(t)))
    x, s = geometry(model.tree, q, qd), inertial(model.tree, q, qd, none)
    for i in (2, 3):  # the prismatic joints
        p = model.tree.parent[i]
        w = x.omega[p]
        carried = s.D[i] @ Motion.of(measured[p - 1].tolist()) + s.G[i] @ qdd[i]
        rest = measured[i - 1] - array(six(carried))
        printed = vector(w.cross(w.cross(x.d[i])))
        sliding = 2 * vector(w.cross(x.p[i])) * qd[i][0]
        assert np.abs(rest[3:] - printed).max() > 0.1
        assert np.abs(rest[3:] - printed - sliding).max() <= DIFFERENCES * np.abs(measured).max()


@one_axis
def test_eq_6_and_7_stacked_accelerations_solve_the_influence_equation(model):
    q, qd, qdd, none = tables(model)
    path = along(model, q, qd, qdd)
    s = inertial(model.tree, q, qd, none)
    vdot = equations.accelerations(s, qdd)
    handed = s.Phi @ vdot
    for i in model.tree.bodies:
        assert error(six(handed[i] + s.G[i] @ qdd[i] + s.A[i]), six(vdot[i])) <= TIGHT
    measured = rate(lambda t: joint_velocities(model, *path(t)))
    assert error([six(vdot[i]) for i in model.tree.bodies], measured) <= DIFFERENCES


@one_axis
def test_eq_8_accelerations_of_centres_of_mass_by_operators(model):
    q, qd, qdd, none = tables(model)
    s = inertial(model.tree, q, qd, none)
    S, _, Abar, _ = mean_parts(model, q, qd)
    vdot = s.Psi @ {i: s.G[i] @ qdd[i] + s.A[i] for i in model.tree.bodies}
    computed = center_accelerations(model.tree, q, qd, qdd)
    for i in model.tree.bodies:
        assert error(six(S[i] @ vdot[i] + Abar[i]), six(computed[i])) <= TIGHT
    path = along(model, q, qd, qdd)
    measured = rate(lambda t: centers(model, path(t)[0]), order=2)
    # second differences: 1e-16 / (1e-3)^2 of positions of order 1
    assert error([vector(computed[i].lin) for i in model.tree.bodies], measured) <= 1e-7


# -- (9) to (15): forces


def loaded(model, seed=0):
    """Return the state, the system under random external forces and its interbody forces F."""
    q, qd, qdd, _ = tables(model, seed)
    contact = pushes(model, seed)
    s = inertial(model.tree, q, qd, contact)
    return q, qd, qdd, contact, s, equations.interbody_forces(s, qdd)


def balance_scale(F):
    return max(np.abs(six(f)).max() for f in F.values())


@one_axis
def test_eq_9_moments_on_each_body_balance_about_its_centre_of_mass(model):
    q, qd, qdd, contact, _, F = loaded(model)
    x, acc = geometry(model.tree, q, qd), center_accelerations(model.tree, q, qd, qdd)
    for i in model.tree.bodies:
        s, w = x.s[i], x.omega[i]
        I = model.tree.inertia[i].about_center.congruence(x.R[i].T)
        torque, force = x.R[i] @ contact[i].ang, x.R[i] @ contact[i].lin  # acts at the joint, y = 0
        left = F[i].ang - s.cross(F[i].lin)
        right = I @ acc[i].ang + w.cross(I @ w) - torque - (-s).cross(force)
        for child in model.tree.children(i):
            right = right + F[child].ang + (x.d[child] - s).cross(F[child].lin)
        assert np.abs(vector(left - right)).max() <= TIGHT * balance_scale(F)


@one_axis
def test_eq_10_forces_on_each_body_balance(model):
    q, qd, qdd, contact, _, F = loaded(model)
    x, acc = geometry(model.tree, q, qd), center_accelerations(model.tree, q, qd, qdd)
    for i in model.tree.bodies:
        m = model.tree.inertia[i].m
        outside = x.R[i] @ contact[i].lin + model.tree.gravity.lin * m
        right = acc[i].lin * m - outside
        for child in model.tree.children(i):
            right = right + F[child].lin
        assert np.abs(vector(F[i].lin - right)).max() <= TIGHT * balance_scale(F)


@one_axis
def test_eq_11_and_12_net_force_on_each_body_is_its_rate_of_momentum(model):
    q, qd, qdd, _, s, F = loaded(model)
    S, Mbar, _, Bbar = mean_parts(model, q, qd)
    acc = center_accelerations(model.tree, q, qd, qdd)
    handed = s.Phi.T @ F
    for i in model.tree.bodies:
        total = Force.zero()
        for child in model.tree.children(i):
            total = total + s.D[child].T @ F[child]
        assert error(six(handed[i]), six(total)) <= TIGHT
        right = S[i].T @ (Mbar[i] @ acc[i]) + Bbar[i] - s.YF[i]
        assert np.abs(array(six(F[i] - total - right))).max() <= TIGHT * balance_scale(F)


@one_axis
def test_eq_13_and_14_interbody_forces_from_centre_of_mass_quantities(model):
    q, qd, qdd, _, s, F = loaded(model)
    S, Mbar, Abar, Bbar = mean_parts(model, q, qd)
    vdot = s.Psi @ {i: s.G[i] @ qdd[i] + s.A[i] for i in model.tree.bodies}
    net = {
        i: S[i].T @ (Mbar[i] @ (S[i] @ vdot[i] + Abar[i])) + Bbar[i] - s.YF[i]
        for i in model.tree.bodies
    }
    by_14 = s.Psi.T @ net
    for i in model.tree.bodies:
        assert np.abs(array(six(by_14[i] - F[i]))).max() <= TIGHT * balance_scale(F)


@one_axis
def test_eq_15_splits_interbody_forces_into_acceleration_and_bias(model):
    _, _, qdd, _, s, F = loaded(model)
    Psi, bodies = s.Psi, model.tree.bodies
    driven = Psi @ {i: s.G[i] @ qdd[i] for i in bodies}
    first = Psi.T @ {i: s.M[i] @ driven[i] for i in bodies}
    drift = Psi @ s.A
    second = Psi.T @ {i: s.M[i] @ drift[i] + s.B[i] - s.YF[i] for i in bodies}
    for i in bodies:
        assert np.abs(array(six(first[i] + second[i] - F[i]))).max() <= TIGHT * balance_scale(F)


@one_axis
def test_interbody_forces_equal_the_joint_wrenches_of_newton_euler(model):
    q, qd, qdd, contact, _, F = loaded(model)
    x = geometry(model.tree, q, qd)
    _, f = rnea(model.tree, q, qd, qdd, contact)
    state = [np.array(flat(t)) for t in (q, qd, qdd)]
    f_ext = np.array([six(contact[i]) for i in model.tree.bodies])
    wrenches = fn.joint_wrenches(model, *state, f_ext, f_ext_frame="body")
    for i in model.tree.bodies:
        turned = Force(x.R[i] @ f[i].ang, x.R[i] @ f[i].lin)
        assert np.abs(array(six(turned - F[i]))).max() <= TIGHT * balance_scale(F)
        wrench = Force.of(wrenches[i - 1].tolist())
        turned = Force(x.R[i] @ wrench.ang, x.R[i] @ wrench.lin)
        assert np.abs(array(six(turned - F[i]))).max() <= TIGHT * balance_scale(F)


# -- (16) and (17)


@one_axis
def test_eq_16_joint_centred_mass_matrix(model):
    q, qd, _, none = tables(model)
    s = inertial(model.tree, q, qd, none)
    S, Mbar, _, _ = mean_parts(model, q, qd)
    x = geometry(model.tree, q, qd)
    for i in model.tree.bodies:
        moved = S[i].T @ Mbar[i] @ S[i]
        assert error(s.M[i].matrix(), moved.matrix()) <= TIGHT
        I, R = model.tree.inertia[i], array(x.R[i])
        about = R @ array(I.about_center.matrix()) @ R.T
        zero, mass = np.zeros((3, 3)), float(I.m) * np.eye(3)
        assert error(Mbar[i].matrix(), np.block([[about, zero], [zero, mass]]).tolist()) <= TIGHT
        m, tilde = float(Mbar[i].m), np.cross(np.eye(3), vector(x.s[i]))
        printed = np.block(
            [
                [array(Mbar[i].I.matrix()) - m * tilde @ tilde, m * tilde],
                [-m * tilde, m * np.eye(3)],
            ]
        )
        assert error(s.M[i].matrix(), printed.tolist()) <= TIGHT


@one_axis
def test_eq_17_nonlinear_force(model):
    q, qd, _, none = tables(model)
    s = inertial(model.tree, q, qd, none)
    S, Mbar, Abar, Bbar = mean_parts(model, q, qd)
    for i in model.tree.bodies:
        moved = S[i].T @ (Mbar[i] @ Abar[i]) + Bbar[i]
        scale = max(np.abs(six(moved)).max(), 1.0)
        assert np.abs(array(six(s.B[i] - moved))).max() <= TIGHT * scale
