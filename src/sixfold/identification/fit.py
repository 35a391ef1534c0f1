"""Weighted least squares for base parameters, and the fits of bounded and physical parameters.

Sums over any number of samples take bounded memory: one small matrix for each joint.  Samples are
processed in blocks of fixed size, independent of the chunks, and the blocks are added in order:
the bits of the result depend neither on the chunks nor on the number of threads.

Inertias that real bodies can have: a smooth, unconstrained fit by log-Cholesky parameters.

The pseudo-inertia J = [[Sigma, h], [h^T, m]] of a body with positive density is positive definite
(Wensing, Kim and Slotine, RA-L 2018), J = U U^T with U upper triangular and a positive diagonal:

    U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

(Rucker and Wensing, RA-L 2022).  What the data do not show stays near the loaded model by the
divergence tr(J J0^-1) - log det(J J0^-1) - 4 (Lee, Wensing and Park, T-RO 2020), whose first part
is a square in U and whose second is linear in alpha and d.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.log import Chunk
from sixfold.identification.problem import NOT_NEGATIVE, IdentificationProblem
from sixfold.runtime import get_threads

BLOCK = 512  # samples of a block: what the kernel writes then stays in the cache
NARROW = 48  # columns up to which BLAS makes a symmetric product of some rows by one thread
PIECE = 5888  # numbers of a narrow matrix whose product one thread makes
WIDE_PIECE = 240_000  # multiplications of a general product that one thread makes
MAX_CONDITION = 1e6  # condition of the scaled columns up to which their Gram matrix is exact enough
HOLD_OUT = 5  # one block of this many is kept for judging the result

# from the rows of a block and its samples: weights, shape (samples, nv)
Weights = Callable[[Array, Chunk], Array]


@dataclass(frozen=True, eq=False)
class Sums:
    """Everything that a fit needs to know about the samples."""

    # for each joint [Y tau]^T W [Y tau]: products of its columns and of the target
    G: tuple[Array, ...]
    counts: Array  # samples (sum of weights) of each joint
    # triangular factors, R^T R = G, where the products are not exact enough
    R: tuple[Array, ...] | None = None

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
            yield _concatenate([*left, piece]) if left else piece
            left, count, start = [], 0, start + take
        if start < n:
            # a copy: whoever makes the chunks may reuse the memory
            left.append(tuple(x[start:].copy() for x in chunk))
            count += n - start
    if left:
        yield _concatenate(left)


def _concatenate(parts: list[Chunk]) -> Chunk:
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


class Accumulator:
    """Adds blocks: products of columns (fast) or triangular factors (for hard problems)."""

    def __init__(self, problem: IdentificationProblem, exact: bool) -> None:
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
    # R of a matrix with fewer rows than columns is not square: pad it
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
    return np.asarray(np.einsum("ij,j->i", A, x))


def block_sums(
    problem: IdentificationProblem, block: Chunk, out: Array, exact: bool, weigh: Weights | None
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
    problem: IdentificationProblem,
    chunks: Iterable[Chunk],
    *,
    exact: bool = False,
    hold_out: bool = True,
    weigh: Weights | None = None,
    watch: Callable[[int, Chunk], Any] | None = None,
) -> tuple[Sums, Sums]:
    """Return the sums over the samples to fit, and over every fifth block, which is held out.

    `exact` stacks triangular factors (TSQR) instead of products; `weigh` returns the weights of a
    block; `watch` is called with the number of samples so far and each block.
    """
    # two sums at once: blocks to fit, and every fifth block to judge the fit by
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


ROUNDS = 4  # how often weights follow from residuals; they settle after two
# relative singular value below which the data do not show a direction: from products of columns,
# whose digits are half as many, and from triangular factors
UNSEEN = {False: 1e-7, True: 1e-11}
# measured force relative to the parts that make it below which a row is a balance of parts
BALANCED = 0.01
MIN_BALANCE = 1e-4  # least noise of such a row, relative to its parts
# least residual that counts, relative to the joint's forces: below it is rounding
MIN_RELATIVE_NOISE = 1e-7


@dataclass(frozen=True, eq=False)
class Fit:
    """A weighted least-squares solution."""

    beta: Array  # base parameters, shape (n,)
    covariance: Array  # shape (n, n); of the directions that the data show
    errors: Array  # standard errors; infinite where the data do not show a parameter
    sigma: Array  # standard deviation of each joint's residual, shape (nv,)
    # of the columns, scaled to equal size, over what the data show and do not show
    condition: float
    A: Array  # weighted triangular factor: the data say |A beta - b|, shape (n, n)
    b: Array
    # orthonormal directions of scaled parameters that the data do not show, shape (n, k)
    unseen: Array
    scale: Array  # size of each weighted column


def solve(
    problem: IdentificationProblem,
    sums: Sums,
    *,
    exact: bool = False,
    inflation: Array | None = None,
    noise: float = MIN_RELATIVE_NOISE,
) -> Fit:
    """Return the least-squares solution with weights from the residuals.

    Directions that the data do not show stay as in the loaded model.

    Args:
        problem: the columns.
        sums: over the samples.
        exact: whether they were made by triangular factors.
        inflation: of each joint's variance, for residuals that are correlated in time.
        noise: least residual that counts, relative to the joint's forces.
    """
    start = problem.base @ problem.start
    # the size of each joint's force; joints that hardly bear any count with a thousandth
    loads, balance = load_rms(problem, sums), balance_rows(problem, sums)
    usual = float(np.nanmax(loads, initial=0.0)) or 1.0
    loads = np.maximum(np.nan_to_num(loads), 1e-3 * usual)
    first = activity(problem, sums, start)
    shares = np.array([_parameter_share(problem, j) for j in range(len(problem.rows))])
    # degrees of freedom of each joint's residual: samples less its share of the parameters
    left = np.maximum(sums.counts - shares, 1.0)
    sigma, used = loads, sums
    # iteratively reweighted least squares: weights from residuals, residuals from weights
    gains = np.isnan(problem.choice.gains)
    for _ in range(4 * ROUNDS if gains.any() else ROUNDS):
        beta = start + _step(problem, used, _spreads(problem, sigma), exact, start)
        sigma = np.sqrt(squares(problem, sums, beta) / left)
        # rows without a measured force fit best where all parameters vanish: judge them by ratio
        now = activity(problem, sums, beta)
        ratio = np.where(now > 0, first / np.where(now > 0, now, 1.0), 1.0)
        sigma = np.where(balance, np.maximum(sigma * ratio, MIN_BALANCE * loads), sigma)
        sigma = np.maximum(sigma, noise * loads)
        if gains.any():
            used = _without_noise(problem, sums, sigma, beta)
    spreads = _spreads(problem, sigma)
    # the last weights by a decomposition that tells which directions the data show
    whole = _decompose(problem, used, spreads, exact)
    beta = start + whole.step(start)
    s, V, seen, scale = whole.s, whole.V, whole.seen, whole.scale
    # covariance (A^T A)^-1 within the directions that the data show
    inverse = V[:, seen] / s[seen]
    covariance = inverse @ inverse.T
    # the weights are not those of the noise: a sandwich
    noisy = sigma * np.sqrt(np.ones(len(sigma)) if inflation is None else inflation)
    middle, _ = weighted_products(problem, sums, spreads**2 / noisy)
    covariance = covariance @ (middle / np.outer(scale, scale)) @ covariance
    covariance = covariance / np.outer(scale, scale)
    unseen = V[:, ~seen]
    errors = standard_errors(covariance, unseen)
    A = s[:, None] * V.T * scale
    condition = float(s[0] / s[-1]) if len(s) and s[-1] > 0 else np.inf
    return Fit(beta, covariance, errors, sigma, condition, A, whole.b, unseen, scale)


def standard_errors(covariance: Array, unseen: Array) -> Array:
    """Return standard errors; infinite along directions that the data do not show."""
    errors: Array = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return np.where((np.abs(unseen) > 1e-4).any(axis=1), np.inf, errors)


def _spreads(problem: IdentificationProblem, sigma: Array) -> Array:
    """Return what the rows of each joint are divided by: between its noise and that of all joints.

    Residuals are noise in part; the rest is what no rigid body and no friction law describes.  Rows
    divided by their residual alone would let a large joint follow the friction of a small one.
    """
    common = np.exp(np.mean(np.log(np.maximum(sigma, 1e-300))))
    if problem.equal_weights:
        return np.full(len(sigma), common)
    found: Array = np.sqrt(sigma * common)
    return found


@dataclass(frozen=True, eq=False)
class _Whole:
    """The weighted problem |diag(s) V^T (scale beta) - b|, over parameters scaled to equal size."""

    s: Array
    V: Array
    b: Array
    seen: Array
    scale: Array

    def step(self, start: Array) -> Array:
        """Return how far the solution is from a start, along what the data show."""
        left = self.b - self.s * (self.V.T @ (self.scale * start))
        found: Array = self.V[:, self.seen] @ (left[self.seen] / self.s[self.seen]) / self.scale
        return found


def _column_sizes(squares: Array) -> Array:
    """Return the sizes of columns from their squares; 1 where there is nothing."""
    scale = np.sqrt(squares)
    return np.where(scale > 0, scale, 1.0)


def _step(
    problem: IdentificationProblem, sums: Sums, sigma: Array, exact: bool, start: Array
) -> Array:
    """Return a solution for the weights to come: hardly moved along what the data do not show."""
    if exact:
        return _decompose(problem, sums, sigma, exact).step(start)
    total, goal = weighted_products(problem, sums, sigma)
    scale = _column_sizes(np.diag(total))
    left = (goal - total @ start) / scale
    total = total / np.outer(scale, scale)
    total.flat[:: len(start) + 1] += UNSEEN[False] ** 2
    found: Array = np.linalg.solve(total, left) / scale
    return found


def weighted_products(
    problem: IdentificationProblem, sums: Sums, sigma: Array
) -> tuple[Array, Array]:
    """Return products of columns and target over all joints, each divided by its noise."""
    total, goal = np.zeros((problem.n, problem.n)), np.zeros(problem.n)
    for columns, G, s in zip(problem.rows, sums.G, sigma, strict=True):
        total[np.ix_(columns, columns)] += G[:-1, :-1] / s**2
        goal[columns] += G[:-1, -1] / s**2
    return total, goal


def _decompose(problem: IdentificationProblem, sums: Sums, sigma: Array, exact: bool) -> _Whole:
    if exact and sums.R is not None:
        A, b = _stack_rows(problem, sums.R, sigma)
        scale = np.linalg.norm(A, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
        return _Whole(s, Vt.T, U.T @ b, s > UNSEEN[True] * s[0], scale)
    total, goal = weighted_products(problem, sums, sigma)
    scale = _column_sizes(np.diag(total))
    values, V = np.linalg.eigh(total / np.outer(scale, scale))
    s, V = np.sqrt(np.maximum(values[::-1], 0.0)), V[:, ::-1]
    seen = s > UNSEEN[False] * s[0]
    b = np.zeros(len(s))
    b[seen] = (V[:, seen].T @ (goal / scale)) / s[seen]
    return _Whole(np.where(seen, s, 0.0), V, b, seen, scale)


def _stack_rows(
    problem: IdentificationProblem, R: tuple[Array, ...], sigma: Array
) -> tuple[Array, Array]:
    """Return the rows of all joints, each divided by its noise: columns and target."""
    rows, targets = [], []
    for columns, factor, s in zip(problem.rows, R, sigma, strict=True):
        full = np.zeros((len(factor), problem.n))
        full[:, columns] = factor[:, :-1] / s
        rows.append(full)
        targets.append(factor[:, -1] / s)
    return np.concatenate(rows), np.concatenate(targets)


def _without_noise(problem: IdentificationProblem, sums: Sums, sigma: Array, beta: Array) -> Sums:
    """Return sums in which currents, columns of unknown gains, lost the noise of their squares.

    Noise in a column makes its factor look smaller; what it adds to the square of the column is the
    residual's variance by the gain's square.
    """
    found = list(sums.G)
    for j, columns in enumerate(problem.rows):
        for place, c in enumerate(columns):
            if problem.base_unknowns[c].kind == "gain" and beta[c]:
                found[j] = G = sums.G[j].copy()
                # E|x + n|^2 = |x|^2 + samples sigma^2 / gain^2
                noise = sums.counts[j] * (sigma[j] / beta[c]) ** 2
                G[place, place] -= min(noise, 0.5 * G[place, place])
    return Sums(tuple(found), sums.counts)


def _parameter_share(problem: IdentificationProblem, j: int) -> float:
    """Return how many parameters a joint's rows account for: its share of each column."""
    share = np.zeros(problem.n)
    for columns in problem.rows:
        # a column that acts in k rows counts 1/k for each of them
        share[columns] += 1.0
    return float((1.0 / share[problem.rows[j]]).sum())


def squares(problem: IdentificationProblem, sums: Sums, beta: Array) -> Array:
    """Return the sum of squared residuals of each joint, shape (nv,)."""
    found = []
    for j, columns in enumerate(problem.rows):
        # |Y beta - tau|^2 = [beta, -1] G [beta, -1]
        x = np.append(beta[columns], -1.0)
        if sums.R is not None:
            found.append(float(np.sum((sums.R[j] @ x) ** 2)))
        else:
            found.append(max(float(x @ sums.G[j] @ x), 0.0))
    return np.array(found)


def residual_rms(problem: IdentificationProblem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square residual of each joint; NaN without samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(squares(problem, sums, beta) / sums.counts)


def activity(problem: IdentificationProblem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square of all parts of each row together, shape (nv,)."""
    found = []
    for columns, G, n in zip(problem.rows, sums.G, sums.counts, strict=True):
        moved = [c for c, k in enumerate(columns) if problem.base_unknowns[k].kind != "gain"]
        # size of each term Y_c beta_c, gains aside: they are measurements
        sizes = np.sqrt(np.maximum(np.diag(G)[moved], 0.0)) * beta[columns[moved]]
        found.append(np.linalg.norm(sizes) / np.sqrt(max(n, 1.0)))
    return np.array(found)


def balance_rows(problem: IdentificationProblem, sums: Sums) -> Array:
    """Return which rows have no measured force: a floating base, joints with unknown gains."""
    light: Array = _targets(sums) < BALANCED * activity(problem, sums, problem.base @ problem.start)
    light[list(problem.model.coordinates.actuated_indices)] = False
    return light | np.isnan(problem.choice.gains)


def load_rms(problem: IdentificationProblem, sums: Sums) -> Array:
    """Return the root mean square force of each row: measured, or of the parts that balance.

    NaN without samples.
    """
    first = activity(problem, sums, problem.base @ problem.start)
    found = np.where(balance_rows(problem, sums), np.maximum(first, _targets(sums)), _targets(sums))
    return np.where(sums.counts > 0, found, np.nan)


def _targets(sums: Sums) -> Array:
    sizes = np.sqrt(np.maximum([G[-1, -1] for G in sums.G], 0.0))
    return sizes / np.sqrt(np.maximum(sums.counts, 1e-300))


# relative size of what other columns leave of one, below which it has no effect of its own
INDEPENDENT = 1e-9


def fit_with_bounds(problem: IdentificationProblem, fit: Fit) -> Array:
    """Return the unknowns nearest to the loaded model among those that fit the data best.

    Inertias, offsets and gains are free; friction, rotors and springs are >= 0.  If the free
    solution has negative ones, the best fit within the bounds is found: what free columns explain
    is projected out, the rest is a problem of non-negative least squares, and the free unknowns
    are then estimated again.
    """
    start = problem.start
    bounded = np.array([u.kind in NOT_NEGATIVE for u in problem.unknowns], bool)
    size = np.maximum(np.abs(start), 1e-3)
    step = np.linalg.lstsq(problem.base * size, fit.beta - problem.base @ start, rcond=None)[0]
    # least squares with the least change of the unknowns relative to their size
    p: Array = start + size * step
    if not (p[bounded] < 0).any():
        return p
    # the problem in unknowns relative to their size, |C x - goal|
    C = fit.A @ problem.base * size
    goal = fit.b - C @ (start / size)
    free, own = C[:, ~bounded], C[:, bounded]
    low = start[bounded] / size[bounded]
    U, s, _ = np.linalg.svd(free, full_matrices=False)
    U = U[:, s > INDEPENDENT * s.max(initial=0.0)]
    # project out what the free columns explain
    left = own - U @ (U.T @ own)
    acts = np.linalg.norm(left, axis=0) > INDEPENDENT * np.linalg.norm(own, axis=0)
    # what acts only together with free inertias stays as loaded
    x = low.copy()
    target = goal - U @ (U.T @ goal) + left @ low
    x[acts] = non_negative(left[:, acts], target - left[:, ~acts] @ low[~acts])
    y = np.linalg.lstsq(free, goal - own @ (x - low), rcond=INDEPENDENT)[0]
    # back to the unknowns in their units
    p[bounded] = size[bounded] * x
    p[~bounded] = start[~bounded] + size[~bounded] * y
    return p


def non_negative(A: Array, b: Array) -> Array:
    """Return x >= 0 with the least |A x - b| (Lawson and Hanson, 1974, chapter 23)."""
    n = A.shape[1]
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    A = A / scale
    x, inside = np.zeros(n), np.zeros(n, bool)
    enough = 1e-12 * max(float(np.abs(A.T @ b).max(initial=0.0)), 1e-300)
    for _ in range(10 * n):
        # the gradient tells which number at zero would lower the residual most
        slope = np.where(inside, -np.inf, A.T @ (b - A @ x))
        if not n or slope.max() <= enough:
            break
        inside[np.argmax(slope)] = True
        while True:
            there = np.zeros(n)
            there[inside] = np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
            below = inside & (there <= 0)
            if not below.any():
                x = there
                break
            # go until the first number is zero, and leave it there
            share = np.where(below, x / np.maximum(x - there, 1e-300), np.inf)
            x = x + min(float(share.min()), 1.0) * (there - x)
            inside &= ~(below & (share <= share.min()))
            x[~inside] = 0.0
    found: Array = x / scale
    return found


# weights of the data, growing, so that the first steps go along wide valleys; and the relative
# decrease of the cost at which each stage ends
STAGES = ((1e-6, 1e-2), (1e-4, 1e-2), (1e-2, 1e-3), (1.0, 1e-8))
MAX_STEPS = 60  # steps of a stage, at most
MIN_RADIUS = 2e-3  # least radius of gyration of a loaded body [m]; smaller ones are point masses
MIN_MASS = 1e-4  # least mass of a loaded body, relative to the whole robot
_UPPER = ((0, 1), (1, 2), (0, 2))  # places of s12, s23, s13


@dataclass(frozen=True, eq=False)
class Consistent:
    """A fit by inertias that real bodies can have."""

    p: Array  # all unknowns, shape (unknowns,)
    beta: Array  # their base parameters
    # by how much the sum of squares, in units of noise, exceeds that of free parameters
    excess: float
    rounds: int
    z: Array  # where the descent ended: log-Cholesky parameters, then the joints' own numbers


def pseudo_inertia(pi: Array) -> Array:
    """Return J of ten parameters, shape (4, 4)."""
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = pi
    # Sigma = trace(I) / 2 - I, the second moments of mass
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, hx],
            [-xy, half - yy, -yz, hy],
            [-xz, -yz, half - zz, hz],
            [hx, hy, hz, m],
        ]
    )


def parameters(J: Array) -> Array:
    """Return the ten parameters of pseudo-inertias, shape (..., 10); linear in J."""
    xx, yy, zz = J[..., 0, 0], J[..., 1, 1], J[..., 2, 2]
    products = -J[..., 0, 1], -J[..., 0, 2], -J[..., 1, 2]
    h = J[..., 0, 3], J[..., 1, 3], J[..., 2, 3]
    return np.stack([J[..., 3, 3], *h, yy + zz, zz + xx, xx + yy, *products], axis=-1)


def physical(pi: Array, total: float) -> Array:
    """Return the nearest pseudo-inertia that is safely positive: a real body, of a real size."""
    J = pseudo_inertia(pi)
    m = max(float(J[3, 3]), MIN_MASS * total, 1e-9)
    c = J[:3, 3] / J[3, 3] if J[3, 3] > 0 else np.zeros(3)
    values, axes = np.linalg.eigh(J[:3, :3] - J[3, 3] * np.outer(c, c))
    # second moments about the centre of mass, none below a smallest radius of gyration
    spread = (axes * np.maximum(values, m * MIN_RADIUS**2)) @ axes.T
    found = np.empty((4, 4))
    # back to the origin of the body: the parallel axis theorem
    found[:3, :3] = spread + m * np.outer(c, c)
    found[:3, 3] = found[3, :3] = m * c
    found[3, 3] = m
    return found


def log_cholesky(J: Array) -> Array:
    """Return theta of a positive definite pseudo-inertia, shape (10,)."""
    # an upper triangular factor is a lower one of the reversed matrix
    U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    alpha = np.log(U[3, 3])
    U = U / U[3, 3]
    d = np.log(np.diag(U)[:3])
    return np.array([alpha, *d, U[0, 1], U[1, 2], U[0, 2], *U[:3, 3]])


def factors(theta: Array) -> tuple[Array, Array]:
    """Return U of bodies, shape (n, 4, 4), and dU/dtheta, shape (n, 10, 4, 4)."""
    n = len(theta)
    scale = np.exp(theta[:, 0])
    U = np.zeros((n, 4, 4))
    D = np.zeros((n, 10, 4, 4))
    U[:, 3, 3] = scale
    for k in range(3):
        U[:, k, k] = D[:, 1 + k, k, k] = scale * np.exp(theta[:, 1 + k])
        row, column = _UPPER[k]
        U[:, row, column] = scale * theta[:, 4 + k]
        U[:, k, 3] = scale * theta[:, 7 + k]
        D[:, 4 + k, row, column] = D[:, 7 + k, k, 3] = scale
    # all elements scale with e^alpha
    D[:, 0] = U
    return U, D


def fit_consistent(
    problem: IdentificationProblem, fit: Fit, prior: float, near: Consistent | None = None
) -> Consistent:
    """Return unknowns that real bodies can have and that fit the data best.

    Args:
        problem: the columns.
        fit: what the data say.
        prior: weight of the divergence from the loaded model; 1 lets a body that the data do not
            show differ by about its own size.
        near: a fit to other samples of the same robot, to start from.
    """
    bodies = problem.choice.bodies
    # the loaded bodies as log-Cholesky parameters: where the descent begins and what it stays near
    nb = len(bodies)
    loaded = problem.start[: 10 * nb].reshape(nb, 10)
    total = float(np.abs(loaded[:, 0]).sum())
    J0 = [physical(pi, total) for pi in loaded]
    whitening = np.array([np.linalg.inv(np.linalg.cholesky(J)) for J in J0]).reshape(nb, 4, 4)
    theta0 = np.concatenate([log_cholesky(J) for J in J0]) if nb else np.zeros(0)
    rest = problem.unknowns[10 * nb :]
    x0 = _start(problem, fit)[10 * nb :]
    # numbers of joints: friction, rotors and springs must not be negative
    bounded = np.array([u.kind in NOT_NEGATIVE for u in rest], bool)
    spread = _spread(problem, fit, x0)

    count = 10 * nb + len(rest)
    own = np.arange(10 * nb).reshape(nb, 10)
    rows = np.arange(16 * nb).reshape(nb, 16)
    at = np.arange(len(rest))
    # rows of the prior that never change: numbers of joints relative to their own size
    fixed = np.zeros((16 * nb + len(rest), 1 + count))
    fixed[16 * nb + at, 1 + 10 * nb + at] = np.sqrt(prior) / spread
    weight_of_prior = np.sqrt(2 * prior)

    def point(z: Array) -> tuple[Array, Array, Array]:
        """Return the unknowns, their derivatives, and the residuals of the prior with theirs."""
        U, D = factors(z[: 10 * nb].reshape(nb, 10))
        p = np.concatenate([parameters(U @ U.transpose(0, 2, 1)).ravel(), z[10 * nb :]])
        # d(U U^T) = dU U^T + (dU U^T)^T, and parameters are linear in it
        turned = D @ U[:, None].transpose(0, 1, 3, 2)
        dp = np.eye(count)
        slopes = parameters(turned + turned.transpose(0, 1, 3, 2))
        dp[own[:, :, None], own[:, None, :]] = slopes.transpose(0, 2, 1)
        squares = fixed.copy()
        squares[: 16 * nb, 0] = weight_of_prior * (whitening @ U).ravel()
        # the square in the divergence: |L0^-1 U|^2 = tr(J J0^-1)
        bent = weight_of_prior * (whitening[:, None] @ D).reshape(nb, 10, 16)
        squares[rows[:, :, None], 1 + own[:, None, :]] = bent.transpose(0, 2, 1)
        squares[16 * nb :, 0] = np.sqrt(prior) * (z[10 * nb :] - x0) / spread
        return p, dp, squares

    linear = np.zeros(count)
    for k in range(nb):
        # -log det(J J0^-1) = -8 alpha - 2 (d1 + d2 + d3) + constant
        linear[10 * k : 10 * k + 4] = np.array([-8.0, -2.0, -2.0, -2.0]) * prior
    z, rounds = np.concatenate([theta0, np.where(bounded, np.maximum(x0, 0.0), x0)]), 0
    free = np.concatenate([np.zeros(10 * nb, bool), bounded])
    if near is not None:
        z = near.z
    # follow the minimum while the weight of the data grows
    for weight, settled in STAGES if near is None else STAGES[-1:]:
        A = np.sqrt(weight) * fit.A @ problem.base
        b = np.sqrt(weight) * fit.b
        z, used = _descend(z, A, b, point, linear, free, settled)
        rounds += used
    p = point(z)[0]
    beta = problem.base @ p
    excess = float(np.sum((fit.A @ beta - fit.b) ** 2) - np.sum((fit.A @ fit.beta - fit.b) ** 2))
    return Consistent(p, beta, max(excess, 0.0), rounds, z)


def _start(problem: IdentificationProblem, fit: Fit) -> Array:
    """Return where the unknowns start: as loaded, but gains, which no model has, as fitted."""
    found = problem.start.copy()
    for c, k in enumerate(problem.keep):
        if problem.unknowns[k].kind == "gain":
            found[k] = fit.beta[c]
    return found


def _spread(problem: IdentificationProblem, fit: Fit, x0: Array) -> Array:
    """Return how far friction, offsets and rotors may be from the loaded model: their own size."""
    first = 10 * len(problem.choice.bodies)
    kept = {int(k): c for c, k in enumerate(problem.keep)}
    target = float(np.linalg.norm(fit.b)) or 1.0
    found = []
    for k, value in enumerate(x0, first):
        size = target / fit.scale[kept[k]] if k in kept else 1e-3
        found.append(max(abs(float(value)), size))
    return np.array(found)


Point = Callable[[Array], tuple[Array, Array, Array]]


def _descend(
    z: Array, A: Array, b: Array, point: Point, linear: Array, bounded: Array, settled: float
) -> tuple[Array, int]:
    """Return where Gauss-Newton steps with damping (Levenberg-Marquardt) lead, and their number."""

    def cost(p: Array, squares: Array, z: Array) -> float:
        data = A @ p - b
        return float(data @ data + squares[:, 0] @ squares[:, 0]) / 2 + float(linear @ z)

    p, dp, squares = point(z)
    now, damping, rounds = cost(p, squares, z), 1e-3, 0
    while rounds < MAX_STEPS:
        rounds += 1
        # Gauss-Newton: H = J^T J of the data and of the prior
        J = np.concatenate([A @ dp, squares[:, 1:]])
        residual = np.concatenate([A @ p - b, squares[:, 0]])
        gradient = J.T @ residual + linear
        H = gram(J)
        diagonal = np.diag(H).copy()
        # what stands at its bound and would leave it stays there
        moves = ~(bounded & (z <= 0) & (gradient > 0))
        step = np.zeros_like(z)
        gained = 0.0
        for _ in range(12):
            # raise the damping until the cost falls (Levenberg-Marquardt)
            damped = H.copy()
            damped.flat[:: len(z) + 1] += damping * (diagonal + 1e-12)
            step[moves] = np.linalg.solve(damped[np.ix_(moves, moves)], -gradient[moves])
            there = np.where(bounded, np.maximum(z + step, 0.0), z + np.clip(step, -2.0, 2.0))
            tried = point(there)
            after = cost(tried[0], tried[2], there)
            if np.isfinite(after) and after <= now:
                gained, now, z = now - after, after, there
                p, dp, squares = tried
                damping = max(damping / 10, 1e-12)
                break
            damping *= 10
        if gained <= settled * max(abs(now), 1.0):
            break
    return z, rounds
