"""Public functions: a decorated function of numbers becomes a function of arrays.

The signature and the docstring are the public ones, the body is the algorithm for one state.  The
decorator adds the checks, batches, machine code, `out=` and the texts of the common arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar

from sixfold.runtime.call import general, sparse_call
from sixfold.runtime.quantity import (
    ARRAYS,
    OPTIONS,
    PUBLIC,
    QUANTITIES,
    Choices,
    Quantity,
    Reading,
    full_signature,
)

P = ParamSpec("P")
R = TypeVar("R")

_PLACE = """[m], shape (..., 3);
            its origin by default."""
#: Texts of the common arguments; a docstring that has its own text for one keeps it.
ARGUMENTS = {
    "model": "the robot.",
    "q": "configuration [rad or m], shape (..., nq).",
    "q0": "configuration to start from [rad or m], shape (..., nq).",
    "q1": "configuration to reach [rad or m], shape (..., nq).",
    "v": "joint velocity [rad/s or m/s], shape (..., nv).",
    "a": "joint acceleration [rad/s^2 or m/s^2], shape (..., nv).",
    "tau": "joint forces [N m or N], shape (..., nv).",
    "dt": "time [s], a number or of the leading shape; one second by default.",
    "given": """names of the joints whose acceleration is given.  By default all but those of
            floating bases.""",
    "f_ext": "external force on each body (n; f) [N m; N], shape (..., nb, 6).",
    "f_ext_frame": (
        '"world" (world axes about the world origin) or "body" (body axes and origin).'
    ),
    "name": "a body or frame.",
    "point": f"reference point in the frame's coordinates {_PLACE}",
    "frame": "axes and reference point, as in `jacobian`.",
    "rows": """"pose", "position", "orientation", or a tuple of rows of `jacobian`, such as (3, 5)
            for x and z.""",
    "inertias": """inertial parameters of all bodies instead of the model's own, shape
            (..., nb, 10), each (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) with h = m c and I
            about the body's origin.  Rotors, damping, friction and springs stay the model's.""",
    "sparse": """leave out numbers that are zero for every state: each result is then a tuple
            (values, rows, columns), with values of shape (..., n) and fixed rows and columns.""",
    "out": "array for the result, of its shape and dtype.",
    "backend": '"numpy" for the reference evaluation; by default machine code where there is any.',
}
PUBLIC_NAMES: set[str] = set()  #: Names of the functions that are public names of the package.
_COUNTS = {2: "two", 3: "three", 4: "four"}


def quantity(
    *outputs: str,
    joint_space: bool = False,
    rolls: bool = False,
    options: Mapping[str, Choices] | None = None,
    place: str = "name",
    registered: bool = True,
    **properties: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a public function of arrays from one that computes the numbers of one state.

    The body gets the model, whose `tree` may be a reduced one, and lists of numbers of any kind;
    it returns numbers in nested lists.  Parameters are known by their names (`ARRAYS`, `OPTIONS`).

    Args:
        outputs: sizes of the axes of each result for one state, for example "nv nv".
        joint_space: its result is the same whichever of two bodies an inertia is counted with, so
            that kernels may take the reduced tree.
        rolls: it goes over the bodies only, so that it has a rolled form (loops over bodies).
        options: words of keyword arguments that are not in `OPTIONS`, or a function that checks
            what was given.
        place: the parameter that names a body or frame, if there is one.
        registered: whether it is a quantity of its own; one of several for a public function is
            not.
        properties: other fields of `Quantity`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name, signature = function.__name__, full_signature(function, len(outputs))
        parameters = signature.parameters
        arrays = tuple(n for n in parameters if n in ARRAYS)
        reading = Reading(function, arrays, joint_space, rolls)
        row = _row(name, reading, outputs, parameters, options, place, properties)
        made = _public(function, row, signature)
        if not registered:
            return made
        made.__doc__ = complete_docstring(function, parameters, len(outputs))
        QUANTITIES[name], PUBLIC[name] = row, made
        PUBLIC_NAMES.add(name)
        return made

    return decorate


def call_of(
    reading: Callable[..., Any],
    *outputs: str,
    part_of: str,
    arrays: str,
    keywords: Mapping[str, Any] | None = None,
    options: Mapping[str, Choices] | None = None,
    **properties: Any,
) -> Callable[..., Any]:
    """Return a function of arrays for a reading that works for a public function.

    It is no quantity of its own: messages name the public function.

    Args:
        reading: takes the model, a tree and flat lists.
        outputs: sizes of the axes of each result for one state.
        part_of: name of the public function.
        arrays: names of its arrays; external forces and inertias may be left out.
        keywords: its keyword arguments and their defaults, in addition to `out` and `backend`.
        options: words of keyword arguments that are not in `OPTIONS`.
        properties: other fields of `Quantity`.
    """
    # the signature that a written function would have
    kind = inspect.Parameter
    named = {n: kind(n, kind.POSITIONAL_OR_KEYWORD) for n in ("model", *arrays.split())}
    if "f_ext" in named:
        named["f_ext"] = named["f_ext"].replace(default=None)
    for name, default in {**(keywords or {}), "out": None, "backend": None}.items():
        named[name] = kind(name, kind.KEYWORD_ONLY, default=default)
    row = _row(part_of, reading, outputs, named, options, "", properties)
    return _public(reading, row, inspect.Signature([*named.values()]))


def _row(
    name: str,
    reading: Callable[..., Any],
    outputs: tuple[str, ...],
    parameters: Mapping[str, inspect.Parameter],
    options: Mapping[str, Choices] | None,
    place: str,
    properties: Mapping[str, Any],
) -> Quantity:
    """Return the row of a function: its parameters are known by their names."""
    arrays = tuple(n for n in parameters if n in ARRAYS)
    words = {**OPTIONS, **(options or {})}
    choices = {n: words[n] for n in parameters if n in words and n != place}
    absent = frozenset(n for n, p in parameters.items() if p.default is None)
    return Quantity(
        name,
        reading,
        outputs,
        arrays,
        absent.intersection(arrays),
        choices,
        absent.intersection(choices),
        place if place in parameters else None,
        **properties,
    )


def _public(
    function: Callable[..., Any], row: Quantity, signature: inspect.Signature
) -> Callable[..., Any]:
    """Return the public function: the fast call for plain arrays, `general` for everything else.

    The call is written out, because Python binds an explicit signature faster than it packs and
    unpacks `*arguments, **options`: 0.42 us instead of 1.58 us for the signature of
    `inverse_dynamics` (Python 3.11), where the kernel takes about 0.7 us.
    Its code is compiled with the file and the line of the decorated function, which tracebacks
    then show.
    """
    parameters = signature.parameters
    # the key of prepared calls: model, options, and which arrays are absent
    positional = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    keyword = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    required = [n for n in row.arrays if n not in row.optional]
    extra = [n for n in row.arrays if n in row.optional]
    options = row.option_names
    key = ", ".join(["id(model)", *options, *(f"{n} is None" for n in extra)])
    # what a prepared call takes as `out`: one array, or one for each result
    fast, targets = "backend is None", "out"
    if len(row.outputs) > 1:
        targets = "*(no_arrays if out is None else out)"
        fast += f" and (out is None or type(out) is tuple and len(out) == {len(row.outputs)})"
    values, chosen = ("".join(f"{n}, " for n in names) for names in (row.arrays, options))
    arguments = f"row, model, ({values}), ({chosen}), out, backend"
    other = f"general({arguments})"
    # results without their zeros have no prepared call
    if "sparse" in keyword:
        fast += " and sparse is False"
        other = f"({other} if sparse is False else sparse_call({arguments}, sparse))"
    first, second = (_call_text(k, required, extra, targets) for k in (0, 1))
    done = f"(result := {first}) is not None or (result := {second}) is not None"
    text = f"""def {row.name}({", ".join([*positional, "*", *keyword])}):
 try: ready = prepared.get(({key},)) if {fast} else None
 except TypeError: ready = None  # an option that cannot be a key
 return result if ready is not None and ({done}) else {other}
"""
    # the return statement gets the number of the decorator's line
    code = getattr(function, "func", function).__code__  # of a partial function as well
    lines = "\n" * max(0, code.co_firstlineno - 4)
    names: dict[str, Any] = {"prepared": row.prepared, "row": row, "general": general}
    names |= {"no_arrays": (None,) * len(row.outputs), "sparse_call": sparse_call}
    exec(compile(lines + text, code.co_filename, "exec"), names)
    made: Any = names[row.name]
    update_wrapper(made, function)
    # signature, help and defaults are those of the decorated function
    defaults = {n: p.default for n, p in parameters.items() if p.default is not p.empty}
    made.__defaults__ = tuple(defaults[n] for n in positional if n in defaults)
    made.__kwdefaults__ = {n: defaults[n] for n in keyword if n in defaults}
    made.__annotations__ = {n: p.annotation for n, p in parameters.items()}
    made.__annotations__["return"] = signature.return_annotation
    made.__signature__ = signature
    return made


def _call_text(k: int, required: list[str], extra: list[str], targets: str) -> str:
    """Return the text of a prepared call, with each optional array or without it."""
    if not extra:
        return f"ready[{k}]({', '.join([*required, targets])})"
    first, *others = extra
    without = _call_text(k, required, others, targets)
    return (
        f"({without} if {first} is None else {_call_text(k, [*required, first], others, targets)})"
    )


def complete_docstring(
    function: Callable[..., Any],
    parameters: Mapping[str, inspect.Parameter] | None = None,
    results: int = 1,
) -> str | None:
    """Return a docstring with the texts of common arguments added, in the order of the signature.

    Args:
        function: its docstring has `Args:` for its own arguments only, or none.
        parameters: of its signature, if known.
        results: how many arrays `out` takes.
    """
    text = function.__doc__
    if text is None:  # python -OO
        return None
    parameters = parameters or inspect.signature(function).parameters
    # entries that the docstring has itself, by name
    head, title, rest = text.partition("    Args:\n")
    given: dict[str, str] = {}
    if title:
        listed, _, tail = rest.partition("\n\n")
        name = ""
        for line in listed.split("\n"):
            if line.startswith("            "):  # continues the text of an entry
                given[name] += "\n" + line
            else:
                name, _, what = line.strip().partition(": ")
                given[name] = what
    else:
        # without `Args:` they stand before `Returns:`
        head, title, tail = text.partition("    Returns:\n")
        tail = title + tail
    known = ARGUMENTS
    if results > 1:
        known = {
            **ARGUMENTS,
            "out": f"{_COUNTS[results]} arrays for the results, of their shapes and dtype.",
        }
    # in the order of the signature, own texts before common ones
    entries = [f"        {n}: {given.get(n) or known[n]}\n" for n in parameters]
    return f"{head}    Args:\n{''.join(entries)}\n{tail}"


def common_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function public that is no quantity: add the texts of common arguments."""
    signature = full_signature(function)
    function.__doc__ = complete_docstring(function, signature.parameters)
    function.__signature__ = signature  # type: ignore[attr-defined]
    PUBLIC_NAMES.add(function.__name__)
    return function
