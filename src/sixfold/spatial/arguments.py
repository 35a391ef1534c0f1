"""Checks of what public functions of this package are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sixfold.errors import ArgumentError
from sixfold.scalar import together

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
