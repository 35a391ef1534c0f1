"""The table of operations: every reader reads it, and no other file lists operations."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf
from sixfold.codegen.languages import LANGUAGES, Function, Output, c_files, script
from sixfold.codegen.opencl import _Writer
from sixfold.compiler.graph.program import Program
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.text import elementary
from sixfold.interop.array_api import Reader
from sixfold.scalar import BY_NAME, RULES, Op, apply
from sixfold.scalar.operations import FUSED, Rule

every_row = pytest.mark.parametrize("name", list(BY_NAME))
FOLDER = Path(sf.__file__).parent
POINTS = np.array([[0.3, 1.7, -0.6], [1.2, -0.4, 2.5], [0.9, 0.2, 0.0]])


def one_operation(name):
    """Return the program of one operation on its inputs."""
    arity = BY_NAME[name].arity
    nodes = (*(("input", k) for k in range(arity)), (name, *range(arity)))
    return Program(arity, nodes, (arity,)).verify()


def test_every_operation_has_a_row_and_a_name_of_its_own():
    assert RULES.keys() == set(Op)
    assert BY_NAME.keys() == {op.value for op in Op} | FUSED.keys()


@every_row
def test_every_column_that_a_program_needs_is_filled(name):
    row = BY_NAME[name]
    columns = ("llvm", "opencl", *LANGUAGES)
    for column in columns:
        assert getattr(row, column), column
    for column in ("opencl", *LANGUAGES):
        used = set(re.findall(r"\{(\d)\}", getattr(row, column)))
        assert used == set(map(str, range(row.arity))), column


@every_row
@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_write_the_text_of_the_table(name, language, monkeypatch):
    row = BY_NAME[name]
    marked = {column: f"MARK_{column}({getattr(row, column)})" for column in LANGUAGES}
    monkeypatch.setitem(BY_NAME, name, Rule(**{**vars(row), **marked}))
    program = one_operation(name)
    function = Function("f", "about", (("q", row.arity),), (Output("x", ()),), program)
    if language == "c":
        text = c_files("f", "about", [function], "double")["f.c"]
    else:
        text = script("f", "about", [function], language, {})
    assert text.count("MARK_") == 1 and f"MARK_{language}(" in text


@every_row
def test_opencl_writes_the_text_of_the_table(name):
    writer = _Writer("double", [f"a[{k}]" for k in range(3)], own=True)
    writer.run(one_operation(name))
    words = {x: writer.constant(v) for x, v in (("zero", 0.0), ("one", 1.0), ("minus_one", -1.0))}
    expected = BY_NAME[name].opencl.format("t0", "t1", "t2", **words)
    assert f"= {expected};" in writer.lines[-1]


@every_row
def test_kernels_and_array_libraries_compute_the_value_of_the_table(name):
    program, row = one_operation(name), BY_NAME[name]
    x = POINTS[:, : row.arity].copy()
    kernel = build(name, program, Layout(((row.arity,),), ((1,),)))[0]
    expected = np.array([row.value(*map(float, state)) for state in x])
    np.testing.assert_allclose(kernel(x)[:, 0], expected, rtol=4e-16, atol=1e-16)
    (found,) = Reader(program).run(np, list(x.T), np.asarray)
    np.testing.assert_allclose(found, expected, rtol=4e-16, atol=1e-16)


@pytest.mark.parametrize("op", [op for op in Op if RULES[op].parity], ids=lambda op: op.value)
def test_parity_is_that_of_the_value(op):
    sign = {"odd": -1.0, "even": 1.0}[RULES[op].parity]
    for x in (0.3, 1.2, 7.0):
        assert apply(op, -x) == sign * apply(op, x)


def test_functions_of_machine_code_are_those_that_the_table_calls():
    called = {row.llvm[1:] for row in BY_NAME.values() if row.llvm.startswith("@")}
    assert called == set(elementary.FUNCTIONS) | {"sin", "cos"}


def strings_of(node):
    """Return the texts that a literal list, tuple, set or dictionary consists of."""
    items = node.keys if isinstance(node, ast.Dict) else node.elts
    return {x.value for x in items if isinstance(x, ast.Constant) and isinstance(x.value, str)}


def test_no_other_file_lists_operations():
    functions = {"exp", "log", "tanh", "atan2", "sqrt", "sign", "if_positive"}
    # names of public functions, reserved words, and the polynomials themselves
    allowed = {"math.py", "scalar/__init__.py", "compiler/llvm/text/elementary.py"}
    found = set()
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            literal = isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)
            if literal and len(strings_of(node) & functions) > 2:
                found.add(path.relative_to(FOLDER).as_posix())
    assert found <= allowed, found - allowed
