"""Is a callback pure?  Proved from its bytecode, or not proved.

A function that is compiled is called once, on symbols.  Every later call is the same if the
function takes the same path each time and if the first call changed nothing that it can reach.

- The path is the same: symbols refuse to be compared or converted, and the bytecode has no way to
  tell symbols from floats (no exception handlers, no text, no calls but of functions in `trusted`
  and of functions that are analysed in turn).
- All that it can reach is known: closures, globals, defaults, attributes and class attributes are
  followed.  They are immutable, or lists, dictionaries, sets and arrays whose contents are recorded
  before the call and compared after it (`memory`).
- It rebinds no global, no variable of a function around it and no attribute.

Everything that is not understood counts as not proved.
"""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import sys
import warnings
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, EnumMeta
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Generic, Protocol

import numpy as np

from sixfold.simulation.callbacks.memory import Changeable, Memory
from sixfold.simulation.callbacks.trusted import (
    DUNDERS,
    EFFECTS,
    KINDS,
    MUTATORS,
    is_immutable,
    trusted,
)

MAX_OBJECTS = 2000
"""Objects that are visited before the search is abandoned."""

REFUSED = {
    "PUSH_EXC": "it catches exceptions",
    "BEFORE_": "it uses a with statement",
    "LOAD_SPECIAL": "it uses a with statement",
    "WITH_": "it uses a with statement",
    "LOAD_BUILD_CLASS": "it defines a class",
    "FORMAT": "it makes text of numbers",
    "CONVERT_VALUE": "it makes text of numbers",
    "BUILD_TEMPLATE": "it makes text of numbers",
    "MATCH_": "it matches patterns",
    "GET_A": "it waits for something",
    "SEND": "it waits for something",
    "IMPORT_STAR": "it imports names",
    "STORE_NAME": "it runs code that was made from text",
    "DELETE_NAME": "it runs code that was made from text",
}
"""Prefixes of instructions that end the proof, and why."""

WRITES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE")
BRANCHES = ("POP_JUMP", "COMPARE_OP", "IS_OP", "CONTAINS_OP")
LATER = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
UNCALLED = (
    "init new post_init repr str init_subclass set_name reduce reduce_ex replace del dir format"
    " setattr delattr getstate setstate"
)
SKIPPED = {f"__{name}__" for name in UNCALLED.split()}
"""Methods that are called by name only."""
COMPARED = ("__eq__", "__hash__")
ROOTS = (object, tuple, Generic, Protocol, Enum)
METACLASSES = (type, ABCMeta, EnumMeta, type(Protocol))
C_CODE = (
    *(MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType),
    BuiltinFunctionType,
)
"""Types of the methods of classes that are not written in Python."""
FIELDS = (
    *(MemberDescriptorType, GetSetDescriptorType),
    type(namedtuple("_Pair", "first").first),  # type: ignore[attr-defined]
)
"""Class attributes that return a value held by the object, where it is visited."""


@dataclass
class Study:
    """Result of the analysis of a function."""

    reason: str = ""
    """Why it is not proved pure; empty if it is, unless its call changes what it can reach."""
    changeable: dict[int, Changeable] = field(default_factory=dict)
    """Lists, dictionaries, sets and arrays that it can reach, by identity."""
    read: set[tuple[int, str]] = field(default_factory=set)
    """Globals and cells that it reads."""
    rebound: set[tuple[int, str]] = field(default_factory=set)
    """Globals and cells that it rebinds."""
    writes: bool = False
    """It changes elements of a container, possibly one that it has made itself."""

    def memory(self) -> Memory:
        """Record the contents of all that it can reach."""
        return Memory(self.changeable.values())

    def disturbed_by(self, other: Study) -> bool:
        """Return whether another function may change what this one reads."""
        if self.read & other.rebound:
            return True
        return (other.writes or bool(other.reason)) and bool(
            self.changeable.keys() & other.changeable.keys()
        )


def study(function: Callable[..., Any]) -> Study:
    """Analyse whether a function keeps state between its calls."""
    walk = _Walk()
    try:
        with warnings.catch_warnings():
            # modules warn when deprecated names are looked up; here they are only visited
            warnings.simplefilter("ignore")
            walk.follow(function)
    except RecursionError:
        walk.doubt("what it can reach is nested too deeply")
    return walk.found


class _Walk:
    """Visits everything that a function can reach."""

    def __init__(self) -> None:
        self.found = Study()
        self._seen: dict[int, Any] = {}
        self._attributes: set[str] = set()
        self._modules: dict[str, ModuleType] = {}
        self._classes: dict[int, tuple[type, str]] = {}
        self._called: dict[int, tuple[type, str]] = {}

    def follow(self, function: Callable[..., Any]) -> None:
        """Visit a function, then modules and classes until nothing new is found."""
        named = isinstance(function, (FunctionType, MethodType))
        self.visit(function, function.__name__ if named else type(function).__name__, called=True)
        before = (-1, -1)
        while before != (now := (len(self._attributes), len(self._seen))):
            before = now
            for module in list(self._modules.values()):
                for name in sorted(self._attributes):
                    if _may_have(module, name) and hasattr(module, name):
                        self.visit(getattr(module, name), f"{module.__name__}.{name}", called=True)
            for kind, path in list(self._classes.values()):
                self._methods(kind, path, SKIPPED - self._attributes)
            for kind, path in list(self._called.values()):
                self._methods(kind, path, set())

    def doubt(self, reason: str) -> None:
        """Keep the first reason why the proof failed."""
        self.found.reason = self.found.reason or reason

    def visit(self, x: Any, path: str, *, called: bool = False) -> None:
        """Visit an object, and all that can be reached from it."""
        if id(x) in self._seen or id(x) in trusted() or is_immutable(x):
            return
        if len(self._seen) >= MAX_OBJECTS:
            self.doubt(f"it can reach more than {MAX_OBJECTS} objects")
            return
        self._seen[id(x)] = x
        if isinstance(x, ModuleType):
            self._modules[x.__name__] = x
        elif type(x) is np.ndarray:
            self._changeable(x, path, x.flat if x.dtype.hasobject else ())
        elif type(x) in (list, set):
            self._changeable(x, path, x)
        elif type(x) is dict:
            self._changeable(x, path, (*x.keys(), *x.values()))
        elif type(x) in (tuple, frozenset):
            self._each(x, path)
        elif isinstance(x, FunctionType):
            self._function(x, path)
        elif isinstance(x, MethodType):
            self._each((x.__func__, x.__self__), path)
        elif type(x) is functools.partial:
            self._each((x.func, x.args, x.keywords, vars(x)), path)
        elif isinstance(x, BuiltinFunctionType) and _owned(x):
            self.found.writes = True
            self.visit(x.__self__, path)
        elif isinstance(x, type) and _is_plain(x):
            (self._called if called else self._classes)[id(x)] = (x, path)
        elif type(x) is SimpleNamespace or _is_plain(type(x)):
            self._instance(x, path)
        else:
            self._unknown(x, path)

    def _each(self, values: Iterable[Any], path: str) -> None:
        for value in values:
            self.visit(value, path)

    def _changeable(self, x: Changeable, path: str, elements: Iterable[Any]) -> None:
        self.found.changeable[id(x)] = x
        self._each(elements, path)

    def _unknown(self, x: Any, path: str) -> None:
        """End the proof at an object; record what it can reach, for functions that share it."""
        kind = type(x)
        what = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        if isinstance(x, (BuiltinFunctionType, type)):
            self.doubt(f"it calls {path}, which is not known to be pure")
            return
        self.doubt(f"it uses {path}, a {what}, which may change")
        for part in gc.get_referents(x):
            if type(part) in (list, dict, set, np.ndarray):
                self.found.changeable[id(part)] = part

    # -- objects and their classes

    def _instance(self, x: Any, path: str) -> None:
        own = getattr(x, "__dict__", None)
        if own is not None:
            self._changeable(own, path, ())
            for name, value in list(own.items()):
                self.visit(value, f"{path}.{name}")
        for kind in type(x).__mro__:
            for name, place in vars(kind).items():
                if isinstance(place, MemberDescriptorType):
                    with suppress(AttributeError):
                        self.visit(place.__get__(x, kind), f"{path}.{name}")
        if isinstance(x, tuple):
            self._each(x, path)
        if type(x) is not SimpleNamespace:
            self.visit(type(x), path)

    def _methods(self, kind: type, path: str, skipped: set[str]) -> None:
        """Visit the methods and class attributes that the functions seen so far can reach."""
        if type(kind) not in METACLASSES:
            self.doubt(f"{path} has a class of an unusual kind")
        for base in kind.__mro__:
            if base in ROOTS or base.__module__.partition(".")[0] == "sixfold":
                continue
            for name, value in list(vars(base).items()):
                special = name.startswith("__") and name.endswith("__")
                if name in skipped or not (special or name in self._attributes):
                    continue
                if name in COMPARED and _by_dataclass(base, value):
                    continue
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                elif isinstance(value, property):
                    value = value.fget
                if isinstance(value, FIELDS):
                    continue
                if not special or isinstance(value, FunctionType):
                    self.visit(value, f"{path}.{name}")

    # -- functions and their code

    def _function(self, function: FunctionType, path: str) -> None:
        if function.__code__.co_flags & LATER:
            self.doubt(f"{path} is a generator or a coroutine")
        self._each((function.__defaults__, function.__kwdefaults__, vars(function)), path)
        free = function.__code__.co_freevars
        for name, cell in zip(free, function.__closure__ or (), strict=True):
            self.found.read.add((id(cell), name))
            try:
                self.visit(cell.cell_contents, name, called=name != "__class__")
            except ValueError:
                self.doubt(f"'{name}' is not bound yet")
        cells = dict(zip(free, function.__closure__ or (), strict=True))
        self._code(function.__code__, function, cells)

    def _code(self, code: CodeType, function: FunctionType, cells: dict[str, Any]) -> None:
        """Check the instructions of a function, and of those that it defines."""
        instructions = list(dis.get_instructions(code))
        self._kinds(code, instructions)
        for instruction in instructions:
            op, value = instruction.opname, instruction.argval
            if op in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._global(function, value)
            elif op in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
                self._attribute(value)
            elif op in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self.found.rebound.add((id(function.__globals__), value))
                self.doubt(f"it rebinds the global '{value}'")
            elif op in ("STORE_DEREF", "DELETE_DEREF") and value in cells:
                self.found.rebound.add((id(cells[value]), value))
                self.doubt(f"it rebinds '{value}', a variable of the function around it")
            elif op in ("STORE_ATTR", "DELETE_ATTR"):
                self.found.writes = True
                self.doubt(f"it sets the attribute '{value}'")
            elif op == "IMPORT_NAME":
                self._import(value)
            elif op.startswith("YIELD") and code.co_name != "<genexpr>":
                self.doubt("it is a generator")
            elif op in WRITES or (op == "BINARY_OP" and instruction.argrepr.endswith("=")):
                self.found.writes = True
            else:
                for beginning, reason in REFUSED.items():
                    if op.startswith(beginning):
                        self.doubt(reason)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                outer = {k: cell for k, cell in cells.items() if k not in code.co_cellvars}
                self._code(inner, function, outer)

    def _kinds(self, code: CodeType, instructions: list[dis.Instruction]) -> None:
        """Refuse ways to tell symbols from floats: by dtype, or by how they are printed.

        A dtype may be handed on by keyword, as in `np.empty(2, dtype=q.dtype)`.
        """
        following = [x.opname for x in instructions[1:]] + [""] * 2
        branches = any(x.opname.startswith(BRANCHES) for x in instructions)
        for k, instruction in enumerate(instructions):
            if instruction.opname == "LOAD_ATTR" and instruction.argval == "dtype":
                handed = following[k] == "KW_NAMES" or following[k + 1] == "CALL_KW"
                if branches or not handed:
                    self.doubt("it may choose by 'dtype'")
        percents = any(x.opname == "BINARY_OP" and "%" in x.argrepr for x in instructions)
        if percents and any(isinstance(x, str) and "%" in x for x in code.co_consts):
            self.doubt("it makes text of numbers")

    def _global(self, function: FunctionType, name: str) -> None:
        if name in function.__globals__:
            self.found.read.add((id(function.__globals__), name))
            self.visit(function.__globals__[name], name, called=True)
        else:
            self.visit(getattr(builtins, name, None), name, called=True)

    def _attribute(self, name: str) -> None:
        if name in ("format", "format_map"):
            self.doubt("it makes text of numbers")
        if name in (*EFFECTS, *KINDS) or (name.startswith("__") and name not in DUNDERS):
            self.doubt(f"it uses the attribute '{name}'")
        self.found.writes = self.found.writes or name in MUTATORS
        self._attributes.add(name)

    def _import(self, name: str) -> None:
        top = sys.modules.get(name.partition(".")[0])
        if top is None:
            self.doubt(f"it imports '{name}'")
        else:
            self.visit(top, name)


def _may_have(module: ModuleType, name: str) -> bool:
    """Return whether a module has a name, or a `__getattr__` that may make it; NumPy makes none."""
    return name in vars(module) or ("__getattr__" in vars(module) and module is not np)


def _owned(method: BuiltinFunctionType) -> bool:
    """Return true for a method of an object, such as `memory.append`."""
    return method.__self__ is not None and not isinstance(method.__self__, ModuleType)


def _by_dataclass(kind: type, method: Any) -> bool:
    """Return true for a comparison generated by `dataclass`: it compares fields."""
    code = getattr(method, "__code__", None)
    return "__dataclass_fields__" in vars(kind) and getattr(code, "co_filename", "") == "<string>"


def _is_plain(kind: type) -> bool:
    """Return true for classes written in Python whose bases are, too."""
    own = [base for base in kind.__mro__ if base not in ROOTS]
    values = (x for base in own for x in vars(base).values())
    return not any(isinstance(x, C_CODE) and x is not object.__new__ for x in values)
