"""Options of `identify`, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError, OptionError, UnknownNameError, yes_or_no
from sixfold.identification.fit.columns import Choice
from sixfold.model import Model

MAX_NAMES = 100_000
"""Names of bodies that are looked at."""
MAX_NUMBER = 1e300
"""Largest number of an option."""
FRICTION = (True, False, "viscous", "dry", "direction")


def choice_of(
    model: Model,
    *,
    friction: Any,
    rotors: Any,
    offsets: Any,
    springs: Any,
    gains: Any,
    bodies: Any,
    forces: bool,
    where: str = "identify",
) -> Choice:
    """Return which numbers are unknown."""
    yes_or_no(where, rotors=rotors, offsets=offsets, springs=springs)
    word = isinstance(friction, str) and friction in FRICTION
    if not word and friction is not True and friction is not False:
        raise OptionError(where, "friction", FRICTION, friction)
    if model.constraints:
        fix = "remove the loops (model.without(constraints=True)) and give the forces of the tree"
        raise NotApplicableError(where, f"model '{model.name}', which has closed loops", fix)
    joints = tuple(j for i, j in model.coordinates.additive if j in model.coordinates.actuated)
    dry = "" if friction in (False, "viscous") else "both"
    return Choice(
        bodies=_bodies(model, bodies, where),
        viscous=friction in (True, "viscous", "direction"),
        dry="direction" if friction == "direction" else dry,
        offsets=bool(offsets),
        rotors=bool(rotors),
        springs=bool(springs),
        gains=_gains(model, gains, where),
        forces=forces,
        joints=joints,
    )


def _bodies(model: Model, bodies: Any, where: str) -> tuple[int, ...]:
    if bodies is None:
        return tuple(range(model.nb))
    names = [bodies] if isinstance(bodies, str) else bodies
    words = "names of bodies whose inertia is unknown, or None for all"
    if (
        not isinstance(names, Iterable)
        or isinstance(names, Mapping)
        or not getattr(names, "ndim", 1)
    ):
        raise OptionError(where, "bodies", words, bodies)
    found = set()
    for name in islice(names, MAX_NAMES):
        if isinstance(name, str) and name in model.frame_names:
            k, _ = model.locate(name)
            if k < 0:
                raise OptionError(where, "bodies", words, name)
            found.add(k)
        elif isinstance(name, str) and name in model.body_names:
            found.add(model.body_index(name))
        else:
            known = (*model.body_names, *model.frame_names)
            raise UnknownNameError("body or frame", name, known, where=f"{where}: option 'bodies'")
    return tuple(sorted(found))


def _gains(model: Model, gains: Any, where: str) -> tuple[float, ...]:
    """Return the force of one unit of tau for each freedom; NaN where it is looked for."""
    words = (
        "a number for each joint [N m/A], or {joint: number}; None or NaN where it is unknown, "
        "with at least one that is known"
    )
    names = model.coordinates.v_names
    if gains is None:
        return (1.0,) * model.nv
    if isinstance(gains, Mapping):
        for name in gains:
            if name not in names:
                raise UnknownNameError("joint", name, names, where=f"{where}: option 'gains'")
        gains = [gains.get(name) for name in names]
    try:
        listed = list(islice(gains, model.nv + 1))
        found = np.array([np.nan if x is None else float(x) for x in listed], float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(where, "gains", words, gains) from None
    if found.shape != (model.nv,) or np.isinf(found).any() or (found == 0).any():
        raise OptionError(where, "gains", words, gains)
    if np.isnan(found).all():
        raise OptionError(where, "gains", words + ": currents alone show only ratios", gains)
    return tuple(float(x) for x in found)


def positive(where: str, option: str, value: Any, words: str, *, zero: bool = False) -> float:
    """Return a positive number."""
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not good or not (0 <= value < MAX_NUMBER if zero else 0 < value < MAX_NUMBER):
        raise OptionError(where, option, words, value)
    return float(value)


def numbers(where: str, option: str, given: Any, count: int) -> Any:
    """Return so many numbers, or one for all, as an array; nothing longer is looked at."""
    words = f"{count} numbers, or one"
    try:
        several = hasattr(given, "__len__") and getattr(given, "ndim", None) != 0
        sized = len(given) if several else 1
        if sized not in (1, count):
            raise ValueError(f"{sized} numbers")
        found = np.array(np.broadcast_to(np.asarray(given, float), (count,)))
    except Exception:  # an object's own complaint
        raise OptionError(where, option, words, given) from None
    if np.isnan(found).any():
        raise OptionError(where, option, words, given)
    return found
