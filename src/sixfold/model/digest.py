"""A hash of all that a model contains: equal models, and only those, have the same."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from sixfold.forks import lazily
from sixfold.model.joint.joint import Joint
from sixfold.scalar import is_plain
from sixfold.spatial import Transform

PER_FREEDOM = (
    *("damping", "friction", "friction_negative", "friction_speed"),
    *("stiffness", "rest", "armature"),
    *("lower", "upper", "velocity_limit", "effort_limit"),
)


def digest_of(model: Any) -> str:
    """Return a hash of a Model's content; all kinds of zero count alike."""
    texts: list[Any] = ["sixfold model 3", model.name, model.base_name]
    numbers: list[Any] = [*model.gravity]
    seen: dict[int, tuple[list[Any], list[Any]]] = {}
    for body in model.bodies:
        texts += (body.name, body.joint_name, body.parent)
        if id(body.joint) not in seen:
            seen[id(body.joint)] = ([], [])
            _sort_out(body.joint.constants(), *seen[id(body.joint)])
        words, values = seen[id(body.joint)]
        texts += words
        numbers += values
        numbers += _placement(body.placement)
        numbers += body.inertia.parameters()
        for name in PER_FREEDOM:
            numbers += getattr(body, name)
    for frame in model.frames:
        texts += ("frame", frame.name, frame.body)
        numbers += _placement(frame.placement)
    for coupling in model.couplings:
        texts += ("coupling", coupling.follower, [master for master, _ in coupling.terms])
        numbers += (coupling.offset, *(ratio for _, ratio in coupling.terms))
    for each in model.constraints:
        texts += ("constraint", type(each).__name__)
        for value in vars(each).values():
            if isinstance(value, Transform):
                numbers += _placement(value)
            elif isinstance(value, Joint):
                _sort_out(value.constants(), texts, numbers)
            else:
                _sort_out((value,), texts, numbers)
    for geometry in model.geometries:
        shape, color = geometry.shape, geometry.color
        texts += ("geometry", type(shape).__name__, geometry.body, geometry.collides, color is None)
        texts += (geometry.name, geometry.link, geometry.material)
        _sort_out(vars(shape).values(), texts, numbers)
        numbers += color or ()
        numbers += _placement(geometry.placement)
        if geometry.contact is not None:
            texts.append("contact")
            numbers += geometry.contact.numbers()
    text = repr(texts).encode("utf-8", "surrogatepass")
    digest = lazily("hashlib").blake2b(text, digest_size=20)
    # adding zero takes the sign from zeros
    digest.update((np.frombuffer(array("d", numbers)) + 0.0).tobytes())
    return str(digest.hexdigest())


def _placement(X: Transform) -> tuple[Any, ...]:
    return (*X.E.a, *X.E.b, *X.E.c, *X.r)


def _sort_out(values: Iterable[Any], texts: list[Any], numbers: list[Any]) -> None:
    """Append numbers, those inside tuples too, to one list and the rest to the other."""
    for value in values:
        if is_plain(value):
            numbers.append(value)
        elif isinstance(value, tuple):
            texts.append(len(value))
            _sort_out(value, texts, numbers)
        else:
            texts.append(value)
