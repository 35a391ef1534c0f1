"""Engines: the same bits on all of them, and what cannot travel is named."""

import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.progress import Bar
from tests.sweeps.studies import ARM, reduced, same_sweeps

pytest.importorskip("cloudpickle")


@pytest.fixture(scope="module")
def whole():
    return reduced()


def test_threads_and_executors_give_the_bits_of_one_thread(whole):
    assert same_sweeps(reduced("threads", workers=3, block=200), whole)
    lock = threading.Lock()  # does not travel, and need not
    with ThreadPoolExecutor(2) as pool:
        assert same_sweeps(reduced(pool), whole)
        assert sf.sweeps.sweep(lambda row: row + bool(lock), 5, engine=pool).rows == 5


def test_processes_give_the_bits_of_one_thread_and_one_may_be_killed(whole, tmp_path):
    mark = tmp_path / "killed"
    draws = {"q": sf.sweeps.draws.configuration(ARM), "v": sf.sweeps.draws.normal(np.zeros(6), 0.5)}

    def torques(q, v, row):
        if 1500 in row and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sf.inverse_dynamics(ARM, q, v, v)

    options = {"seed": 1, "draw": draws, "reduce": ["mean", "extremes"]}
    killed = sf.sweeps.sweep(torques, 3000, engine="processes", workers=2, block=100, **options)
    assert mark.exists()
    assert same_sweeps(killed, sf.sweeps.sweep(torques, 3000, engine="serial", **options))


def cluster():
    distributed = pytest.importorskip("distributed")
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_bits_of_one_thread_and_a_worker_may_be_killed(whole, tmp_path):
    with cluster() as workers, workers.get_client() as client:
        killed = []

        def kill_one(done, rows):
            if not killed:
                killed.append(client.run(os.getpid).popitem()[1])
                os.kill(killed[0], signal.SIGKILL)

        assert same_sweeps(reduced(client, block=100, progress=kill_one), whole)
        assert killed
        # a notebook's function that uses the package, and Dask arrays on the same workers
        work = notebook(
            "def work(row):\n    return sf.gravity_force(arm, 0.001 * row[:, None] * one)"
        )
        found = sf.sweeps.sweep(work, 50, engine=client).arrays()["result"]
        np.testing.assert_array_equal(found, work(np.arange(50)))
        da = pytest.importorskip("dask.array")
        q, v = sf.random_state(ARM, 60, seed=1)
        lazy = sf.forward_dynamics(ARM, da.from_array(q, chunks=20), v, v)
        np.testing.assert_array_equal(
            client.compute(lazy).result(), sf.forward_dynamics(ARM, q, v, v)
        )
        # the command, with the address of the cluster
        study = tmp_path / "study.toml"
        study.write_text(
            'robot = "double_pendulum"\nquantity = "gravity_force"\nrows = 400\n'
            "[draw.q]\nconfiguration = true\n"
        )
        options = ["--engine", "dask", "--address", workers.scheduler_address]
        done = CliRunner().invoke(main, ["sweep", str(study), *options])
        assert done.exit_code == 0 and "400 rows" in done.output, done.output
        assert (tmp_path / "study.html").exists()


def notebook(text):
    """Return the function of a notebook's cell."""
    space = {"__name__": "__main__", "sf": sf, "arm": ARM, "one": np.ones(6)}
    exec(text, space)
    return space["work"]


# -- what does not travel


def controller(extra):
    """Return a rollout with a controller whose closure holds a module and something else."""
    module = np

    def law(t, q, v):
        if extra is None:
            return q
        return -2.0 * module.array(v)

    def work(row):
        q0 = np.tile([0.3, 0.2], (len(row), 1))
        found = sf.rollout(
            sf.load("double_pendulum"), q0, None, dt=1e-3, steps=3, control=law, compiled=False
        )
        return found[0]

    return work


@pytest.mark.parametrize("kind", ["lock", "file"])
def test_a_closure_with_a_lock_or_an_open_file_runs_on_threads_and_is_named_elsewhere(
    kind, tmp_path
):
    with open(tmp_path / "log.txt", "w") as file:
        extra = threading.Lock() if kind == "lock" else file
        work = controller(extra)
        there = sf.sweeps.sweep(work, 4, engine="threads").arrays()["result"]
        assert there.shape == (4, 3, 2)
        with pytest.raises(sf.errors.ArgumentError) as caught:
            sf.sweeps.sweep(work, 4, engine="processes")
    text = str(caught.value)
    assert "'extra' in the closure of 'law'" in text
    assert ("lock" if kind == "lock" else "TextIOWrapper") in text
    assert "inside the function" in text and "engine='threads'" in text


def test_a_closure_with_a_module_and_a_model_travels():
    work = controller(3)
    found = sf.sweeps.sweep(work, 6, engine="processes", workers=1).arrays()["result"]
    np.testing.assert_array_equal(found, work(np.arange(6)))


def test_globals_defaults_and_attributes_that_do_not_travel_are_named():
    lock = threading.Lock()
    work = notebook("def work(row):\n    return guard and row")
    work.__globals__["guard"] = lock
    with pytest.raises(sf.errors.ArgumentError, match=r"the global 'guard' of 'work'"):
        sf.sweeps.sweep(work, 3, engine="processes")

    def default(row, held=lock):
        return row

    with pytest.raises(sf.errors.ArgumentError, match=r"a default of 'default'"):
        sf.sweeps.sweep(default, 3, engine="processes")

    class Holder:
        def __init__(self):
            self.inner = {"key": [lock]}

        def __call__(self, row):
            return row

    with pytest.raises(sf.errors.ArgumentError, match=r"\['key'\]\[0\] cannot go"):
        sf.sweeps.sweep(Holder(), 3, engine="processes")


# -- bad calls


def test_what_the_function_raises_comes_through_with_its_rows():
    def fails(row):
        raise ZeroDivisionError("my own")

    for engine in ("serial", "threads"):
        with pytest.raises(ZeroDivisionError, match="my own") as caught:
            sf.sweeps.sweep(fails, 10, engine=engine)
        assert "of a sweep" in caught.value.__notes__[0]


def numbers(row):
    return row


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"engine": "gpu"}, sf.errors.OptionError, "engine"),
        ({"engine": object()}, sf.errors.OptionError, "engine"),
        ({"engine": "serial", "workers": 2}, sf.errors.NotApplicableError, "workers"),
        ({"workers": 0}, sf.errors.OptionError, "workers"),
        ({"block": 0}, sf.errors.OptionError, "block"),
        ({"block": 1.5}, sf.errors.OptionError, "block"),
        ({"seed": 3}, sf.errors.NotApplicableError, "seed"),
        ({"draw": {}}, sf.errors.OptionError, "draw"),
        ({"draw": {"q": (0, 1)}}, sf.errors.OptionError, "draw"),
        ({"draw": {"q": sf.sweeps.draws.uniform(0, 1)}}, sf.errors.CallbackError, "named"),
        (
            {"draw": {"row": sf.sweeps.draws.uniform(0, 1)}, "seed": -1},
            sf.errors.OptionError,
            "seed",
        ),
        ({"progress": 3}, sf.errors.ArgumentError, "progress"),
        ({"version": 3}, sf.errors.OptionError, "version"),
        ({"write": 3}, sf.errors.SixfoldError, "sweep"),
    ],
)
def test_bad_options_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        sf.sweeps.sweep(numbers, 10, **options)


@pytest.mark.parametrize(
    ("function", "rows", "error"),
    [
        (3, 10, sf.errors.ArgumentError),
        (numbers, 0, sf.errors.OptionError),
        (numbers, "many", sf.errors.ArgumentError),
        (numbers, {}, sf.errors.OptionError),
        (lambda a, b: a, {"a": [1, 2], "b": [1, 2, 3]}, sf.errors.ShapeError),
        (lambda a: a, {"a": "text"}, sf.errors.ShapeError),
        (lambda: 1, 10, sf.errors.NotApplicableError),
        (lambda row: row[1:], 10, sf.errors.CallbackError),
        (lambda row: "text", 10, sf.errors.CallbackError),
        (lambda row: {}, 10, sf.errors.CallbackError),
        (lambda row: 1.0, 10, sf.errors.CallbackError),
    ],
)
def test_bad_functions_and_rows_are_refused(function, rows, error):
    with pytest.raises(error):
        sf.sweeps.sweep(function, rows, engine="serial")


def test_a_grid_holds_all_combinations():
    grid = sf.sweeps.Grid(mass=[1.0, 2.0], gain=[[1, 2], [3, 4], [5, 6]])
    assert len(grid) == 6 and "mass: 2" in repr(grid)

    def work(mass, gain, noise):
        return {"mass": mass, "gain": gain, "noise": noise}

    options = {"draw": {"noise": sf.sweeps.draws.uniform(0.0, 1.0)}, "engine": "serial"}
    found = sf.sweeps.sweep(work, grid, **options).arrays()
    assert found["mass"].tolist() == [1, 1, 1, 2, 2, 2]
    assert found["gain"].tolist() == [[1, 2], [3, 4], [5, 6]] * 2
    assert len(set(found["noise"])) == 6
    for bad in ({}, {"mass": []}, {"mass": 3.0}, {"mass": ["a"]}):
        with pytest.raises(sf.errors.SixfoldError):
            sf.sweeps.Grid(**bad)


def test_rows_can_be_a_table_on_every_engine():
    table = {"x": np.linspace(0, 1, 500), "y": np.arange(1000.0).reshape(500, 2)}

    def work(x, y):
        return x[:, None] + y

    expected = work(**table)
    for engine in ("serial", "threads"):
        np.testing.assert_array_equal(
            sf.sweeps.sweep(work, table, engine=engine, block=30).arrays()["result"], expected
        )


def test_the_bar_tells_the_time_that_is_left(capsys):
    now = [0.0]
    bar = Bar(known=20, stream=sys.stdout, clock=lambda: now[0])
    bar(20, 100)
    now[0] = 10.0
    bar(40, 100)
    now[0] = 4000.0
    bar(60, 100)
    bar(100, 100)
    text = capsys.readouterr().out
    assert "40 %  30 s left" in text and "60 %  1 h 06 min left" in text
    assert text.endswith("1 h 06 min in all\n") or "in all" in text.splitlines()[-1]
    assert all(len(line) < 80 for line in text.split("\r"))
    steps = []
    sf.sweeps.sweep(numbers, 100, engine="serial", block=10, progress=lambda *x: steps.append(x))
    assert steps[-1] == (100, 100) and len(steps) == 10


def test_a_sweep_of_many_processes_of_ones_own_executor():
    with ProcessPoolExecutor(1) as pool:
        found = sf.sweeps.sweep(numbers, 64, engine=pool).arrays()["result"]
    np.testing.assert_array_equal(found, np.arange(64))
