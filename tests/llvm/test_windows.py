"""Slots of long tiles are found by pointers into their middle: offsets fit in one byte."""

import re

import numpy as np
import pytest

from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.modules.straight import module
from tests.llvm.wide_results import growing

SIZE = 200
LAYOUT = Layout(((3,),), ((SIZE,), (SIZE,)))


def pieces(text):
    """Return the text of each piece for eight lanes."""
    return re.findall(r"^define internal void @piece_\d+_8\(.*?^}", text, re.S | re.M)


def test_offsets_of_slots_are_within_a_byte():
    text = module(optimise(trace(growing(SIZE), (3,))), LAYOUT, 8, permutes=True)
    found = [int(n) for body in pieces(text) for n in re.findall(r"%._window\d, i64 (-?\d+)", body)]
    assert min(found) >= -128
    assert max(found) <= 127
    assert len(set(found)) > 200
    for body in pieces(text):
        windows = set(re.findall(r"%._window(\d)", body))
        assert body.count('asm ""') == body.count("double>, ptr %tile,") == len(windows) > 0


@pytest.mark.parametrize(("lanes", "size"), [(4, SIZE), (8, 20)])
def test_short_tiles_and_other_lanes_count_from_the_start(lanes, size):
    program = trace(lambda x: growing(max(size, 70))(x)[:size], (3,))
    text = module(optimise(program), Layout(((3,),), ((size,),)), lanes)
    assert "_window" not in text


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_the_same_bits(dtype):
    program, layout = trace(growing(SIZE), (3,)), Layout(LAYOUT.inputs, LAYOUT.outputs, dtype)
    wide = 8 if dtype == "float64" else 16
    many, one = (build("test", program, layout, lanes=lanes)[0] for lanes in (wide, 1))
    x = np.random.default_rng(1).uniform(0.1, 0.9, (100, 3)).astype(dtype)
    for found, expected in zip(many.ufunc(x), one.ufunc(x), strict=True):
        assert np.array_equal(found, expected)
