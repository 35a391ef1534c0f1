"""Trajectories: slices, other times, files and tables."""

import csv
import sys

import numpy as np
import pytest

import sixfold as sf
from tests.simulation.support import flyer

MODEL = flyer()


@pytest.fixture(scope="module")
def batch():
    q, v = sf.random_state(MODEL, (2, 3), seed=1)
    return sf.simulate(MODEL, q, v, 0.2, dt=2e-3, integrator="lie_rk4")


@pytest.fixture(scope="module")
def single():
    q, v = sf.random_state(MODEL, seed=2)
    law = sf.control.gravity_compensation(MODEL)
    events = lambda t, q, v: t - 0.05  # noqa: E731
    return sf.simulate(MODEL, q, v, 0.2, dt=2e-3, integrator="lie_rk4", control=law, events=events)


def same(a, b):
    for name in ("t", "q", "v", "a", "tau", "kinetic", "potential"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert (a.integrator, a.dt, a.steps, a.notes) == (b.integrator, b.dt, b.steps, b.notes)
    assert a.model == b.model


def test_arrays_cannot_be_changed(single):
    with pytest.raises(ValueError, match="read-only"):
        single.q[0, 0] = 3.0
    with pytest.raises(AttributeError):
        single.t = None


def test_a_slice_takes_samples(batch):
    part = batch[10:50:2]
    assert len(part) == 20 and part.q.shape == (2, 3, 20, MODEL.nq)
    np.testing.assert_array_equal(part.t, batch.t[10:50:2])
    np.testing.assert_array_equal(part.total, batch.total[..., 10:50:2])
    last = batch[-1]
    assert last.t.tolist() == [batch.t[-1]] and last.q.shape == (2, 3, 1, MODEL.nq)
    with pytest.raises(sf.errors.SampleError, match="there are 101 samples"):
        batch[1000]
    with pytest.raises(IndexError):  # which ends a loop over the samples
        batch[-1000]
    with pytest.raises(sf.errors.NumberError, match="select"):
        batch["q"]


def test_a_start_is_selected(batch):
    one = batch.select(1, 2)
    np.testing.assert_array_equal(one.q, batch.q[1, 2])
    assert one.lead == () and batch.select(0).lead == (3,)
    assert batch.select(slice(None), 1).lead == (2,)
    for wrong in ((5,), (0, 0, 0)):
        with pytest.raises(sf.errors.NumberError, match="leading shape"):
            batch.select(*wrong)


def test_other_times_are_met_to_fourth_order(batch):
    finer = sf.simulate(
        MODEL, batch.q[..., 0, :], batch.v[..., 0, :], 0.2, dt=1e-3, integrator="lie_rk4"
    )
    again = batch.at(finer.t)
    np.testing.assert_allclose(again.q, finer.q, atol=1e-8)
    np.testing.assert_allclose(again.v, finer.v, atol=1e-6)
    assert np.abs(np.linalg.norm(again.q[..., 3:7], axis=-1) - 1).max() < 1e-15
    coarse = batch[::4].at(finer.t)
    ratio = np.abs(coarse.q - finer.q).max() / np.abs(again.q - finer.q).max()
    assert ratio > 4**3  # what curves of third order would gain


def test_samples_are_met_exactly(single):
    again = single.at(single.t[[0, 7, -1]])
    np.testing.assert_allclose(again.q, single.q[[0, 7, -1]], atol=1e-15)
    np.testing.assert_array_equal(again.tau, single.tau[[0, 7, -1]])


def test_a_quaternion_may_change_sign_between_samples(single):
    from dataclasses import replace

    q = single.q.copy()
    q[1::2, 3:7] *= -1
    flipped = replace(single, q=q)
    times = np.linspace(0.01, 0.19, 77)
    poses = [sf.body_poses(MODEL, x.at(times).q) for x in (single, flipped)]
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-14)


def test_resampling_is_even(single):
    again = single.resample(0.03)
    np.testing.assert_allclose(again.t, np.arange(7) * 0.03)
    np.testing.assert_allclose(again.total, again.kinetic + again.potential)
    for wrong in (0, -1, np.nan, "fast"):
        with pytest.raises(sf.errors.OptionError, match="dt"):
            single.resample(wrong)


def test_times_outside_are_refused(single):
    with pytest.raises(sf.errors.StateError, match=r"times from 0 to 0\.2 s"):
        single.at([0.1, 0.3])
    with pytest.raises(sf.errors.StateError):
        single.at([np.nan])
    with pytest.raises(sf.errors.ShapeError):
        single.at(0.1)


@pytest.mark.parametrize("which", ["single", "batch"])
def test_what_is_saved_loads_bit_for_bit(which, request, tmp_path):
    made = request.getfixturevalue(which)
    made.save(tmp_path / "run.npz")
    again = sf.Trajectory.load(tmp_path / "run.npz")
    same(made, again)
    assert [event.t for event in again.events] == [event.t for event in made.events]
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_files_hold_no_pickles(single, tmp_path):
    single.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as stored:
        kinds = {stored[name].dtype.kind for name in stored.files}
    assert kinds == {"f", "u"}


def test_joints_of_the_users_own_need_the_model_beside_the_file(tmp_path):
    ball = sf.load("rolling_ball")
    made = sf.simulate(ball, [0.0], [1.0], 0.01)
    made.save(tmp_path / "ball.npz")
    with pytest.raises(sf.errors.TrajectoryFileError, match="pass model="):
        sf.Trajectory.load(tmp_path / "ball.npz")
    same(made, sf.Trajectory.load(tmp_path / "ball.npz", ball))


def test_another_model_is_refused(single, tmp_path):
    single.save(tmp_path / "run.npz")
    with pytest.raises(sf.errors.TrajectoryFileError, match="another model, 'flyer'"):
        sf.Trajectory.load(tmp_path / "run.npz", sf.load("pendulum"))


def test_files_that_hold_no_trajectory_are_named(single, tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "objects.npz", about=np.array([{}], dtype=object))
    single.save(tmp_path / "good.npz")
    whole = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with np.load(tmp_path / "good.npz") as stored:
        parts = dict(stored)
    np.savez(tmp_path / "short.npz", **{**parts, "q": parts["q"][:3]})
    np.savez(tmp_path / "less.npz", **{k: x for k, x in parts.items() if k != "tau"})
    np.savez(tmp_path / "text2.npz", **{**parts, "about": np.frombuffer(b"[1", np.uint8)})
    names = (
        "text.npz other.npz array.npy objects.npz cut.npz short.npz less.npz text2.npz missing.npz"
    )
    for name in names.split():
        with pytest.raises(sf.errors.TrajectoryFileError, match=r"fix: ") as caught:
            sf.Trajectory.load(tmp_path / name)
        assert name in str(caught.value)
    with pytest.raises(sf.errors.TrajectoryFileError):
        sf.Trajectory.load(tmp_path)


def test_a_folder_that_is_not_there_is_named(single, tmp_path):
    with pytest.raises(sf.errors.OutputFileError, match="cannot be written"):
        single.save(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(sf.errors.ArgumentError, match="'path'"):
        single.save(3)


def test_a_table_has_a_row_for_each_start_and_sample(batch, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="tables are written by pyarrow")
    batch.to_parquet(tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.num_rows == 6 * len(batch)
    names = table.column_names
    assert names[:3] == ["start", "t", "q[trunk_joint.x]"] and names[-1] == "total"
    assert "tau[lower_joint]" in names
    column = table["v[lower_joint]"].to_numpy().reshape(2, 3, -1)
    np.testing.assert_array_equal(column, batch.v[..., -1])


def test_a_dataset_has_labelled_axes(batch, single):
    pytest.importorskip("xarray", reason="datasets are xarray's")
    data = batch.to_xarray()
    assert data["q"].dims == ("start", "start1", "time", "q_coordinate")
    assert float(data["v"].sel(v_coordinate="lower_joint")[1, 2, -1]) == batch.v[1, 2, -1, -1]
    assert data.attrs["integrator"] == "lie_rk4"
    assert single.to_xarray()["total"].dims == ("time",)


@pytest.mark.parametrize(("method", "name"), [("to_parquet", "pyarrow"), ("to_xarray", "xarray")])
def test_a_missing_library_is_named(single, monkeypatch, tmp_path, method, name):
    monkeypatch.setitem(sys.modules, name, None)
    arguments = (tmp_path / "x",) if method == "to_parquet" else ()
    with pytest.raises(sf.errors.NotApplicableError, match=f"pip install {name}"):
        getattr(single, method)(*arguments)


def test_the_summary_is_short(single, batch):
    text = repr(single)
    assert text.startswith("<motion of 'flyer': 0 to 0.2 s, 101 samples, lie_rk4 with dt = 0.002 s")
    assert "largest change" in text and "event '<lambda>' at t = 0.05 s" in text
    assert "6 starts (2, 3)" in repr(batch)
    assert len(text.splitlines()) < 8


def test_a_file_has_the_format_of_its_suffix(batch, tmp_path):
    batch.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as stream:
        names, *rows = list(csv.reader(stream))
    assert names[:3] == ["start", "t", "q[trunk_joint.x]"] and names[-1] == "total"
    table = np.array(rows, float)
    assert table.shape == (6 * len(batch), len(names))
    np.testing.assert_array_equal(table[:, 2], batch.q[..., 0].ravel())
    np.testing.assert_array_equal(table[:, -1], batch.total.ravel())
    batch.save(tmp_path / "RUN.NPZ")
    assert (tmp_path / "RUN.NPZ").read_bytes()[:2] == b"PK"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["RUN.NPZ", "run.csv"]


def test_a_suffix_without_a_format_is_refused_with_those_there_are(single, tmp_path):
    for name in ("run.txt", "run", "run.npz.gz", "run.json"):
        with pytest.raises(sf.errors.TrajectoryFileError, match=r"\*\.npz, \*\.csv, \*\.parquet"):
            single.save(tmp_path / name)
        with pytest.raises(sf.errors.TrajectoryFileError, match=r"give an \.npz file"):
            sf.Trajectory.load(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_table_is_not_taken_for_a_motion(single, tmp_path):
    single.save(tmp_path / "run.csv")
    with pytest.raises(
        sf.errors.TrajectoryFileError, match=r"is a table.*\n  fix: save .* as \.npz"
    ):
        sf.Trajectory.load(tmp_path / "run.csv")


@pytest.mark.parametrize(
    "changes",
    [{"q": np.zeros((3, 1))}, {"t": "abc"}, {"tau": [[1.0], [1.0, 2.0]]}, {"kinetic": 0.0}],
)
def test_a_motion_made_by_hand_has_arrays_that_fit(single, changes):
    from dataclasses import replace

    with pytest.raises((sf.errors.ShapeError, sf.errors.NumberError), match="Trajectory: argument"):
        replace(single, **changes)
