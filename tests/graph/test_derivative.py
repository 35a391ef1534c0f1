"""Derivatives of programs: against differences, against known matrices, and of every operation."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import gradient, jacobian, trace
from sixfold.compiler.llvm import Layout, build
from sixfold.scalar import RULES

POINTS = {1: (0.7,), 2: (0.7, 1.3), 3: (0.7, 1.3, -0.4)}


@pytest.mark.parametrize("op", list(RULES), ids=lambda op: op.value)
def test_every_operation_is_differentiated(op):
    rule = RULES[op]
    at = POINTS[rule.arity]

    def apply(x):
        return [sf.scalar.apply(op, *x)]

    program = jacobian(trace(apply, [rule.arity]), range(rule.arity))
    kernel, _ = build("d", program, Layout(((rule.arity,),), ((rule.arity,),)))
    step = 1e-6
    for k in range(rule.arity):
        ahead, behind = list(at), list(at)
        ahead[k] += step
        behind[k] -= step
        want = (rule.value(*ahead) - rule.value(*behind)) / (2 * step)
        assert abs(kernel(np.array(at))[k] - want) < 1e-8


@pytest.mark.parametrize("op", list(RULES), ids=lambda op: op.value)
def test_reverse_mode_gives_the_partial_derivatives_of_every_operation(op):
    rule = RULES[op]
    program = trace(lambda x: [sf.scalar.apply(op, *x)], [rule.arity])
    layout = Layout(((rule.arity,), (1,)), ((rule.arity,),))
    kernel, _ = build("g", gradient(program, range(rule.arity)), layout)
    at = POINTS[rule.arity]
    want = [float(partial) for partial in rule.partials(*at)]
    np.testing.assert_allclose(
        kernel(np.array(at), np.array([2.0])), 2 * np.array(want), rtol=1e-14
    )


@pytest.mark.parametrize("function", [sf.inverse_dynamics, sf.forward_dynamics])
def test_reverse_mode_is_the_weighted_sum_of_the_rows_of_forward_mode(function):
    arm = sf.load("puma560")
    n = 3 * arm.nv

    def numbers(*lists):
        return list(function(arm, *(np.array(x, object) for x in lists)))

    program = trace(numbers, [arm.nv] * 3)
    layout = Layout(((6,), (6,), (6,)), ((arm.nv, n),))
    rows, _ = build("rows", jacobian(program, range(n)), layout)
    layout = Layout(((6,), (6,), (6,), (6,)), ((n,),))
    weighted, _ = build("weighted", gradient(program, range(n)), layout)
    q, v = sf.random_state(arm, 9, seed=4)
    a, w = v[::-1].copy(), q[::-1].copy()
    want = np.einsum("kij,ki->kj", rows(q, v, a), w)
    got = weighted(q, v, a, w)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.abs(want).max())
    # a gradient costs a few times its function, a Jacobian n times
    assert weighted.flops < 5 * build("f", program, Layout(((6,),) * 3, ((6,),)))[0].flops
    assert weighted.flops < rows.flops


def test_inputs_that_do_not_matter_have_gradient_zero():
    program = gradient(trace(lambda x: [x[0] * x[2], 3.0], [4]), range(4))
    kernel, _ = build("g", program, Layout(((4,), (2,)), ((4,),)))
    got = kernel(np.array([2.0, 5.0, 3.0, 7.0]), np.array([10.0, 1.0]))
    np.testing.assert_array_equal(got, [30.0, 0.0, 20.0, 0.0])


def test_a_derivative_shares_work_and_drops_zeros():
    program = jacobian(trace(lambda x: [x[0] * x[0] + 3.0 * x[1]], [3]), range(3))
    assert program.counts().get("mul", 0) <= 1 and len(program.outputs) == 3


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560").without(friction=True)


def test_inverse_dynamics_by_acceleration_is_the_mass_matrix(arm):
    q, v = sf.random_state(arm, 7, seed=0)
    kernel = sf.compile(sf.inverse_dynamics, arm, derivative="a")
    assert kernel.signature == "(6),(6),(6)->(6,6)"
    M = sf.mass_matrix(arm, q)
    np.testing.assert_allclose(kernel(q, v, v), M, rtol=0, atol=1e-13 * np.abs(M).max())


def test_forward_dynamics_by_force_is_the_inverse_mass_matrix(arm):
    q, v = sf.random_state(arm, 3, seed=0)
    got = sf.compile(sf.forward_dynamics, arm, derivative="tau")(q, v, v)
    want = sf.inverse_mass_matrix(arm, q)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * np.abs(want).max())


def test_potential_energy_by_position_is_the_gravity_force(arm):
    q, _ = sf.random_state(arm, 5, seed=1)
    got = sf.compile(sf.potential_energy, arm, derivative="q")(q)
    np.testing.assert_allclose(got, sf.gravity_force(arm, q), rtol=0, atol=1e-12)


@pytest.mark.parametrize("argument", ["q", "v"])
def test_inverse_dynamics_agrees_with_differences_in_many_digits(argument):
    model = sf.load("double_pendulum")
    kernel = sf.compile(sf.inverse_dynamics, model, derivative=argument)
    state = {"q": np.array([0.3, -0.8]), "v": np.array([0.5, 1.5]), "a": np.array([1.0, 2.0])}
    got = kernel(*state.values())
    step = 1e-5
    for k in range(2):
        shift = np.eye(2)[k] * step
        ahead = {**state, argument: state[argument] + shift}
        behind = {**state, argument: state[argument] - shift}
        difference = sf.inverse_dynamics(model, *ahead.values()) - sf.inverse_dynamics(
            model, *behind.values()
        )
        np.testing.assert_allclose(got[:, k], difference / (2 * step), rtol=1e-8, atol=1e-8)


def test_an_argument_that_is_not_there_is_named(arm):
    with pytest.raises(sf.errors.OptionError, match="derivative"):
        sf.compile(sf.inverse_dynamics, arm, derivative="tau")
    with pytest.raises(sf.errors.NotApplicableError, match="form"):
        sf.compile(sf.inverse_dynamics, arm, derivative="q", form="rolled")


def test_functions_of_ones_own_are_differentiated():
    kernel = sf.compile(
        lambda x: np.array([np.sin(x[0]) * x[1], x[1] ** 2]), inputs={"x": 2}, derivative="x"
    )
    np.testing.assert_allclose(
        kernel(np.array([0.3, 2.0])), [[2 * np.cos(0.3), np.sin(0.3)], [0.0, 4.0]], rtol=1e-15
    )
