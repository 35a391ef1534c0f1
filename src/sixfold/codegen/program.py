"""Straight-line programs as text in C99, NumPy, Julia and MATLAB: one statement an operation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple, get_args

from sixfold.choices import CodePrecision
from sixfold.codegen.reserved import is_reserved
from sixfold.errors import OptionError, visible

if TYPE_CHECKING:
    from sixfold.evaluate import Program

DTYPES: tuple[str, ...] = get_args(CodePrecision)
MAX_NAME = 150
"""Characters of a function's name, which names a file too."""
MAX_MATLAB_NAME = 63


class Output(NamedTuple):
    """A result: its name and shape; its numbers are row by row."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)


@dataclass(frozen=True)
class Function:
    """A function to be written: its name, arguments with sizes, results and operations."""

    name: str
    about: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[Output, ...]
    program: Program

    def split(self, numbers: Sequence[str]) -> list[tuple[Output, Sequence[str]]]:
        """Return each result with its own numbers, of those of all results."""
        found, start = [], 0
        for output in self.outputs:
            found.append((output, numbers[start : start + output.size]))
            start += output.size
        return found


@dataclass(frozen=True)
class Language:
    """How one language writes numbers, elements and operations; {0}, {1}, ... are arguments."""

    suffix: str
    first: int
    """Index of the first element of an array."""
    element: str
    operations: Mapping[str, str]


_COMMON = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
}


def _calls(prefix: str, names: Mapping[str, str]) -> dict[str, str]:
    one = {op: f"{prefix}{word}({{0}})" for op, word in names.items() if op != "atan2"}
    return {**one, "atan2": f"{prefix}{names['atan2']}({{0}}, {{1}})"}


_WORDS = {op: op for op in ("sqrt", "sin", "cos", "exp", "log", "tanh", "atan2")}
LANGUAGES: dict[str, Language] = {
    "c": Language(
        "c",
        0,
        "{0}[{1}]",
        {
            **_COMMON,
            **_calls("", {**_WORDS, "abs": "fabs"}),
            "sign": "{0} > 0 ? 1 : ({0} < 0 ? -1 : {0})",
            "if_positive": "{0} > 0 ? {1} : ({0} <= 0 ? {2} : {0})",
        },
    ),
    "python": Language(
        "py",
        0,
        "{0}[..., {1}]",
        {
            **_COMMON,
            **_calls("np.", {**_WORDS, "atan2": "arctan2", "abs": "abs", "sign": "sign"}),
            "if_positive": "np.where({0} > 0, {1}, np.where({0} <= 0, {2}, {0}))",
        },
    ),
    "julia": Language(
        "jl",
        1,
        "{0}[{1}]",
        {
            **_COMMON,
            **_calls("", {**_WORDS, "atan2": "atan", "abs": "abs", "sign": "sign"}),
            "if_positive": "{0} > 0 ? {1} : ({0} <= 0 ? {2} : {0})",
        },
    ),
    "matlab": Language(
        "m",
        1,
        "{0}({1})",
        {
            **_COMMON,
            **_calls("", {**_WORDS, "abs": "abs", "sign": "sign"}),
            "if_positive": "({0} > 0) .* {1} + ({0} <= 0) .* {2} + 0 .* {0}",
        },
    ),
}


def language(name: str) -> Language:
    """Return a language by name."""
    if name not in LANGUAGES:
        raise OptionError("code", "language", LANGUAGES, name)
    return LANGUAGES[name]


def identifier(name: str, most: int = MAX_NAME) -> str:
    """Return a name of at most some characters that every language accepts.

    One that is too long ends in a digest, so that names which differ at their end stay apart.
    """
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "robot"
    if plain[0].isdigit() or is_reserved(plain):
        plain = f"robot_{plain}"
    if len(plain) <= most:
        return plain
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain[: most - 9]}_{digest}"


def stem_of(robot: str, language: str, longest: str) -> str:
    """Return the beginning of the names of a robot's functions; the longest one ends in a word."""
    most = MAX_MATLAB_NAME if language == "matlab" else MAX_NAME
    return identifier(robot, most - len(longest) - 1)


def comment(text: str) -> str:
    """Return a line that ends no comment, docstring or line of any language.

    Each character is replaced on its own: no replacement makes a sequence that another one missed.
    """
    return visible(text).translate(_IN_COMMENTS)


_IN_COMMENTS = str.maketrans({"\\": "/", "*": "+", '"': "'"})


def statements(
    function: Function, way: Language, *, declare: str = "", end: str = "", single: bool = False
) -> tuple[list[str], list[str]]:
    """Return the statements of a program and the expressions of its results."""
    places = _inputs(function.inputs, way)
    words: list[str] = []
    lines: list[str] = []
    operations = _single(way.operations) if single else way.operations
    for k, (op, *arguments) in enumerate(function.program.nodes):
        if op == "input":
            words.append(places[arguments[0]])
        elif op == "const":
            words.append(constant(arguments[0], "f" if single else ""))
        else:
            text = operations[op].format(*(words[a] for a in arguments))
            lines.append(f"{declare}t{k} = {text}{end}")
            words.append(f"t{k}")
    return lines, [words[k] for k in function.program.outputs]


def constant(x: float, suffix: str = "") -> str:
    """Return a number as the shortest text that reads back as the same; in brackets if negative."""
    text = repr(float(x)) + suffix
    return f"({text})" if text.startswith("-") else text


def _single(operations: Mapping[str, str]) -> dict[str, str]:
    return {op: re.sub(r"^(\w+)\(", r"\1f(", text) for op, text in operations.items()}


def _inputs(inputs: Sequence[tuple[str, int]], way: Language) -> list[str]:
    return [way.element.format(name, k + way.first) for name, size in inputs for k in range(size)]


def used_inputs(function: Function) -> set[str]:
    """Return the names of the arguments that the results depend on."""
    names = [name for name, size in function.inputs for _ in range(size)]
    return {names[node[1]] for node in function.program.nodes if node[0] == "input"}
