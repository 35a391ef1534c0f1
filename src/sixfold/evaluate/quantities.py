"""One row for each public quantity: its page, its arrays, its options and its properties.

Everything follows from the row: shape checks, the kernel and its rolled form, the fast call,
export, the table in the docs and the battery of bad calls.  `public` makes rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copyreg import __newobj__  # type: ignore[attr-defined]
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import prod
from typing import Any, get_args

from sixfold.arrays import Shape
from sixfold.choices import ForceFrame, MotionFrame
from sixfold.errors import NotApplicableError, OptionError, UnknownNameError, near_names
from sixfold.evaluate.arrays import Argument
from sixfold.evaluate.labels import has_labels, in_order, names_along
from sixfold.evaluate.scalar_functions.kinematics import FixedFrame
from sixfold.evaluate.scalar_functions.page import of_inertias
from sixfold.model import Model

Page = Callable[..., Any]
"""Takes the model, a tree and one flat list of numbers for each array; options by keyword."""


@dataclass(frozen=True)
class PageName:
    """A page by its name, in a module that is imported when the page is first needed."""

    module: str
    name: str

    def page(self) -> Page:
        """Return the page."""
        found: Page = getattr(import_module(self.module), self.name)
        return found


class PagesLater:
    """The pages of a module of `scalar_functions`, by name: rows need not import it."""

    def __init__(self, module: str) -> None:
        self._module = f"sixfold.evaluate.scalar_functions.{module}"

    def __getattr__(self, name: str) -> PageName:
        """Return the name of a page."""
        return PageName(self._module, name)


FRAMES: tuple[str, ...] = get_args(MotionFrame)
"""Reserved words of `frame=`; any other word names a body or frame of the model."""
FORCE_FRAMES: tuple[str, ...] = get_args(ForceFrame)


@dataclass(frozen=True)
class ArrayKind:
    """What an array argument of some name holds for one state."""

    sizes: str
    """Sizes of its axes: numbers, attributes of the model, or products such as 10*nb."""
    meaning: str
    weak: bool = False
    """Python numbers follow the precision of the arrays beside them."""


_RATES = ArrayKind("nv", "nv velocity coordinates of model '{model}'")
ARRAYS: Mapping[str, ArrayKind] = {
    "q": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "q0": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "q1": ArrayKind("nq", "nq coordinates of model '{model}'"),
    "v": _RATES,
    "a": _RATES,
    "tau": _RATES,
    "weights": ArrayKind("nv", "one weight for each of nv joint forces or accelerations"),
    "f_ext": ArrayKind("nb 6", "(nb, 6): one force (n; f) for each body"),
    "inertias": ArrayKind("nb 10", "(nb, 10): inertial parameters of each body"),
    "forces": ArrayKind("nc", "one number for each of nc constraint rows"),
    "point": ArrayKind("3", "a vector (x, y, z)", weak=True),
    "force": ArrayKind("3", "a vector (x, y, z)"),
    "dt": ArrayKind("", "a time [s]", weak=True),
}
"""Array arguments by name, the same for all quantities."""


@dataclass(frozen=True)
class Quantity:
    """A public quantity."""

    name: str
    source: Page | PageName
    """The page, or where it is."""
    outputs: tuple[str, ...]
    """Sizes of the axes of each result for one state."""
    arrays: tuple[str, ...]
    """Names of the array arguments, in the order of the page; inertias come last."""
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
    needs_mass: bool = False
    """There is no result for a model without mass."""
    refuses: Callable[[str, Model, Mapping[str, Any]], None] | None = None
    """Takes the name, the model and the arguments; raises where they do not go together."""
    prepared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Fast calls by model, options and optional arrays; see `call`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, or without the fast calls where the row is made for a call."""
        if QUANTITIES.get(self.name) is self:
            return _row, (self.name,)
        return __newobj__, (type(self),), {**self.__dict__, "prepared": {}}

    @property
    def page(self) -> Page:
        """What computes it."""
        return self.source.page() if isinstance(self.source, PageName) else self.source

    def shapes(self, model: Model) -> tuple[Shape, ...]:
        """Return the shape of each result for one state."""
        return tuple(shape_of(sizes, model) for sizes in self.outputs)

    def core(self, names: Collection[str], keywords: Mapping[str, Any]) -> Page:
        """Return the page for arrays of these names, with its options."""
        page = of_inertias(self.page) if "inertias" in names else self.page
        return partial(page, **keywords) if keywords else page

    def argument(self, model: Model, name: str, value: Any) -> Argument:
        """Return an array argument with the shape that it has to have."""
        kind = ARRAYS[name]
        weak = kind.weak and isinstance(value, (int, float, list, tuple))
        if has_labels(value):
            wanted = [names_along(model, size) for size in kind.sizes.split()]
            value = in_order(self.name, name, value, wanted)
        meaning = kind.meaning.replace("{model}", model.name)
        return Argument(value, shape_of(kind.sizes, model), meaning, weak)

    def options(self, model: Model, arrays: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
        """Return the page's keywords for the options of a call, or say what is wrong with one."""
        names = [*self.choices, *([self.place] if self.place else [])]
        given = dict(zip((*self.arrays, *names), (*arrays, *values), strict=True))
        found: dict[str, Any] = {}
        for name, choices in self.choices.items():
            if given[name] is None and name in self.left_out:
                continue
            chosen = given[name]
            if not isinstance(chosen, str) or chosen not in choices:
                if choices != FRAMES:
                    raise OptionError(self.name, name, choices, chosen)
                chosen = _fixed_frame(self.name, model, chosen)
            found[self.keywords.get(name, name)] = chosen
        if given.get("f_ext") is None and given.get("f_ext_frame", "world") != "world":
            what = f"{self.name}: option 'f_ext_frame'"
            fix = "pass f_ext, or leave it out"
            raise NotApplicableError(what, "a call without f_ext", fix)
        if self.refuses is not None:
            self.refuses(self.name, model, given)
        if self.place is not None:
            found |= located(self.name, model, given[self.place], self.place)
        return found


def refuse_method_with_couplings(function: str, model: Model, method: str | None) -> None:
    """Refuse a method of forward dynamics where there is no choice."""
    if method is not None and model.constraints:
        where = f"model '{model.name}': constraints are solved with the factor of the mass matrix"
        raise NotApplicableError(f"{function}: option 'method'", where, "leave it out")
    if method is not None and model.couplings:
        where = f"model '{model.name}': coupled joints always solve their reduced mass matrix"
        raise NotApplicableError(f"{function}: option 'method'", where, "leave it out")


COMPILE_DERIVATIVES = 'use sixfold.compile(sixfold.forward_dynamics, model, derivative="tangent")'


def refuse_constraints(function: str, model: Model, fix: str = COMPILE_DERIVATIVES) -> None:
    """Refuse a function of the tree whose result would not be that of a constrained model."""
    if model.constraints:
        where = f"model '{model.name}' with constraints"
        tree = "model.without(constraints=True) is the tree alone"
        raise NotApplicableError(function, where, f"{fix}; {tree}")


def refuse_idle_point(function: str, model: Model, given: Mapping[str, Any]) -> None:
    """Refuse a reference point where the motion is that at another origin."""
    frame = given["frame"]
    if given["point"] is not None and frame not in ("aligned", "body"):
        where = f"frame={frame!r}: the motion there is that at the origin of these axes"
        fix = "leave it out, or choose frame='aligned' or 'body'"
        raise NotApplicableError(f"{function}: argument 'point'", where, fix)


QUANTITIES: dict[str, Quantity] = {}
"""All rows, by name."""
PUBLIC: dict[str, Callable[..., Any]] = {}
"""The public function of each row, which identifies it: another function may have its name."""


def _row(name: str) -> Quantity:
    """Return the row of a public quantity, as pickles keep it."""
    rows: dict[str, Quantity] = import_module("sixfold.evaluate").all_quantities()
    return rows[name]


def shape_of(sizes: str, model: Model) -> Shape:
    """Return a shape from the sizes of its axes."""

    def size(factors: list[str]) -> int:
        return prod(int(n) if n.isdecimal() else int(getattr(model, n)) for n in factors)

    return tuple(size(axis.split("*")) for axis in sizes.split())


def _fixed_frame(function: str, model: Model, name: Any) -> FixedFrame:
    """Return the frame that a name stands for, or say what `frame=` may be."""
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        words = ", ".join(map(repr, FRAMES))
        near = near_names(name, (*FRAMES, *known)) if isinstance(name, str) else []
        hint = f" (did you mean {', '.join(map(repr, near))}?)" if near else ""
        choices = f"{words}, or the name of a body or frame of model '{model.name}'{hint}"
        raise OptionError(function, "frame", choices, name)
    k, placement = model.locate(name)
    return FixedFrame(k + 1, placement)


def located(function: str, model: Model, name: Any, argument: str) -> dict[str, Any]:
    """Return the body that a body's or frame's name stands for, and the placement on it."""
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        where = f"{function}: argument '{argument}' for model '{model.name}'"
        raise UnknownNameError("body or frame", name, known, where=where)
    k, placement = model.locate(name)
    return {"body": k + 1, "placement": placement}
