"""Errors and notes about a motion: divergence, contact, friction, limits."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.dynamics.contact.scene import Scene
from sixfold.errors import SimulationError, visible
from sixfold.model import Model
from sixfold.quantities.kinematics import body_poses
from sixfold.runtime import lost_pivots, possibly_singular_joints
from sixfold.simulation.equations import ArrayEquations, split, stack_numbers
from sixfold.simulation.integrators import ITERATIONS, midpoint
from sixfold.simulation.step import Setup, StepRunner
from sixfold.simulation.time_loop import Outcome
from sixfold.simulation.trajectory import Trajectory
from sixfold.spatial import Vector3

#: Depth of a contact at the start above which it is reported [m]; soft contacts at rest sink in by
#: less than a millimetre.
MAX_DEPTH = 5e-3
MAX_BODY_DEPTH = 0.01  #: Depth of a centre of mass below the ground above which it is reported [m].


def contact_notes(model: Model, scene: Scene, t: Array, q: Array, gaps: Array) -> tuple[str, ...]:
    """Return notes on starts inside the ground, and on bodies that sink below it.

    Args:
        model: the robot.
        scene: what may touch.
        t: times of the samples.
        q: configurations, shape (..., samples, nq).
        gaps: of the contacts, shape (..., samples, nc).
    """
    notes = []
    if q.size and gaps.size:
        first = gaps.reshape(-1, *gaps.shape[-2:])[:, 0]
        _, k = np.unravel_index(int(np.argmin(first)), first.shape)
        depth = -float(first.min())
        if depth > MAX_DEPTH:
            body = visible(model.bodies[scene.touches[k].ball.body - 1].name)
            notes.append(
                f"body '{body}' starts {1e3 * depth:.3g} mm inside what it touches and is pushed "
                f"out fast: start higher by {depth:.3g} m"
            )
    notes += _sunk_bodies(model, scene, t, q)
    return tuple(notes)


def _sunk_bodies(model: Model, scene: Scene, t: Array, q: Array) -> list[str]:
    """Return a note on bodies whose centres of mass went below the ground: nothing held them."""
    if not scene.ground_bodies or not q.size:
        return []
    # centres of mass of all bodies at all samples, and their distance from the ground
    poses = body_poses(model, q)
    deepest: list[tuple[float, str, float]] = []
    for k, body in enumerate(model.bodies):
        if not body.inertia.m:
            continue
        center = np.array([float(x) for x in body.inertia.center])
        place = poses[..., k, :3, :3] @ center + poses[..., k, :3, 3]
        distance, _ = scene.surface.meet(Vector3(*np.moveaxis(place, -1, 0)))
        depth = -np.asarray(distance, float).reshape(-1, len(t)).min(axis=0)
        at = int(np.argmax(depth))
        if depth[at] > MAX_BODY_DEPTH:
            deepest.append((float(depth[at]), visible(body.name), float(t[at])))
    if not deepest:
        return []
    depth, name, time = max(deepest)
    others = f" (and {len(deepest) - 1} more bodies)" if len(deepest) > 1 else ""
    return [
        f"the centre of mass of '{name}'{others} went {depth:.3g} m below the ground at "
        f"t = {time:.4g} s: nothing of it can touch; add points to Ground(points=...)"
    ]


REVERSALS = 8  #: Samples with the opposite speed of both neighbours that count as shaking.


def friction_notes(model: Model, v: Array) -> tuple[str, ...]:
    """Return a note for the joints whose speed flips from sample to sample by dry friction.

    A step cannot end where friction f sign(v) holds a joint: it overshoots by up to h f / M.
    """
    bodies = (model.bodies[joint.body] for joint in model.coordinates.free)
    rows = (
        row
        for b in bodies
        for row in zip(b.friction, b.friction_negative, b.friction_speed, strict=True)
    )
    rubs = np.array([bool(more or less) and not speed for more, less, speed in rows], bool)
    if not rubs.any() or v.shape[-2] < 3:
        return ()
    # a sample whose speed has the opposite sign of both neighbours
    flips = v[..., 1:, :] * v[..., :-1, :] < 0
    peaks = (flips[..., 1:, :] & flips[..., :-1, :]).sum(axis=-2).reshape(-1, model.nv).max(axis=0)
    shaken = np.flatnonzero((peaks >= REVERSALS) & rubs)
    if not len(shaken):
        return ()
    names = model.coordinates.v_names
    listed = ", ".join(f"'{names[k]}'" for k in shaken[:4])
    more = f" and {len(shaken) - 4} more" if len(shaken) > 4 else ""
    fix = "model.with_friction_speed(0.01) smooths it"
    return (f"dry friction that jumps at rest shakes {listed}{more}: {fix}",)


def limit_notes(model: Model, t: Array, q: Array, stopped: bool) -> tuple[str, ...]:
    """Return a note for the joints that exceeded a limit without a stop."""
    if stopped or not q.size:
        return ()
    # the first time at which each joint is beyond a limit
    outside = (q < model.lower_position) | (q > model.upper_position)
    over = np.asarray(outside.reshape(-1, len(t), model.nq).any(axis=0))
    joints = np.flatnonzero(over.any(axis=0))
    if not len(joints):
        return ()
    names = model.coordinates.q_names
    first = [f"'{names[k]}' at t = {t[int(np.argmax(over[:, k]))]:.4g} s" for k in joints[:4]]
    more = f" and {len(joints) - 4} more" if len(joints) > 4 else ""
    what = f"beyond their limits: {', '.join(first)}{more}"
    return (f"joints went {what} (limits=True makes them stop)",)


CHECKED_SAMPLES = 32  #: Samples at which convergence of the iterations is checked.

MAX_CHANGE = 1e-9  #: How much one more iteration may change the change of velocity.


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
        tau, *_ = stepper.observe_at(t, before)
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


def midpoint_problem(
    system: ArrayEquations, made: Trajectory, dt: float, hold: bool
) -> SimulationError | None:
    """Return an error if one more iteration would have changed the steps at some sample."""
    for k in np.unique(np.linspace(0, len(made) - 1, CHECKED_SAMPLES).astype(int)):
        q, v, t = split(made.q[..., k, :]), split(made.v[..., k, :]), float(made.t[k])
        x = [] if made.x is None else split(made.x[..., k, :])
        at = system.zero_order_hold(t, q, [*v, *x])[0] if hold else system
        # one more iteration from the same state must change next to nothing
        less, more = (
            stack_numbers(midpoint(n).increment(at, t, q, v if hold else [*v, *x], dt)[1])
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
