"""What a sweep keeps of its rows: moments, extremes, histograms, quantiles, or your own reduction.

Each reducer makes a small state of a leaf of rows and combines two states.  Sums go over halves,
element by element, so their bits depend on the rows alone and not on how a processor adds vectors.

The order is fixed as well: a binary tree over leaves of rows, for any size of blocks.  A node
(level, index) covers the leaves from index * 2**level on.  A block reduces its rows to the largest
nodes inside it; two nodes are combined when both halves are there.  So the bits do not depend on
blocks, workers or the order of arrival.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, OptionError, whole_number

__all__ = ["custom", "histogram", "quantiles"]

MAX_LEAF = 1024  # rows of a leaf, at most
# least number of leaves, if there are enough rows: slow functions need small blocks
MIN_LEAVES = 256

Node = tuple[int, int]
Combine = Callable[[Any, Any], Any]


def leaf_size(rows: int) -> int:
    """Return how many rows a leaf has: a power of two that depends on nothing but the sweep."""
    size = max(1, min(MAX_LEAF, rows // MIN_LEAVES))
    return 1 << (size.bit_length() - 1)


class ReductionTree:
    """Nodes that wait for their other half."""

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self.nodes: dict[Node, Any] = {}

    def add(self, nodes: Iterable[tuple[Node, Any]]) -> None:
        """Add nodes in any order; combine those whose other half is there."""
        for (level, index), state in nodes:
            while (other := (level, index ^ 1)) in self.nodes:
                pair = self.nodes.pop(other), state
                state = self._combine(*(pair if index & 1 else pair[::-1]))
                level, index = level + 1, index >> 1
            self.nodes[level, index] = state

    def total(self) -> Any:
        """Combine the remaining nodes from the right: their number need not be a power of two."""
        left = sorted(self.nodes, key=lambda node: node[1] << node[0])
        state = self.nodes[left[-1]]
        for node in reversed(left[:-1]):
            state = self._combine(self.nodes[node], state)
        return state


class Pile(ReductionTree):
    """Combines states in any order: for those that are combined without rounding."""

    def add(self, nodes: Iterable[tuple[Node, Any]]) -> None:
        top: Node = (0, 0)
        for _, state in nodes:
            known = self.nodes.get(top)
            self.nodes[top] = state if known is None else self._combine(known, state)


STEPS = 256  # buckets of the quantile sketch between a number and its double: width below 0.4 %
MAX_SHARES = 10_000  # largest number of quantiles

Results = Mapping[str, Array]
State = Any


class Reducer(ABC):
    """Reduces rows to a state, and states to one."""

    name: str
    exact: ClassVar[bool] = (
        False  # states are combined without rounding: their order does not matter
    )

    @abstractmethod
    def leaf(self, results: Results, start: int) -> State:
        """Return the state of some rows, the first of which has a number."""

    @abstractmethod
    def combine(self, one: State, other: State) -> State:
        """Return the state of two neighbours, the first with the lower row numbers."""

    @abstractmethod
    def result(self, state: State) -> Any:
        """Return the reduction of a state."""


class _Each(Reducer):
    """Works on each result by itself; `result` gives a dictionary by its name."""

    def leaf(self, results: Results, start: int) -> State:
        return {name: self.one(np.asarray(x), start) for name, x in results.items()}

    def combine(self, one: State, other: State) -> State:
        return {name: self.two(one[name], other[name]) for name in one}

    def result(self, state: State) -> Any:
        return {name: self.final(x) for name, x in state.items()}

    @abstractmethod
    def one(self, x: Array, start: int) -> State:
        """Return the state of rows x, shape (rows, ...)."""

    @abstractmethod
    def two(self, one: State, other: State) -> State:
        """Combine two states."""

    def final(self, state: State) -> Any:
        return state


@dataclass(frozen=True)
class Moments(_Each):
    """Mean of each number; its state also holds the sum of squared deviations."""

    name: str = "mean"

    def one(self, x: Array, start: int) -> State:
        n = len(x)
        mean = _sum(x.astype(float)) / n
        return n, mean, _sum((x - mean) ** 2)

    def two(self, one: State, other: State) -> State:
        # Chan, Golub and LeVeque, 1979
        (n, a, A), (m, b, B) = one, other
        step = b - a
        return n + m, a + step * (m / (n + m)), A + B + self.square(step) * (n * m / (n + m))

    def square(self, step: Array) -> Array:
        return step * step

    def final(self, state: State) -> Any:
        return state[1]


@dataclass(frozen=True)
class Deviation(Moments):
    """Standard deviation of each number, with n - 1 in the denominator."""

    name: str = "deviation"

    def final(self, state: State) -> Any:
        n, _, squares = state
        with np.errstate(invalid="ignore"):
            return np.sqrt(squares / (n - 1)) if n > 1 else np.full_like(squares, np.nan)


@dataclass(frozen=True)
class Covariance(Moments):
    """Covariance matrix of the numbers of each result, in C order, with n - 1."""

    name: str = "covariance"

    def one(self, x: Array, start: int) -> State:
        n = len(x)
        flat = x.reshape(n, -1).astype(float)
        mean = _sum(flat) / n
        left = flat - mean
        products = np.empty((flat.shape[1],) * 2)
        for k in range(flat.shape[1]):
            products[k, k:] = products[k:, k] = _sum(left[:, k : k + 1] * left[:, k:])
        return n, mean, products

    def square(self, step: Array) -> Array:
        return np.outer(step, step)

    def final(self, state: State) -> Any:
        n, _, products = state
        return products / (n - 1) if n > 1 else np.full_like(products, np.nan)


@dataclass(frozen=True)
class Extremes(_Each):
    """Smallest and largest of each number, with the rows that have them; NaN is left out.

    The result has "min", "min_row", "max", "max_row" and "nan", the number of NaNs.
    """

    exact: ClassVar[bool] = True
    name: str = "extremes"

    def one(self, x: Array, start: int) -> State:
        x = x.astype(float)
        found: dict[str, Array] = {"nan": np.asarray(np.isnan(x).sum(axis=0))}
        for end, sign in (("min", 1.0), ("max", -1.0)):
            # the largest is the smallest of -x; NaN never wins
            kept = np.where(np.isnan(x), np.inf, sign * x)
            at = kept.argmin(axis=0)
            value = np.take_along_axis(kept, at[None], axis=0)[0]
            found[end] = np.asarray(sign * value)
            none = np.isinf(value) & (value > 0)
            found[f"{end}_row"] = np.asarray(np.where(none, -1, at + start))
        return found

    def two(self, one: State, other: State) -> State:
        found = {"nan": one["nan"] + other["nan"]}
        for end, better in (("min", np.less), ("max", np.greater)):
            mine, theirs = one[f"{end}_row"], other[f"{end}_row"]
            # of equal numbers, the one in the earlier row
            earlier = (other[end] == one[end]) & (theirs < mine)
            new = (theirs >= 0) & (better(other[end], one[end]) | earlier | (mine < 0))
            for key in (end, f"{end}_row"):
                found[key] = np.where(new, other[key], one[key])
        return found


@dataclass(frozen=True)
class Histogram(_Each):
    """Counts of each number in equal bins; see `histogram`."""

    exact: ClassVar[bool] = True
    low: float
    high: float
    bins: int
    name: str = "histogram"

    def one(self, x: Array, start: int) -> State:
        flat = x.reshape(len(x), -1).astype(float)
        counts = np.empty((self.bins + 3, flat.shape[1]), np.int64)
        width = (self.high - self.low) / self.bins
        for k, column in enumerate(flat.T):
            known = column[~np.isnan(column)]
            inside = known[(known >= self.low) & (known < self.high)]
            at = np.minimum(((inside - self.low) / width).astype(np.intp), self.bins - 1)
            counts[:-3, k] = np.bincount(at, minlength=self.bins)
            counts[-3, k] = (known < self.low).sum()
            counts[-2, k] = (known >= self.high).sum()
            counts[-1, k] = len(column) - len(known)
        return counts.reshape(self.bins + 3, *x.shape[1:])

    def two(self, one: State, other: State) -> State:
        return one + other

    def final(self, state: State) -> Any:
        edges = np.linspace(self.low, self.high, self.bins + 1)
        counts = {"counts": state[:-3], "below": state[-3], "above": state[-2], "nan": state[-1]}
        return {"edges": edges, **counts}


@dataclass(frozen=True)
class Quantiles(_Each):
    """Quantiles of each number from a sketch of counts in relative buckets; see `quantiles`."""

    exact: ClassVar[bool] = True
    shares: tuple[float, ...]
    name: str = "quantiles"

    def one(self, x: Array, start: int) -> State:
        flat = x.reshape(len(x), -1).astype(float)
        return x.shape[1:], tuple(_sketch(column) for column in flat.T)

    def two(self, one: State, other: State) -> State:
        return one[0], tuple(map(_merge_sketches, one[1], other[1]))

    def final(self, state: State) -> Any:
        shape, sketches = state
        found = np.array([[_quantile(s, share) for s in sketches] for share in self.shares])
        return found.reshape(len(self.shares), *shape)


@dataclass(frozen=True)
class Own(Reducer):
    """A user's own reduction; see `custom`."""

    make: Callable[[Results], Any]
    join: Callable[[Any, Any], Any]
    name: str = "custom"

    def leaf(self, results: Results, start: int) -> State:
        return self.make(results)

    def combine(self, one: State, other: State) -> State:
        return self.join(one, other)

    def result(self, state: State) -> Any:
        return state


def histogram(low: float, high: float, bins: int = 50) -> Reducer:
    """Return a reducer that counts each number in equal bins of [low, high).

    Its result has "edges", "counts" of shape (bins, ...), and how many lie "below", "above" or are
    "nan".
    """
    most = float(np.finfo(float).max)
    finite = all(isinstance(x, (int, float)) and -most <= x <= most for x in (low, high))
    if not finite or not low < high:
        raise OptionError("histogram", "low", "two numbers, the lower one first", (low, high))
    bins = whole_number("histogram", "bins", bins, 1, 1_000_000)
    return Histogram(float(low), float(high), bins)


def quantiles(shares: ArrayLike = (0.05, 0.5, 0.95)) -> Reducer:
    """Return a reducer that gives the numbers below which some shares of all rows lie.

    A sketch counts numbers in buckets of less than 0.4 % of their size, as exact as that and the
    same for any order of rows.  Its result has shape (shares, ...); NaN is left out.
    """
    try:
        array = np.asarray(shares, float).reshape(-1)
        found = tuple(array[: MAX_SHARES + 1].tolist())
    except Exception:  # the conversion may raise anything
        found = ()
    if not 1 <= len(found) <= MAX_SHARES or not all(0 <= x <= 1 for x in found):
        words = f"numbers from 0 to 1, at most {MAX_SHARES:,}"
        raise OptionError("quantiles", "shares", words, shares)
    return Quantiles(found)


def custom(
    leaf: Callable[[Results], Any], combine: Callable[[Any, Any], Any], name: str = "custom"
) -> Reducer:
    """Return a reducer of your own.

    Args:
        leaf: takes the results of some rows by name and returns a state.
        combine: takes the states of two neighbours and returns that of both; it has to be
            associative up to rounding, and is always called in the same order.
        name: where it stands among the results.
    """
    for option, function in (("leaf", leaf), ("combine", combine)):
        if not callable(function):
            where = f"custom: argument '{option}'"
            expected = "a function of results" if option == "leaf" else "a function of two states"
            fix = "write def leaf(results): ..., and def combine(a, b): ..."
            raise ArgumentError(where, expected, function, fix)
    if not isinstance(name, str) or not name:
        raise OptionError("custom", "name", "a text", name)
    return Own(leaf, combine, name)


BY_NAME: dict[str, Reducer] = {
    "mean": Moments(),
    "deviation": Deviation(),
    "covariance": Covariance(),
    "extremes": Extremes(),
    "quantiles": Quantiles((0.05, 0.5, 0.95)),
}


def reducers_of(given: Any) -> tuple[Reducer, ...]:
    """Return what was passed as reductions, or say what is wrong with it."""
    listed: Sequence[Any] = given if isinstance(given, (list, tuple)) else [given]
    words = (
        f"{', '.join(map(repr, BY_NAME))}, a reducer of sf.sweeps.reducers, or several in a list"
    )
    found = []
    for each in listed:
        known = isinstance(each, str) and each in BY_NAME
        if not known and not isinstance(each, Reducer):
            raise OptionError("sweep", "reduce", words, each)
        found.append(BY_NAME[each] if known else each)
    names = [each.name for each in found]
    if not found or len(set(names)) < len(names):
        raise OptionError("sweep", "reduce", f"{words}, each name once", given)
    return tuple(found)


def _sum(x: Array) -> Array:
    """Return the sum over the first axis, by halves: the same bits on every processor."""
    while len(x) > 1:
        half = len(x) // 2
        pairs = x[:half] + x[half : 2 * half]
        x = np.concatenate([pairs, x[-1:]]) if len(x) % 2 else pairs
    return np.asarray(x[0])


def _sketch(column: Array) -> tuple[Array, Array]:
    """Return the buckets of some numbers and the count of each, in the order of the numbers."""
    known = column[~np.isnan(column)]
    size = np.minimum(np.abs(known), np.finfo(float).max)
    # STEPS buckets between two powers of two; the key orders as the numbers do
    part, power = np.frexp(size)
    step = ((part - 0.5) * (2 * STEPS)).astype(np.int64)
    key = (power.astype(np.int64) + 1100) * STEPS + step + 1  # positive for every number
    key = np.where(size == 0, 0, np.where(known < 0, -key, key))
    return np.unique(key, return_counts=True)


def _merge_sketches(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    keys, place = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, place.reshape(-1), np.concatenate([one[1], other[1]]))
    return keys, counts


def bucket(key: Any) -> Any:
    """Return the number in the middle of a bucket."""
    size = np.abs(np.asarray(key)) - 1
    power, step = size // STEPS - 1100, size % STEPS
    middle = np.ldexp(0.5 + (step + 0.5) / (2 * STEPS), power.astype(np.int64))
    return np.where(np.asarray(key) == 0, 0.0, np.sign(key) * middle)


def _quantile(sketch: tuple[Array, Array], share: float) -> float:
    keys, counts = sketch
    if not len(keys):
        return float("nan")
    # the bucket that holds the row of this rank
    total = counts.cumsum()
    at = int(np.searchsorted(total, share * (total[-1] - 1) + 1, side="left"))
    return float(bucket(keys[min(at, len(keys) - 1)]))


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
