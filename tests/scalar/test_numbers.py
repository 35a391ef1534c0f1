"""Numbers: the exact zero, the closed list of operations and its readings."""

import copy
import inspect
import math
import operator
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import sympy

from sixfold.errors import NumberError
from sixfold.scalar import (
    RULES,
    ZERO,
    Op,
    Zero,
    absolute,
    apply,
    atan2,
    cos,
    exact,
    exp,
    if_positive,
    log,
    plain,
    register,
    sign,
    sin,
    sqrt,
    tanh,
)

EPS = np.finfo(float).eps

KINDS = {
    "int": 3,
    "float": -2.5,
    "np.float64": np.float64(0.75),
    "array": np.array([1.5, -2.0, 4.0]),
    "sympy": sympy.Symbol("x"),
    "mpfr": gmpy2.mpfr("1.25"),
}
any_kind = pytest.mark.parametrize("x", KINDS.values(), ids=KINDS.keys())

FUNCTIONS = {
    Op.SQRT: (sqrt, (0.3, 2.0, 7.5)),
    Op.SIN: (sin, (-4.0, -0.3, 0.7, 3.1)),
    Op.COS: (cos, (-4.0, -0.3, 0.7, 3.1)),
    Op.EXP: (exp, (-2.5, 0.1, 3.0)),
    Op.LOG: (log, (0.2, 1.7, 30.0)),
    Op.TANH: (tanh, (-2.0, -0.01, 0.6)),
    Op.ABS: (absolute, (-2.0, 0.0, 0.6)),
    Op.SIGN: (sign, (-2.0, 0.0, 0.6)),
}
any_function = pytest.mark.parametrize("op", FUNCTIONS, ids=lambda op: op.value)

READINGS = {
    "float": lambda x: x,
    "np.float64": np.float64,
    "array": lambda x: np.array([x]),
    "sympy": sympy.Float,
    "mpfr": gmpy2.mpfr,
}
any_reading = pytest.mark.parametrize("read", READINGS.values(), ids=READINGS.keys())


def as_float(x):
    return float(x[0]) if isinstance(x, np.ndarray) else float(x)


def same(x, y):
    return bool(np.all(x == y)) and type(x) is type(y)


# the exact zero


@any_kind
def test_zero_plus_a_number_is_that_number(x):
    assert same(ZERO + x, x)
    assert same(x + ZERO, x)


@any_kind
def test_a_number_minus_zero_is_that_number_and_zero_minus_it_its_negative(x):
    assert same(x - ZERO, x)
    assert same(ZERO - x, -x)


@any_kind
def test_zero_times_a_number_is_zero(x):
    assert ZERO * x == ZERO
    assert x * ZERO == ZERO


@pytest.mark.parametrize("x", [v for k, v in KINDS.items() if k != "sympy"])
def test_a_product_with_zero_stays_exact_for_every_number_without_its_own_symbols(x):
    assert ZERO * x is ZERO
    assert x * ZERO is ZERO


@pytest.mark.parametrize("x", [math.inf, math.nan])
def test_zero_times_infinity_or_nan_is_zero_because_the_zero_is_exact(x):
    assert ZERO * x is ZERO
    assert x * ZERO is ZERO


@any_kind
def test_zero_divided_by_a_number_is_zero(x):
    assert ZERO / x == ZERO


@pytest.mark.parametrize("x", [3, -2.5, np.float64(0.75), np.array([1.5, -2.0]), gmpy2.mpfr(2)])
def test_division_by_an_exact_zero_is_an_error(x):
    with pytest.raises(ZeroDivisionError, match="exact zero"):
        x / ZERO


def test_zero_divided_by_zero_is_an_error():
    with pytest.raises(ZeroDivisionError, match="exact zero divided by an exact zero"):
        ZERO / ZERO


def test_positive_powers_of_zero_are_zero_and_the_zeroth_is_one():
    assert ZERO**2 is ZERO
    assert ZERO**0 == 1.0
    with pytest.raises(ZeroDivisionError):
        ZERO**-1


def test_zero_has_no_sign():
    assert -ZERO is ZERO
    assert +ZERO is ZERO
    assert abs(ZERO) is ZERO


def test_zero_compares_as_the_number_does():
    assert ZERO == 0 and ZERO == 0.0 and Zero() == ZERO and ZERO != 1.0
    assert ZERO < 1.0 and ZERO <= 1.0 and ZERO > -1.0 and ZERO >= -1.0
    assert ZERO <= 0.0 and ZERO >= 0.0
    assert not (ZERO < 0.0 or ZERO > 0.0 or ZERO < -1.0 or ZERO > 1.0)
    assert not (ZERO <= -1.0 or ZERO >= 1.0)


def test_zero_is_false_hashes_and_prints_as_the_digit():
    assert not ZERO
    assert hash(ZERO) == hash(0.0)
    assert float(ZERO) == 0.0
    assert repr(ZERO) == "0"


@pytest.mark.parametrize("spec", [".3f", "8.2e", "+g", "<6", "%", "010.1f"])
def test_zero_takes_a_format_as_a_float_does(spec):
    assert format(ZERO, spec) == format(0.0, spec)
    assert f"{ZERO}" == "0"


def test_zero_refuses_a_format_that_a_float_refuses():
    with pytest.raises(ValueError, match="format code 'd'"):
        format(ZERO, "d")


def test_zero_survives_pickling_and_copying_as_the_same_object():
    assert pickle.loads(pickle.dumps(ZERO)) is ZERO
    assert copy.deepcopy(ZERO) is ZERO


def test_sympy_sees_its_own_zero():
    assert sympy.sympify(ZERO) is sympy.Integer(0)


def test_exact_turns_plain_zeros_into_the_exact_zero_and_leaves_all_else():
    for x in (0, 0.0, -0.0, np.float64(0.0)):
        assert exact(x) is ZERO
    batch = np.zeros(3)
    for x in (1.5, math.nan, batch, sympy.Symbol("x"), gmpy2.mpfr(1)):
        assert exact(x) is x


def test_plain_turns_the_exact_zero_into_a_float_and_leaves_all_else():
    assert plain(ZERO) == 0.0 and type(plain(ZERO)) is float
    for x in (1.5, np.ones(2), sympy.Symbol("x")):
        assert plain(x) is x


# the closed list of operations


@pytest.mark.parametrize("op", Op, ids=lambda op: op.value)
def test_every_rule_has_one_partial_derivative_for_each_argument(op):
    rule = RULES[op]
    assert len(inspect.signature(rule.partials).parameters) == rule.arity
    assert len(rule.partials(*[0.5] * rule.arity)) == rule.arity


@pytest.mark.parametrize(
    ("op", "arguments", "value"),
    [
        (Op.ADD, (2.0, 3.0), 5.0),
        (Op.SUB, (2.0, 3.0), -1.0),
        (Op.MUL, (2.0, 3.0), 6.0),
        (Op.DIV, (3.0, 2.0), 1.5),
        (Op.NEG, (2.0,), -2.0),
    ],
    ids=lambda x: x.value if isinstance(x, Op) else None,
)
def test_arithmetic_on_floats_follows_its_rule(op, arguments, value):
    assert apply(op, *arguments) == value
    assert RULES[op].value(*arguments) == value


def test_every_operation_is_arithmetic_or_a_function_of_the_type_of_its_arguments():
    arithmetic = {Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG}
    assert arithmetic | FUNCTIONS.keys() | {Op.ATAN2, Op.IF_POSITIVE} == set(Op)


@any_function
@any_reading
def test_functions_agree_between_floats_arrays_symbols_and_mpfr(op, read):
    function, points = FUNCTIONS[op]
    for x in points:
        with gmpy2.context(gmpy2.get_context(), precision=200):
            truth = float(function(gmpy2.mpfr(x)))
        # libraries round their elementary functions to within one unit in the last place
        assert abs(as_float(function(read(x))) - truth) <= EPS * abs(truth)
        assert abs(RULES[op].value(x) - truth) <= EPS * abs(truth)


@any_function
def test_functions_of_a_number_keep_its_kind(op):
    function, points = FUNCTIONS[op]
    x = points[-1]
    assert type(function(x)) is float
    assert isinstance(function(np.array([x, x])), np.ndarray)
    assert isinstance(function(gmpy2.mpfr(x)), type(gmpy2.mpfr(1)))
    assert isinstance(function(sympy.Symbol("x")), sympy.Expr)


@any_function
def test_an_array_is_a_batch_of_numbers(op):
    function, points = FUNCTIONS[op]
    together = function(np.array(points))
    alone = np.array([function(x) for x in points])
    assert np.all(np.abs(together - alone) <= EPS * np.abs(alone))


@any_reading
@pytest.mark.parametrize(("y", "x"), [(1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (-1.0, 2.0)])
def test_atan2_finds_the_angle_in_all_quadrants(read, y, x):
    want = math.atan2(y, x)
    assert abs(as_float(atan2(read(y), read(x))) - want) <= EPS * abs(want)


def test_functions_of_symbols_are_the_symbolic_functions():
    x, y = sympy.symbols("x y")
    found = [f(x) for f in (sqrt, sin, cos, exp, log, tanh, absolute, sign)]
    want = [sympy.sqrt(x), sympy.sin(x), sympy.cos(x), sympy.exp(x), sympy.log(x)]
    assert found == [*want, sympy.tanh(x), sympy.Abs(x), sympy.sign(x)]
    assert atan2(y, x) == sympy.atan2(y, x)


@any_reading
def test_the_sign_of_a_number_is_minus_one_zero_or_one(read):
    assert [as_float(sign(read(x))) for x in (-0.3, 0.0, 7.0)] == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("nan", [math.nan, np.float64("nan"), np.array([math.nan]), gmpy2.nan()])
def test_the_sign_of_nan_is_nan(nan):
    assert math.isnan(as_float(sign(nan)))


@any_reading
@pytest.mark.parametrize(("x", "chosen"), [(1e-300, 5.0), (0.0, 6.0), (-0.0, 6.0), (-2.0, 6.0)])
def test_if_positive_chooses_by_sign_and_counts_zero_as_not_positive(read, x, chosen):
    assert as_float(if_positive(read(x), read(5.0), read(6.0))) == chosen


@pytest.mark.parametrize("nan", [math.nan, np.float64("nan"), np.array([math.nan]), gmpy2.nan()])
def test_if_positive_of_nan_is_nan(nan):
    assert math.isnan(as_float(if_positive(nan, 5.0, 6.0)))


def test_if_positive_chooses_row_by_row_in_a_batch():
    x = np.array([2.0, 0.0, -1.0, math.nan])
    found = if_positive(x, x * 10, ZERO)
    np.testing.assert_array_equal(found, [20.0, 0.0, 0.0, math.nan])


def test_arrays_beside_numbers_of_other_kinds_are_gone_through_element_by_element():
    x = sympy.Symbol("x", real=True)
    found = if_positive(x, np.array([1.0, 2.0]), 0.0)
    assert [f.subs(x, 3.0) for f in found] == [1.0, 2.0]
    assert [f.subs(x, -3.0) for f in found] == [0.0, 0.0]
    assert atan2(np.array([x, 1.0]), x).tolist() == [sympy.atan2(x, x), sympy.atan2(1.0, x)]
    exact = np.array([gmpy2.mpfr(2), gmpy2.mpfr(-2)])
    assert if_positive(exact, 1.0, exact).tolist() == [1.0, gmpy2.mpfr(-2)]
    assert if_positive(gmpy2.mpfr(-1), 1.0, np.array([5.0, 6.0])).tolist() == [5.0, 6.0]


def test_if_positive_of_a_numpy_scalar_is_a_scalar():
    assert isinstance(if_positive(np.float64(1.0), 5.0, 6.0), np.float64)


def test_if_positive_ignores_what_it_does_not_choose():
    assert if_positive(1.0, 5.0, math.nan) == 5.0
    assert if_positive(-1.0, math.inf, 6.0) == 6.0
    found = if_positive(np.array([1.0, -1.0]), np.array([5.0, math.nan]), np.array([math.nan, 6.0]))
    np.testing.assert_array_equal(found, [5.0, 6.0])


def test_the_richest_kind_of_number_decides_the_reading():
    x, batch = sympy.Symbol("x"), np.array([1.0, -2.0])
    assert atan2(1.0, x) == sympy.atan2(1.0, x)
    np.testing.assert_array_equal(atan2(ZERO, batch), np.arctan2(0.0, batch))
    np.testing.assert_array_equal(atan2(batch, 1.0), np.arctan2(batch, 1.0))
    assert isinstance(atan2(ZERO, gmpy2.mpfr(2)), type(gmpy2.mpfr(1)))
    assert atan2(ZERO, 2.0) == 0.0


def test_functions_of_the_exact_zero_stay_exact_where_the_value_is_zero():
    assert all(f(ZERO) is ZERO for f in (sin, sqrt, tanh, absolute, sign))
    assert cos(ZERO) == 1.0
    assert exp(ZERO) == 1.0
    assert if_positive(ZERO, 5.0, 6.0) == 6.0


@pytest.mark.parametrize(("function", "x"), [(log, 0.0), (log, ZERO), (log, -1.0), (sqrt, -1.0)])
def test_floats_outside_the_domain_of_a_function_are_an_error(function, x):
    with pytest.raises(ValueError, match="domain"):
        function(x)


@pytest.mark.parametrize("x", ["1.0", 1j, Fraction(1, 2), Decimal(1), None, object()])
def test_an_unknown_kind_of_number_is_refused_with_advice(x):
    with pytest.raises(NumberError, match=r"not a number that Sixfold knows[\s\S]*fix: .*register"):
        sin(x)


def test_an_unknown_number_beside_a_known_one_is_refused():
    with pytest.raises(NumberError):
        atan2(1.0, "x")


def test_a_new_kind_of_number_joins_with_its_own_reading():
    class Spoken:
        def __init__(self, words):
            self.words = words

    register(
        Spoken, 5, lambda op, *xs: " ".join([op.value, *(getattr(x, "words", "?") for x in xs)])
    )
    assert sin(Spoken("two")) == "sin two"
    assert atan2(1.0, Spoken("two")) == "atan2 ? two"
    assert atan2(sympy.Symbol("x"), Spoken("two")) == "atan2 ? two"


def test_a_subclass_of_a_known_number_is_read_as_its_base():
    class Metres(float):
        pass

    assert sin(Metres(0.5)) == math.sin(0.5)
    assert sin(True) == math.sin(1.0)


def test_no_heavy_library_is_loaded_before_one_of_its_numbers_appears():
    code = (
        "import sys; from sixfold.scalar import sin; sin(0.5);"
        "print([m for m in ('sympy', 'gmpy2', 'llvmlite', 'jax') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_operators_of_python_and_rules_agree_on_every_kind_of_number():
    table = {Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul}
    for op, python in (table | {Op.DIV: operator.truediv}).items():
        for x in KINDS.values():
            assert same(RULES[op].value(x, 2), python(x, 2))
