"""`add_payload` and `replace_inertias`: what bodies weigh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Any

from sixfold.errors import ModelError
from sixfold.model.edit.attachments import with_load
from sixfold.model.edit.rename import checked
from sixfold.model.model import Model
from sixfold.model.values import inertia_of, numbers_of, placement_of
from sixfold.spatial import Inertia, Transform


def replace_inertias(model: Model, inertias: Mapping[str, Inertia]) -> Model:
    """Return the model with other inertias, {body name: Inertia in body coordinates}.

    Args:
        model: the robot.
        inertias: for each body to change its name and its `Inertia`, in body coordinates.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if there is no body of that name; frames have no inertia of their own.
        ModelError: if an inertia does not consist of ten finite numbers.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("cart_pendulum")
        >>> sf.replace_inertias(model, {"cart": sf.Inertia.from_mass(8.0)})
        <Model 'cart_pendulum': nb=2, nq=2, nv=2, 8.5 kg>
    """
    checked("replace_inertias", model)
    if not isinstance(inertias, Mapping):
        fix = "pass {body name: Inertia}"
        raise ModelError("replace_inertias", f"got {type(inertias).__name__}", fix)
    bodies = list(model.bodies)
    for name, inertia in inertias.items():
        if isinstance(name, str) and name in model.frame_names:
            k, _ = model.locate(name)
            carrier = model.body_names[k] if k >= 0 else model.base_name
            raise ModelError(
                f"frame '{name}'",
                f"is fixed to '{carrier}' and has no inertia of its own",
                "give the inertia of the whole body, or use add_payload",
            )
        k = model.body_index(name)
        bodies[k] = replace(bodies[k], inertia=inertia_of(f"body '{name}'", inertia))
    return replace(model, bodies=tuple(bodies))


def add_payload(
    model: Model,
    frame: str,
    *,
    mass: float | None = None,
    com: Sequence[float] = (0.0, 0.0, 0.0),
    inertia: Inertia | Sequence[float] | Sequence[Sequence[float]] = (0.0, 0.0, 0.0),
    placement: Transform | Sequence[float] | None = None,
) -> Model:
    """Return the model with a load fixed to a body or frame.

    Args:
        model: the robot.
        frame: the body or frame that carries the load; it must move.
        mass: mass of the load [kg]; left out when `inertia` is an Inertia.
        com: centre of mass of the load [m], in the load's coordinates.
        inertia: rotational inertia about the centre of mass [kg m^2], 3x3 or its diagonal (none
            when left out: a point mass), or the whole load as an Inertia.
        placement: transform from the frame to the load's coordinates, or their origin there.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if there is no such body or frame.
        ModelError: if the frame is fixed to the base, or if the load is not given by finite
            numbers.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> heavy = sf.add_payload(arm, "dh6", mass=2.5, com=(0, 0, 0.1))
        >>> heavy
        <Model 'puma560': nb=6, nq=6, nv=6, 25.95 kg>
        >>> q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> J = sf.jacobian(arm, q, "dh6", point=(0, 0, 0.1))[3:]
        >>> more = sf.gravity_force(heavy, q) - sf.gravity_force(arm, q)
        >>> np.allclose(more, -J.T @ (0, 0, -2.5 * 9.81))
        True
    """
    checked("add_payload", model)
    carrier, placed = model.locate(frame)
    where = f"payload at '{frame}'"
    if carrier < 0:
        fix = "name a frame that moves; to count the load of a floating base, load it as floating"
        raise ModelError(where, "the frame is fixed to the base, where a load does nothing", fix)
    X = placement_of(where, placement) @ placed
    bodies = list(model.bodies)
    bodies[carrier] = with_load(bodies[carrier], _load(where, mass, com, inertia), X)
    return replace(model, bodies=tuple(bodies))


def _load(where: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    if isinstance(inertia, Inertia):
        if mass is not None or any(numbers_of(where, "com", com, 3)):
            what = "mass and com are given beside a whole Inertia"
            raise ModelError(where, what, "give either the Inertia or mass, com and moments")
        return inertia_of(where, inertia)
    if mass is None:
        raise ModelError(where, "has no mass", "pass mass=... [kg], or inertia=Inertia(...)")
    (m,) = numbers_of(where, "mass", mass, 1)
    center = numbers_of(where, "com", com, 3)
    try:
        ordered = isinstance(inertia, Iterable) and not isinstance(inertia, (Mapping, Set))
        rows = list(islice(inertia, 4)) if ordered else [inertia]
    except Exception:  # an iterator's own complaint
        rows = []
    if any(isinstance(row, Iterable) and getattr(row, "ndim", 1) for row in rows):
        rotational: Any = [numbers_of(where, "inertia", row, 3) for row in rows]
    else:
        rotational = numbers_of(where, "inertia", rows, 3)
    return inertia_of(where, Inertia.from_mass(m, center, rotational))
