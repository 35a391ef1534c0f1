"""NumPy, Julia and MATLAB text of straight-line programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sixfold.codegen.program import Function, constant, language, statements

Parameters = Mapping[str, float]


def script(name: str, about: str, functions: Sequence[Function], kind: str, p: Parameters) -> str:
    """Return one file of functions in "python", "julia" or "matlab"."""
    write = {"python": _python, "julia": _julia, "matlab": _matlab}[kind]
    return write(name, about, functions, p)


def _values(p: Parameters, comment: str) -> list[str]:
    return [f"    {constant(value).strip('()')}, {comment} {key}" for key, value in p.items()]


def _python(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    parts = [f'"""{about}\n\nStates may have leading axes."""\n\nimport numpy as np\n']
    if p:
        parts.append("\n".join(["PARAMETERS = np.array([", *_values(p, "#"), "])", ""]))
    for f in functions:
        lines, results = statements(f, language("python"))
        arguments = ", ".join("p=PARAMETERS" if n == "p" else n for n, _ in f.inputs)
        lines = [f"{n} = np.asarray({n})" for n, _ in f.inputs] + lines
        lead = " + ".join(f"0.0 * {n}[..., 0]" for n, _ in f.inputs if n != "p")
        lines += [f"one = 1.0 + {lead}  # the leading axes"]
        for output, numbers in f.split(results):
            lines += [f"{output.name} = np.stack([", *(f"    one * {x}," for x in numbers)]
            shape = ", ".join(map(str, output.shape))
            lines += [
                f"], axis=-1).reshape(*one.shape, {shape})" if shape else "], axis=-1)[..., 0]"
            ]
        lines.append(f"return {', '.join(output.name for output in f.outputs)}")
        body = "\n".join(f"    {line}" for line in lines)
        parts.append(f'\ndef {f.name}({arguments}):\n    """{f.about}"""\n{body}\n')
    return "\n".join(parts)


def _julia(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    parts = [f"# {about}"]
    if p:
        parts.append("\n".join(["const PARAMETERS = [", *_values(p, "#"), "]"]))
    for f in functions:
        lines, results = statements(f, language("julia"))
        arguments = ", ".join("p=PARAMETERS" if n == "p" else n for n, _ in f.inputs)
        arrays = [_joined(numbers, output.shape, " ") for output, numbers in f.split(results)]
        lines.append(f"return {', '.join(arrays)}")
        body = "\n".join(f"    {line}" for line in lines)
        parts.append(f"# {f.about}\nfunction {f.name}({arguments})\n{body}\nend")
    return "\n\n".join(parts) + "\n"


def _matlab(name: str, about: str, functions: Sequence[Function], p: Parameters) -> str:
    # no function has a name that ends so
    handles = "\n".join(f"    robot_.{f.outputs[0].name} = @{f.name};" for f in functions)
    values = f"    robot_.p = [\n{_matlab_values(p)}\n    ];\n" if p else ""
    struct = (
        f"function robot_ = {name}()\n    % {about}\n    % robot = {name}(); robot.M(q) and so on\n"
        f"{handles}\n{values}end"
    )
    alone = [f.name for f in functions] == [name]  # the function of the file itself
    parts = [] if alone else [struct]
    for f in functions:
        lines, results = statements(f, language("matlab"), end=";")
        arguments = ", ".join(n for n, _ in f.inputs)
        for output, numbers in f.split(results):
            lines.append(f"{output.name} = {_joined(numbers, output.shape, ', ')};")
        body = "\n".join(f"    {line}" for line in lines)
        names = ", ".join(output.name for output in f.outputs)
        names = names if len(f.outputs) == 1 else f"[{names}]"
        parts.append(f"function {names} = {f.name}({arguments})\n    % {f.about}\n{body}\nend")
    return "\n\n".join(parts) + "\n"


def _matlab_values(p: Parameters) -> str:
    return "\n".join(f"        {constant(x).strip('()')}; % {key}" for key, x in p.items())


def _joined(results: Sequence[str], shape: tuple[int, ...], gap: str) -> str:
    """Return the results as a number, a column or a matrix row by row."""
    if not shape:
        return results[0]
    if len(shape) == 1:
        return f"[{(', ' if gap == ' ' else '; ').join(results)}]"
    columns = shape[-1]
    rows = [gap.join(results[k : k + columns]) for k in range(0, len(results), columns)]
    return f"[{'; '.join(rows)}]"
