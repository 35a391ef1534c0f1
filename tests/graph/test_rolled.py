"""Programs that sweep over the items of a tree, traced and compiled without any robot in them."""

from typing import NamedTuple

import numpy as np
import pytest

from sixfold.compiler.graph import NotRolled, Rolled
from sixfold.compiler.graph.rolled import (
    Items,
    Parent,
    Recorder,
    Shape,
    Table,
    leaves,
    over,
    pack,
    sweeps,
)
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.spatial import Inertia, Transform

PARENT = (0, 1, 1, 2, 2, 0, 6, 4)
KIND = (0, 1, 0, 0, 1, 1, 0, 1)
WEIGHT = (2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0)


class Forest:
    """What a traced function sees of a tree."""

    def __init__(self, recorder, weights):
        self.recorder, self.items = recorder, Items(recorder)
        self._weights = weights

    def weight(self, item):
        return item.graph.number(np.array(self._weights[item.kind]))

    def x(self, item):
        return item.graph.source("array", 0, 0)

    def table(self, base=None):
        return Table(self.recorder, base)


def traced(function, parent=PARENT, kind=KIND, weight=WEIGHT, ends=False):
    kinds = max(kind) + 1
    weights = [[w for w, k in zip(weight, kind, strict=True) if k == n] for n in range(kinds)]
    counts = [len(w) for w in weights]
    first = Recorder(counts)
    function(Forest(first, weights))
    recorder = Recorder(counts, first.found)
    result = function(Forest(recorder, weights))
    outs = [[[]] for _ in counts]
    last = []
    if ends:
        last = [recorder.outside.lift(x) for x in result]
    else:
        for item in recorder.items:
            nodes = [item.graph.lift(x) for x in result[item]]
            if not item.witness:
                outs[item.kind] = [nodes]
    recorder.finish()
    single = len(set(parent)) == len(parent)
    rolled, storage = sweeps(recorder, outs, [last], arrays=1, single=single)
    each = len(outs[0][0])
    starts = [np.arange(len(parent)), np.arange(len(parent)) * each]
    return rolled, pack(rolled, storage, Shape(parent, kind, starts)), each


def kernel(function, dtype="float64", lanes=None, **tree):
    rolled, data, each = traced(function, **tree)
    n = len(tree.get("parent", PARENT))
    assert Rolled.parse(rolled.text()) == rolled
    output = (len(rolled.last.sinks),) if tree.get("ends") else (n, each)
    return build("f", rolled, Layout(((n,),), (output,), dtype), data=data, lanes=lanes)[0]


def outward(forest):
    """s[i] = s[parent] w[i] + x[i]."""
    s = forest.table(1.0)
    for i in forest.items:
        s[i] = s[Parent(i)] * forest.weight(i) + forest.x(i)
    return {i: [s[i]] for i in forest.recorder.items}


def inward(forest):
    """t[i] = x[i] + sum over children of w t."""
    t = forest.table(0.0)
    for i in forest.items:
        t[i] = forest.x(i)
    for i in reversed(forest.items):
        t[Parent(i)] += forest.weight(i) * t[i]
    return {i: [t[i]] for i in forest.recorder.items}


def both(forest):
    """Inward sums, then outward again with what the inward sweep kept."""
    t, s = forest.table(0.0), forest.table(0.5)
    for i in forest.items:
        t[i] = forest.x(i)
    for i in reversed(forest.items):
        t[Parent(i)] += forest.weight(i) * t[i]
    for i in forest.items:
        s[i] = s[Parent(i)] + t[i] * t[i]
    return {i: [s[i], t[i]] for i in forest.recorder.items}


def reference(function, x, parent=PARENT, weight=WEIGHT):
    n = len(parent)
    s, t = np.zeros((n + 1, *x.shape[:-1])), np.zeros((n + 1, *x.shape[:-1]))
    for i in range(1, n + 1):
        t[i] = x[..., i - 1]
    if function is outward:
        s[0] = 1.0
        for i, (p, w) in enumerate(zip(parent, weight, strict=True), 1):
            s[i] = s[p] * w + x[..., i - 1]
        return np.moveaxis(s[1:], 0, -1)[..., None]
    for i in range(n, 0, -1):
        t[parent[i - 1]] += weight[i - 1] * t[i]
    if function is inward:
        return np.moveaxis(t[1:], 0, -1)[..., None]
    s[0] = 0.5
    for i, p in enumerate(parent, 1):
        s[i] = s[p] + t[i] * t[i]
    return np.stack([np.moveaxis(s[1:], 0, -1), np.moveaxis(t[1:], 0, -1)], -1)


@pytest.mark.parametrize("function", [outward, inward, both], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 13])
def test_sweeps_give_what_plain_loops_give(function, rows):
    x = np.random.default_rng(rows).integers(-3, 4, (rows, 8)).astype(float)
    np.testing.assert_array_equal(kernel(function)(x), reference(function, x))


@pytest.mark.parametrize("function", [outward, inward, both], ids=lambda f: f.__name__)
def test_lane_widths_and_positions_give_the_same_bits(function):
    x = np.random.default_rng(0).standard_normal((11, 8))
    whole = kernel(function, lanes=1)(x)
    for lanes in WIDTHS:
        np.testing.assert_array_equal(kernel(function, lanes=lanes)(x), whole)
    one_by_one = np.array([kernel(function)(row) for row in x])
    np.testing.assert_array_equal(one_by_one, whole)


def test_any_strides_and_single_precision_work():
    x = np.random.default_rng(0).integers(-3, 4, (7, 8)).astype(float)
    f = kernel(both)
    want = f(x)
    np.testing.assert_array_equal(f(np.asfortranarray(x)), want)
    np.testing.assert_array_equal(f(x[::-1])[::-1], want)
    np.testing.assert_array_equal(f(np.repeat(x, 2, 1)[:, ::2]), want)
    out = np.zeros((2, 8, 7)).T
    np.testing.assert_array_equal(f(x, out=out), want)
    np.testing.assert_array_equal(kernel(inward, "float32")(x.astype(np.float32)), want[..., 1:])


def test_a_chain_of_any_length_takes_two_slots():
    parent = tuple(range(50))
    _, data, _ = traced(inward, parent, (0,) * 50, tuple(range(1, 51)))
    vectors = np.frombuffer(data[:16], np.int64)[1]
    assert vectors <= 5
    x = np.zeros((1, 50))
    x[0, -1] = 2.0**-40
    f = kernel(inward, parent=parent, kind=(0,) * 50, weight=(1.5,) * 50)
    np.testing.assert_allclose(f(x)[0, 0, 0], 2.0**-40 * 1.5**49, rtol=1e-14)


def test_sums_at_the_root_can_be_used_after_the_loops():
    def total(forest):
        t = forest.table(0.0)
        for i in forest.items:
            t[i] = forest.x(i) * forest.weight(i)
        for i in reversed(forest.items):
            t[Parent(i)] += t[i]
        return [t[0], t[0] * t[0]]

    x = np.random.default_rng(0).integers(-3, 4, (6, 8)).astype(float)
    got = kernel(total, ends=True)(x)
    want = x @ np.array(WEIGHT)
    np.testing.assert_array_equal(got, np.stack([want, want * want], -1))


def test_loops_that_need_nothing_of_each_other_become_one_sweep():
    def apart(forest):
        s, t = forest.table(1.0), forest.table(2.0)
        for i in forest.items:
            s[i] = s[Parent(i)] + forest.x(i)
        for i in forest.items:
            t[i] = t[Parent(i)] * forest.x(i)
        return {i: [s[i] + t[i]] for i in forest.recorder.items}

    rolled, _, _ = traced(apart)
    assert rolled.outward == (True,)


def test_cheap_values_of_inputs_are_worked_out_again_and_others_kept():
    def again(forest):
        t, double = forest.table(0.0), forest.table()
        for i in forest.items:
            double[i] = forest.x(i) * 2.0
            t[i] = double[i] / forest.weight(i)
        for i in reversed(forest.items):
            t[Parent(i)] += t[i] * double[i]
        return {i: [t[i]] for i in forest.recorder.items}

    rolled, _, _ = traced(again)
    kept = [s for sweep in rolled.parts for part in sweep for s in part.sinks if s[0] == "keep"]
    assert not kept, "one sweep does it all"
    assert rolled.outward == (True, False)


def test_a_variable_carried_from_item_to_item_is_refused():
    def carried(forest):
        total, t = 0.0, forest.table(0.0)
        for i in forest.items:
            total = total + forest.x(i)
            t[i] = total
        return {i: [t[i]] for i in forest.recorder.items}

    with pytest.raises((NotRolled, TypeError)):
        traced(carried)


def test_a_count_carried_from_item_to_item_is_refused():
    def carried(forest):
        count, t = 0.0, forest.table(0.0)
        for i in forest.items:
            count = count + 1.0
            t[i] = forest.x(i) * count
        return {i: [t[i]] for i in forest.recorder.items}

    with pytest.raises(NotRolled, match="carried"):
        traced(carried, kind=(0,) * 8)


def _replacing(forest):
    t = forest.table(0.0)
    for i in forest.items:
        t[i] = forest.x(i)
    for i in reversed(forest.items):
        t[Parent(i)] = t[i]
    return {i: [t[i]] for i in forest.recorder.items}


def _without_a_root(forest):
    t = forest.table()
    for i in forest.items:
        t[i] = t[Parent(i)] + forest.x(i)
    return {i: [t[i]] for i in forest.recorder.items}


def _nested(forest):
    t = forest.table(0.0)
    for i in forest.items:
        for _ in forest.items:
            t[i] = forest.x(i)
    return {i: [t[i]] for i in forest.recorder.items}


def _adding_outward(forest):
    t = forest.table(0.0)
    for i in forest.items:
        t[i] = forest.x(i)
        t[Parent(i)] += t[i]
    return {i: [t[i]] for i in forest.recorder.items}


def _reading_upward(forest):
    s, t = forest.table(0.0), forest.table(0.0)
    for i in forest.items:
        s[i] = forest.x(i)
    for i in reversed(forest.items):
        t[i] = s[Parent(i)]
    return {i: [t[i]] for i in forest.recorder.items}


def _by_number(forest):
    t = forest.table(0.0)
    for i in forest.items:
        t[i] = forest.x(i)
    t[3] = 1.0
    return {i: [t[i]] for i in forest.recorder.items}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_replacing, r"other than by \+="),
        (_without_a_root, "value at the root"),
        (_nested, "inside another"),
        (_adding_outward, "adds to the parent"),
        (_reading_upward, "tips to the root"),
        (_by_number, "no item of a loop"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_cannot_be_rolled_is_refused_in_words(function, words):
    with pytest.raises(NotRolled, match=words):
        traced(function)


class LastFirst(NamedTuple):
    """Two numbers, converted from the end."""

    a: float
    b: float

    def map(self, convert):
        b = convert(self.b)
        return LastFirst(convert(self.a), b)


def test_numbers_of_a_constant_come_in_the_order_in_which_it_converts_them():
    """Columns of a kind of joint are handed out one by one while a constant converts itself."""
    inertia = Inertia.from_parameters([float(k) for k in range(1, 11)])
    for value in (inertia, Transform.from_rpy((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), LastFirst(1, 2)):
        columns = iter(leaves(value))
        assert over(value, lambda _, columns=columns: next(columns)) == value
