"""Programs read by array libraries: the kernels' numbers to rounding, on the arrays' own device."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from tests.bridges.models import robot, states

os.environ.setdefault("JAX_PLATFORMS", "cpu")
MODELS = ["double_pendulum", "floating_link", "ball"]
LIBRARIES = ["numpy", "array_api_strict", "jax", "torch"]


def library(name):
    """Return what makes an array of a library, on a device that is not the default if it can be."""
    if name == "numpy":
        return np.asarray
    module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "array_api_strict":
        return partial(module.asarray, device=module.Device("device1"))
    if name == "torch":
        return module.asarray
    return module.numpy.asarray


@pytest.fixture(autouse=True)
def double_precision():
    try:
        import jax
    except ImportError:
        yield
        return
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def numbers(x):
    """Return the numbers of an array, wherever they are."""
    if type(x).__module__.startswith("array_api_strict"):
        x = x.to_device(sys.modules["array_api_strict"].Device("CPU_DEVICE"))
    return np.asarray(x)


def close(found, expected, eps):
    return np.abs(numbers(found) - expected).max() <= eps * (1 + np.abs(expected).max())


CASES = [
    (where, dtype, name)
    for where in LIBRARIES
    for dtype in ("float64", "float32")
    for name in MODELS
    # JAX compiles for each of them
    if where != "jax" or (dtype == "float64") == (name != "double_pendulum")
]


@pytest.mark.parametrize(("where", "dtype", "name"), CASES)
def test_results_are_those_of_the_kernels_to_rounding_and_stay_where_the_arrays_are(
    where, dtype, name
):
    model, array = robot(name), library(where)
    q, v, tau = (x.astype(dtype) for x in states(model, 7))
    eps = 1e-13 if dtype == "float64" else 3e-5
    for function, arrays in (
        (sf.inverse_dynamics, (q, v, tau)),
        (sf.forward_dynamics, (q, v, tau)),
        (sf.mass_matrix, (q,)),
        (sf.kinetic_energy, (q, v)),
    )[: 2 if where == "jax" else 4]:
        given = [array(x) for x in arrays]
        found = sf.interop.array_api_function(function, model)(*given)
        assert type(found) is type(given[0])
        assert found.dtype == given[0].dtype
        if hasattr(found, "device"):
            assert found.device == given[0].device
        assert close(found, function(model, *arrays), eps)


def test_results_constants_and_leading_axes_are_those_of_the_function():
    model, array = robot("floating_link"), library("array_api_strict")
    q, v, a = states(model, 2, 3)
    function = sf.interop.array_api_function(sf.inverse_dynamics, model)
    found = function(a=a[0, 0].tolist(), v=v, q=array(q[:, :1]))
    assert close(found, sf.inverse_dynamics(model, q[:, :1], v, a[0, 0]), 1e-13)
    three = sf.interop.array_api_function(sf.derivatives.inverse_dynamics_derivatives, model)(
        q, v, a
    )
    for x, y in zip(
        three, sf.derivatives.inverse_dynamics_derivatives(model, q, v, a), strict=True
    ):
        assert close(x, y, 1e-13)
    assert function(q[:0], v[:0], a[:0]).shape == (0, 3, model.nv)
    fixed = sf.interop.array_api_function(sf.mass_matrix, sf.load("planar_chain:1"))(
        array(np.zeros((4, 1)))
    )
    assert fixed.shape == (4, 1, 1)  # a constant, with the leading axes of q


@pytest.mark.parametrize("where", LIBRARIES)
def test_every_operation_has_a_reading(where):
    def every(x):
        a, b = x[0], x[1]
        more = [sf.math.sign(a), sf.math.if_positive(a, b, a - b), sf.math.if_positive(a, 1.0, 2.0)]
        one = [
            sf.math.exp(a),
            sf.math.log(abs(a)),
            sf.math.tanh(a),
            sf.math.sin(a),
            sf.math.cos(a),
            sf.math.sqrt(a * a),
        ]
        two = [
            sf.math.atan2(a, b),
            sf.math.atan2(a, 2.0),
            abs(a) / b,
            a * b - 3.5,
            0.1 - a * b,
            -a,
            7.0,
        ]
        return np.array([*one, *two, *more])

    array = library(where)
    x = np.random.default_rng(3).standard_normal((50, 2))
    x[:4] = [[0.0, 1.0], [-0.0, 1.0], [np.nan, 2.0], [1.0, np.nan]]
    with np.errstate(divide="ignore"):
        expected = sf.compile(every, inputs={"x": 2})(x)
        found = numbers(sf.interop.array_api_function(every, inputs={"x": 2})(array(x)))
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    finite = np.isfinite(expected)
    assert np.allclose(found[finite], expected[finite], rtol=1e-14, atol=1e-15)


QUANTITIES = [
    sf.bias_force,
    sf.body_poses,
    sf.body_velocities,
    sf.coriolis_matrix,
    sf.derivatives.forward_dynamics_derivatives,
    sf.inverse_mass_matrix,
    sf.momentum,
    sf.regressor,
    sf.potential_energy,
]


@pytest.mark.parametrize("function", QUANTITIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_the_reading_is_an_oracle_for_kernels(name, function):
    model = robot(name)
    reading = sf.interop.array_api_function(function, model)
    arrays = [x for x, _ in zip(states(model, 5), reading.names, strict=False)]
    found, expected = reading(*arrays), function(model, *arrays)
    several = isinstance(expected, tuple)
    for x, y in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        assert close(x, y, 1e-13)


def test_jax_transforms_see_plain_arithmetic():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    model = robot("floating_link")
    q, v, tau = states(model, 3)
    jit = partial(jax.jit, compiler_options={"xla_disable_hlo_passes": "fusion"})
    reading = sf.interop.array_api_function(sf.forward_dynamics, model)
    kernel = sf.interop.jax_function(sf.forward_dynamics, model)
    exact = sf.forward_dynamics(model, q, v, tau)
    assert close(jax.jit(reading)(q, jax.numpy.asarray(v), tau), exact, 1e-13)
    assert close(jit(jax.vmap(reading))(q, v, tau), exact, 1e-13)
    slopes = [jit(jax.vmap(jax.jacfwd(f)))(q, v, tau) for f in (reading, kernel)]
    assert close(slopes[0], np.asarray(slopes[1]), 1e-12)

    arm = robot("double_pendulum")
    q, v, tau = (x[0] for x in states(arm, 1))
    both = [
        make(sf.forward_dynamics, arm)
        for make in (sf.interop.array_api_function, sf.interop.jax_function)
    ]
    backward = jit(jax.jacrev(both[0], (0, 1, 2)))(q, v, tau)
    for x, y in zip(
        backward, sf.derivatives.forward_dynamics_derivatives(arm, q, v, tau), strict=True
    ):
        assert close(x, y, 1e-12)
    bends = [jit(jax.hessian(lambda x, f=f: (f(x, v, tau) ** 2).sum()))(q) for f in both]
    assert close(bends[0], np.asarray(bends[1]), 1e-10)


def test_jax_arrays_stay_on_the_device_they_are_on():
    pytest.importorskip("jax", reason="JAX is not installed")
    code = (
        "import jax, numpy as np, sixfold as sf\n"
        "second = jax.devices()[1]\n"
        "q = jax.device_put(np.ones((3, 2), np.float32), second)\n"
        "f = sf.interop.array_api_function(sf.mass_matrix, sf.load('double_pendulum'))\n"
        "assert f(q).devices() == {second}, f(q).devices()\n"
    )
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | flags, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_jax_function_holds_no_kernel_where_it_is_compiled_for_an_accelerator(monkeypatch):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    export = pytest.importorskip("jax.export")
    monkeypatch.setattr("sixfold.interop.jax_bridge._has_accelerator", lambda: True)
    model = robot("floating_link")
    arrays = states(model, 4)
    bridge = sf.interop.jax_function(sf.forward_dynamics, model)

    def slope(q, v, tau):
        return jax.grad(lambda x: (bridge(x, v, tau) ** 2).sum())(q)

    for function in (bridge, jax.vmap(bridge), slope):
        there = export.export(jax.jit(function), platforms=["cuda"])(*arrays)
        assert "sixfold_" not in there.mlir_module()
        here = jax.jit(function).lower(*arrays).as_text()
        assert "sixfold_" in here and "stablehlo.sine" not in here
    assert np.array_equal(jax.jit(bridge)(*arrays), sf.forward_dynamics(model, *arrays))
    reading = jax.grad(
        lambda x: (
            sf.interop.array_api_function(sf.forward_dynamics, model)(x, *arrays[1:]) ** 2
        ).sum()
    )
    assert close(jax.jit(slope)(*arrays), np.asarray(reading(jax.numpy.asarray(arrays[0]))), 1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_torch_tensors_keep_their_gradients_and_their_device():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = robot("floating_link")
    reading = sf.interop.array_api_function(sf.forward_dynamics, model)
    tensors = [torch.tensor(x, requires_grad=True) for x in states(model, 2)]
    assert torch.autograd.gradcheck(reading, tensors)
    q, v, tau = (x.detach() for x in tensors)
    slopes = torch.func.vmap(torch.func.jacfwd(reading))(q, v, tau)
    kernel = sf.interop.torch_function(sf.forward_dynamics, model)
    assert close(slopes, torch.func.vmap(torch.func.jacrev(kernel))(q, v, tau).numpy(), 1e-12)
    # a device without memory: nothing can have been copied from it
    there = [torch.zeros(5, n, device="meta") for n in (model.nq, model.nv, model.nv)]
    found = reading(*there)
    assert (found.device.type, found.shape) == ("meta", (5, model.nv))
    with pytest.raises(sf.errors.NumberError, match=r"device 'meta'(.|\n)*array_api_function"):
        sf.forward_dynamics(model, *there)
    with pytest.raises(sf.errors.NumberError, match=r"'v'(.|\n)*on cpu"):
        reading(there[0], torch.zeros(5, model.nv), there[2])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, q: f(q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, np.zeros(3), q), sf.errors.ShapeError, "'v'"),
        (lambda f, q: f(q, np.zeros((3, 2)), np.zeros((4, 2))), sf.errors.ShapeError, "broadcast"),
        (lambda f, q: f(q, object(), q), sf.errors.NumberError, "__array_namespace__"),
        (lambda f, q: f(q, q, np.zeros(2, complex)), sf.errors.NumberError, "'a'"),
        (
            lambda f, q: f(*[q.astype(np.longdouble)] * 3),
            sf.errors.NumberError,
            "float64 or float32",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_named(call, error, words):
    function = sf.interop.array_api_function(sf.inverse_dynamics, robot("double_pendulum"))
    with pytest.raises(error, match=words):
        call(function, np.zeros(2))


def test_arrays_of_two_libraries_or_precisions_are_refused():
    strict, torch = library("array_api_strict"), library("torch")
    function = sf.interop.array_api_function(sf.inverse_dynamics, robot("double_pendulum"))
    q = np.zeros(2)
    with pytest.raises(sf.errors.NumberError, match="one library"):
        function(strict(q), torch(q), q)
    with pytest.raises(sf.errors.NumberError, match=r"'v'(.|\n)*float64 on"):
        function(torch(q).float(), torch(q), q)
    with pytest.raises(sf.errors.NumberError, match="float16"):
        function(torch(q).half(), q, q)


def test_functions_pickle_as_what_they_were_made_of_and_tell_their_arguments():
    function = sf.interop.array_api_function(sf.inverse_dynamics, robot("double_pendulum"))
    q = np.array([0.1, 0.2])
    assert np.array_equal(pickle.loads(pickle.dumps(function))(q, q, q), function(q, q, q))
    assert repr(function) == "<array function inverse_dynamics(q, v, a)>"
    assert function.names == ("q", "v", "a")
