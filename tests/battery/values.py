"""Bad values: what no argument should be, and what a good one becomes when it is spoilt."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import sixfold as sf


class Silent:
    """An object that is nothing in particular."""


class Own(Exception):
    """What a user's own function raises: the library may hand it on as it is."""


class Awkward:
    """An object whose every protocol fails."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("no array here")

    def __len__(self) -> int:
        raise ValueError("no length here")

    def __iter__(self) -> Any:
        raise ValueError("nothing to walk over")

    def __float__(self) -> float:
        raise ValueError("no float here")

    def __index__(self) -> int:
        raise ValueError("no index here")

    def __fspath__(self) -> str:
        raise ValueError("no path here")

    def __repr__(self) -> str:
        return "<Awkward>"


class LongSequence:
    """A sequence that claims to be huge and never ends."""

    def __len__(self) -> int:
        return 10**12

    def __getitem__(self, k: int) -> float:
        return 0.5


def _raises(*_: Any, **__: Any) -> Any:
    raise Own("raised by the user's function")


def _locked() -> np.ndarray:
    array = np.array([0.1, 0.2])
    array.flags.writeable = False
    return array


def _deep(n: int = 2000) -> list[Any]:
    nested: list[Any] = [0.5]
    for _ in range(n):
        nested = [nested]
    return nested


def _cyclic() -> list[Any]:
    loop: list[Any] = [0.5]
    loop.append(loop)
    return loop


BAD: dict[str, Callable[[], Any]] = {
    # no numbers at all
    "None": lambda: None,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "empty text": lambda: "",
    "text": lambda: "abc",
    "text of a number": lambda: "1.5",
    "text of three": lambda: "xyz",
    "NUL text": lambda: "a\0b",
    "escape text": lambda: "\x1b[31mred\u202e",
    "surrogate text": lambda: "\ud800",
    "long text": lambda: "x" * 100_000,
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abcdef"),
    "memoryview": lambda: memoryview(b"abcdefgh"),
    "object": object,
    "Silent": Silent,
    "Awkward": Awkward,
    "long sequence": LongSequence,
    "class": lambda: int,
    "exception": lambda: ValueError("x"),
    "module": lambda: math,
    "package": lambda: sf,
    "date": lambda: datetime.datetime(2020, 1, 1),
    "path": lambda: Path("nowhere") / "x.urdf",
    "slice": lambda: slice(0, 2),
    "range": lambda: range(3),
    # functions
    "lambda of nothing": lambda: lambda: 1,
    "lambda of one": lambda: lambda x: x,
    "lambda of any": lambda: lambda *_, **__: None,
    "raises": lambda: _raises,
    "len": lambda: len,
    "print": lambda: repr,
    # containers
    "empty list": list,
    "empty tuple": tuple,
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "dict of numbers": lambda: {0: 0.5, 1: 0.5},
    "dict of None": lambda: {None: None},
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset((0.5,)),
    "generator": lambda: (float(k) for k in range(2)),
    "iterator": lambda: iter([1.0, 2.0]),
    "list of None": lambda: [None, None],
    "list of text": lambda: ["a", "b"],
    "list of lists": lambda: [[0.1, 0.2], [0.3, 0.4]],
    "list of pairs": lambda: [("a", 1.0), ("b", 2.0)],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "deep list": _deep,
    "cyclic list": _cyclic,
    "list of dicts": lambda: [{}, {}],
    "list of objects": lambda: [object(), object()],
    "three": lambda: [0.1, 0.2, 0.3],
    "six": lambda: (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "3x3": lambda: np.eye(3).tolist(),
    # numbers
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "minus zero": lambda: -0.0,
    "half": lambda: 0.5,
    "True": lambda: True,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "minus inf": lambda: -math.inf,
    "tiny": lambda: 5e-324,
    "huge": lambda: 1e308,
    "10**9": lambda: 10**9,
    "10**30": lambda: 10**30,
    "10**400": lambda: 10**400,
    "-10**30": lambda: -(10**30),
    "complex": lambda: 1 + 2j,
    "Fraction": lambda: Fraction(1, 3),
    "Decimal": lambda: Decimal("1.5"),
    "Decimal nan": lambda: Decimal("sNaN"),
    "np.int8": lambda: np.int8(3),
    "np.bool": lambda: np.bool_(True),
    "np.float16": lambda: np.float16(0.5),
    "np.longdouble": lambda: np.longdouble(0.5),
    "np.nan": lambda: np.float64(np.nan),
    "np.complex": lambda: np.complex128(1j),
    "np.datetime": lambda: np.datetime64("2020-01-01"),
    # arrays
    "0-d": lambda: np.array(0.5),
    "0-d object": lambda: np.array(None, object),
    "empty array": lambda: np.zeros(0),
    "empty 2-d": lambda: np.zeros((0, 2)),
    "vector": lambda: np.array([0.1, 0.2]),
    "matrix": lambda: np.zeros((3, 2)),
    "column": lambda: np.zeros((2, 1)),
    "many axes": lambda: np.zeros((1,) * 30 + (2,)),
    "nan vector": lambda: np.full(2, np.nan),
    "inf vector": lambda: np.full(2, np.inf),
    "complex vector": lambda: np.ones(2, complex),
    "bool vector": lambda: np.ones(2, bool),
    "text vector": lambda: np.array(["a", "b"]),
    "bytes vector": lambda: np.array([b"a", b"b"]),
    "object vector": lambda: np.array([None, "a"], object),
    "objects": lambda: np.array([0.1, object()], object),
    "void vector": lambda: np.zeros(2, "V8"),
    "structured": lambda: np.zeros(2, [("a", float), ("b", int)]),
    "record": lambda: np.rec.array([(1.0, 2)], dtype=[("a", float), ("b", int)]),
    "dates": lambda: np.array(["2020-01-01"] * 2, "datetime64[D]"),
    "durations": lambda: np.ones(2, "timedelta64[s]"),
    "read-only": _locked,
    "swapped": lambda: np.array([0.1, 0.2], ">f8"),
    "half vector": lambda: np.ones(2, np.float16),
    "long double vector": lambda: np.ones(2, np.longdouble),
    "masked": lambda: np.ma.array([0.1, 0.2], mask=[0, 1]),
    "np.matrix": lambda: np.asmatrix([[0.1, 0.2]]),
    "wide view": lambda: np.broadcast_to(np.zeros(2), (10**12, 2)),
    "tall view": lambda: np.broadcast_to(np.zeros(()), (10**13,)),
    # things of the library in the wrong place
    "Model": lambda: _pendulum(),
    "Motion": sf.spatial.Motion.zero,
    "Force": sf.spatial.Force.zero,
    "Inertia": sf.Inertia.zero,
    "Transform": sf.Transform.identity,
    "Vector3": lambda: sf.spatial.Vector3(0.1, 0.2, 0.3),
    "Joint": lambda: sf.Revolute("z"),
    "Joint class": lambda: sf.Revolute,
    "Subspace": sf.spatial.Subspace,
    "sixfold function": lambda: sf.inverse_dynamics,
    "builder": sf.ModelBuilder,
}


def _pendulum() -> Any:
    return sf.load("pendulum")


def spoilt(good: Any, rng: random.Random) -> tuple[str, Any]:
    """Return a good value with something wrong in it, and what."""
    if isinstance(good, np.ndarray):
        return _spoilt_array(good, rng)
    if isinstance(good, (tuple, list)) and good and type(good) in (tuple, list):
        return _spoilt_list(list(good), rng)
    if isinstance(good, str):
        ways = {
            "upper": good.upper(),
            "blank": f" {good} ",
            "bytes": good.encode(),
            "doubled": good + good,
            "list of it": [good],
            "NUL": good + "\0",
            "array of it": np.array(good),
        }
    elif callable(good):
        ways = {
            "no arguments": lambda: 0.0,
            "returns None": lambda *_: None,
            "returns text": lambda *_: "text",
            "returns NaN": lambda *_: math.nan,
            "returns a list": lambda *_: [1, [2]],
            "raises": _raises,
            "called": None,
        }
    elif isinstance(good, (int, float)):
        ways = {
            "negative": -good,
            "text": str(good),
            "list": [good],
            "half more": good + 0.5,
            "complex": complex(good),
            "Decimal": Decimal(str(float(good))),
            "0-d": np.array(good),
            "vector": np.array([good, good]),
            "nan": math.nan,
            "huge int": 10**18,
            "longer int": 10**5000,
        }
    else:
        ways = {"in a list": [good], "its type": type(good), "its text": repr(good)}
    label = rng.choice(sorted(ways))
    return f"{type(good).__name__} {label}", ways[label]


def _spoilt_array(good: np.ndarray, rng: random.Random) -> tuple[str, Any]:
    holed = good.astype(float).copy()
    holed.flat[:1] = math.nan
    filled = good.astype(object).copy()
    filled.flat[:1] = "text"
    ways: dict[str, Any] = {
        "longer": np.concatenate([good, good], -1) if good.ndim else good,
        "shorter": good[..., :-1] if good.ndim else good,
        "reversed axes": good.T[..., None],
        "scalar": 0.5,
        "NaN": holed,
        "zeros": good * 0,
        "huge": good * 0 + 1e308,
        "complex": good + 1j,
        "object None": np.full(good.shape, None),
        "object text": filled,
        "text": good.astype(str),
        "bool": good.astype(bool),
        "masked": np.ma.array(good, mask=np.ones(good.shape, bool)),
        "generator": (x for x in good.tolist()) if good.ndim else None,
        "dict": dict(enumerate(np.atleast_1d(good).tolist())),
        "ragged": [[*np.atleast_1d(good).ravel().tolist()], [0.1]],
        "ten million axes": np.broadcast_to(good, (10**11, *good.shape)),
    }
    label = rng.choice(sorted(ways))
    return f"array {label}", ways[label]


def _spoilt_list(good: list[Any], rng: random.Random) -> tuple[str, Any]:
    k = rng.randrange(len(good))
    label = rng.choice(sorted(BAD))
    changed = [*good[:k], BAD[label](), *good[k + 1 :]]
    ways: dict[str, Any] = {
        "longer": [*good, good[-1]],
        "shorter": good[:-1],
        "nested": [good],
        "set": set(map(repr, good)),
        "generator": (x for x in good),
        f"element {label}": changed,
    }
    way = rng.choice(sorted(ways))
    return f"list {way}", ways[way]
