"""A joint of the user's own class is known by what it computes, whatever its code reads."""

import sys
import types

import numpy as np
import pytest

import sixfold as sf

HEAD = """
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache, partial, partialmethod
from types import SimpleNamespace
from typing import ClassVar
import numpy as np
from sixfold.model.joint import Joint, JointState
from sixfold.scalar import ZERO
from sixfold.spatial import Motion, Subspace, Transform, Vector3

O = Vector3(ZERO, ZERO, ZERO)
"""

BODY = """
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    orthonormal_subspace: ClassVar[bool] = False

    def calc(self, q, qd):
        r = {ratio}
        S = Subspace(Motion(O, Vector3(r, ZERO, ZERO)))
        return JointState(Transform.translation((q[0] * r, 0.0, 0.0)), S, S @ qd, Motion.zero())
"""

CASES = {
    "number": ("", "    ratio: ClassVar[float] = {k}", "self.ratio"),
    "tuple": ("", "    table: ClassVar[tuple] = (1.0, ({k},))", "self.table[1][0]"),
    "list": ("", "    table: ClassVar[list] = [{k}]", "self.table[0]"),
    "dict": ("", "    table: ClassVar[dict] = dict(r={k})", "self.table['r']"),
    "deque": ("", "    table: ClassVar[deque] = deque([{k}])", "self.table[0]"),
    "string": ("", "    text: ClassVar[str] = '{k}'", "float(self.text)"),
    "vector": ("", "    d: ClassVar[Vector3] = Vector3({k}, ZERO, ZERO)", "self.d.x"),
    "motion": ("", "    m: ClassVar[Motion] = Motion(O, Vector3({k}, ZERO, ZERO))", "self.m.lin.x"),
    "array": ("", "    t: ClassVar = np.full(2000, {k}) + 1e-12", "round(float(self.t[999]))"),
    "objects": ("", "    t: ClassVar = np.array([None, {k}], object)", "self.t[1]"),
    "namespace": ("", "    t: ClassVar = SimpleNamespace(r={k})", "self.t.r"),
    "property": ("", "    @property\n    def r(self): return {k}", "self.r"),
    "cached": ("", "    @cached_property\n    def r(self): return {k}", "self.r"),
    "static": ("", "    @staticmethod\n    def r(): return {k}", "self.r()"),
    "class method": ("", "    @classmethod\n    def r(cls): return {k}", "self.r()"),
    "lambda": ("", "    r = lambda self: {k}", "self.r()"),
    "lru_cache": ("", "    @lru_cache\n    def r(self): return {k}", "self.r()"),
    "partial method": ("", "    f = lambda self, x: x\n    r = partialmethod(f, {k})", "self.r()"),
    "partial": ("", "    r: ClassVar = partial(lambda x: x, {k})", "self.r()"),
    "operator": ("", "    def __getitem__(self, k): return {k}", "self[0]"),
    "getattr": ("", "    def __getattr__(self, name): return {k}", "self.anything"),
    "nested class": ("", "    class Gear:\n        r = {k}", "self.Gear.r"),
    "field": ("", "    r: float = {k}", "self.r"),
    "function in a field": ("", "    r: object = lambda: {k}", "type(self).r()"),
    "object in a field": (
        "class Gear:\n    def __init__(self, r): self.r = r",
        "    r: object = Gear({k})",
        "self.r.r",
    ),
    "after init": ("", "    def __post_init__(self): object.__setattr__(self, 'r', {k})", "self.r"),
    "base class": ("class Base(Joint):\n    ratio = {k}", "    pass", "self.ratio"),
    "mixin": (
        "class Base:\n    ratio = {k}\nclass Base(Base, Joint): pass",
        "    pass",
        "self.ratio",
    ),
    "class": ("class Gear:\n    ratio = {k}", "    pass", "Gear.ratio"),
    "object": (
        "class Gear:\n    def __init__(self, r): self.r = r\ngear = Gear({k})",
        "    pass",
        "gear.r",
    ),
    "method of an object": (
        "class Gear:\n    def r(self): return {k}\ngear = Gear()",
        "    pass",
        "gear.r()",
    ),
    "slots": (
        "class Gear:\n    __slots__ = 'r'\ngear = Gear(); gear.r = {k}",
        "    pass",
        "gear.r",
    ),
    "enum": ("class Gear(Enum):\n    R = {k}", "    pass", "Gear.R.value"),
    "global": ("R = {k}", "    pass", "R"),
    "set": ("R = frozenset([{k}])", "    pass", "min(R)"),
    "descriptor": (
        "class Gear:\n    def __init__(self, r): self.r = r\n"
        "    def __get__(self, joint, kind): return self.r",
        "    ratio = Gear({k})",
        "self.ratio",
    ),
}


def slide(head, line, ratio, k, name="outside"):
    base = "Base" if "class Base" in head else "Joint"
    text = HEAD + head + f"\n\n@dataclass(frozen=True)\nclass Slide({base}):\n" + line + BODY
    names = {"__name__": name} if name else {}
    exec(text.replace("{k}", str(k)).replace("{ratio}", ratio), names)
    return names["Slide"]()


def model(joint):
    builder = sf.ModelBuilder("slide", gravity=(0, 0, 0))
    builder.add_body("box", joint=joint, inertia=sf.Inertia.from_mass(1.0))
    return builder.build()


@pytest.mark.parametrize("case", CASES)
def test_every_entry_of_a_class_that_is_used_counts(case):
    models = [model(slide(*CASES[case], k)) for k in (1.0, 2.0)]
    found = [sf.mass_matrix(m, np.zeros(1))[0, 0] for m in models]
    assert found == [1.0, 4.0]
    assert models[0] != models[1]


@pytest.mark.parametrize("case", CASES)
def test_equal_classes_are_equal_before_and_after_use(case):
    one, two = slide(*CASES[case], 1.0), slide(*CASES[case], 1.0)
    sf.mass_matrix(model(one), np.zeros(1))  # fills caches of properties and functions
    first = one.constants()
    assert first == two.constants()
    assert first == one.constants()


@pytest.mark.parametrize("name", ["", "code", "wave"])  # none; those of Python's own modules
def test_the_name_of_a_module_does_not_hide_its_code(name, monkeypatch):
    own = types.ModuleType(name)
    own.__file__ = "/home/user/wave.py"
    monkeypatch.setitem(sys.modules, name, own)
    one, two = (slide(*CASES["number"], k, name=name) for k in (1.0, 2.0))
    assert one.constants() != two.constants()


def test_constants_of_a_module_that_a_method_reads_count(monkeypatch):
    own = types.ModuleType("gears")
    monkeypatch.setitem(sys.modules, "gears", own)
    own.R = 1.0
    one = slide("import gears", "    pass", "gears.R", 1)
    before = one.constants()
    own.other = 3.0  # not read
    assert one.constants() == before
    own.R = 2.0
    assert one.constants() != before


def test_a_decorator_of_the_user_around_a_function_of_the_library_counts():
    head = "from functools import wraps\nfrom sixfold.scalar import cos\n"
    head += "@wraps(cos)\ndef g(x): return {k}"
    one, two = (slide(head, "    pass", "g(1.0)", k) for k in (1.0, 2.0))
    assert one.constants() != two.constants()


def test_what_is_written_otherwise_but_computes_the_same_is_the_same_joint():
    one = slide(*CASES["global"], 2.0)
    two = slide("def twice(x): return 2.0 * x", "    pass", "twice(1.0)", 2.0)
    assert one.constants() == two.constants()
    assert model(one) == model(two)


def test_entries_that_are_not_used_do_not_count():
    one = slide("", "    ratio: ClassVar[float] = {k}", "3.0", 1.0)
    two = slide("", "    ratio: ClassVar[float] = {k}", "3.0", 2.0)
    assert one.constants() == two.constants()


def test_a_joint_that_chooses_by_value_is_known_by_its_values():
    text = "(1.0 if q[0] > 0.0 else {k})"
    one, two = (slide("", "    pass", text.replace("{k}", k), 0.0) for k in ("2.0", "3.0"))
    assert one.constants() == one.constants()
    assert one.constants() != two.constants()


@pytest.mark.parametrize("noise", ["np.random.random()", "next(COUNT)", "time.perf_counter()"])
def test_a_joint_that_does_something_else_at_each_call_is_refused(noise):
    head = "import itertools, time\nCOUNT = itertools.count()"
    with pytest.raises(sf.errors.ModelError, match="a second call with the same arguments"):
        slide(head, "    pass", noise, 0.0).constants()
