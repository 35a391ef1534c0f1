"""The section on contact: both engines start and end alike before they are timed."""

import pytest
from benchmarks.bench import tables
from benchmarks.bench.sections import contact

pytest.importorskip("mujoco.rollout")


def test_a_quadruped_ends_where_mujocos_does_and_is_timed_beside_it():
    stance = next(iter(contact.stances()))
    found = contact.measure(stance, seed=0, rounds=1)
    assert (found.points, found.freedoms) == (4, 18)
    assert found.difference is not None and found.difference < contact.ALIKE
    assert found.ratio is not None and found.ratio > 1.0
    assert "a1" in tables.contact_table([found])
