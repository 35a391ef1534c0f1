"""Fixtures of the laws: every law runs over models and backends."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sixfold.model import Model
from tests.laws.backends import BACKENDS, Calls
from tests.laws.exempt import EXEMPT
from tests.laws.support import FLOATING, MODELS, State, states

FEW = ("double_pendulum", "floating_link", "tree 4 bodies, damped and sprung")
"""Models of every backend: a fixed base, a floating base, joints of several freedoms.

Laws with models of their own, such as those of couplings, run them all.  NumPy runs every model;
SIXFOLD_LAWS=all runs every model on every backend.
"""


@pytest.fixture(params=BACKENDS)
def fn(request) -> Iterator[Calls]:
    """The public functions bound to each backend in turn; the law must use it."""
    calls = Calls(request.param)
    yield calls
    assert calls.ran, f"no call of this law ran on {request.param}: list it in tests/laws/exempt.py"


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request) -> Model:
    """Every model in turn."""
    return request.param


@pytest.fixture(params=FLOATING.values(), ids=FLOATING.keys())
def floating_model(request) -> Model:
    """Every model on a free base in turn."""
    return request.param


@pytest.fixture
def state(fn, model) -> State:
    """Four random states of the model."""
    return states(fn, model, 4)


def pytest_collection_modifyitems(config, items) -> None:
    """Leave out what EXEMPT lists and, on backends other than NumPy, all but a few models."""
    left_out = [item for item in items if "fn" in _parameters(item) and not _wanted(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _parameters(item) -> dict:
    return item.callspec.params if hasattr(item, "callspec") else {}


def _wanted(item) -> bool:
    parameters = _parameters(item)
    backend = parameters["fn"]
    if backend in EXEMPT.get(item.originalname, {}):
        return False
    if backend == "rolled" and parameters.get("method", "aba") != "aba":
        return False  # only articulated bodies have a rolled form
    if backend == "numpy" or os.environ.get("SIXFOLD_LAWS") == "all":
        return True
    few = {id(MODELS[name]) for name in FEW}
    shared = {id(model) for model in (*MODELS.values(), *FLOATING.values())}
    own = {id(x) for x in parameters.values() if isinstance(x, Model)}
    return not (own & shared) - few
