"""Controllers that hide a memory: each moves as its Python does, compiled or not.

A controller is compiled only if it is shown to remember nothing.  Each case here is run twice, by
default and with compiled=False, from the same memory; both motions must be the same.
"""

import collections
import functools
import io
import itertools
import math
import random
import threading
import time
import types
import weakref
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation.purity import reach_of

PENDULUM = sf.load("double_pendulum")
COUNT = 0
SEEN = []
GAINS = {"k": 3.0}
STIFFNESS = np.array([20.0, 10.0])
OFFSET = types.SimpleNamespace(value=0.5)


def run(control, duration=0.02, **changes):
    return sf.simulate(PENDULUM, [1.0, 0.5], None, duration, control=control, hold=True, **changes)


# -- controllers with a hidden memory; each maker gives a fresh one


def mutable_default():
    def law(t, q, v, memory=[0.0]):  # noqa: B006
        memory[0] = memory[0] + 1.0
        return -memory[0] * q

    return law


def keyword_default():
    def law(t, q, v, *, memory={"n": 0}):  # noqa: B006
        memory["n"] += 1
        return -memory["n"] * q

    return law


def default_array():
    def law(t, q, v, memory=np.zeros(2)):  # noqa: B008
        memory += 1.0
        return -memory[0] * q

    return law


def class_attribute():
    class Law:
        count = 0

        def __call__(self, t, q, v):
            Law.count += 1
            return -float(Law.count) * q

    return Law()


def class_list():
    class Law:
        seen = []  # noqa: RUF012

        def __call__(self, t, q, v):
            self.seen.append(1.0)
            return -sum(self.seen) * q

    return Law()


def attribute():
    class Law:
        def __init__(self):
            self.count = 0.0

        def __call__(self, t, q, v):
            self.count = self.count + 1.0
            return -self.count * q

    return Law()


def attribute_by_setattr():
    class Law:
        count = 0.0

        def __call__(self, t, q, v):
            setattr(self, "count", self.count + 1.0)  # noqa: B010
            return -self.count * q

    return Law()


def attribute_by_dict():
    class Law:
        def __init__(self):
            self.count = 0.0

        def __call__(self, t, q, v):
            self.__dict__["count"] += 1.0
            return -self.count * q

    return Law()


def bound_method():
    return attribute().__call__


def slots():
    class Law:
        __slots__ = ("memory",)

        def __init__(self):
            self.memory = [0.0]

        def __call__(self, t, q, v):
            self.memory[0] += 1.0
            return -self.memory[0] * q

    return Law()


def frozen_dataclass_with_a_list():
    @dataclass(frozen=True)
    class Law:
        memory: list = field(default_factory=list)

        def __call__(self, t, q, v):
            self.memory.append(1.0)
            return -len(self.memory) * q

    return Law()


def inherited_method():
    class Base:
        memory = collections.Counter()  # noqa: RUF012

        def gain(self):
            self.memory["n"] += 1
            return self.memory["n"]

    class Law(Base):
        def __call__(self, t, q, v):
            return -super().gain() * q

    return Law()


def property_that_counts():
    class Law:
        def __init__(self):
            self.memory = []

        @property
        def gain(self):
            self.memory.append(1)
            return len(self.memory)

        def __call__(self, t, q, v):
            return -self.gain * q

    return Law()


def global_counter():
    def law(t, q, v):
        global COUNT
        COUNT += 1
        return -float(COUNT) * q

    return law


def global_list():
    def law(t, q, v):
        SEEN.append(1.0)
        return -len(SEEN) * q

    return law


def closure_list():
    total = [0.0]

    def law(t, q, v):
        total[0] += 1.0
        return -total[0] * q

    return law


def closure_alias():
    total = [0.0]
    other = (total,)

    def law(t, q, v):
        mine = other[0]
        mine[0] += 1.0
        return -mine[0] * q

    return law


def nonlocal_counter():
    count = 0

    def law(t, q, v):
        nonlocal count
        count += 1
        return -count * q

    return law


def nonlocal_in_a_helper():
    count = 0

    def helper():
        nonlocal count
        count += 1
        return count

    return lambda t, q, v: -helper() * q


def helper_with_a_default():
    def helper(memory=[]):  # noqa: B006
        memory.append(1)
        return len(memory)

    return lambda t, q, v: -helper() * q


def generator():
    def counting():
        n = 0.0
        while True:
            n += 1.0
            yield n

    numbers = counting()
    return lambda t, q, v: -next(numbers) * q


def iterator():
    numbers = iter(range(1, 1000))
    return lambda t, q, v: -next(numbers) * q


def counter_of_itertools():
    return lambda t, q, v, numbers=itertools.count(1): -next(numbers) * q  # noqa: B008


def bound_append():
    seen = []
    note = seen.append

    def law(t, q, v):
        note(1)
        return -len(seen) * q

    return law


def partial_with_a_list():
    def law(memory, t, q, v):
        memory.append(1)
        return -len(memory) * q

    return functools.partial(law, [])


def lambda_in_a_dict():
    seen = []
    table = {"law": lambda t, q, v: (seen.append(1), -len(seen) * q)[1]}
    return lambda t, q, v: table["law"](t, q, v)


def function_attribute():
    def law(t, q, v):
        law.count += 1
        return -law.count * q

    law.count = 0
    return law


def deque():
    late = collections.deque([0.0] * 5)

    def law(t, q, v):
        late.append(1.0)
        return -late.popleft() * q

    return law


def inside_a_try():
    seen = []

    def law(t, q, v):
        try:
            seen.append(float(t))
        except TypeError:
            return -0.0 * q
        return -len(seen) * q

    return law


def by_type():
    seen = []

    def law(t, q, v):
        if isinstance(t, float):
            seen.append(t)
        return -len(seen) * q

    return law


def by_dtype():
    seen = []

    def law(t, q, v):
        if q.dtype == float:
            seen.append(1)
        return -len(seen) * q

    return law


def by_hasattr():
    seen = []
    return lambda t, q, v: ((seen.append(1) if hasattr(t, "is_integer") else None), -len(seen) * q)[
        1
    ]


def by_text():
    seen = []

    def law(t, q, v):
        if "node" not in f"{t}":
            seen.append(1)
        return -len(seen) * q

    return law


def by_globals():
    def law(t, q, v):
        globals()["COUNT"] += 1
        return -COUNT * q

    return law


def by_function_globals():
    def law(t, q, v):
        law.__globals__["SEEN"].append(1)
        return -len(law.__globals__["SEEN"]) * q

    return law


def by_weakref():
    class Box:
        n = 0

    box = Box()
    keep.append(box)
    ref = weakref.ref(box)

    def law(t, q, v):
        ref().n += 1
        return -ref().n * q

    return law


def descriptor():
    class Counting:
        seen = []  # noqa: RUF012

        def __get__(self, owner, kind):
            self.seen.append(1)
            return len(self.seen)

    class Law:
        gain = Counting()

        def __call__(self, t, q, v):
            return -self.gain * q

    Counting.seen.clear()
    return Law()


def getattr_that_counts():
    class Law:
        def __init__(self):
            self.seen = []

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            self.seen.append(name)
            return float(len(self.seen))

        def __call__(self, t, q, v):
            return -self.gain * q

    return Law()


def context_manager():
    lock, seen = threading.Lock(), []

    def law(t, q, v):
        with lock:
            seen.append(1)
        return -len(seen) * q

    return law


def array_by_method():
    memory = np.zeros(2)

    def law(t, q, v):
        memory.fill(memory[0] + 1.0)
        return -memory[0] * q

    return law


def array_by_out():
    memory = np.zeros(2)

    def law(t, q, v):
        np.add(memory, 1.0, out=memory)
        return -memory[0] * q

    return law


def array_of_objects():
    memory = np.array([[0.0], 1.0], object)

    def law(t, q, v):
        memory[0][0] += 1.0
        return -memory[0][0] * q

    return law


def ufunc_made_of_python():
    seen = []

    def grow(x):
        seen.append(1)
        return len(seen) * x

    ufunc = np.frompyfunc(grow, 1, 1)
    return lambda t, q, v: -ufunc(q).astype(q.dtype)


def vectorized():
    seen = []
    grow = np.vectorize(lambda x: (seen.append(1), float(len(seen)))[1])
    return lambda t, q, v: -grow(np.ones(2)) * q


def made_by_eval():
    seen = []
    return eval("lambda t, q, v: (seen.append(1), -len(seen) * q)[1]", {"seen": seen, "len": len})


def class_of_its_own_call():
    class Meta(type):
        seen = []  # noqa: RUF012

        def gain(cls):
            cls.seen.append(1)
            return len(cls.seen)

    class Law(metaclass=Meta):
        def __call__(self, t, q, v):
            return -type(self).gain() * q

    Meta.seen.clear()
    return Law()


def operator_that_counts():
    class Gain:
        def __init__(self):
            self.seen = []

        def __mul__(self, q):
            self.seen.append(1)
            return -len(self.seen) * q

    gain = Gain()
    return lambda t, q, v: gain * q


def list_subclass():
    class Log(list):
        def __len__(self):
            self.append(1)
            return super().__len__()

    log = Log()
    return lambda t, q, v: -len(log) * q


def float_that_counts():
    class Gain(float):
        seen = []  # noqa: RUF012

        def __mul__(self, q):
            self.seen.append(1)
            return -len(self.seen) * q

    Gain.seen.clear()
    gain = Gain(1.0)
    return lambda t, q, v: gain * q


def comparison_that_counts():
    class Mode:
        def __init__(self):
            self.seen = []

        def __eq__(self, other):
            self.seen.append(1)
            return True

        __hash__ = None

    mode = Mode()
    return lambda t, q, v: -len(mode.seen) * q if mode == 1 else q


def constructor_that_counts():
    made = []

    class Law:
        def __init__(self):
            made.append(1)

        def __call__(self, t, q, v):
            self.__class__()
            return -len(made) * q

    return Law()


def mangled_slots():
    class Law:
        __slots__ = ("__memory",)

        def __init__(self):
            self.__memory = []

        def __call__(self, t, q, v):
            self.__memory.append(1)
            return -len(self.__memory) * q

    return Law()


def by_printed_form():
    seen = []

    def law(t, q, v):
        if "node" not in "%s" % t:  # noqa: UP031
            seen.append(1)
        return -len(seen) * q

    return law


def by_kind_in_a_dict():
    seen = []
    table = {np.dtype(float): lambda: seen.append(1)}
    return lambda t, q, v: (table.get(q.dtype, list)(), -len(seen) * q)[1]


def by_class_of_a_number():
    seen = []
    note = {float: lambda: seen.append(1)}
    return lambda t, q, v: (note.get(t.__class__, list)(), -len(seen) * q)[1]


def lazy_module():
    module = types.ModuleType("lazy")
    seen = []
    module.__getattr__ = lambda name: lambda: (seen.append(1), len(seen))[1]
    return lambda t, q, v: -module.grow() * q


def subscripted_class():
    class Counting:
        seen = []  # noqa: RUF012

        def __class_getitem__(cls, k):
            cls.seen.append(k)
            return len(cls.seen)

    Counting.seen.clear()
    return lambda t, q, v: -Counting[0] * q


keep = []
REMEMBER = [
    *(float_that_counts, comparison_that_counts, constructor_that_counts, mangled_slots),
    *(by_printed_form, by_kind_in_a_dict, by_class_of_a_number, lazy_module, subscripted_class),
    *(mutable_default, keyword_default, default_array, class_attribute, class_list, attribute),
    *(attribute_by_setattr, attribute_by_dict, bound_method, slots, frozen_dataclass_with_a_list),
    *(inherited_method, property_that_counts, global_counter, global_list, closure_list),
    *(closure_alias, nonlocal_counter, nonlocal_in_a_helper, helper_with_a_default, generator),
    *(iterator, counter_of_itertools, bound_append, partial_with_a_list, lambda_in_a_dict),
    *(function_attribute, deque, inside_a_try, by_type, by_dtype, by_hasattr, by_text, by_globals),
    *(by_function_globals, by_weakref, descriptor, getattr_that_counts, context_manager),
    *(array_by_method, array_by_out, array_of_objects, ufunc_made_of_python, vectorized),
    *(made_by_eval, class_of_its_own_call, operator_that_counts, list_subclass),
]


@pytest.fixture(autouse=True)
def reset_globals():
    reset()


def reset():
    global COUNT
    COUNT = 0
    SEEN.clear()


@pytest.mark.parametrize("make", REMEMBER, ids=lambda make: make.__name__)
def test_a_hidden_memory_is_kept_and_said(make):
    python = run(make(), compiled=False)
    reset()
    result = run(make())
    assert result.notes[0].startswith("control runs as Python, step by step: ")
    np.testing.assert_array_equal(result.q, python.q)
    assert np.ptp(result.tau[:, 0] / result.q[:, 0]) > 0.5  # it does change


@pytest.mark.parametrize("make", REMEMBER, ids=lambda make: make.__name__)
def test_a_hidden_memory_is_kept_and_said_in_rollouts(make):
    options = {"dt": 1e-3, "steps": 5, "hold": True}
    python = sf.rollout(PENDULUM, [1.0, 0.5], [0.0, 0.0], control=make(), compiled=False, **options)
    reset()
    with pytest.warns(sf.errors.PythonCallbackWarning, match="control runs as Python"):
        found = sf.rollout(PENDULUM, [1.0, 0.5], [0.0, 0.0], control=make(), **options)
    np.testing.assert_array_equal(found[0], python[0])


def test_the_cases_cover_what_can_be_seen_by_calling_alone():
    """Some of them hold what cannot be saved, some are found out only by what their calls do."""
    shown = [bool(reach_of(make()).reason) for make in REMEMBER]
    assert any(shown) and not all(shown)


NOISE = {
    "random": lambda t, q, v: random.random() * q,
    "time": lambda t, q, v: (time.perf_counter() % 1.0) * q,
    "numpy.random": lambda t, q, v: np.random.normal() * q,
    "generator": lambda t, q, v, rng=np.random.default_rng(0): rng.normal() * q,  # noqa: B008
    "print": lambda t, q, v: (print("x", end=""), -q)[1],
    "open": lambda t, q, v: (open("/dev/null").close(), -q)[1],
    "eval": lambda t, q, v: eval("-q"),
    "id": lambda t, q, v: -(id(q) % 7) * q,
    "cache": functools.lru_cache(lambda t: -1.0),
}


@pytest.mark.parametrize("name", NOISE)
def test_what_is_not_known_to_be_pure_runs_as_python(name):
    cache = NOISE["cache"]
    law = NOISE[name] if name != "cache" else (lambda t, q, v: cache(1) * q)
    assert "runs as Python" in run(law, duration=0.003).notes[0]


HELD = {
    "lock": threading.Lock(),
    "file": io.StringIO(),
    "generator": (x for x in range(3)),
    "module": math,
    "thread": threading.current_thread(),
    "socket-like": memoryview(b"abc"),
    "code": run.__code__,
    "weak": weakref.WeakValueDictionary(),
}


@pytest.mark.parametrize("name", HELD)
def test_closures_over_anything_run_with_the_right_motion(name):
    held = HELD[name]

    def law(t, q, v):
        return -20.0 * q if held is not None else q

    found = run(law)
    want = run(lambda t, q, v: -20.0 * q)
    np.testing.assert_allclose(found.q, want.q, rtol=0, atol=1e-15)
    assert (found.notes == ()) == (name in ("module", "code"))


# -- controllers that are pure, and compiled


class Gains(NamedTuple):
    kp: float
    kd: float


@dataclass
class PlainObject:
    kp: float = 20.0
    table: dict = field(default_factory=lambda: {"kd": 2.0})

    def damping(self):
        return self.table["kd"]

    def __call__(self, t, q, v):
        return -self.kp * q - self.damping() * v


class Doubled(PlainObject):
    @property
    def half(self):
        return 0.5 * self.kp

    @staticmethod
    def twice(x):
        return 2.0 * x

    def __call__(self, t, q, v):
        return super().__call__(t, q, v) + self.twice(self.half) * q


def by_loop(t, q, v):
    tau = []
    for i in range(len(q)):
        tau.append(-STIFFNESS[i] * q[i])
    return np.array(tau)


def by_item_assignment(t, q, v):
    tau = np.empty(2, dtype=q.dtype)
    tau[0] = -STIFFNESS[0] * q[0] + sf.math.sin(t)
    tau[1:] = -GAINS["k"] * q[1:]
    tau -= 0.1 * v
    return tau


def by_helpers(t, q, v):
    import numpy as numpy

    def scaled(x, by=2.0):
        return by * x

    parts = [scaled(x) for x in q]
    total = sum(x * x for x in v)
    return -numpy.array(parts) * numpy.pi - total + OFFSET.value


def by_model(t, q, v):
    g = sf.gravity_force(PENDULUM, q)
    M = sf.mass_matrix(PENDULUM, q)
    return g - M @ v - np.linalg.norm([3.0, 4.0]) * q + math.sqrt(4.0)


def by_branches(t, q, v, gains=Gains(2.0, 1.0), mode="soft"):  # noqa: B008
    if mode == "hard":
        return -100.0 * q
    return -gains.kp * q - gains.kd * v + (0.0 if PENDULUM.nv == 2 else 1.0)


class Mode(Enum):
    SOFT = 1
    HARD = 2


def by_mode(t, q, v, mode=Mode.SOFT):
    return -3.0 * q if mode is Mode.SOFT else -300.0 * q


@dataclass(frozen=True)
class Frozen:
    k: float = 2.0

    def __call__(self, t, q, v):
        return -self.k * q


class Slotted:
    __slots__ = ("k",)

    def __init__(self):
        self.k = 3.0

    def __call__(self, t, q, v):
        return -self.k * q


def with_parameters(k):
    return lambda t, q, v: -k * q


PURE = {
    "loop": by_loop,
    "items": by_item_assignment,
    "helpers": by_helpers,
    "model": by_model,
    "branches": by_branches,
    "object": PlainObject(),
    "subclass": Doubled(),
    "slots": Slotted(),
    "enum": by_mode,
    "frozen dataclass": Frozen(),
    "method": PlainObject().__call__,
    "partial": functools.partial(lambda k, t, q, v: -k * q, 4.0),
    "closure": with_parameters(3.0),
    "array closure": with_parameters(np.array([1.0, 2.0])),
    "from text": eval("lambda t, q, v: -3.0 * q"),
    "table of functions": lambda t, q, v, laws=(by_loop, by_model): laws[0](t, q, v),
    "pd": sf.control.pd(PENDULUM, [0.0, 0.0], 1.0, 1.0),
    "computed torque": sf.control.computed_torque(
        PENDULUM, sf.control.minimum_jerk([0.0, 0.0], [1.0, 1.0], 1.0), 9.0, 6.0
    ),
    "saturated": sf.control.saturate(PENDULUM, by_loop),
}


@pytest.mark.parametrize("name", PURE)
def test_what_is_pure_is_compiled(name):
    law = PURE[name]
    found = run(law, duration=0.005)
    assert found.notes == ()
    python = run(law, duration=0.005, compiled=False)
    np.testing.assert_allclose(found.q, python.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.tau, python.tau, rtol=0, atol=1e-12)


def test_what_is_nested_without_end_runs_as_python():
    deep = []
    for _ in range(5000):
        deep = [deep]
    found = run(lambda t, q, v: -3.0 * q if deep else q, duration=0.003)
    assert "nested too deeply" in found.notes[0] or "more than" in found.notes[0]


# -- insisting, and functions that disturb each other


def test_compiled_true_compiles_what_is_merely_unproven():
    law = by_type()
    assert run(law).notes
    insisted = run(by_type(), compiled=True)
    assert insisted.notes == ()
    q, _ = sf.rollout(
        PENDULUM, [1.0, 0.5], [0.0, 0.0], dt=1e-3, steps=3, control=by_type(), compiled=True
    )
    assert q.shape == (3, 2)


@pytest.mark.parametrize("law", [lambda t, q, v: -q if q[0] > 0 else q, lambda t, q, v: np.sort(q)])
def test_compiled_true_names_the_reason_where_it_cannot_be(law):
    with pytest.raises(
        sf.errors.CallbackError, match=r"control\(t, q, v\) cannot be compiled"
    ) as caught:
        run(law, compiled=True)
    assert "fix: " in str(caught.value)
    with pytest.raises(sf.errors.CallbackError, match="cannot be compiled"):
        sf.rollout(PENDULUM, [1.0, 0.5], [0, 0], dt=1e-3, steps=2, control=law, compiled=True)


def test_tracing_leaves_the_memory_of_a_controller_as_it_was():
    seen, table = [], {"n": 0}

    def law(t, q, v):
        seen.append(1)
        table["n"] += 1
        return -float(len(seen)) * q

    result = run(law)
    # once a step, and at the last sample
    assert result.notes and len(seen) == table["n"] == len(result.t)
    np.testing.assert_allclose(result.tau[:, 0] / result.q[:, 0], -np.arange(1.0, len(seen) + 1))


def test_an_event_that_changes_what_the_controller_reads_is_seen():
    contact = {"gain": 1.0}

    def law(t, q, v):
        return -contact["gain"] * q

    def switch(t, q, v):
        if t > 0.01:
            contact["gain"] = 50.0
        return 1.0

    result = run(law, events=switch)
    assert "another function of this run" in result.notes[0]
    assert result.tau[-1, 0] == -50.0 * result.q[-1, 0]
    assert run(law, events=lambda t, q, v: q[0] - contact["gain"]).notes == ()


def test_an_event_that_rebinds_a_global_of_the_controller_is_seen():
    def law(t, q, v):
        return -float(COUNT) * q

    def switch(t, q, v):
        global COUNT
        COUNT = 7
        return 1.0

    result = run(law, events=switch)
    assert result.notes and result.tau[-1, 0] == -7.0 * result.q[-1, 0]


def test_progress_that_changes_what_the_controller_reads_is_seen():
    gains = np.array([1.0, 1.0])

    def law(t, q, v):
        return -gains * q

    def tell(reached, end):
        gains[:] = 30.0

    result = run(law, progress=tell)
    assert result.notes and result.tau[-1, 0] == -30.0 * result.q[-1, 0]
    gains[:] = 1.0
    assert run(law, progress=lambda reached, end: None).notes == ()


def test_an_external_force_that_remembers_runs_as_python():
    seen = []

    def push(t, q, v):
        seen.append(1)
        force = np.zeros((2, 6))
        force[1, 3] = float(len(seen))
        return force

    result = sf.simulate(PENDULUM, [1.0, 0.5], None, 0.005, f_ext=push)
    assert result.notes[0].startswith("f_ext runs as Python, step by step: it remembers")
    assert len(seen) > 5
