"""First calls and `sf.compile` from many threads at once."""

import pytest

from tests.long import compile_threads


@pytest.mark.parametrize(
    "race", [compile_threads.same_first_call, compile_threads.compile_together]
)
def test_threads_may_race(race, monkeypatch, tmp_path):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_threads, "THREADS", 4)
    race(77)
