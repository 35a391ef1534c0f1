"""A batch is many states side by side: no row knows of another, nor of its place."""

import itertools

import numpy as np
import pytest

import sixfold as sf
from tests.evaluate.small_models import (
    ARGUMENTS,
    NAMES,
    arrays_of,
    call,
    model_named,
    pairs,
    plain_values,
    public,
    state,
)
from tests.public_names import find

PAIRS = pairs()
everywhere = pytest.mark.parametrize(("model_name", "function"), PAIRS)


def bits(x):
    return np.ascontiguousarray(x).view(np.uint8)


def assert_same_bits(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(bits(got), bits(want))


def with_each_element(x, change):
    """Return one copy of a state for each of its elements, with that element changed."""
    rows = np.broadcast_to(x, (x.size, *x.shape)).copy()
    flat = rows.reshape(x.size, x.size)
    flat[np.arange(x.size), np.arange(x.size)] = change(x.reshape(-1))
    return rows


MAY_BE_CONSTANT = ("integrate_derivatives", "difference_derivatives")
"""Unit matrices where no joint is spherical or free."""


def values_of(model, function, argument):
    """Return values that are not finite and have no finite result.

    The slope of smooth friction f tanh(v / v_s) is zero at an infinite velocity, which is right.
    """
    speeds = any(any(body.friction_speed) for body in model.bodies)
    smooth = speeds and "derivatives" in function and argument == "v"
    return (np.nan,) if smooth else (np.nan, np.inf, -np.inf)


@everywhere
def test_every_output_that_depends_on_a_non_finite_input_is_not_finite(model_name, function):
    model = model_named(model_name)
    values = plain_values(function, model)
    base = call(function, model, values)
    for argument in arrays_of(function):
        x = values[argument]
        moved = {**values, argument: with_each_element(x, lambda row: row + 0.37)}
        depends = call(function, model, moved) != base
        constant = argument == "q" or public(function) in MAY_BE_CONSTANT
        # by default every joint of a fixed base follows its acceleration
        constant |= argument == "tau" and public(function).startswith("hybrid")
        assert depends.any() or constant or model_name == "cart_pendulum"
        for value in values_of(model, function, argument):
            spoilt = with_each_element(x, lambda row, value=value: np.full_like(row, value))
            got = call(function, model, {**values, argument: spoilt})
            wrong = depends & np.isfinite(got)
            assert not wrong.any(), (argument, value, np.argwhere(wrong)[:5])


@everywhere
def test_a_spoilt_row_changes_no_other_row(model_name, function):
    model = model_named(model_name)
    values = plain_values(function, model, (19,))
    want = call(function, model, values)
    for argument in arrays_of(function):
        for row, value in itertools.product((0, 7, 18), (np.nan, np.inf, 1e300)):
            x = values[argument].copy()
            x[row] = value
            got = call(function, model, {**values, argument: x})
            others = np.arange(19) != row
            assert_same_bits(got[others], want[others])


@everywhere
def test_results_do_not_depend_on_place_or_leading_shape(model_name, function):
    model = model_named(model_name)
    values = plain_values(function, model, (12,))
    want = call(function, model, values)

    def rearranged(change):
        moved = {a: change(values[a]) if a in arrays_of(function) else values[a] for a in values}
        return call(function, model, moved)

    assert np.isfinite(want).all() and len(want) == 12
    for row in (0, 5, 11):
        assert_same_bits(rearranged(lambda x, row=row: x[row]), want[row])
    assert_same_bits(rearranged(lambda x: x[::-1]), want[::-1])
    assert_same_bits(rearranged(lambda x: x[3:10]), want[3:10])
    shape = (2, 1, 3, 2)
    in_a_box = rearranged(lambda x: x.reshape(*shape, *x.shape[1:]))
    assert_same_bits(in_a_box, want.reshape(*shape, *want.shape[1:]))
    many = rearranged(lambda x: np.concatenate([x] * 40))
    assert_same_bits(many, np.concatenate([want] * 40))


@everywhere
def test_inputs_are_never_modified_nor_handed_out_again(model_name, function):
    model = model_named(model_name)
    values = plain_values(function, model, (3,))
    before = {a: values[a].copy() for a in arrays_of(function)}
    result = call(function, model, values)
    for argument, x in before.items():
        np.testing.assert_array_equal(values[argument], x)
        assert not np.shares_memory(result, values[argument])
    assert result.flags.writeable and result.flags.c_contiguous
    kept = result.copy()
    result[...] = np.nan
    np.testing.assert_array_equal(call(function, model, values), kept)


@pytest.mark.parametrize(("model_name", "function"), [p for p in PAIRS if len(arrays_of(p[1])) > 1])
def test_leading_axes_broadcast_as_numpy_does(model_name, function):
    model = model_named(model_name)
    names = arrays_of(function)
    leads = itertools.cycle([(5, 1), (1, 4), (4,), ()])
    values = plain_values(function, model)
    values |= {a: state(model, a, lead) for a, lead in zip(names, leads, strict=False)}
    got = call(function, model, values)
    assert got.shape[:2] == (5, 4)
    for i, j in ((0, 0), (4, 1), (2, 3)):
        one = dict(values)
        for a in names:
            lead = values[a].ndim - state(model, a).ndim
            wide = np.broadcast_to(values[a], (5, 4, *values[a].shape[lead:]))
            one[a] = wide[i, j].copy()
        assert_same_bits(got[i, j], call(function, model, one))


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "body_poses"])
def test_a_batch_big_enough_for_threads_has_the_same_rows_and_no_warnings(function):
    model = model_named("floating_link")
    values = {
        a: np.tile(x, (2000, *[1] * (x.ndim - 1)))
        for a, x in plain_values(function, model, (20,)).items()
    }
    values["q"][[5, 9_000, 19_999]] = [[np.nan], [np.inf], [1e300]]
    got = call(function, model, values)
    few = slice(8_990, 9_010)
    some = {a: x[few] for a, x in values.items()}
    np.testing.assert_array_equal(got[few], call(function, model, some))
    assert np.isfinite(np.delete(got, [5, 9_000, 19_999], axis=0)).all()


# -- dtypes


def result_type(*dtypes, function="inverse_dynamics"):
    model = model_named("double_pendulum")
    names = [a for a in arrays_of(function) if a != "f_ext"]
    listed = [state(model, a).astype(dtype) for a, dtype in zip(names, dtypes, strict=True)]
    return find(function)(model, *listed).dtype


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ((np.float64, np.float64, np.float64), np.float64),
        ((np.float32, np.float32, np.float32), np.float32),
        ((np.float32, np.float64, np.float32), np.float64),
        ((np.float32, np.int64, np.float32), np.float64),
        ((np.float16, np.float16, np.float16), np.float64),
        ((np.int32, np.int32, np.int32), np.float64),
        ((np.longdouble, np.float64, np.float64), np.longdouble),
        ((object, np.float64, np.float64), object),
        ((object, object, np.longdouble), object),
    ],
)
def test_the_result_has_the_common_type_of_the_arguments(dtypes, expected):
    assert result_type(*dtypes) == expected


@pytest.mark.parametrize("time", [0.5, 1, np.float64(0.5)])
def test_a_time_step_given_as_a_number_does_not_widen_float32(time):
    model = model_named("floating_link")
    q, v = (state(model, a).astype(np.float32) for a in "qv")
    assert sf.integrate(model, q, v, time).dtype == np.float32
    assert sf.integrate(model, q, v).dtype == np.float32


def test_a_force_at_the_origin_of_a_frame_stays_in_float32():
    model = model_named("floating_link")
    q = state(model, "q").astype(np.float32)
    assert sf.point_force(model, q, "tip", np.ones(3, np.float32)).dtype == np.float32


def test_a_float32_argument_is_widened_before_it_is_used_with_float64():
    model = model_named("floating_link")
    values = plain_values("inverse_dynamics", model)
    values["q"] = values["q"].astype(np.float32)
    wide = {**values, "q": values["q"].astype(float)}
    assert_same_bits(call("inverse_dynamics", model, values), call("inverse_dynamics", model, wide))


def test_longdouble_results_have_more_digits_than_float64():
    model = model_named("double_pendulum")
    q = state(model, "q")
    wide = sf.mass_matrix(model, q.astype(np.longdouble))
    again = sf.mass_matrix(model, wide[0] * 0 + q.astype(np.longdouble))
    error = np.abs(wide - sf.mass_matrix(model, q))
    assert (wide == again).all()
    assert 0 < error.max() < 1e-14


def test_symbols_beside_numbers_that_are_not_finite_are_refused_by_name():
    import sympy as sp

    model = model_named("double_pendulum")
    q = np.array(sp.symbols("q1 q2"), object)
    with pytest.raises(sf.errors.NumberError, match="inverse_dynamics: argument 'v' mixes symbols"):
        sf.inverse_dynamics(model, q, [np.nan, 0.0], [0.0, 0.0])


def test_a_state_of_symbols_with_no_result_names_the_arguments():
    import gmpy2

    model = model_named("floating_link")
    q = np.zeros(8, object)
    v = np.array([gmpy2.mpfr(1)] * 7, object)
    q[6] = 1e-200  # its square is zero
    with pytest.raises(sf.errors.NumberError, match="momentum: arguments 'q/v' have no result"):
        sf.momentum(model, q, v)


@pytest.mark.parametrize("function", ["center_of_mass", "centroidal_momentum"])
def test_a_model_without_mass_has_no_centre_of_mass(function):
    builder = sf.ModelBuilder("ghost").add_body("a", joint=sf.Revolute("z"))
    model = builder.build()
    values = [np.zeros(1) for a in ARGUMENTS[function] if a not in NAMES]
    with pytest.raises(sf.errors.ModelError, match=f"{function}: model 'ghost': has no mass"):
        find(function)(model, *values)


def test_a_model_without_bodies_gives_empty_arrays():
    model = sf.ModelBuilder("nothing").build()
    q = np.zeros((3, 0))
    assert sf.mass_matrix(model, q).shape == (3, 0, 0)
    assert sf.forward_dynamics(model, q, q, q).shape == (3, 0)
    assert sf.body_poses(model, q).shape == (3, 0, 4, 4)
    np.testing.assert_array_equal(sf.potential_energy(model, q), np.zeros(3))
    np.testing.assert_array_equal(sf.frame_pose(model, q, "world"), [np.eye(4)] * 3)


def test_a_point_may_be_of_symbols():
    import sympy as sp

    model = model_named("double_pendulum")
    x, y, z = sp.symbols("x y z")
    found = sf.jacobian(model, np.zeros(2), "tip", (x, y, z))
    numbers = [[float(sp.sympify(e).subs({x: 1, y: 2, z: 3})) for e in row] for row in found]
    np.testing.assert_allclose(numbers, sf.jacobian(model, np.zeros(2), "tip", (1, 2, 3)))


def test_each_state_may_have_its_own_point():
    model = model_named("double_pendulum")
    rng = np.random.default_rng(3)
    q, v, points = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 3))
    J = sf.jacobian(model, q, "tip", points)
    bias = sf.jacobian_bias(model, q, v, "tip", points)
    for k in range(4):
        np.testing.assert_array_equal(J[k], sf.jacobian(model, q[k], "tip", points[k]))
        np.testing.assert_array_equal(
            bias[k], sf.jacobian_bias(model, q[k], v[k], "tip", points[k])
        )
    assert sf.jacobian(model, q[0], "tip", points).shape == (4, 6, 2)


def test_classical_accelerations_have_no_world_frame():
    model = model_named("double_pendulum")
    with pytest.raises(sf.errors.OptionError, match="body_accelerations: option 'frame'"):
        zero = np.zeros(2)
        sf.body_accelerations(model, zero, zero, zero, frame="world", kind="classical")
