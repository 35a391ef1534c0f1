"""What ends a simulation: divergence, zero pivots, iterations that do not converge."""

from __future__ import annotations

import numpy as np

from sixfold.errors import SimulationError
from sixfold.evaluate import lost_pivots, possibly_singular_joints
from sixfold.model import Model
from sixfold.simulation.integrators import ITERATIONS, midpoint
from sixfold.simulation.numeric import Numeric, joined, split
from sixfold.simulation.run_steps import Outcome
from sixfold.simulation.setup import Setup
from sixfold.simulation.stepper import StepRunner
from sixfold.simulation.trajectory.trajectory import Trajectory

CHECKED_SAMPLES = 32
"""Samples at which convergence of the iterations is checked."""

MAX_CHANGE = 1e-9
"""How much one more iteration may change the change of velocity."""


def not_finite(
    setup: Setup, stepper: StepRunner, outcome: Outcome, made: Trajectory
) -> SimulationError:
    """Return the error for a state that is not finite: its time, joint and value."""
    assert outcome.failure is not None
    model = setup.model
    t, after, before = outcome.failure
    index = tuple(int(k) for k in np.argwhere(~np.isfinite(after).all(axis=-1))[0])
    if possibly_singular_joints(model):
        lost, owner = lost_pivots(model, before[index][: model.nq])
        if lost.any():
            return _no_inertia(model, owner[int(np.argmax(lost))], t, made)
    names = [f"q of joint '{name}'" for name in model.coordinates.q_names]
    names += [f"v of joint '{name}'" for name in model.coordinates.v_names]
    names += [f"state x[{k}] of the controller" for k in range(setup.states)]
    # a velocity that is not finite makes its position so: name the velocity first
    order = [*range(model.nq, len(names)), *range(model.nq)]
    k = next((k for k in order if not np.isfinite(after[index][k])), order[0])
    fix = "make dt smaller, or look for gains and forces that are too large for it"
    if setup.control is not None and not stepper.live:
        tau, *_ = stepper.look(t, before)
        if not np.isfinite(tau).all():
            fix = "look into control: its joint forces are not finite at the state before"
    of = f", start {list(index)}" if index else ""
    return SimulationError(
        f"simulate: model '{model.name}'{of}: {names[k]} is not finite",
        time=t,
        got=f"{after[index][k]}, after {before[index][k]:.6g} one step before",
        fix=fix,
        trajectory=made,
    )


def lost_pivot(made: Trajectory) -> SimulationError | None:
    """Return an error if some joint had no inertia behind it at a sample."""
    model = made.model
    if not possibly_singular_joints(model):
        return None
    lost, owner = lost_pivots(model, made.q)
    bad = np.asarray(lost.reshape(-1, *lost.shape[-2:]).any(axis=0))
    rows = bad.any(axis=-1)
    if not rows.any():
        return None
    row = int(np.argmax(rows))
    return _no_inertia(model, owner[int(np.argmax(bad[row]))], float(made.t[row]), made[:row])


def _no_inertia(model: Model, k: int, t: float, made: Trajectory) -> SimulationError:
    body = model.bodies[k]
    return SimulationError(
        f"simulate: model '{model.name}': no inertia behind joint '{body.joint_name}'",
        time=t,
        got="D <= 4 eps H_ii: any force moves it infinitely",
        fix=f"give body '{body.name}' inertia, or add armature to the joint",
        trajectory=made,
    )


def not_converged(
    system: Numeric, made: Trajectory, dt: float, hold: bool
) -> SimulationError | None:
    """Return an error if one more iteration would have changed the steps at some sample."""
    for k in np.unique(np.linspace(0, len(made) - 1, CHECKED_SAMPLES).astype(int)):
        q, v, t = split(made.q[..., k, :]), split(made.v[..., k, :]), float(made.t[k])
        x = [] if made.x is None else split(made.x[..., k, :])
        at = system.zero_order_hold(t, q, [*v, *x])[0] if hold else system
        less, more = (
            joined(midpoint(n).increment(at, t, q, v if hold else [*v, *x], dt)[1])
            for n in (ITERATIONS, ITERATIONS + 1)
        )
        change = np.abs(more - less).max(axis=-1, initial=0.0)
        rounding = 1e-12 * (dt + np.abs(made.v[..., k, :]).max(axis=-1, initial=0.0))
        if not (change <= MAX_CHANGE * np.abs(more).max(axis=-1, initial=0.0) + rounding).all():
            return SimulationError(
                "simulate: the iterations of integrator 'midpoint' do not converge",
                time=t,
                got=f"velocity changes by {change.max():.1e} in one more iteration",
                fix="make dt smaller, or use 'lie_rk4' for stiff controllers",
                trajectory=made,
            )
    return None
