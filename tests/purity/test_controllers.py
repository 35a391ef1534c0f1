"""Controllers with a memory, a clock or a die: the motion is that of their Python, and they say so.

The next file has laws whose surroundings change between two calls.
"""

import array
import contextlib
import contextvars
import ctypes
import datetime
import functools
import importlib
import itertools
import random
import sys
import threading
import time
import types

import numpy as np
import pytest

import sixfold as sf
from tests.purity.support import PENDULUM, START, Package, agree, as_python, rollout, simulate

STEP = """
    count = 0

    def step():
        global count
        count += 1
        return float(count)
"""
"""A module that counts its calls."""


@pytest.fixture
def package(tmp_path, monkeypatch):
    made = Package(tmp_path, "mypkg", monkeypatch)
    made.write("sub", STEP)
    made.write(
        "laws",
        """
        def relative(t, q, v):
            from .sub import step
            return -0.1 * step() * q

        def relative_module(t, q, v):
            from . import sub
            return -0.1 * sub.step() * q
        """,
    )
    yield made
    made.forget()


# -- imports inside a law


def from_import(t, q, v):
    from mypkg.sub import step

    return -0.1 * step() * q


def whole_import(t, q, v):
    import mypkg.sub

    return -0.1 * mypkg.sub.step() * q


def renamed_import(t, q, v):
    import mypkg.sub as other

    return -0.1 * other.step() * q


def by_importlib(t, q, v):
    return -0.1 * importlib.import_module("mypkg.sub").step() * q


def by_dunder_import(t, q, v):
    return -0.1 * __import__("mypkg.sub").sub.step() * q


def by_sys_modules(t, q, v):
    return -0.1 * sys.modules["mypkg.sub"].step() * q


def import_in_a_helper(t, q, v):
    return -0.1 * helper() * q


def helper():
    from mypkg.sub import step

    return step()


IMPORTS = [
    *(from_import, whole_import, renamed_import, by_importlib, by_dunder_import, by_sys_modules),
    import_in_a_helper,
]


@pytest.mark.parametrize("loaded", [False, True], ids=["first import", "imported before"])
@pytest.mark.parametrize("law", IMPORTS, ids=lambda law: law.__name__)
def test_a_module_imported_inside_a_law_counts_each_call(law, loaded, package):
    if loaded or law is by_sys_modules:
        package.load("sub")
    found = simulate(law, duration=0.2)
    assert found.notes and package.load("sub").count == 801  # four stages a step, and the end
    package.load("sub").count = 0
    agree(found, as_python(law, duration=0.2))


@pytest.mark.parametrize("name", ["relative", "relative_module"])
def test_a_relative_import_inside_a_law_counts_each_call(name, package):
    law = getattr(package.load("laws"), name)
    found = simulate(law)
    package.load("sub").count = 0
    agree(found, as_python(law))
    assert found.notes


# -- counters whose effect comes late, or never


def late_switch():
    calls = []

    def law(t, q, v):
        calls.append(1)
        return -50.0 * q if len(calls) > 60 else -q

    return law


def every_hundredth():
    n = 0

    def law(t, q, v):
        nonlocal n
        n += 1
        return -(1.0 + n // 100) * q

    return law


def deep_list():
    class Box:
        pass

    box = Box()
    box.inner = types.SimpleNamespace(table={"seen": [[0.0]]})

    def law(t, q, v):
        box.inner.table["seen"][0][0] += 1.0
        return -box.inner.table["seen"][0][0] * q

    return law


def latched_start():
    class Law:
        start = None

        def __call__(self, t, q, v):
            if self.start is None:
                self.start = q.copy()
            return -20.0 * (q - self.start)

    return Law()


def emptied_list():
    left = [float(k) for k in range(500)]
    return lambda t, q, v: -left.pop() * q


def toggled():
    state = {"on": False}

    def law(t, q, v):
        state["on"] = not state["on"]
        return -5.0 * q if state["on"] else q

    return law


def zero_dimensional_array():
    count = np.zeros(())

    def law(t, q, v):
        count[...] += 1.0
        return -float(count) * q

    return law


def ctypes_counter():
    count = ctypes.c_double(0.0)

    def law(t, q, v):
        count.value += 1.0
        return -count.value * q

    return law


def array_counter():
    count = array.array("d", [0.0])

    def law(t, q, v):
        count[0] += 1.0
        return -count[0] * q

    return law


def bytes_counter():
    count = bytearray(1)

    def law(t, q, v):
        count[0] = (count[0] + 1) % 200
        return -count[0] * q

    return law


def context_variable():
    count = contextvars.ContextVar("count", default=0)

    def law(t, q, v):
        count.set(count.get() + 1)
        return -(count.get() % 7) * q

    contextvars.copy_context()
    count.set(0)
    return law


def thread_local():
    local = threading.local()
    local.n = 0

    def law(t, q, v):
        local.n += 1
        return -local.n * q

    return law


def iterator_of_a_cycle():
    gains = itertools.cycle([1.0, 2.0, 3.0])
    return lambda t, q, v: -next(gains) * q


def cached_gain():
    class Law:
        @functools.cached_property
        def gain(self):
            return 3.0

        def __call__(self, t, q, v):
            return -self.gain * q

    return Law()


def memory_view():
    count = np.zeros(1)
    view = memoryview(count)

    def law(t, q, v):
        view[0] = view[0] + 1.0
        return -count[0] * q

    return law


def array_of_a_class_of_its_own():
    class Own(np.ndarray):
        pass

    count = np.zeros(1).view(Own)

    def law(t, q, v):
        count[0] += 1.0
        return -float(count[0]) * q

    return law


def cell_of_another_function():
    n = 0

    def bump():
        nonlocal n
        n += 1

    def law(t, q, v):
        bump()
        return -n * q

    return law


def class_rebound():
    class Gain:
        value = 0.0

    def law(t, q, v):
        Gain.value = Gain.value + 1.0
        return -Gain.value * q

    return law


def swallowed_comparison():
    def law(t, q, v):
        try:
            if q[0] < 0.9999:
                return -50.0 * q
        except TypeError:
            pass
        return -q

    return law


def swallowed_conversion():
    def law(t, q, v):
        try:
            k = 10.0 * float(t)
        except Exception:
            k = 1.0
        return -(1.0 + k) * q

    return law


def by_type_and_value():
    def law(t, q, v):
        if isinstance(t, float) and t > 0.01:
            return -50.0 * q
        return -q

    return law


def by_printed_value():
    def law(t, q, v):
        return -50.0 * q if f"{t}".startswith("0.01") else -q

    return law


def by_array_kind():
    return lambda t, q, v: -q * (1.0 if q.dtype.kind == "O" else 7.0)


MEMORIES = [
    *(late_switch, every_hundredth, deep_list, latched_start, emptied_list, toggled),
    *(zero_dimensional_array, ctypes_counter, array_counter, bytes_counter, context_variable),
    *(thread_local, iterator_of_a_cycle, memory_view, array_of_a_class_of_its_own),
    *(
        cell_of_another_function,
        class_rebound,
        swallowed_comparison,
        swallowed_conversion,
        by_type_and_value,
    ),
    *(by_printed_value, by_array_kind, cached_gain),
]


@pytest.mark.parametrize("make", MEMORIES, ids=lambda make: make.__name__)
def test_a_law_with_a_memory_moves_as_its_python(make):
    expected = as_python(make(), duration=0.05)
    found = simulate(make(), duration=0.05)
    agree(found, expected)
    assert found.notes[0].startswith("control runs as Python")


@pytest.mark.parametrize("make", MEMORIES, ids=lambda make: make.__name__)
def test_a_law_with_a_memory_rolls_out_as_its_python(make):
    expected = rollout(make(), backend="numpy")
    with pytest.warns(sf.errors.PythonCallbackWarning):
        found = rollout(make())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_law_that_notes_its_calls_is_called_in_each_step():
    calls = []

    def law(t, q, v):
        calls.append(t)
        return -q

    found = simulate(law, hold=True)
    assert len(calls) == len(found.t) and all(isinstance(t, float) for t in calls)


# -- clocks and dice


CHANGING = {
    "time": lambda t, q, v: -(time.time() % 1.0) * q,
    "whole seconds": lambda t, q, v: -(int(time.time()) % 7) * q,
    "date": lambda t, q, v: -datetime.datetime.now().hour * q,
    "day": lambda t, q, v: -datetime.date.today().day * q,
    "monotonic": lambda t, q, v, now=time.monotonic_ns: -(now() % 5) * q,
    "random": lambda t, q, v: -random.random() * q,
    "gauss": lambda t, q, v, draw=random.gauss: -draw(0, 1) * q,
    "own generator": lambda t, q, v, rng=random.Random(1): -rng.random() * q,  # noqa: B008
    "numpy": lambda t, q, v: -np.random.uniform() * q,
    "numpy state": lambda t, q, v, rng=np.random.RandomState(1): -rng.rand() * q,  # noqa: B008
    "address": lambda t, q, v: -(id(object()) % 3) * q,
}


@pytest.mark.parametrize("name", CHANGING)
def test_clocks_and_dice_are_not_frozen(name):
    assert "control runs as Python" in simulate(CHANGING[name], 0.003).notes[0]
    with pytest.warns(sf.errors.PythonCallbackWarning):
        rollout(CHANGING[name], steps=2)


def test_a_seeded_generator_gives_the_numbers_of_a_python_loop():
    found = simulate(noisy(7), hold=True)
    agree(found, as_python(noisy(7), hold=True))
    rng = np.random.default_rng(7)
    np.testing.assert_array_equal(found.tau[:, 0], [rng.normal(size=2)[0] for _ in found.t])


def noisy(seed):
    rng = np.random.default_rng(seed)
    return lambda t, q, v: rng.normal(size=2)


def test_the_state_of_the_global_generators_is_left_alone():
    np.random.seed(3)
    random.seed(3)
    expected = np.random.get_state()[1].tolist(), random.getstate()
    simulate(lambda t, q, v: -q)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == expected


# -- laws inside laws, and other functions of a run


def counting():
    seen = []

    def law(t, q, v):
        seen.append(1)
        return -0.1 * len(seen) * q

    return law


WRAPPED = {
    "saturated": lambda: sf.control.saturate(PENDULUM, counting()),
    "filtered": lambda: sf.control.filtered_velocity(PENDULUM, counting(), 50.0, START),
    "observer": lambda: sf.control.disturbance_observer(PENDULUM, counting(), 10.0),
    "partial": lambda: functools.partial(lambda law, t, q, v: law(t, q, v), counting()),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_law_with_a_memory_inside_one_of_the_library_moves_as_its_python(name):
    found = simulate(WRAPPED[name]())
    agree(found, as_python(WRAPPED[name]()))
    assert found.notes


def test_a_reference_with_a_memory_inside_computed_torque_moves_as_its_python():
    def make():
        seen = []

        def reference(t):
            seen.append(1)
            return np.array([0.001 * len(seen), 0.0]), np.zeros(2), np.zeros(2)

        return sf.control.computed_torque(PENDULUM, reference, 100.0, 20.0)

    found = simulate(make())
    agree(found, as_python(make()))
    assert found.notes


def test_an_event_that_switches_a_gain_on_and_off_is_seen():
    def motion(run):
        contact = {"gain": 1.0}

        def law(t, q, v):
            return -contact["gain"] * q

        def switch(t, q, v):
            contact["gain"] = 40.0 if 0.005 < t < 0.012 else 1.0
            return 1.0

        return run(law, events=switch)

    found = motion(simulate)
    agree(found, motion(as_python))
    assert found.notes and found.tau[8, 0] == -40.0 * found.q[8, 0]


def test_an_event_with_a_memory_of_its_own_is_followed():
    def motion(run):
        seen = []

        def third(t, q, v):
            seen.append(t)
            return q[0] - 0.9999 if len(seen) > 5 else 1.0

        return run(lambda t, q, v: -20.0 * q, events=sf.Event(third, stop=True))

    found, expected = motion(simulate), motion(as_python)
    assert found.events[0].t == pytest.approx(expected.events[0].t, abs=1e-12)
    assert found.notes == ()


def test_a_reset_that_changes_what_the_controller_reads_is_seen():
    def motion(run):
        gains = np.array([1.0, 1.0])

        def stiffen(t, q, v):
            gains[:] = 80.0
            return q, 0.5 * v

        bounce = sf.Event(lambda t, q, v: q[0] - 0.9995, reset=stiffen)
        return run(lambda t, q, v: -gains * q, events=bounce)

    found = motion(simulate)
    agree(found, motion(as_python))
    assert found.events and found.tau[-1, 0] == pytest.approx(-80.0 * found.q[-1, 0])


def test_an_external_force_and_a_controller_that_share_a_counter_run_as_python():
    def motion(run):
        seen = []

        def push(t, q, v):
            seen.append(1)
            return np.zeros((2, 6))

        return run(lambda t, q, v: -0.1 * len(seen) * q, f_ext=push)

    found = motion(simulate)
    agree(found, motion(as_python))
    assert len(found.notes) == 2


# -- what hides in exceptions, and in modules that the law does not own


def swallowed_by_numpy():
    def law(t, q, v):
        try:  # NumPy's own error: no comparison of a symbol is seen
            near = np.allclose(q, START, atol=1e-2)
        except TypeError:
            near = False
        return -50.0 * q if near else -q

    return law


def suppressed():
    def law(t, q, v):
        gain = 1.0
        with contextlib.suppress(TypeError):
            gain = 50.0 if np.isfinite(v).all() and np.linalg.norm(v) < 0.05 else 1.0
        return -gain * q

    return law


def returned_in_finally():
    def law(t, q, v):
        tau = -q
        try:
            tau = -50.0 * q if np.isclose(t, 0.01, atol=2e-3) else tau
        finally:
            return tau  # noqa: B012

    return law


def new_attribute_of_a_module():
    vars(types).pop("sixfold_calls", None)

    def law(t, q, v):
        types.sixfold_calls = getattr(types, "sixfold_calls", 0) + 1
        return -0.5 * types.sixfold_calls * q

    return law


@pytest.mark.parametrize(
    "make", [swallowed_by_numpy, suppressed, returned_in_finally, new_attribute_of_a_module]
)
def test_a_law_that_hides_what_it_does_moves_as_its_python(make):
    expected = as_python(make())
    found = simulate(make())
    agree(found, expected)
    assert found.notes[0].startswith("control runs as Python")
    with pytest.warns(sf.errors.PythonCallbackWarning):
        rolled = rollout(make())
    np.testing.assert_allclose(rolled, rollout(make(), backend="numpy"), rtol=0, atol=1e-12)
    vars(types).pop("sixfold_calls", None)


@pytest.mark.parametrize("tracer", [None, lambda *_: None])
def test_a_law_with_a_handler_that_symbols_do_not_need_is_compiled(tracer):
    table = {}

    def law(t, q, v):
        try:
            gain = table["gain"]
        except KeyError:
            gain = 3.0
        with np.errstate(all="ignore"):
            return -gain * q * sum(x for x in (0.5, 0.5))

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        found = simulate(law)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert found.notes == ()
    agree(found, as_python(law))
