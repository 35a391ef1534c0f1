"""The parts of pictures and tables."""

import re

import numpy as np
import pytest

from sixfold.show import (
    STRETCHES,
    Node,
    Panel,
    _ticks,
    curves,
    keep_extremes,
    listing,
    matrix,
    plain,
    table,
    tree,
)


def test_a_cell_is_cut_and_escaped():
    assert plain("<b>") == "&lt;b&gt;"
    assert len(plain("x" * 1000)) == 200
    assert plain("a\x1b[31m") == "a\\x1b[31m"


def test_a_long_table_counts_the_rows_that_are_left_out():
    text = table(("n",), [(k,) for k in range(100)], "numbers")
    assert text.count("<tr>") == 62 and "... and 40 more" in text


def test_zeros_of_a_matrix_are_dots():
    assert matrix("A", np.diag([1.5, 2.0])).count("·") == 2


def test_a_listing_keeps_its_lines_and_ends_early():
    assert listing("a\n<b>") == "<pre>a\n&lt;b&gt;</pre>"
    assert "5,000 more characters" in listing("x" * 25_000)


def test_a_line_that_is_long_keeps_its_peaks():
    t = np.linspace(0.0, 1.0, 10_001)
    y = np.zeros(10_001)
    y[5_123], y[7_001] = 3.0, -2.0
    x, thin = keep_extremes(t, y[:, None], 2 * STRETCHES)
    assert len(x) <= 2 * STRETCHES + 2 and thin.max() == 3.0 and thin.min() == -2.0
    assert x[0] == 0.0 and x[-1] == 1.0 and (np.diff(x) > 0).all()


def test_the_pen_is_lifted_where_a_value_is_not_finite():
    y = np.array([[0.0], [1.0], [np.nan], [1.0], [np.inf], [2.0]])
    text = curves(np.arange(6.0), [Panel("y", ("y",), y)])
    line = re.search(r'd="(M[^"]+)" stroke="#2f6fde"', text).group(1)
    assert line.count("M") == 3 and line.count("L") == 1
    assert "nan" not in text and "inf" not in text


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-9, 1e12])
def test_a_constant_is_a_level_line(value):
    text = curves(np.arange(3.0), [Panel("y", ("y",), np.full((3, 1), value))])
    line = re.search(r'd="(M[^"]+)" stroke="#2f6fde"', text).group(1)
    heights = set(re.findall(r"[ML][\d.]+ ([\d.]+)", line))
    assert len(heights) == 1


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3e-7, 8e-7), (99.0, 101.0), (-1e9, 3.0)])
def test_ticks_are_few_and_within(ends):
    low, high = ends
    marks = _ticks(low, high)
    assert 2 <= len(marks) <= 6
    slack = 1e-9 * (high - low)
    assert all(low - slack <= x <= high + slack for x in marks)


def test_a_tree_has_children_to_the_right_and_leaves_below_each_other():
    nodes = [Node("a", -1, "", 1), Node("b", 0, "", 1), Node("c", 0, "", 1)]
    circles = re.findall(r'<circle cx="(\d+)" cy="(\d+)"', tree("world", nodes))
    (xa, ya), (xb, yb), (xc, yc) = [(int(x), int(y)) for x, y in circles]
    assert xa < xb == xc and ya == yb < yc
