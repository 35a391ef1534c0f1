"""C99 text of straight-line programs: a header and a source, nothing but math.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    guard = f"{name.upper()}_H"
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
    name: str, about: str, inputs: Sequence[tuple[str, int]], size: int, dtype: str
) -> str:
    """Return the header of an object file with a function of many states."""
    arrays = [f"const {dtype} *{argument}" for argument, _ in inputs]
    sizes = "".join(f"   {argument}: {n} numbers a state\n" for argument, n in inputs)
    guard = f"{name.upper()}_H"
    return f"""/* {about} */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Many states at once, one after the other in each array:
{sizes}   result: {size} numbers a state
   It may be called from several threads.  Link with the C library; nothing else is needed. */
void {name}({", ".join(arrays)}, {dtype} *result, int64_t states);

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
    inputs = ", ".join(f"const {dtype} {name}[{size}]" for name, size in function.inputs)
    return f"void {function.name}({inputs}, {dtype} {function.output}[{function.size}])"


def _body(function: Function, dtype: str) -> str:
    lines, results = statements(
        function, language("c"), declare=f"const {dtype} ", end=";", single=dtype == "float"
    )
    unused = [name for name, _ in function.inputs if name not in used_inputs(function)]
    lines = [*(f"(void){name};" for name in unused), *lines]
    lines += [f"{function.output}[{k}] = {x};" for k, x in enumerate(results)]
    text = "\n".join(f"    {line}" for line in lines)
    return f"{_head(function, dtype)}\n{{\n{text}\n}}\n"
