"""Public functions from rows: a decorated signature with a docstring becomes a quantity.

The signature and the docstring are the public ones; the decorator says which page computes it and
which shape comes out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar

from sixfold.evaluate.call import general
from sixfold.evaluate.nonzeros import sparse_call
from sixfold.evaluate.quantities import ARRAYS, PUBLIC, QUANTITIES, Page, PageName, Quantity

P = ParamSpec("P")
R = TypeVar("R")


def quantity(
    page: Page | PageName,
    *outputs: str,
    options: Mapping[str, tuple[str, ...]] | None = None,
    keywords: Mapping[str, str] | None = None,
    place: str | None = None,
    part_of: str | None = None,
    **properties: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a row of a function that has a signature and a docstring.

    Args:
        page: computes it.
        outputs: sizes of the axes of each result for one state, for example "nv nv".
        options: what may be chosen, by the names of keyword arguments.
        keywords: what the page calls an option, where that differs.
        place: the argument that names a body or frame.
        part_of: the public function, of another room, that this one works for: messages name it,
            and it is no quantity of its own.
        properties: other fields of `Quantity`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        arrays = tuple(name for name in parameters if name in ARRAYS)
        optional = frozenset(n for n in arrays if parameters[n].default is None)
        row = Quantity(
            part_of or function.__name__,
            page,
            outputs,
            arrays,
            optional,
            options or {},
            keywords or {},
            frozenset(n for n in options or {} if parameters[n].default is None),
            place,
            **properties,
        )
        made = _public(function, row, parameters)
        if part_of is None:
            QUANTITIES[row.name], PUBLIC[row.name] = row, made
        return made

    return decorate


def _public(
    function: Callable[P, R], row: Quantity, parameters: Mapping[str, inspect.Parameter]
) -> Callable[P, R]:
    """Return the public function: the fast call for plain arrays, `general` for everything else.

    It is written out for each row, because Python binds the keywords of an explicit signature
    several times faster than those of `*arguments, **options`.
    """
    positional = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    keyword = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    required = [n for n in row.arrays if n not in row.optional]
    extra = [n for n in row.arrays if n in row.optional]
    options = [*row.choices, *([row.place] if row.place else [])]
    key = ", ".join(["id(model)", *options, *(f"{n} is None" for n in extra)])
    several = len(row.outputs) > 1
    targets = "*(no_arrays if out is None else out)" if several else "out"
    calls = [_call_text(k, required, extra, targets) for k in (0, 1)]
    plain = f" and (out is None or type(out) is tuple and len(out) == {len(row.outputs)})"
    values = "".join(f"{n}, " for n in row.arrays)
    chosen = "".join(f"{n}, " for n in options)
    arguments = f"row, model, ({values}), ({chosen}), out, backend"
    sparse = f"if sparse is not False:\n        return sparse_call({arguments}, sparse)"
    text = f"""
def {row.name}({", ".join([*positional, "*", *keyword])}):
    {sparse if "sparse" in keyword else ""}
    if backend is None{plain if several else ""}:
        try:
            ready = prepared.get(({key},))
        except TypeError:  # an option that cannot be a key
            ready = None
        if ready is not None:
            result = {calls[0]}
            if result is None:
                result = {calls[1]}
            if result is not None:
                return result
    return general({arguments})
"""
    names: dict[str, Any] = {"prepared": row.prepared, "row": row, "general": general}
    names |= {"no_arrays": (None,) * len(row.outputs), "sparse_call": sparse_call}
    exec(compile(text, f"<call of {row.name}>", "exec"), names)
    made = names[row.name]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return update_wrapper(made, function)


def _call_text(k: int, required: list[str], extra: list[str], targets: str) -> str:
    """Return the text of a prepared call, with each optional array or without it."""
    if not extra:
        return f"ready[{k}]({', '.join([*required, targets])})"
    first, *others = extra
    without = _call_text(k, required, others, targets)
    return (
        f"({without} if {first} is None else {_call_text(k, [*required, first], others, targets)})"
    )
