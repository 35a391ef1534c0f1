"""Scenes of many free bodies: what a step costs to compile, and what is refused."""

import time

import numpy as np
import pytest

import sixfold as sf
from sixfold.contact import ContactPair, ContactPoint, Ground
from sixfold.errors import TooLargeError
from sixfold.quantities.contact import eliminate
from sixfold.simulation.contact.scene import scene_of

RADIUS = 0.1


def balls(count: int) -> sf.Model:
    """Return free balls in a row, half a metre apart."""
    builder = sf.ModelBuilder("balls")
    solid = sf.Inertia.from_mass(1.0, rotational=(4e-3, 4e-3, 4e-3))
    for i in range(count):
        builder.add_body(f"ball{i}", joint=sf.Free(), inertia=solid)
    return builder.build()


def ground(count: int, pairs: int = 0) -> Ground:
    """Return ground that all balls may touch; the first of them may touch their neighbours."""
    points = [ContactPoint(f"ball{i}", radius=RADIUS) for i in range(count)]
    return Ground(points=points, pairs=[ContactPair(*points[i : i + 2]) for i in range(pairs)])


def starts(count: int) -> np.ndarray:
    """Return the balls above the ground, each a little higher than the one before."""
    q0 = np.zeros((count, 7))
    q0[:, 0], q0[:, 2], q0[:, 6] = 0.5 * np.arange(count), RADIUS + 1e-3 * np.arange(count), 1.0
    return q0


def test_many_free_balls_move_like_single_ones():
    # more columns than one function of a kernel moves, and a block of rows that is not full
    count, rows, how = 24, 9, {"dt": 1e-3, "steps": 20}
    q0 = starts(count)
    batch = np.tile(q0.reshape(-1), (rows, 1))
    together, _ = sf.rollout(balls(count), batch, None, contacts=ground(count), **how)
    alone, _ = sf.rollout(balls(1), q0, None, contacts=ground(1), **how)
    assert (together == together[0]).all()
    np.testing.assert_allclose(together[0].reshape(20, count, 7).swapaxes(0, 1), alone, atol=1e-9)


def test_a_scene_of_553_bodies_is_refused_within_a_minute_with_a_way_out():
    model, began = balls(553), time.process_time()
    with pytest.raises(TooLargeError, match="553 bodies with 3318 degrees") as error:
        sf.rollout(model, None, None, dt=1e-3, steps=10, contacts=ground(553))
    assert time.process_time() - began < 60
    assert "as rows of a batch" in str(error.value) and "backend='numpy'" in str(error.value)


@pytest.mark.parametrize("count", [20, 40])
def test_the_cost_of_free_bodies_grows_with_their_number(count):
    cost = eliminate(balls(count), scene_of("test", balls(count), ground(count))).cost
    assert cost == pytest.approx(count * sum(n + n * n / 40 for n in range(1, 7)))


def test_pairs_couple_only_the_bodies_of_a_chain():
    model = balls(8)
    found = eliminate(model, scene_of("test", model, ground(8, pairs=3)))
    # bodies 0 to 3 couple in a chain, the others stay alone
    assert found.counts[12:24] == [n for _ in range(2) for n in range(7, 13)]
    assert found.counts[24:] == [n for _ in range(4) for n in range(1, 7)]
    assert [found.parents[k] for k in (6, 24, 30)] == [5, -1, -1]


def test_balls_that_touch_part():
    count = 3
    q0 = starts(count)
    q0[:, 0], q0[:, 2] = (0.0, 0.19, 0.38), 5.0
    q, _ = sf.rollout(balls(3), q0.reshape(-1), None, dt=1e-3, steps=50, contacts=ground(3, 2))
    x = q[-1].reshape(3, 7)[:, 0]
    assert np.diff(x).min() > 0.195 and abs(x.mean() - 0.19) < 1e-9
