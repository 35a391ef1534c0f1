"""One row for each public quantity: its page, its arrays, its options and its properties.

A row is a decorated function: the signature and the docstring are the public ones, the decorator
says which page computes it and which shape comes out.  Everything else follows from the row: shape
checks, the kernel and its rolled form, the fast call, export, the table in the docs and the battery
of bad calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar

from sixfold.arrays import Shape
from sixfold.errors import NotApplicableError, OptionError, UnknownNameError
from sixfold.evaluate.arrays import Argument
from sixfold.model import Model

P = ParamSpec("P")
R = TypeVar("R")
Page = Callable[..., Any]
"""Takes the model, a tree and one flat list of numbers for each array; options by keyword."""

FRAMES = ("body", "world", "aligned")
FORCE_FRAMES = ("world", "body")


@dataclass(frozen=True)
class ArrayKind:
    """What an array argument of some name holds for one state."""

    sizes: str
    """Sizes of its axes: numbers, or attributes of the model."""
    meaning: str
    weak: bool = False
    """Follows the precision of the other arguments, as a Python number does."""


_RATES = ArrayKind("nv", "nv velocity coordinates of model '{model}'")
ARRAYS: Mapping[str, ArrayKind] = {
    "q": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "q0": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "q1": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "v": _RATES,
    "a": _RATES,
    "tau": _RATES,
    "f_ext": ArrayKind("nb 6", "(nb, 6): one force (n; f) for each body"),
    "point": ArrayKind("3", "a vector (x, y, z)", weak=True),
    "force": ArrayKind("3", "a vector (x, y, z)"),
    "dt": ArrayKind("", "a time [s]", weak=True),
}
"""Array arguments by name, the same for all quantities."""


@dataclass(frozen=True)
class Quantity:
    """A public quantity."""

    name: str
    page: Page
    outputs: tuple[str, ...]
    """Sizes of the axes of each result for one state."""
    arrays: tuple[str, ...]
    """Names of the array arguments, in the order of the page."""
    optional: frozenset[str]
    """Those of them that may be left out."""
    choices: Mapping[str, tuple[str, ...]]
    """Options and what may be chosen."""
    keywords: Mapping[str, str]
    """What the page calls an option, where that differs."""
    left_out: frozenset[str]
    """Options that may be None: the page's own default then."""
    place: str | None
    """The argument that names a body or frame, if there is one."""
    solves: bool = False
    """The page divides by pivots, which are tested for joints without inertia."""
    exports: bool = False
    """`sixfold.export` writes it as code."""
    needs_mass: bool = False
    """There is no result for a model without mass."""
    refuses: Callable[[Model, Mapping[str, Any]], None] | None = None
    """Raises an error for arguments that do not go together."""
    prepared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Fast calls by model, options and optional arrays; see `call`."""

    def shapes(self, model: Model) -> tuple[Shape, ...]:
        """Return the shape of each result for one state."""
        return tuple(shape_of(sizes, model) for sizes in self.outputs)

    def argument(self, model: Model, name: str, value: Any) -> Argument:
        """Return an array argument with the shape that it has to have."""
        kind = ARRAYS[name]
        meaning = kind.meaning.replace("{model}", model.name)
        return Argument(value, shape_of(kind.sizes, model), meaning, kind.weak)

    def options(self, model: Model, arrays: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
        """Return the page's keywords for the options of a call, or say what is wrong with one."""
        names = [*self.choices, *([self.place] if self.place else [])]
        given = dict(zip((*self.arrays, *names), (*arrays, *values), strict=True))
        found: dict[str, Any] = {}
        for name, choices in self.choices.items():
            if given[name] is None and name in self.left_out:
                continue
            if not isinstance(given[name], str) or given[name] not in choices:
                raise OptionError(self.name, name, choices, given[name])
            found[self.keywords.get(name, name)] = given[name]
        if given.get("f_ext") is None and given.get("f_ext_frame", "world") != "world":
            what = f"{self.name}: option 'f_ext_frame'"
            fix = "pass f_ext, or leave it out"
            raise NotApplicableError(what, "a call without f_ext", fix)
        if self.refuses is not None:
            self.refuses(model, given)
        if self.place is not None:
            found |= located(self.name, model, given[self.place], self.place)
        return found


QUANTITIES: dict[str, Quantity] = {}
"""All rows, by name."""


def shape_of(sizes: str, model: Model) -> Shape:
    """Return a shape from the sizes of its axes."""
    return tuple(int(n) if n.isdecimal() else int(getattr(model, n)) for n in sizes.split())


def located(function: str, model: Model, name: Any, argument: str) -> dict[str, Any]:
    """Return the body that a body's or frame's name stands for, and the placement on it."""
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        where = f"{function}: argument '{argument}' for model '{model.name}'"
        raise UnknownNameError("body or frame", name, known, where=where)
    k, placement = model.locate(name)
    return {"body": k + 1, "placement": placement}


def quantity(
    page: Page,
    *outputs: str,
    options: Mapping[str, tuple[str, ...]] | None = None,
    keywords: Mapping[str, str] | None = None,
    place: str | None = None,
    **properties: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a row of a function that has a signature and a docstring.

    Args:
        page: computes it.
        outputs: sizes of the axes of each result for one state, for example "nv nv".
        options: what may be chosen, by the names of keyword arguments.
        keywords: what the page calls an option, where that differs.
        place: the argument that names a body or frame.
        properties: other fields of `Quantity`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        arrays = tuple(name for name in parameters if name in ARRAYS)
        optional = frozenset(n for n in arrays if parameters[n].default is None)
        row = Quantity(
            function.__name__,
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
        QUANTITIES[row.name] = row
        return _public(function, row)

    return decorate


def _public(function: Callable[P, R], row: Quantity) -> Callable[P, R]:
    """Return the public function: the fast call for plain arrays, `general` for everything else.

    It is written out for each row, because Python binds the keywords of an explicit signature
    several times faster than those of `*arguments, **options`.
    """
    from sixfold.evaluate.call import general

    parameters = inspect.signature(function).parameters
    positional = [n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    keyword = [n for n, p in parameters.items() if p.kind is p.KEYWORD_ONLY]
    required = [n for n in row.arrays if n not in row.optional]
    extra = [n for n in row.arrays if n in row.optional]
    options = [*row.choices, *([row.place] if row.place else [])]
    key = ", ".join(["id(model)", *options, *(f"{n} is None" for n in extra)])
    result = f"ready[0]({', '.join([*required, 'out'])})"
    if extra:
        absent = " and ".join(f"{n} is None" for n in extra)
        result += f" if {absent} else ready[0]({', '.join([*required, *extra, 'out'])})"
    values = "".join(f"{n}, " for n in row.arrays)
    chosen = "".join(f"{n}, " for n in options)
    text = f"""
def {row.name}({", ".join([*positional, "*", *keyword])}):
    if backend is None:
        try:
            ready = prepared.get(({key},))
        except TypeError:  # an option that cannot be a key
            ready = None
        if ready is not None:
            result = {result}
            if result is not None:
                return result
    return general(row, model, ({values}), ({chosen}), out, backend)
"""
    names: dict[str, Any] = {"prepared": row.prepared, "row": row, "general": general}
    exec(compile(text, f"<call of {row.name}>", "exec"), names)
    made = names[row.name]
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    return update_wrapper(made, function)
