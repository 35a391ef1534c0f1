"""Constraints as data: what the builder takes and refuses, and what edits do to them."""

import pickle

import numpy as np
import pytest

import sixfold as sf
from tests.constraints.mechanisms import four_bar, rod

HINGE = sf.Revolute("z")


def started():
    """Return a builder with two hinged rods."""
    builder = sf.ModelBuilder("m")
    builder.add_body("a", joint=HINGE, inertia=rod(1.0, 1.0))
    builder.add_body("b", parent="a", joint=HINGE, placement=(1, 0, 0), inertia=rod(1.0, 1.0))
    return builder.add_frame("tip", "b", (1.0, 0.0, 0.0))


BAD = {
    "no joint": lambda b: b.close("a", "b", "hinge"),
    "forbids nothing": lambda b: b.close("a", "b", sf.Free()),
    "same body": lambda b: b.close("b", "tip", HINGE).build(),
    "unknown body": lambda b: b.close("a", "nose", HINGE).build(),
    "name twice": lambda b: b.close("world", "b", HINGE).close("world", "b", HINGE),
    "rod of no length": lambda b: b.add_rod("world", "b", 0.0),
    "rod of negative length": lambda b: b.add_rod("world", "b", -1.0),
    "point of two numbers": lambda b: b.add_rod("world", "b", 1.0, (0.0, 0.0)),
    "gear without leaders": lambda b: b.add_gear("a_joint"),
    "gear on itself": lambda b: b.add_gear("a_joint", ("a_joint", 1.0)),
    "gear of nine powers": lambda b: b.add_gear("a_joint", ("b_joint", (1.0,) * 9)),
    "gear of unknown joint": lambda b: b.add_gear("a_joint", ("nose", 1.0)).build(),
    "gear of a ball joint": lambda b: (
        b.add_body("c", joint=sf.Spherical()).add_gear("a_joint", ("c_joint", 1.0)).build()
    ),
    "wheel without size": lambda b: b.add_rolling("b", 0.0),
    "square wheel": lambda b: b.add_rolling("b", 1.0, shape="square"),
    "wheel without axis": lambda b: b.add_rolling("b", 1.0, axis=(0, 0, 0)),
}


@pytest.mark.parametrize("name", BAD)
def test_constraints_that_make_no_sense_are_refused_with_the_way_out(name):
    with pytest.raises(sf.errors.SixfoldError) as caught:
        BAD[name](started())
    assert "fix: " in str(caught.value) or "did you mean" in str(caught.value)


def test_frames_carry_constraints_as_their_bodies_do():
    q = np.array([0.3, 0.4])
    by_frame = started().close("world", "tip", sf.Spherical(), (1.5, 0.5, 0)).build()
    by_body = started().close("world", "b", sf.Spherical(), (1.5, 0.5, 0), (1, 0, 0)).build()
    for function in (sf.loops.constraint_gaps, sf.loops.constraint_jacobian):
        one, two = (function(model, q, backend="numpy") for model in (by_frame, by_body))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-15)


def test_rows_are_named_and_counted():
    model = started().add_gear("b_joint", ("a_joint", -2.0)).close("world", "tip", HINGE).build()
    assert model.nc == 6 == len(model.constraint_rows) == len(set(model.constraint_rows))
    assert model.without(constraints=True).nc == 0


def test_models_that_differ_in_a_constraint_differ_in_their_digest():
    models = [four_bar(1.0, 0.5, 1.2, long, (1, 1, 1)) for long in (0.9, 0.9, 0.91)]
    assert models[0].digest == models[1].digest != models[2].digest
    rods = [started().add_rod("world", "tip", long).build() for long in (1.0, 1.1)]
    assert rods[0].digest != rods[1].digest
    again = pickle.loads(pickle.dumps(models[0]))
    assert again == models[0] and again.constraints == models[0].constraints


def test_locking_a_joint_keeps_the_loop_where_it_was():
    full = four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    q = np.array([0.3, 0.7, 1.1])
    held = sf.lock_joints(full, {"coupler_joint": 0.7})
    assert held.nv == 2 and held.nc == 5
    got = sf.loops.constraint_gaps(held, q[[0, 2]], backend="numpy")
    want = sf.loops.constraint_gaps(full, q, backend="numpy")
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-15)


def test_locking_a_leader_moves_the_gears_offset():
    builder = started().add_body("c", joint=HINGE, inertia=rod(1.0, 1.0))
    full = builder.add_gear(
        "c_joint", ("a_joint", (2.0, 0.5)), ("b_joint", 3.0), offset=0.1
    ).build()
    held = sf.lock_joints(full, {"a_joint": 0.4})
    got = sf.loops.constraint_gaps(held, [0.2, 0.7], backend="numpy")
    assert got == pytest.approx([0.7 - 0.1 - 2.0 * 0.4 - 0.5 * 0.16 - 3.0 * 0.2], abs=1e-15)
    with pytest.raises(sf.errors.ModelError, match="gears a joint that would be locked"):
        sf.lock_joints(full, {"c_joint": 0.0})


@pytest.mark.parametrize(
    "call",
    [
        lambda m, q, z: sf.forward_dynamics(m, q, z, z, method="aba"),
        lambda m, q, z: sf.derivatives.forward_dynamics_second_derivatives(m, q, z, z, z),
        lambda m, q, z: sf.control.linearize(m, q, z, z, dt=0.01),
        lambda m, q, z: sf.save(m, "loop.urdf"),
    ],
)
def test_what_knows_of_trees_only_says_so(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    with pytest.raises(sf.errors.NotApplicableError, match="four-bar"):
        call(model, np.array([0.3, 0.7, 1.1]), np.zeros(3))
