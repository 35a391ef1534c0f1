"""Least squares over any number of samples in bounded memory: one small matrix for each joint.

Samples go through in blocks of fixed size, whatever pieces they come in, and the blocks are added
in their order: the bits of the result depend neither on the pieces nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import get_threads
from sixfold.identification.data.log import Chunk
from sixfold.identification.fit.columns import Problem

BLOCK = 512
"""Samples of a block: what the kernel writes then stays in the cache."""
NARROW = 48
"""Columns up to which BLAS makes a symmetric product of some rows by one thread."""
PIECE = 5888
"""Numbers of a narrow matrix whose product one thread makes."""
WIDE_PIECE = 240_000
"""Multiplications of a general product that one thread makes."""
MAX_CONDITION = 1e6
"""Condition of the scaled columns up to which their Gram matrix is exact enough."""
HOLD_OUT = 5
"""Every so many blocks, one is kept for judging the result."""

Weights = Callable[[Array, Chunk], Array]
"""From the rows of a block and its samples: weights, shape (samples, nv)."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Everything that a fit needs to know about the samples."""

    G: tuple[Array, ...]
    """For each joint [Y tau]^T W [Y tau]: products of its columns and of the target."""
    counts: Array
    """Samples (sum of weights) of each joint."""
    R: tuple[Array, ...] | None = None
    """Triangular factors, R^T R = G, where the products are not exact enough."""

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over the samples of both."""
        G = tuple(a + b for a, b in zip(self.G, other.G, strict=True))
        R = None
        if self.R is not None and other.R is not None:
            pairs = zip(self.R, other.R, strict=True)
            R = tuple(_factor(np.concatenate(pair), len(pair[0])) for pair in pairs)
        return Sums(G, self.counts + other.counts, R)


def blocks(chunks: Iterable[Chunk], size: int = BLOCK) -> Iterator[Chunk]:
    """Yield the samples of chunks again in blocks of one size; the last may be shorter."""
    left: list[Chunk] = []
    count = 0
    for chunk in chunks:
        start, n = 0, len(chunk[0])
        while count + n - start >= size:
            take = size - count
            piece = tuple(x[start : start + take] for x in chunk)
            yield _joined([*left, piece]) if left else piece
            left, count, start = [], 0, start + take
        if start < n:
            # a copy: whoever makes the chunks may reuse the memory
            left.append(tuple(x[start:].copy() for x in chunk))
            count += n - start
    if left:
        yield _joined(left)


def _joined(parts: list[Chunk]) -> Chunk:
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class Accumulator:
    """Adds blocks: products of columns (fast) or triangular factors (for hard problems)."""

    def __init__(self, problem: Problem, exact: bool) -> None:
        """Start with nothing."""
        self.exact = exact
        self.sums = [np.zeros((len(rows) + 1,) * 2) for rows in problem.rows]
        self.counts = np.zeros(len(problem.rows))

    def add(self, parts: list[Array], counts: Array) -> None:
        """Add what `block_sums` made of a block."""
        for j, part in enumerate(parts):
            if self.exact:
                self.sums[j] = _factor(np.concatenate([self.sums[j], part]), len(part))
            else:
                self.sums[j] += part
        self.counts += counts

    def finish(self) -> Sums:
        """Return the sums."""
        if not self.exact:
            return Sums(tuple(self.sums), self.counts)
        return Sums(tuple(map(gram, self.sums)), self.counts, tuple(self.sums))


def _factor(rows: Array, size: int) -> Array:
    """Return the triangular factor, padded with zeros to a square."""
    R = np.linalg.qr(rows, mode="r")
    full = np.zeros((size, size))
    full[: len(R)] = R
    return full


def gram(A: Array) -> Array:
    """Return A^T A, by pieces that BLAS does not hand to threads of its own.

    Its threads wait for each other longer than such products take, above all on a busy machine; and
    the order of the sums does not depend on their number.
    """
    n = max(A.shape[1], 1)
    narrow = n <= NARROW
    rows = max(8, PIECE // n if narrow else WIDE_PIECE // n**2)
    other = A if narrow else A.copy()  # of equal memory NumPy would ask for a symmetric product
    total: Array = A[:rows].T @ other[:rows]
    for start in range(rows, len(A), rows):
        total += A[start : start + rows].T @ other[start : start + rows]
    return total


def product(A: Array, x: Array) -> Array:
    """Return A x by one thread, as in `gram`."""
    found: Array = np.einsum("ij,j->i", A, x)
    return found


def block_sums(
    problem: Problem, block: Chunk, out: Array, exact: bool, weigh: Weights | None
) -> tuple[list[Array], Array]:
    """Return the products, or the triangular factor, of each joint's columns in one block."""
    rows = out[: len(block[0])]
    problem.evaluate(block, rows)
    parts = []
    counts = np.full(len(problem.rows), float(len(rows)))
    weights = None if weigh is None else weigh(rows, block)
    if weights is not None:
        counts = weights.sum(axis=0)
    for j, place in enumerate(problem.places):
        A = rows[:, place]
        if weights is not None:
            A = A * np.sqrt(weights[:, j])[:, None]
        parts.append(_factor(A, A.shape[1]) if exact else gram(A))
    return parts, counts


def accumulate(
    problem: Problem,
    chunks: Iterable[Chunk],
    *,
    exact: bool = False,
    hold_out: bool = True,
    weigh: Weights | None = None,
    watch: Callable[[int, Chunk], Any] | None = None,
) -> tuple[Sums, Sums]:
    """Return the sums over the samples to fit, and over those that are held out.

    Args:
        problem: the columns.
        chunks: samples, in pieces of any size.
        exact: stack triangular factors (TSQR) in place of products.
        hold_out: whether every fifth block is held out.
        weigh: weights of the rows of a block.
        watch: called with the number of samples so far and each block.
    """
    fit, held = Accumulator(problem, exact), Accumulator(problem, exact)
    threads = get_threads()
    memory: list[Array] = []

    def work(block: Chunk) -> tuple[list[Array], Array]:
        out = memory.pop() if memory else np.empty((BLOCK, problem.width))
        done = block_sums(problem, block, out, exact, weigh)
        memory.append(out)
        return done

    seen = 0
    problem.kernel  # noqa: B018 - made once, before threads ask for it
    for number, (block, done) in enumerate(_in_order(work, blocks(chunks), threads)):
        held_out = hold_out and number % HOLD_OUT == HOLD_OUT // 2
        (held if held_out else fit).add(*done)
        seen += len(block[0])
        if watch is not None:
            watch(seen, block)
    return fit.finish(), held.finish()


def _in_order(
    work: Callable[[Chunk], Any], items: Iterable[Chunk], threads: int
) -> Iterator[tuple[Chunk, Any]]:
    """Yield each block and what was made of it, in order, with some blocks under way at a time."""
    if threads == 1:
        for item in items:
            yield item, work(item)
        return
    from collections import deque
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[Chunk, Future[Any]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > 2 * threads:
                block, future = waiting.popleft()
                yield block, future.result()
        for block, future in waiting:
            yield block, future.result()
