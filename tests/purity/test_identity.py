"""Costs, rewards, joints, exported and compiled functions: known by what they do."""

import functools
import importlib
import itertools
import os
import time

import numpy as np
import pytest

import sixfold as sf
from tests.purity.support import PENDULUM, Package

START = [1.0, 0.5], [0.0, 0.0]
HEIGHT = 1.0


def gradient(**options):
    return sf.rollout_gradient(PENDULUM, *START, dt=1e-3, steps=5, **options)


def counter():
    seen = []

    def count():
        seen.append(1)
        return float(len(seen))

    return count


IMPURE = {
    "list": counter,
    "iterator": lambda: functools.partial(next, itertools.count(1)),
    "clock": lambda: time.perf_counter,
    "die": lambda: np.random.random,
    "generator": lambda: np.random.default_rng(0).random,
}


@pytest.mark.parametrize("name", IMPURE)
def test_costs_and_rewards_that_are_not_pure_are_refused(name):
    noise = IMPURE[name]()
    with pytest.raises(sf.errors.CallbackError, match=r"cost.* cannot be compiled"):
        gradient(cost=lambda t, q, v, tau: noise() * (q @ q))
    with pytest.raises(sf.errors.CallbackError, match=r"final_cost.* cannot be compiled"):
        gradient(final_cost=lambda q, v: noise() * (q @ q))
    with pytest.raises(sf.errors.CallbackError, match="cannot be compiled"):
        sf.control.optimal_control(
            PENDULUM, *START, dt=1e-2, steps=3, cost=lambda t, q, v, tau: noise() + tau @ tau
        )
    functions = {
        "reward": lambda t, q, v, action: noise() * q[0],
        "observe": lambda t, q, v: noise() * q,
        "terminate": lambda t, q, v: noise() - q[0],
    }
    for key, function in functions.items():
        with pytest.raises(sf.errors.CallbackError, match=f"{key}.* cannot be compiled"):
            sf.Stepper(PENDULUM, dt=1e-3, **{key: function})
    with pytest.raises(sf.errors.CallbackError, match=r"control.* cannot be compiled"):
        sf.Stepper(PENDULUM, dt=1e-3, actions=1, control=lambda t, q, v, a: noise() * q)


def test_a_cost_whose_weight_has_changed_is_another_cost():
    weight = [1.0]
    cost = lambda t, q, v, tau: weight[0] * (q @ q)  # noqa: E731
    first = gradient(cost=cost)
    weight[0] = 3.0
    second = gradient(cost=cost)
    np.testing.assert_allclose(second.cost, 3.0 * first.cost, rtol=1e-12)
    np.testing.assert_allclose(second.q0, 3.0 * first.q0, rtol=1e-12)


def test_an_optimal_control_problem_with_a_changed_target_is_another_problem():
    target = np.array([0.5, 0.0])
    options = {"dt": 2e-2, "steps": 10, "final_cost": lambda q, v: (q - target) @ (q - target)}
    options["cost"] = lambda t, q, v, tau: 1e-3 * (tau @ tau)
    first = sf.control.optimal_control(PENDULUM, *START, **options)
    target[0] = 2.0
    second = sf.control.optimal_control(PENDULUM, *START, **options)
    assert second.q[-1, 0] > first.q[-1, 0] + 0.01


def test_a_stepper_reads_its_functions_once_and_says_where_that_matters():
    gain = [1.0]
    robots = sf.Stepper(PENDULUM, dt=1e-3, reward=lambda t, q, v, action: gain[0] * q[0])
    robots.reset(*START)
    before = float(robots.step(np.zeros(2))[0])
    gain[0] = 100.0
    robots.reset(*START)
    assert float(robots.step(np.zeros(2))[0]) == before
    with pytest.raises(sf.errors.CallbackError, match="what it reads has changed since"):
        robots.returns(np.zeros((2, 3, 2)))
    gain[0] = 1.0
    assert robots.returns(np.zeros((2, 3, 2))).shape == (2,)


# -- joints


@pytest.fixture
def package(tmp_path, monkeypatch):
    made = Package(tmp_path, "wires", monkeypatch)
    made.write("mod", "height = 1.0\n\ndef bend():\n    return height\n")
    yield made
    made.forget()


def wire(transform):
    builder = sf.ModelBuilder("wire")
    inertia = sf.Inertia.from_mass(2.0)
    return builder.add_body("bead", joint=sf.CustomJoint(transform), inertia=inertia).build()


def parabola(q, height):
    return sf.Transform.translation((q[0], 0.0, 0.5 * height * q[0] * q[0]))


def by_module(monkeypatch, package):
    import wires.mod

    change = lambda: setattr(wires.mod, "height", 2.0)  # noqa: E731
    return lambda q: parabola(q, wires.mod.height), change


def by_inner_import(monkeypatch, package):
    def transform(q):
        from wires.mod import height

        return parabola(q, height)

    return transform, lambda: setattr(package.load("mod"), "height", 2.0)


def by_reload(monkeypatch, package):
    module = package.load("mod")

    def change():
        package.write("mod", "height = 2.0\n\ndef bend():\n    return 1.0 * height\n")
        importlib.reload(module)

    return lambda q: parabola(q, module.bend()), change


def by_patch(monkeypatch, package):
    module = package.load("mod")
    return lambda q: parabola(q, module.bend()), lambda: setattr(module, "bend", lambda: 2.0)


def by_list(monkeypatch, package):
    heights = [1.0]
    return lambda q: parabola(q, heights[0]), lambda: heights.__setitem__(0, 2.0)


def by_global(monkeypatch, package):
    change = lambda: monkeypatch.setitem(globals(), "HEIGHT", 2.0)  # noqa: E731
    return lambda q: parabola(q, HEIGHT), change


def by_environment(monkeypatch, package):
    monkeypatch.setenv("SIXFOLD_TEST_HEIGHT", "1.0")
    change = lambda: monkeypatch.setenv("SIXFOLD_TEST_HEIGHT", "2.0")  # noqa: E731
    return lambda q: parabola(q, float(os.environ["SIXFOLD_TEST_HEIGHT"])), change


JOINTS = [by_module, by_inner_import, by_reload, by_patch, by_list, by_global, by_environment]


@pytest.mark.parametrize("make", JOINTS, ids=lambda make: make.__name__)
def test_a_joint_whose_function_has_changed_is_another_joint(make, monkeypatch, package):
    transform, change = make(monkeypatch, package)
    first, q = wire(transform), np.array([1.0])
    assert sf.mass_matrix(first, q) == 4.0
    change()
    second = wire(transform)
    assert first != second
    assert sf.mass_matrix(second, q) == sf.mass_matrix(second, q, backend="numpy") == 10.0
    # the first model keeps what was compiled, and does not mix it with what it would compute now
    assert sf.mass_matrix(first, q) == 4.0
    for call in (
        lambda: sf.gravity_force(first, q),
        lambda: sf.mass_matrix(first, q, backend="numpy"),
        lambda: sf.rollout(first, q, q, dt=1e-3, steps=1),
        lambda: sf.simulate(first, q, q, 0.01),
    ):
        with pytest.raises(sf.errors.ModelError, match="build the model again"):
            call()


@pytest.mark.parametrize("name", IMPURE)
def test_a_joint_that_is_not_pure_is_refused_when_the_model_is_built(name):
    noise = IMPURE[name]()
    with pytest.raises(sf.errors.ModelError, match="a second call with the same arguments"):
        wire(lambda q: parabola(q, noise()))


# -- exported and compiled functions


def gravity_force(model, q):
    return 42.0 * q


@functools.wraps(sf.gravity_force)
def wrapped(model, q):
    return 42.0 * q


@pytest.mark.parametrize("function", [gravity_force, wrapped, lambda model, q: q, sf.simulate, 3])
def test_only_the_library_s_own_functions_are_exported(function):
    with pytest.raises(sf.errors.ArgumentError, match="one of sixfold's functions"):
        sf.export(PENDULUM, function)
    assert sf.export(PENDULUM, sf.gravity_force).files == sf.export(PENDULUM, "gravity_force").files


def test_a_patched_name_of_the_library_is_not_exported_as_the_library_s(monkeypatch):
    monkeypatch.setattr(sf, "gravity_force", gravity_force)
    with pytest.raises(sf.errors.ArgumentError, match="one of sixfold's functions"):
        sf.export(PENDULUM, sf.gravity_force)


def test_a_function_with_the_name_of_a_quantity_is_compiled_as_what_it_is():
    q = np.array([0.3, 0.4])
    for function in (gravity_force, wrapped):
        np.testing.assert_array_equal(sf.compile(function, PENDULUM)(q), 42.0 * q)
        with pytest.raises(sf.errors.NotApplicableError, match="a choice of form"):
            sf.compile(function, PENDULUM, form="unrolled")


def test_a_function_with_the_name_of_a_quantity_is_handed_over_as_what_it_is():
    from sixfold.runtime import array_function

    for function in (gravity_force, wrapped):
        core = array_function("test", function, PENDULUM, None)
        np.testing.assert_array_equal(core.kernel("float64")(np.array([0.3, 0.4])), [12.6, 16.8])


@pytest.mark.parametrize("name", IMPURE)
def test_a_function_that_is_not_pure_is_not_compiled(name):
    noise = IMPURE[name]()
    with pytest.raises(sf.errors.CallbackError, match="something else at the second call"):
        sf.compile(lambda q: noise() * q, PENDULUM)


def test_a_compiled_function_keeps_what_it_read_when_it_was_compiled():
    k = [2.0]
    kernel = sf.compile(lambda q: k[0] * q, PENDULUM)
    k[0] = 5.0
    np.testing.assert_array_equal(kernel(np.array([1.0, 2.0])), [2.0, 4.0])
