"""The Coriolis matrix in two sweeps is that of the Christoffel symbols."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.dynamics.book import lagrange
from sixfold.dynamics.fast.coriolis import coriolis
from sixfold.model import random_tree
from sixfold.quantities import readings
from sixfold.runtime.kernels.kernels import for_kernel
from sixfold.spatial import CoriolisInertia, Force, Motion, Transform, Vector3, rotation


def numbers(rows):
    return np.array([[float(x) for x in row] for row in rows])


@pytest.mark.parametrize("seed", range(12))
def test_it_is_that_of_the_christoffel_symbols_for_every_joint(seed):
    model = random_tree(7, seed)
    q, v = sf.random_state(model, seed=seed)
    x, xd = model.positions(q.tolist()), model.velocities(v.tolist())
    want = numbers(lagrange.coriolis_matrix(model.tree, x, xd))
    found = numbers(coriolis(model.tree, x, xd))
    assert np.abs(found - want).max() <= 1e-14 * np.abs(want).max()


def test_branches_do_not_feel_each_other():
    model = sf.load("star")
    q, v = sf.random_state(model, seed=1)
    C = coriolis(model.tree, model.positions(q.tolist()), model.velocities(v.tolist()))
    assert all(C[i][j] == 0 for i in range(1, model.nv) for j in range(1, model.nv) if i != j)


def test_a_body_has_the_matrix_that_its_inertia_and_velocity_make():
    rng = np.random.default_rng(5)
    mass, center = 2.0, rng.standard_normal(3)
    inertia = sf.Inertia.from_mass(mass, center, np.diag([0.3, 0.4, 0.5]))
    v = Motion.of(rng.standard_normal(6))
    I = numbers(inertia.matrix())
    star = numbers(v.cross_star_matrix())
    p = inertia @ v
    bar = np.array(
        [[float(x) for half in Motion.of(m).cross(p) for x in half] for m in np.eye(6)]
    ).T
    want = (star @ I - I @ numbers(v.cross_matrix()) + bar) / 2

    def matrix(B):
        return np.array(
            [[float(x) for half in B @ Motion.of(m) for x in half] for m in np.eye(6)]
        ).T

    B = CoriolisInertia.of(inertia, v)
    np.testing.assert_allclose(matrix(B), want, atol=1e-14)
    transposed = [[float(x) for half in B.T @ Motion.of(m) for x in half] for m in np.eye(6)]
    np.testing.assert_allclose(transposed, want, atol=1e-14)
    X = Transform(rotation(Vector3(0.6, 0.0, 0.8), 0.8, 0.6), Vector3(0.1, -0.2, 0.3))
    there = numbers(X.matrix())
    np.testing.assert_allclose(matrix(X.T @ B @ X), there.T @ want @ there, atol=1e-14)
    assert isinstance(B @ v, Force)


def test_its_cost_grows_with_the_depth_of_the_tree_and_no_faster():
    def flops(n):
        core = for_kernel(readings.coriolis_matrix, chain(n))
        return optimise(trace(core, (n, n))).flops()

    assert flops(20) / flops(10) < 4.5 and flops(40) / flops(20) < 4.5


def chain(n):
    """Return a chain of n bodies, axes in turn about x and y."""
    builder = sf.ModelBuilder("chain")
    body = sf.Inertia.from_mass(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25]))
    for k in range(n):
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else None,
            joint=sf.Revolute((1.0, 0.0, 0.0) if k % 2 else (0.0, 1.0, 0.0)),
            inertia=body,
            placement=Transform.translation((0.1, 0.2, 1.0)),
        )
    return builder.build()
