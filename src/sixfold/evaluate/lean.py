"""What machine code is made of: the same joint-space dynamics from fewer operations.

The reference reading takes a model as it is given.  Kernels take its tree with inertias passed on
to the parents where that costs no digit (`sixfold.model.grouping.lean`), and solve for
accelerations by the method that takes fewest operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sixfold.evaluate import cores
from sixfold.evaluate.bounds import steadiness
from sixfold.evaluate.kernel_cache import per_model
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar

SHALLOW = 3.5
"""Freedoms between a freedom and the base, on the average, up to which the mass matrix pays."""

STEADY = 1e-6
"""Smallest share of a pivot in its element of the mass matrix for which the matrix is solved."""

SMALL = 64
"""Freedoms of a tree that is surely evaluated by straight-line code."""


def kernel_tree(core: Callable[..., Any], model: Model) -> Tree:
    """Return the tree that machine code of a core is traced on."""
    body, options = (core.func, core.keywords) if isinstance(core, partial) else (core, {})
    if not getattr(body, "joint_space", False):
        return model.tree
    return _lean(model, options.get("frame") != "body")


def in_kernel(core: Callable[..., Any], model: Model) -> Callable[..., Any]:
    """Return a core of a model as machine code takes it: a function of its lists of numbers."""
    return partial(core, model, kernel_tree(core, model))


@per_model()
def _lean(model: Model, anywhere: bool) -> Tree:
    """Return the lean tree; forces in body coordinates need the model's own frames."""
    from sixfold.model.frames import reframed
    from sixfold.model.grouping import lean

    return lean(reframed(model.tree) if anywhere else model.tree)


Method = str | tuple[str, ...]
"""One of `cores.METHODS`, or one for each limb."""


def solved(model: Model, frame: str = "world", method: str | None = None) -> partial[list[Scalar]]:
    """Return the core of forward dynamics for a model, by the method that suits it."""
    return partial(cores.forward_dynamics, frame=frame, method=method or solver(model))


@per_model(256)
def solver(model: Model) -> Method:
    """Return the method of forward dynamics with fewest operations, for each limb if they differ.

    Composite bodies and a sparse factorisation ("crba") for limbs that are not deep; articulated
    bodies ("aba") for the others, where a pivot may be so small a part of the inertia behind its
    joint that subtracting the rest would lose it, and for trees that may need the rolled form.
    """
    tree = model.tree
    if model.couplings or not 0 < tree.nv <= SMALL:
        return "aba"
    steady = steadiness(model)
    methods = []
    for limb in tree.limbs():
        depth = _mean_depth(tree.part(limb))
        sure = min(steady[i - 1] for i in limb) >= STEADY
        methods.append("crba" if depth <= SHALLOW and sure else "aba")
    return methods[0] if len(set(methods)) == 1 else tuple(methods)


def _mean_depth(tree: Tree) -> float:
    """Return how many freedoms stand between a freedom and the base, on the average."""
    depth: list[int] = []
    for before in tree.dof_parent:
        depth.append(depth[before] + 1 if before >= 0 else 0)
    return sum(depth) / max(len(depth), 1)
