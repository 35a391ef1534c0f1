"""The section on regressors.  How fast anything is, is not tested."""

import pytest
from benchmarks.bench import tables
from benchmarks.bench.sections import regressors

import sixfold as sf


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560").without(damping=True, friction=True, armature=True)


def test_a_robot_beside_pinocchio(arm):
    pytest.importorskip("pinocchio")
    found = regressors.measure("arm", arm, seed=0, rounds=2)
    assert found.difference < 1e-14
    assert (found.nv, found.nb, found.base) == (6, 6, 36)
    assert found.flops == sf.compile(sf.regressor, arm).flops
    for rounds in (found.rounds_ns, found.sparse_rounds_ns, found.base_rounds_ns):
        assert len(rounds) == 2 and found.ratio(rounds) is not None
    header, row = tables.regressors_table([found]).splitlines()[1:]
    assert header.split()[:2] == ["robot", "operations"] and len(header) <= 80
    assert row.split()[:2] == ["arm", str(found.flops)] and row.endswith("x")


def test_another_answer_of_pinocchio_is_told_and_not_timed(arm, monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(regressors, "PARAMETERS", tuple(range(10)))
    found = regressors.measure("arm", arm, seed=0, rounds=1)
    assert found.difference > 1e-3 and found.peer_ns is None


def test_without_pinocchio_our_own_figures_are_left(arm, monkeypatch):
    monkeypatch.setattr(regressors, "installed", lambda _: False)
    found = regressors.measure("arm", arm, seed=0, rounds=1)
    assert found.difference is None and found.peer_ns is None and found.ns > 0
