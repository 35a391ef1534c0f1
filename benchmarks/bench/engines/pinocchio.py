"""Pinocchio's ways: its C++ loop over a batch, and its functions called from Python."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.bench.engines.build_peer import Peer, Single, looped, refuse_others
from benchmarks.bench.engines.engines import PIECE, States, Way
from sixfold.arrays import Array
from sixfold.lazy import optional
from sixfold.model import Body, Model, Revolute

BATCH_CALLS = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
CALLS = {"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"}
LETTERS = {(1.0, 0.0, 0.0): "X", (0.0, 1.0, 0.0): "Y", (0.0, 0.0, 1.0): "Z"}


def build_peer(model: Model, robot: Any = None) -> Peer:
    """Return the robot in Pinocchio: the one given, if it has our coordinates, or one built."""
    pin = optional("pinocchio", "the comparison with Pinocchio")
    if robot is not None and (robot.nq, robot.nv) == (model.nq, model.nv):
        return Peer(pin, robot, tuple(range(model.nv)))
    refuse_others(model, "Pinocchio")
    return _built(pin, model)


def _built(pin: Any, model: Model) -> Peer:
    """Build the tree as Pinocchio's own reader would: depth first, with its fastest joints."""
    robot = pin.Model()
    robot.gravity.linear = np.array(model.gravity)
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(model.parent):
        children.setdefault(parent, []).append(k)
    number, order, waiting = {-1: 0}, [], children.get(-1, [])[::-1]
    while waiting:
        k = waiting.pop()
        body = model.bodies[k]
        rotation, position = np.array(_floats(body.placement.E)).T, _floats(body.placement.r)
        place = pin.SE3(rotation, np.array(position))
        number[k] = robot.addJoint(number[body.parent], _joint(pin, body), place, body.joint_name)
        robot.appendBodyToJoint(number[k], _inertia(pin, body), pin.SE3.Identity())
        order.append(k)
        waiting += children.get(k, [])[::-1]
    return Peer(pin, robot, tuple(order))


def _floats(values: Any) -> list[Any]:
    return [_floats(x) if isinstance(x, tuple) else float(x) for x in values]


def _inertia(pin: Any, body: Body) -> Any:
    xx, yy, zz, xy, xz, yz = _floats(body.inertia.about_center)
    about_center = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(float(body.inertia.m), np.array(_floats(body.inertia.center)), about_center)


def _joint(pin: Any, body: Body) -> Any:
    kind = "Revolute" if isinstance(body.joint, Revolute) else "Prismatic"
    x, y, z = _floats(body.joint.axis)  # type: ignore[attr-defined]
    if (x, y, z) in LETTERS:
        return getattr(pin, f"JointModel{kind[0]}{LETTERS[x, y, z]}")()
    return getattr(pin, f"JointModel{kind}Unaligned")(x, y, z)


def ways(peer: Peer, function: str, states: States) -> list[Way]:
    """Return how Pinocchio evaluates a function: over the batch in C++ where it can, and looped."""
    how = f"pin.{CALLS[function]}"
    by_row = looped(peer, "pinocchio loop", how, single(peer, function), function, states)
    return [_batched(peer, function, states), by_row] if function in BATCH_CALLS else [by_row]


def _batched(peer: Peer, function: str, states: States) -> Way:
    name, size = BATCH_CALLS[function], min(PIECE, len(states.q))
    batch, pool = getattr(peer.library, name), peer.library.ModelPool(peer.robot, 1)
    columns = [np.asfortranarray(peer.theirs(x).T) for x in states.of(function)]
    result = np.zeros_like(columns[1], order="F")
    starts = range(0, len(states.q) - size + 1, size)
    pieces = [[x[:, k : k + size] for x in (*columns, result)] for k in starts]
    turns = cycle(pieces)

    def call() -> None:
        batch(1, pool, *next(turns))

    def values(n: int) -> Array:
        for piece in pieces:
            batch(1, pool, *piece)
        return peer.ours(result.T[:n])

    how = f"pin.{name}, one thread, {size} states a call, in turns over the batch"
    return Way("pinocchio C++", how, size, call, values)


def single(peer: Peer, function: str) -> Single:
    """Return Pinocchio's function of one state, with its model and data."""
    return getattr(peer.library, CALLS[function]), (peer.robot, peer.robot.createData())
