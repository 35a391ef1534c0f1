"""A sweep on its way to other processes: pickled once, unpickled once in each."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import lru_cache
from types import CodeType, FunctionType, MethodType
from typing import Any

from sixfold.errors import ArgumentError, NotApplicableError, brief, kind_of
from sixfold.optional import optional

MAX_OBJECTS = 5000
"""Objects that are looked at for one that does not travel."""


def packed(job: Any, functions: Sequence[Any]) -> bytes:
    """Return a job as bytes, or name the object in its functions that does not travel."""
    cloudpickle = optional("cloudpickle", "a sweep on other processes")
    try:
        data: bytes = cloudpickle.dumps(job)
    except Exception as error:
        path, culprit = _culprit(functions, cloudpickle.dumps)
        if path is None:
            what = "sweep: the function cannot go to other processes"
            raise NotApplicableError(what, f"it: {brief(error)}", _FIX) from error
        where = f"sweep: {path} cannot go to other processes"
        expected = f"objects that can be pickled ({brief(error)})"
        raise ArgumentError(where, expected, culprit, _FIX) from error
    return data


_FIX = "make or open it inside the function, or take engine='threads', where nothing is pickled"


@lru_cache(maxsize=8)
def unpacked(data: bytes) -> Any:
    """Return a job from bytes; each process does it once."""
    return pickle.loads(data)


def _culprit(functions: Sequence[Any], dumps: Any) -> tuple[str | None, Any]:
    """Return the innermost object that functions reach and that does not pickle, and a path."""
    pending: list[tuple[str, Any]] = [(_quoted(x), x) for x in functions]
    found: tuple[str | None, Any] = (None, None)
    seen: set[int] = set()
    while pending and len(seen) < MAX_OBJECTS:
        path, x = pending.pop(0)
        if id(x) in seen or _travels(x, dumps):
            continue
        seen.add(id(x))
        if all(x is not function for function in functions):
            found = (path, x)
        pending = _inside(path, x) or pending  # what is inside it is at fault, or it is itself
    return found


def _quoted(x: Any) -> str:
    return f"'{getattr(x, '__name__', type(x).__name__)}'"


def _travels(x: Any, dumps: Any) -> bool:
    try:
        dumps(x)
    except Exception:
        return False
    return True


def _inside(path: str, x: Any) -> list[tuple[str, Any]]:
    """Return what an object holds, each with the words that lead to it."""
    if isinstance(x, MethodType):
        return [(path, x.__func__), (f"the object of {path}", x.__self__)]
    if isinstance(x, FunctionType):
        path = _quoted(x)
        found = [
            (f"'{name}' in the closure of {path}", cell.cell_contents)
            for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
            if _bound(cell)
        ]
        names = _names(x.__code__)
        found += [
            (f"the global '{name}' of {path}", x.__globals__[name])
            for name in names
            if name in x.__globals__
        ]
        found += [(f"a default of {path}", value) for value in x.__defaults__ or ()]
        return found + [(f"a default of {path}", v) for v in (x.__kwdefaults__ or {}).values()]
    if isinstance(x, dict):
        return [(f"{path}[{key!r}]", value) for key, value in x.items()]
    if isinstance(x, (list, tuple, set, frozenset)):
        return [(f"{path}[{k}]", value) for k, value in enumerate(x)]
    if hasattr(x, "func") and hasattr(x, "keywords"):  # functools.partial
        return [(path, x.func), (f"an argument of {path}", x.args), (path, x.keywords)]
    state = getattr(x, "__dict__", None)
    if isinstance(state, dict) and not kind_of(x).startswith("the class"):
        return [(f"attribute '{name}' of {path}", value) for name, value in state.items()]
    return []


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *(name for c in inner for name in _names(c))}


def _bound(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
