"""Kernels inside JAX: the bits of NumPy's call, and derivatives that differences confirm."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from tests.bridges.models import differences, robot, states

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

MODELS = ["double_pendulum", "floating_link", "ball"]


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_jitted_function_has_the_bits_of_the_call_on_numpy_arrays(name, dtype):
    model = robot(name)
    q, v, tau = (x.astype(dtype) for x in states(model, 37))
    for function, arrays in (
        (sf.inverse_dynamics, (q, v, tau)),
        (sf.forward_dynamics, (q, v, tau)),
        (sf.mass_matrix, (q,)),
        (sf.kinetic_energy, (q, v)),
    ):
        result = jax.jit(sf.interop.jax_function(function, model))(*arrays)
        assert result.dtype == dtype
        assert np.array_equal(result, function(model, *arrays))


def test_without_64_bits_arrays_are_single():
    model = robot("double_pendulum")
    jax.config.update("jax_enable_x64", False)
    q, v, a = states(model, 5)
    result = sf.interop.jax_function(sf.inverse_dynamics, model)(q, v, a)
    single = [x.astype(np.float32) for x in (q, v, a)]
    assert result.dtype == np.float32
    assert np.array_equal(result, sf.inverse_dynamics(model, *single))


def test_results_and_leading_axes_are_those_of_the_function():
    model = robot("floating_link")
    q, v, a = states(model, 2, 3)
    function = sf.interop.jax_function(sf.inverse_dynamics, model)
    expected = sf.inverse_dynamics(model, q, v, a)
    assert np.array_equal(function(a=a, v=v, q=q), expected)
    assert np.array_equal(
        function(q[0, 0], v[:, :1], a), sf.inverse_dynamics(model, q[0, 0], v[:, :1], a)
    )
    assert np.array_equal(function(q[0, 0], v[0, 0], a[0, 0]), expected[0, 0])
    assert function(q[:0], v[:0], a[:0]).shape == (0, 3, model.nv)
    assert function(np.zeros(8, int) + 1, v[0, 0], a[0, 0]).dtype == np.float64
    three = sf.interop.jax_function(sf.derivatives.inverse_dynamics_derivatives, model)(q, v, a)
    for x, y in zip(
        three, sf.derivatives.inverse_dynamics_derivatives(model, q, v, a), strict=True
    ):
        assert np.array_equal(x, y)


def test_functions_are_vectorised_by_vmap_in_any_nesting():
    model = robot("floating_link")
    q, v, a = states(model, 3, 4)
    function = sf.interop.jax_function(sf.inverse_dynamics, model)
    expected = sf.inverse_dynamics(model, q, v, a)
    assert np.array_equal(jax.vmap(jax.vmap(function))(q, v, a), expected)
    assert np.array_equal(jax.vmap(function)(q, v, a), expected)
    mixed = jax.vmap(jax.vmap(function, (None, 0, None)), (0, None, None))(q[:, 0], v[0], a[0, 0])
    assert np.array_equal(mixed, sf.inverse_dynamics(model, q[:, :1], v[0], a[0, 0]))


def test_long_trees_run_their_rolled_kernel():
    model = sf.load("planar_chain:60")
    q, v, a = states(model, 9)
    function = sf.interop.jax_function(sf.inverse_dynamics, model)
    assert np.array_equal(jax.jit(function)(q, v, a), sf.inverse_dynamics(model, q, v, a))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("function", [sf.inverse_dynamics, sf.forward_dynamics])
def test_derivatives_are_by_the_coordinates_of_q(name, function):
    model = robot(name)
    arrays = [x[0] for x in states(model, 1)]
    arrays[0] = arrays[0] * 1.1 if name == "ball" else arrays[0]  # a quaternion of any length
    bridge = sf.interop.jax_function(function, model)
    for k in range(3):

        def one(x, k=k):
            return function(model, *arrays[:k], x, *arrays[k + 1 :])

        expected = differences(one, arrays[k])
        forward = jax.jacfwd(bridge, k)(*arrays)
        scale = 1 + np.abs(expected).max()
        assert np.abs(forward - expected).max() < 1e-7 * scale
        assert np.abs(jax.jacrev(bridge, k)(*arrays) - forward).max() < 1e-13 * scale


def test_derivatives_of_an_arm_are_those_of_its_derivative_kernels():
    model = robot("double_pendulum")
    q, v, tau = states(model, 6)
    bridge = sf.interop.jax_function(sf.forward_dynamics, model)
    found = jax.jit(jax.vmap(jax.jacfwd(bridge, (0, 1, 2))))(q, v, tau)
    for x, y in zip(
        found, sf.derivatives.forward_dynamics_derivatives(model, q, v, tau), strict=True
    ):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(
    "function",
    [sf.mass_matrix, sf.potential_energy, sf.body_poses, partial(sf.jacobian, name="link")],
)
def test_functions_without_a_derivative_of_their_own_have_one_too(function):
    model = robot("floating_link")
    name = model.body_names[-1]
    function = partial(sf.jacobian, name=name) if isinstance(function, partial) else function
    q = states(model, 1)[0][0]
    expected = differences(partial(function, model), q)
    found = jax.jacrev(sf.interop.jax_function(function, model))(q)
    assert np.abs(found - expected).max() < 1e-7 * (1 + np.abs(expected).max())


def test_forces_on_bodies_have_derivatives_beside_the_others():
    model = robot("floating_link")
    q, v, tau = (x[0] for x in states(model, 1))
    f = np.random.default_rng(1).standard_normal((model.nb, 6))
    bridge = sf.interop.jax_function(sf.forward_dynamics, model, inputs={"f_ext": (model.nb, 6)})
    gq, gf = jax.grad(lambda *x: (bridge(*x) ** 2).sum(), (0, 3))(q, v, tau, f)

    def cost(q, f):
        return (sf.forward_dynamics(model, q, v, tau, f) ** 2).sum()

    assert np.allclose(gq, differences(lambda x: cost(x, f), q), rtol=1e-6, atol=1e-5)
    flat = differences(lambda x: cost(q, x.reshape(f.shape)), f.ravel())
    assert np.allclose(gf.ravel(), flat, rtol=1e-6, atol=1e-5)


def test_second_derivatives_are_those_of_the_first():
    model = robot("double_pendulum")
    q, v, tau = (x[0] for x in states(model, 1))
    bridge = sf.interop.jax_function(sf.forward_dynamics, model)

    def slope(x):
        return jax.grad(lambda y: bridge(y, v, tau).sum())(x)

    found = jax.hessian(lambda x: bridge(x, v, tau).sum())(q)
    assert np.allclose(found, differences(slope, q), rtol=1e-6, atol=1e-6)


def test_the_gradient_through_a_scan_is_that_of_the_rollout():
    model = robot("double_pendulum")
    q, v, _ = (x[0] for x in states(model, 1))
    tau = np.random.default_rng(2).standard_normal((100, model.nv))
    acceleration, dt = sf.interop.jax_function(sf.forward_dynamics, model), 1e-2

    def cost(q, v, tau):
        def step(state, tau):
            q, v, paid = state
            paid = paid + dt * (q @ q + tau @ tau)
            v = v + dt * acceleration(q, v, tau)
            return (q + dt * v, v, paid), None

        (q, v, paid), _ = jax.lax.scan(step, (q, v, 0.0), tau)
        return paid + v @ v

    value, slopes = jax.jit(jax.value_and_grad(cost, (0, 1, 2)))(q, v, tau)
    expected = sf.rollout_gradient(
        model,
        q,
        v,
        tau,
        dt=dt,
        steps=100,
        cost=lambda t, q, v, tau: q @ q + tau @ tau,
        final_cost=lambda q, v: v @ v,
    )
    pairs = (
        (value, expected.cost),
        *zip(slopes, (expected.q0, expected.v0, expected.tau), strict=True),
    )
    for found, exact in pairs:
        assert np.abs(found - exact).max() <= 1e-12 * np.abs(exact).max()


def test_functions_of_the_user_with_several_results_are_taken():
    model = robot("double_pendulum")

    def both(q, v, gain):
        M = sf.mass_matrix(model, q)
        return M @ v * gain[0], v @ M @ v

    q, v, _ = states(model, 4)
    bridge = sf.interop.jax_function(both, model, inputs={"gain": 1})
    momentum, energy = jax.jit(bridge)(q, v, np.array([2.0]))
    assert np.allclose(momentum, 2 * np.einsum("kij,kj->ki", sf.mass_matrix(model, q), v))
    assert np.allclose(energy, 2 * sf.kinetic_energy(model, q, v))
    slope = jax.grad(lambda g: bridge(q, v, g)[0].sum())(np.array([2.0]))
    assert np.allclose(slope, momentum.sum() / 2)


def test_a_state_without_a_result_is_nan_and_leaves_the_others_alone():
    model = robot("floating_link")
    q, v, a = states(model, 3)
    q[1, 3:7] = 0.0
    found = sf.interop.jax_function(sf.inverse_dynamics, model)(q, v, a)
    assert np.isnan(found[1]).any()
    assert np.array_equal(found[::2], sf.inverse_dynamics(model, q[::2], v[::2], a[::2]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, q: f(q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, q, q, q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, q, q, q=q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, q, b=q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, np.zeros(3), q), sf.errors.ShapeError, "'v'"),
        (lambda f, q: f(np.zeros((3, 2)), np.zeros((4, 2)), q), sf.errors.ShapeError, "broadcast"),
        (lambda f, q: f(*[jnp.zeros(2, jnp.float16)] * 3), sf.errors.NumberError, "float32"),
        (lambda f, q: f(q + 1j, q, q), sf.errors.NumberError, "complex128"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call, error, words):
    function = sf.interop.jax_function(sf.inverse_dynamics, robot("double_pendulum"))
    with pytest.raises(error, match=words):
        call(function, np.zeros(2))


def test_what_cannot_become_a_function_is_refused():
    with pytest.raises(sf.errors.ArgumentError, match="jax_function"):
        sf.interop.jax_function(3)
    with pytest.raises(sf.errors.NotApplicableError, match=r"jax_function.*'x'"):
        sf.interop.jax_function(lambda x: x)


def test_a_public_function_that_meets_a_tracer_names_the_bridge():
    model = robot("double_pendulum")
    with pytest.raises(sf.errors.NumberError, match="jax_function"):
        jax.jit(lambda q: sf.mass_matrix(model, q))(np.zeros(2))
    with pytest.raises(sf.errors.NumberError, match="jax_function"):
        jax.grad(lambda q: sf.potential_energy(model, q))(np.zeros(2))


def test_functions_pickle_as_what_they_were_made_of():
    model = robot("double_pendulum")
    q, v, a = states(model, 3)
    function = sf.interop.jax_function(sf.inverse_dynamics, model)
    again = pickle.loads(pickle.dumps(function))
    assert np.array_equal(again(q, v, a), function(q, v, a))
    assert repr(function) == "<JAX function inverse_dynamics(q, v, a)>"


def test_a_kernel_has_the_same_name_in_every_process_and_another_for_another_robot():
    code = (
        "import sixfold as sf; from sixfold.runtime import xla_handler\n"
        "for n in ('double_pendulum', 'planar_chain:2'):\n"
        "    print(xla_handler(sf.compile(sf.inverse_dynamics, sf.load(n)))[0])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    names = runs[0].stdout.split()
    assert runs[0].stdout == runs[1].stdout
    assert names[0] != names[1]
