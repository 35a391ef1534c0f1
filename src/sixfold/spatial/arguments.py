"""Checks of what public functions of this package are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sixfold.errors import ArgumentError, ModelError, shown
from sixfold.scalar import ZERO, Scalar, exact, items_of, mistaken, several_numbers, together
from sixfold.spatial.vector3 import Matrix3, Symmetric3, Vector3

P = ParamSpec("P")
R = TypeVar("R")


def takes(**kinds: type | tuple[type, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that looks at the kinds of arguments before the function runs.

    A Force in the place of a Motion would be taken for one: both hold two vectors.

    Args:
        kinds: class, or classes, of each argument that is looked at, by its name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, given in (*zip(names, args, strict=False), *kwargs.items()):
                kind = kinds.get(name)
                if kind is not None and not isinstance(given, kind):
                    several = kind if isinstance(kind, tuple) else (kind,)
                    expected = " or ".join(_one(k) for k in several if k is not type(None))
                    fix = f"make one, for example with sf.{several[0].__name__}"
                    where = f"{function.__name__}: argument '{name}'"
                    raise ArgumentError(where, expected, given, fix)
            with together(function.__name__):
                return function(*args, **kwargs)

        return call

    return decorate


def _one(kind: type) -> str:
    name = kind.__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def moved_by(kind: str, E: Any, r: Any, error: Exception) -> Exception:
    """Return the error to raise when an inertia could not be moved."""
    first = mistaken(error, f"{kind}.to_parent: argument 'E'", Matrix3, E)
    if first is not error:
        return first
    return mistaken(error, f"{kind}.to_parent: argument 'r'", Vector3, r)


def rotational_of(values: Any) -> Symmetric3:
    """Return a rotational inertia that is given as 3x3 numbers or by its diagonal."""
    fix = "give 3x3 or diagonal"
    listed = items_of("Inertia", "rotational", values, 3, "3 or 3x3 numbers", fix)
    if hasattr(listed[0], "__len__"):
        rows = Matrix3.of(listed)
        off = [(rows[0][1], rows[1][0]), (rows[0][2], rows[2][0]), (rows[1][2], rows[2][1])]
        if any(a is not b and _differ(a, b) for a, b in off):
            what = f"rotational inertia is not symmetric: {shown(values)}"
            raise ModelError("Inertia", what, "give a symmetric matrix")
        return Symmetric3.of(rows)
    xx, yy, zz = map(exact, several_numbers("Inertia", "rotational", listed, 3, fix))
    return Symmetric3(xx, yy, zz, ZERO, ZERO, ZERO)


def _differ(a: Scalar, b: Scalar) -> bool:
    """Return whether two numbers differ, in any state of a batch."""
    different = a != b
    return bool(different.any() if hasattr(different, "any") else different)
