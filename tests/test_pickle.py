"""Functions that use the library travel to other processes: joblib, Dask, notebooks."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sixfold as sf

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


def test_the_package_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(sf)) is sf
    assert copy.deepcopy(sf) is sf
    assert cloudpickle.loads(cloudpickle.dumps(sf)) is sf


def test_a_function_of_a_notebook_that_uses_the_package_runs_elsewhere():
    work = by_value("def work(q):\n    return sf.mass_matrix(sf.load('puma560'), q)", "work")
    q = np.linspace(0.1, 0.6, 6)
    np.testing.assert_array_equal(elsewhere(work, q), work(q))


def test_a_closure_over_the_package_a_model_and_a_controller_runs_elsewhere():
    model = sf.load("double_pendulum")

    def run(package, gain):
        law = package.controllers.pd(model, [0.0, 0.0], gain, 1.0)
        return package.simulate(model, [1.0, 0.5], None, 0.01, control=law).q

    def work(gain, package=sf):
        return run(package, gain)

    np.testing.assert_array_equal(elsewhere(work, 5.0), work(5.0))


def test_simulate_and_view_stay_functions_when_their_rooms_are_imported():
    code = "import sixfold.simulate, sixfold.view, sixfold as sf; print(sf.simulate, sf.view)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("<function ") == 2
