"""Measure regressors times parameters against inverse dynamics in 256 bits, and Pinocchio's.

    python -m tests.surveys.regressors [--trees 1000] [--every 10] [--no-robots] [--only NAME ...]

Trees: 1 to 20 bodies on joints of every type, with rotors, damping, friction and springs, which the
regressor leaves out; every fourth on a floating base.  The error is max|Y pi - tau|
over the larger of max|tau| and max|f|, tau from the book's RNEA in MPFR and from the public inverse
dynamics of the bodies alone, f the forces through the joints, as in `sixfold.check`: where a joint
hardly works against large forces, its own force is what rounding leaves of them.  "alone" divides
by max|tau|; it has no bar, because the terms of Y pi may cancel (of 1,000 trees one body on one
joint exceeds 4e-15).  "page" is the page on floats; "default" the public call, machine code, on
every N-th tree.

Robots: every URDF of example-robot-data on a fixed and a floating base, the default call against
`computeJointTorqueRegressor`, max|Y - Y_ref| / max|Y_ref|.  Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np

import sixfold as sf
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.kinematics import no_forces
from sixfold.quantities import readings as pages
from sixfold.scalar import plain
from tests.surveys.derivatives import Measured, normwise, report
from tests.surveys.random_trees import precise
from tests.surveys.robots_vs_pinocchio import Pair, cases

BITS = 256
LARGEST = 20
BAR = 4e-15
"""Normwise, of joint forces on trees."""
ROBOT_BAR = 1e-14
"""Normwise, of matrices, against Pinocchio."""
THEIRS = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]
"""Where Pinocchio has m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz."""


def tree_of(k: int) -> sf.Model:
    """Return tree number k."""
    rng = np.random.default_rng([18, k])
    model = sf.random_tree(int(rng.integers(1, LARGEST + 1)), 700_000 + k, properties=True)
    if k % 4:
        return model
    builder = sf.ModelBuilder(f"{model.name}, floating")
    builder.add_body("hull", joint=sf.Free(), inertia=sf.Inertia.from_mass(5.0, (0.1, 0.0, 0.2)))
    return sf.attach(builder.build(), model, "hull", prefix="on_")


def tree_errors(k: int, *, compiled: bool) -> Iterator[Measured]:
    """Yield the errors of tree number k."""
    rng = np.random.default_rng([19, k])
    model = tree_of(k)
    q, v = sf.random_state(model, seed=rng)
    a = rng.standard_normal(model.nv)
    pi = np.array([body.inertia.array() for body in model.bodies]).ravel()
    exact, borne = reference(model, q, v, a)
    rest = {"damping": True, "friction": True, "springs": True, "armature": True}
    public = sf.inverse_dynamics(model.without(**rest), q, v, a, backend="numpy")
    flat = pages.regressor(model, model.tree, *(x.tolist() for x in (q, v, a)))
    found = {"page": np.array([float(plain(x)) for x in flat]).reshape(model.nv, -1)}
    if compiled:
        found["default"] = sf.regressor(model, q, v, a)
    for way, Y in found.items():
        tau = Y @ pi
        share = np.abs(exact).max() / max(borne, np.abs(exact).max())
        alone = normwise(tau, exact)
        yield Measured(f"256 bits, {way}", alone * share, model.name, BAR)
        yield Measured(f"256 bits, {way}, alone", alone, model.name, np.inf)
        yield Measured(f"inverse dynamics, {way}", normwise(tau, public) * share, model.name, BAR)


def reference(model: sf.Model, *state: Any) -> tuple[Any, float]:
    """Return joint forces of the bodies alone from 256 bits, and the largest through a joint."""
    with gmpy2.context(precision=BITS):
        tree = model.without(armature=True).map(gmpy2.mpfr)
        q, v, a = (precise(x.tolist()) for x in state)
        tau, f = rnea(
            tree, model.positions(q), model.velocities(v), model.velocities(a), no_forces(tree)
        )
        borne = max(abs(float(plain(x))) for i in tree.bodies for x in (*f[i].ang, *f[i].lin))
        return np.array([float(plain(x)) for x in model.gather(tau)]), borne


def robot_errors(pair: Pair, where: str, states: int = 3) -> Iterator[Measured]:
    """Yield differences from Pinocchio on one robot."""
    model, rows = pair.ours, pair.rows()
    q, v = sf.random_state(model, states, seed=0)
    a = np.random.default_rng(0).standard_normal(v.shape)
    ours = sf.regressor(model, q, v, a)
    names = ["root_joint" if n == "floating_base" else n for n in model.joint_names]
    columns = [10 * (pair.theirs.getJointId(name) - 1) + k for name in names for k in THEIRS]
    for k in range(states):
        pq, pv, pa = pair.q(q[k]), np.zeros(pair.theirs.nv), np.zeros(pair.theirs.nv)
        pv[rows], pa[rows] = v[k], a[k]
        found = pair.pin.computeJointTorqueRegressor(pair.theirs, pair.data, pq, pv, pa)
        error = normwise(ours[k], np.array(found)[np.ix_(rows, columns)])
        yield Measured("regressor", error, where, ROBOT_BAR)


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
