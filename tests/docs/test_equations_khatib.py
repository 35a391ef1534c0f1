"""Khatib's outward and inward iterations as printed, on a serial arm of hinges and slides."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.dynamics.kinematics import no_forces
from sixfold.spatial import Inertia

# rows (a, alpha, d, theta, sigma) in the lecture's convention: a and alpha of row i are a_(i-1)
ROWS = [
    (0.0, 0.0, 0.3, 0.1, 0),
    (0.4, -1.2, 0.1, 0.2, 0),
    (0.2, 0.7, 0.5, -0.4, 1),
    (0.1, 1.5, 0.0, 0.3, 0),
    (0.3, -0.6, 0.2, 0.8, 1),
    (0.0, 0.9, 0.4, -0.2, 0),
]


def random_inertia(rng):
    mass, centre = float(rng.uniform(0.5, 3)), rng.uniform(-0.3, 0.3, 3)
    A = rng.standard_normal((3, 3))
    moments = A @ A.T * 0.05
    return mass, centre, moments


@pytest.fixture
def arm():
    rng = np.random.default_rng(12)
    solids = [random_inertia(rng) for _ in ROWS]
    rows = [
        sf.DHRow(*row, inertia=Inertia.from_mass(m, c.tolist(), I.tolist()))
        for row, (m, c, I) in zip(ROWS, solids, strict=True)
    ]
    return sf.from_dh(rows, convention="modified"), solids, rng


def link(row, q):
    """Axes of frame i+1 in frame i (columns) and its origin p, by the modified DH convention."""
    a, alpha, d, theta, sigma = row
    theta, d = (theta, d + q) if sigma else (theta + q, d)
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    R = np.array([[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])
    return R, np.array([a, -sa * d, ca * d])


def test_modified_dh_offsets_are_those_of_the_lecture(arm):
    model, _, rng = arm
    q = rng.uniform(-1, 1, 6)
    poses = np.concatenate([np.eye(4)[None], sf.body_poses(model, q)])
    for i, row in enumerate(ROWS):
        before, after = poses[i], poses[i + 1]
        a, d = row[0], row[2] + (q[i] if row[4] else 0.0)
        # p = a_i x_i + d_(i+1) Z_(i+1), in world axes
        offset = a * before[:3, 0] + d * after[:3, 2]
        assert np.allclose(after[:3, 3] - before[:3, 3], offset, atol=1e-14)
        R, p = link(row, q[i])
        assert np.allclose(np.linalg.solve(before, after)[:3], np.column_stack([R, p]), atol=1e-14)


def test_the_printed_iterations_with_sliding_terms_give_the_joint_forces(arm):
    model, solids, rng = arm
    q, qd, qdd = rng.uniform(-1, 1, (3, 6))
    Z, n = np.array([0, 0, 1.0]), len(ROWS)
    links = [link(row, x) for row, x in zip(ROWS, q, strict=True)]
    sliding = [bool(row[4]) for row in ROWS]
    w, wd, vd = np.zeros(3), np.zeros(3), -np.array(model.gravity)  # 0_v-dot_0: 1 g upward
    F, N = [], []
    for i in range(n):
        R, p = links[i][0].T, links[i][1]  # R takes i to i+1
        m, c, I = solids[i]
        turn, slide = (0.0, qd[i]) if sliding[i] else (qd[i], 0.0)
        turn2, slide2 = (0.0, qdd[i]) if sliding[i] else (qdd[i], 0.0)
        vd = R @ (np.cross(wd, p) + np.cross(w, np.cross(w, p)) + vd)
        vd = vd + 2 * slide * np.cross(R @ w, Z) + slide2 * Z
        wd = R @ wd + np.cross(R @ w, Z * turn) + turn2 * Z
        w = R @ w + turn * Z
        vc = np.cross(wd, c) + np.cross(w, np.cross(w, c)) + vd
        F.append(m * vc)
        N.append(I @ wd + np.cross(w, I @ w))
    f, moment, tau = np.zeros(3), np.zeros(3), np.zeros(n)
    for i in reversed(range(n)):
        if i + 1 < n:
            R, p = links[i + 1]  # R takes i+1 to i
            f, moment = R @ f, R @ moment + np.cross(p, R @ f)
        moment = N[i] + moment + np.cross(solids[i][1], F[i])
        f = f + F[i]
        tau[i] = (f if sliding[i] else moment) @ Z
    assert np.allclose(sf.inverse_dynamics(model, q, qd, qdd), tau, rtol=1e-12, atol=1e-12)
    states = model.positions(q), model.velocities(qd), model.velocities(qdd)
    page = newton_euler(model.tree, *states, no_forces(model.tree))
    assert np.allclose(model.gather(page), tau, rtol=1e-12, atol=1e-12)
