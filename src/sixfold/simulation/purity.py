"""The objects that a function can reach: found, saved, compared and restored.

Followed are closures, defaults, the globals and modules that its code names, imports inside it,
attributes, and the classes of objects.  Nothing is concluded from the code itself.  An object whose
state cannot be saved (a generator, a file, a random number generator) or a C function that is not
known to be pure (a clock, `print`) is the reason not to call the function at all.
"""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import importlib
import importlib.util
import operator
import sys
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    EllipsisType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    NoneType,
    NotImplementedType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Generic, NamedTuple, Protocol

import numpy as np

from sixfold.model import Joint, Model
from sixfold.scalar import Zero
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    ForceSubspace,
    Inertia,
    Matrix3,
    Motion,
    Subspace,
    Transform,
    Vector3,
)

Container = list[Any] | dict[Any, Any] | set[Any] | np.ndarray

MISSING = object()  #: Stands for the value of a name that is not bound.


class Memory:
    """Contents of lists, dictionaries, sets and arrays, and what names are bound to.

    Nested objects are saved one by one, so each is compared by the identity of its elements.
    """

    def __init__(
        self, containers: Sequence[tuple[Container, str]], bindings: Sequence[tuple[Any, str]] = ()
    ) -> None:
        """Save the contents of containers, and the values of names.

        Args:
            containers: objects with contents, each with the words that lead to it.
            bindings: owner and name: a dictionary of globals, a cell, a class, or the pair of a
                slot and its object.
        """
        self._kept = [(x, x.copy(), path) for x, path in containers]
        self._bound = [(owner, name, value_of(owner, name)) for owner, name in bindings]

    def describe_change(self) -> str:
        """Return the name of something that has changed since; empty if nothing has."""
        for owner, name, value in self._bound:
            if value_of(owner, name) is not value:
                return name
        for now, then, path in self._kept:
            if not _same(now, then):
                return path
        return ""

    def restore(self) -> None:
        """Restore everything."""
        for owner, name, value in self._bound:
            if value_of(owner, name) is not value:
                _bind(owner, name, value)
        for now, then, _ in self._kept:
            if _same(now, then):
                continue
            if isinstance(now, np.ndarray):
                now[...] = then
            elif isinstance(now, list):
                now[:] = then
            else:
                now.clear()
                now.update(then)


def value_of(owner: Any, name: str) -> Any:
    """Return what a name is bound to, or MISSING."""
    if isinstance(owner, dict):
        return owner.get(name, MISSING)
    try:
        if isinstance(owner, CellType):
            return owner.cell_contents
        if isinstance(owner, tuple):
            slot, holder = owner
            return slot.__get__(holder, type(holder))
    except (ValueError, AttributeError):
        return MISSING
    return vars(owner).get(name, MISSING)


def _bind(owner: Any, name: str, value: Any) -> None:
    """Bind a name to a value again; MISSING removes it."""
    if isinstance(owner, dict):
        owner[name] = value
        if value is MISSING:
            del owner[name]
    elif isinstance(owner, CellType):
        owner.cell_contents = value
        if value is MISSING:
            del owner.cell_contents
    elif isinstance(owner, tuple):
        slot, holder = owner
        slot.__set__(holder, value)
        if value is MISSING:
            slot.__delete__(holder)
    else:
        type.__setattr__(owner, name, value)
        if value is MISSING:
            type.__delattr__(owner, name)


def _same(now: Any, then: Any) -> bool:
    if isinstance(now, np.ndarray):
        if now.shape != then.shape or now.dtype != then.dtype:
            return False
        if now.dtype.hasobject:
            return all(x is y for x, y in zip(now.flat, then.flat, strict=True))
        return now.tobytes() == then.tobytes()
    if len(now) != len(then):
        return False
    if isinstance(now, dict):
        return all(key in now and now[key] is value for key, value in then.items())
    if isinstance(now, set):
        return bool(now == then)
    return all(x is y for x, y in zip(now, then, strict=True))


MAX_OBJECTS = 2000  #: Objects that are visited before the search is abandoned.

ATOMS = {int, float, complex, bool, str, bytes, range, slice, CodeType}
ATOMS |= {NoneType, EllipsisType, NotImplementedType}
ATOMS |= {operator.itemgetter, operator.attrgetter, operator.methodcaller}
#: Immutable types of the library.
VALUES = (
    *(Model, Joint, Zero, ArticulatedInertia, Force, ForceSubspace, Inertia, Matrix3, Motion),
    *(Subspace, Transform, Vector3),
)

#: Modules written in C whose functions and types depend on their arguments alone.
PURE_MODULES = {
    *("builtins", "math", "cmath", "_operator", "operator", "itertools", "functools", "_functools"),
    *("collections", "_collections", "types", "typing", "fractions", "numbers", "enum", "abc"),
}

IMPURE_BUILTINS = {
    *("print", "open", "input", "eval", "exec", "compile", "globals", "locals", "vars"),
    *("__import__", "breakpoint", "id", "exit", "quit", "help"),
}
COMPUTED_NAMES = {"getattr", "setattr", "delattr", "hasattr", "vars", "dir"}
#: Ways to read an attribute whose name is not in the code.
LOOKUPS = (operator.attrgetter, operator.methodcaller)
IMPURE_NUMPY = {
    *("save", "savetxt", "savez", "savez_compressed", "load", "loadtxt", "genfromtxt", "fromfile"),
    *("seterr", "set_printoptions"),
}
#: Names with effects, or that lead to what is not followed.
IMPURE_ATTRIBUTES = {"tofile", "dump", "dumps", "ctypes", "setflags"}

#: Names with double underscores that lead nowhere else.
ATTRIBUTES = ("__call__", "__name__", "__doc__", "__len__", "__getitem__", "__matmul__", "__init__")

#: Methods that arithmetic does not call.
SILENT = {
    *("__repr__", "__str__", "__format__", "__dir__", "__reduce__", "__reduce_ex__", "__replace__"),
    *("__getstate__", "__setstate__", "__del__", "__init_subclass__", "__set_name__"),
    *("__setattr__", "__delattr__", "__sizeof__", "__copy__", "__deepcopy__"),
}
#: Methods that are called where an object is made.
MAKING = {"__init__", "__new__", "__post_init__"}

ROOTS = (object, tuple, Generic, Protocol, Enum)
C_METHODS = (
    *(MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType),
    BuiltinFunctionType,
)
#: Type of NumPy's functions of arrays that are not ufuncs.
ARRAY_FUNCTION: type = type(np.concatenate)
#: Class attributes that return a value held by the object, where it is visited.
FIELDS = (
    *(MemberDescriptorType, GetSetDescriptorType),
    type(namedtuple("_Pair", "first").first),  # type: ignore[attr-defined]
)


@dataclass
class Reach:
    """All that a function can reach."""

    reason: str = ""  #: Why it must not be called to see what it does; empty if it may be.
    #: Lists, dictionaries, sets and arrays, by identity, each with the words that lead to it.
    containers: dict[int, tuple[Container, str]] = field(default_factory=dict)
    #: Owners of globals, cells, class attributes and slots, by identity and name.
    bindings: dict[tuple[int, str], Any] = field(default_factory=dict)
    library: bool = True  #: All code that it reaches belongs to the library.
    #: Some code of the user's that it reaches has an exception handler, or a `with` block.
    catches: bool = False
    #: All values that it may read are among `values`: none is looked up by a computed name.
    complete: bool = True
    #: All code and values that it can reach, in the order of visits.
    values: list[Any] = field(default_factory=list)

    def memory(self) -> Memory:
        """Save the contents of all that it can reach."""
        bindings = [(owner, name) for (_, name), owner in self.bindings.items()]
        return Memory(list(self.containers.values()), bindings)

    @functools.cached_property
    def key(self) -> tuple[Any, ...] | None:
        """All code and values that it can reach, to be compared; None where they have no hash."""
        try:
            hash(key := tuple(self.values))
        except TypeError:
            return None
        return key

    def shares(self, other: Reach) -> bool:
        """Return whether another function can reach an object that both may change."""
        if self.containers.keys() & other.containers.keys():
            return True
        both = self.bindings.keys() & other.bindings.keys()
        values = (value_of(self.bindings[key], key[1]) for key in both)
        # both name builtins, NumPy, and functions of their module
        return not all(x is MISSING or isinstance(x, ModuleType) or callable(x) for x in values)


def reach_of(function: Callable[..., Any]) -> Reach:
    """Return what a function can reach."""
    walk = _Walk()
    with warnings.catch_warnings():
        # modules warn when deprecated names are looked up; here they are only visited
        warnings.simplefilter("ignore")
        walk.follow(function)
    return walk.found


class Names(NamedTuple):
    """What a piece of code names, functions defined inside it included."""

    globals: tuple[str, ...]
    attributes: tuple[str, ...]
    #: Modules that it imports: name, level of a relative import, and names from the module.
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]
    catches: bool  #: It has an exception handler, or a `with` block.


@functools.lru_cache(maxsize=4096)
def names_of(code: CodeType) -> Names:
    """Return the globals, attributes and modules that a piece of code names."""
    read: list[str] = []
    attributes: list[str] = []
    imports: list[tuple[str, int, tuple[str, ...]]] = []
    # names only: what the code does with them is found by tracing it
    instructions = list(dis.get_instructions(code))
    catches = any(instruction.opname == "PUSH_EXC_INFO" for instruction in instructions)
    for k, instruction in enumerate(instructions):
        op, name = instruction.opname, instruction.argval
        if op.endswith(("_GLOBAL", "_NAME")) and op != "IMPORT_NAME" and op != "KW_NAMES":
            read.append(name)
        elif "_ATTR" in op or op in ("LOAD_METHOD", "IMPORT_FROM"):
            attributes.append(name)
        elif op == "IMPORT_NAME":
            level, parts = (x.argval for x in instructions[k - 2 : k])
            imports.append((name, level if isinstance(level, int) else 0, parts or ()))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = names_of(inner)
            read += found.globals
            attributes += found.attributes
            imports += found.imports
            catches |= found.catches
    first, second = (tuple(dict.fromkeys(x)) for x in (read, attributes))
    return Names(first, second, tuple(dict.fromkeys(imports)), catches)


class _Walk:
    """Visits everything that a function can reach."""

    def __init__(self) -> None:
        self.found = Reach()
        #: Objects by identity, each with its place in the order of visits.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._pending: list[tuple[Any, str]] = []
        self._names: dict[str, None] = {}
        #: Modules and classes: their attributes are visited if some code names them.
        self._owners: list[tuple[Any, str]] = []
        self._classes: dict[int, type] = {}
        self._makers: set[int] = set()  #: Classes that some code may make objects of.
        self._looked_up: set[tuple[int, str]] = set()

    def follow(self, function: Callable[..., Any]) -> None:
        """Visit a function, then attributes of modules and classes until nothing new is found."""
        named = isinstance(function, (FunctionType, MethodType))
        self._visit(function, function.__name__ if named else type(function).__name__)
        while self._pending:
            while self._pending:
                self._open(*self._pending.pop())
            # names found in code seen later may lead to attributes of modules and classes seen
            # before
            for owner, path in list(self._owners):
                if isinstance(owner, ModuleType):
                    self._of_module(owner)
                else:
                    self._of_class(owner, path)

    def _doubt(self, reason: str) -> None:
        """Keep the first reason; what is behind it is not among the values."""
        self.found.reason = self.found.reason or reason
        self.found.complete = False

    def _visit(self, x: Any, path: str) -> None:
        self._pending.append((x, path))

    def _each(self, values: Iterable[Any], path: str) -> None:
        self._pending.extend((x, path) for x in values)

    def _note(self, *values: Any) -> None:
        self.found.values.append((type(values[0]), *values))

    def _open(self, x: Any, path: str) -> None:
        """Visit what is inside an object."""
        kind = type(x)
        if kind in ATOMS or isinstance(x, (*VALUES, np.generic, np.dtype)):
            self._value(x)
            return
        if id(x) in self._seen:
            self._note(self._seen[id(x)][0])
            return
        if len(self._seen) >= MAX_OBJECTS:
            self._doubt(f"it can reach more than {MAX_OBJECTS} objects")
            return
        self._seen[id(x)] = (len(self._seen), x)
        if isinstance(x, FunctionType):
            self._function(x, path)
        elif kind in (tuple, frozenset):
            self._note(kind, len(x))
            self._each(x, path)
        elif kind is np.ndarray:
            self._array(x, path)
        elif kind in (list, set):
            self._contents(x, x, path)
        elif kind is dict:
            self._contents(x, (*x.keys(), *x.values()), path)
        elif isinstance(x, ModuleType):
            self._owners.append((x, path))
        elif isinstance(x, MethodType):
            self._each((x.__func__, x.__self__), path)
        elif kind is functools.partial:
            self._each((x.func, x.args, x.keywords, vars(x)), path)
        elif isinstance(x, type):
            self._class(x, path, True)
        elif isinstance(x, (BuiltinFunctionType, np.ufunc, ARRAY_FUNCTION)):
            self._c_function(x, path)
        elif isinstance(x, C_METHODS):
            self._note(x.__qualname__)
        elif isinstance(x, np.ndarray):  # a subclass, or mapped memory
            self._unknown(x, path)
        elif kind is SimpleNamespace or _is_plain(kind) or of_library(kind.__module__, False):
            self._instance(x, path)
        else:
            self._unknown(x, path)

    def _value(self, x: Any) -> None:
        """Note an immutable value, so that equal notes mean equal bits: 0.0 differs from -0.0."""
        if isinstance(x, Model):
            self.found.complete &= not x.has_code
            self._note(type(x), x.digest)
        elif isinstance(x, (float, complex, *VALUES)):
            self.found.complete &= of_library(type(x).__module__) or isinstance(x, (float, complex))
            self._note(type(x), repr(x))
        elif isinstance(x, np.generic):
            self._note(type(x), x.tobytes())
        else:
            self.found.complete &= type(x) not in LOOKUPS
            self._note(x)

    def _contents(self, x: Container, elements: Iterable[Any], path: str) -> None:
        self.found.containers[id(x)] = (x, path)
        self._note(type(x), len(x))
        self._each(elements, path)

    def _array(self, x: np.ndarray, path: str) -> None:
        self.found.containers[id(x)] = (x, path)
        if x.dtype.hasobject:
            self._each(x.flat, path)
        else:
            # large arrays count by their digest, which is kept with the note
            content = blake2b(np.ascontiguousarray(x).data, digest_size=16).digest()
            self._note(content, x.shape, x.dtype.str)

    def _unknown(self, x: Any, path: str) -> None:
        """Refuse an object; save what it refers to, for functions that share it."""
        kind = type(x)
        what = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        self._doubt(f"it uses {path}, a {what}, which may change")
        for part in gc.get_referents(x):
            if type(part) in (list, dict, set, np.ndarray):
                self.found.containers[id(part)] = (part, path)

    def _c_function(self, x: Any, path: str) -> None:
        owner = getattr(x, "__self__", None)
        module = getattr(x, "__module__", None) or ""
        name = getattr(x, "__name__", "")
        if owner is not None and not isinstance(owner, ModuleType):
            self._note(name)
            self._visit(owner, path)
        elif isinstance(x, np.ufunc):
            if getattr(np, name, None) is not x:
                self._doubt(f"it calls {path}, a ufunc that is not NumPy's")
            self._note(name)
        elif not _is_pure(module, name):
            self._doubt(f"it calls {path}, which is not known to be pure")
        else:
            self.found.complete &= name not in COMPUTED_NAMES
            self._note(module, name)

    # -- objects and their classes

    def _instance(self, x: Any, path: str) -> None:
        own = getattr(x, "__dict__", None)
        self._note(type(x))
        if own is not None:
            self.found.containers[id(own)] = (own, path)
            for name, value in list(own.items()):
                self._note(name)
                self._visit(value, f"{path}.{name}")
        for kind in type(x).__mro__:
            for name, place in vars(kind).items():
                if isinstance(place, MemberDescriptorType):
                    self.found.bindings[id(x), name] = (place, x)
                    with suppress(AttributeError):
                        self._visit(place.__get__(x, kind), f"{path}.{name}")
        if isinstance(x, tuple):
            self._each(x, path)
        if type(x) is not SimpleNamespace:
            self._class(type(x), path, False)

    def _class(self, kind: type, path: str, makes: bool) -> None:
        """Visit a class, which some code may make objects of."""
        if makes:
            self._makers.add(id(kind))
        if id(kind) in self._classes:
            return
        self._classes[id(kind)] = kind
        if not isinstance(kind.__module__, str) or of_library(kind.__module__):
            call = vars(kind).get("__call__")
            if isinstance(call, FunctionType) and not of_library(call.__globals__["__name__"]):
                self._visit(call, path)
            self._note(kind)
        elif not _is_plain(kind):
            if kind.__module__ not in PURE_MODULES:
                self._doubt(f"it calls {path}, which is not known to be pure")
            self._note(kind)
        else:
            self.found.library = False
            self._note(kind)
            self._owners.append((kind, path))
            for base in (type(kind), *kind.__mro__[1:]):
                self._class(base, path, makes)

    def _of_class(self, kind: type, path: str) -> None:
        """Visit the methods and class attributes that the code seen so far can reach."""
        if kind in ROOTS or kind is type:
            return
        # methods that arithmetic or the code's own calls cannot reach are left out
        skipped = SILENT if id(kind) in self._makers else SILENT | MAKING
        skipped = skipped - self._names.keys()
        for name, value in list(vars(kind).items()):
            special = name.startswith("__") and name.endswith("__")
            if name in skipped or (special and issubclass(kind, Enum)):
                continue
            if not (special or name in self._names) or not self._first(kind, name):
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            elif isinstance(value, property):
                value = value.fget
            if isinstance(value, FIELDS) or _by_dataclass(kind, value):
                continue
            if not special:
                self.found.bindings[id(kind), name] = kind
            if not special or isinstance(value, FunctionType):
                self._note(name)
                self._visit(value, f"{path}.{name}")

    def _of_module(self, module: ModuleType) -> None:
        """Visit the attributes of a module that the code seen so far names."""
        held = vars(module)
        lazy = "__getattr__" in held and not of_library(module.__name__, False)
        for name in list(self._names):
            if not self._first(module, name):
                continue
            if not of_library(module.__name__):
                self.found.bindings[id(held), name] = held  # a call may make it
            if not (name in held or lazy):
                continue
            try:
                value = getattr(module, name)
            except Exception:  # the module has no such attribute
                continue
            self._note(name)
            self._visit(value, f"{module.__name__}.{name}")

    def _first(self, owner: Any, name: str) -> bool:
        """Return whether an attribute is looked up for the first time."""
        key = (id(owner), name)
        new = key not in self._looked_up
        self._looked_up.add(key)
        return new

    # -- functions

    def _function(self, function: FunctionType, path: str) -> None:
        module = function.__module__
        if of_library(module):
            if not _is_pure(module, function.__name__):
                self._doubt(f"it calls {path}, which is not known to be pure")
            if getattr(sys.modules.get(module), function.__name__, None) is function:
                self._note(module, function.__name__)
                return
        self._note(function.__code__)
        self._each((function.__defaults__, function.__kwdefaults__), path)
        self._visit(vars(function), path)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self.found.bindings[id(cell), name] = cell
            with suppress(ValueError):  # not bound yet
                self._visit(cell.cell_contents, name)
        if not of_library(function.__globals__.get("__name__", "")):
            self.found.library = False
            self._code(function)

    def _code(self, function: FunctionType) -> None:
        """Visit the globals that a function names and the modules that it imports."""
        names, known = names_of(function.__code__), function.__globals__
        self.found.catches |= names.catches
        for name in names.attributes:
            if name in IMPURE_ATTRIBUTES or (name.startswith("__") and name not in ATTRIBUTES):
                self._doubt(f"it uses the attribute '{name}'")
            self._names[name] = None
        for name in names.globals:
            self.found.bindings[id(known), name] = known
            self._note(name)
            self._visit(known.get(name, getattr(builtins, name, None)), name)
        for name, level, parts in names.imports:
            self._import(known, name, level, parts)

    def _import(self, known: dict[str, Any], name: str, level: int, parts: tuple[str, ...]) -> None:
        """Visit a module that a function imports; import it, as its first call would do."""
        package = known.get("__package__") or ""
        try:
            whole = importlib.util.resolve_name("." * level + name, package) if level else name
            module = importlib.import_module(whole)
            for part in parts:
                if not hasattr(module, part):  # a module of a package, not loaded yet
                    importlib.import_module(f"{whole}.{part}")
            self._visit(importlib.import_module(whole.partition(".")[0]), name)
        except Exception as error:
            self._doubt(f"it imports '{name}', which failed ({type(error).__name__})")
        else:
            self._visit(module, name)


def _is_pure(module: str, name: str) -> bool:
    """Return whether a function of C, NumPy or the library depends on its arguments alone."""
    if module == "builtins":
        return name not in IMPURE_BUILTINS
    if module.startswith("numpy") and name in IMPURE_NUMPY:
        return False
    return module in PURE_MODULES or of_library(module)


def of_library(module: Any, numpy: bool = True) -> bool:
    """Return whether a module is the library's own, or NumPy's without its random numbers."""
    if not isinstance(module, str):
        return False
    if module.startswith("numpy.") or module == "numpy":
        return numpy and not module.startswith("numpy.random")
    return module.startswith("sixfold.") or module == "sixfold"


def _by_dataclass(kind: type, method: Any) -> bool:
    """Return true for a method generated by `dataclass`."""
    code = getattr(method, "__code__", None)
    return "__dataclass_fields__" in vars(kind) and getattr(code, "co_filename", "") == "<string>"


def _is_plain(kind: type) -> bool:
    """Return true for classes written in Python whose bases are, too."""
    own = [base for base in kind.__mro__ if base not in ROOTS]
    values = (x for base in own for x in vars(base).values())
    return not any(isinstance(x, C_METHODS) and x is not object.__new__ for x in values)
