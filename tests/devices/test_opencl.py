"""Functions and rollouts on an OpenCL device: the bits of the kernels of this machine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.interop import opencl
from sixfold.interop.opencl import program_of, refuse_single
from tests.devices.rollout_cases import CASES, Counting, same
from tests.public_names import find

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
array = pytest.importorskip("pyopencl.array")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def device():
    try:
        found = [d for p in cl.get_platforms() for d in p.get_devices()]
    except cl.Error:
        found = []
    if not any("cl_khr_fp64" in d.extensions for d in found):
        pytest.skip("no OpenCL device with double precision")
    return found[0]


def states(model, count):
    """Return states with huge angles, zeros of both signs and ordinary numbers."""
    q, v = sf.random_state(model, count, seed=0)
    third = np.random.default_rng(0).standard_normal(v.shape)
    q[0], q[1], q[2], q[3], q[4] = 1e9, -3e200, 1.01e5, 0.0, -0.0
    return q, v, third


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("inverse_dynamics", "float64"),
        ("forward_dynamics", "float64"),
        ("forward_dynamics", "float32"),
        ("mass_matrix", "float64"),
    ],
)
def test_a_function_has_the_bits_of_the_kernel(name, dtype):
    model = sf.load("puma560")  # with friction: tanh among the operations
    function = find(name)
    arrays = [np.clip(x, -1e30, 1e30).astype(dtype) for x in states(model, 70)]
    arrays = arrays[: 1 if name == "mass_matrix" else 3]
    expected = function(model, *arrays)
    assert np.isfinite(expected).all()
    found = sf.devices.opencl_function(function, model)(*arrays)
    assert found.dtype == dtype
    assert found.tobytes() == expected.tobytes()


def test_several_results_floating_bases_and_leading_axes_are_those_of_the_function():
    model = sf.load("floating_link")
    q, v, a = (x.reshape(2, 5, -1) for x in (*sf.random_state(model, 10, seed=1), np.ones((10, 7))))
    found = sf.devices.opencl_function(sf.derivatives.inverse_dynamics_derivatives, model)(
        q, a=a[0, 0], v=v
    )
    for x, y in zip(
        found, sf.derivatives.inverse_dynamics_derivatives(model, q, v, a[0, 0]), strict=True
    ):
        assert x.tobytes() == y.tobytes()


def test_every_operation_has_the_bits_of_the_kernel():
    def every(x):
        a, b = x[0], x[1]
        return np.array(
            [
                sf.math.exp(a),
                sf.math.log(a),
                sf.math.tanh(a),
                sf.math.atan2(a, b),
                sf.math.sin(a),
                sf.math.cos(a),
                sf.math.sqrt(a * a),
                sf.math.sign(a),
                sf.math.if_positive(a, b, a - b),
                abs(a) / b,
                a * b - 3.5,
                0.1 - a * b,
                -a,
            ]
        )

    rng = np.random.default_rng(3)
    scale = 10.0 ** rng.integers(-300, 300, (2000, 2))
    x = rng.standard_normal((2000, 2)) * np.where(rng.random((2000, 2)) < 0.5, 1.0, scale)
    x[:6] = [[0.0, 1.0], [-0.0, 1.0], [1e5, 0.0], [-1e5, -0.0], [5e-324, -1.0], [1e308, 1e308]]
    for dtype in ("float64", "float32"):
        with np.errstate(over="ignore", under="ignore"):
            given = x.astype(dtype)
        expected = sf.compile(every, inputs={"x": 2}, dtype=dtype)(given)
        found = sf.devices.opencl_function(every, inputs={"x": 2})(given)
        same = (found.view(f"u{found.itemsize}") == expected.view(f"u{found.itemsize}")) | (
            np.isnan(found) & np.isnan(expected)
        )
        assert same.all(), np.argwhere(~same)[:5]


def test_the_functions_of_the_device_need_no_double_in_single_precision():
    model = sf.load("puma560")
    arrays = [x.astype(np.float32) for x in (*sf.random_state(model, 30, seed=0), np.ones(6))]
    function = sf.devices.opencl_function(sf.forward_dynamics, model, math="device")
    found, expected = function(*arrays), sf.forward_dynamics(model, *arrays)
    assert found.dtype == np.float32
    assert np.abs(found - expected).max() < 2e-4 * np.abs(expected).max()
    assert "double" not in function.source("float32") and "sin(" in function.source("float32")
    assert "sixfold_sincos" in sf.devices.opencl_function(sf.forward_dynamics, model).source(
        "float32"
    )
    arm = sf.load("double_pendulum")
    q0, v0 = sf.random_state(arm, 4, seed=2)
    how = {"dt": 1e-2, "steps": 20, "every": 20, "dtype": "float32"}
    found = sf.devices.opencl_rollout(arm, q0, v0, math="device", **how)
    for x, y in zip(found, sf.rollout(arm, q0, v0, **how), strict=True):
        assert np.allclose(x, y, atol=1e-4)


def test_a_device_without_double_precision_is_refused_where_it_is_needed(device):
    class Single:
        name, extensions = "small card", "cl_khr_icd"

    with pytest.raises(sf.errors.NotApplicableError, match=r"no double(.|\n)*math='device'"):
        refuse_single("opencl_function", Single())
    refuse_single("opencl_function", device)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_a_rollout_has_the_bits_of_the_rollout(integrator):
    model = sf.load("double_pendulum")
    q0, v0 = sf.random_state(model, (3, 5), seed=2)
    tau = np.random.default_rng(0).standard_normal((3, 5, 200, model.nv))
    how = {"dt": 1e-2, "steps": 200, "every": 20, "integrator": integrator}
    found = sf.devices.opencl_rollout(model, q0, v0, tau, **how)
    expected = sf.rollout(model, q0, v0, tau, **how)
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape and x.tobytes() == y.tobytes()


def test_rollouts_without_forces_with_constant_ones_and_in_single_precision():
    model = sf.load("double_pendulum")
    q0, v0 = sf.random_state(model, 4, seed=2)
    for more in ({}, {"tau": np.array([0.5, -0.5])}, {"dtype": "float32"}):
        found = sf.devices.opencl_rollout(model, q0, v0, dt=1e-2, steps=30, **more)
        expected = sf.rollout(model, q0, v0, dt=1e-2, steps=30, **more)
        for x, y in zip(found, expected, strict=True):
            assert x.tobytes() == y.tobytes()


def test_rollouts_of_device_arrays_stay_on_the_device():
    model = sf.load("double_pendulum")
    q0, v0 = sf.random_state(model, (2, 2), seed=2)
    tau = np.random.default_rng(0).standard_normal((2, 2, 30, model.nv))
    queue = sf.devices.opencl_function(sf.kinetic_energy, model).queue
    there = [array.to_device(queue, x) for x in (q0, v0, tau)]
    how = {"dt": 1e-2, "steps": 30, "every": 10}
    expected = sf.rollout(model, q0, v0, tau, **how)
    for given in (there, (there[0], v0, tau)):
        found = sf.devices.opencl_rollout(model, *given, device=queue.device, **how)
        for x, y in zip(found, expected, strict=True):
            assert isinstance(x, array.Array) and x.get().tobytes() == y.tobytes()
    energy = sf.devices.opencl_function(sf.kinetic_energy, model)(*found)
    assert energy.get().tobytes() == sf.kinetic_energy(model, *expected).tobytes()
    assert sf.devices.opencl_rollout(model, *there, dt=1e-2, steps=30, every=31)[0].shape == (
        2,
        2,
        0,
        2,
    )
    with pytest.raises(sf.errors.NumberError, match=r"'q0'(.|\n)*C order"):
        sf.devices.opencl_rollout(model, there[2][..., :1], None, **how)
    with pytest.raises(sf.errors.ShapeError, match="q0"):
        sf.devices.opencl_rollout(model, array.to_device(queue, q0[..., :1].copy()), None, **how)
    with pytest.raises(sf.errors.OptionError, match="the device of the arrays"):
        sf.devices.opencl_rollout(model, there[0], None, device="another", **how)


@pytest.mark.parametrize("name", CASES)
def test_rollouts_with_all_that_they_take_have_the_bits_of_the_rollout(name):
    assert same(sf.devices.opencl_rollout, *CASES[name](40))


def test_equal_steps_are_built_once(monkeypatch):
    built = []

    def counted(queue, source):
        built.append(source)
        return program_of(queue, source)

    monkeypatch.setattr(opencl, "program_of", counted)
    opencl._program.cache_clear()
    for name, count, steps in [("pendulum", 3, 5), ("pendulum", 40, 9), ("cart_pendulum", 3, 5)]:
        model = sf.load(name)  # equal models, not the same
        q0 = np.full((count, model.nq), 0.1)
        found = sf.devices.opencl_rollout(model, q0, None, dt=1e-3, steps=steps)
        assert np.array_equal(found[0], sf.rollout(model, q0, None, dt=1e-3, steps=steps)[0])
    assert len(built) == 2


def test_trajectories_that_leave_the_finite_numbers_are_named():
    v0 = np.array([[0.0, 0.0], [1e200, 0.0]])
    with pytest.warns(
        sf.errors.NonFiniteStateWarning, match=r"opencl_rollout of .*1 of 2 trajectories"
    ):
        sf.devices.opencl_rollout(sf.load("double_pendulum"), None, v0, dt=1e-2, steps=6)


def test_arrays_on_the_device_stay_there():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 8, seed=0)
    function = sf.devices.opencl_function(sf.kinetic_energy, model)
    there = [array.to_device(function.queue, x) for x in (q, v)]
    found = function(*there)
    assert isinstance(found, array.Array)
    assert found.get().tobytes() == sf.kinetic_energy(model, q, v).tobytes()
    with pytest.raises(sf.errors.NumberError, match="opencl_function"):
        sf.kinetic_energy(model, *there)
    with pytest.raises(sf.errors.ArgumentError, match="on a device"):
        function(there[0], v)
    with pytest.raises(sf.errors.ShapeError, match="'v'"):
        function(there[0], there[1][:1])


def test_parts_of_device_arrays_are_taken_and_others_named():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 8, seed=0)
    function = sf.devices.opencl_function(sf.kinetic_energy, model)
    there = [array.to_device(function.queue, x) for x in (q, v)]
    # views that start within a buffer, one of them not computed yet
    found = function(there[0][2:] * 1.0, there[1][2:])
    assert found.get().tobytes() == sf.kinetic_energy(model, q[2:], v[2:]).tobytes()
    other = cl.CommandQueue(cl.Context([function.queue.device]))
    for wrong, words in (
        (array.to_device(function.queue, v.astype(np.float32)), "float64, like the first"),
        (array.to_device(function.queue, np.asfortranarray(v)), "C order"),
        (array.to_device(other, v), "context"),
    ):
        with pytest.raises(sf.errors.NumberError, match=rf"'v'(.|\n)*{words}"):
            function(there[0], wrong)


def test_empty_batches_and_lists_are_taken_and_wrong_ones_named():
    model = sf.load("double_pendulum")
    function = sf.devices.opencl_function(sf.kinetic_energy, model)
    assert function(np.zeros((0, 2)), np.zeros((0, 2))).shape == (0,)
    assert function([0.0, 0.1], [1, 2]) == sf.kinetic_energy(model, [0.0, 0.1], [1, 2])
    with pytest.raises(sf.errors.ShapeError, match="'v'"):
        function(np.zeros(2), np.zeros(3))
    with pytest.raises(sf.errors.NumberError, match="'q'"):
        function(np.zeros(2, complex), np.zeros(2))
    assert "__kernel void run" in function.source()
    assert "kinetic_energy" in repr(function)


def test_options_that_make_no_sense_are_refused():
    model = sf.load("double_pendulum")
    rollout = partial(sf.devices.opencl_rollout, model, None, None)
    with pytest.raises(sf.errors.OptionError, match="device"):
        sf.devices.opencl_function(sf.kinetic_energy, model, device="gpu")
    with pytest.raises(sf.errors.OptionError, match="integrator"):
        rollout(dt=1e-2, steps=3, integrator="euler")
    with pytest.raises(sf.errors.OptionError, match="dtype"):
        rollout(dt=1e-2, steps=3, dtype="float16")
    with pytest.raises(sf.errors.NotApplicableError, match=r"opencl_rollout(.|\n)*calls"):
        rollout(dt=1e-2, steps=3, control=Counting())
    with pytest.raises(sf.errors.NotApplicableError, match="hold"):
        rollout(dt=1e-2, steps=3, hold=True)
    with pytest.raises(sf.errors.OptionError, match="math"):
        rollout(dt=1e-2, steps=3, math="fast")
    with pytest.raises(sf.errors.OptionError, match="math"):
        sf.devices.opencl_function(sf.kinetic_energy, model, math="fast")
    with pytest.raises(sf.errors.OptionError, match="steps"):
        rollout(dt=1e-2, steps=0)
    assert rollout(dt=1e-2, steps=3, every=5)[0].shape == (0, 2)
