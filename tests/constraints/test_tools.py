"""Assemble loops, count mobility, drive mechanisms; what cannot be done is said."""

import numpy as np
import pytest

import sixfold as sf
from tests.constraints.mechanisms import bricard, four_bar, rod, slider_crank


@pytest.fixture(scope="module")
def linkage():
    return four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))


def moving(model, q, speed):
    """Return velocities of a closed loop with one freedom."""
    _, _, Vt = np.linalg.svd(sf.loops.constraint_jacobian(model, q))
    return speed * Vt[-1] / Vt[-1][0]


# -- assemble


def test_assemble_closes_a_batch_of_rough_guesses_and_holds_what_it_should(linkage):
    crank = np.linspace(-3.0, 3.0, 12).reshape(3, 4)
    guess = np.stack([crank, 0.6 - crank, np.full_like(crank, 1.4)], axis=-1)
    q = sf.loops.assemble(linkage, guess, hold=["crank_joint"])
    assert q.shape == (3, 4, 3)
    np.testing.assert_array_equal(q[..., 0], crank)
    assert np.abs(sf.loops.constraint_gaps(linkage, q)).max() < 1e-11
    np.testing.assert_array_equal(
        sf.loops.assemble(linkage, guess[1, 2], hold=["crank_joint"]), q[1, 2]
    )


def test_assemble_leaves_what_is_closed_and_starts_from_neutral(linkage):
    q = sf.loops.assemble(linkage)
    assert np.abs(sf.loops.constraint_gaps(linkage, q)).max() < 1e-11
    np.testing.assert_allclose(sf.loops.assemble(linkage, q), q, rtol=0, atol=1e-11)


def test_assemble_leaves_a_dead_centre():
    """All in line at the start: no joint moves the gap, and a guess beside it is needed."""
    builder = sf.ModelBuilder("m").add_body("arm", joint=sf.Revolute("z"), inertia=rod(1.0, 1.0))
    model = builder.add_rod("world", "arm", 1.5, (2.0, 0, 0), (1.0, 0, 0)).build()
    assert not sf.loops.constraint_jacobian(model, [0.0]).any()
    q = sf.loops.assemble(model, [0.0])
    assert abs(np.hypot(2 - np.cos(q[0]), np.sin(q[0])) - 1.5) < 1e-11


def test_a_loop_that_cannot_close_says_which_and_how_far(linkage):
    long = four_bar(3.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    with pytest.raises(
        sf.errors.StateError, match=r"(?s)assemble: constraint 'coupler-rocker.* is left"
    ):
        sf.loops.assemble(long)
    with pytest.raises(sf.errors.StateError, match="in row 1"):
        sf.loops.assemble(
            linkage, [sf.loops.assemble(linkage), [0.0, np.pi, 0.0]], hold=linkage.joint_names[:2]
        )


@pytest.mark.parametrize(
    ("hold", "error"),
    [
        ("crank_joint", sf.errors.ArgumentError),
        (["nose"], sf.errors.UnknownNameError),
        (3, sf.errors.ArgumentError),
    ],
)
def test_bad_names_to_hold_are_refused(linkage, hold, error):
    with pytest.raises(error):
        sf.loops.assemble(linkage, hold=hold)


@pytest.mark.parametrize("function", [sf.loops.assemble, sf.loops.mobility])
def test_trees_have_nothing_to_close(function):
    with pytest.raises(sf.errors.NotApplicableError, match="no constraints but its joints"):
        function(sf.load("double_pendulum"))


# -- mobility


def slider(joint):
    builder = sf.ModelBuilder("m").add_body("a", joint=sf.Free(), inertia=rod(1.0, 1.0))
    return builder.close("world", "a", joint).build()


@pytest.mark.parametrize(
    ("model", "mobility", "redundant"),
    [
        (four_bar(1.0, 0.5, 1.2, 0.9, (1, 1, 1)), 1, 3),
        (slider_crank(), 1, 3),
        (bricard(), 1, 1),
        (slider(sf.Spherical()), 3, 0),
        (slider(sf.Cylindrical("x")), 2, 0),
        (slider(sf.Fixed()), 0, 0),
    ],
)
def test_mobility_is_that_of_the_mechanism_not_of_the_count(model, mobility, redundant):
    start = {"bricard": np.full(5, np.pi / 2), "slider-crank": [0.5, -0.7, 0.6]}.get(model.name)
    found = sf.loops.mobility(model, start)
    assert (found.mobility, found.redundant) == (mobility, redundant)
    assert f"mobility {mobility}" in str(found)


def test_mobility_is_for_one_configuration(linkage):
    with pytest.raises(sf.errors.NotApplicableError, match="batch"):
        sf.loops.mobility(linkage, [[1.0, -0.7, 1.1]] * 2)


# -- motors


def test_motors_undo_constrained_dynamics(linkage):
    q = sf.loops.assemble(linkage, [[1.0, -0.7, 1.1], [2.0, -1.0, 1.5]], hold=["crank_joint"])
    v = np.array([moving(linkage, x, 3.0) for x in q])
    tau = np.array([[0.7, 0, 0], [-2.0, 0, 0]])
    push = np.random.default_rng(1).normal(size=(2, 3, 6))
    a, forces = sf.loops.constrained_dynamics(linkage, q, v, tau, push)
    found, reaction = sf.loops.actuator_forces(linkage, q, v, a, push, actuated=["crank_joint"])
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-10)
    J = sf.loops.constraint_jacobian(linkage, q)
    for one, f, g in zip(J, reaction, forces, strict=True):
        np.testing.assert_allclose(one.T @ f, one.T @ g, rtol=0, atol=1e-10)
    # another motor gives the same power
    other, _ = sf.loops.actuator_forces(linkage, q, v, a, push, actuated=["rocker_joint"])
    assert not other[:, :2].any()
    np.testing.assert_allclose((other * v).sum(-1), (tau * v).sum(-1), rtol=0, atol=1e-9)


def test_motions_that_tear_loops_or_need_other_motors_are_refused(linkage):
    q = sf.loops.assemble(linkage, [1.0, -0.7, 1.1])
    rest = np.zeros(3)
    with pytest.raises(sf.errors.StateError, match="J a \\+ gamma = 0"):
        sf.loops.actuator_forces(linkage, q, rest, [1.0, 0, 0], actuated=["crank_joint"])
    weld = slider(sf.Cylindrical("x"))
    at = np.array([0, 0, 0, 0, 0, 0, 1.0])
    two = sf.ModelBuilder("two", gravity=(0, -9.81, 0))
    for name in "ab":
        two.add_body(name, joint=sf.Revolute("z"), inertia=rod(1.0, 1.0))
    two.add_body("c", joint=sf.Revolute("z"), inertia=rod(1.0, 1.0)).add_gear(
        "b_joint", ("a_joint", 1)
    )
    with pytest.raises(sf.errors.StateError, match="forces left over"):
        sf.loops.actuator_forces(two.build(), rest, rest, rest, actuated=["a_joint"])
    with pytest.raises(sf.errors.ArgumentError):
        sf.loops.actuator_forces(weld, at, np.zeros(6), np.zeros(6), actuated="a_joint")
    with pytest.raises(sf.errors.StateError, match="finite"):
        sf.loops.actuator_forces(linkage, q * np.nan, rest, rest, actuated=["crank_joint"])
    with pytest.raises(sf.errors.NotApplicableError):
        sf.loops.actuator_forces(sf.load("pendulum"), [0.0], [0.0], [0.0], actuated=["hinge"])


# -- in time


def test_projection_and_baumgarte_keep_a_loop_that_drifts_without(linkage):
    q = sf.loops.assemble(linkage, [1.0, -0.7, 1.1], hold=["crank_joint"])
    gap = {}
    for stabilize in (0, 20.0, "project", None):
        options = {} if stabilize is None else {"stabilize": stabilize}
        run = sf.simulate(linkage, q, None, 4.0, dt=4e-3, every=20, **options)
        gap[stabilize] = np.abs(sf.loops.constraint_gaps(linkage, run.q, backend="numpy")).max()
    assert gap[0] > 10 * gap[20.0] > 1e3 * gap["project"]
    assert gap["project"] == gap[None] < 1e-13


def test_a_rollout_takes_the_steps_of_simulate(linkage):
    q = sf.loops.assemble(linkage, [1.0, -0.7, 1.1])
    run = sf.simulate(linkage, q, None, 0.1, dt=1e-3)
    found = sf.rollout(linkage, q, None, dt=1e-3, steps=100, integrator="rk4", compensated=True)
    np.testing.assert_array_equal(found[0], run.q[1:])
    np.testing.assert_array_equal(found[1], run.v[1:])


def test_starts_that_gape_are_refused_with_the_way_out(linkage):
    q = sf.loops.assemble(linkage, [1.0, -0.7, 1.1])
    with pytest.raises(
        sf.errors.StateError, match=r"(?s)'q0', constraint 'coupler-rocker.*assemble"
    ):
        sf.simulate(linkage, q + 0.1, None, 0.1)
    with pytest.raises(sf.errors.StateError, match=r"(?s)'v0', constraint .*project"):
        sf.simulate(linkage, q, [1.0, 0, 0], 0.1)
    with pytest.raises(sf.errors.NotApplicableError, match="stabilize"):
        sf.simulate(sf.load("pendulum"), None, None, 0.1, stabilize="project")
    for bad in ("baumgarte", -1.0, True, np.nan):
        with pytest.raises(sf.errors.OptionError, match="stabilize"):
            sf.simulate(linkage, q, None, 0.1, stabilize=bad)


def test_the_gradient_of_a_rollout_goes_through_the_loops(linkage):
    """Against differences of the rollout, projected as by default, in one number of each kind."""
    q = sf.loops.assemble(linkage, [1.0, -0.7, 1.1])
    tau = np.tile([0.3, 0.1, -0.2], (10, 1))
    options = {"dt": 0.01, "steps": 10}

    def cost(tau):
        _, v = sf.rollout(linkage, q, None, tau, **options)
        return (v[-1] ** 2).sum()

    found = sf.rollout_gradient(linkage, q, None, tau, final_cost=lambda q, v: v @ v, **options)
    assert found.cost == pytest.approx(cost(tau), rel=1e-13)
    for k, j in ((0, 0), (4, 1), (9, 2)):
        ends = [tau.copy(), tau.copy()]
        ends[0][k, j] += 1e-4
        ends[1][k, j] -= 1e-4
        slope = (cost(ends[0]) - cost(ends[1])) / 2e-4
        assert found.tau[k, j] == pytest.approx(slope, rel=1e-6)
