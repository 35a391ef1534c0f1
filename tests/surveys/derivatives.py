"""Measure the derivatives of inverse and forward dynamics against 256 bits and against Pinocchio.

    python -m tests.surveys.derivatives [--trees 1000] [--every 10] [--no-robots] [--only NAME ...]

Trees: 1 to 20 bodies on joints of every type.  Of inverse dynamics the error is
max|x - x_ref| / max|x_ref| for each of the three matrices, with the spatial page in MPFR as the
reference.  Of forward dynamics the same error divided by the condition number of the mass matrix.
Where the matrix of velocities is zero or nearly so (one hinge, a symmetric body), its terms cancel:
there the error is relative to their size, max|M| max|v|, and to max|v| for forward dynamics.
"page" is the page on floats; "default" the public call, machine code, on every N-th tree.

Robots: every URDF of example-robot-data on a fixed and a floating base, the default call against
`computeRNEADerivatives` and `computeABADerivatives`, max|x - x_ref| / max|x_ref|; of forward
dynamics divided by the condition number of the mass matrix too.  Damping and friction are off:
Pinocchio leaves them out.  Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gmpy2
import numpy as np

import sixfold as sf
from sixfold.dynamics.derivatives import spatial
from sixfold.dynamics.kinematics import no_forces
from sixfold.quantities import readings as pages
from sixfold.scalar import plain
from tests.surveys.random_trees import precise
from tests.surveys.robots_vs_pinocchio import Pair, cases

BITS = 256
LARGEST = 20
BAR = 4e-14
"""Normwise, of inverse dynamics on trees."""
ROBOT_BAR = 1e-13
"""Normwise, against Pinocchio."""


class Measured(NamedTuple):
    """An error and where it was found."""

    what: str
    error: float
    where: str
    bar: float


def tree_errors(k: int, *, compiled: bool) -> Iterator[Measured]:
    """Yield the errors of tree number k."""
    rng = np.random.default_rng([17, k])
    model = sf.random_tree(int(rng.integers(1, LARGEST + 1)), 500_000 + k)
    q, v = sf.random_state(model, seed=rng)
    a = rng.standard_normal(model.nv)
    inverse, forward = reference(model, q, v, a)
    cond = np.linalg.cond(inverse[2])
    given = [x.tolist() for x in (q, v, a)]
    ways = {"page": (pages.inverse_dynamics_derivatives, pages.forward_dynamics_derivatives)}
    found = {
        way: [matrices(model, core(model, model.tree, *given)) for core in cores]
        for way, cores in ways.items()
    }
    if compiled:
        found["default"] = [
            np.array(sf.derivatives.inverse_dynamics_derivatives(model, q, v, a)),
            np.array(sf.derivatives.forward_dynamics_derivatives(model, q, v, a)),
        ]
    for way, (by_id, by_fd) in found.items():
        for letter, x, ref in zip("qva", by_id, inverse, strict=True):
            error = normwise(x, ref, terms(letter, v, inverse[2]))
            yield Measured(f"inverse d{letter}, {way}", error, model.name, BAR)
        for letter, x, ref in zip(("q", "v", "tau"), by_fd, forward, strict=True):
            error = normwise(x, ref, terms(letter, v)) / cond
            yield Measured(f"forward d{letter} / cond, {way}", error, model.name, BAR)


def reference(model: sf.Model, *state: Any) -> tuple[Any, Any]:
    """Return the derivatives of inverse and of forward dynamics from 256 bits, rounded."""
    with gmpy2.context(precision=BITS):
        tree = model.map(gmpy2.mpfr)
        q, v, a = (precise(x.tolist()) for x in state)
        x, xd = model.positions(q), model.velocities(v)
        exact = spatial.first_order(tree, x, xd, model.velocities(a), no_forces(tree))
        inverse = matrices(model, [n for matrix in exact for row in matrix for n in row])
        acc = pages.forward_dynamics(model, tree, q, v, a)
        at = spatial.first_order(tree, x, xd, model.velocities(acc), no_forces(tree))
        inverse_mass = pages.inverse_mass_matrix(model, tree, q)
        Minv = np.array([plain(n) for n in inverse_mass], object).reshape(model.nv, model.nv)
        Q, V = (np.array([[plain(n) for n in row] for row in m], object) for m in at[:2])
        forward = np.array([-Minv @ Q, -Minv @ V, Minv]).astype(float)
    return inverse, forward


def matrices(model: sf.Model, numbers: Any) -> Any:
    """Return three matrices of floats."""
    flat = np.array([float(plain(x)) for x in numbers])
    return flat.reshape(3, model.nv, model.nv)


def terms(letter: str, v: Any, M: Any = 1.0) -> float:
    """Return the size of the terms whose sum a derivative by velocities is; 0 for the others."""
    return float(np.abs(M).max() * np.abs(v).max()) if letter == "v" else 0.0


def normwise(x: Any, ref: Any, least: float = 0.0) -> float:
    """Return the error relative to the largest number, or to a size that this may fall short of."""
    size = np.abs(ref).max(initial=least)
    return float(np.abs(x - ref).max(initial=0.0) / (size or 1.0))


def robot_errors(pair: Pair, where: str, states: int = 3) -> Iterator[Measured]:
    """Yield differences from Pinocchio on one robot."""
    pin, model, rows = pair.pin, pair.ours, pair.rows()
    q, v = sf.random_state(model, states, seed=0)
    a = np.random.default_rng(0).standard_normal(v.shape)
    ours = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a)
    tau = sf.inverse_dynamics(model, q, v, a)
    try:
        forward = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    except sf.errors.SingularModelError:
        forward = None
    at = np.ix_(rows, rows)
    for k in range(states):
        pq, pv, pa, pt = pair.q(q[k]), *(np.zeros(pair.theirs.nv) for _ in range(3))
        pv[rows], pa[rows], pt[rows] = v[k], a[k], tau[k]
        found = pin.computeRNEADerivatives(pair.theirs, pair.data, pq, pv, pa)
        M = np.triu(found[2]) + np.triu(found[2], 1).T
        for letter, x, ref in zip("qva", ours, (*found[:2], M), strict=True):
            error = normwise(x[k], ref[at], terms(letter, v[k], M))
            yield Measured(f"inverse d{letter}", error, where, ROBOT_BAR)
        if forward is None:
            continue
        found = pin.computeABADerivatives(pair.theirs, pair.data, pq, pv, pt)
        Minv = np.triu(found[2]) + np.triu(found[2], 1).T
        cond = np.linalg.cond(M)
        for letter, x, ref in zip(("q", "v", "tau"), forward, (*found[:2], Minv), strict=True):
            error = normwise(x[k], ref[at], terms(letter, v[k])) / cond
            yield Measured(f"forward d{letter} / cond", error, where, ROBOT_BAR)


def all_robots(only: set[str]) -> Iterator[Measured]:
    import pinocchio as pin

    for name, path, floating, mimic in cases(only):
        if mimic == "couple":
            continue
        try:
            pair = Pair(pin, Path(path), floating, mimic)
        except ValueError:
            continue
        if pair.ours.nv:
            yield from robot_errors(pair, f"{name}, {'floating' if floating else 'fixed'}")


def report(title: str, found: list[Measured]) -> int:
    """Print the worst of each kind; return how many missed their bar."""
    missed = [m for m in found if not m.error <= m.bar]
    print(f"{title}: {len({m.where for m in found})}, {len(missed)} errors above the bar")
    for what in dict.fromkeys(m.what for m in found):
        worst = max((m for m in found if m.what == what), key=lambda m: m.error)
        print(f"  {what:<28}{worst.error:>10.1e}  bar {worst.bar:.0e}  ({worst.where})")
    for m in missed[:20]:
        print(f"  missed: {m.what} {m.error:.1e} on {m.where}")
    return len(missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--no-robots", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    trees = [
        m for k in range(options.trees) for m in tree_errors(k, compiled=k % options.every == 0)
    ]
    missed = report("trees", trees) if trees else 0
    if not options.no_robots:
        missed += report("robots", list(all_robots(set(options.only))))
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
