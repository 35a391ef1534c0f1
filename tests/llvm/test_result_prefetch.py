"""Lines of results are prefetched for writing while the pieces compute, each once."""

import re

import numpy as np
import pytest

from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout.gather_scatter import MAX_PREFETCH_LINES
from sixfold.compiler.llvm.modules.straight import module
from tests.llvm.wide_results import growing


def prefetched(text, W):
    """Return the offsets of lines that the loop over dense rows prefetches, for each output."""
    body = re.search(rf"define internal void @rows_{W}\(.*?^}}", text, re.S | re.M)[0]
    found = re.findall(r"%line_\w+?_(\d+)_(\d+) = ", body)
    assert body.count("call void @llvm.prefetch.p0(") == len(found)
    return [sorted(int(at) for o, at in found if int(o) == k) for k in (0, 1)]


@pytest.mark.parametrize("W", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_each_line_of_a_block_is_prefetched_once(W, dtype):
    size = 70
    layout = Layout(((3,),), ((size,), (size,)), dtype)
    text = module(optimise(trace(growing(size), (3,))), layout, W)
    lines = list(range(0, W * size * layout.item, 64))
    assert prefetched(text, W) == [lines if W > 1 else []] * 2


def test_more_lines_than_the_l1_cache_has_are_not_prefetched():
    size = MAX_PREFETCH_LINES // 2 + 1
    text = module(optimise(trace(growing(size), (3,))), Layout(((3,),), ((size,), (size,))), 8)
    assert prefetched(text, 8) == [[], []]


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("states", [1, 3, 8, 9, 64, 1001])
def test_results_at_the_end_of_an_array_are_the_same(states, lanes):
    size = 70
    program, layout = trace(growing(size), (3,)), Layout(((3,),), ((size,), (size,)))
    many, one = (build("test", program, layout, lanes=width)[0] for width in (lanes, 1))
    x = np.random.default_rng(1).uniform(0.1, 0.9, (states, 3))
    for found, expected in zip(many.ufunc(x), one.ufunc(x), strict=True):
        assert np.array_equal(found, expected)
