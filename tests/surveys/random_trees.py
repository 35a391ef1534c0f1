"""Measure the rounding errors of every formulation on random trees against 256-bit arithmetic.

    python -m tests.surveys.random_trees --trees 10000 --processes 2 --seed 0

Each tree has 1 to 60 bodies on joints of every type, masses between 0.1 and 10 kg, a random state,
accelerations drawn from N(0, 1), and joint forces of the size of the loads: N(0, 1) times the
largest force through a joint at that state.  (Joint forces of 1 N m on bodies of 10 kg are what
rounding leaves of the loads: with them a few trees of one or two bodies in 10,000 exceed the bar,
up to 6e-16.)  Reported are the worst normwise errors
max|x - x_ref| / max|x_ref| of inverse dynamics and of the mass matrix, and the worst backward error
max|tau - ID(q, v, a)| / (||H|| max|a| + max|C| + max|tau|) of forward dynamics by each method, the
reference (by spatial vectors, `rnea`) and the residual in MPFR at the same rounded inputs.
"default" is the public call on a batch, machine code, which is what users run; `--every N` takes it
on every N-th tree only, since compiling is most of the time.  "reduced" is the same tree without
compiling: inertias passed on and frames moved for zeros.  Other formulations
of inverse dynamics are held against the same reference on the scale of their terms,
max|tau - tau_ref| / (||H|| max|a| + max|C| + max|tau_ref|): they sum M a, V and G, which may
cancel.  Every tenth tree has revolute and prismatic joints only, so that the formulations for one
fixed axis apply too, and another tenth has its axes along coordinate axes, as robots do; the
O(N^3) solution runs on every fourth.

Where a joint hardly works against large forces, its own force is what rounding leaves of them;
that shows on trees of a few freedoms.  The column "borne" divides by the largest force through a
joint instead, where that is more, as `sixfold.check` does.  "missed" counts the trees above the bar
by the first measure.  Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from multiprocessing import Pool
from typing import Any, NamedTuple

import gmpy2
import numpy as np

import sixfold as sf
from sixfold.dynamics.book.lagrange import lagrange
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Model, Tree
from sixfold.quantities import readings
from sixfold.runtime.kernels.kernels import kernel_tree
from sixfold.scalar import ZERO, plain
from sixfold.spatial import IDENTITY3, Transform, Vector3

BITS = 256
LARGEST = 60
ONE_AXIS = (sf.Revolute, sf.Prismatic)
LAGRANGE_LIMIT = 8

ID, MASS, FD, OTHER = "inverse dynamics", "mass matrix", "forward dynamics", "disagreement"
BARS = {ID: 4e-15, MASS: 4e-15, FD: 4e-16, OTHER: 4e-15}
Numbers = list[Any]


class Sample(NamedTuple):
    """A tree and the numbers to run it on."""

    model: Model
    q: Numbers
    v: Numbers
    a: Numbers
    tau: Numbers
    dense: bool
    """Whether the O(N^3) solution is worth its time on this one."""


class Measured(NamedTuple):
    """One error: quantity, formulation, size, and the tree it was measured on."""

    quantity: str
    formulation: str
    error: float
    borne: float
    """The same on the scale of the forces through the joints, where they are larger."""
    tree: str

    @property
    def missed(self) -> bool:
        """Whether the error is above its bar or not a number."""
        return not self.error <= BARS[self.quantity]


def draw(k: int, seed: int = 0) -> Sample:
    """Return tree number k with a random state."""
    rng = np.random.default_rng([seed, k])
    n = int(rng.integers(1, LARGEST + 1))
    joints = ONE_AXIS if k % 10 == 9 else None
    model = sf.random_tree(n, seed * 1_000_000 + k, joints=joints)
    if k % 10 == 4:
        model = aligned(model, np.random.default_rng([seed, k, 1]))
    q, v = sf.random_state(model, seed=rng)
    a, tau = rng.standard_normal((2, model.nv))
    state = (q.tolist(), v.tolist(), a.tolist())
    tau *= float(largest(readings.joint_wrenches(model, model.tree, *state)))
    return Sample(model, q.tolist(), v.tolist(), a.tolist(), tau.tolist(), k % 4 == 0)


def aligned(model: Model, rng: np.random.Generator) -> Model:
    """Return the model with each axis along a coordinate axis, and half of the offsets zero."""
    bodies = []
    for body in model.bodies:
        joint, (E, r) = body.joint, body.placement
        if hasattr(joint, "axis"):
            axis = [0.0, 0.0, 0.0]
            axis[rng.integers(3)] = float(rng.choice([-1.0, 1.0]))
            joint = replace(joint, axis=tuple(axis))
        if rng.random() < 0.5:
            E = IDENTITY3
        offsets = [float(plain(x)) * rng.integers(2) for x in r]
        bodies.append(replace(body, joint=joint, placement=Transform(E, Vector3.of(offsets))))
    return replace(model, bodies=tuple(bodies))


def precise(values: Numbers) -> Numbers:
    """Return the same numbers with room for more digits."""
    return [gmpy2.mpfr(plain(x)) for x in values]


def largest(values: Numbers) -> Any:
    """Return max|x|; NaN if one is."""
    sizes = [abs(plain(x)) for x in values]
    return next((x for x in sizes if x != x), max(sizes, default=0.0))


def normwise(values: Numbers, reference: Numbers) -> float:
    """Return max|x - x_ref| / max|x_ref|."""
    pairs = zip(values, reference, strict=True)
    off = largest([x - r for x, r in pairs if not (x is ZERO and r is ZERO)])
    return float(off / largest(reference))


def row_norm(matrix: Numbers, n: int) -> float:
    """Return the infinity norm of a matrix given row by row."""
    rows = [matrix[r * n : (r + 1) * n] for r in range(n)]
    return max(sum(abs(float(x)) for x in row if x is not ZERO) for row in rows)


class Reference(NamedTuple):
    """What the errors of one sample are measured against."""

    tree: Tree
    q: Numbers
    v: Numbers
    tau: Numbers
    forces: Numbers
    mass: Numbers
    norm: float
    bias: float
    borne: float
    """Largest force through a joint, at a and at the accelerations of tau."""


def reference(s: Sample) -> Reference:
    """Evaluate one sample in 256 bits: inverse dynamics and mass matrix; scales in doubles."""
    model, state = s.model, (s.q, s.v)
    acc = readings.forward_dynamics(model, model.tree, *state, s.tau)
    wrenches = [readings.joint_wrenches(model, model.tree, *state, x) for x in (s.a, acc)]
    tree = model.map(gmpy2.mpfr)
    q, v = precise(s.q), precise(s.v)
    mass = readings.mass_matrix(model, tree, q)
    return Reference(
        tree,
        q,
        v,
        precise(s.tau),
        _by_rnea(model, tree, q, v, precise(s.a)),
        mass,
        row_norm(mass, model.nv),
        float(largest(readings.bias_force(model, model.tree, *state))),
        float(largest(wrenches[0] + wrenches[1])),
    )


def _by_rnea(model: Model, tree: Tree, q: Numbers, v: Numbers, a: Numbers) -> Numbers:
    tables = model.positions(q), model.velocities(v), model.velocities(a)
    return model.gather(rnea(tree, *tables, no_forces(tree))[0])


def backward_error(s: Sample, ref: Reference, acc: Sequence[Any]) -> tuple[float, float]:
    """Return how far the joint forces would have to move for acc to be their exact answer."""
    back = readings.inverse_dynamics(s.model, ref.tree, ref.q, ref.v, precise(list(acc)))
    residual = float(largest([t - f for t, f in zip(ref.tau, back, strict=True)]))
    scale = ref.norm * float(largest(list(acc))) + ref.bias + largest(s.tau)
    return residual / scale, residual / max(scale, ref.borne)


def force_error(ref: Reference, forces: Numbers) -> tuple[float, float]:
    """Return the normwise error of joint forces."""
    off = float(largest([x - r for x, r in zip(forces, ref.forces, strict=True)]))
    scale = float(largest(ref.forces))
    return off / scale, off / max(scale, ref.borne)


def disagreement(s: Sample, ref: Reference, forces: Numbers) -> tuple[float, float]:
    """Return how far joint forces are from the reference, on the scale of their terms."""
    off = float(largest([x - r for x, r in zip(forces, ref.forces, strict=True)]))
    scale = ref.norm * largest(s.a) + ref.bias + float(largest(ref.forces))
    return off / scale, off / max(scale, ref.borne)


def defaults(s: Sample) -> Iterator[tuple[str, str, Callable[[], Numbers]]]:
    """Yield the default calls, on a batch of two equal states."""
    q, v, a, tau = (np.array([x, x]) for x in (s.q, s.v, s.a, s.tau))
    yield ID, "default", lambda: sf.inverse_dynamics(s.model, q, v, a)[1].tolist()
    yield MASS, "default", lambda: sf.mass_matrix(s.model, q)[1].ravel().tolist()
    yield FD, "default", lambda: sf.forward_dynamics(s.model, q, v, tau)[1].tolist()


def formulations(s: Sample) -> Iterator[tuple[str, str, Callable[[], Numbers]]]:
    """Yield quantity, name and function of every formulation that applies to a sample."""
    model, tree = s.model, s.model.tree
    reduced = kernel_tree(readings.inverse_dynamics, model)
    yield ID, "rnea", lambda: _by_rnea(model, tree, s.q, s.v, s.a)
    yield ID, "joint points", lambda: readings.inverse_dynamics(model, tree, s.q, s.v, s.a)
    yield ID, "reduced", lambda: readings.inverse_dynamics(model, reduced, s.q, s.v, s.a)
    yield MASS, "crba", lambda: readings.mass_matrix(model, tree, s.q)
    yield MASS, "reduced", lambda: readings.mass_matrix(model, reduced, s.q)
    for method in ("aba", "crba"):
        yield (
            FD,
            f"{method}, reduced",
            lambda method=method: readings.forward_dynamics(
                model, reduced, s.q, s.v, s.tau, method=method
            ),
        )
    for method in readings.METHODS:
        if method == "operators_dense" and not s.dense:
            continue
        yield (
            FD,
            method,
            lambda method=method: readings.forward_dynamics(
                model, tree, s.q, s.v, s.tau, method=method
            ),
        )

    # by other roads to the same forces
    q, qd, qdd = model.positions(s.q), model.velocities(s.v), model.velocities(s.a)
    none = no_forces(tree)

    def own(read: Any) -> Any:
        return lambda: model.gather(equations.joint_forces(read(tree, q, qd, none), qdd))

    yield OTHER, "operators", own(equations.body_frame)
    if all(isinstance(body.joint, ONE_AXIS) for body in model.bodies):
        yield OTHER, "inertial", own(inertial)
        yield OTHER, "newton_euler", lambda: model.gather(newton_euler(tree, q, qd, qdd, none))
    if model.nv <= LAGRANGE_LIMIT:
        yield OTHER, "lagrange", lambda: lagrange(tree, q, qd, qdd, none)


def measure(s: Sample, name: str, *, compiled: bool = True) -> list[Measured]:
    """Return the error of the default calls, if they are to be compiled, and of formulations."""
    with gmpy2.context(precision=BITS):
        ref = reference(s)
        found = []
        for quantity, formulation, run in chain(defaults(s) if compiled else (), formulations(s)):
            x = run()
            if quantity == FD:
                errors = backward_error(s, ref, x)
            elif quantity == OTHER:
                errors = disagreement(s, ref, x)
            elif quantity == ID:
                errors = force_error(ref, x)
            else:
                errors = (normwise(x, ref.mass),) * 2
            found.append(Measured(quantity, formulation, *errors, name))
        return found


def _tree(job: tuple[int, int, int]) -> list[Measured]:
    k, seed, every = job
    sample = draw(k, seed)
    name = f"tree {k} seed {seed} ({sample.model.nb} bodies, {sample.model.nv} dof)"
    return measure(sample, name, compiled=k % every == 0)


class Worst:
    """The worst errors of one formulation over the trees seen so far."""

    def __init__(self) -> None:
        self.trees = self.missed = 0
        self.borne = 0.0
        self.at: Measured | None = None

    def add(self, m: Measured) -> None:
        """Take another tree; an error that is not a number is the largest."""
        self.trees += 1
        self.missed += m.missed
        self.borne = self.borne if m.borne <= self.borne else m.borne
        if self.at is None or not m.error <= self.at.error:
            self.at = m


def report(table: dict[tuple[str, str], Worst]) -> str:
    """Return the table of worst errors."""
    lines = [
        f"{'quantity':<18}{'formulation':<17}{'trees':>7}{'worst':>10}{'bar':>8}{'missed':>8}"
        f"{'borne':>10}  worst at"
    ]
    for (quantity, formulation), w in table.items():
        assert w.at is not None
        lines.append(
            f"{quantity:<18}{formulation:<17}{w.trees:>7}{w.at.error:>10.2e}"
            f"{BARS[quantity]:>8.0e}{w.missed:>8}{w.borne:>10.2e}  {w.at.tree}"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=1000, help="number of trees")
    parser.add_argument("--first", type=int, default=0, help="number of the first tree")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0, help="same seed, same trees and states")
    parser.add_argument("--every", type=int, default=1, help="default calls on every N-th tree")
    options = parser.parse_args()
    table: dict[tuple[str, str], Worst] = {}
    start = time.perf_counter()
    numbers = range(options.first, options.first + options.trees)
    jobs = ((k, options.seed, options.every) for k in numbers)
    # kernels of a tree are of no use to the next: processes are replaced, nothing goes to disk
    os.environ["SIXFOLD_CACHE"] = "off"
    with Pool(options.processes, maxtasksperchild=200) as pool:
        for found in pool.imap_unordered(_tree, jobs):
            for m in found:
                table.setdefault((m.quantity, m.formulation), Worst()).add(m)
    print(
        f"{options.trees} random trees from {options.first} on, seed {options.seed},"
        f" {options.processes} processes,"
        f" {time.perf_counter() - start:.0f} s; Python {platform.python_version()},"
        f" NumPy {np.__version__}, gmpy2 {gmpy2.version()}, {platform.machine()}"
    )
    print(report(table))
    return int(any(w.missed for w in table.values()))


if __name__ == "__main__":
    sys.exit(main())
