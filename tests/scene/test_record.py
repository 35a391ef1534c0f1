"""Motions from trajectories, logs and plain arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.display.scene.record import record

T = np.linspace(0.0, 2.0, 41)


@pytest.fixture(scope="module")
def link():
    return sf.load("floating_link")


@pytest.fixture(scope="module")
def spinning(link):
    """Return a motion at constant body velocity."""
    v = np.array([0.4, -1.0, 0.7, 0.3, 0.1, -0.2, 1.5])
    q = np.stack([sf.integrate(link, sf.neutral(link), v, t) for t in T])
    return q, v


def test_objects_mappings_and_arrays_say_the_same(link, spinning):
    q, v = spinning
    rows = np.tile(v, (len(T), 1))
    for source in (SimpleNamespace(t=T, q=q, v=rows), {"t": T, "q": q, "v": rows}):
        found = record("test", link, source)
        assert np.array_equal(found.q[0], q)
        assert np.array_equal(found.given["v"], rows)
    assert np.array_equal(record("test", link, q, T).t, T)
    assert record("test", link, q).t[60 % 41] == pytest.approx((60 % 41) / 60)


def test_a_simulated_trajectory_is_taken_as_it_is():
    model = sf.load("double_pendulum")
    trajectory = sf.simulate(model, [0.3, 0.2], None, 0.1)
    found = record("test", model, trajectory)
    assert np.array_equal(found.given["total"], trajectory.total)
    assert found.settings["integrator"] == "rk4"


def test_between_rows_a_motion_follows_its_joints(link, spinning):
    q, v = spinning
    found = record("test", link, q, T)
    for time in (0.013, 0.5, 1.999):
        exact = sf.integrate(link, sf.neutral(link), v, time)
        assert sf.difference(link, found.positions(time)[0], exact) == pytest.approx(0.0, abs=1e-12)
        assert found.velocity(time) == pytest.approx(v)
        assert found.acceleration(time) == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(found.positions(-5.0)[0], q[0])
    assert np.array_equal(found.positions(99.0)[0], q[-1])


def test_of_a_batch_the_first_motion_leads(link, spinning):
    q, v = spinning
    batch = np.stack([q, q[::-1], q])
    found = record("test", link, {"q": batch, "t": T, "v": np.zeros((3, len(T), link.nv)) + v})
    assert found.q.shape == (3, len(T), link.nq)
    assert found.given["v"].shape == (len(T), link.nv)
    deeper = record("test", link, batch.reshape(3, 1, len(T), link.nq))
    assert deeper.q.shape == (3, len(T), link.nq)


def test_chosen_rows_hold_both_ends(link, spinning):
    found = record("test", link, spinning[0], T)
    assert list(found.rows(3)) == [0, 20, 40]
    assert len(found.rows(10**6)) == len(T)


@pytest.mark.parametrize("name", ["v", "a", "tau"])
def test_a_number_that_is_not_finite_is_placed(link, spinning, name):
    rows = np.zeros((len(T), link.nv))
    rows[7, 3] = np.inf
    with pytest.raises(sf.errors.StateError, match=rf"'{name}' is not finite at \(7, 3\)"):
        record("test", link, {"q": spinning[0], "t": T, name: rows})


def test_energies_need_one_number_a_row(link, spinning):
    with pytest.raises(sf.errors.ShapeError, match="kinetic"):
        record("test", link, {"q": spinning[0], "t": T, "kinetic": np.zeros(3)})


def test_words_and_pictures_are_no_motion(link):
    for source in ("walk", None, object()):
        with pytest.raises(sf.errors.NumberError, match="'q' does not hold numbers"):
            record("test", link, source)
