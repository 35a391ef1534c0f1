"""Damaged URDF files become a model or a message, never anything else.

SIXFOLD_MUTATIONS says how many are tried.
"""

import os

import pytest

from tests.formats.mutations import MUTATIONS, SMALL, mutated, run

FILES = int(os.environ.get("SIXFOLD_MUTATIONS", "500"))


@pytest.mark.parametrize("part", range(10))
def test_damaged_files_end_in_a_model_or_a_message(part):
    _, broken, _ = run(range(part, FILES, 10))
    assert not broken, "\n".join(broken[:5])


def test_the_corpus_has_ten_kinds_and_is_always_the_same():
    bases = tuple(SMALL.values())
    first = [mutated(bases, k) for k in range(50)]
    assert first == [mutated(bases, k) for k in range(50)]
    assert {kind for kind, _ in first} == {mutation.__name__ for mutation in MUTATIONS}
    assert len(MUTATIONS) == 10


def test_the_corpus_has_files_that_load_and_files_that_do_not():
    counts, _, _ = run(range(100), tuple(SMALL.values()))
    ends = {name.split(": ")[1] for name in counts}
    assert ends == {"model", "error"}
