"""What the class of a user's joint promises, tried when a model is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ModelError, SixfoldError, kind_of
from sixfold.model.joint.joint import Joint, JointState
from sixfold.scalar import plain
from sixfold.spatial import Subspace

TOLERANCE = 1e-9
"""Relative difference up to which a promise holds."""


def check_promises(where: str, joint: Joint) -> None:
    """Refuse a joint of the user's own class that is not what the class says.

    A wrong promise gives wrong results or hides singular states.  It is tried at three random
    positions, where `calc` is defined and gives numbers there.
    """
    rng = np.random.default_rng(0)
    qd = tuple(rng.uniform(0.5, 1.0, joint.nv).tolist())
    try:
        found = [(q, joint.calc(q, qd)) for q in (joint.random(rng) for _ in range(3))]
    except SixfoldError:
        raise
    except (ArithmeticError, ValueError):  # not defined everywhere
        return
    states = [_checked(where, joint, state) for _, state in found]
    try:
        S = np.array([[_numbers(*column) for column in state.S.columns] for state in states])
        cJ = np.array([_numbers(*state.cJ) for state in states])
        rates = [_numbers(joint.rate(q, qd)) for q, _ in found]
    except (TypeError, ValueError):  # symbols
        return
    if not np.isfinite(S).all() or not S.size:
        return
    near = TOLERANCE * np.abs(S).max()
    constant = max(np.abs(S - S[0]).max(), np.abs(cJ).max()) <= near
    products = S @ S.swapaxes(1, 2)
    broken = {
        "constant_subspace": not constant and "S changes with q, or cJ is not zero",
        "orthonormal_subspace": not np.abs(products - np.eye(joint.nv)).max() <= near
        and "S^T S is not the unit matrix",
        "velocity_is_rate": any(len(x) != joint.nv or not np.allclose(x, qd) for x in rates)
        and "rate(q, qd) is not qd",
        "fixed_axis": joint.fixed_axis
        and not (constant and _has_fixed_axis(joint, S[0], states))
        and "the joint has no single axis that rests in the body and in its parent",
    }
    for promise, what in broken.items():
        if what and getattr(joint, promise):
            kind = type(joint).__name__
            fix = f"set {promise} = False in class {kind}"
            raise ModelError(where, f"{kind}.{promise} is True, but {what}", fix)


def _has_fixed_axis(joint: Joint, S: NDArray[np.float64], states: list[JointState]) -> bool:
    """Return whether S and the transforms keep one axis, that of the joint's field if it has it."""
    if joint.nv != 1:
        return False
    turn, slide = S[0, :3], S[0, 3:]
    along = _numbers(joint.axis) if hasattr(joint, "axis") else turn if turn.any() else slide
    along = along / np.linalg.norm(along)
    others = [turn, slide, *(_numbers(state.XJ.r) for state in states)]
    turned = [np.array([_numbers(row) for row in state.XJ.E]) @ along for state in states]
    return all(np.allclose(np.cross(x, along), 0.0, atol=TOLERANCE) for x in others) and all(
        np.allclose(x, along, atol=TOLERANCE) for x in turned
    )


def _checked(where: str, joint: Joint, state: Any) -> JointState:
    """Return what `calc` gave if its subspace fits the joint."""
    kind = type(joint).__name__
    if not isinstance(state, JointState):
        what = f"{kind}.calc returned {kind_of(state)}"
        raise ModelError(where, what, "return JointState(XJ, S, vJ, cJ)")
    if not isinstance(state.S, Subspace) or len(state.S.columns) != joint.nv:
        what = f"S of {kind}.calc is not a Subspace of nv = {joint.nv} columns"
        raise ModelError(where, what, "give Subspace one motion for each velocity")
    return state


def _numbers(*vectors: Any) -> NDArray[np.float64]:
    return np.array([plain(x) for vector in vectors for x in vector], dtype=float)
