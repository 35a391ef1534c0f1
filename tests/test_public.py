"""The public surface is recorded: a name or signature changes on purpose or not at all."""

import re
import types

import pytest

import sixfold as sf
from sixfold.hints import NAMES_ELSEWHERE
from tests.signatures import RECORDED, lines


def test_public_signatures_are_as_recorded():
    recorded = RECORDED.read_text().splitlines()
    current = list(lines())
    gone = sorted(set(recorded) - set(current))
    new = sorted(set(current) - set(recorded))
    assert not gone and not new, (
        "the public surface changed; if on purpose: python -m tests.signatures > "
        f"tests/signatures.txt\ngone: {gone}\nnew: {new}"
    )


def modules():
    """Return sixfold and its public submodules, by name."""
    named = {name: getattr(sf, name) for name in sf.__all__}
    found = {name: value for name, value in named.items() if isinstance(value, types.ModuleType)}
    return {"sf": sf, **{f"sf.{name}": value for name, value in found.items()}}


def test_modules_list_their_public_names_and_nothing_else():
    for name, module in modules().items():
        assert sorted(dir(module)) == sorted(module.__all__), name
    assert len(dir(sf)) <= 110


def test_a_name_stands_in_one_module():
    places = {}
    for name, module in modules().items():
        for each in module.__all__:
            places.setdefault(each, set()).add(name)
    several = {name: where for name, where in places.items() if len(where) > 1}
    # what users build models with is in the algebra as well
    assert several.keys() <= {"Inertia", "Transform"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rnea", "Sixfold calls it sf.inverse_dynamics"),
        ("mj_crb", "Sixfold calls it sf.mass_matrix"),
        ("sin", "it is sf.math.sin"),
        ("inverse_dynamic", "did you mean inverse_dynamics"),
        ("quite_unknown", "has no attribute 'quite_unknown'"),
    ],
)
def test_a_name_that_does_not_exist_gets_a_hint(name, message):
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(sf, name)


def test_hints_lead_to_public_names():
    for ours in NAMES_ELSEWHERE:
        value = sf
        for part in ours.split("."):
            value = getattr(value, part)
