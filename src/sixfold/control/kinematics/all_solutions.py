"""`all_solutions`: every configuration of an arm that meets its targets, by many starts."""

from __future__ import annotations

import math

import numpy as np

from sixfold.arrays import Array
from sixfold.control.kinematics.solve import Solver, start_table, tolerance_of
from sixfold.control.kinematics.targets import Targets
from sixfold.control.kinematics.task import Task, task_of
from sixfold.control.kinematics.turns import TURN, turning, unwound
from sixfold.errors import NotApplicableError, yes_or_no
from sixfold.evaluate import enough_memory, model_checked
from sixfold.evaluate.quantities import refuse_constraints
from sixfold.model import Model
from sixfold.simulation.arguments import step_count

NAME = "all_solutions"
SAME = 1e-5
"""Largest difference [rad or m] of two copies of one solution."""
MAX_ROWS = 1 << 20
"""Starts that are worked on together."""


def all_solutions(
    model: Model,
    targets: Targets,
    *,
    tolerance: float = 1e-8,
    starts: int = 250,
    limits: bool = True,
) -> Array:
    """Return all configurations that meet the targets, as far as many starts find them.

    Solutions that differ by whole turns of joints are one.  A six-joint arm has up to sixteen, one
    with a spherical wrist, or with three parallel axes, up to eight.

    Args:
        model: the robot.
        targets: as in `inverse_kinematics`; together they must fix as many freedoms as joints have.
        tolerance: what may be left of each part of the targets [m and rad].
        starts: how many configurations each row starts from, the same ones for every row.
        limits: False to leave the position limits of joints aside.

    Returns:
        Configurations [rad or m], shape (..., n, nq), n being the largest number of solutions
        of a row; rows with fewer end in NaN.  Angles are as near to zero as limits allow.

    Raises:
        ArgumentError, ShapeError, NumberError, OptionError: if an argument makes no sense.
        UnknownNameError: if there is no body, frame or joint of a name.
        NotApplicableError: if the robot has more freedoms than the targets fix, and so infinitely
            many solutions, or constraints beside its joints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> pose = sf.frame_pose(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "dh6")
        >>> found = sf.all_solutions(arm, {"dh6": pose})
        >>> found.shape, np.allclose(sf.frame_pose(arm, found, "dh6"), pose)
        ((8, 6), True)
        >>> found[:2].round(3)
        array([[ 0.1  ,  0.2  ,  0.3  , -2.742, -0.5  , -2.542],
               [ 0.1  ,  0.2  ,  0.3  ,  0.4  ,  0.5  ,  0.6  ]])
    """
    model_checked(NAME, model)
    refuse_constraints(NAME, model, "close the loops with sixfold.assemble")
    yes_or_no(NAME, limits=limits)
    count = step_count(NAME, "starts", starts)
    good = tolerance_of(NAME, tolerance)
    task = task_of(NAME, model, targets)
    _check_freedoms(model, task)
    lead, goals = task.numbers.shape[:-1], task.numbers.reshape(-1, task.numbers.shape[-1])
    table = start_table(model, count)
    found: list[list[Array]] = []
    with enough_memory(NAME, f"{len(goals):,} times {count:,} starts"):
        step = max(1, MAX_ROWS // count)
        for a in range(0, len(goals), step):
            found += _of_rows(
                Solver(task, bool(limits), good, table[:1]), goals[a : a + step], table
            )
    most = max(map(len, found), default=0)
    result = np.full((len(goals), most, model.nq), np.nan)
    for row, each in zip(result, found, strict=True):
        row[: len(each)] = each
    return result.reshape((*lead, most, model.nq))


def _check_freedoms(model: Model, task: Task) -> None:
    """Refuse a robot that can move without leaving its targets."""
    rows = task.row_count()
    if model.nv > rows:
        where = (
            f"model '{model.name}': {model.nv} freedoms, of which the targets fix {rows} at most"
        )
        fix = "lock joints (sixfold.lock_joints), add targets, or use inverse_kinematics"
        raise NotApplicableError(NAME, where, fix)


def _of_rows(solver: Solver, goals: Array, table: Array) -> list[list[Array]]:
    """Return the solutions of each row, sorted."""
    n, k = len(goals), len(table)
    first = np.broadcast_to(table, (n, *table.shape)).reshape(n * k, table.shape[-1])
    found = solver.run(first, np.repeat(goals, k, axis=0), polish=False)
    model, at = solver.task.model, turning(solver.task.model)
    turned = unwound(model, found.q, at, 0.0, solver.bounded).reshape(n, k, -1)
    met = solver.met(found).reshape(n, k)
    return [_distinct(model, q[good], at) for q, good in zip(turned, met, strict=True)]


def _distinct(model: Model, q: Array, at: Array) -> list[Array]:
    """Return configurations that differ by more than turns, in the order of their first angles."""
    _, few = np.unique(np.round(q / (10 * SAME)), axis=0, return_index=True)  # most of the copies
    found = np.empty((0, model.nq))
    for one in q[few]:
        apart = found - one
        apart[:, at] = np.remainder(apart[:, at] + math.pi, TURN) - math.pi
        if not (np.abs(apart) <= SAME).all(-1).any():
            found = np.vstack([found, one])
    return list(found)
