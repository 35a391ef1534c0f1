"""Every URDF of example-robot-data, read by Sixfold and by Pinocchio: how far apart are they?

    python -m tests.surveys.robots_vs_pinocchio [--only NAME ...] [--states 4]

Needs `pip install pin example-robot-data gmpy2`.  Each file is compared with fixed and floating
base, mimic joints free (Pinocchio's habit) and, where the file has some, coupled (Pinocchio's
mimic=True).
Pinocchio leaves damping and friction out, so they are switched off here.

Three lines for each: the default call against Pinocchio, which is what users run; the NumPy
reading against Pinocchio; and the default call against 256-bit arithmetic on the same model.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gmpy2
import numpy as np

import sixfold as sf
from sixfold.formats import bundled
from sixfold.quantities import readings
from sixfold.scalar import plain

EPS = np.finfo(float).eps
COLUMNS = ("inverse", "mass matrix", "kinetic", "potential", "poses", "forward", "allowed")


class Results(NamedTuple):
    """States, and what Sixfold makes of them."""

    q: Any
    v: Any
    a: Any
    push: Any
    tau: Any
    M: Any
    T: Any
    V: Any
    poses: Any
    forward: Any


class Pair:
    """One file in both libraries, and the way from our states to Pinocchio's."""

    def __init__(self, pin, path, floating, mimic="free"):
        self.pin = pin
        loaded = sf.load(path, floating_base=floating, mimic=mimic)
        self.ours = loaded.without(damping=True, friction=True, armature=True)
        options = [pin.JointModelFreeFlyer()] if floating else []
        self.theirs = pin.buildModelFromUrdf(str(path), *options, mimic=mimic == "couple")
        self.theirs.gravity.linear = np.array(self.ours.gravity)
        self.data = self.theirs.createData()
        followers = {c.follower for c in self.ours.couplings}
        self.names = [n for k, n in enumerate(self.ours.joint_names) if k not in followers]

    def joint(self, name):
        theirs = "root_joint" if name == "floating_base" else name
        return self.theirs.joints[self.theirs.getJointId(theirs)]

    def q(self, q):
        """Return our position in Pinocchio's order, where some angles are cosine and sine."""
        out = self.pin.neutral(self.theirs)
        for name in self.names:
            joint, x = self.joint(name), q[self.ours.q_slice(name)]
            if joint.nq == 2 and len(x) == 1:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            out[joint.idx_q : joint.idx_q + joint.nq] = x
        return out

    def rows(self):
        """Return for each of our velocity coordinates its place in Pinocchio's."""
        rows = np.zeros(self.ours.nv, int)
        for name in self.names:
            joint, part = self.joint(name), self.ours.v_slice(name)
            order = [3, 4, 5, 0, 1, 2] if joint.nv == 6 else range(joint.nv)
            rows[part] = [joint.idx_v + k for k in order]
        return rows

    def links(self):
        """Return the names of links that both know."""
        body = self.pin.FrameType.BODY
        return [
            link.name for link in self.ours.origin.links if self.theirs.existFrame(link.name, body)
        ]


def ours(pair, states, seed=0, backend=None):
    """Return states and Sixfold's results by the default call, or by a backend."""
    model, options = pair.ours, {} if backend is None else {"backend": backend}
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, states, seed=seed)
    a = rng.standard_normal(v.shape)
    tau = sf.inverse_dynamics(model, q, v, a, **options)
    loads = sf.inverse_dynamics(model, q, v, a, backend="numpy")
    push = rng.standard_normal(v.shape) * np.abs(loads).max(axis=-1, keepdims=True, initial=0.0)
    try:
        forward = sf.forward_dynamics(model, q, v, push, **options)
    except sf.errors.SingularModelError:
        forward = None
    poses = np.moveaxis(sf.body_poses(model, q, **options), 1, 0)
    return Results(
        *(q, v, a, push, tau, sf.mass_matrix(model, q, **options)),
        sf.kinetic_energy(model, q, v, **options),
        sf.potential_energy(model, q, **options),
        dict(zip(model.body_names, poses, strict=True)),
        forward,
    )


def differences(pair, states, seed=0, backend=None):
    """Return the worst differences from Pinocchio, in the order of COLUMNS."""
    pin, model, data, rows = pair.pin, pair.ours, pair.data, pair.rows()
    s = ours(pair, states, seed, backend)
    worst = np.zeros(len(COLUMNS))
    for k in range(states):
        pq, pv, pa, pt = pair.q(s.q[k]), *(np.zeros(pair.theirs.nv) for _ in range(3))
        pv[rows], pa[rows], pt[rows] = s.v[k], s.a[k], s.push[k]
        reference = pin.rnea(pair.theirs, data, pq, pv, pa)[rows]
        upper = np.triu(pin.crba(pair.theirs, data, pq))
        full = (upper + np.triu(upper, 1).T)[np.ix_(rows, rows)]
        pin.framesForwardKinematics(pair.theirs, data, pq)
        scale_V = sum(i.mass for i in list(pair.theirs.inertias)[1:]) * np.linalg.norm(
            model.gravity
        )
        reach = max(1.0, *(np.abs(p.translation).max() for p in data.oMi))
        found = [
            relative(s.tau[k], reference),
            relative(s.M[k], full),
            relative(s.T[k], kinetic(pair, pq, pv, full, s.v[k])),
            abs(s.V[k] - potential(pair, pq)) / max(scale_V * reach, 1e-300),
            pose_error(pair, k, s.poses),
        ]
        if s.forward is not None and model.nv:
            aba = accelerations(pair, pq, pv, pt, rows, full, reference, s.a[k])
            found += [relative(s.forward[k], aba), allowed(full)]
        else:
            found += [np.nan, np.nan]
        worst = np.fmax(worst, found) if k else np.array(found)
    return worst


def rounding(pair, states, seed=0):
    """Return the worst errors of the default call against 256 bits, in the order of COLUMNS."""
    model = pair.ours
    s = ours(pair, states, seed)
    worst = np.full(len(COLUMNS), np.nan)
    with gmpy2.context(precision=256):
        tree = model.map(gmpy2.mpfr)

        def exact(core, *given):
            numbers = ([gmpy2.mpfr(float(x)) for x in values] for values in given)
            return np.array([float(plain(x)) for x in core(model, tree, *numbers)])

        for k in range(states):
            q, v, a, push = (x[k] for x in (s.q, s.v, s.a, s.push))
            M = exact(readings.mass_matrix, q).reshape((model.nv, model.nv))
            found = [
                relative(s.tau[k], exact(readings.inverse_dynamics, q, v, a)),
                relative(s.M[k], M),
                relative(s.T[k], exact(readings.kinetic_energy, q, v)),
                *(np.nan, np.nan, np.nan, np.nan),
            ]
            if s.forward is not None and model.nv:
                acc = exact(readings.forward_dynamics, q, v, push)
                found[5:] = [relative(s.forward[k], acc), allowed(M)]
            worst = np.fmax(worst, found)
    return worst


def allowed(M):
    """Return 100 eps times the condition number of the mass matrix scaled to a unit diagonal."""
    d = 1 / np.sqrt(np.abs(np.diag(M)))
    return 100 * EPS * np.linalg.cond(d[:, None] * M * d)


def kinetic(pair, pq, pv, full, v):
    """Return Pinocchio's kinetic energy; it has none for mimic joints but v M v / 2."""
    if pair.ours.couplings:
        return v @ full @ v / 2
    return pair.pin.computeKineticEnergy(pair.theirs, pair.data, pq, pv)


def potential(pair, pq):
    """Return Pinocchio's potential energy, or the sum over its bodies with mimic joints."""
    if not pair.ours.couplings:
        return pair.pin.computePotentialEnergy(pair.theirs, pair.data, pq)
    bodies = list(zip(pair.theirs.inertias, pair.data.oMi, strict=True))[1:]
    g = np.array(pair.ours.gravity)
    return -sum(inertia.mass * (g @ pose.act(inertia.lever)) for inertia, pose in bodies)


def accelerations(pair, pq, pv, pt, rows, full, reference, a):
    """Return Pinocchio's forward dynamics; its articulated bodies know no mimic joints."""
    if pair.ours.couplings:
        bias = reference - full @ a
        return np.linalg.solve(full, pt[rows] - bias)
    return pair.pin.aba(pair.theirs, pair.data, pq, pv, pt)[rows]


def pose_error(pair, k, poses):
    worst = 0.0
    for link in pair.links():
        body, X = pair.ours.locate(link)
        here = np.eye(4)
        here[:3, :3] = [[float(x) for x in row] for row in X.E.T]
        here[:3, 3] = [float(x) for x in X.r]
        mine = here if body < 0 else poses[pair.ours.body_names[body]][k] @ here
        number = pair.theirs.getFrameId(link, pair.pin.FrameType.BODY)
        worst = max(worst, relative(mine, pair.data.oMf[number].homogeneous))
    return worst


def relative(x, reference):
    x, reference = np.asarray(x), np.asarray(reference)
    size = np.abs(reference).max(initial=0.0)
    return float(np.abs(x - reference).max(initial=0.0) / (size or 1.0))


def within(worst, tolerance=1e-12):
    """Return true when every difference is as small as it should be, where it was taken."""
    agree = all(x <= tolerance or np.isnan(x) for x in worst[2:5])
    agree = agree and all(x <= tolerance for x in worst[:2])
    return agree and (np.isnan(worst[5]) or worst[5] <= max(worst[6], tolerance))


def cases(names):
    for name, path in bundled.robots().items():
        if (not names or name in names) and name != "ur3_empty":
            couplings = bool(sf.load(path).couplings)
            for floating in (False, True):
                for mimic in ("free", "couple") if couplings else ("free",):
                    yield name, path, floating, mimic


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--states", type=int, default=4)
    options = parser.parse_args()
    try:
        import pinocchio as pin
    except ImportError:
        sys.exit("this needs Pinocchio: pip install pin example-robot-data")
    start, bad, count = time.perf_counter(), [], 0
    print(f"pinocchio {pin.__version__}, sixfold {sf.__version__}, {options.states} states each")
    titles = f"{'robot':<28}{'base':<9}{'mimic':<8}{'against':<9}{'nv':>4} "
    print(titles + "".join(f"{c:>12}" for c in COLUMNS))
    for name, path, floating, mimic in cases(set(options.only)):
        base = "floating" if floating else "fixed"
        try:
            pair = Pair(pin, Path(path), floating, mimic)
        except ValueError as error:
            print(f"{name:<28}{base:<9}{mimic:<8}  refused by Pinocchio: {error}")
            continue
        count += 1
        for way, worst in (
            ("default", differences(pair, options.states)),
            ("numpy", differences(pair, options.states, backend="numpy")),
            ("256 bits", rounding(pair, min(options.states, 2))),
        ):
            good = within(worst)
            bad += [] if good else [f"{name} ({base}, {way})"]
            title = f"{name:<28}{base:<9}{mimic:<8}{way:<9}{pair.ours.nv:>4} "
            numbers = "".join(f"{x:>12.1e}" for x in worst)
            print(f"{title}{numbers}{'' if good else '  <--'}", flush=True)
    seconds = time.perf_counter() - start
    print(f"{count} comparisons, {len(bad)} beyond the bounds {sorted(set(bad))}, {seconds:.0f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
