"""A step applied to its own results in machine code equals the same steps in Python."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.graph.program import Call
from sixfold.compiler.llvm import Scan, build_scan
from sixfold.compiler.llvm.runtime.jit import WIDTHS


def oscillator(x, v, k, push):
    """One step of two oscillators with stiffness k and a push."""
    acc = [-k[0] * sf.math.sin(x[i]) + push[0] for i in range(2)]
    w = [v[i] + acc[i] * 0.125 for i in range(2)]
    return [x[0] + w[0] * 0.125, x[1] + w[1] * 0.125, w[0], w[1]]


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
    kernel = build_scan(trace(step, [2, 2, 1, 1], boundaries=True), SCAN, lanes=lanes)
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
    for lanes in WIDTHS:
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


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_row_that_leaves_the_finite_numbers_is_noticed_wherever_it_is(lanes):
    kernel = build_scan(trace(oscillator, [2, 2, 1, 1]), SCAN, lanes=lanes)
    x, v = np.zeros((2, 37, 2))
    k, push = np.ones((37, 1)), np.zeros((37, 5, 1))
    out = [np.empty((37, 5, 2)) for _ in range(2)]
    assert kernel([x, v, k, push], out, 5, 1) is False
    for row in (0, 17, 36):
        for value in (np.inf, np.nan):
            late = push.copy()
            late[row, 3] = value
            assert kernel([x, v, k, late], out, 5, 1) is True
            assert kernel([x, v, k, late], out, 3, 1) is False


def repeating(x, v, k, push):
    """A step that evaluates one long function three times, with signs and values from outside."""
    from sixfold.runtime.kernels.scan import evaluate_once

    def pull(y, w):
        a, b, c = -y[0] * (k[0] * k[0]), w[1] - push[0], sf.math.cos(w[0])
        for _ in range(60):
            a, b = 0.5 * b + sf.math.sin(a), 0.25 * a - 0.5 * b * c - 0.1 * sf.math.sin(y[1])
        return [-a, b, y[1], k[0]]

    first = evaluate_once(pull, x, v)
    second = evaluate_once(
        pull, [a + 0.5 * b for a, b in zip(x, first, strict=False)], [x[1], -x[0]]
    )
    third = evaluate_once(pull, second[:2], [v[0] - first[0], v[1] - first[2]])
    return [
        third[0] + first[0],
        third[1] - second[0],
        v[0] + 0.125 * third[0],
        0.5 * v[1] + third[3],
    ]


def test_what_a_step_repeats_is_compiled_once():
    kernel = build_scan(trace(repeating, [2, 2, 1, 1], boundaries=True), SCAN)
    program, block = kernel.graph
    assert block is not None
    assert sum(isinstance(op, Call) for op, *_ in program.nodes) == 3
    assert len(program.nodes) < 60 < len(block.nodes)
    for lanes in WIDTHS:
        given, got = run(repeating, 37, 6, 2, lanes=lanes)
        np.testing.assert_allclose(got, plain(repeating, given, 6, 2), rtol=1e-11, atol=1e-12)
        np.testing.assert_array_equal(got, run(repeating, 37, 6, 2)[1])
