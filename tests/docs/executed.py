"""Run the tests that the rows of the equation ledger name and see what they execute.

`python -m tests.docs.executed` prints each row whose tests leave out a function that it names, and
fails if there is one.  A test is run only while one of its rows still waits for a function, and
left as soon as it has called all that they wait for; whether it passes is another run's business.

What counts: a function when it is called; a method when it or an override is called; a class when
an instance is made or one of its methods is called; a field when a test file reads it.  Machine
code is left out, so that a public function runs its page on numbers whatever the caches hold.
"""

import inspect
import sys
from pathlib import Path

import pytest

from sixfold.quantities import inverse_dynamics
from sixfold.runtime.kernels import kernels
from tests.docs.ledger import ROOT, every_row, resolve

TESTS = str(Path(__file__).parents[1])
DONE = "all functions that its rows name were executed"


class Executed:
    """A pytest plugin that crosses out the functions of each row as its tests call them."""

    def __init__(self, rows):
        """Take the rows; each waits for all the functions that it names."""
        self.waiting = {row: set(row.functions) for row in rows}
        self.code, self.fields, self.fixtures = {}, set(), {}
        self.owner = {}  # (code of a base class, name): the class that the name means
        for name in sorted({name for row in rows for name in row.functions}):
            self.watch(name)

    def watch(self, name):
        """Learn the code of a function, or replace a field by one that says who reads it."""
        thing, (owner, _, last) = resolve(name), name.rpartition(".")
        holder = resolve(owner)
        if inspect.isclass(thing):
            members = [m for kind in family(thing) for m in vars(kind).values()]
        elif inspect.isclass(holder):
            members = [vars(kind)[last] for kind in family(holder) if last in vars(kind)]
        else:
            members = [thing]
        found = [code for member in members for code in codes(member)]
        # methods of a base class count when an instance of the class calls them
        kind = thing if inspect.isclass(thing) else holder
        for member in inherited(kind, last if kind is holder else None):
            for code in codes(member):
                self.owner[code, name] = kind
                found.append(code)
        for code in found:
            self.code.setdefault(code, set()).add(name)
        if not found:
            assert inspect.isclass(holder) and last in holder.__annotations__, name
            setattr(holder, last, Field(name, last, self.fields))

    def wanted(self, test):
        """Return the functions that some row still wants from a test."""
        rows = [self.waiting[row] for row in self.waiting if test in row.tests]
        return set().union(*rows)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Leave out a test from which nothing is wanted any more."""
        if not self.wanted(name_of(item)):
            pytest.skip(DONE)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        """Remember what a fixture calls: its tests share the result."""
        met = self.fixtures.setdefault((fixturedef.argname, fixturedef.baseid), set())
        before = sys.getprofile()
        sys.setprofile(self.looking(met))
        yield
        sys.setprofile(before)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        """Run a test and cross out what it and its fixtures called."""
        self.fields.clear()
        met = set()
        for (name, base), called in self.fixtures.items():
            if name in item.fixturenames and item.nodeid.startswith(base):
                met |= called
        sys.setprofile(self.looking(met, self.wanted(name_of(item))))
        yield
        sys.setprofile(None)
        for row, names in self.waiting.items():
            if name_of(item) in row.tests:
                names -= met | self.fields

    def calls(self, frame, kind):
        """Return whether a method runs for an instance of a class, or for the class itself."""
        if kind is None:
            return True
        first = frame.f_locals.get(next(iter(frame.f_code.co_varnames), None))
        return issubclass(first if inspect.isclass(first) else type(first), kind)

    def looking(self, met, wanted=None):
        """Return a hook that adds called functions to a set, until all that are wanted are in."""

        def look(frame, event, _):
            if event == "call" and frame.f_code in self.code:
                names = self.code[frame.f_code]
                names = {n for n in names if self.calls(frame, self.owner.get((frame.f_code, n)))}
                met.update(running(frame, names))
                if wanted is not None and wanted <= met:
                    sys.setprofile(None)
                    pytest.skip(DONE)

        return look


def name_of(item):
    """Return the address of a test without its parameters."""
    return item.nodeid.partition("[")[0]


class Field:
    """A field of a frozen class that remembers that a test read it."""

    def __init__(self, path, name, read):
        """Take the dotted path, the field's name and the set to add the path to."""
        self.path, self.name, self.read = path, name, read

    def __get__(self, instance, kind):
        """Return the value; a test that asks for it is remembered."""
        if instance is None:
            return self
        if sys._getframe(1).f_code.co_filename.startswith(TESTS):
            self.read.add(self.path)
        return vars(instance)[self.name]

    def __set__(self, instance, value):
        """Store the value where the class would have stored it."""
        vars(instance)[self.name] = value


def family(kind):
    """Return a class and all that are derived from it."""
    return [kind, *(c for child in kind.__subclasses__() for c in family(child))]


def inherited(kind, last=None):
    """Return the members that a class has from its bases in the library; all, or one."""
    if not inspect.isclass(kind):
        return []
    own = {name for each in family(kind) for name in vars(each)}
    bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("sixfold")]
    found = {}
    for base in bases:
        found = {**vars(base), **found}
    return [m for name, m in found.items() if name not in own and last in (None, name)]


def codes(member):
    """Return the code objects of a function, method, property or decorated function."""
    member = getattr(member, "fget", None) or getattr(member, "func", None) or member
    member = getattr(member, "__func__", member)
    chain = []
    while member is not None:
        chain += [member.__code__] if hasattr(member, "__code__") else []
        member = getattr(member, "__wrapped__", None)
    return chain


def running(frame, names):
    """Return the names of the function that runs; a decorator's code runs for several functions."""
    if "function" not in frame.f_code.co_freevars:
        return names
    function = frame.f_locals["function"]
    return {name for name in names if inspect.unwrap(resolve(name)) is function}


def without_machine_code():
    """Let every public function take the way of models that have no kernel."""
    assert inverse_dynamics  # its module has imported all that ask for kernels
    ask = kernels.kernel_for
    for module in list(sys.modules.values()):
        if vars(module).get("kernel_for") is ask:
            module.kernel_for = lambda *_, **__: None


def idle_rows(rows):
    """Run the tests of rows; return the status and {row: functions that its tests left out}."""
    without_machine_code()
    plugin = Executed(rows)
    tests = dict.fromkeys(test for row in rows for test in row.tests)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(ROOT)]
    status = pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[plugin])
    return int(status), {row: names for row, names in plugin.waiting.items() if names}


def main():
    """Print the rows whose tests do not execute what they name; return how many there are."""
    status, idle = idle_rows(every_row())
    for row, names in idle.items():
        print(f"{row.title}, {row.where} ({row.says}): not executed: {', '.join(sorted(names))}")
    return len(idle) or status


if __name__ == "__main__":
    sys.exit(main())
