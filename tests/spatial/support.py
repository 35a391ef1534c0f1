"""What these tests share: drawn values, rounding, moving frames and their rates."""

import gmpy2
import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

from sixfold.scalar import cos, differentiate, sin
from sixfold.spatial import Force, Inertia, Matrix3, Motion, Transform, Vector3, rotation

EPS = np.finfo(float).eps

law = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)

few = settings(law, max_examples=8)  # for laws that run over several sizes as well


# drawn values: three decimals, so that no product underflows

numbers = st.integers(-5000, 5000).map(lambda n: n / 1000)
positive = st.integers(100, 5000).map(lambda n: n / 1000)
vectors = st.builds(Vector3, numbers, numbers, numbers)
motions = st.builds(Motion, vectors, vectors)
forces = st.builds(Force, vectors, vectors)
transforms = st.builds(
    Transform.from_rpy, st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers)
)


@st.composite
def inertias(draw):
    """Draw a body of positive mass spread in all directions, so that its inertia is definite."""
    m = draw(positive)
    a, b, c = draw(positive), draw(positive), draw(positive)  # second moments of mass
    E = array(draw(transforms).E)
    Ic = E.T @ np.diag([b + c, c + a, a + b]) @ E
    return Inertia.from_mass(m, draw(vectors), ((Ic + Ic.T) / 2).tolist())


particles = st.lists(st.tuples(positive, vectors), min_size=3, max_size=7)


def total(parts):
    """Return the sum of vectors or inertias."""
    return sum(parts[1:], start=parts[0])


def of_particles(points):
    """Return the inertia of particles (m, p) that move as one body."""
    return total([Inertia.from_mass(m, p) for m, p in points])


def own(I):
    """Return m, c and I_C as arrays."""
    return float(I.m), array(I.center), array(I.about_center.matrix())


# comparison


def array(x):
    """Return nested tuples of numbers as an array of floats."""
    if isinstance(x, Transform):
        x = (*x.E, x.r)
    elif isinstance(x, Inertia):
        x = x.parameters()
    return np.array(x, dtype=float)


def six(vector):
    """Return a spatial vector as a column of six floats."""
    return array(vector).reshape(6)


def matrix(subspace):
    """Return the columns of a subspace as a 6 x n matrix."""
    return np.array([six(c) for c in subspace.columns]).reshape(-1, 6).T


def size(x):
    """Return the Euclidean length of all the numbers in x."""
    return float(np.linalg.norm(array(x)))


def assert_close(got, want, scale=1.0, *, eps=8):
    """Compare up to `eps` machine epsilons of the natural scale of the terms."""
    got, want = array(got), array(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    error = np.abs(got - want).max(initial=0.0)
    assert error <= eps * EPS * scale, (
        f"error {error:.3g} > {eps} eps * {scale:.3g}\n got {got}\nwant {want}"
    )


def assert_differ(got, want, by):
    """Require a difference that no rounding can explain."""
    assert np.abs(array(got) - array(want)).max() >= by


# rates: by dual numbers, and by central differences in 400-bit arithmetic


def tree_map(function, *trees):
    """Apply a function to the numbers of vectors, matrices, transforms or rows."""
    first = trees[0]
    if not isinstance(first, tuple):
        return function(*trees)
    parts = [tree_map(function, *branches) for branches in zip(*trees, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def _numbers(tree):
    return [x for part in tree for x in _numbers(part)] if isinstance(tree, tuple) else [tree]


class DualNumbers:
    """Rates by dual numbers."""

    def __init__(self, t):
        self.t = t

    def rate(self, function, t):
        """Return the componentwise rate of a function of time."""
        shape = []

        def flat(at):
            shape.append(function(at[0]))
            return _numbers(shape[-1])

        rates = iter(differentiate(flat, (t,), (1.0,))[1])
        return tree_map(lambda _: next(rates), shape[-1])


class Differences:
    """Rates by central differences; truncation 2^-120 and rounding 2^-340 per derivative."""

    step = gmpy2.mpfr(2) ** -60

    def __init__(self, t):
        self.t = gmpy2.mpfr(t)

    def rate(self, function, t):
        """Return the componentwise rate of a function of time."""
        h = self.step
        return tree_map(lambda a, b: (a - b) / (2 * h), function(t + h), function(t - h))


@pytest.fixture(params=[DualNumbers, Differences], ids=["dual numbers", "differences"])
def time(request):
    """Yield an instant and the way to differentiate there."""
    with gmpy2.context(gmpy2.get_context(), precision=400):
        yield request.param(0.375)


# frames that move: pose(t) = B_X_A with A at rest


def pose(t):
    """Return a frame that turns and travels along a curve."""
    E = _turn((0.6, 0.0, 0.8), 0.7 * t + 0.3) @ _turn((0.0, 1.0, 0.0), 1.1 * t * t)
    return Transform(E, Vector3(sin(t) + 0.4, 0.5 * t * t - 0.2, cos(2 * t)))


def other_pose(t):
    """Return a second moving frame."""
    E = _turn((0.0, -0.6, 0.8), 1 - t) @ _turn((1.0, 0.0, 0.0), sin(2 * t))
    return Transform(E, Vector3(0.3 - t, cos(t), 0.8 * t))


def _turn(axis, angle) -> Matrix3:
    return rotation(Vector3.of(axis), cos(angle), sin(angle))


def angular_velocity(time, path, t):
    """Return omega of a moving frame in A from (dR/dt) R^T = omega x."""
    R = path(t).E.T
    W = time.rate(lambda s: path(s).E.T, t) @ R.T
    return Vector3(W.c.y, W.a.z, W.b.x)


def frame_velocity(time, path, t):
    """Return the spatial velocity of a moving frame in A, from its pose (Carius eq. 3)."""
    omega = angular_velocity(time, path, t)
    r, v = path(t).r, time.rate(lambda s: path(s).r, t)
    return Motion(omega, v + r.cross(omega))


def frame_acceleration(time, path, t):
    """Return the spatial acceleration of a moving frame in A, which is at rest."""
    return time.rate(lambda s: frame_velocity(time, path, s), t)
