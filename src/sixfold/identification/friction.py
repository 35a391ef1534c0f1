"""Friction laws and the delay of torques, judged by samples that took no part in the fit.

Least squares judged by samples that took no part: one joint, many columns, a few folds.

The products of all columns are made once for each fold; a fit to the other folds and its residuals
on this one then follow from small matrices, for as many choices of columns and goals as wanted.

The law of dry friction of each joint: by the sign of its speed, or by tanh(v / v_s).

The speed v_s is the one unknown that enters nonlinearly.  Columns tanh(v / v_s) for many speeds are
made once; then the fit of the whole robot with any choice among them, and its residuals on samples
that were held out, follow from small matrices.  One joint after the other takes the speed that
predicts best.

The delay between torques and motion, found by which one predicts held-out samples best.

A delay is named only if nothing else explains it: friction that is not modelled, or that builds up
after each reversal, shifts torques in time as well.  So each joint is fitted a second time with all
its inertias and a rich friction law, and the delay has to lower the held-out residuals there too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.findings import DataFinding, FrictionLaw, join_names
from sixfold.identification.fit import BLOCK, gram, product
from sixfold.identification.log import Chunk, Log
from sixfold.identification.problem import Choice, IdentificationProblem, dry_column
from sixfold.identification.samples import resample_evenly

MAX_BLOCKS = 40  # blocks that are kept, at most: 20 s at 1 kHz as a whole
MAX_CORRELATION = 200  # samples over which residuals may be correlated
OUTLIER = 6.0  # robust standard deviations from which a residual is an outlier
OUTLIER_SHARE = 5e-4  # share of outliers from which on samples are weighed by their residuals
HUBER = 2.0  # standard deviations from which a residual counts linearly


class Keeper:
    """Keeps every block of a short log, every second of a longer one, every fourth..."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._blocks: list[tuple[int, Chunk]] = []
        self._every, self._number = 1, 0

    def __call__(self, seen: int, block: Chunk) -> None:
        """Look at the next block."""
        if self._number % self._every == 0:
            self._blocks.append((self._number, tuple(x.copy() for x in block)))
            if len(self._blocks) > MAX_BLOCKS:
                self._every *= 2
                self._blocks = [b for b in self._blocks if b[0] % self._every == 0]
        self._number += 1

    def probe(self) -> Probe:
        """Return what was kept."""
        arrays = zip(*(block for _, block in self._blocks), strict=True)
        rows = [number * BLOCK + np.arange(len(block[0])) for number, block in self._blocks]
        return Probe(tuple(np.concatenate(x) for x in arrays), np.concatenate(rows))


@dataclass(frozen=True, eq=False)
class Probe:
    """Samples of a log, with their numbers."""

    chunk: Chunk
    rows: Array  # number of each sample in the log

    def residuals(self, problem: IdentificationProblem, beta: Array) -> tuple[Array, Array]:
        """Return targets and their residuals, each of shape (samples, nv)."""
        flat = problem.evaluate(self.chunk)
        return targets(problem, flat), residuals(problem, flat, beta)

    def runs(self) -> list[slice]:
        """Return the stretches in which samples follow each other."""
        breaks = np.flatnonzero(np.diff(self.rows) != 1) + 1
        edges = [0, *breaks.tolist(), len(self.rows)]
        return [slice(i, j) for i, j in itertools.pairwise(edges)]


def targets(problem: IdentificationProblem, flat: Array) -> Array:
    """Return what the columns have to give, from the rows of the kernel."""
    return np.stack([flat[:, place.stop - 1] for place in problem.places], axis=-1)


def residuals(problem: IdentificationProblem, flat: Array, beta: Array) -> Array:
    """Return target minus fit, from the rows of the kernel."""
    found = np.empty((len(flat), len(problem.rows)))
    for j, (columns, place) in enumerate(zip(problem.rows, problem.places, strict=True)):
        part = flat[:, place]
        found[:, j] = part[:, -1] - product(part[:, :-1], beta[columns])
    return found


def inflation(probe: Probe, left: Array) -> Array:
    """Return by how much correlation in time raises the variance of estimates, for each joint.

    1 + 2 (sum of autocorrelations), for columns that change slowly against the residuals; summed up
    to the first one that is not significant.
    """
    # short stretches tell nothing about correlation
    runs = [run for run in probe.runs() if run.stop - run.start > 32]
    if not runs:
        return np.ones(left.shape[1])
    most = min(MAX_CORRELATION, min(run.stop - run.start for run in runs) // 4)
    total = np.zeros((most + 1, left.shape[1]))
    count = 0
    for run in runs:
        r = left[run]
        n = len(r)
        # autocorrelation by Wiener and Khinchin: the spectrum's square, padded against wrapping
        spectrum = np.fft.rfft(r, 2 * n, axis=0)
        total += np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: most + 1]
        count += n
    with np.errstate(invalid="ignore", divide="ignore"):
        # relative to lag zero; three standard errors of white noise end the sum
        rho = np.where(total[0] > 0, total / total[0], 0.0)
    noise = 3.0 / np.sqrt(count)
    found = []
    for column in rho.T:
        quiet = np.flatnonzero(column[1:] < noise)
        end = int(quiet[0]) if len(quiet) else most
        found.append(1.0 + 2.0 * float(column[1 : 1 + end].sum()))
    return np.array(found)


def robust_sigma(left: Array) -> Array:
    """Return the standard deviation of residuals by their median, for each joint."""
    middle = np.median(left, axis=0)
    return 1.4826 * np.median(np.abs(left - middle), axis=0)


def near_rest(v: Array) -> Array:
    """Return where a joint hardly moves, so that the sign of dry friction is noise."""
    slow: Array = np.abs(v) < 0.02 * np.sqrt(np.mean(v**2, axis=0))
    return slow


def huber(problem: IdentificationProblem, beta: Array, sigma: Array):  # type: ignore[no-untyped-def]
    """Return weights of samples: one near the fit, falling with the residual further out."""

    def weigh(flat: Array, _: Chunk) -> Array:
        size = np.abs(residuals(problem, flat, beta)) / sigma
        return HUBER / np.maximum(size, HUBER)

    return weigh


FOLDS = 5  # parts of the samples, each of which is held out once
RIDGE = 1e-10  # weight that keeps columns apart which the samples do not, relative to their squares


def folds_of(count: int, stretches: int = 4) -> Array:
    """Return the fold of each sample: neighbours share one, and a fold has several stretches."""
    found: Array = np.arange(count) * FOLDS * stretches // max(count, 1) % FOLDS
    return found


def products_of(X: Array, folds: Array) -> Array:
    """Return X^T X of each fold, shape (FOLDS, columns, columns)."""
    return np.stack([gram(X[folds == f]) for f in range(FOLDS)])


def held_out_squares(products: Array, columns: Sequence[int], goals: Sequence[int]) -> Array:
    """Return the sum of squared residuals on the held-out samples, for each goal."""
    # columns of equal size, so that one ridge serves all
    sizes = np.sqrt(np.maximum(np.diagonal(products.sum(axis=0)), 1e-300))
    scaled = products / np.outer(sizes, sizes)
    whole = scaled.sum(axis=0)
    inner, outer = np.ix_(columns, columns), np.ix_(columns, goals)
    total = np.zeros(len(goals))
    for G in scaled:
        rest = whole - G
        # fit to the other folds, then |y - X x|^2 on this one from its products
        x = np.linalg.solve(rest[inner] + RIDGE * np.eye(len(columns)), rest[outer])
        total += np.diagonal(G)[goals] - 2 * (x * G[outer]).sum(axis=0)
        total += (x * (G[inner] @ x)).sum(axis=0)
    found: Array = np.maximum(total, 0.0) * sizes[goals] ** 2
    return found


# friction speeds that are tried, relative to the joint's root mean square speed
SPEEDS = np.geomspace(3e-3, 0.7, 25)
SWEEPS = 2  # how often each joint chooses its speed; the others' have then changed
# by how much the held-out squares have to fall, relative to those of the joint, for a new law
CLEAR = 5e-3
EXACT = 1e-6  # residual relative to the largest force below which no law fits better than another
# distances over which friction builds up after a reversal, relative to the joint's range
DISTANCES = np.geomspace(3e-4, 0.1, 6)
# held-out residual with such friction, relative to without, below which there is some
HYSTERESIS = 0.85


@dataclass(frozen=True, eq=False)
class Friction:
    """What the samples say about dry friction."""

    laws: tuple[FrictionLaw, ...]  # of the joints that have some
    far: Array  # samples that no friction law explains, shape (samples of the probe, nv)


def find_friction(problem: IdentificationProblem, probe: Probe) -> Friction:
    """Return the friction law of each joint, and which samples are outliers whatever the law.

    The loaded law stays unless another one predicts held-out samples clearly better.
    """
    # products of all columns once; every choice of speeds then follows from them
    trial = _Trial(problem, probe)
    if not problem.dry_places:
        return Friction((), trial.far)
    chosen = dict.fromkeys(trial.joints, 0)
    squares = loaded = trial.squares(chosen)
    for _ in range(SWEEPS):
        # weights of the rows from the choice so far
        sigma2 = np.maximum(squares / trial.counts, trial.floor)
        for j in trial.joints:
            tried = [trial.squares(chosen | {j: n}, sigma2) for n in range(len(trial.speeds[j]))]
            costs = np.array([float((each / sigma2).sum()) for each in tried])
            # the loaded law (number 0) stays unless another one is clearly better
            best = int(np.argmin(costs))
            chosen[j] = best if costs[best] < costs[0] - CLEAR * trial.counts[j] else 0
        squares = trial.squares(chosen, sigma2)
    # what friction with memory would explain in addition
    rich = trial.squares(chosen, sigma2, rich=True)
    names = problem.model.coordinates.v_names
    laws = []
    for j in trial.joints:
        sign = trial.squares(chosen | {j: 1}, sigma2)[j]
        sums = np.array([squares[j], loaded[j], sign, rich[j]])
        sizes = np.sqrt(np.maximum(sums / trial.counts[j], trial.floor))
        speeds = (float(trial.speeds[j][n]) for n in (chosen[j], 0))
        laws.append(FrictionLaw(names[j], *speeds, *map(float, sizes)))
    return Friction(tuple(laws), trial.far)


def model_speeds(problem: IdentificationProblem) -> Array:
    """Return the friction speed of each DOF in the loaded model, shape (nv,)."""
    model = problem.model
    joints = enumerate(model.coordinates.v_joints)
    return np.array([model.bodies[o.body].friction_speed[j - o.v.start] for j, o in joints])


def speeds_of(problem: IdentificationProblem, laws: tuple[FrictionLaw, ...]) -> Array:
    """Return the friction speed of each DOF by its law, as loaded where it has none."""
    names = problem.model.coordinates.v_names
    found = model_speeds(problem)
    for law in laws:
        found[names.index(law.joint)] = law.speed
    return found


def describe_laws(laws: tuple[FrictionLaw, ...], used: bool) -> list[DataFinding]:
    """Return what the laws say about the data."""
    found = []
    new = [law for law in laws if law.speed != law.loaded]
    if new:
        first = min(new, key=lambda law: law.residual / law.loaded_residual)
        better = 1 - first.residual / first.loaded_residual
        words = [f"{law.words} for '{law.joint}'" for law in new]
        more = f" and {len(words) - 4} more" if len(words) > 4 else ""
        what = f"dry friction fits better by {', '.join(words[:4])}{more}: "
        what += f"held-out residuals of '{first.joint}' fall by {better:.0%}"
        what += "" if used else "; the samples are read once, so that the loaded law was used"
        values = {law.joint: law.speed for law in new}
        found.append(
            DataFinding("note" if used else "warning", "friction-speed", what, {"speeds": values})
        )
    # residuals that friction with memory explains
    stuck = [law for law in laws if law.hysteresis_residual < HYSTERESIS * law.residual]
    if stuck:
        worst = min(law.hysteresis_residual / law.residual for law in stuck)
        names = join_names([law.joint for law in stuck])
        what = f"friction of {names} builds up after each reversal: "
        what += f"up to {1 - worst:.0%} of the residual, which no friction law of a model describes"
        found.append(DataFinding("note", "hysteresis", what))
    return found


class _Trial:
    """Fits with any friction speeds, and what they leave of held-out samples."""

    def __init__(self, problem: IdentificationProblem, probe: Probe) -> None:
        self.problem = problem
        q, v = probe.chunk[:2]
        flat = problem.evaluate(probe.chunk)
        folds = folds_of(len(v))
        positions = {j: i for i, j in problem.model.coordinates.additive}
        loaded = model_speeds(problem)
        # for each joint with dry friction the places of its columns in its row
        self._dry: dict[int, list[int]] = {}
        for column, u in problem.dry_places:
            self._dry.setdefault(u.index, []).append(column - problem.places[u.index].start)
        self.joints = sorted(self._dry)
        # speeds to choose from: the loaded one, none (the sign), and a range
        self.speeds: dict[int, list[float]] = {}
        self.far = np.zeros(v.shape, bool)
        self._products = []
        for j, place in enumerate(problem.places):
            parts = [flat[:, place]]
            if j in positions:
                usual = float(np.sqrt(np.mean(v[:, j] ** 2)))
                # candidates: as loaded, by the sign, and a range about the usual speed
                speeds = [float(loaded[j]), 0.0, *(usual * SPEEDS if usual > 0 else ())]
                kinds = [
                    problem.base_unknowns[problem.rows[j][n]].kind for n in self._dry.get(j, ())
                ]
                curves = [dry_column(kind, v[:, j], s) for s in speeds for kind in kinds or ["dry"]]
                runs = [presliding(q[run, positions[j]], v[run, j]) for run in probe.runs()]
                parts += [np.stack(curves, axis=-1), np.concatenate(runs)]
                self.speeds[j] = speeds
            # columns of the problem, its target, curves for all speeds, friction with memory
            X = np.column_stack(parts)
            goal = place.stop - place.start - 1
            self.far[:, j] = _find_outliers(np.delete(X, goal, axis=1), X[:, goal])
            near = ~self.far[:, j]
            self._products.append(products_of(X[near], folds[near]))
        self.counts = np.maximum((~self.far).sum(axis=0), 1)
        sizes = [P.sum(axis=0)[self._goal(j), self._goal(j)] for j, P in enumerate(self._products)]
        self.floor = EXACT**2 * max(float(np.max(sizes / self.counts)), 1e-200)

    def _goal(self, j: int) -> int:
        return len(self.problem.rows[j])

    def _places(self, j: int, chosen: int) -> list[int]:
        """Return the columns of a joint's row, those of dry friction as chosen, in order."""
        found, own = list(range(self._goal(j))), self._dry.get(j, [])
        for n, place in enumerate(own):
            found[place] = self._goal(j) + 1 + chosen * len(own) + n
        return found

    @cached_property
    def _after(self) -> dict[int, Array]:
        """For each joint with dry friction the columns of friction after reversals."""
        return {
            j: np.arange(self._products[j].shape[1] - len(DISTANCES), self._products[j].shape[1])
            for j in self.joints
        }

    def squares(
        self, chosen: dict[int, int], sigma2: Array | None = None, *, rich: bool = False
    ) -> Array:
        """Return the sum of squared held-out residuals of each DOF.

        Args:
            chosen: number of the speed of each joint with dry friction.
            sigma2: variance of each DOF's residual; by default its mean square force.
            rich: whether friction that builds up after reversals is fitted too.
        """
        rows, n = self.problem.rows, self.problem.n
        size = n + rich * len(DISTANCES) * len(self.joints)
        each = []
        for j, P in enumerate(self._products):
            # products of this row's columns, dry friction as chosen, and of its target
            columns = np.append(self._places(j, chosen.get(j, 0)), self._goal(j)).astype(int)
            at = np.append(rows[j], size)
            if rich and j in self._after:
                first = n + self.joints.index(j) * len(DISTANCES)
                columns = np.concatenate([self._after[j], columns])
                at = np.concatenate([first + np.arange(len(DISTANCES)), at])
            each.append((at, P[:, columns[:, None], columns]))
        if sigma2 is None:
            goals = np.array([P[:, -1, -1].sum() for _, P in each])
            sigma2 = np.maximum(goals / self.counts, self.floor)
        # the normal equations of all rows together, for each fold
        total = np.zeros((FOLDS, size + 1, size + 1))
        for (at, P), s in zip(each, sigma2, strict=True):
            total[:, at[:, None], at] += P / s
        # fit to all folds but one, at equal scale, for each fold
        rest = total.sum(axis=0) - total
        scale = np.sqrt(np.maximum(np.diagonal(total.sum(axis=0)), 1e-300))
        rest = rest / np.outer(scale, scale)
        inner = rest[:, :-1, :-1] + RIDGE * np.eye(size)
        x = np.linalg.solve(inner, rest[:, :-1, -1:])[..., 0] * scale[-1] / scale[:-1]
        x = np.concatenate([x, -np.ones((FOLDS, 1))], axis=1)
        # residuals on the fold left out: [x, -1] P [x, -1]
        found = [np.einsum("fi,fij,fj->", x[:, at], P, x[:, at]) for at, P in each]
        return np.maximum(found, 0.0)


def _find_outliers(X: Array, goal: Array) -> Array:
    """Return which samples are far from a fit with all these columns."""
    sizes = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    X = X / sizes
    x = np.linalg.solve(X.T @ X + 1e-8 * np.eye(X.shape[1]), X.T @ goal)
    # a robust scale: the median knows nothing of outliers
    left = np.abs(goal - X @ x)
    least = EXACT * float(np.abs(goal).max(initial=0.0))
    found: Array = left > OUTLIER * max(1.4826 * float(np.median(left)), least, 1e-300)
    return found


def presliding(x: Array, v: Array) -> Array:
    """Return columns of friction that builds up after each reversal, along one stretch of a motion.

    Dahl's law, z' = v (1 - z sign(v)) / d for some distances d: after a reversal at z0 and a way x,
    z is s + (z0 - s) exp(-x / d) with the sign s of the speed.  Sums of such columns describe any
    friction that depends on the way since the last reversals.
    """
    distances = DISTANCES * max(float(np.ptp(x)), 1e-300)
    s = np.sign(v)
    # stretches between reversals, in which the sign of the speed is constant
    edges = [0, *(np.flatnonzero(np.diff(s)) + 1).tolist(), len(x)]
    found = np.zeros((len(x), len(distances)))
    z = np.zeros(len(distances))
    before = x[0]
    for start, stop in pairwise(edges):
        way = np.abs(x[start:stop] - before)[:, None]
        found[start:stop] = s[start] + (z - s[start]) * np.exp(-way / distances)
        z, before = found[stop - 1], x[stop - 1]
    return found


MAX_SECONDS = 0.1  # longest delay that is looked for [s]
MAX_SHIFT = 200  # the same in samples
MAX_SAMPLES = 20_000  # samples of the stretch that is searched
# held-out residual with a delay taken off, relative to without, below which that is of use
USEFUL = 0.99
# the same where friction of any kind is fitted too, below which it is a delay and no friction
CLEAR_DELAY = 0.97

SHARP = 0.02  # relative rise of the squares on both sides of a minimum that is no noise
EDGE = 0.3  # the same above which the delay is a whole number of samples
ALIKE = 0.2  # relative difference of two delays up to which they are the same


@dataclass(frozen=True)
class Lag:
    """A delay of torques."""

    seconds: float  # by how much torques are late; negative if they are early
    ratio: float  # held-out residual with the delay taken off, relative to without


NO_LAG = Lag(0.0, 1.0)


def find_lag(
    problem: IdentificationProblem,
    logs: tuple[Log, ...],
    dt: float,
    rich: Callable[[Choice], IdentificationProblem],
) -> Lag:
    """Return by how much torques are late; no lag if friction explains the data as well."""
    log = resample_evenly(max(logs, key=len), dt)
    # without a measured force, or with an unknown gain, a row has no torque to shift
    gains = np.array(problem.choice.gains)
    rows = [j for j in problem.choice.joints if not np.isnan(gains[j])]
    if not rows:
        return NO_LAG
    # first with the columns of the problem itself
    own = _Costs(problem, log, dt, rows)
    first = _search(own, dt)
    if first.ratio >= USEFUL or abs(first.seconds) < 0.5 * dt:
        return NO_LAG
    choice = replace(
        problem.choice,
        bodies=tuple(range(problem.model.nb)),
        viscous=True,
        dry="both",
        offsets=True,
        rotors=True,
        springs=True,
    )
    # then with everything unknown and friction with memory: a true delay remains
    second = _search(_Costs(rich(choice), log, dt, rows, memory=True), dt)
    if second.ratio >= CLEAR_DELAY or abs(second.seconds) < 0.5 * dt:
        return NO_LAG
    if abs(second.seconds - first.seconds) <= max(dt, ALIKE * abs(first.seconds)):
        return first
    # friction explains a part of it: the rest, if the problem itself gains by that
    ratio = own.ratio(round(second.seconds / dt))
    return Lag(second.seconds, ratio) if ratio < USEFUL else NO_LAG


class _Costs:
    """Held-out squares of joints by the number of samples that torques are shifted by."""

    def __init__(
        self,
        problem: IdentificationProblem,
        log: Log,
        dt: float,
        rows: list[int],
        memory: bool = False,
    ) -> None:
        """Make the columns of a stretch of the log, of friction that remembers reversals too."""
        n = min(len(log), MAX_SAMPLES)
        start = (len(log) - n) // 2
        part = slice(start, start + n)
        arrays = [x[part] for x in (log.q, log.v, log.a, log.tau, log.f_ext) if x is not None]
        flat = problem.evaluate(arrays)
        self.most = min(MAX_SHIFT, int(MAX_SECONDS / dt), n // 8)
        # samples that have a torque at every shift that is tried
        self._inner = slice(self.most, n - self.most)
        self._goals = [flat[:, problem.places[j].stop - 1] for j in rows]
        self._columns = [flat[self._inner, problem.places[j]][:, :-1] for j in rows]
        if problem.dry_places:
            more = _friction_columns(problem, arrays[0], arrays[1], rows, memory)
            pairs = zip(self._columns, more, strict=True)
            self._columns = [np.column_stack([a, b[self._inner]]) for a, b in pairs]
        self._folds = folds_of(n - 2 * self.most)
        self._found: dict[int, Array] = {}

    def __call__(self, shifts: list[int]) -> Array:
        """Return the mean logarithm of the joints' squares for each shift."""
        new = [s for s in shifts if s not in self._found]
        if new:
            each = []
            for columns, goal in zip(self._columns, self._goals, strict=True):
                # targets of all shifts side by side: their columns are the same
                ends = [(self.most + s, len(goal) - self.most + s) for s in new]
                X = np.column_stack([columns, *(goal[i:j] for i, j in ends)])
                k = columns.shape[1]
                each.append(
                    held_out_squares(products_of(X, self._folds), range(k), range(k, X.shape[1]))
                )
            costs = np.log(np.maximum(each, 1e-300))
            self._found |= {s: costs[:, m] for m, s in enumerate(new)}
        return np.array([self._found[s].mean() for s in shifts])

    def ratio(self, shift: int) -> float:
        """Return the residual with the torques shifted, relative to without: of the mean joint."""
        there, here = self([shift, 0])
        return float(np.exp((there - here) / 2))


def _search(cost: _Costs, dt: float) -> Lag:
    """Return the shift with the least cost.

    Torques are shifted by whole samples; between samples the minimum is that of a parabola through
    the sums of squares, so that noise is not averaged by interpolation.
    """
    most = cost.most
    if most < 1:
        return NO_LAG
    # coarse to fine: seventeen shifts, then the neighbourhood of the best one
    best, step = 0, max(1, most // 8)
    while True:
        near = [s for s in range(best - 8 * step, best + 8 * step + 1, step) if abs(s) <= most]
        best = near[int(np.argmin(cost(near)))]
        if step == 1:
            break
        step = max(1, step // 8)
    shift = float(best)
    if abs(best) < most:
        # wide enough that noise does not make neighbours alike
        width, widest = 1, min(max(1, most // 10), most - abs(best))
        low, mid, high = cost([best - width, best, best + width])
        while min(low, high) - mid < SHARP and width < widest:
            width = min(2 * width, widest)
            low, mid, high = cost([best - width, best, best + width])
        # the parabola through three points
        bend = low - 2 * mid + high
        # a minimum as sharp as that of dry friction has no bottom to look for
        if bend > 0 and min(low, high) - mid < EDGE:
            shift += width * float(np.clip((low - high) / (2 * bend), -1.0, 1.0))
    return Lag(shift * dt, cost.ratio(best))


def _friction_columns(
    problem: IdentificationProblem, q: Array, v: Array, rows: list[int], memory: bool
) -> list[Array]:
    """Return columns of friction laws of many shapes for each joint, with memory if wanted."""
    places = {j: i for i, j in problem.model.coordinates.additive}
    found = []
    for j in rows:
        usual = max(float(np.sqrt(np.mean(v[:, j] ** 2))), 1e-300)
        parts = [np.tanh(v[:, j, None] / (usual * SPEEDS[::4]))]
        if memory:
            parts.append(presliding(q[:, places[j]], v[:, j]))
        found.append(np.concatenate(parts, axis=1))
    return found
