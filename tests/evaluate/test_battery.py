"""Thousands of calls: each gives the right answer or an error of the library, nothing else.

Every array argument of every public function is passed in every way of `GOOD` and `BAD`, on six
small models; names, options, models and the order of arguments are spoilt in turn.
"""

import array
import datetime
import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import gmpy2
import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.runtime import all_quantities
from tests.cases import some
from tests.evaluate.small_models import (
    ARGUMENTS,
    CONSTRAINED,
    MAKERS,
    NAMES,
    OPTIONS,
    arrays_of,
    call,
    called,
    core_shape,
    model_named,
    pairs,
    plain_values,
    public,
    state,
)
from tests.public_names import find, places

QUANTITIES = all_quantities()

LEAD = 5  # differs from the length of every core axis
SLOW_NUMBERS = ("sympy floats", "sympy rationals", "mpfr numbers", "kinds mixed")
ALL_TREATMENTS = "double_pendulum"
"""The model that gets every treatment; the others get every third one, not always the same."""


class Subclass(np.ndarray):
    pass


class Convertible:
    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x, dtype)


# -- ways to pass the right numbers


def tuples(x):
    return tuple(tuples(row) for row in x) if x.ndim else float(x)


def objects(x, convert):
    result = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        result[index] = convert(float(x[index]))
    return result


def unaligned(x):
    raw = bytearray(x.nbytes + 1)
    view = np.frombuffer(raw, np.float64, x.size, offset=1).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def spread_out(x):
    wide = np.full(tuple(3 * n for n in x.shape), np.nan)
    window = wide[tuple(slice(1, None, 3) for _ in x.shape)]
    window[...] = x
    return window


def backwards(x):
    axes = tuple(range(x.ndim))
    return np.flip(np.flip(x, axes).copy(), axes)


def read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


def matrix(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(x)


def overlapping(x):
    """Each row starts one number after the last one; all share memory."""
    row = int(np.prod(x.shape[1:]))
    line = np.linspace(0.1, 0.9, row + len(x))
    return np.lib.stride_tricks.sliding_window_view(line, row)[: len(x)].reshape(x.shape)


def mixed(x):
    kinds = itertools.cycle((float, gmpy2.mpfr, np.float64, np.longdouble, gmpy2.mpfr))
    return objects(x, lambda value: next(kinds)(value))


def one_row(value):
    def make(x):
        y = x.copy()
        y[(1, *(0,) * (x.ndim - 1)) if x.ndim else ()] = value
        return y

    return make


def whole(x):
    return np.rint(2 * x)


@dataclass(frozen=True)
class Good:
    """A treatment that keeps the numbers good."""

    make: Callable[[np.ndarray], Any]
    dtype: Any = np.float64
    tolerance: float = 0.0
    axes: tuple[int, ...] = (0, 1, 2, 3)
    """Numbers of axes of the argument, states included, to which it applies."""


GOOD = {
    "as it is": Good(lambda x: x),
    "nested lists": Good(lambda x: x.tolist()),
    "nested tuples": Good(tuples),
    "list of arrays": Good(list, axes=(1, 2, 3)),
    "int64": Good(lambda x: whole(x).astype(np.int64)),
    "int8": Good(lambda x: whole(x).astype(np.int8)),
    "uint16": Good(lambda x: np.abs(whole(x)).astype(np.uint16)),
    "swapped int32": Good(lambda x: whole(x).astype(np.dtype(np.int32).newbyteorder())),
    "list of integers": Good(lambda x: whole(x).astype(int).tolist()),
    "float16": Good(lambda x: x.astype(np.float16)),
    "float32": Good(lambda x: x.astype(np.float32)),
    "longdouble": Good(lambda x: x.astype(np.longdouble), np.longdouble, 1e-13),
    "byte-swapped": Good(lambda x: x.astype(np.dtype(np.float64).newbyteorder())),
    "byte-swapped float32": Good(lambda x: x.astype(np.dtype(np.float32).newbyteorder())),
    "read-only": Good(read_only),
    "negative strides": Good(backwards),
    "Fortran order": Good(np.asfortranarray),
    "spread out": Good(spread_out),
    "unaligned": Good(unaligned),
    "stride zero": Good(lambda x: np.broadcast_to(x[:1], x.shape), axes=(1, 2, 3)),
    "overlapping rows": Good(overlapping, axes=(2, 3)),
    "masked array without a mask": Good(np.ma.masked_array),
    "matrix": Good(matrix, axes=(2,)),
    "subclass": Good(lambda x: x.view(Subclass)),
    "object with __array__": Good(Convertible),
    "memoryview": Good(memoryview),
    "array.array": Good(lambda x: array.array("d", x), axes=(1,)),
    "empty batch": Good(lambda x: x[:0], axes=(2, 3)),
    "empty batch, two axes": Good(lambda x: np.zeros((3, 0, *x.shape[1:])), axes=(2, 3)),
    "empty batch of objects": Good(lambda x: x[:0].astype(object), object, axes=(2, 3)),
    "one more leading axis": Good(lambda x: x[None], axes=(2, 3)),
    "one state": Good(lambda x: x[0], axes=(2, 3)),
    "objects that are floats": Good(lambda x: x.astype(object), object),
    "objects that are float64": Good(lambda x: objects(x, np.float64), object),
    "objects that are float32": Good(lambda x: objects(x, np.float32), object),
    "objects that are integers": Good(lambda x: objects(whole(x), int), object),
    "objects with inf": Good(lambda x: one_row(np.inf)(x).astype(object), object),
    "float64 objects with inf": Good(lambda x: objects(one_row(np.inf)(x), np.float64), object),
    "objects that overflow": Good(lambda x: objects(x * 1e200, np.float64), object),
    "huge": Good(lambda x: x * 1e150),
    "huge float32": Good(lambda x: (x * 1e37).astype(np.float32)),
    "tiny": Good(lambda x: x * 1e-310),
    "zeros": Good(np.zeros_like),
    "negative zeros": Good(lambda x: -np.zeros_like(x)),
    "a NaN": Good(one_row(np.nan)),
    "an infinity": Good(one_row(np.inf)),
    "all NaN": Good(lambda x: np.full_like(x, np.nan)),
    "sympy floats": Good(lambda x: objects(x[:1], sp.Float), object, 1e-12, axes=(2,)),
    "sympy rationals": Good(
        lambda x: objects(np.rint(64 * x[:1]) / 64, sp.Rational), object, 1e-12, axes=(2,)
    ),
    "mpfr numbers": Good(lambda x: objects(x[:2], gmpy2.mpfr), object, 1e-12, axes=(2, 3)),
    "kinds mixed": Good(lambda x: mixed(x[:2]), object, 1e-12, axes=(2, 3)),
}


# -- ways to pass something else


@dataclass(frozen=True)
class Bad:
    """A treatment that the library has to refuse."""

    make: Callable[[np.ndarray], Any]
    error: type[Exception]
    axes: tuple[int, ...] = (1, 2, 3)


def ragged(x):
    rows = x.reshape(-1).tolist()
    return [rows, rows[:-1]]


def with_object(thing):
    def make(x):
        y = x.astype(object)
        y.reshape(-1)[-1] = thing
        return y

    return make


def wider(x):
    return np.concatenate([x, x[..., :1]], axis=-1)


def record(x):
    return np.zeros(x.shape, [("a", float), ("b", float)])


def masked(x):
    return np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) == 0)


NUMBER, SHAPE = sf.errors.NumberError, sf.errors.ShapeError
ALL = (0, 1, 2, 3)
BAD = {
    "one column too many": Bad(wider, SHAPE),
    "one column too few": Bad(lambda x: x[..., :-1], SHAPE),
    "one column": Bad(lambda x: x[..., :1], SHAPE),
    "no columns": Bad(lambda x: x[..., :0], SHAPE),
    "nothing": Bad(lambda x: [], SHAPE),
    "list of nothing": Bad(lambda x: [[]], SHAPE),
    "missing axis": Bad(lambda x: x[..., 0], SHAPE),
    "trailing axis": Bad(lambda x: x[..., None], SHAPE),
    "a number": Bad(lambda x: 0.5, SHAPE),
    "a NumPy number": Bad(lambda x: np.float64(0.5), SHAPE),
    "an array of no axes": Bad(lambda x: np.array(0.5), SHAPE),
    "an integer": Bad(lambda x: 1, SHAPE),
    "transposed": Bad(lambda x: np.swapaxes(x, -1, -2), SHAPE, axes=(2, 3)),
    "ragged": Bad(ragged, SHAPE),
    "wrong objects' shape": Bad(lambda x: wider(x).astype(object), SHAPE),
    "bool": Bad(lambda x: x > 0, NUMBER, ALL),
    "a bool": Bad(lambda x: True, NUMBER, ALL),
    "complex": Bad(lambda x: x.astype(complex), NUMBER, ALL),
    "complex64": Bad(lambda x: x.astype(np.complex64), NUMBER, ALL),
    "texts": Bad(lambda x: x.astype(str), NUMBER, ALL),
    "bytes": Bad(lambda x: x.astype("S8"), NUMBER, ALL),
    "a text": Bad(lambda x: "0.5", NUMBER, ALL),
    "list of texts": Bad(lambda x: x.astype(str).tolist(), NUMBER, ALL),
    "numbers and a text": Bad(lambda x: [*x.reshape(-1).tolist(), "a"], NUMBER, ALL),
    "dates": Bad(lambda x: np.zeros(x.shape, "M8[s]"), NUMBER, ALL),
    "durations": Bad(lambda x: np.zeros(x.shape, "m8[s]"), NUMBER, ALL),
    "a date": Bad(lambda x: datetime.date(2000, 1, 1), NUMBER, ALL),
    "records": Bad(record, NUMBER, ALL),
    "a dictionary": Bad(lambda x: {"x": 1.0}, NUMBER, ALL),
    "a set": Bad(lambda x: {0.5, 0.6}, NUMBER, ALL),
    "a generator": Bad(lambda x: (y for y in x.reshape(-1)), NUMBER, ALL),
    "an object": Bad(lambda x: object(), NUMBER, ALL),
    "a function": Bad(lambda x: np.sin, NUMBER, ALL),
    "masked elements": Bad(masked, NUMBER, ALL),
    "object None": Bad(with_object(None), NUMBER, ALL),
    "object text": Bad(with_object("a"), NUMBER, ALL),
    "object bytes": Bad(with_object(b"a"), NUMBER, ALL),
    "object bool": Bad(with_object(True), NUMBER, ALL),
    "object NumPy bool": Bad(with_object(np.True_), NUMBER, ALL),
    "object complex": Bad(with_object(1j), NUMBER, ALL),
    "object complex128": Bad(with_object(np.complex128(1j)), NUMBER, ALL),
    "object mpc": Bad(with_object(gmpy2.mpc(1, 1)), NUMBER, ALL),
    "object Fraction": Bad(with_object(Fraction(1, 3)), NUMBER, ALL),
    "object Decimal": Bad(with_object(Decimal("0.1")), NUMBER, ALL),
    "object list": Bad(with_object([1.0]), NUMBER, ALL),
    "object array": Bad(with_object(np.zeros(2)), NUMBER, ALL),
    "object dictionary": Bad(with_object({}), NUMBER, ALL),
    "object condition": Bad(with_object(sp.Symbol("x") > 0), NUMBER, ALL),
    "an integer beyond floats": Bad(with_object(10**400), NUMBER, ALL),
    "floats and an integer beyond them": Bad(
        lambda x: [*x.reshape(-1).tolist(), 10**400], NUMBER, ALL
    ),
    "None": Bad(lambda x: None, NUMBER, ALL),
}

THINGS = [b"tip", None, 0, 1.5, True, ["body"], ("body",), {"body"}, np.array(["body"])]
THINGS += [np.zeros(2), object(), float("nan"), np.str_("tipp")]
BAD_NAMES = ["tipp", "", "TIP", " tip", *THINGS]
BAD_OPTIONS = ["bodyy", "", "WORLD", " body", *THINGS]
NOT_MODELS = [None, "double_pendulum", 3, 0.5, {}, [], np.zeros(2), sf.Model, object()]


# -- the cases


@dataclass(frozen=True)
class Case:
    """One call: which function, what is done to which argument, and what has to come of it."""

    function: str
    argument: str
    label: str
    run: Callable[[], None]


def cases(model_name, function):
    model = model_named(model_name)
    for argument in arrays_of(function):
        base = treated_base(model, function, argument)
        for label, good in chosen(GOOD, model_name, function, argument):
            slow = model_name != ALL_TREATMENTS or function == "coriolis_matrix"
            if base.ndim not in good.axes or (label in SLOW_NUMBERS and slow):
                continue
            yield Case(function, argument, label, good_call(model_name, function, argument, good))
        for label, bad in chosen(BAD, model_name, function, argument):
            optional = label == "None" and argument in ("f_ext", "point", "dt")
            any_shape = argument == "dt" and bad.error is SHAPE and label != "ragged"
            if base.ndim in bad.axes and not optional and not any_shape:
                wrong = {argument: bad.make(base)}
                run = bad_call(model, function, wrong, bad.error, argument)
                yield Case(function, argument, label, run)
        if argument in ("f_ext", "point"):
            run = default_call(model, function, argument)
            yield Case(function, argument, "left out", run)
    for argument in set(ARGUMENTS[function]) & set(NAMES):
        for name in BAD_NAMES:
            run = bad_call(model, function, {argument: name}, sf.errors.UnknownNameError, argument)
            yield Case(function, argument, f"name {name!r}", run)
    for option, got in itertools.product((*OPTIONS.get(function, ()), "backend"), BAD_OPTIONS):
        if option in ("backend", "given", "method") and got is None:
            continue  # the default
        names = option == "given" and isinstance(got, (list, tuple))
        kind = sf.errors.UnknownNameError if names else sf.errors.OptionError
        run = bad_call(model, function, {}, kind, option, **{option: got})
        yield Case(function, option, f"option {got!r}", run)
    for other in NOT_MODELS:
        yield Case(function, "model", f"{other!r}", bad_model(function, model, other))
    yield from whole_calls(model_name, function)


def chosen(treatments, *where):
    """Yield all treatments for one model, every third one for the others."""
    offset = sum(ord(letter) for letter in "".join(where))
    for k, item in enumerate(treatments.items()):
        if where[0] == ALL_TREATMENTS or (k + offset) % 3 == 0:
            yield item


def treated_base(model, function, argument):
    """Return values for the argument under treatment: a batch, where a batch is allowed."""
    return state(model, argument, (LEAD,))


@cache
def expected(model_name, function, argument, data, shape):
    """Return the result for plain contiguous float64 numbers."""
    model = model_named(model_name)
    plain = np.frombuffer(data, np.float64).reshape(shape).copy()
    return call(function, model, {**plain_values(function, model), argument: plain})


def good_call(model_name, function, argument, good):
    model = model_named(model_name)

    def run():
        given = good.make(treated_base(model, function, argument))
        plain = np.array(np.asarray(given), np.float64, order="C")
        if argument in ("q", "q0", "q1") and has_zero_quaternion(model, plain):
            values = {**plain_values(function, model), argument: given}
            refused(sf.errors.StateError, function, argument, lambda: call(function, model, values))
            return
        want = expected(model_name, function, argument, plain.tobytes(), plain.shape)
        got = call(function, model, {**plain_values(function, model), argument: given})
        dtype, tolerance = good.dtype, good.tolerance
        if single_precision(given) and set(arrays_of(function)) <= {"q"}:
            dtype, tolerance = np.float32, 2e-4  # nothing else to widen it
        assert type(got) is np.ndarray and got.dtype == dtype and got.shape == want.shape
        if not (dtype == np.float32 and np.abs(plain).max() > 1e30):  # that overflows
            compare(got.astype(np.float64), want, tolerance)

    return run


def has_zero_quaternion(model, q):
    places = {"floating_link": [(3, 7)], "spherical_tree": [(0, 4), (4, 8)], "held_arm": [(3, 7)]}
    slices = places.get(model.name, ())
    return any((q[..., i:j] == 0).all(axis=-1).any() for i, j in slices)


def single_precision(given):
    dtype = np.asarray(given).dtype
    return dtype.kind == "f" and dtype.itemsize == 4


def compare(got, want, tolerance):
    if not tolerance:
        np.testing.assert_array_equal(got, want)
        return
    scale = max(1.0, np.abs(want).max(initial=0.0))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale)


def refused(error, function, argument, run):
    with pytest.raises(error) as caught:
        run()
    text = str(caught.value)
    assert isinstance(caught.value, sf.errors.SixfoldError)
    assert text.startswith(f"{public(function)}: "), text
    # the argument in quotes, perhaps with others, such as 'q/v'
    assert re.search(rf"'(\w+/)*{argument}(/\w+)*'", text), text
    assert "fix: " in text


def bad_call(model, function, wrong, error, argument, **options):
    def run():
        values = {**plain_values(function, model), **wrong}
        refused(error, function, argument, lambda: call(function, model, values, **options))

    return run


def bad_model(function, model, other):
    def run():
        with pytest.raises(
            sf.errors.ArgumentError, match=f"{public(function)}: the first argument"
        ):
            call(function, other, plain_values(function, model))

    return run


def default_call(model, function, argument):
    """A force or point of zero is the same as none; None is the same as leaving it out."""

    def run():
        values = plain_values(function, model)
        zero = {**values, argument: np.zeros(core_shape(model, argument))}
        with_none = call(function, model, {**values, argument: None})
        compare(with_none, call(function, model, zero), 1e-13)
        assert ARGUMENTS[function][-1] == argument
        listed = [values[a] for a in ARGUMENTS[function][:-1]]
        np.testing.assert_array_equal(with_none, called(function, model, *listed))

    return run


def whole_calls(model_name, function):
    model = model_named(model_name)
    names = arrays_of(function)

    def all_as(dtype, tolerance):
        def run():
            values = plain_values(function, model, (LEAD,))
            want = call(function, model, values)
            cast = {a: x if a in NAMES else x.astype(dtype) for a, x in values.items()}
            got = call(function, model, cast)
            assert got.dtype == dtype
            compare(got.astype(float), want, tolerance)

        return run

    def swapped():
        values = [*plain_values(function, model).values()]
        with pytest.raises(
            sf.errors.ArgumentError, match=f"{public(function)}: the first argument"
        ):
            find(public(function))(values[0], model, *values[1:])

    def name_and_array():
        values = plain_values(function, model)
        (name,) = set(values) & set(NAMES)
        swap = {**values, "q": values[name], name: values["q"]}
        with pytest.raises(sf.errors.SixfoldError, match=rf"{public(function)}: .*'(q|{name})'"):
            call(function, model, swap)

    def one_memory():
        values = plain_values(function, model, (LEAD,))
        first = {}
        for a, x in values.items():
            if a not in NAMES:
                values[a] = first.setdefault(x.shape, x)
        copies = {a: x if a in NAMES else x.copy() for a, x in values.items()}
        np.testing.assert_array_equal(call(function, model, values), call(function, model, copies))

    def mismatch(other):
        def run():
            values = plain_values(function, model, (LEAD,))
            wrong = {other: state(model, other, (LEAD - 1,))}
            refused(SHAPE, function, other, lambda: call(function, model, values | wrong))

        return run

    def by_numpy():
        values = plain_values(function, model, (LEAD,))
        want = call(function, model, values, backend="numpy")
        compare(call(function, model, values), want, 1e-13)
        compare(call(function, model, values, backend="native"), want, 1e-13)

    yield Case(function, "all", "NumPy and machine code", by_numpy)
    yield Case(function, "all", "float32", all_as(np.float32, 2e-4))
    yield Case(function, "all", "longdouble", all_as(np.longdouble, 1e-13))
    yield Case(function, "all", "model and q swapped", swapped)
    yield Case(function, "all", "one memory", one_memory)
    if set(ARGUMENTS[function]) & set(NAMES):
        yield Case(function, "all", "name and q swapped", name_and_array)
    for other in names[1:]:
        yield Case(function, other, "leading axes that do not fit", mismatch(other))


PAIRS = pairs()


@pytest.mark.parametrize(("model_name", "function"), some(PAIRS, len(PAIRS) // 2))
def test_every_call_gives_the_right_answer_or_a_sixfold_error(model_name, function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in cases(model_name, function):
            try:
                case.run()
            except BaseException as error:
                error.add_note(f"case: {model_name} {function} {case.argument}: {case.label}")
                raise


@pytest.mark.parametrize("model_name", MAKERS)
@pytest.mark.parametrize("function", CONSTRAINED)
def test_trees_are_refused_by_functions_for_constraints(model_name, function):
    model = model_named(model_name)
    words = f"{function} does not apply to model '{model.name}', which has no constraints"
    for options in ({}, {"backend": "numpy"}):
        with pytest.raises(sf.errors.NotApplicableError, match=words):
            call(function, model, plain_values(function, model, (LEAD,)), **options)


def test_the_battery_has_at_least_five_thousand_calls():
    found = [(pair, case.argument, case.label) for pair in PAIRS for case in cases(*pair)]
    assert len(found) >= 5000
    assert {pair[1] for pair, _, _ in found} == set(ARGUMENTS)


def test_every_quantity_is_a_public_name():
    assert set(QUANTITIES) <= places().keys()
