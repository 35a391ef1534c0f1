"""A seeded hundred of adversarial models; `python -m tests.adversarial` tries thousands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Model
from sixfold.quantities import readings
from sixfold.runtime.kernels.kernels import kernel_tree
from sixfold.scalar import plain
from sixfold.spatial import Transform
from tests.adversarial import measure as measures
from tests.adversarial.measure import FD, ID, Call, Reference, applies, calls, measure
from tests.adversarial.models import Sample, describe, draw
from tests.adversarial.sizes import Sized, size_of

MODELS = 100
FIRST = 50_000
DEFAULT = (Call(ID), Call(FD), Call("mass_matrix"))


def number(k):
    """Return the number of the k-th model: every tenth has more bodies and is left to thousands."""
    return FIRST + k + k // 9


def call_for(k):
    """Return one call for each model, for the sake of time: default calls, others in between."""
    return calls(k // 8)[-1] if k % 8 == 7 else DEFAULT[k % 3]


@pytest.mark.parametrize("part", range(10))
def test_default_calls_keep_their_digits(part):
    tried = 0
    for k in range(part, MODELS, 10):
        sample, call = draw(number(k), states=2), call_for(k)
        if applies(call, sample.model):
            tried += 1
            for m in measure(sample, call):
                assert not m.missed, f"{describe(sample.model)}: {m}"
    assert tried > 7


@pytest.mark.parametrize(
    ("k", "function"),
    [
        (1784, FD),
        (2063, FD),
        (3719, FD),
        (3966, FD),
        (2526, "bias_force"),
        (3615, "coriolis_matrix"),
    ],
)
def test_models_that_once_missed_their_bounds(k, function):
    """Screws of extreme pitch, and a bias force that cancels altogether."""
    sample = draw(k)
    assert list(measure(sample, Call(function)))
    for m in measure(sample, Call(function)):
        assert not m.missed, f"{describe(sample.model)}: {m}"


@pytest.mark.parametrize("core", [readings.inverse_dynamics, readings.mass_matrix])
def test_trees_of_kernels_have_the_dynamics_of_the_model(core):
    """Without compiling: the same page on the tree as given and as kernels take it."""
    for k in range(MODELS):
        s = draw(number(k), states=1)
        given = (s.q, s.v, s.a) if core is readings.inverse_dynamics else (s.q,)
        exact = Reference(s).of(core, *given)[0]
        tree = kernel_tree(core, s.model)
        row = [x[0].tolist() for x in given]
        found = [plain(x) for x in core(s.model, tree, *row)]
        sizes = [size_of(x) for x in core(s.model, s.model.map(Sized), *row)]
        off = max(abs(float(x - y)) for x, y in zip(found, exact, strict=True))
        scale = max(abs(float(x)) for x in exact)
        assert off <= 1e-12 * scale + 16 * measures.EPS["float64"] * max(sizes), describe(s.model)


def test_the_hundred_hold_what_they_promise():
    kinds, masses, coupled, massless, floating = set(), [], 0, 0, 0
    for k in range(MODELS):
        model = draw(number(k)).model
        kinds |= {type(body.joint) for body in model.bodies}
        masses += [float(body.inertia.m) for body in model.bodies]
        coupled += bool(model.couplings)
        massless += any(body.inertia.m == 0 for body in model.bodies)
        floating += isinstance(model.bodies[0].joint, sf.Free)
    assert len(kinds) == 9
    assert min(x for x in masses if x) < 1e-9
    assert max(masses) > 1e9
    assert min(coupled, massless, floating) >= 5


def test_the_same_numbers_draw_the_same_model():
    assert draw(7, seed=3).model == draw(7, seed=3).model != draw(8, seed=3).model


def spoiled(model: Model, angle: float) -> Model:
    """Return the model with its second body turned by a small angle."""
    first, second, *others = model.bodies
    X = Transform.turn((0.3, 0.5, 0.8), angle) @ second.placement
    return replace(model, bodies=(first, replace(second, placement=X), *others))


def test_the_measure_notices_axes_that_are_off_by_1e_11(monkeypatch):
    model = sf.load("puma560")
    q, v = sf.random_state(model, 4, seed=0)
    sample = Sample(model, q, v, v, v)
    assert not any(m.missed for m in measure(sample, Call(ID, "numpy")))
    wrong = sf.inverse_dynamics(spoiled(sample.model, 1e-11), sample.q, sample.v, sample.a)
    right = sf.inverse_dynamics(sample.model, sample.q, sample.v, sample.a)
    assert 1e-12 < np.abs(wrong - right).max() / np.abs(right).max() < 1e-9

    def inverse_dynamics(model, q, v, a, backend):
        return right if backend == "numpy" else wrong

    monkeypatch.setattr(measures, "find", lambda name: inverse_dynamics)
    assert all(m.missed for m in measure(sample, Call(ID)))


def test_sizes_add_up_what_cancels():
    x = Sized(3.0) * 2.0 - Sized(5.0)
    assert (x.value, x.size) == (1.0, 11.0)
    assert size_of(Sized(-4.0) / 2) == 2.0
