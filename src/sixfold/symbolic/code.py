"""Code of the closed forms, and of any algorithm of the library, in other languages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import sixfold.quantities  # noqa: F401 (fills QUANTITIES)
from sixfold.arrays import Shape
from sixfold.choices import CodeLanguage, CodePrecision, CodeTarget
from sixfold.codegen.languages import (
    DTYPES,
    LANGUAGES,
    Function,
    Output,
    c_files,
    object_header,
    script,
)
from sixfold.codegen.names import MAX_MATLAB_NAME, MAX_NAME, comment, identifier, stem_of
from sixfold.errors import ArgumentError, NotApplicableError, OptionError, brief, one_of, visible
from sixfold.files import path_of, write_error, write_files
from sixfold.model import Model
from sixfold.runtime import (
    PUBLIC,
    QUANTITIES,
    Quantity,
    all_quantities,
    graph_of,
    require_model,
    target_object,
    target_text,
    targets,
)
from sixfold.scalar import cos, sin
from sixfold.show import block, fold, listing, plain
from sixfold.symbolic.polynomial import COSINE, POSITION, RATE, SINE, Polynomial, Ring, Variable
from sixfold.symbolic.shorthand import TITLES, term_names
from sixfold.symbolic.simplify import horner_eval


def _arguments(row: Quantity) -> tuple[str, ...]:
    return tuple(name for name in row.arrays if name not in row.optional)


#: Functions that can be exported, and their arguments.
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    row.name: _arguments(row) for row in all_quantities().values()
}

_WORDS = {
    "M": ("mass_matrix", ("q",)),
    "V": ("velocity_force", ("q", "qd")),
    "B": ("coriolis_coefficients", ("q",)),
    "C": ("centrifugal_coefficients", ("q",)),
    "G": ("gravity_force", ("q",)),
    "T": ("kinetic_energy", ("q", "qd")),
    "U": ("potential_energy", ("q",)),
    "tau": ("joint_forces", ("q", "qd", "qdd")),
}


@dataclass(frozen=True)
class Code:
    """Files of generated code, and the size of the programs in them."""

    files: Mapping[str, str | bytes]  #: Texts by file name; an object file is bytes.
    #: Additions, multiplications and divisions of one state; a fused pair counts as two.
    operations: int

    def __repr__(self) -> str:
        """Name the files and say how long they are; the texts are in `files`."""
        sizes = (f"{visible(name)} ({len(text):,})" for name, text in self.files.items())
        return f"<code of {self.operations:,} operations: {', '.join(sizes)}>"

    def _repr_html_(self) -> str:
        """Return the files, folded, for notebooks."""
        texts = {name: text for name, text in self.files.items() if isinstance(text, str)}
        parts = (fold(name, listing(text)) for name, text in texts.items())
        return block(f"<p>{plain(repr(self)[1:-1])}</p>", *parts)

    def write(self, folder: str | Path) -> list[Path]:
        """Write all files into a folder, made if need be; return their paths.

        Raises:
            OutputFileError: if one of them cannot be written; those that were there then stay.
        """
        place = path_of("Code.write", folder, "generated")
        contents = {
            place / name: content if isinstance(content, bytes) else content.encode()
            for name, content in self.files.items()
        }
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(place, error) from None
        write_files(contents)
        return list(contents)


def export(
    model: Model,
    function: str | Callable[..., Any] = "inverse_dynamics",
    *,
    language: CodeLanguage = "c",
    dtype: CodePrecision = "double",
    at: str | None = None,
    name: str | None = None,
    target: CodeTarget | None = None,
) -> Code:
    """Return one of sixfold's functions for a model as code without dependencies.

    The program is the compiler's own graph, so it does for this robot what the kernels do, one
    state at a time; models of any size.

    Args:
        model: the robot; `sixfold.group_inertias(model)` needs fewer operations for equal forces.
        function: a quantity, by name or itself; its arguments are those that have no default.
        language: "c" (C99, header and source), "python" (NumPy), "julia" or "matlab".
        dtype: "double" or "float"; of the C code.
        at: the body or frame, for quantities of one, such as "jacobian".
        name: of the files; default: made from the model's name.
        target: a processor: "aarch64" (64-bit Arm, NEON), "aarch64_sve256" or "aarch64_sve512" (SVE
            of at least that many bits), "riscv64" or "x86_64" (AVX2).  The files are a C header
            and an object file of the kernel itself, cross-compiled here: many states at a time, the
            bits of the kernels of this machine.  "ptx" is one text for Nvidia GPUs: a kernel of
            the arrays, the result and the number of states, one state a thread.

    Returns:
        Code, whose `.files` map names to texts, or to bytes for an object file.  A quantity with
        several results fills one array after the other in C, and returns a tuple in the other
        languages.  Numbers are row by row; Julia and MATLAB stack the matrices of an array with
        three axes.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("pendulum")
        >>> list(sf.export(model, "mass_matrix").files)
        ['pendulum_mass_matrix.h', 'pendulum_mass_matrix.c']
        >>> code = sf.export(model, sf.inverse_dynamics, language="python")
        >>> made = {}
        >>> exec(code.files["pendulum_inverse_dynamics.py"], made)
        >>> state = [0.3], [0.1], [2.0]
        >>> tau = made["pendulum_inverse_dynamics"](*state)
        >>> np.allclose(tau, sf.inverse_dynamics(model, *state))
        True
    """
    require_model("export", model)
    word = _quantity_name(function)
    _check_options(language, dtype)
    if target is not None:
        one_of("export", "target", targets(), target)
        if language != "c":
            where = f"target '{target}'"
            raise NotApplicableError(f"export: language '{language}'", where, "leave it out")
    # names of files and functions
    usual = f"{stem_of(model.name, language, word)}_{word}"
    stem = usual if name is None else _own_stem(name)
    row = QUANTITIES[word]
    public: Any = PUBLIC[word]
    if at is None and row.place:
        raise OptionError("export", "at", "the name of a body or frame", at)
    if at is not None and not row.place:
        what, fix = f"export: option 'at' = {brief(at)}", "leave it out"
        raise NotApplicableError(what, f"function '{word}'", fix)
    # arguments without defaults, by name
    place = {row.place: at} if row.place else {}
    shapes = {a: row.argument(model, a, None).shape for a in _arguments(row)}
    # an object file or PTX for another processor
    if target is not None:
        bound = partial(public, **place) if place else public
        of = comment(f"Sixfold: {word} of '{model.name}'" + (f" at '{at}'" if at else ""))
        return _object(bound, model, shapes, stem, of, dtype, target)
    # the compiler's own graph as text
    program, found = graph_of(
        lambda *x: public(model, **dict(zip(shapes, x, strict=True)), **place),
        list(shapes.values()),
    )
    names = ["result"] if len(found) == 1 else [f"result{k + 1}" for k in range(len(found))]
    results = tuple(map(Output, names, found))
    listed = ", ".join(f"{x.name} {x.shape}" for x in results)
    of = f"'{model.name}'" + (f" at '{at}'" if at else "")
    about = f"{word} of {of}: nq = {model.nq}, nv = {model.nv}; angular parts first; {listed}."
    sizes = tuple((a, prod(shape)) for a, shape in shapes.items())
    made = Function(stem, comment(about), sizes, results, program)
    files = _files(stem, comment(f"Sixfold: {about}"), [made], language, dtype, {})
    return Code(files, program.flops())


def _own_stem(name: Any) -> str:
    """Return the user's own name of the files and the function."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_MATLAB_NAME:
        words = f"a text of at most {MAX_MATLAB_NAME} characters"
        raise OptionError("export", "name", words, name)
    stem = identifier(name, MAX_NAME)
    if stem == f"robot_{name}":
        words = "a name that is not reserved in C, C++, Python, Julia or MATLAB"
        raise OptionError("export", "name", words, name)
    return stem


def _quantity_name(function: Any) -> str:
    """Return the name of a quantity, which is given by name or is the public function itself."""
    if isinstance(function, str):
        one_of("export", "function", FUNCTIONS, function)
        return function
    for name, public in PUBLIC.items():
        if public is function:
            return name
    expected = "one of sixfold's functions, by name or itself"
    fix = "name one; compile a function of your own with sixfold.compile"
    raise ArgumentError("export: argument 'function'", expected, function, fix)


def _object(
    function: Callable[..., Any],
    model: Model,
    shapes: Mapping[str, Shape],
    stem: str,
    about: str,
    dtype: str,
    target: str,
) -> Code:
    """Return a header and an object file for another processor, or PTX for a GPU."""
    kind = {"double": "float64", "float": "float32"}[dtype]
    about = f"{about}; nq = {model.nq}, nv = {model.nv}; angular parts first."
    if target == "ptx":
        text, program = target_text(function, model, shapes, kind, stem)
        return Code({f"{stem}.ptx": f"// {about}\n{text}"}, program.flops())
    bits = target.partition("_sve")[2]
    if bits:
        about += f" For processors whose SVE vectors have {bits} bits or more."
    code, kernel = target_object(function, model, shapes, kind, stem, target)
    outputs = kernel.layout.outputs
    names = ["result"] if len(outputs) == 1 else [f"result{k + 1}" for k in range(len(outputs))]
    inputs = [(name, shape) for name, shape in shapes.items()]
    header = object_header(stem, about, inputs, list(zip(names, outputs, strict=True)), dtype)
    return Code({f"{stem}.h": header, f"{stem}.o": code}, kernel.flops)


def closed_form(equations: Any, language: str, terms: str, *, dtype: str = "double") -> Code:
    """Return functions of the closed forms; parameters are an argument p unless numbers."""
    _check_options(language, dtype)
    words = [_WORDS[term][0] for term in term_names(terms)]
    stem = stem_of(equations.model.name, language, max(words, key=len, default=""))
    values = equations.values
    functions = [_function(equations, stem, term, values) for term in term_names(terms)]
    about = comment(f"Sixfold: closed-form equations of motion of '{equations.model.name}'")
    files = _files(stem, about, functions, language, dtype, values)
    return Code(files, sum(f.program.flops() for f in functions))


def closed_form_code(equations: Any, language: str, terms: str, *, dtype: str = "double") -> str:
    """Return the closed forms as one text; header and source of C one after the other."""
    return "\n".join(map(str, closed_form(equations, language, terms, dtype=dtype).files.values()))


def _files(
    stem: str,
    about: str,
    functions: list[Function],
    language: str,
    dtype: str,
    values: Mapping[str, float],
) -> Mapping[str, str | bytes]:
    if language == "c":
        return c_files(stem, about, functions, dtype, values)
    name = f"{stem}.{LANGUAGES[language].suffix}"
    return {name: script(stem, about, functions, language, values)}


def _function(equations: Any, stem: str, term: str, values: Mapping[str, float]) -> Function:
    word, arguments = _WORDS[term]
    forms = equations.forms
    table = {"T": forms.kinetic_energy, "U": forms.potential_energy}.get(term)
    table = getattr(forms, term) if table is None else table
    sizes = {"q": equations.model.nq, "qd": equations.model.nv, "qdd": equations.model.nv}
    inputs = [(a, sizes[a]) for a in arguments] + ([("p", len(values))] if values else [])

    def evaluate_all(*arrays: Any) -> Any:
        given = dict(zip((name for name, _ in inputs), arrays, strict=True))
        value_of = lookup(equations.ring, given, list(values))
        return _each(table, value_of, term == "M")

    program, (shape,) = graph_of(evaluate_all, [(size,) for _, size in inputs])
    result = Output(term, shape)
    return Function(f"{stem}_{word}", f"{TITLES[term]}.", tuple(inputs), (result,), program)


def lookup(ring: Ring, given: Mapping[str, Any], names: list[str]) -> Callable[[Variable], Any]:
    """Return the value of each variable from arrays q, qd, qdd and p."""
    kept: dict[Variable, Any] = {}

    def angle(k: int) -> Any:
        found = ring.angles[k]
        if found.name:
            return given["p"][names.index(found.name)]
        total: Any = None
        for j, n in found.combination:
            part = given["q"][j] if n == 1 else given["q"][j] * n
            total = part if total is None else total + part
        return total

    def value_of(v: Variable) -> Any:
        if v not in kept:
            if v.kind in (COSINE, SINE):
                kept[v] = cos(angle(v.angle)) if v.kind == COSINE else sin(angle(v.angle))
            elif v.value is not None:
                kept[v] = given["p"][names.index(v.name)]
            else:
                letter = {POSITION: "q", RATE: "qd"}.get(v.kind, "qdd")
                kept[v] = given[letter][int(v.name[len(letter) :]) - 1]
        return kept[v]

    return value_of


def _each(forms: Any, value_of: Callable[[Variable], Any], symmetric: bool) -> Any:
    if isinstance(forms, Polynomial):
        return horner_eval(forms, value_of)
    if symmetric:
        lower = [
            [horner_eval(forms[i][j], value_of) for j in range(i + 1)] for i in range(len(forms))
        ]
        n = range(len(forms))
        return [[lower[max(i, j)][min(i, j)] for j in n] for i in n]
    return [_each(x, value_of, False) for x in forms]


def _check_options(language: str, dtype: str) -> None:
    one_of("code", "language", LANGUAGES, language)
    one_of("code", "dtype", DTYPES, dtype)
    if dtype != "double" and language != "c":
        fix = "leave it out: the type of the arguments decides"
        raise NotApplicableError("option 'dtype'", f"code in language '{language}'", fix)
