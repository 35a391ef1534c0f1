"""Tests stand alone: none imports another test, a conftest or a script of the benchmarks."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def imported(text):
    """Return the modules that a text imports, names of `from` imports included."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def foreign(text):
    """Return the imports that a test may not have."""
    return [
        name
        for name in imported(text)
        if (name.startswith("benchmarks.") and not _is_tested_benchmark(name))
        or (name.startswith("tests.") and any(_is_test(part) for part in name.split(".")[1:-1]))
        or (name.startswith("tests.") and _is_test(name.split(".")[-1]))
    ]


def _is_tested_benchmark(name):
    return name.split(".")[1] in ("bench", "__main__")


def _is_test(part):
    return part.startswith("test_") or part == "conftest"


@pytest.mark.parametrize(
    "line",
    [
        "from tests.a.test_b import c",
        "import tests.a.test_b",
        "from tests.a import test_b",
        "from tests.a.conftest import c",
        "from benchmarks.x import y",
        "def f():\n    import benchmarks.x",
    ],
)
def test_such_imports_are_found(line):
    assert foreign(line)


def test_no_test_imports_another_test_or_a_benchmark():
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 100
    found = {str(f.relative_to(TESTS)): foreign(f.read_text(encoding="utf-8")) for f in files}
    assert {name: names for name, names in found.items() if names} == {}
