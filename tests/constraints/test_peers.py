"""Closed loops against Pinocchio's constraint dynamics and MuJoCo's stiff equality constraints."""

import numpy as np
import pytest

import sixfold as sf
from tests.constraints.peers import ByMujoco, ByPinocchio
from tests.constraints.robots import ROBOTS, standing_leg, states

STATES = 100
SOFT = np.array([1.2e-4, 2.4e-4, 4.8e-4, 9.6e-4])
"""What MuJoCo adds to the diagonal; it takes no less than 1e-4."""


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


def test_the_states_keep_the_loops_closed(robot):
    model, start = robot
    q, v, _ = states(model, start, STATES)
    J = sf.loops.constraint_jacobian(model, q)
    assert np.abs(sf.loops.constraint_gaps(model, q)).max() < 1e-12
    assert np.abs(J @ v[..., None]).max() < 1e-12
    assert np.abs(v).max() > 1.0


def test_accelerations_and_forces_are_those_of_pinocchio(robot):
    pytest.importorskip("pinocchio")
    model, start = robot
    q, v, tau = states(model, start, STATES)
    a, forces = sf.loops.constrained_dynamics(model, q, v, tau)
    theirs = ByPinocchio(model)
    same_rows = all(loop.rows in (3, 6) for loop in model.constraints)
    for k in range(STATES):
        there, pushes = theirs(q[k], v[k], tau[k])
        assert relative(a[k], there) < 1e-9
        if same_rows:
            assert relative(forces[k], pushes) < 1e-9
    assert same_rows or model.name == "gripper"


def test_a_welded_foot_has_pinocchios_forces_and_moments():
    pytest.importorskip("pinocchio")
    model, start = standing_leg()
    q, v, tau = states(model, start, STATES)
    a, forces = sf.loops.constrained_dynamics(model, q, v, tau)
    theirs = ByPinocchio(model)
    for k in range(STATES):
        there, pushes = theirs(q[k], v[k], tau[k])
        assert relative(a[k], there) < 1e-9
        assert relative(forces[k], pushes) < 1e-9


def test_mujocos_accelerations_converge_to_ours_as_its_constraints_stiffen(robot):
    pytest.importorskip("mujoco")
    model, start = robot
    q, v, tau = (x[::10] for x in states(model, start, STATES))
    theirs = ByMujoco(model)
    a = sf.forward_dynamics(model, q, v, tau)
    for k in range(len(q)):
        soft = np.array([theirs(q[k], v[k], tau[k], s) for s in SOFT])
        errors = np.array([relative(x, a[k]) for x in soft])
        # half as soft, half the error
        np.testing.assert_allclose(errors[1:] / errors[:-1], 2.0, rtol=0.1)
        weights = [np.prod(np.delete(SOFT, i) / (np.delete(SOFT, i) - SOFT[i])) for i in range(4)]
        assert relative(weights @ soft, a[k]) < 1e-6
