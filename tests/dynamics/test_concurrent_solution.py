"""Concurrent Dynamics International, EOM with Newton-Euler Equations, 2017, eqs. (18) to (20):
the equations of motion, their two solutions, and constraint forces.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import geometry, inertial
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.fast.articulated import articulated_inertias
from sixfold.scalar import ZERO
from sixfold.spatial import ZERO3, Inertia, Motion, Transform
from tests.dynamics.models import ONE_AXIS_MODELS
from tests.dynamics.support import EPS, array, error, flat, fn, pushes, six, tables

one_axis = pytest.mark.parametrize("model", ONE_AXIS_MODELS.values(), ids=ONE_AXIS_MODELS)
TIGHT = 128 * EPS

ANY_JOINT = {
    **ONE_AXIS_MODELS,
    "every joint": sf.random_tree(9, 4),
    "rotors": sf.random_tree(6, 8, properties=True).without(
        damping=True, friction=True, springs=True
    ),
}
any_joint = pytest.mark.parametrize("model", ANY_JOINT.values(), ids=ANY_JOINT)


# -- (18): the equations of motion


def readings(model):
    """The paper's own reading where it applies, and body coordinates."""
    return [equations.body_frame] + ([inertial] if model in ONE_AXIS_MODELS.values() else [])


def on_bodies(model, contact):
    """External forces as an array, in body coordinates."""
    return np.array([six(contact[i]) for i in model.tree.bodies])


@any_joint
def test_eq_18a_projected_interbody_forces_are_the_joint_forces(model):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    expected, _ = rnea(model.tree, q, qd, qdd, contact)
    for read in readings(model):
        tau = equations.joint_forces(read(model.tree, q, qd, contact), qdd)
        assert error(flat(tau), flat(expected)) <= TIGHT
    state = [np.array(flat(t)) for t in (q, qd, qdd)]
    public = fn.inverse_dynamics(model, *state, on_bodies(model, contact), f_ext_frame="body")
    assert error(flat(tau), public) <= TIGHT


@any_joint
def test_eq_18b_bias_is_inverse_dynamics_at_no_acceleration(model):
    q, qd, _, _ = tables(model)
    contact = pushes(model)
    still = model.velocities([ZERO] * model.nv)
    expected, _ = rnea(model.tree, q, qd, still, contact)
    for read in readings(model):
        C = equations.bias(read(model.tree, q, qd, contact))
        assert error(flat(C), flat(expected)) <= TIGHT


@any_joint
def test_eq_18c_mass_matrix_equals_composite_rigid_bodies(model):
    q, qd, _, none = tables(model)
    H = dense(model.tree, crba(model.tree, q))
    for read in readings(model):
        s = read(model.tree, q, qd, none)
        assert error(equations.mass_matrix(s), H) <= TIGHT


@any_joint
def test_eq_18_holds_as_a_whole(model):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    for read in readings(model):
        s = read(model.tree, q, qd, contact)
        M, C, f = equations.mass_matrix(s), equations.bias(s), equations.joint_forces(s, qdd)
        assert error(array(M) @ array(flat(qdd)) + array(flat(C)), flat(f)) <= TIGHT


# -- (19): accelerations


@any_joint
@pytest.mark.parametrize(
    ("solve", "method"),
    [(equations.solve_dense, "operators_dense"), (equations.solve_factorised, "operators")],
)
def test_eq_19a_and_19b_give_the_accelerations_of_the_joint_forces(model, solve, method):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    f, _ = rnea(model.tree, q, qd, qdd, contact)
    H = array(dense(model.tree, crba(model.tree, q)))
    for read in readings(model):
        solved = solve(read(model.tree, q, qd, contact), f)
        assert error(flat(solved), flat(qdd)) <= 16 * EPS * np.linalg.cond(H)
    by_aba = aba(model.tree, q, qd, f, contact)
    assert error(flat(by_aba), flat(qdd)) <= 16 * EPS * np.linalg.cond(H)
    state = [np.array(flat(t)) for t in (q, qd, f)]
    public = fn.forward_dynamics(
        model, *state, on_bodies(model, contact), f_ext_frame="body", method=method
    )
    assert error(public, flat(qdd)) <= 16 * EPS * np.linalg.cond(H)


@any_joint
def test_eq_19b_operator_is_the_inverse_of_the_mass_matrix(model):
    q, qd, _, none = tables(model)
    for read in readings(model):
        s = read(model.tree, q, qd, none)
        nothing = {i: Motion.zero() for i in model.tree.bodies}
        rest = replace(s, A=nothing, B=none, YF=none)
        inverse = np.array(
            [
                flat(equations.solve_factorised(rest, model.velocities(unit)))
                for unit in np.eye(model.nv).tolist()
            ]
        )
        M = array(equations.mass_matrix(s))
        assert np.abs(inverse @ M - np.eye(model.nv)).max() <= 16 * EPS * np.linalg.cond(M)


@any_joint
def test_branch_inertias_are_articulated_inertias(model):
    q, qd, _, none = tables(model)
    expected = articulated_inertias(model.tree, q)
    own = equations.branch_inertias(equations.body_frame(model.tree, q, qd, none))
    for i in model.tree.bodies:
        assert error(own.J[i].matrix(), expected.IA[i].matrix()) <= TIGHT
        assert error(own.R[i].rows, expected.D[i].rows) <= TIGHT


@one_axis
def test_branch_inertias_in_inertial_axes_are_the_turned_ones(model):
    q, qd, _, none = tables(model)
    x = geometry(model.tree, q, qd)
    own = equations.branch_inertias(inertial(model.tree, q, qd, none))
    expected = articulated_inertias(model.tree, q)
    for i in model.tree.bodies:
        turn = Transform(x.R[i].T, ZERO3)  # inertial axes to body axes, at the joint
        assert error(own.J[i].matrix(), (turn.T @ expected.IA[i] @ turn).matrix()) <= TIGHT
        assert error(own.R[i].rows, expected.D[i].rows) <= TIGHT


def test_branch_inertia_of_a_tip_is_its_own_mass_matrix():
    model = ONE_AXIS_MODELS["tree10"]
    q, qd, _, none = tables(model)
    s = inertial(model.tree, q, qd, none)
    J = equations.branch_inertias(s).J
    for i in (2, 6, 8, 10):
        np.testing.assert_array_equal(array(J[i].matrix()), array(s.M[i].matrix()))


# -- (20): constraint forces

REGULAR = ("tree10", "tree6", "cart_pendulum", "puma560")
UNIT_AXES = {name: ONE_AXIS_MODELS[name] for name in REGULAR}


@pytest.mark.parametrize("model", UNIT_AXES.values(), ids=UNIT_AXES)
def test_eq_20_constraint_matrix_is_orthonormal_and_orthogonal_to_the_free_axis(model):
    for i in model.tree.bodies:
        joint = model.tree.joint[i]
        G = array([six(c) for c in joint.calc((0.3,), (0.0,)).S.columns]).T
        T = array([six(c) for c in joint.constraint_basis().columns]).T
        assert T.shape == (6, 5)
        np.testing.assert_allclose(G.T @ T, np.zeros((1, 5)), rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(G.T @ G, [[1.0]], rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(T.T @ T, np.eye(5), rtol=0, atol=4 * EPS)


@pytest.mark.parametrize("model", UNIT_AXES.values(), ids=UNIT_AXES)
def test_interbody_forces_are_actuation_plus_constraint_forces(model):
    q, qd, qdd, _ = tables(model)
    contact = pushes(model)
    s = equations.body_frame(model.tree, q, qd, contact)
    F, tau = equations.interbody_forces(s, qdd), equations.joint_forces(s, qdd)
    f_ext = on_bodies(model, contact)
    state = [np.array(flat(x)) for x in (q, qd, qdd)]
    borne = fn.joint_reaction_forces(model, *state, f_ext, f_ext_frame="body")
    for i in model.tree.bodies:
        joint = model.tree.joint[i]
        G = array([six(c) for c in joint.calc(q[i], qd[i]).S.columns]).T
        T = array([six(c) for c in joint.constraint_basis(q[i]).columns]).T
        whole = array(six(F[i]))
        scale = np.abs(whole).max()
        f, f_c = G.T @ whole, T.T @ whole
        rotor = model.tree.armature[i] * qdd[i]
        assert np.abs(f + array(list(rotor)) - array(list(tau[i]))).max() <= TIGHT * scale
        assert np.abs(G @ f + T @ f_c - whole).max() <= TIGHT * scale
        assert np.abs(T @ f_c - borne[i - 1]).max() <= TIGHT * scale


def test_constraint_force_along_z_of_a_joint_that_turns_about_x():
    """The worked example: G = [e_x, 0], the constraint force along z is [0, e_z]^T F."""
    builder = sf.ModelBuilder("arm")
    for k in range(1, 4):
        solid = Inertia.from_mass(1.0 + k, (0.1, -0.2 * k, 0.3), (0.1, 0.2, 0.15))
        builder.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k > 1 else None,
            joint=sf.Revolute("x" if k == 2 else "y"),
            placement=(0.2, -0.1, 0.4),
            inertia=solid,
        )
    model = builder.build()
    q, qd, qdd, none = tables(model)
    x = geometry(model.tree, q, qd)
    F = equations.interbody_forces(inertial(model.tree, q, qd, none), qdd)
    e_z = x.R[2].T.c  # z axis of the joint frame in inertial coordinates
    answer = e_z.dot(F[2].lin)
    state = [np.array(flat(t)) for t in (q, qd, qdd)]
    assert abs(answer - fn.joint_reaction_forces(model, *state)[1, 5]) <= TIGHT * abs(answer)
    assert abs(answer - fn.joint_wrenches(model, *state)[1, 5]) <= TIGHT * abs(answer)
    # the free axis bears nothing
    assert abs(fn.joint_reaction_forces(model, *state)[1, 0]) <= TIGHT * abs(answer)


@any_joint
def test_constraint_forces_do_no_work_on_the_joint(model):
    q, qd, qdd, _ = tables(model)
    state = [np.array(flat(t)) for t in (q, qd, qdd)]
    borne = fn.joint_reaction_forces(model, *state)
    wrench = fn.joint_wrenches(model, *state)
    for i in model.tree.bodies:
        for column in model.tree.joint[i].calc(q[i], qd[i]).S.columns:
            work = array(six(column)) @ borne[i - 1]
            assert abs(work) <= TIGHT * max(np.abs(wrench[i - 1]).max(), 1e-3)
