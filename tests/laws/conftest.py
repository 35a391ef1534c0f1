"""The models that every law runs over, and a random state of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Model

SAMPLES = (
    "pendulum",
    "cart_pendulum",
    "double_pendulum",
    "planar_chain:3",
    "tree6",
    "tree10",
    "star:4",
    "puma560",
    "rolling_ball",
    "floating_link",
)
MODELS: dict[str, Model] = {name: sf.load(name) for name in SAMPLES}
for _n, _seed in ((3, 1), (6, 2), (9, 3), (12, 5)):
    MODELS[f"tree {_n} bodies"] = sf.random_tree(_n, _seed)
for _n, _seed in ((4, 1), (7, 2)):
    MODELS[f"tree {_n} bodies, damped and sprung"] = sf.random_tree(_n, _seed, properties=True)
FLOATING: dict[str, Model] = {
    "floating_link": sf.load("floating_link"),
}


class State(NamedTuple):
    """Configurations, velocities and accelerations (or joint forces)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def states(model: Model, size: int, seed: int = 0) -> State:
    """Return random states, (size, nq) and (size, nv)."""
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, size, seed=rng)
    return State(q, v, rng.standard_normal(v.shape))


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request) -> Model:
    """Every model in turn."""
    return request.param


@pytest.fixture
def state(model) -> State:
    """Four random states of the model."""
    return states(model, 4)
