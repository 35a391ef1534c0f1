"""Every law runs on every backend, or is listed with the reason why it does not."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf
from tests.laws.backends import BACKENDS, Calls
from tests.laws.exempt import EXEMPT
from tests.syntax import parsed

FILES = sorted(Path(__file__).parent.glob("test_*.py"))
DEFAULT_CALLS = {
    "test_neutral_is_the_zero_of_every_joint",
    "test_machine_code_agrees_under_couplings",
    "test_coupled_joints_leave_no_choice_of_method",
}
"""Laws that call nothing with a backend, or that are about the call without one."""


def laws():
    """Return {name: arguments} of all laws."""
    found = {}
    for file in FILES:
        for node in parsed(file).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found[node.name] = [argument.arg for argument in node.args.args]
    return found


def test_exempt_names_laws_and_backends_that_exist():
    known = laws()
    for law, reasons in EXEMPT.items():
        assert "fn" in known.get(law, ()), f"{law} is no law that runs on backends"
        assert reasons.keys() <= set(BACKENDS) - {"numpy", "unrolled"}, law
        assert all(reasons.values()), law


def test_every_law_over_all_models_runs_on_backends():
    models = {"model", "floating_model", "full", "reduced"}
    without = {law for law, given in laws().items() if models & set(given) and "fn" not in given}
    assert without == DEFAULT_CALLS


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_run_on_the_backend_that_they_name(backend, monkeypatch):
    seen = []
    inner = sf.inverse_dynamics

    def watched(model, q, v, a, *, backend):
        seen.append((q.dtype, backend))
        return inner(model, q, v, a, backend=backend)

    monkeypatch.setattr(sf, "inverse_dynamics", watched)
    calls = Calls(backend)
    zero = np.zeros((2, 2))
    assert calls.inverse_dynamics(sf.load("double_pendulum"), zero, zero, zero).dtype == float
    form = "unrolled" if backend == "float32" else backend
    assert seen == [(np.dtype(calls.dtype), form)] and calls.ran == 1


def test_matrices_do_not_count_as_rolled():
    calls = Calls("rolled")
    calls.mass_matrix(sf.load("double_pendulum"), np.zeros(2))
    assert calls.ran == 0
