"""`attach`: graft one model on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sixfold.model.body import Frame
from sixfold.model.edit.attachments import Attachment, closed_again, moved, renumbered, with_load
from sixfold.model.edit.rename import checked, prefixed, refuse_clashes
from sixfold.model.model import Model
from sixfold.model.values import inertia_of, placement_of
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform


def attach(
    model: Model,
    other: Model,
    to: str,
    placement: Transform | Sequence[float] | None = None,
    *,
    prefix: str = "",
    base_inertia: Inertia | None = None,
) -> Model:
    """Return the model with another one grafted on it: a hand on an arm, an arm on a vehicle.

    The base of the other is fixed to a body or frame of the model.  Its bodies, joints and frames
    keep their names behind the prefix, and its base becomes a frame.  Name and gravity are the
    model's.

    Args:
        model: the robot that carries.
        other: the robot to carry.
        to: body or frame of the model, or its base.
        placement: transform from there to the other's base, or the base's position there.
        prefix: put before every name of the other.
        base_inertia: what the other's base weighs, in its own coordinates: a fixed base has no
            inertia in a model.  When left out, the links that the other's file puts there.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if the model has no such body or frame.
        ModelError: if a name is taken, or if both have friction with different speeds.

    Example:
        >>> import sixfold as sf
        >>> cart, arm = sf.load("cart_pendulum"), sf.load("double_pendulum")
        >>> both = sf.attach(cart, arm, "cart", (0.2, 0, 0), prefix="arm_")
        >>> both
        <Model 'cart_pendulum': nb=4, nq=4, nv=4, 4.5 kg>
        >>> both.joint_names
        ('slide', 'hinge', 'arm_shoulder', 'arm_elbow')
    """
    checked("attach", model)
    checked("attach", other)
    where = f"attaching '{other.name}' to '{model.name}'"
    carrier, placed = model.locate(to)
    X = (placement_of(where, placement) @ placed).map(exact)
    added = prefixed(other, prefix)
    refuse_clashes(where, model, added)

    shift = model.nb
    attachments: dict[int, Attachment] = {
        k: (k + shift, Transform.identity()) for k in range(other.nb)
    }
    attachments[-1] = (carrier, X)
    bodies = list(model.bodies)
    weight = _base_inertia(other) if base_inertia is None else inertia_of(where, base_inertia)
    if carrier >= 0 and weight != Inertia.zero():
        bodies[carrier] = with_load(bodies[carrier], weight, X)
    for body in added.bodies:
        at, Y = attachments[body.parent]
        here = (body.placement @ Y).map(exact) if body.parent < 0 else body.placement
        bodies.append(replace(body, parent=at, placement=here))
    return replace(
        model,
        bodies=tuple(bodies),
        frames=(
            *model.frames,
            Frame(added.base_name, carrier, X),
            *(moved(frame, attachments) for frame in added.frames),
        ),
        couplings=(*model.couplings, *(renumbered(c, attachments) for c in added.couplings)),
        constraints=(
            *model.constraints,
            *(closed_again(each, attachments) for each in added.constraints),
        ),
        geometries=(*model.geometries, *(moved(g, attachments) for g in added.geometries)),
    )


def _base_inertia(model: Model) -> Inertia:
    """Return what the links weigh that the model's file puts on its base."""
    links = model.origin.links if model.origin is not None else ()
    moved = (
        link.placement.T @ link.inertia @ link.placement
        for link in links
        if link.body < 0 and link.inertia is not None
    )
    return reduce(Inertia.__add__, moved, Inertia.zero())
