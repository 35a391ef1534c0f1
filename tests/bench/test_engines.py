"""What the benchmark measures with: states, the clock, other engines' ways, errors."""

import numpy as np
import pytest
from benchmarks.bench import clock, robots
from benchmarks.bench.engines import build_peer, mujoco, pinocchio
from benchmarks.bench.engines.engines import FUNCTIONS, draw
from benchmarks.bench.sections import accuracy, chains, threads
from benchmarks.bench.sections.agreement import distance

import sixfold as sf

ROOMS = {"pinocchio": pinocchio, "mujoco": mujoco}


def bushy():
    """A tree numbered breadth first, with slides and skew axes: others number it otherwise."""
    builder = sf.ModelBuilder("bushy", gravity=(1.0, 2.0, -9.0))
    rng = np.random.default_rng(5)
    parents = {"a": None, "b": "a", "c": "a", "d": "b", "e": "c", "f": "b", "g": "e"}
    joints = [sf.Revolute("x"), sf.Prismatic("y"), sf.Revolute((1, 2, 3)), sf.Prismatic((3, 1, -2))]
    for k, (name, parent) in enumerate(parents.items()):
        builder.add_body(
            name,
            parent=parent,
            joint=joints[k % 4],
            placement=sf.Transform.from_rpy(rng.normal(size=3), rng.normal(size=3)),
            inertia=sf.Inertia.from_mass(1.0 + k, rng.normal(size=3), (2.0, 3.0, 4.0)),
        )
    builder.add_frame("tool", "g", (0.0, 0.0, 1.0))
    return builder.build()


# -- states


def test_states_are_repeatable_and_their_forces_produce_their_accelerations():
    model = bushy()
    one, two = draw(model, 5, 7), draw(model, 5, 7)
    assert np.array_equal(one.q, two.q) and np.array_equal(one.t, two.t)
    assert not np.array_equal(one.q, draw(model, 5, 8).q)
    np.testing.assert_allclose(sf.forward_dynamics(model, one.q, one.v, one.t), one.a, rtol=1e-9)
    assert one.first(2).q.shape == (2, 7)


def test_states_for_single_precision_are_single_numbers_in_double_arrays():
    states = draw(bushy(), 5, 0, "float32")
    for x in (states.q, states.v, states.a, states.t):
        assert x.dtype == np.float64
        assert np.array_equal(x, x.astype(np.float32))


# -- the clock


def test_ways_take_turns_and_every_round_is_kept(monkeypatch):
    monkeypatch.setattr(clock, "WINDOW", 0.0)
    order = []
    calls = [lambda: order.append("a"), lambda: order.append("b")]
    times = clock.interleaved(calls, 3)
    assert [len(found) for found in times] == [3, 3]
    # one call each to see how long it takes, then an untimed and a timed one in every round
    assert order == list("ab") + list("aabb") * 3


def test_the_peak_is_a_number_for_each_round():
    peak = clock.fma_peak("float64", 3)
    assert len(peak) == 3 and min(peak) > 0


def test_thread_counts_double_up_to_the_cores(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert threads.counts() == [1, 2, 4]


def test_batches_for_threads_grow_until_they_are_long_enough(monkeypatch):
    monkeypatch.setattr(threads, "ENOUGH", 1e-6)
    monkeypatch.setattr(threads, "counts", lambda: [1])
    # the first measurement finds the batch too short after all
    short, enough = [[1e-7, 2e-7], [1e-8, 1e-8]], [[2e-6, 1e-6], [3e-7, 2e-7]]
    answers = iter([[*each, [4e-6, 5e-6]] for each in (short, enough)])
    monkeypatch.setattr(threads, "interleaved", lambda *_: next(answers))
    robot = robots.Robot("bushy", bushy())
    before = sf.get_threads()
    found = threads.measure(robot, "mass_matrix", draw(robot.model, 3, 0), "float64", 2)
    assert found.rows == 4 * threads.STEP
    assert found.rounds_s == {1: (2e-6, 1e-6)} and found.speedup(1) == 1
    assert found.moving == 2e-7 and found.moving_speedup(1) == 1
    assert found.working_s == {1: (4e-6, 5e-6)} and found.working_speedup(1) == 1
    assert sf.get_threads() == before


def test_batches_for_threads_repeat_the_states_in_order():
    q = np.arange(21.0).reshape(3, 7)
    (long,) = threads._repeated([q], 7)
    assert np.array_equal(long, np.concatenate([q, q, q[:1]]))


# -- the other engines


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ROOMS)
def test_every_way_of_an_engine_gives_our_results_in_our_order(name, function):
    pytest.importorskip(name)
    model = bushy()
    states = draw(model, 6, 0)
    peer = ROOMS[name].build_peer(model)
    assert peer.order != tuple(range(model.nv))
    ways = ROOMS[name].ways(peer, function, states)
    expected = FUNCTIONS[function](model, *states.of(function), backend="numpy")
    for way in ways:
        assert way.engine.startswith(name)
        way.call()
        assert distance(model, function, states, way.values(6), expected) < 1e-13
        np.testing.assert_allclose(way.values(6), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ROOMS)
def test_the_function_of_one_state_is_the_one_that_is_looped(name, function):
    pytest.importorskip(name)
    model = bushy()
    states = draw(model, 1, 1)
    peer = ROOMS[name].build_peer(model)
    call, fixed = ROOMS[name].single(peer, function)
    row = [peer.theirs(x)[0] for x in states.of(function)]
    expected = FUNCTIONS[function](model, *states.of(function))
    np.testing.assert_allclose(
        peer.ours(np.array([call(*fixed, *row)])), expected, rtol=1e-9, atol=1e-9
    )


def test_a_pinocchio_robot_with_our_coordinates_is_taken_as_it_is():
    pytest.importorskip("pinocchio")
    model = bushy()
    robot = pinocchio.build_peer(model).robot
    assert pinocchio.build_peer(model, robot).robot is robot
    # and one with others is not
    assert pinocchio.build_peer(sf.load("tree6"), robot).robot is not robot


@pytest.mark.parametrize("name", ["floating_link", "rolling_ball"])
def test_other_joints_are_not_compared_and_the_note_says_which(name):
    with pytest.raises(sf.errors.NotApplicableError, match="joint '"):
        build_peer.refuse_others(sf.load(name), "Pinocchio")


def test_couplings_are_not_compared():
    builder = sf.ModelBuilder("hand")
    builder.add_body("one", joint=sf.Revolute("z"))
    builder.add_body("two", joint=sf.Revolute("z"), parent="one")
    builder.couple("two_joint", ("one_joint", 1.0))
    with pytest.raises(sf.errors.NotApplicableError, match="couplings"):
        build_peer.refuse_others(builder.build(), "MuJoCo")


def test_robots_are_measured_without_what_joints_do_by_themselves():
    model = sf.load("puma560")
    assert model != robots.bare(model)
    ((robot,), missing) = robots.find(["puma560", "puma560"])
    assert robot.model == robots.bare(model) and missing == []


# -- agreement and errors


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_difference_of_results_is_seen_at_its_size(function):
    model = bushy()
    states = draw(model, 4, 0)
    right = FUNCTIONS[function](model, *states.of(function))
    assert distance(model, function, states, right, right) == 0
    assert 1e-9 < distance(model, function, states, right * (1 + 1e-6), right) < 1e-5
    assert distance(model, function, states, right[:2], right) == np.inf
    assert distance(model, function, states, np.full_like(right, np.nan), right) == np.inf


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_error_in_the_thirteenth_digit_is_measured_as_such(function, monkeypatch):
    pytest.importorskip("gmpy2")
    robot = robots.Robot("bushy", bushy())
    states = draw(robot.model, 4, 0)
    exact = accuracy.measure(robot, function, states, (), "float64", 4)
    assert set(exact.errors) == {"sixfold"} and len(exact.errors["sixfold"]) == 4
    assert 0 < exact.typical("sixfold") <= exact.worst("sixfold") < 4e-15
    assert exact.worst("mujoco") is None
    kernel = sf.compile(FUNCTIONS[function], robot.model)
    off = lambda *arrays: kernel(*arrays) * (1 + 1e-12)  # noqa: E731
    monkeypatch.setattr(accuracy, "compile", lambda *_, **__: off)
    spoiled = accuracy.measure(robot, function, states, (), "float64", 4)
    assert 1e-14 < spoiled.worst("sixfold") < 2e-12


def test_engines_that_disagree_are_left_out_of_the_errors():
    pytest.importorskip("gmpy2")
    pytest.importorskip("pinocchio")
    robot = robots.Robot("bushy", bushy(), pinocchio.build_peer(bushy()))
    states = draw(robot.model, 2, 0)
    for agreed, who in ((("pinocchio loop",), {"sixfold", "pinocchio"}), ((), {"sixfold"})):
        found = accuracy.measure(robot, "mass_matrix", states, agreed, "float64", 2)
        assert set(found.errors) == who


# -- chains


def test_a_chain_has_every_axis_askew_and_can_be_solved():
    model = chains.revolute_chain(3)
    assert model.parent == (-1, 0, 1)
    assert all(min(abs(x) for x in body.joint.axis) > 0 for body in model.bodies)
    assert sf.check(model, 5).agrees


@pytest.mark.parametrize("function", chains.CHAIN_FUNCTIONS)
def test_a_chain_is_measured_beside_pinocchio_where_that_is_installed(function):
    found = chains.measure(10, function, 16, 0, 2)
    assert (found.bodies, found.states, len(found.rounds_ns)) == (10, 16, 2)
    try:
        import pinocchio  # noqa: F401
    except ImportError:
        assert found.pinocchio_ns is None and found.difference is None
    else:
        assert found.difference < 1e-12 and len(found.pinocchio_rounds_ns) == 2


def test_a_chain_on_which_pinocchio_disagrees_gets_no_time_of_it(monkeypatch):
    pytest.importorskip("pinocchio")
    monkeypatch.setattr(chains, "distance", lambda *_: 1e-3)
    found = chains.measure(10, "inverse_dynamics", 16, 0, 2)
    assert found.difference == 1e-3 and found.pinocchio_ns is None


def test_pinocchio_is_not_asked_for_chains_that_fill_the_memory(monkeypatch):
    monkeypatch.setattr(chains, "LONGEST_PEER", 5)
    assert chains.measure(10, "inverse_dynamics", 16, 0, 2).difference is None


def test_robots_are_measured_without_their_constraints():
    builder = sf.ModelBuilder("held").add_body("arm", joint=sf.Revolute("z"))
    model = builder.close("world", "arm", sf.Spherical()).build()
    assert robots.bare(model).constraints == ()
