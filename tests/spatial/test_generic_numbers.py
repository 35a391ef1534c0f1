"""One expression, four kinds of numbers: floats, NumPy batches, SymPy symbols and MPFR agree."""

import gmpy2
import mpmath
import numpy as np
import pytest
import sympy

from sixfold.scalar import ZERO, Dual, cos, plain, sin
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Subspace,
    Symmetric3,
    Transform,
    Vector3,
    apparent_inverse_inertia,
    classical_acceleration,
    constrained_motion,
    equation_of_motion,
    inertia_rate,
    rotation,
    transform_rate,
    velocity_at,
)
from sixfold.spatial.solids import capsule
from tests.spatial.support import EPS

COUNT = 36


def sample(seed):
    """Return numbers for every expression; the last ten make a physical body."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(-1.5, 1.5, COUNT - 10)
    body = [2.0, *rng.uniform(-0.3, 0.3, 3), *rng.uniform(2.0, 3.0, 3), *rng.uniform(-0.2, 0.2, 3)]
    return [float(x) for x in (*drawn, *body)]


def transform(x):
    axis = Vector3.of((0.6, 0.0, 0.8))
    return Transform(rotation(axis, cos(x[0]), sin(x[0])), Vector3(*x[1:4]))


def motion(x, k):
    return Motion(Vector3(*x[k : k + 3]), Vector3(*x[k + 3 : k + 6]))


def force(x, k):
    return Force(Vector3(*x[k : k + 3]), Vector3(*x[k + 3 : k + 6]))


def inertia(x):
    m, hx, hy, hz, *I = x[26:]
    return Inertia(m, Vector3(hx, hy, hz), Symmetric3(*I))


def moved_inertia(x):
    X = transform(x)
    return X.T @ inertia(x) @ X


def articulated_step(x):
    S = Subspace(motion(x, 4), motion(x, 10))
    U = inertia(x) @ S
    return inertia(x) - (U / (S.T @ U)) @ U.T


def moved_articulated(x):
    X, A = transform(x), ArticulatedInertia.of(inertia(x))
    return X.T @ A @ X


def constrained(x):
    S = Subspace(motion(x, 4), motion(x, 10))
    S_rate = Subspace(motion(x, 10), motion(x, 4))
    return constrained_motion(inertia(x), S, force(x, 20), (x[16], x[17]), S_rate)


EXPRESSIONS = {
    "length": lambda x: (Vector3(*x[:3]).norm(),),
    "motion cross motion": lambda x: motion(x, 4).cross(motion(x, 10)),
    "motion cross force": lambda x: motion(x, 4).cross(force(x, 20)),
    "power": lambda x: (motion(x, 4).dot(force(x, 20)),),
    "transformed motion": lambda x: transform(x) @ motion(x, 4),
    "transformed force": lambda x: transform(x).star @ force(x, 20),
    "force moved back": lambda x: transform(x).T @ force(x, 20),
    "chained transforms": lambda x: transform(x) @ transform(x[10:]).inverse(),
    "rate of a transform": lambda x: transform_rate(transform(x), motion(x, 4), motion(x, 10)),
    "velocity of a point": lambda x: velocity_at(motion(x, 4), Vector3(*x[1:4])),
    "classical acceleration": lambda x: classical_acceleration(motion(x, 4), motion(x, 10)),
    "momentum": lambda x: inertia(x) @ motion(x, 4),
    "kinetic energy": lambda x: (inertia(x).kinetic_energy(motion(x, 4)),),
    "moved inertia": moved_inertia,
    "moved articulated inertia": moved_articulated,
    "rate of inertia": lambda x: inertia_rate(inertia(x), motion(x, 4)),
    "equation of motion": lambda x: equation_of_motion(inertia(x), motion(x, 4), motion(x, 10)),
    "constrained motion": constrained,
    "articulated step": articulated_step,
    "apparent inverse inertia": lambda x: apparent_inverse_inertia(
        inertia(x), Subspace(motion(x, 4))
    ),
}
any_expression = pytest.mark.parametrize("f", EXPRESSIONS.values(), ids=EXPRESSIONS.keys())


def flat(tree):
    if isinstance(tree, tuple):
        return [x for part in tree for x in flat(part)]
    return [tree]


def exactly(f, x):
    """Return the values of an expression in 250-bit arithmetic and their largest size."""
    values = [gmpy2.mpfr(plain(y)) for y in flat(f([gmpy2.mpfr(v) for v in x]))]
    return values, max(abs(v) for v in values)


@pytest.fixture(autouse=True)
def precise():
    """Compute MPFR numbers with 250 bits."""
    with gmpy2.context(gmpy2.get_context(), precision=250):
        yield


@any_expression
def test_floats_agree_with_mpfr(f):
    x = sample(1)
    want, scale = exactly(f, x)
    for a, b in zip(flat(f(x)), want, strict=True):
        assert abs(plain(a) - b) <= 64 * EPS * (1 + scale)


@any_expression
def test_a_batch_agrees_with_its_rows(f):
    rows = [sample(seed) for seed in range(5)]
    batch = flat(f(list(np.array(rows).T)))
    assert any(np.shape(y) == (5,) for y in batch)
    for k, row in enumerate(rows):
        want = np.array([float(y) for y in flat(f(row))])
        found = np.array([float(np.broadcast_to(plain(y), (5,))[k]) for y in batch])
        # the same operations in the same order; only sines and cosines may round differently
        assert np.all(np.abs(found - want) <= 64 * EPS * (1 + np.abs(want).max()))


@any_expression
def test_symbols_agree_with_mpfr(f):
    x = sample(2)
    symbols = sympy.symbols(f"x:{COUNT}", real=True)
    compute = sympy.lambdify(symbols, flat(f(list(symbols))), modules="mpmath", cse=True)
    want, scale = exactly(f, x)
    with mpmath.workprec(250):
        found = [gmpy2.mpfr(str(mpmath.mpf(y))) for y in compute(*map(mpmath.mpf, x))]
    for a, b in zip(found, want, strict=True):
        # constants such as 0.8 are the same doubles in both; SymPy keeps them to 15 digits
        assert abs(a - b) <= 64 * EPS * (1 + scale)


@any_expression
def test_known_zeros_stay_known_whatever_the_numbers_are(f):
    kinds = [
        sample(3),
        [np.array([v, v]) for v in sample(3)],
        [gmpy2.mpfr(v) for v in sample(3)],
        [Dual(v, 1.0) for v in sample(3)],
    ]
    patterns = [[y is ZERO for y in flat(f(x))] for x in kinds]
    assert all(p == patterns[0] for p in patterns)


def test_a_rate_by_dual_numbers_agrees_with_symbols():
    x = sample(4)
    symbols = sympy.symbols(f"x:{COUNT}", real=True)
    f = EXPRESSIONS["equation of motion"]
    found = [y.dot for y in flat(f([Dual(v, 1.0 if k == 5 else 0.0) for k, v in enumerate(x)]))]
    point = dict(zip(symbols, x, strict=True))
    want = [float(sympy.diff(y, symbols[5]).subs(point)) for y in flat(f(list(symbols)))]
    assert np.all(np.abs(np.array(found) - want) <= 64 * EPS * (1 + np.abs(want).max()))


def test_solids_take_any_kind_of_number():
    r, l = sympy.symbols("r l", positive=True)
    with_symbols = capsule(r, l, mass=sympy.Integer(2)).I.xx
    found = float(with_symbols.subs({r: 0.3, l: 1.2}))
    want = capsule(0.3, 1.2, mass=2).I.xx
    assert abs(found - want) <= 8 * EPS * want
    precise = capsule(gmpy2.mpfr(0.3), gmpy2.mpfr(1.2), mass=2).I.xx
    assert abs(precise - want) <= 8 * EPS * want
