"""Turns of every size in every precision: exponential, logarithm, sweeps and their derivatives.

References are the quotients themselves in four times the precision; rates are central differences
with steps of 2^-(1.2 precision) there.
"""

from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import sympy
from gmpy2 import mpfr

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.scalar import Dual, differentiate, plain, precision
from sixfold.spatial import Vector3, rotations

ANGLES = ["0", "1e-300", "1e-30", "1e-12", "1e-5", "9.99e-4", "1.001e-3", "0.0999", "0.1001", "1"]
LONG = (2, -3, 6)  # seven times a unit vector
ACROSS = (1, 4, -2)

precise = pytest.mark.parametrize("bits", [53, 113, 200, 256])
angles = pytest.mark.parametrize("angle", ANGLES)


def at(bits):
    return gmpy2.context(gmpy2.get_context(), precision=bits, emin=-(10**7), emax=10**7)


def vector(angle, direction=LONG):
    """Return the rotation vector, from digits, in the precision at hand."""
    return Vector3(*(mpfr(angle) * x / 7 for x in direction))


# the quotients, as they are printed; used in much higher precision only


def exponential(phi):
    t = gmpy2.sqrt(phi.dot(phi))
    k = gmpy2.sin(t / 2) / t if t else mpfr(1) / 2
    return (*(x * k for x in phi), gmpy2.cos(t / 2))


def logarithm(q):
    *u, w = q
    s = gmpy2.sqrt(sum(x * x for x in u))
    return [x * (2 * gmpy2.atan2(s, w) / s if s else mpfr(2) / w) for x in u]


def sweep(phi, p):
    t = gmpy2.sqrt(phi.dot(phi))
    turned = phi.cross(p)
    B, C = ((1 - gmpy2.cos(t)) / t**2, (t - gmpy2.sin(t)) / t**3) if t else (mpfr(1) / 2, mpfr(0))
    return p + turned * B + phi.cross(turned) * C


def unsweep(phi, p):
    t = gmpy2.sqrt(phi.dot(phi))
    turned = phi.cross(p)
    k = (1 - t / 2 / gmpy2.tan(t / 2)) / t**2 if t else mpfr(0)
    return p - turned / 2 + phi.cross(turned) * k


PAIRS = {
    "exponential": (lambda x: rotations.quaternion_exponential(Vector3(*x[:3])), exponential),
    "sweep": (lambda x: rotations.screw_displacement(Vector3(*x[:3]), Vector3(*x[3:])), sweep),
    "unsweep": (lambda x: rotations.screw_translation(Vector3(*x[:3]), Vector3(*x[3:])), unsweep),
}


def printed(name, x):
    formula = PAIRS[name][1]
    phi, p = Vector3(*x[:3]), Vector3(*x[3:])
    return formula(phi) if name == "exponential" else formula(phi, p)


def ulps(found, expected, bits):
    """Return the largest difference in last bits of the largest number."""
    scale = max(map(abs, expected))
    off = max(abs(mpfr(plain(a)) - b) for a, b in zip(found, expected, strict=True))
    return float(off / scale * mpfr(2) ** bits) if scale else float(off)


@precise
@angles
@pytest.mark.parametrize("name", PAIRS)
def test_turns_of_every_size_are_right_to_the_last_bits(name, angle, bits):
    with at(bits):
        x = (*vector(angle), *vector("0.7", ACROSS))
        found = PAIRS[name][0](x)
    with at(8 * bits + 4000):  # the quotient of a turn by 1e-300 loses 2000 bits
        assert ulps(found, printed(name, x), bits) < 8


@precise
@angles
def test_the_vector_of_a_quaternion_is_right_to_the_last_bits(angle, bits):
    with at(bits):
        q = rotations.quaternion_exponential(vector(angle))
        found = rotations.quaternion_logarithm(q)
    with at(8 * bits + 4000):
        assert ulps(found, logarithm(q), bits) < 8


@precise
@angles
@pytest.mark.parametrize("joint", [sf.Spherical(), sf.Free()], ids=["spherical", "free"])
def test_a_step_and_its_difference_come_back_to_the_last_bits(joint, angle, bits):
    with at(bits):
        turn = tuple(vector(angle))
        dq = turn if joint.nv == 3 else (*turn, *vector("0.7", ACROSS))
        q0 = joint.step(
            [mpfr(x) for x in joint.neutral()], [mpfr(k + 1) / 9 for k in range(joint.nv)]
        )
        back = joint.difference(q0, joint.step(q0, dq))
        # the quaternions between are rounded: 2^-bits of a turn
        assert max(abs(a - b) for a, b in zip(back, dq, strict=True)) < mpfr(2) ** (6 - bits)


@angles
def test_public_functions_turn_mpfr_numbers_to_the_last_bits(angle):
    builder = sf.ModelBuilder("ball")
    builder.add_body("ball", joint=sf.Spherical(), inertia=sf.Inertia.from_mass(1.0))
    model = builder.build()
    with at(200):
        q = np.array([mpfr(0), mpfr(0), mpfr(0), mpfr(1)], dtype=object)
        phi = np.array(list(vector(angle)), dtype=object)
        turned = sf.integrate(model, q, phi)
        back = sf.difference(model, q, turned)
    with at(8000):
        assert ulps(turned, exponential(Vector3(*phi)), 200) < 8
        assert ulps(back, list(phi), 200) < 16


def directional(function, x, along, step):
    """Return the central difference of a function along a direction."""
    after, before = (
        function([a + sign * step * d for a, d in zip(x, along, strict=True)]) for sign in (1, -1)
    )
    return [(a - b) / (2 * step) for a, b in zip(after, before, strict=True)]


ALONG = [Fraction(k, 8) for k in (3, -1, 2, 1, 5, -4)]


@pytest.mark.parametrize("bits", [200, 256])
@angles
@pytest.mark.parametrize("name", PAIRS)
def test_derivatives_by_dual_numbers_are_right_to_the_last_bits(name, angle, bits):
    ours = PAIRS[name][0]
    with at(bits):
        x = (*vector(angle), *vector("0.7", ACROSS))
        along = [mpfr(a) for a in ALONG]
        _, first = differentiate(ours, x, along)
        _, second = differentiate(lambda y: differentiate(ours, y, along)[1], x, along)
    with at(12 * bits + 8000):
        step = mpfr(2) ** -(2 * bits + 40)

        def quotient(y):
            return printed(name, y)

        expected = directional(quotient, x, along, step)
        assert ulps(first, expected, bits) < 32
        twice = directional(lambda y: directional(quotient, y, along, step), x, along, step)
        # beyond the series, a quotient's second derivative loses the square of the angle
        assert ulps(second, twice, bits) < (8 if float(angle) < 1e-3 else 2**12)


@pytest.mark.parametrize("bits", [200, 256])
@angles
def test_the_derivative_of_the_logarithm_is_right_to_the_last_bits(angle, bits):
    with at(bits):
        q = rotations.quaternion_exponential(vector(angle))
        along = [mpfr(a) for a in ALONG[:4]]
        _, found = differentiate(rotations.quaternion_logarithm, q, along)
    with at(12 * bits + 8000):
        expected = directional(logarithm, q, along, mpfr(2) ** -(2 * bits + 40))
        assert ulps(found, expected, bits) < 64


@angles
@pytest.mark.parametrize("name", PAIRS)
def test_traced_programs_and_their_derivatives_agree_with_many_digits(name, angle):
    ours = PAIRS[name][0]
    along = [float(a) for a in ALONG]

    def both(x):
        values, rates = differentiate(ours, x, along)
        return [plain(v) for v in (*values, *rates)]

    size = 4 if name == "exponential" else 3
    layout = Layout(((6,),), ((2 * size,),), "float64")
    kernel, _ = build("turn", trace(both, [6]), layout)
    x = np.array([float(v) for v in (*vector(angle), *vector("0.7", ACROSS))])
    found = kernel(x)
    with at(256):
        exact = both([mpfr(v) for v in x])
    expected = np.array([float(v) for v in exact])
    scale = np.abs(expected).max()
    assert np.abs(found - expected).max() <= 8 * np.finfo(float).eps * scale


def test_symbols_take_the_quotient_everywhere_but_at_zero():
    t = sympy.Symbol("t", positive=True)
    x, _, _, w = rotations.quaternion_exponential(Vector3(t, sympy.Integer(0), sympy.Integer(0)))
    assert sympy.nsimplify(x, rational=True) == sympy.sin(t / 2)
    assert sympy.nsimplify(w, rational=True) == sympy.cos(t / 2)
    zero = [sympy.Integer(0)] * 3
    assert [sympy.nsimplify(c) for c in rotations.quaternion_exponential(Vector3(*zero))] == [
        0,
        0,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("number", "bits"),
    [
        (1.0, 53),
        (np.float64(1.0), 53),
        (np.ones(3, np.float32), 53),
        (np.ones(3, np.longdouble), np.finfo(np.longdouble).nmant + 1),
        (np.ones(3, int), 53),
        (sympy.Symbol("x"), float("inf")),
    ],
)
def test_the_precision_of_a_number_is_that_of_its_arithmetic(number, bits):
    assert precision(number) == bits
    assert precision(Dual(number, 1.0)) == bits
    assert precision(Dual(1.0, Dual(number, 0.0))) == bits


def test_the_precision_of_mpfr_numbers_is_that_of_the_context():
    x = mpfr(1)
    with at(200):
        assert precision(x) == precision(Dual(x, 0.0)) == 200
    with at(256):
        assert precision(x) == 256


@pytest.mark.parametrize(
    ("sum_of", "first"),
    [
        (rotations.COS_HALF, ["1", "-1/8", "1/384", "-1/46080"]),
        (rotations.SIN_HALF, ["1/2", "-1/48", "1/3840", "-1/645120"]),
        (rotations.ONE_LESS_COS, ["1/2", "-1/24", "1/720", "-1/40320"]),
        (rotations.ANGLE_LESS_SIN, ["1/6", "-1/120", "1/5040", "-1/362880"]),
        (
            rotations.ONE_LESS_COT,
            ["1/12", "1/720", "1/30240", "1/1209600", "1/47900160", "691/1307674368000"],
        ),
        (rotations.TWICE_ATAN, ["2", "-2/3", "2/5", "-2/7"]),
    ],
)
def test_the_coefficients_of_the_series_are_those_of_the_books(sum_of, first):
    assert [sum_of.coefficient(j) for j in range(len(first))] == [Fraction(c) for c in first]
