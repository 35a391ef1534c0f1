"""Straight-line programs as source code: C99, NumPy, Julia and MATLAB, one statement an operation.

The text of each operation comes from the table of operations, `scalar/operations.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from sixfold.arrays import Shape
from sixfold.choices import CodePrecision
from sixfold.errors import OptionError
from sixfold.scalar import BY_NAME

if TYPE_CHECKING:
    from sixfold.compiler.graph.program import Program

DTYPES: tuple[str, ...] = get_args(CodePrecision)
#: Names and values of the parameters of closed forms, which functions take as `p`.
Parameters = Mapping[str, float]


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
    """How a language writes files, elements of arrays, statements and comments."""

    name: str  # column of the table of operations
    suffix: str  # of files
    first: int  # index of the first element of an array
    element: str
    end: str = ""  # of a statement


LANGUAGES: dict[str, Language] = {
    "c": Language("c", "c", 0, "{0}[{1}]", ";"),
    "python": Language("python", "py", 0, "{0}[..., {1}]"),
    "julia": Language("julia", "jl", 1, "{0}[{1}]"),
    "matlab": Language("matlab", "m", 1, "{0}({1})", ";"),
}


# -- statements


class Statements:
    """Writes the statements of a program, one for each operation."""

    def __init__(
        self,
        language: str,
        inputs: Sequence[str],
        *,
        declare: str = "",
        end: str = "",
        mark: str = "",
    ) -> None:
        """Start without statements.

        Args:
            language: column of the table of operations.
            inputs: expressions of the program's inputs.
            declare: begins each statement.
            end: ends each statement.
            mark: distinguishes the names from those of other programs in the same function.
        """
        self.language, self.inputs, self.mark = language, inputs, mark
        self.declare, self.end = declare, end
        self.lines: list[str] = []

    def run(self, program: Program) -> list[str]:
        """Write all nodes; return the expressions of the results."""
        words: list[str] = []
        for k, (op, *arguments) in enumerate(program.nodes):
            if op == "input":
                words.append(self.input(self.inputs[arguments[0]], k))
            elif op == "const":
                words.append(self.constant(arguments[0]))
            else:
                words.append(self.node(op, k, [words[a] for a in arguments]))
        return [words[k] for k in program.outputs]

    def input(self, place: str, k: int) -> str:
        """Return the expression of an input."""
        return place

    def constant(self, x: float) -> str:
        """Return a constant."""
        return constant(x)

    def node(self, op: Any, k: int, given: list[str]) -> str:
        """Write a node that is no input and no constant; return its name."""
        return self.assign(k, self.operation(op).format(*given))

    def operation(self, op: str) -> str:
        """Return the text of an operation, with {0}, {1}, ... for its arguments."""
        text: str = getattr(BY_NAME[op], self.language)
        return text

    def assign(self, k: int, value: str) -> str:
        """Write the statement of a node; return its name."""
        name = f"t{self.mark}{k}"
        self.lines.append(f"{self.declare}{name} = {value}{self.end}")
        return name


class _SingleC(Statements):
    """Statements of C in single precision: sinf for sin, and constants that end in f."""

    def constant(self, x: float) -> str:
        return constant(x, "f")

    def operation(self, op: str) -> str:
        return re.sub(r"^(\w+)\(", r"\1f(", super().operation(op))


def constant(x: float, suffix: str = "") -> str:
    """Return a number as the shortest text that reads back as the same; in brackets if negative."""
    text = repr(float(x)) + suffix
    return f"({text})" if text.startswith("-") else text


def _statements(function: Function, language: str, dtype: str = "double") -> Statements:
    """Return a writer for the body of a function."""
    way = LANGUAGES[language]
    elements = [
        way.element.format(name, k + way.first)
        for name, size in function.inputs
        for k in range(size)
    ]
    kind = _SingleC if dtype == "float" else Statements
    declare = f"const {dtype} " if language == "c" else ""
    return kind(language, elements, declare=declare, end=way.end)


def _indent(lines: Sequence[str], indent: str = "    ") -> str:
    return "\n".join(f"{indent}{line}" for line in lines)


def _values(p: Parameters, remark: str, suffix: str = "", comma: str = ",") -> list[str]:
    """Return a line for each parameter: its value, and its name in a remark."""
    return [
        f"{constant(x, suffix).strip('()')}{comma} {remark.format(k, key)}"
        for k, (key, x) in enumerate(p.items())
    ]


# -- C


def c_files(
    name: str,
    about: str,
    functions: Sequence[Function],
    dtype: str,
    parameters: Parameters | None = None,
) -> dict[str, str]:
    """Return {file name: text} of a header and a source.

    Args:
        name: of the files, and the beginning of every function's name.
        about: one line on what they compute.
        functions: what to write.
        dtype: "double" or "float".
        parameters: names and values of the parameters, where functions take them as `p`.
    """
    if dtype not in DTYPES:
        raise OptionError("code", "dtype", DTYPES, dtype)
    guard = f"{name}_H"
    table = _c_table(name, parameters or {}, dtype)
    declarations = "\n".join(f"/* {f.about} */\n{_c_head(f, dtype)};\n" for f in functions)
    header = (
        f"/* {about} */\n#ifndef {guard}\n#define {guard}\n\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{table[0]}{declarations}'
        f"\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )
    bodies = "\n".join(_c_body(f, dtype) for f in functions)
    source = f'/* {about} */\n#include "{name}.h"\n\n#include <math.h>\n\n{table[1]}{bodies}'
    return {f"{name}.h": header, f"{name}.c": source}


def object_header(
    name: str,
    about: str,
    inputs: Sequence[tuple[str, Shape]],
    outputs: Sequence[tuple[str, Shape]],
    dtype: str,
) -> str:
    """Return the header of an object file with a function of many states; empty arrays are out."""
    full = [(x, prod(shape)) for x, shape in inputs if prod(shape)]
    results = [(x, shape) for x, shape in outputs if prod(shape)]
    arrays = [f"const {dtype} *{x}" for x, _ in full] + [f"{dtype} *{x}" for x, _ in results]
    sizes = "".join(f"   {x}: {n} numbers a state\n" for x, n in full)
    for x, shape in results:
        sizes += f"   {x}: {' x '.join(map(str, shape)) or 1} numbers a state, row by row\n"
    guard = f"{name}_H"
    return f"""/* {about} */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Many states at once, one after the other in each array:
{sizes}   It may be called from several threads, and needs nothing but the C library. */
void {name}({", ".join(arrays)}, int64_t states);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _c_table(name: str, parameters: Parameters, dtype: str) -> tuple[str, str]:
    """Return declaration and definition of the parameters' values."""
    if not parameters:
        return "", ""
    head = f"const {dtype} {name}_parameters[{len(parameters)}]"
    suffix = "f" if dtype == "float" else ""
    rows = _indent(_values(parameters, "/* p[{0}]: {1} */", suffix))
    listed = f"/* Values of the parameters p, in the order of the source. */\nextern {head};\n\n"
    return listed, f"{head} = {{\n{rows}\n}};\n\n"


def _c_head(function: Function, dtype: str) -> str:
    inputs = [f"const {dtype} {name}[{size}]" for name, size in function.inputs]
    outputs = [f"{dtype} {output.name}[{output.size}]" for output in function.outputs]
    return f"void {function.name}({', '.join(inputs + outputs)})"


def _c_body(function: Function, dtype: str) -> str:
    writer = _statements(function, "c", dtype)
    results = writer.run(function.program)
    # compilers warn of arguments that no statement reads
    names = [name for name, size in function.inputs for _ in range(size)]
    used = {names[node[1]] for node in function.program.nodes if node[0] == "input"}
    unused = [f"(void){name};" for name, _ in function.inputs if name not in used]
    lines = [*unused, *writer.lines]
    for output, numbers in function.split(results):
        lines += [f"{output.name}[{k}] = {x};" for k, x in enumerate(numbers)]
    return f"{_c_head(function, dtype)}\n{{\n{_indent(lines)}\n}}\n"


# -- NumPy, Julia and MATLAB


def script(name: str, about: str, functions: Sequence[Function], kind: str, p: Parameters) -> str:
    """Return one file of functions in "python", "julia" or "matlab"."""
    write = {"python": _python, "julia": _julia, "matlab": _matlab}[kind]
    return write(name, about, functions, p)


def _python(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    parts = [f'"""{about}\n\nStates may have leading axes."""\n\nimport numpy as np\n']
    if p:
        parts.append(f"PARAMETERS = np.array([\n{_indent(_values(p, '# {1}'))}\n])\n")
    for f in functions:
        writer = _statements(f, "python")
        results = writer.run(f.program)
        arguments = ", ".join("p=PARAMETERS" if n == "p" else n for n, _ in f.inputs)
        lines = [f"{n} = np.asarray({n})" for n, _ in f.inputs] + writer.lines
        lead = " + ".join(f"0.0 * {n}[..., 0]" for n, _ in f.inputs if n != "p")
        lines += [f"one = 1.0 + {lead}  # the leading axes"]
        for output, numbers in f.split(results):
            lines += [f"{output.name} = np.stack([", *(f"    one * {x}," for x in numbers)]
            shape = ", ".join(map(str, output.shape))
            lines += [
                f"], axis=-1).reshape(*one.shape, {shape})" if shape else "], axis=-1)[..., 0]"
            ]
        lines.append(f"return {', '.join(output.name for output in f.outputs)}")
        body = _indent(lines)
        parts.append(f'\ndef {f.name}({arguments}):\n    """{f.about}"""\n{body}\n')
    return "\n".join(parts)


def _julia(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    parts = [f"# {about}"]
    if p:
        parts.append(f"const PARAMETERS = [\n{_indent(_values(p, '# {1}'))}\n]")
    for f in functions:
        writer = _statements(f, "julia")
        results = writer.run(f.program)
        arguments = ", ".join("p=PARAMETERS" if n == "p" else n for n, _ in f.inputs)
        arrays = [_array(numbers, output.shape, " ") for output, numbers in f.split(results)]
        lines = [*writer.lines, f"return {', '.join(arrays)}"]
        body = _indent(lines)
        parts.append(f"# {f.about}\nfunction {f.name}({arguments})\n{body}\nend")
    return "\n\n".join(parts) + "\n"


def _matlab(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    # no function has a name that ends so
    handles = "\n".join(f"    robot_.{f.outputs[0].name} = @{f.name};" for f in functions)
    rows = _indent(_values(p, "% {1}", comma=";"), " " * 8)
    values = f"    robot_.p = [\n{rows}\n    ];\n" if p else ""
    struct = (
        f"function robot_ = {name}()\n    % {about}\n    % robot = {name}(); robot.M(q) and so on\n"
        f"{handles}\n{values}end"
    )
    alone = [f.name for f in functions] == [name]  # the function of the file itself
    parts = [] if alone else [struct]
    for f in functions:
        writer = _statements(f, "matlab")
        results, lines = writer.run(f.program), writer.lines
        arguments = ", ".join(n for n, _ in f.inputs)
        for output, numbers in f.split(results):
            lines.append(f"{output.name} = {_array(numbers, output.shape, ', ')};")
        body = _indent(lines)
        names = ", ".join(output.name for output in f.outputs)
        names = names if len(f.outputs) == 1 else f"[{names}]"
        parts.append(f"function {names} = {f.name}({arguments})\n    % {f.about}\n{body}\nend")
    return "\n\n".join(parts) + "\n"


def _array(results: Sequence[str], shape: tuple[int, ...], gap: str) -> str:
    """Return the results as a number, a column or a matrix row by row."""
    if not shape:
        return results[0]
    if not results:
        return f"zeros({', '.join(map(str, shape))})"
    if len(shape) == 1:
        return f"[{(', ' if gap == ' ' else '; ').join(results)}]"
    # three axes become a matrix: all rows below each other
    columns = shape[-1]
    rows = [gap.join(results[k : k + columns]) for k in range(0, len(results), columns)]
    return f"[{'; '.join(rows)}]"
