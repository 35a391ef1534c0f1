"""What machine code is made of: the same joint-space dynamics from fewer operations.

The reference implementation takes a model as it is given.  Kernels take a reduced tree: inertias
moved to the parents and frames moved for zeros, where that costs no digit
(`sixfold.model.grouping.reduce_inertias`, `sixfold.evaluate.kernels.reduce_frames`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sixfold.evaluate import scalar_functions
from sixfold.evaluate.kernels.kernel_cache import per_model
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar


def kernel_tree(core: Callable[..., Any], model: Model) -> Tree:
    """Return the tree that machine code of a core is traced on."""
    body, options = (core.func, core.keywords) if isinstance(core, partial) else (core, {})
    if not getattr(body, "joint_space", False):
        return model.tree
    return _reduced(model, options.get("frame") != "body")


def for_kernel(core: Callable[..., Any], model: Model) -> Callable[..., Any]:
    """Return a core of a model as machine code takes it: a function of its lists of numbers."""
    return partial(core, model, kernel_tree(core, model))


_MAX_PITCH = 1e3
"""Largest pitch of a screw joint [m/rad] in a tree whose placements and inertias may be rounded.

A screw of pitch p makes linear velocities of p times its rate.  What rounding takes from a
placement, or from a first moment that is moved to the parent, then counts p times.
"""


@per_model()
def _reduced(model: Model, anywhere: bool) -> Tree:
    """Return the reduced tree; forces in body coordinates need the model's own frames."""
    from sixfold.evaluate.kernels.reduce_frames import reduce_frames
    from sixfold.model.grouping import reduce_inertias

    tree = model.tree
    pitches = (getattr(joint, "pitch", 0) for joint in tree.joint)
    if tree.is_numeric() and any(abs(float(pitch)) > _MAX_PITCH for pitch in pitches):
        return tree
    return reduce_inertias(reduce_frames(model.tree) if anywhere else model.tree)


def solved(model: Model, frame: str = "world", method: str | None = None) -> partial[list[Scalar]]:
    """Return the core of forward dynamics for a model: by articulated bodies if nothing is said.

    Factorising the mass matrix takes up to a fifth fewer operations on shallow trees, but what a
    pivot loses by subtraction there, articulated bodies never add.
    """
    return partial(scalar_functions.forward_dynamics, frame=frame, method=method or "aba")
