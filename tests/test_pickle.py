"""Functions that use the library travel to other processes: joblib, Dask, notebooks."""

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import run_scan, scan_kernel

cloudpickle = pytest.importorskip("cloudpickle")


def elsewhere(function, *arguments):
    """Run a function in a fresh interpreter and return its result."""
    code = (
        "import pickle, sys\n"
        "function, arguments = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(pickle.dumps(function(*arguments)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=cloudpickle.dumps((function, arguments)),
        capture_output=True,
        check=True,
    )
    return pickle.loads(done.stdout)


def by_value(source, name, **names):
    """Return a function that no module holds, as those of a notebook."""
    space = {"__name__": "__main__", "sf": sf, "np": np, **names}
    exec(source, space)
    return space[name]


def test_cloudpickle_takes_the_package_by_its_name():
    assert cloudpickle.loads(cloudpickle.dumps(sf)) is sf


def test_a_function_of_a_notebook_that_uses_the_package_runs_elsewhere():
    work = by_value("def work(q):\n    return sf.mass_matrix(sf.load('puma560'), q)", "work")
    q = np.linspace(0.1, 0.6, 6)
    np.testing.assert_array_equal(elsewhere(work, q), work(q))


def test_a_closure_over_the_package_a_model_and_a_controller_runs_elsewhere():
    model = sf.load("double_pendulum")

    def run(package, gain):
        law = package.control.pd(model, [0.0, 0.0], gain, 1.0)
        return package.simulate(model, [1.0, 0.5], None, 0.01, control=law).q

    def work(gain, package=sf):
        return run(package, gain)

    np.testing.assert_array_equal(elsewhere(work, 5.0), work(5.0))


def test_simulate_and_view_stay_functions_when_their_rooms_are_imported():
    code = "import sixfold.simulation, sixfold.display, sixfold as sf; print(sf.simulate, sf.view)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("<function ") == 2


def rollout_bits(model, kernel, q0, v0):
    """Return a rollout by the kernel and by the public function: what a worker computes."""
    public = sf.rollout(model, q0, v0, dt=1e-3, steps=20)
    return kernel(q0, v0, np.zeros_like(v0)), *public


def shipped_work():
    """Return arguments of `rollout_bits`."""
    model = sf.load("puma560")
    q0, v0 = sf.random_state(model, 5, seed=3)
    return model, sf.compile(sf.forward_dynamics, model), q0, v0


def same_bits(found, expected):
    return all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))


@pytest.mark.parametrize("protocol", [pickle, cloudpickle])
def test_models_kernels_and_functions_come_back_from_a_pickle(protocol):
    model, kernel, q0, v0 = shipped_work()
    again = protocol.loads(protocol.dumps((model, kernel, sf.rollout, sf.mass_matrix)))
    assert again[0] == model
    assert again[2] is sf.rollout
    assert again[3] is sf.mass_matrix
    np.testing.assert_array_equal(again[1](q0, v0, v0), kernel(q0, v0, v0))


@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_work_goes_to_processes_of_every_kind(start):
    work = shipped_work()
    expected = rollout_bits(*work)
    context = multiprocessing.get_context(start)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert same_bits(pool.submit(rollout_bits, *work).result(timeout=120), expected)


def test_work_goes_through_joblib():
    joblib = pytest.importorskip("joblib")
    run = by_value(
        "def run(model, q0, v0):\n    return sf.rollout(model, q0, v0, dt=1e-3, steps=20)", "run"
    )
    model, _, q0, v0 = shipped_work()
    found = joblib.Parallel(n_jobs=2)(
        joblib.delayed(run)(model, q, v) for q, v in zip(q0, v0, strict=True)
    )
    expected = [sf.rollout(model, q, v, dt=1e-3, steps=20) for q, v in zip(q0, v0, strict=True)]
    assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("protocol", [pickle, cloudpickle])
def test_the_kernel_of_a_rollout_comes_back_from_a_pickle(protocol, dtype):
    def step(x, gain):
        return [x[0] + gain[0] * sf.math.sin(x[1]), x[1] - gain[0] * x[0]]

    kernel = scan_kernel(step, [2], [1], [], name="step", dtype=dtype)
    again = protocol.loads(protocol.dumps(kernel))
    assert again.texts == kernel.texts and again.scan == kernel.scan
    starts = np.linspace(0.1, 1.0, 22).reshape(11, 2), np.full((11, 1), 0.01)
    found, expected = (run_scan(k, starts, (11,), 50, 5)[0] for k in (again, kernel))
    assert same_bits(found, expected)
