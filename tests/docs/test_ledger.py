"""The equation ledger: every row names functions and tests that exist, and the tests call them."""

import ast
import importlib.util
import os
import subprocess
import sys
from functools import cache

import pytest

from sixfold.checks.explanation.ledger import TABLE
from tests.docs.ledger import ROOT, every_row, resolve, tables
from tests.syntax import parsed


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ledger_pages = load("ledger")


def source(word):
    """Return the rows of the source whose title holds a word."""
    return [row for row in every_row() if word in row.title]


@cache
def names_in(file):
    """Return the names of the test functions of a file."""
    tree = parsed(ROOT / file)
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_there_is_one_table_for_each_source():
    assert len(tables()) == 5


def test_the_page_shows_the_table_of_each_source_below_its_title():
    page = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    shown = ledger_pages.table
    for row in every_row():
        assert f"## {row.title}\n\n```{{ledger}} {row.source}\n```" in page
        assert f"| {row.where} | {row.says} | `{row.functions[0]}`" in shown(row.source)
    assert page.count("{ledger}") == len(tables())
    assert ledger_pages.BLOCK.search("text\n```{ledger} Planar skeleton\n```\n").group(1)
    with pytest.raises(ValueError, match="no source named Newton"):
        shown("Newton")


def test_every_row_says_where_and_what_and_its_texts_fit_a_table():
    for row in every_row():
        assert row.where and row.says, row
        for text in (row.where, row.says, row.note, *row.functions, *row.tests):
            assert "|" not in text and text == " ".join(text.split()), row


def test_the_table_is_part_of_the_package():
    assert TABLE.is_relative_to(ROOT / "src" / "sixfold")


def test_every_named_function_exists():
    for row in every_row():
        assert row.functions, (row, "names no function")
        for path in row.functions:
            assert path.startswith(("sixfold.", "tests.")), (row, path)
            assert "test_" not in path, (row, path, "a test is no function that computes")
            resolve(path)


def test_every_named_function_is_one_that_a_reader_may_call():
    for row in every_row():
        for path in row.functions:
            for part in path.split("."):
                special = part.startswith("__") and part.endswith("__")
                assert special or not part.startswith("_"), (row, path)


def test_every_named_test_exists():
    for row in every_row():
        assert row.tests, (row, "names no test")
        for address in row.tests:
            file, _, name = address.partition("::")
            assert name.startswith("test_"), (row, address)
            assert (ROOT / file).is_file(), (row, file)
            assert name in names_in(file), (row, address)


def python(*arguments):
    """Run Python as if no test were running."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_the_tests_of_every_row_execute_the_functions_that_it_names():
    done = python("-m", "tests.docs.executed")
    assert done.returncode == 0, done.stdout + done.stderr


WRONG = """
from tests.docs.executed import idle_rows
from tests.docs.ledger import Row

def row(test, *functions):
    return Row("", "", "", "", functions, ("tests/" + test,))

spatial, public = "sixfold.spatial.", "sixfold."
rows = [
    row("spatial/test_vectors.py::test_the_cross_product_matrix_is_skew_symmetric",
        spatial + "skew", spatial + "steiner", spatial + "Vector3.cross", spatial + "Inertia"),
    row("docs/test_equations_featherstone.py::"
        "test_joint_space_equation_holds_with_the_bias_of_inverse_dynamics",
        *(public + name for name in ("bias_force", "mass_matrix", "gravity_force", "integrate")),
        public + "dynamics.fast.inverse_dynamics.joint_forces", public + "dynamics.book.rnea.rnea"),
    row("docs/test_equations_featherstone.py::"
        "test_a_model_holds_connectivity_joints_geometry_and_inertias",
        *(public + "model.Tree." + name for name in ("parent", "gravity", "bodies", "support"))),
    row("symbolic/test_ma23.py::test_every_printed_coefficient_is_compared",
        "tests.symbolic.ma23.ma23_coefficients", "tests.symbolic.ma23.corrected"),
]
status, idle = idle_rows(rows)
print(status, *(sorted(idle[row]) for row in rows), sep="\\n")
"""


def test_functions_that_the_tests_of_a_row_leave_out_are_found():
    done = python("-c", WRONG)
    assert done.stdout.splitlines()[-5:] == [
        "0",
        "['sixfold.spatial.Inertia', 'sixfold.spatial.Vector3.cross', 'sixfold.spatial.steiner']",
        "['sixfold.dynamics.book.rnea.rnea', 'sixfold.gravity_force', 'sixfold.integrate']",
        "['sixfold.model.Tree.gravity', 'sixfold.model.Tree.support']",
        "['tests.symbolic.ma23.corrected']",
    ], done.stdout + done.stderr


def test_every_coefficient_of_the_ma23_has_its_row():
    rows = [row.where for row in source("Khatib") if row.where.startswith("MA23")]
    names = ("11", "22", "33", "44", "55", "66", "12", "13")
    assert rows == [f"MA23, A_{name}" for name in names]


NUMBERED = {
    "Featherstone": [f"({n})" for n in range(1, 9)],
    "Carius": [f"({n})" for n in range(1, 52)],
    "Concurrent Dynamics": [
        *(f"({n})" for n in range(1, 21) if n != 19),
        *("(5a)", "(18a)", "(18b)", "(18c)", "(19a)", "(19b)"),
        *("Def. 1", "Def. 2", "Prop. 1", "Prop. 2", "Prop. 5"),
        *(f"(P{n})" for n in range(1, 5)),
        *(f"(M{n})" for n in range(1, 5)),
        *(f"(N{n})" for n in range(1, 5)),
    ],
}


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_equation_has_its_row(name):
    present = {part.strip() for row in source(name) for part in row.where.split(",")}
    assert [number for number in NUMBERED[name] if number not in present] == []


@pytest.mark.parametrize("n", range(1, 7))
def test_every_remark_of_carius_has_its_row(n):
    assert any(row.where.startswith(f"Remark {n}") for row in source("Carius"))


def test_no_row_stands_twice():
    seen = set()
    for row in every_row():
        key = (row.title, row.where, row.says)
        assert key not in seen, key
        seen.add(key)
