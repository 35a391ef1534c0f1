"""The law of dry friction of each joint: by the sign of its speed, or by tanh(v / v_s).

The speed v_s is the one unknown that enters nonlinearly.  Columns tanh(v / v_s) for many speeds are
made once; then the fit of the whole robot with any choice among them, and its residuals on samples
that were held out, follow from small matrices.  One joint after the other takes the speed that
predicts best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.findings import DataFinding, listed
from sixfold.identification.fit.columns import Problem, dry_column
from sixfold.identification.fit.cross_validation import FOLDS, RIDGE, folds_of, products_of
from sixfold.identification.fit.probe import OUTLIER, Probe

SPEEDS = np.geomspace(3e-3, 0.7, 25)
"""Friction speeds that are tried, relative to the joint's root mean square speed."""
SWEEPS = 2
"""How often each joint chooses its speed; the others' have then changed."""
CLEAR = 5e-3
"""By how much the held-out squares have to fall, relative to those of the joint, for a new law."""
EXACT = 1e-6
"""Residual relative to the largest force below which no law fits better than another."""
DISTANCES = np.geomspace(3e-4, 0.1, 6)
"""Distances over which friction builds up after a reversal, relative to the joint's range."""
HYSTERESIS = 0.85
"""Held-out residual with such friction, relative to without, below which there is some."""


@dataclass(frozen=True)
class FrictionLaw:
    """How the dry friction of a joint depends on its speed."""

    joint: str
    speed: float
    """v_s of f tanh(v / v_s) [rad/s or m/s]; 0 for f sign(v)."""
    loaded: float
    """v_s in the loaded model."""
    residual: float
    """Held-out residual of the joint with that speed [N m or N]."""
    loaded_residual: float
    """The same with the speed of the loaded model."""
    sign_residual: float
    """The same with sign(v)."""
    hysteresis_residual: float
    """The same with friction that builds up after each reversal in addition."""

    @property
    def words(self) -> str:
        """The law, as in 'tanh(v / 0.05)'."""
        return f"tanh(v / {self.speed:.3g})" if self.speed else "sign(v)"


@dataclass(frozen=True, eq=False)
class Friction:
    """What the samples say about dry friction."""

    laws: tuple[FrictionLaw, ...]
    """Of the joints that have some."""
    far: Array
    """Samples that no friction law explains, shape (samples of the probe, nv)."""


def find_friction(problem: Problem, probe: Probe) -> Friction:
    """Return the friction law of each joint, and which samples are outliers whatever the law.

    The loaded law stays unless another one predicts held-out samples clearly better.
    """
    trial = _Trial(problem, probe)
    if not problem.dry_places:
        return Friction((), trial.far)
    chosen = dict.fromkeys(trial.joints, 0)
    squares = loaded = trial.squares(chosen)
    for _ in range(SWEEPS):
        sigma2 = np.maximum(squares / trial.counts, trial.floor)
        for j in trial.joints:
            tried = [trial.squares(chosen | {j: n}, sigma2) for n in range(len(trial.speeds[j]))]
            costs = np.array([float((each / sigma2).sum()) for each in tried])
            best = int(np.argmin(costs))
            if costs[best] < costs[0] - CLEAR * trial.counts[j]:
                chosen[j] = best
            else:
                chosen[j] = 0
        squares = trial.squares(chosen, sigma2)
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


def model_speeds(problem: Problem) -> Array:
    """Return the friction speed of each freedom in the loaded model, shape (nv,)."""
    model = problem.model
    joints = enumerate(model.coordinates.v_joints)
    return np.array([model.bodies[o.body].friction_speed[j - o.v.start] for j, o in joints])


def speeds_of(problem: Problem, laws: tuple[FrictionLaw, ...]) -> Array:
    """Return the friction speed of each freedom by its law, as loaded where it has none."""
    names = problem.model.coordinates.v_names
    found = model_speeds(problem)
    for law in laws:
        found[names.index(law.joint)] = law.speed
    return found


def describe_laws(laws: tuple[FrictionLaw, ...], used: bool) -> list[DataFinding]:
    """Return what the laws say about the data.

    Args:
        laws: of the joints.
        used: whether the new friction speeds are those of the fit.
    """
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
    stuck = [law for law in laws if law.hysteresis_residual < HYSTERESIS * law.residual]
    if stuck:
        worst = min(law.hysteresis_residual / law.residual for law in stuck)
        what = f"friction of {listed([law.joint for law in stuck])} builds up after each reversal: "
        what += f"up to {1 - worst:.0%} of the residual, which no friction law of a model describes"
        found.append(DataFinding("note", "hysteresis", what))
    return found


class _Trial:
    """Fits with any friction speeds, and what they leave of held-out samples."""

    def __init__(self, problem: Problem, probe: Probe) -> None:
        self.problem = problem
        q, v = probe.chunk[:2]
        flat = problem.evaluate(probe.chunk)
        folds = folds_of(len(v))
        positions = {j: i for i, j in problem.model.coordinates.additive}
        loaded = model_speeds(problem)
        self._dry: dict[int, list[int]] = {}
        """For each joint with dry friction the places of its columns in its row."""
        for column, u in problem.dry_places:
            self._dry.setdefault(u.index, []).append(column - problem.places[u.index].start)
        self.joints = sorted(self._dry)
        self.speeds: dict[int, list[float]] = {}
        """Speeds to choose from: the loaded one, none (the sign), and a range."""
        self.far = np.zeros(v.shape, bool)
        self._products = []
        for j, place in enumerate(problem.places):
            parts = [flat[:, place]]
            if j in positions:
                usual = float(np.sqrt(np.mean(v[:, j] ** 2)))
                speeds = [float(loaded[j]), 0.0, *(usual * SPEEDS if usual > 0 else ())]
                kinds = [
                    problem.base_unknowns[problem.rows[j][n]].kind for n in self._dry.get(j, ())
                ]
                curves = [dry_column(kind, v[:, j], s) for s in speeds for kind in kinds or ["dry"]]
                runs = [presliding(q[run, positions[j]], v[run, j]) for run in probe.runs()]
                parts += [np.stack(curves, axis=-1), np.concatenate(runs)]
                self.speeds[j] = speeds
            X = np.column_stack(parts)
            goal = place.stop - place.start - 1
            self.far[:, j] = _far(np.delete(X, goal, axis=1), X[:, goal])
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
        """Return the sum of squared held-out residuals of each freedom.

        Args:
            chosen: number of the speed of each joint with dry friction.
            sigma2: variance of each freedom's residual; by default its mean square force.
            rich: whether friction that builds up after reversals is fitted too.
        """
        rows, n = self.problem.rows, self.problem.n
        size = n + rich * len(DISTANCES) * len(self.joints)
        each = []
        for j, P in enumerate(self._products):
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
        total = np.zeros((FOLDS, size + 1, size + 1))
        for (at, P), s in zip(each, sigma2, strict=True):
            total[:, at[:, None], at] += P / s
        rest = total.sum(axis=0) - total
        scale = np.sqrt(np.maximum(np.diagonal(total.sum(axis=0)), 1e-300))
        rest = rest / np.outer(scale, scale)
        inner = rest[:, :-1, :-1] + RIDGE * np.eye(size)
        x = np.linalg.solve(inner, rest[:, :-1, -1:])[..., 0] * scale[-1] / scale[:-1]
        x = np.concatenate([x, -np.ones((FOLDS, 1))], axis=1)
        found = [np.einsum("fi,fij,fj->", x[:, at], P, x[:, at]) for at, P in each]
        return np.maximum(found, 0.0)


def _far(X: Array, goal: Array) -> Array:
    """Return which samples are far from a fit with all these columns."""
    sizes = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    X = X / sizes
    x = np.linalg.solve(X.T @ X + 1e-8 * np.eye(X.shape[1]), X.T @ goal)
    left = np.abs(goal - X @ x)
    least = EXACT * float(np.abs(goal).max(initial=0.0))
    found: Array = left > OUTLIER * max(1.4826 * float(np.median(left)), least, 1e-300)
    return found


def presliding(x: Array, v: Array) -> Array:
    """Return columns of friction that builds up after each reversal, along one stretch of a motion.

    Dahl's law, z' = v (1 - z sign(v)) / d for some distances d: after a reversal at z0 and a way x,
    z is s + (z0 - s) exp(-x / d) with the sign s of the speed.  Sums of such columns describe any
    friction that depends on the way since the last reversals.

    Args:
        x: positions.
        v: velocities.
    """
    distances = DISTANCES * max(float(np.ptp(x)), 1e-300)
    s = np.sign(v)
    edges = [0, *(np.flatnonzero(np.diff(s)) + 1).tolist(), len(x)]
    found = np.zeros((len(x), len(distances)))
    z = np.zeros(len(distances))
    before = x[0]
    for start, stop in pairwise(edges):
        way = np.abs(x[start:stop] - before)[:, None]
        found[start:stop] = s[start] + (z - s[start]) * np.exp(-way / distances)
        z, before = found[stop - 1], x[stop - 1]
    return found
