"""A bad call gives an error of the library: what, expected, got and the way out; or an answer."""

import inspect
import os

import pytest

import sixfold as sf
from tests.battery import cases
from tests.battery.cases import Call, call, outcome
from tests.battery.run import one_worker
from tests.battery.surface import SKIPPED, Target, public, targets

CALLS = 1400  # two of each callable; `python -m tests.battery.run` makes 24,000


def test_bad_calls_of_every_public_callable_give_library_errors():
    lines = one_worker(0, 1, CALLS, 1, "")
    bad = [line for line in lines if line["kind"] in ("foreign", "hang", "crash")]
    assert len(lines) == CALLS
    assert not bad, "\n".join(map(str, bad[:10]))
    assert sum(line["kind"] == "refused" for line in lines) > CALLS / 3


def test_the_battery_calls_every_public_name():
    labels = {target.label.partition(".")[0] for target in targets()} | SKIPPED
    for name, value in public().items():
        if not (inspect.isclass(value) and issubclass(value, BaseException)):
            assert name in labels, name


def test_every_method_of_a_public_class_is_called():
    labels = {target.label for target in targets()}
    for label in ("Force.at_point", "Inertia.from_mass", "Model.q_slice", "ModelBuilder.add_body"):
        assert label in labels
    for label in ("Trajectory.save", "Revolute.calc", "controllers.pd", "Kernel", "solids.box"):
        assert label in labels


def _calls_itself(x):
    return _calls_itself(x)


def _spins(x):
    while True:
        pass


def _raises(error):
    def function(x):
        raise error

    return function


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (_raises(KeyError("x")), "foreign"),
        (_raises(TypeError("unsupported")), "foreign"),
        (_raises(MemoryError()), "foreign"),
        (_calls_itself, "foreign"),
        (_spins, "hang"),
        (_raises(sf.errors.NumberError("f", "floats", "x", "convert")), "refused"),
        (_raises(sf.errors.SixfoldError("y" * 10**6)), "foreign"),
        (lambda: None, "signature"),
        (lambda x: x, "answer"),
    ],
)
def test_the_battery_sees_what_it_looks_for(function, kind, monkeypatch):
    monkeypatch.setattr(cases, "SECONDS", 0.2)
    target = Target("f", lambda: function, {}, ("x",), (), ("x",))
    assert outcome(target, Call("f", "", (None,), {})).kind == kind


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_seed_stands_for_a_call():
    for target in targets()[::40]:
        assert call(target, 3).how == call(target, 3).how


def test_a_worker_that_dies_counts_as_found(monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sixfold.quantities.configurations as s, os\n"
        "s.neutral.__code__ = (lambda model: os._exit(7)).__code__\n"
        "s.os = os\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(tmp_path))
    lines = one_worker(0, 1, 4, 1, "neutral")
    assert [line["kind"] for line in lines].count("crash") >= 1
