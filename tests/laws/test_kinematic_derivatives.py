"""Derivatives of motions, momenta, energies and moves, against dual numbers on the pages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from sixfold.quantities import readings as pages
from sixfold.scalar import differentiate, plain
from tests.laws.book_pages import MODELS as JOINTS
from tests.laws.support import FLOATING, states

TIGHT = 512
SMALL = {**JOINTS, "floating tree 4": FLOATING["floating tree 4"]}


FEW = ("planar", "spherical", "floating base, custom")
"""Models of machine code; NumPy runs all."""

each = pytest.mark.parametrize(
    ("fn", "small"),
    [("numpy", name) for name in SMALL] + [(b, n) for b in ("unrolled", "float32") for n in FEW],
    indirect=True,
)


@pytest.fixture
def small(request):
    """A joint type between hinges, or on a floating base."""
    return SMALL[request.param]


def by_q(core, model, q, *rest):
    """Return the rates of a page along each unit velocity, as columns."""
    columns = []
    for unit in np.eye(model.nv).tolist():
        way = pages.position_rate(model, model.tree, q.tolist(), unit)
        found = differentiate(lambda x: core(model, model.tree, x, *rest), q.tolist(), way)[1]
        columns.append([float(plain(r)) for r in found])
    return np.array(columns).T


def near(fn, found, expected):
    bar = TIGHT * fn.eps * max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=bar)


def listed(*arrays):
    return [x.tolist() for x in arrays]


@each
@pytest.mark.parametrize("frame", ["aligned", "body", "world"])
def test_jacobian_derivatives_are_the_derivatives_of_the_jacobian(fn, small, frame):
    q, v, _ = states(fn, small, 2)
    name, points = small.body_names[-1], [fn.rounded([0.1, -0.2, 0.3])]
    points = points if frame != "world" else []  # the world's own origin
    core = partial(pages.jacobian, name=name, frame=frame)
    H = fn.jacobian_derivatives(small, q, name, *points, frame=frame)
    expected = by_q(core, small, q[1], *listed(*points)).reshape(6, small.nv, small.nv)
    near(fn, H[1], expected)
    dq, dv = fn.frame_velocity_derivatives(small, q, v, name, frame=frame)
    core = partial(pages.frame_velocity, name=name, frame=frame)
    near(fn, dq[1], by_q(core, small, q[1], v[1].tolist()))
    near(fn, dv, fn.jacobian(small, q, name, frame=frame))


@each
def test_nothing_moves_the_base(fn, small):
    q, v, _ = states(fn, small, 2)
    base = small.base_name
    for found in (
        fn.jacobian_derivatives(small, q, base),
        *fn.frame_velocity_derivatives(small, q, v, base),
    ):
        np.testing.assert_array_equal(found, 0.0)


@each
def test_the_jacobian_of_the_centre_of_mass_and_the_centroidal_matrix(fn, small):
    q, v, _ = states(fn, small, 2)
    near(fn, fn.center_of_mass_jacobian(small, q)[1], by_q(pages.center_of_mass, small, q[1]))
    A = fn.centroidal_momentum_matrix(small, q)
    near(fn, np.einsum("nij,nj->ni", A, v), fn.centroidal_momentum(small, q, v))
    dq, dv = fn.centroidal_momentum_derivatives(small, q, v)
    near(fn, dq[1], by_q(pages.centroidal_momentum, small, q[1], v[1].tolist()))
    near(fn, dv, A)
    # A does not depend on v: along the motion, d(A v)/dt at a = 0 is dq . v
    near(fn, fn.centroidal_momentum_bias(small, q, v), np.einsum("nij,nj->ni", dq, v))


@each
def test_derivatives_of_the_energies(fn, small):
    q, v, _ = states(fn, small, 2)
    dq, dv = fn.kinetic_energy_derivatives(small, q, v)
    near(fn, dq[1], by_q(pages.kinetic_energy, small, q[1], v[1].tolist())[0])
    near(fn, dv, np.einsum("nij,nj->ni", fn.mass_matrix(small, q), v))
    near(
        fn,
        fn.potential_energy_derivatives(small, q)[1],
        by_q(pages.potential_energy, small, q[1])[0],
    )


@each
@pytest.mark.parametrize("dt", [None, 0.25])
def test_integrate_derivatives_follow_neighbouring_moves(fn, small, dt):
    """What an increment becomes: the move of the neighbour, measured from the move itself."""
    q, v, _ = states(fn, small, 2)
    more = () if dt is None else (np.array([dt]),)
    dq, dv = fn.integrate_derivatives(small, q, v, *(float(x[0]) for x in more))
    end = pages.integrate(small, small.tree, q[1].tolist(), v[1].tolist(), *listed(*more))

    def moved(model, tree, x, xd):
        return pages.difference(model, tree, end, pages.integrate(model, tree, x, xd, *more))

    near(fn, dq[1], by_q(moved, small, q[1], v[1].tolist()))
    columns = [
        differentiate(lambda xd: moved(small, small.tree, q[1].tolist(), xd), v[1].tolist(), unit)[
            1
        ]
        for unit in np.eye(small.nv).tolist()
    ]
    near(fn, dv[1], np.array([[float(plain(x)) for x in column] for column in columns]).T)


@each
def test_difference_derivatives_undo_those_of_integrate(fn, small):
    """q1 = integrate(q0, d): d of difference by q1 times d of integrate by v is one."""
    q, v, _ = states(fn, small, 2)
    d = fn.rounded(0.25 * v)
    q1 = fn.rounded(fn.integrate(small, q, d))
    dq, dv = fn.integrate_derivatives(small, q, d)
    by_0, by_1 = fn.difference_derivatives(small, q, q1)
    one = np.eye(small.nv)
    bar = TIGHT * fn.eps
    np.testing.assert_allclose(by_1 @ dv, np.broadcast_to(one, dv.shape), rtol=0, atol=bar * 8)
    np.testing.assert_allclose(by_0 + by_1 @ dq, 0, rtol=0, atol=bar * 8)
