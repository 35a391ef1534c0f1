"""What the user's own code computes, as a hash: functions and classes, and all that they read.

Only code of the same process is compared, so what is installed once is known by its name: Python's
own library, NumPy and this one.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from sixfold.forks import lazily

BOOKKEEPING = frozenset(
    [
        "__abstractmethods__",
        "__annotate__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__classcell__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__dict__",
        "__doc__",
        "__eq__",
        "__final__",
        "__firstlineno__",
        "__getstate__",
        "__hash__",
        "__match_args__",
        "__module__",
        "__orig_bases__",
        "__parameters__",
        "__qualname__",
        "__replace__",
        "__repr__",
        "__setstate__",
        "__slots__",
        "__static_attributes__",
        "__weakref__",
        "_abc_impl",
    ]
)
"""Entries of a class that compute nothing, or that Python makes anew for each class."""

KNOWN_PACKAGES = ("numpy", "sixfold")
"""Packages whose classes and modules are known by name, beside those of Python."""

HEAP_TYPE = 1 << 9
"""Flag of classes that were made while the process ran."""

_KEPT: dict[int, Any] = {}
"""Objects known by identity alone; kept, so that no other object gets their id."""


def fingerprint(x: Any) -> str:
    """Return a hash of a function, a class or a value, by content.

    Of a function: its code, defaults, closure and the globals it reads, functions and classes
    included.  Of a class outside the library: all that its body and its bases define: methods,
    properties, static and class methods, nested classes, attributes.  Of an object: its class and
    attributes.  An object that shows none of this is known by its identity.
    """
    digest = lazily("hashlib").blake2b(digest_size=16)
    _feed(digest, x, {})
    return str(digest.hexdigest())


def _feed(digest: Any, x: Any, seen: dict[int, int]) -> None:
    digest.update(f"<{type(x).__qualname__}>".encode())  # keeps neighbours apart
    if id(x) in seen:
        digest.update(f"{seen[id(x)]}".encode())
        return
    if isinstance(x, (FunctionType, type, property, list, dict)):  # may hold themselves
        seen[id(x)] = len(seen)
    if isinstance(x, FunctionType):
        _feed_function(digest, x, seen)
    elif isinstance(x, type):
        digest.update(f"{x.__module__}.{x.__qualname__}".encode())
        for base in () if _known(x) else x.__mro__:
            if not _known(base):
                _feed(digest, _entries(base), seen)
    elif isinstance(x, CodeType):
        digest.update(x.co_code + repr(x.co_names).encode())
        _feed(digest, x.co_consts, seen)
    elif isinstance(x, MethodType):
        _feed(digest, (x.__func__, x.__self__), seen)
    elif isinstance(x, property):
        _feed(digest, (x.fget, x.fset, x.fdel), seen)
    elif isinstance(x, (staticmethod, classmethod)):
        _feed(digest, x.__func__, seen)
    elif isinstance(x, cached_property):
        _feed(digest, x.func, seen)
    elif isinstance(x, partial):
        _feed(digest, (x.func, x.args, x.keywords), seen)
    elif isinstance(x, ModuleType):
        digest.update(x.__name__.encode())
    elif isinstance(x, BuiltinFunctionType):
        digest.update(x.__qualname__.encode())
        _feed(digest, x.__self__, seen)
    else:
        _feed_value(digest, x, seen)


def _feed_function(digest: Any, x: FunctionType, seen: dict[int, int]) -> None:
    _feed(digest, (x.__code__, x.__defaults__, x.__kwdefaults__), seen)
    for cell in x.__closure__ or ():
        try:
            inside = cell.cell_contents
        except ValueError:  # empty: a name that is bound later
            digest.update(b"<empty>")
        else:
            _feed(digest, inside, seen)
    names = _names(x.__code__)
    for name in names:
        value: Any = x.__globals__.get(name)
        digest.update(name.encode())
        if _own(value):
            digest.update(f"{value.__module__}.{value.__qualname__}".encode())
            continue
        _feed(digest, value, seen)
        if isinstance(value, ModuleType) and not _in_known_package(value.__name__):
            held = vars(value)
            _feed(digest, tuple((k, held[k]) for k in names if k in held and k != name), seen)


def _feed_value(digest: Any, x: Any, seen: dict[int, int]) -> None:
    """Feed an object that is no function and no class."""
    if isinstance(x, (tuple, list, deque)):
        digest.update(f"{len(x)}".encode())
        for item in x:
            _feed(digest, item, seen)
    elif isinstance(x, Mapping):
        _feed(digest, tuple(x.items()), seen)
    elif isinstance(x, Set):
        digest.update("".join(sorted(map(fingerprint, x))).encode())
    elif isinstance(x, np.ndarray):
        digest.update(repr((x.shape, x.dtype.str)).encode())
        if x.dtype.hasobject:
            _feed(digest, tuple(x.flat), seen)
        else:
            digest.update(x.tobytes())
    elif isinstance(x, (int, float, complex, str, bytes)) or x is None:
        digest.update(repr(x).encode())
    else:
        seen[id(x)] = len(seen)
        _feed(digest, type(x), seen)
        state = _state(x)
        _feed(digest, state, seen)
        if isinstance(getattr(x, "__name__", None), str):
            digest.update(f"{getattr(x, '__module__', '')}.{x.__name__}".encode())
        elif not state:
            text = repr(x)
            if f"{id(x):x}" in text.lower():  # its address says nothing of its content
                text = f"{id(_KEPT.setdefault(id(x), x))}"
            digest.update(text.encode())


def _entries(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return what the user wrote into the body of a class, and what was set there later."""
    made = getattr(vars(kind).get("__dataclass_params__"), "init", False)
    frozen = getattr(vars(kind).get("__dataclass_params__"), "frozen", False)
    left_out = {*BOOKKEEPING, *(["__init__"] if made else [])}
    left_out |= {"__setattr__", "__delattr__"} if frozen else set()
    names = sorted(vars(kind).keys() - left_out)
    return tuple((name, vars(kind)[name]) for name in names)


def _state(x: Any) -> tuple[tuple[str, Any], ...]:
    """Return the attributes of an object: fields, `__dict__` and slots, but no cached values."""
    found = dict(getattr(x, "__dict__", {}))
    if is_dataclass(x):
        found |= {field.name: getattr(x, field.name, None) for field in fields(x)}
    for kind in type(x).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(x, name):
                found[name] = getattr(x, name)
        for name, value in vars(kind).items():
            if isinstance(value, cached_property):
                found.pop(name, None)
    return tuple((name, found[name]) for name in sorted(found))


def _names(code: CodeType) -> list[str]:
    """Return the global names that a piece of code reads, functions inside it included."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return [*code.co_names, *(name for c in inner for name in _names(c))]


def _own(x: Any) -> bool:
    """Return true for the library's own functions and classes, which its version identifies."""
    if isinstance(x, FunctionType):  # decorators of other modules pass on the name of the module
        places = (x.__module__, x.__globals__.get("__name__"))
        return all((place or "").startswith("sixfold.") for place in places)
    return isinstance(x, type) and (x.__module__ or "").startswith("sixfold.")


def _known(kind: type) -> bool:
    if kind.__module__ == "builtins":  # the name of code without a module too
        return not kind.__flags__ & HEAP_TYPE
    return _in_known_package(kind.__module__)


def _in_known_package(module: str) -> bool:
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return top in KNOWN_PACKAGES
    file = getattr(sys.modules.get(top), "__file__", None)  # a user's module may have that name
    return file is None or file.startswith(os.path.dirname(os.__file__))
