"""Parts of a model as arrays, and its constraints as MuJoCo and Pinocchio know them.

Both know points and welds.  A hinge is two points on its axis, one row more than it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError
from sixfold.model import Constraint, Fixed, Loop, Revolute, Spherical
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform, to_array


def floats(numbers: Any) -> Array:
    """Return numbers of the model, a vector or the rows of a matrix, as an array of floats."""
    return np.array(to_array(numbers), float)


def rotational_inertia(inertia: Inertia) -> Array:
    """Return the 3x3 inertia about the centre of mass."""
    return floats(inertia.about_center.matrix())


ARM = 1.0  #: Distance of a hinge's two points along its axis [m].


class HeldFrames(NamedTuple):
    """Two frames that are held together, whole or by their origins."""

    name: str
    weld: bool
    body_a: int
    at_a: Transform
    body_b: int
    at_b: Transform


def split_loop(where: str, each: Constraint) -> Iterator[HeldFrames]:
    """Yield the points or the weld that a loop is made of.

    Raises:
        NotApplicableError: for a constraint of another kind, with its name.
    """
    if not isinstance(each, Loop) or not isinstance(each.joint, (Fixed, Spherical, Revolute)):
        raise refusal(where, each, "only points, hinges and welds have a counterpart there")
    frames = each.body_a, each.placement_a, each.body_b, each.placement_b
    if not isinstance(each.joint, Revolute):
        yield HeldFrames(each.name, isinstance(each.joint, Fixed), *frames)
        return
    for k, distance in enumerate((-0.5 * ARM, 0.5 * ARM)):
        along = Transform.translation([float(x) * distance for x in each.joint.axis])
        a, b = ((along @ X).map(exact) for X in (each.placement_a, each.placement_b))
        yield HeldFrames(f"{each.name}.{k}", False, each.body_a, a, each.body_b, b)


def refusal(where: str, each: Constraint, why: str) -> NotApplicableError:
    """Return the error for a constraint without a counterpart."""
    what = f"constraint '{each.name}' ({each.kind}): {why}"
    return NotApplicableError(where, what, "use model.without(constraints=True)")
