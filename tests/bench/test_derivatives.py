"""The section on derivatives.  How fast anything is, is not tested."""

import pytest
from benchmarks.bench import tables
from benchmarks.bench.sections import derivatives

import sixfold as sf


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560").without(damping=True, friction=True, armature=True)


@pytest.mark.parametrize("function", ["inverse", "forward"])
def test_a_robot_beside_pinocchio(arm, function):
    pytest.importorskip("pinocchio")
    found = derivatives.measure("arm", arm, function, batch=64, seed=0, rounds=2)
    assert found.difference < 1e-12
    assert found.nv == 6
    for rounds in (found.rounds_ns, found.sparse_rounds_ns, found.single_rounds_ns):
        assert len(rounds) == 2 and min(rounds) > 0
    assert found.single_share == min(found.single_rounds_ns) / min(found.peer_rounds_ns)
    *_, header, row = tables.derivatives_table([found]).splitlines()
    assert header.split()[-1] == "single" and len(header) <= 80
    assert row.split()[:2] == ["arm", function]
    assert row.split()[-1] == f"{found.single_share:.2f}"


def test_without_pinocchio_our_own_figures_are_left(arm, monkeypatch):
    monkeypatch.setattr(derivatives, "installed", lambda _: False)
    found = derivatives.measure("arm", arm, "inverse", batch=16, seed=0, rounds=1)
    assert found.difference is None and found.peer_ns is None
    assert found.single_share is None and found.ns > 0
    assert "-" in tables.derivatives_table([found])
