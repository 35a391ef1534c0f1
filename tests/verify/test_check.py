"""`check` evaluates every formulation and reports the differences."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.checks.verify.check import Finding, Report, formulations
from sixfold.checks.verify.check import check as check_function
from sixfold.checks.verify.formulations import MAX_LAGRANGE_FREEDOMS
from sixfold.formats.bundled import SAMPLES
from tests.evaluate.small_models import MAKERS, model_named

GOOD = Finding("inverse dynamics", "rnea", 1e-16, 3, 2e-14)
WRONG = Finding("mass matrix", "crba", 1e-3, 7, 2e-14)
LOST = Finding("forward dynamics", "aba", float("nan"), 2, 2e-14)
LEFT_OUT = Finding("forward dynamics", "crba + ltl", None, None, 2e-14, "too big")


SMALL = [name if name != "random_tree" else "random_tree:3:1" for name in SAMPLES]


@pytest.mark.parametrize("name", [*SMALL, *MAKERS])
def test_all_formulations_agree(name):
    model = model_named(name) if name in MAKERS else sf.load(name)
    report = sf.check(model, 7)
    assert report.agrees
    assert report.raise_if_bad() is report
    assert report.model == model.name and report.samples == 7
    evaluated = [f for f in report.findings if f.error is not None]
    assert all(0 <= f.error <= f.limit and 0 <= f.state < 7 for f in evaluated)
    assert len(evaluated) >= 9


def test_findings_are_those_of_formulations_in_order():
    model = sf.load("floating_link")
    listed = [(q, name) for q, entries in formulations(model).items() for name in entries]
    report = sf.check(model, 2)
    assert [(f.quantity, f.formulation) for f in report.findings] == listed


def test_formulations_say_why_they_are_left_out():
    arm, floating = formulations(sf.load("puma560")), formulations(sf.load("floating_link"))
    assert not any(reason for entries in arm.values() for reason in entries.values())
    assert "one fixed axis" in floating["inverse dynamics"]["newton_euler"]
    long = sf.load(f"planar_chain:{MAX_LAGRANGE_FREEDOMS + 1}")
    assert str(MAX_LAGRANGE_FREEDOMS) in formulations(long)["mass matrix"]["lagrange"]
    assert set(arm) >= {"inverse dynamics", "mass matrix", "forward dynamics"}


def test_a_joint_without_inertia_leaves_forward_dynamics_out():
    builder = sf.ModelBuilder("ghost").add_body("a", joint=sf.Revolute("z"))
    report = sf.check(builder.build(), 3)
    forward = [f for f in report.findings if f.quantity == "forward dynamics"]
    assert forward and all("no inertia" in f.note and f.error is None for f in forward)
    assert report.agrees


@pytest.mark.parametrize(
    ("finding", "bad"), [(GOOD, False), (WRONG, True), (LOST, True), (LEFT_OUT, False)]
)
def test_a_finding_is_bad_above_its_limit_or_when_not_a_number(finding, bad):
    assert finding.bad is bad
    assert Report("arm", 10, (GOOD, finding)).agrees is not bad


def test_raise_if_bad_names_model_quantity_formulation_and_state():
    report = Report("arm", 10, (GOOD, WRONG, LOST, LEFT_OUT))
    with pytest.raises(sf.errors.DisagreementError) as caught:
        report.raise_if_bad()
    text = str(caught.value)
    assert isinstance(caught.value, sf.errors.SixfoldError)
    assert "model 'arm': 2 formulations disagree" in text
    assert "mass matrix by crba: 1.00e-03 at state 7 (limit 2e-14)" in text
    assert "forward dynamics by aba: nan at state 2" in text
    assert "fix: " in text and "rnea" not in text


def test_the_table_has_a_row_for_each_finding():
    lines = str(Report("arm", 10, (GOOD, WRONG, LOST, LEFT_OUT))).splitlines()
    assert lines[0] == "arm: 10 random states"
    assert lines[2].split() == ["quantity", "formulation", "worst", "error", "state"]
    assert lines[3].split() == ["inverse", "dynamics", "rnea", "1.0e-16", "3"]
    assert lines[4].endswith("DISAGREES") and "1.0e-03" in lines[4]
    assert lines[5].endswith("DISAGREES") and "nan" in lines[5]
    assert lines[6].endswith("   too big") and len(lines[6]) <= 80
    assert len(lines) == 7 and all(line == line.rstrip() for line in lines)


def spoilt_crba(original):
    def crba(tree, q):
        H = original(tree, q)
        key = next(iter(H))
        H[key] = H[key] + (1e-6,) * len(H[key].rows)
        return H

    return crba


def test_a_wrong_page_is_caught(monkeypatch):
    module = __import__("sixfold.checks.verify.formulations", fromlist=["crba"])
    monkeypatch.setattr(module, "crba", spoilt_crba(module.crba))
    report = sf.check(sf.load("tree6"), 4)
    bad = {(f.quantity, f.formulation) for f in report.findings if f.bad}
    assert bad == {("mass matrix", "crba"), ("forward dynamics", "crba + ltl")}
    with pytest.raises(sf.errors.DisagreementError, match="mass matrix by crba"):
        report.raise_if_bad()


def test_a_page_that_gives_nan_at_one_state_is_caught_with_that_state(monkeypatch):
    module = __import__("sixfold.checks.verify.formulations", fromlist=["aba"])
    aba = module.aba

    def lost(tree, q, qd, tau, f_ext):
        acc = aba(tree, q, qd, tau, f_ext)
        spoil = np.zeros(5)
        spoil[3] = np.nan
        return {i: x * (spoil + 1.0) for i, x in acc.items()}

    monkeypatch.setattr(module, "aba", lost)
    found = {f.formulation: f for f in sf.check(sf.load("double_pendulum"), 5).findings}
    assert found["aba"].bad and found["aba"].state == 3
    assert not found["aba (fast)"].bad and not found["crba + ltdl"].bad


def test_the_same_seed_gives_the_same_report():
    model = sf.load("tree6")
    assert sf.check(model, 5, seed=1) == sf.check(model, 5, seed=1)
    assert sf.check(model, 5, seed=1) != sf.check(model, 5, seed=2)


def test_check_wants_a_model():
    with pytest.raises(sf.errors.ArgumentError, match="check: the first argument must be a Model"):
        sf.check("puma560")


def test_check_is_exported():
    assert sf.check is check_function
