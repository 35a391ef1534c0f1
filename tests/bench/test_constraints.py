"""The section on closed loops.  How fast anything is, is not tested."""

import numpy as np
import pytest
from benchmarks.bench import tables
from benchmarks.bench.sections import constraints

import sixfold as sf


@pytest.fixture
def leg():
    return constraints.sample("four_bar_leg")


def test_a_robot_beside_pinocchio(leg):
    pytest.importorskip("pinocchio")
    found = constraints.measure("leg", *leg, batch=32, seed=0, rounds=2)
    assert found.difference < 1e-11
    assert (found.nv, found.rows) == (14, 3)
    assert found.flops == sf.compile(sf.loops.constrained_dynamics, leg[0]).flops
    assert len(found.rounds_ns) == len(found.peer_rounds_ns) == 2
    header, row = tables.constraints_table([found]).splitlines()[-2:]
    assert header.split()[:3] == ["robot", "freedoms,", "rows"]
    assert row.split()[:3] == ["leg", "14,", "3"] and row.endswith("x")


def test_another_answer_of_pinocchio_is_told_and_not_timed(leg, monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(constraints._Peer, "distance", lambda *_: 0.1)
    found = constraints.measure("leg", *leg, batch=32, seed=0, rounds=1)
    assert found.difference == 0.1 and found.ratio is None
    assert tables.constraints_table([found]).splitlines()[-1].endswith("-")


def test_without_pinocchio_our_own_figures_are_left(leg, monkeypatch):
    monkeypatch.setattr(constraints, "installed", lambda _: False)
    found = constraints.measure("leg", *leg, batch=32, seed=0, rounds=1)
    assert found.difference is None and found.peer_ns is None and found.ns > 0


def test_frames_are_held_where_they_are(leg):
    model, q = leg
    q = sf.integrate(model, q, np.full(model.nv, 0.1))
    held = constraints.held(model, q, ["sole"], sf.Fixed())
    np.testing.assert_allclose(sf.loops.constraint_gaps(held, q), 0.0, atol=1e-14)
