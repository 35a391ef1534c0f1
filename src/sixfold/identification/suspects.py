"""What may be wrong with a log that no robot of this kind explains: tried one by one.

Each suspicion is undone (degrees to radians, a sign turned, two columns exchanged) and the fit done
again.  One that explains the data far better than they are is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.findings import DataFinding, join_names
from sixfold.identification.fit import (
    Sums,
    accumulate,
    block_sums,
    fit_consistent,
    load_rms,
    residual_rms,
    solve,
    weighted_products,
)
from sixfold.identification.friction import Probe
from sixfold.identification.log import Chunk
from sixfold.identification.problem import IdentificationProblem
from sixfold.quantities.dynamics import inverse_dynamics

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


def relative_residuals(problem: IdentificationProblem, sums: Sums, beta: Array) -> Array:
    """Return the residual relative to the forces of each joint; zero for joints without a load."""
    loads = load_rms(problem, sums)
    there = loads > 0.02 * np.nanmax(loads)
    return np.where(there, residual_rms(problem, sums, beta) / np.where(there, loads, 1.0), 0.0)


def find_suspect(problem: IdentificationProblem, probe: Probe, prior: float) -> DataFinding | None:
    """Return what explains a log that does not fit, if one thing does."""
    # every mistake is undone on a few samples, judged by free parameters
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
    # the best ones again, by inertias that bodies can have
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
    sums = Sums(tuple(parts), np.full(len(parts), count))
    total, goal = weighted_products(problem, sums, np.sqrt(np.maximum(squares, floor)))
    scale = np.sqrt(np.maximum(np.diag(total), 1e-300))
    total = total / np.outer(scale, scale)
    beta = np.linalg.lstsq(total, goal / scale, rcond=UNSEEN)[0]
    left = float((squares / np.maximum(squares, floor)).sum() - beta @ (goal / scale))
    return float(np.sqrt(max(left, 0.0) / len(squares)))


# mistakes in the columns of one joint: code, of the motion, of the torque, in words
SIGNS = (
    ("torque-sign", False, True, "the torque of '{}' seems to have the wrong sign"),
    ("motion-sign", True, False, "the position of '{}' seems to count backwards"),
    ("joint-sign", True, True, "joint '{}' seems to count backwards, torque and all"),
)
# the same of two joints
EXCHANGES = (
    ("swapped-joints", True, True, "joints '{}' and '{}' seem to be exchanged"),
    ("swapped-torques", False, True, "the torques of '{}' and '{}' seem to be exchanged"),
    ("swapped-motions", True, False, "the positions of '{}' and '{}' seem to be exchanged"),
)


def _suspicions(problem: IdentificationProblem, worst: Array) -> Iterator[Suspicion]:
    pairs = {j: i for i, j in problem.model.coordinates.additive}
    names = problem.model.coordinates.v_names

    def undo(
        change: Callable[[Array], Array], joints: list[int], motion: bool, force: bool
    ) -> Callable[[list[Array]], list[Array]]:
        """Return a function that changes the columns of some joints."""

        def apply(x: list[Array]) -> list[Array]:
            q, v, a, tau = x
            if motion:
                places = [pairs[j] for j in joints]
                q[:, places] = change(q[:, places])
                v[:, joints], a[:, joints] = change(v[:, joints]), change(a[:, joints])
            if force:
                tau[:, joints] = change(tau[:, joints])
            return x

        return apply

    what = "positions seem to be in degrees"
    yield Suspicion("degrees", what, undo(np.radians, list(pairs), True, False))
    joints = [int(j) for j in worst if int(j) in pairs]
    for j in joints:
        for code, motion, force, words in SIGNS:
            yield Suspicion(code, words.format(names[j]), undo(np.negative, [j], motion, force))
    for j, k in combinations(joints[:MAX_JOINTS], 2):
        both = names[min(j, k)], names[max(j, k)]
        for code, motion, force, words in EXCHANGES:
            yield Suspicion(code, words.format(*both), undo(np.fliplr, [j, k], motion, force))


# factor between measured and loaded forces, either way, that is not the error of a drawing
STRANGE = 4.0
# share of the squares that the loaded model has to explain for its size to say something
EXPLAINED = 0.5
LIGHT = 0.02  # force of a joint relative to the largest one below which it says nothing
# units in which 1 N m is that number
UNITS = {1e3: "N mm", 10.197: "kgf cm", 8.8507: "lbf in", 141.61: "ozf in"}


def torque_scale_findings(problem: IdentificationProblem, probe: Probe) -> list[DataFinding]:
    """Return a finding if forces are many times those of the loaded model, or a small part.

    Each joint's measured force is fitted by that of the loaded bodies, times a factor, and by
    friction and an offset.
    """
    q, v, a, tau, *rest = probe.chunk
    # forces of the loaded bodies, which friction and offsets are compared without
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
    # one factor for all joints is a unit; one joint alone is a gear or a gain
    usual = float(np.median(list(factors.values())))
    odd = [name for name, x in factors.items() if max(x / usual, usual / x) > STRANGE]
    if max(usual, 1 / usual) > STRANGE:
        what = f"torques are about {usual:.3g} times those of the loaded model"
        unit = [word for size, word in UNITS.items() if abs(usual / size - 1) < 0.25]
        what += f": perhaps in {unit[0]}" if unit else ": perhaps currents, or other units"
    elif odd:
        what = f"the torque of {join_names(odd)} is {factors[odd[0]]:.3g} times that of the loaded "
        what += f"model, those of other joints {usual:.3g} times"
    else:
        return []
    return [DataFinding("warning", "torque-scale", what, {"factors": factors})]
