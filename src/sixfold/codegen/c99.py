"""C99 text of straight-line programs: a header and a source, nothing but math.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from sixfold.arrays import Shape
from sixfold.codegen.program import DTYPES, Function, constant, language, statements, used_inputs
from sixfold.errors import OptionError


def c_files(
    name: str,
    about: str,
    functions: Sequence[Function],
    dtype: str,
    parameters: Mapping[str, float] | None = None,
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
    table = _table(name, parameters or {}, dtype)
    declarations = "\n".join(f"/* {f.about} */\n{_head(f, dtype)};\n" for f in functions)
    header = (
        f"/* {about} */\n#ifndef {guard}\n#define {guard}\n\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{table[0]}{declarations}'
        f"\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )
    bodies = "\n".join(_body(f, dtype) for f in functions)
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


def _table(name: str, parameters: Mapping[str, float], dtype: str) -> tuple[str, str]:
    """Return declaration and definition of the parameters' values."""
    if not parameters:
        return "", ""
    head = f"const {dtype} {name}_parameters[{len(parameters)}]"
    suffix = "f" if dtype == "float" else ""
    rows = "".join(
        f"    {constant(value, suffix).strip('()')}, /* p[{k}]: {key} */\n"
        for k, (key, value) in enumerate(parameters.items())
    )
    listed = f"/* Values of the parameters p, in the order of the source. */\nextern {head};\n\n"
    return listed, f"{head} = {{\n{rows}}};\n\n"


def _head(function: Function, dtype: str) -> str:
    inputs = [f"const {dtype} {name}[{size}]" for name, size in function.inputs]
    outputs = [f"{dtype} {output.name}[{output.size}]" for output in function.outputs]
    return f"void {function.name}({', '.join(inputs + outputs)})"


def _body(function: Function, dtype: str) -> str:
    lines, results = statements(
        function, language("c"), declare=f"const {dtype} ", end=";", single=dtype == "float"
    )
    unused = [name for name, _ in function.inputs if name not in used_inputs(function)]
    lines = [*(f"(void){name};" for name in unused), *lines]
    for output, numbers in function.split(results):
        lines += [f"{output.name}[{k}] = {x};" for k, x in enumerate(numbers)]
    text = "\n".join(f"    {line}" for line in lines)
    return f"{_head(function, dtype)}\n{{\n{text}\n}}\n"
