"""What type checkers see: every public name, the words of options, and names that do not exist."""

import ast
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import get_args

import pytest

import sixfold as sf
from sixfold import choices, quantities
from sixfold.codegen.languages import LANGUAGES
from sixfold.control.plan import ORDERS
from sixfold.identification.problem import FRICTION
from sixfold.quantities.dynamics import METHODS
from sixfold.runtime.compile_api import targets
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.sweeps.reducers import BY_NAME
from tests.syntax import parsed
from tests.typing.user_script import main

SCRIPT = Path(__file__).with_name("user_script.py")
SOURCES = Path(sf.__file__).parents[1]
WRONG = {
    "sf.nosuch": "attr",
    "sf.load('pendulum', mimic='coupled')": "arg",
    "sf.forward_dynamics(M, [0.0], [0.0], [0.0], method='abba')": "arg",
    "sf.mass_matrix(M, [0.0], backend='jit')": "arg",
    "sf.mass_matrix(M, [0.0], inertia=None)": "call",
    "sf.body_velocities(M, [0.0], [0.0], kind='local')": "call",
    "sf.simulate(M, None, None, 1.0, integrator='rk5')": "arg",
    "sf.simulate(M, None, None, 1.0, contacts='floor')": "arg",
    "sf.simulate(M, None, None, 1.0, contrl=None)": "call",
    "sf.export(M, language='fortran')": "arg",
    "sf.inverse_dynamics(M, [0.0], [0.0])": "call",
    "sf.Revolute(3)": "arg",
}
"""What both have to refuse, and a part of the code of mypy's error."""


def test_user_script_names_every_public_name():
    tree = parsed(SCRIPT)
    named = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "sf"
    }
    assert sorted(set(sf.__all__) - named) == []


def test_every_quantity_is_public_in_one_place():
    modules = [sf, *(getattr(sf, name) for name in sf.__all__)]
    lists = [m.__all__ for m in modules if isinstance(m, types.ModuleType)]
    for name in quantities.__all__:
        assert sum(name in names for names in lists) == 1, name


def test_user_script_runs():
    pytest.importorskip("matplotlib")
    assert main() == 0


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """A script with one mistake in each line."""
    script = tmp_path_factory.mktemp("wrong") / "wrong.py"
    script.write_text("import sixfold as sf\nM = sf.load('pendulum')\n" + "\n".join(WRONG) + "\n")
    return script


@pytest.fixture(scope="module")
def mypy_errors(wrong, tmp_path_factory):
    """What `mypy --strict` says of both scripts: lines by file."""
    folder = tmp_path_factory.mktemp("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull]
    command += ["--cache-dir", str(folder), "--follow-imports", "silent", str(SCRIPT), str(wrong)]
    environment = {**os.environ, "MYPYPATH": str(SOURCES)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    assert "Found" in done.stdout, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": error:" in line]
    return {
        path: [line for line in lines if line.split(":")[0].endswith(path.name)]
        for path in (SCRIPT, wrong)
    }


def test_user_script_passes_mypy_strict(mypy_errors):
    assert mypy_errors[SCRIPT] == []


def test_mypy_reports_wrong_names_words_and_types(wrong, mypy_errors):
    errors = {int(line.split(":")[1]): line for line in mypy_errors[wrong]}
    for at, (text, code) in enumerate(WRONG.items(), start=3):
        assert code in errors.get(at, ""), text


@pytest.mark.skipif(shutil.which("node") is None, reason="pyright needs node")
def test_pyright_agrees_with_mypy(wrong, tmp_path):
    pytest.importorskip("pyright", reason="pip install pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command += [str(SCRIPT), str(wrong)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {(done.stdout + done.stderr)[:200]}")
    found = json.loads(done.stdout)
    errors = [x for x in found["generalDiagnostics"] if x["severity"] == "error"]
    assert [x for x in errors if x["file"] == str(SCRIPT)] == []
    lines = {x["range"]["start"]["line"] + 1 for x in errors if x["file"] == str(wrong)}
    assert lines == set(range(3, 3 + len(WRONG)))


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (choices.Method, METHODS),
        (choices.FixedStep, INTEGRATORS),
        (choices.CodeLanguage, LANGUAGES),
        (choices.CodeTarget, targets()),
        (choices.SplineName, ORDERS),
        (choices.Reduction, BY_NAME),
    ],
)
def test_words_in_types_are_those_that_calls_take(words, known):
    assert sorted(get_args(words)) == sorted(known)


def test_friction_takes_the_words_in_its_type():
    words = get_args(get_args(choices.Friction)[1])
    assert {True, False, *words} == set(FRICTION)


def test_package_says_that_it_has_types():
    assert Path(sf.__file__).with_name("py.typed").exists()
