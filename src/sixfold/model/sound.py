"""What a Model is made of, looked at when one is made: a wrong part is named, not met later."""

from __future__ import annotations

from typing import Any

from sixfold.errors import ArgumentError, ModelError, kind_of, shown
from sixfold.model.constraint import Gear
from sixfold.model.joint.joint import Joint, of_the_library
from sixfold.model.joint.promises import check_promises
from sixfold.model.values import check_name, numbers_of
from sixfold.spatial import Inertia, Transform

PER_VELOCITY = (
    *("damping", "friction", "friction_negative", "friction_speed", "stiffness", "armature"),
    *("velocity_limit", "effort_limit"),
)
PER_POSITION = ("rest", "lower", "upper")


def sealed(where: str, field: str, given: Any, kind: Any) -> tuple[Any, ...]:
    """Return parts of one kind, or of a union, as a tuple, or say which is another."""
    title = getattr(kind, "__name__", field.capitalize()[:-1])
    if not isinstance(given, (tuple, list)):
        fix = f"pass a tuple of {title} objects, or use ModelBuilder"
        raise ArgumentError(f"{where}: field '{field}'", "a tuple", given, fix)
    for k, part in enumerate(given):
        if not isinstance(part, kind):
            fix = "make models with sixfold.load, ModelBuilder or from_dh"
            raise ArgumentError(f"{where}: {field}[{k}]", f"a {title}", part, fix)
    return given if isinstance(given, tuple) else tuple(given)


def check_bodies(bodies: tuple[Any, ...]) -> None:
    """Refuse bodies that no tree is made of."""
    tried: set[int] = set()
    for k, body in enumerate(bodies):
        where = f"body {k}"
        for name in (body.name, body.joint_name):
            if type(name) is not str:
                check_name(where, name)
        if type(body.parent) is not int or not -1 <= body.parent < k:
            what = f"its parent is {shown(body.parent)}"
            raise ModelError(where, what, f"give an index from -1 (the base) to {k - 1}")
        for field, kind in (("joint", Joint), ("placement", Transform), ("inertia", Inertia)):
            if not isinstance(getattr(body, field), kind):
                what = f"its {field} is {kind_of(getattr(body, field))}"
                raise ModelError(where, what, f"give a {kind.__name__}")
        for fields, n in ((PER_VELOCITY, body.joint.nv), (PER_POSITION, body.joint.nq)):
            for field in fields:
                values = getattr(body, field)
                if type(values) is not tuple or len(values) != n:
                    raise ModelError(where, f"{field} = {shown(values)}", f"give {n} numbers")
        numbers_of(where, "friction_speed", body.friction_speed, body.joint.nv, positive=True)
        own = body.joint.is_code and not of_the_library(type(body.joint))
        if own and id(body.joint) not in tried:
            tried.add(id(body.joint))
            check_promises(f"joint '{body.joint_name}'", body.joint)


def check_rest(model: Any) -> None:
    """Refuse names, gravity and couplings that fit no model."""
    for field in ("name", "base_name"):
        check_name(f"Model: field '{field}'", getattr(model, field))
    where = f"model '{model.name}'"
    numbers_of(where, "gravity", model.gravity, 3)
    if not isinstance(model.gravity, tuple):
        raise ModelError(where, f"gravity is {shown(model.gravity)}", "give a tuple (x, y, z)")
    n = len(model.bodies)
    for each in model.constraints:
        numbers = (
            (each.follower, *(leader for leader, _ in each.terms))
            if isinstance(each, Gear)
            else (each.body_a, each.body_b)
        )
        least = 0 if isinstance(each, Gear) else -1
        if any(type(k) is not int or not least <= k < n for k in numbers):
            what = f"constraint '{each.name}' names bodies {shown(numbers)}"
            fix = f"give indices from {least} to {n - 1}" + ", -1 for the base" * (least < 0)
            raise ModelError(where, what, fix)
    names = [each.name for each in model.constraints]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(where, f"two constraints are named '{twice}'", "give each its own name")
    for coupling in model.couplings:
        named = (coupling.follower, *(master for master, _ in coupling.terms))
        if any(type(k) is not int or not 0 <= k < n for k in named):
            what = f"a coupling names bodies {shown(named)}"
            raise ModelError(where, what, f"give indices from 0 to {n - 1}")
