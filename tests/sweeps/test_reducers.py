"""Reductions are those of all rows at once, and the same bits for any blocks."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.sweeps.reducers import Extremes, Reducer, ReductionTree, leaf_size
from tests.sweeps.studies import REDUCTIONS, reduced, same, same_sweeps, torques


@pytest.fixture(scope="module")
def whole():
    return reduced()


@pytest.fixture(scope="module")
def rows():
    from tests.sweeps.studies import ROWS, draw

    return sf.sweeps.sweep(torques, ROWS, seed=7, draw=draw(), engine="serial").arrays()


@pytest.mark.parametrize("block", [8, 100, 1024, 10_000])
def test_blocks_do_not_change_a_bit(whole, block):
    assert same_sweeps(reduced(block=block), whole)


def test_reductions_are_those_of_all_rows(whole, rows):
    for name, x in rows.items():
        np.testing.assert_allclose(whole["mean"][name], x.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(whole["deviation"][name], x.std(axis=0, ddof=1), rtol=1e-12)
        flat = x.reshape(len(x), -1)
        expected = np.cov(flat.T).reshape(flat.shape[1], -1)
        np.testing.assert_allclose(whole["covariance"][name], expected, rtol=1e-9, atol=1e-9)
        ends = whole["extremes"][name]
        np.testing.assert_array_equal(ends["min"], x.min(axis=0))
        np.testing.assert_array_equal(ends["max_row"], x.argmax(axis=0))
        middle = np.quantile(x, [0.05, 0.5, 0.95], axis=0, method="closest_observation")
        np.testing.assert_allclose(whole["quantiles"][name], middle, rtol=0.05, atol=0.02)


def test_the_quantile_sketch_is_as_exact_as_it_says():
    values = np.concatenate(
        [-np.geomspace(1e-9, 1e9, 2001), [0.0], np.geomspace(1e-300, 1e300, 2001)]
    )
    shares = [0.0, 0.1, 0.3, 0.499, 0.7, 1.0]
    found = sf.sweeps.sweep(
        lambda x: x, {"x": values}, reduce=sf.sweeps.reducers.quantiles(shares), engine="serial"
    )["quantiles"]["result"]
    expected = np.quantile(values, shares, method="inverted_cdf")
    near = np.quantile(values, shares, method="closest_observation")
    close = np.minimum(np.abs(found - expected), np.abs(found - near)) <= 0.002 * np.abs(found)
    order = np.searchsorted(np.sort(values), found) / len(values)
    assert (close | (np.abs(order - shares) < 2e-3)).all()


def test_a_histogram_counts_every_row_once():
    x = np.random.default_rng(0).standard_normal((5000, 2))
    x[7, 0] = np.nan
    got = sf.sweeps.sweep(
        lambda x: x, {"x": x}, reduce=sf.sweeps.reducers.histogram(-2.0, 2.0, 16), engine="serial"
    )["histogram"]["result"]
    counts, edges = np.histogram(x[:, 1], 16, (-2.0, 2.0))
    np.testing.assert_array_equal(got["counts"][:, 1], counts)
    np.testing.assert_allclose(got["edges"], edges)
    total = got["counts"].sum(axis=0) + got["below"] + got["above"] + got["nan"]
    np.testing.assert_array_equal(total, [5000, 5000])
    assert got["nan"].tolist() == [1, 0]


def test_nan_is_counted_and_never_an_extreme():
    x = np.array([np.nan, 3.0, -1.0, np.nan, 3.0])
    ends = sf.sweeps.sweep(lambda x: x, {"x": x}, reduce="extremes", engine="serial")["extremes"][
        "result"
    ]
    assert (ends["min"], ends["min_row"], ends["max"], ends["max_row"], ends["nan"]) == (
        -1,
        2,
        3,
        1,
        2,
    )
    none = np.full(3, np.nan)
    ends = sf.sweeps.sweep(lambda x: x, {"x": none}, reduce="extremes", engine="serial")["extremes"]
    assert ends["result"]["max_row"] == -1 and ends["result"]["nan"] == 3


def test_a_reduction_of_ones_own_is_joined_in_order():
    def leaf(results):
        return [(int(results["result"][0]), int(results["result"][-1]))]

    own = sf.sweeps.reducers.custom(leaf, lambda a, b: a + b, name="runs")
    for block in (None, 5, 64):
        got = sf.sweeps.sweep(lambda row: row, 700, reduce=own, engine="threads", block=block)[
            "runs"
        ]
        assert [x for pair in got for x in pair] == sorted(x for pair in got for x in pair)
        assert got[0][0] == 0 and got[-1][1] == 699


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 8, 21])
def test_the_tree_has_one_shape_for_any_order_of_arrival(leaves):
    def shape(order):
        tree = ReductionTree(lambda a, b: f"({a} {b})")
        tree.add(((0, k), str(k)) for k in order)
        return tree.total()

    rng = np.random.default_rng(leaves)
    assert (
        len({shape(rng.permutation(leaves).tolist()) for _ in range(5)} | {shape(range(leaves))})
        == 1
    )


def test_leaves_depend_on_the_rows_alone():
    assert [leaf_size(n) for n in (1, 255, 256, 1000, 10**5, 10**9)] == [1, 1, 1, 2, 256, 1024]


@pytest.mark.parametrize("given", ["median", ["mean", "mean"], [], 3, ["mean", None], object()])
def test_reductions_that_do_not_exist_are_refused(given):
    with pytest.raises(sf.errors.OptionError, match="reduce"):
        sf.sweeps.sweep(lambda row: row, 10, reduce=given)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: sf.sweeps.reducers.histogram(1.0, 0.0), sf.errors.OptionError),
        (lambda: sf.sweeps.reducers.histogram(0.0, 1.0, 0), sf.errors.OptionError),
        (lambda: sf.sweeps.reducers.quantiles([1.5]), sf.errors.OptionError),
        (lambda: sf.sweeps.reducers.quantiles("median"), sf.errors.OptionError),
        (lambda: sf.sweeps.reducers.custom(None, max), sf.errors.ArgumentError),
        (lambda: sf.sweeps.reducers.custom(max, max, name=""), sf.errors.OptionError),
    ],
)
def test_bad_reducers_are_refused(call, error):
    with pytest.raises(error):
        call()


def test_every_reduction_by_name_is_there(whole):
    assert tuple(whole) == REDUCTIONS and len(whole) == len(REDUCTIONS)
    assert same(whole["mean"], dict(whole)["mean"])


class Starts(Reducer):
    """Keeps the number of the first row of each leaf, and what that row holds."""

    name = "starts"

    def leaf(self, results, start):
        return [(start, int(results["result"][0]))]

    def combine(self, one, other):
        return one + other

    def result(self, state):
        return state


@pytest.mark.parametrize("block", [None, 64, 300])
def test_a_leaf_is_told_the_number_of_its_first_row(block):
    found = sf.sweeps.sweep(lambda row: row, 2500, reduce=Starts(), engine="serial", block=block)[
        "starts"
    ]
    assert [start for start, _ in found] == [row for _, row in found]
    assert len(found) > 1 and found[0] == (0, 0)


@pytest.mark.parametrize("at", [0, 1, 1237, 2499])
@pytest.mark.parametrize("block", [None, 64, 300])
def test_extremes_have_the_numbers_of_their_rows_wherever_blocks_end(at, block):
    x = np.zeros(2500)
    x[at] = 5.0
    for sign, end in ((1.0, "max"), (-1.0, "min")):
        run = sf.sweeps.sweep(
            lambda x: x, {"x": sign * x}, reduce="extremes", engine="serial", block=block
        )
        ends = run["extremes"]["result"]
        assert (ends[end], ends[f"{end}_row"]) == (sign * 5.0, at)


def test_extremes_join_in_any_order_and_the_first_of_equal_rows_counts():
    reducer = Extremes()
    for x in (
        np.array([2.0, 7.0, 2.0, 7.0]),
        np.array([1.0, np.nan, np.nan, np.nan]),
        np.array([np.nan, np.nan, np.nan, 1.0]),
        np.array([np.nan, 3.0, np.nan, 3.0]),
        np.full(4, np.nan),
    ):
        whole = reducer.one(x, 0)
        for cut in (1, 2, 3):
            first, second = reducer.one(x[:cut], 0), reducer.one(x[cut:], cut)
            for joined in (reducer.two(first, second), reducer.two(second, first)):
                for key in ("nan", "min_row", "max_row"):
                    assert joined[key] == whole[key], (x, cut, key)
                if whole["min_row"] >= 0:
                    assert joined["min"] == whole["min"] and joined["max"] == whole["max"]
