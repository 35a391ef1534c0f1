"""What a law reads is changed between two calls: each call reads it at its start."""

import importlib
import os
from dataclasses import dataclass

import numpy as np
import pytest

import sixfold as sf
from tests.purity.support import PENDULUM, Package, agree, as_python, rollout, simulate

GAIN = 1.0
TABLE = {"k": 1.0}


@pytest.fixture
def package(tmp_path, monkeypatch):
    made = Package(tmp_path, "gains", monkeypatch)
    made.write("mod", "K = 1.0\n\ndef gain():\n    return 1.0\n")
    yield made
    made.forget()


class Spring:
    k = 1.0

    def __init__(self):
        self.own = 1.0

    def gain(self):
        return self.own * self.k

    def __call__(self, t, q, v):
        return -self.gain() * q


@dataclass(frozen=True)
class Loud(sf.control.pd(PENDULUM, [0.0, 0.0], 1.0, 1.0).__class__):
    def __call__(self, t, q, v):
        return -TABLE["k"] * q


def captured_array(monkeypatch, package):
    k = np.array([1.0, 1.0])
    return lambda t, q, v: -k * q, lambda: k.__setitem__(0, 30.0)


def captured_dict(monkeypatch, package):
    k = {"k": 1.0}
    return lambda t, q, v: -k["k"] * q, lambda: k.update(k=30.0)


def captured_cell(monkeypatch, package):
    k = 1.0

    def change():
        nonlocal k
        k = 30.0

    return lambda t, q, v: -k * q, change


def global_number(monkeypatch, package):
    change = lambda: monkeypatch.setitem(globals(), "GAIN", 30.0)  # noqa: E731
    return lambda t, q, v: -GAIN * q, change


def module_constant(monkeypatch, package):
    import gains.mod

    return lambda t, q, v: -gains.mod.K * q, lambda: setattr(gains.mod, "K", 30.0)


def inner_import(monkeypatch, package):
    def law(t, q, v):
        from gains.mod import K

        return -K * q

    return law, lambda: setattr(package.load("mod"), "K", 30.0)


def patched_function(monkeypatch, package):
    module = package.load("mod")
    return lambda t, q, v: -module.gain() * q, lambda: setattr(module, "gain", lambda: 30.0)


def reloaded_module(monkeypatch, package):
    module = package.load("mod")

    def change():
        package.write("mod", "K = 30.0\n\ndef gain():\n    return 3.0e1\n")
        importlib.reload(module)

    return lambda t, q, v: -module.gain() * q, change


def environment(monkeypatch, package):
    monkeypatch.setenv("SIXFOLD_TEST_GAIN", "1.0")
    change = lambda: monkeypatch.setenv("SIXFOLD_TEST_GAIN", "30.0")  # noqa: E731
    return lambda t, q, v: -float(os.environ["SIXFOLD_TEST_GAIN"]) * q, change


def getenv(monkeypatch, package):
    monkeypatch.setenv("SIXFOLD_TEST_GAIN", "1.0")
    change = lambda: monkeypatch.setenv("SIXFOLD_TEST_GAIN", "30.0")  # noqa: E731
    return lambda t, q, v: -float(os.getenv("SIXFOLD_TEST_GAIN")) * q, change


def attribute(monkeypatch, package):
    law = Spring()
    return law, lambda: setattr(law, "own", 30.0)


def class_attribute(monkeypatch, package):
    return Spring(), lambda: monkeypatch.setattr(Spring, "k", 30.0)


def patched_method(monkeypatch, package):
    return Spring(), lambda: monkeypatch.setattr(Spring, "gain", lambda self: 30.0)


def patched_call(monkeypatch, package):
    new = lambda self, t, q, v: -30.0 * q  # noqa: E731
    return Spring(), lambda: monkeypatch.setattr(Spring, "__call__", new)


def default_list(monkeypatch, package):
    def law(t, q, v, k=[1.0]):  # noqa: B006
        return -k[0] * q

    return law, lambda: law.__defaults__[0].__setitem__(0, 30.0)


def defaults(monkeypatch, package):
    def law(t, q, v, k=1.0):
        return -k * q

    return law, lambda: setattr(law, "__defaults__", (30.0,))


def code(monkeypatch, package):
    def law(t, q, v):
        return -q

    return law, lambda: setattr(law, "__code__", (lambda t, q, v: -30.0 * q).__code__)


def subclass_of_a_library_law(monkeypatch, package):
    law = Loud(PENDULUM, (0.0, 0.0), (1.0, 1.0), (1.0, 1.0))
    return law, lambda: monkeypatch.setitem(TABLE, "k", 30.0)


def library_law(monkeypatch, package):
    law = sf.control.pd(PENDULUM, [0.0, 0.0], 1.0, 1.0)
    return law, lambda: object.__setattr__(law, "kp", (30.0, 30.0))


def patched_library_law(monkeypatch, package):
    law = sf.control.pd(PENDULUM, [0.0, 0.0], 1.0, 1.0)
    new = lambda self, t, q, v: -30.0 * q  # noqa: E731
    return law, lambda: monkeypatch.setattr(type(law), "__call__", new)


def law_inside_a_library_law(monkeypatch, package):
    k = [1.0]
    inner = lambda t, q, v: -k[0] * q  # noqa: E731
    return sf.control.saturate(PENDULUM, inner), lambda: k.__setitem__(0, 30.0)


def by_computed_name(monkeypatch, package):
    module = package.load("mod")
    return lambda t, q, v: -getattr(module, "k".upper()) * q, lambda: setattr(module, "K", 30.0)


CHANGES = [
    *(captured_array, captured_dict, captured_cell, global_number, module_constant, inner_import),
    *(patched_function, reloaded_module, environment, getenv, attribute, class_attribute),
    *(patched_method, patched_call, default_list, defaults, code, subclass_of_a_library_law),
    *(library_law, patched_library_law, law_inside_a_library_law, by_computed_name),
]


@pytest.mark.filterwarnings("ignore::sixfold.errors.PythonCallbackWarning")
@pytest.mark.parametrize("make", CHANGES, ids=lambda make: make.__name__)
def test_a_change_between_two_calls_is_seen(make, monkeypatch, package):
    law, change = make(monkeypatch, package)
    first, rolled = simulate(law), rollout(law)
    agree(first, as_python(law))
    change()
    second, again = simulate(law), rollout(law)
    agree(second, as_python(law))
    np.testing.assert_allclose(again, rollout(law, backend="numpy"), rtol=0, atol=1e-12)
    assert np.abs(second.q - first.q).max() > 1e-4
    assert np.abs(again - rolled).max() > 1e-4


def test_a_law_that_has_not_changed_is_not_compiled_again():
    k = np.array([1.0, 2.0])
    law = lambda t, q, v: -k * q  # noqa: E731
    simulate(law)
    from sixfold.runtime import KERNELS

    before = len(KERNELS)
    simulate(law)
    simulate(lambda t, q, v: -k * q)  # another function that does the same
    assert len(KERNELS) == before


def test_the_height_of_the_ground_is_read_at_the_start_of_each_call():
    box = sf.ModelBuilder("box")
    box.add_body("box", joint=sf.Free(), inertia=sf.Inertia.from_mass(1.0, (0, 0, 0), (1, 1, 1)))
    level, robot = [-5.0], box.build()
    points = [sf.contact.ContactPoint("box", radius=0.1)]
    ground = sf.contact.Ground(height=lambda x, y: level[0] + 0.0 * x, points=points)
    start = sf.neutral(robot)
    options = {"dt": 1e-3, "steps": 30, "contacts": ground}
    falls, _ = sf.rollout(robot, start, np.zeros(robot.nv), **options)
    level[0] = 0.0
    stands, _ = sf.rollout(robot, start, np.zeros(robot.nv), **options)
    assert np.abs(falls[-1] - stands[-1]).max() > 1e-3


def test_a_height_with_random_numbers_is_refused():
    quadruped = sf.load("a1")
    ground = sf.contact.Ground(height=lambda x, y: 0.01 * np.random.random() + 0.0 * x)
    with pytest.raises(sf.errors.CallbackError, match="something else at the second call"):
        sf.rollout(quadruped, None, None, dt=1e-3, steps=1, contacts=ground)
