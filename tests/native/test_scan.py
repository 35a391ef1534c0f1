"""A step applied to its own results in machine code equals the same steps in Python."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.native import Scan, build_scan, trace


def oscillator(x, v, k, push):
    """One step of two oscillators with stiffness k and a push."""
    acc = [-k[0] * sf.sin(x[i]) + push[0] for i in range(2)]
    w = [v[i] + acc[i] * 0.125 for i in range(2)]
    return [
        x[0] + w[0] * 0.125,
        x[1] + w[1] * 0.125,
        w[0],
        w[1],
    ]


def big(x, v, k, push):
    """A step of more than one piece."""
    y = list(x)
    for _ in range(400):
        y = [y[1] * 0.5 + y[0] * 0.5 + 0.001, y[0] * 0.25 - y[1] * 0.75 + push[0] * k[0]]
    return [*y, v[0] + y[0], v[1] - y[1]]


SCAN = Scan(carried=(2, 2), fixed=(1,), each=(1,))


def run(step, rows, steps, every=1, lanes=None, seed=0):
    rng = np.random.default_rng(seed)
    x, v = rng.standard_normal((2, rows, 2))
    k = rng.uniform(1, 2, (rows, 1))
    push = rng.standard_normal((rows, steps, 1))
    kernel = build_scan(trace(step, [2, 2, 1, 1]), SCAN, lanes=lanes)
    out = [np.full((rows, steps // every, 2), 7.0) for _ in range(2)]
    kernel([x, v, k, push], out, steps, every)
    return (x, v, k, push), np.concatenate(out, -1)


def plain(step, given, steps, every=1):
    x, v, k, push = given
    state = [*x.T, *v.T]
    rows = []
    for s in range(steps):
        state = step(state[:2], state[2:], k.T, push[:, s].T)
        if (s + 1) % every == 0:
            rows.append(np.array(state).T)
    return np.stack(rows, 1)


@pytest.mark.parametrize("step", [oscillator, big], ids=lambda f: f.__name__)
@pytest.mark.parametrize(("rows", "steps", "every"), [(1, 5, 1), (7, 12, 3), (37, 4, 4), (4, 9, 2)])
def test_a_scan_equals_its_steps_one_by_one(step, rows, steps, every):
    given, got = run(step, rows, steps, every)
    np.testing.assert_allclose(got, plain(step, given, steps, every), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", [oscillator, big], ids=lambda f: f.__name__)
def test_lanes_and_splits_give_the_same_bits(step):
    given, whole = run(step, 37, 6)
    for lanes in (1, 4, 8):
        np.testing.assert_array_equal(run(step, 37, 6, lanes=lanes)[1], whole)
    kernel = build_scan(trace(step, [2, 2, 1, 1]), SCAN)
    for start, stop in ((0, 1), (3, 8), (30, 37)):
        out = [np.empty((stop - start, 6, 2)) for _ in range(2)]
        kernel([a[start:stop] for a in given], out, 6, 1)
        np.testing.assert_array_equal(np.concatenate(out, -1), whole[start:stop])


def test_arrays_may_be_broadcast_over_rows_and_steps():
    given, _ = run(oscillator, 5, 8)
    x, v, k, push = given
    kernel = build_scan(trace(oscillator, [2, 2, 1, 1]), SCAN)
    one_k = np.broadcast_to(k[:1], (5, 1))
    one_push = np.broadcast_to(push[:1, :1], (5, 8, 1))
    out = [np.empty((5, 8, 2)) for _ in range(2)]
    kernel([x, v, one_k, one_push], out, 8, 1)
    want = plain(oscillator, (x, v, one_k, one_push), 8)
    np.testing.assert_allclose(np.concatenate(out, -1), want, rtol=1e-12, atol=1e-12)


def test_no_rows_or_steps_write_nothing():
    kernel = build_scan(trace(oscillator, [2, 2, 1, 1]), SCAN)
    for rows, steps in ((0, 3), (2, 0)):
        arrays = [np.zeros((rows, 2)), np.zeros((rows, 2)), np.zeros((rows, 1))]
        out = [np.zeros((rows, steps, 2)) for _ in range(2)]
        kernel([*arrays, np.zeros((rows, steps, 1))], out, steps, 1)
        assert not np.concatenate(out).any()


def test_what_the_step_ignores_may_be_there():
    kernel = build_scan(trace(lambda x, v, k, p: [v[0], 1.5, x[0], v[1]], [2, 2, 1, 1]), SCAN)
    x, v = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    out = [np.empty((1, 2, 2)) for _ in range(2)]
    kernel([x, v, np.zeros((1, 1)), np.zeros((1, 2, 1))], out, 2, 1)
    assert out[0].tolist() == [[[3.0, 1.5], [1.0, 1.5]]]
    assert out[1].tolist() == [[[1.0, 4.0], [3.0, 4.0]]]
