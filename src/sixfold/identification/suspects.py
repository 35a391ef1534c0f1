"""What may be wrong with a log that no robot of this kind explains: tried one by one.

Each suspicion is undone (degrees to radians, a sign turned, two columns exchanged) and the fit done
again.  One that explains the data far better than they are is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import inverse_dynamics
from sixfold.identification.findings import DataFinding, listed
from sixfold.identification.fit import (
    Sums,
    accumulate,
    block_sums,
    fit_consistent,
    load_rms,
    residual_rms,
    solve,
)
from sixfold.identification.friction import Probe
from sixfold.identification.log import Chunk
from sixfold.identification.problem import IdentificationProblem

SAMPLES = 2000  # samples that suspicions are tried on
# residual relative to the joint's own forces from which on a fit explains nothing
UNEXPLAINED = 0.35
FAR_BETTER = 0.5  # how much smaller residuals have to become for a suspicion to count
ROUGH = 1e-3  # noise relative to the forces that is good enough here; fits then take few steps
UNSEEN = 1e-10  # relative eigenvalue of the products below which columns count as dependent
MAX_JOINTS = 8  # joints among which columns are exchanged: those that fit worst
ALIKE = 1.3  # ratio of residuals up to which two suspicions explain the data equally well
# mistakes, the simplest first
CODES = (
    "degrees",
    "torque-sign",
    "motion-sign",
    "swapped-joints",
    "swapped-torques",
    "swapped-motions",
    "joint-sign",
)
FINALISTS = 5  # suspicions that are judged by inertias which real bodies can have


@dataclass(frozen=True)
class Suspicion:
    """One way in which a log may be wrong, and how to undo it."""

    code: str
    what: str
    undo: Callable[[list[Array]], list[Array]]


def unexplained(problem: IdentificationProblem, sums: Sums, beta: Array) -> Array:
    """Return the residual relative to the forces of each joint; zero for joints without a load."""
    loads = load_rms(problem, sums)
    there = loads > 0.02 * np.nanmax(loads)
    return np.where(there, residual_rms(problem, sums, beta) / np.where(there, loads, 1.0), 0.0)


def find_suspect(problem: IdentificationProblem, probe: Probe, prior: float) -> DataFinding | None:
    """Return what explains a log that does not fit, if one thing does."""
    step = max(1, len(probe.rows) // SAMPLES)
    chunk = tuple(x[::step] for x in probe.chunk)
    own, worst = _score(problem, chunk, prior)
    tried = []
    for one in _suspicions(problem, worst):
        q, v, a, tau, *rest = chunk
        changed = one.undo([q.copy(), v.copy(), a.copy(), tau.copy()])
        other = tuple([*changed, *rest])
        tried.append((_quick(problem, other), one, other))
    tried.sort(key=lambda item: item[0])
    scores = [(_score(problem, other, prior)[0], one) for _, one, other in tried[:FINALISTS]]
    least = min((score for score, _ in scores), default=np.inf)
    if least > FAR_BETTER * own:
        return None
    # robots with a plane of symmetry leave a choice: the simplest mistake first
    alike = [item for item in scores if item[0] <= ALIKE * least]
    best = min(alike, key=lambda item: CODES.index(item[1].code))
    what = f"{best[1].what}: undone, residuals fall from {own:.0%} to {best[0]:.1%} of the torques"
    return DataFinding("error", best[1].code, what, {"before": own, "after": best[0]})


def _score(problem: IdentificationProblem, chunk: Chunk, prior: float) -> tuple[float, Array]:
    """Return the mean relative residual of a physical fit, and the joints, the worst first."""
    sums, _ = accumulate(problem, [chunk], hold_out=False)
    fit = solve(problem, sums, noise=ROUGH)
    beta = fit_consistent(problem, fit, prior).beta if problem.choice.bodies else fit.beta
    loads = load_rms(problem, sums)
    relative = residual_rms(problem, sums, beta) / np.maximum(loads, 0.02 * loads.max() + 1e-300)
    return float(np.sqrt(np.mean(relative**2))), np.argsort(-relative)


def _quick(problem: IdentificationProblem, chunk: Chunk) -> float:
    """Return the mean relative residual of free parameters."""
    count = len(chunk[0])
    parts, _ = block_sums(problem, chunk, np.empty((count, problem.width)), False, None)
    squares = np.array([G[-1, -1] for G in parts])
    floor = 4e-4 * squares.max() + 1e-300
    total, goal = np.zeros((problem.n, problem.n)), np.zeros(problem.n)
    for columns, G, square in zip(problem.rows, parts, np.maximum(squares, floor), strict=True):
        total[np.ix_(columns, columns)] += G[:-1, :-1] / square
        goal[columns] += G[:-1, -1] / square
    scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
    total = total / np.outer(scale, scale)
    beta = np.linalg.lstsq(total, goal / scale, rcond=UNSEEN)[0]
    left = float((squares / np.maximum(squares, floor)).sum() - beta @ (goal / scale))
    return float(np.sqrt(max(left, 0.0) / len(squares)))


def _suspicions(problem: IdentificationProblem, worst: Array) -> Iterator[Suspicion]:
    model = problem.model
    pairs = {j: i for i, j in model.coordinates.additive}
    names = model.coordinates.v_names
    turning = [i for j, i in pairs.items()]

    def degrees(x: list[Array]) -> list[Array]:
        q, v, a, tau = x
        q[:, turning] = np.radians(q[:, turning])
        v[:, list(pairs)], a[:, list(pairs)] = (np.radians(y[:, list(pairs)]) for y in (v, a))
        return [q, v, a, tau]

    yield Suspicion("degrees", "positions seem to be in degrees", degrees)
    joints = [int(j) for j in worst if int(j) in pairs]
    for j in joints:
        for code, motion, force, words in (
            (
                "torque-sign",
                False,
                True,
                f"the torque of '{names[j]}' seems to have the wrong sign",
            ),
            ("motion-sign", True, False, f"the position of '{names[j]}' seems to count backwards"),
            (
                "joint-sign",
                True,
                True,
                f"joint '{names[j]}' seems to count backwards, torque and all",
            ),
        ):
            yield Suspicion(code, words, _turned(pairs[j], j, motion, force))
    some = joints[:MAX_JOINTS]
    for j, k in ((j, k) for n, j in enumerate(some) for k in some[n + 1 :]):
        both = f"'{names[min(j, k)]}' and '{names[max(j, k)]}' seem to be exchanged"
        for code, motion, force, words in (
            ("swapped-joints", True, True, f"joints {both}"),
            ("swapped-torques", False, True, f"the torques of {both}"),
            ("swapped-motions", True, False, f"the positions of {both}"),
        ):
            yield Suspicion(code, words, _exchanged(pairs, j, k, motion, force))


def _turned(i: int, j: int, motion: bool, force: bool) -> Callable[[list[Array]], list[Array]]:
    def undo(x: list[Array]) -> list[Array]:
        q, v, a, tau = x
        if motion:
            q[:, i] *= -1
            v[:, j] *= -1
            a[:, j] *= -1
        if force:
            tau[:, j] *= -1
        return [q, v, a, tau]

    return undo


def _exchanged(
    pairs: dict[int, int], j: int, k: int, motion: bool, force: bool
) -> Callable[[list[Array]], list[Array]]:
    def undo(x: list[Array]) -> list[Array]:
        q, v, a, tau = x
        if motion:
            places = [pairs[j], pairs[k]]
            q[:, places] = q[:, places[::-1]]
            for y in (v, a):
                y[:, [j, k]] = y[:, [k, j]]
        if force:
            tau[:, [j, k]] = tau[:, [k, j]]
        return [q, v, a, tau]

    return undo


# factor between measured and loaded forces, either way, that is not the error of a drawing
STRANGE = 4.0
# share of the squares that the loaded model has to explain for its size to say something
EXPLAINED = 0.5
LIGHT = 0.02  # force of a joint relative to the largest one below which it says nothing
# units in which 1 N m is that number
UNITS = {1e3: "N mm", 10.197: "kgf cm", 8.8507: "lbf in", 141.61: "ozf in"}


def strange_forces(problem: IdentificationProblem, probe: Probe) -> list[DataFinding]:
    """Return a finding if forces are many times those of the loaded model, or a small part.

    Each joint's measured force is fitted by that of the loaded bodies, times a factor, and by
    friction and an offset.
    """
    q, v, a, tau, *rest = probe.chunk
    bare = problem.model.without(friction=True, damping=True, springs=True)
    made = inverse_dynamics(bare, q, v, a, rest[0] if rest else None)
    sizes = np.sqrt((made**2).mean(axis=0))
    gains = np.array(problem.choice.gains)
    factors = {}
    for j in problem.choice.joints:
        if np.isnan(gains[j]) or sizes[j] <= LIGHT * sizes.max():
            continue
        # what friction and an offset leave of both
        X = np.column_stack([v[:, j], np.sign(v[:, j]), np.ones(len(v))])
        pair = np.column_stack([made[:, j], tau[:, j] * gains[j]])
        pair -= X @ np.linalg.lstsq(X, pair, rcond=None)[0]
        (own, cross), (_, total) = pair.T @ pair
        if own > 0 and total > 0 and cross > 0 and cross**2 > EXPLAINED * own * total:
            factors[problem.model.coordinates.v_names[j]] = float(cross / own)
    if not factors:
        return []
    usual = float(np.median(list(factors.values())))
    odd = [name for name, x in factors.items() if max(x / usual, usual / x) > STRANGE]
    if max(usual, 1 / usual) > STRANGE:
        what = f"torques are about {usual:.3g} times those of the loaded model"
        unit = [word for size, word in UNITS.items() if abs(usual / size - 1) < 0.25]
        what += f": perhaps in {unit[0]}" if unit else ": perhaps currents, or other units"
    elif odd:
        what = f"the torque of {listed(odd)} is {factors[odd[0]]:.3g} times that of the loaded "
        what += f"model, those of other joints {usual:.3g} times"
    else:
        return []
    return [DataFinding("warning", "torque-scale", what, {"factors": factors})]
