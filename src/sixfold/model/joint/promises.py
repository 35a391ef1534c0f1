"""What the class of a user's joint promises, tried when a model is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ModelError, SixfoldError, kind_of
from sixfold.model.joint.joint import Joint, JointState
from sixfold.scalar import plain
from sixfold.spatial import Motion, Subspace

TOLERANCE = 1e-9
"""Difference, relative to the largest element of S, up to which a promise holds."""


def check_promises(where: str, joint: Joint) -> None:
    """Refuse a joint of the user's own class whose subspace is not what the class says.

    A wrong promise would hide singular states.  It is tried at three random positions, where `calc`
    is defined and gives numbers there.
    """
    if not (joint.constant_subspace or joint.orthonormal_subspace):
        return
    rng = np.random.default_rng(0)
    try:
        found = [joint.calc(joint.random(rng), (0.5,) * joint.nv) for _ in range(3)]
    except SixfoldError:
        raise
    except (ArithmeticError, ValueError):  # not defined everywhere
        return
    states = [_checked(where, joint, state) for state in found]
    try:
        S = np.array([[_numbers(column) for column in state.S.columns] for state in states])
        cJ = np.array([_numbers(state.cJ) for state in states])
    except (TypeError, ValueError):  # symbols
        return
    if not np.isfinite(S).all() or not S.size:
        return
    near = TOLERANCE * np.abs(S).max()
    changes = max(np.abs(S - S[0]).max(), np.abs(cJ).max())
    if joint.constant_subspace and not changes <= near:
        raise _broken(where, joint, "constant_subspace", "S changes with q, or cJ is not zero")
    products = S @ S.swapaxes(1, 2)
    if joint.orthonormal_subspace and not np.abs(products - np.eye(joint.nv)).max() <= near:
        raise _broken(where, joint, "orthonormal_subspace", "S^T S is not the unit matrix")


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


def _numbers(motion: Motion) -> NDArray[np.float64]:
    values: list[Any] = [plain(x) for x in (*motion.ang, *motion.lin)]
    return np.array(values, dtype=float)


def _broken(where: str, joint: Joint, promise: str, what: str) -> ModelError:
    kind = type(joint).__name__
    return ModelError(
        where, f"{kind}.{promise} is True, but {what}", f"set {promise} = False in class {kind}"
    )
