"""Change one operator or number of the library at a time: the tests must notice.

    python -m tests.long.mutants [--mutants 60] [--seed 1] [--minutes 10] [--commit HEAD] [--list]

Mutants are drawn over all packages in turn.  Each is tried in a copy of the commit, with the tests
that the table of CONTRIBUTING.md names for its package, until the first failure.  The exit status
is 1 if some survive: each is a missing test, or changes nothing that a user can see.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Mutant(NamedTuple):
    """One change of one expression."""

    path: Path  # below src/sixfold
    line: int
    start: int  # first character of the expression in the file
    stop: int
    before: str
    after: str


def mutants_of(path: Path, source: Path) -> Iterator[Mutant]:
    """Yield every change of a file: operators swapped, numbers changed, `not` left out."""
    text = (source / path).read_text(encoding="utf-8")
    starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
    for node in _expressions(ast.parse(text)):
        after = _changed(node)
        if after is None or not text.isascii():
            continue
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(path, node.lineno, start, stop, text[start:stop], f"({after})")


def _expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield expressions in bodies of functions; texts and errors are left alone."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            waiting: list[ast.AST] = list(function.body)
            while waiting:
                node = waiting.pop()
                # nested functions are met by the walk itself
                if isinstance(node, (ast.Raise, ast.JoinedStr, ast.FunctionDef, ast.Assert)):
                    continue
                if isinstance(node, ast.expr):
                    yield node
                waiting += ast.iter_child_nodes(node)


def _changed(node: ast.expr) -> str | None:
    """Return another expression in place of one, or None."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return repr(node.value + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return ast.unparse(node.operand)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
        return ast.unparse(ast.Compare(node.left, ops, node.comparators))
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return None
        return ast.unparse(ast.BinOp(node.left, SWAPS[type(node.op)](), node.right))
    if isinstance(node, ast.BoolOp):
        return ast.unparse(ast.BoolOp(SWAPS[type(node.op)](), node.values))
    return None


def drawn(source: Path, count: int, seed: int) -> Iterator[Mutant]:
    """Yield mutants, one package after the other, files in proportion to what can be changed."""
    chance = random.Random(seed)
    packages: dict[str, list[Mutant]] = {}
    for file in sorted(source.rglob("*.py")):
        path = file.relative_to(source)
        packages.setdefault(path.parts[0], []).extend(mutants_of(path, source))
    names = [name for name in sorted(packages) if len(packages[name]) > 20]
    for _, name in zip(range(count), itertools.cycle(names), strict=False):
        yield chance.choice(packages[name])


def tests_of(path: Path, contributing: str) -> list[str]:
    """Return the tests that CONTRIBUTING.md names for a file: the longest entry that holds it."""
    rows = contributing.split("| changed | run |")[1].split("\n\n")[0].splitlines()[2:]
    found: list[tuple[int, str]] = []
    for row in rows:
        changed, run = row.strip("| ").split(" | ")
        for name in re.findall(r"`([\w/.]+)`", changed):
            if path.as_posix() == name or path.as_posix().startswith(name + "/"):
                own = path.parts[0] if "the folder of the same name" in run else ""
                found.append((len(name), " ".join([own, *re.findall(r"`([\w/.]+)`", run)])))
    assert found, f"CONTRIBUTING.md names no tests for {path}"
    return [f"tests/{test}" for test in max(found)[1].split()]


def caught_by(mutant: Mutant, copy: Path, minutes: float) -> str:
    """Return the first test that fails with a mutant, 'too long', or an empty text."""
    file = copy / "src" / "sixfold" / mutant.path
    text = file.read_text(encoding="utf-8")
    tests = tests_of(mutant.path, (copy / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    file.write_text(text[: mutant.start] + mutant.after + text[mutant.stop :], encoding="utf-8")
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=60.0 * minutes,
        )
    except subprocess.TimeoutExpired:
        return "too long"
    finally:
        file.write_text(text, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.M)
    return "" if run.returncode == 0 else failed[1] if failed else f"status {run.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0, help="for one mutant")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    options = parser.parse_args()
    git = ["git", "-C", str(ROOT), "worktree"]
    survived = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        subprocess.run([*git, "add", "--detach", "-q", str(copy), options.commit], check=True)
        try:
            for mutant in drawn(copy / "src" / "sixfold", options.mutants, options.seed):
                change = f"{mutant.path}:{mutant.line}: {mutant.before!r} -> {mutant.after!r}"
                begun = time.perf_counter()
                test = "-" if options.list else caught_by(mutant, copy, options.minutes)
                if not test:
                    survived.append(change)
                took = time.perf_counter() - begun
                print(f"{test or 'SURVIVED':60} {took:5.0f} s  {change}", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(copy)], check=True)
    if not options.list:
        print(f"{options.mutants - len(survived)} of {options.mutants} mutants caught")
    return bool(survived)


if __name__ == "__main__":
    sys.exit(main())
