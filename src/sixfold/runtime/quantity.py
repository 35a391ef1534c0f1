"""One row for each public quantity: what computes it, its arrays, its options, its properties.

Everything follows from the row: shape checks, the kernel and its rolled form, the fast call,
export, the table in the docs and the battery of bad calls.  `public.quantity` makes rows.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copyreg import __newobj__  # type: ignore[attr-defined]
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import prod
from typing import Any, Generic, TypedDict, TypeVar, get_args

from numpy.typing import ArrayLike

from sixfold.arrays import Shape
from sixfold.choices import AccelerationKind, Backend, ForceFrame, Method, MotionFrame
from sixfold.errors import NotApplicableError, OptionError, UnknownNameError, near_names
from sixfold.model import Model
from sixfold.runtime.array_libraries import has_labels, in_order, names_along
from sixfold.runtime.arrays import Argument, PerItem
from sixfold.scalar import Scalar

Numbers = Sequence[Scalar]
#: Words of an option, or a function of the quantity's name, the model and what was given.
Choices = tuple[str, ...] | Callable[[str, Model, Any], Any]
F = TypeVar("F", bound=Callable[..., Any])
Result = TypeVar("Result")  #: An array, or a tuple of arrays.


class Options(TypedDict, Generic[Result], total=False):
    """Keyword arguments of every quantity, which its function takes as `**options`."""

    out: Result | None
    backend: Backend | None


class InertiaOptions(Options[Result], total=False):
    """Keyword arguments of a quantity that takes the inertias of all bodies."""

    inertias: ArrayLike | None


class SparseOptions(InertiaOptions[Result], total=False):
    """Keyword arguments of a quantity that can leave out its zeros."""

    sparse: bool


#: Their names, in the order of signatures, and their defaults.
COMMON_OPTIONS = {"inertias": None, "sparse": False, "out": None, "backend": None}
_GROUPS = {kind.__name__: kind for kind in (Options, InertiaOptions, SparseOptions)}


def full_signature(function: Callable[..., Any], results: int | None = None) -> inspect.Signature:
    """Return the signature of a function with the common keywords spelled out.

    Args:
        function: takes them as `**options: Unpack[Options[...]]`, or has none.
        results: how many arrays it returns, and takes as `out`; by default as annotated.
    """
    signature = inspect.signature(function)
    *own, last = signature.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return signature
    # the annotation is read as text: evaluating all of them would slow down the import
    found = re.search(r"(\w*Options)(?:\[(.*)\]\])?", str(last.annotation))
    name, result = found.groups() if found else ("Options", None)
    back = signature.return_annotation
    if results is not None:
        back = result = "Array" if results == 1 else f"tuple[{', '.join(['Array'] * results)}]"
    texts = {"inertias": "ArrayLike | None", "sparse": "bool", "backend": "Backend | None"}
    texts["out"] = f"{result} | None"
    # the common keywords come last, in one order
    common = [
        inspect.Parameter(n, last.KEYWORD_ONLY, default=default, annotation=texts[n])
        for n, default in COMMON_OPTIONS.items()
        if n in _GROUPS[name].__annotations__
    ]
    return signature.replace(parameters=[*own, *common], return_annotation=back)


#: Reserved words of `frame=`; any other word names a body or frame of the model.
FRAMES: tuple[str, ...] = get_args(MotionFrame)
FORCE_FRAMES: tuple[str, ...] = get_args(ForceFrame)

#: Options by the name of the parameter, with their words; the same for all quantities.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "f_ext_frame": FORCE_FRAMES,
    "frame": FRAMES,
    "kind": get_args(AccelerationKind),
    "method": get_args(Method),
}


@dataclass(frozen=True)
class ArrayKind:
    """What an array argument of some name holds for one state."""

    sizes: str  #: Sizes of its axes: numbers, attributes of the model, or products such as 10*nb.
    meaning: str
    weak: bool = False  #: Python numbers follow the precision of the other arrays.


_RATES = ArrayKind("nv", "nv velocity coordinates of model '{model}'")
#: Array arguments by name, the same for all quantities.
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


# -- readings: quantities on flat lists of numbers


class ModelOnTree:
    """A model as the function of a quantity sees it: `tree` is the one that the numbers are for.

    Kernels take a reduced tree, `inertias=` one with other inertias, the rolled form a symbolic
    one.  A public function that is called with a `ModelOnTree` returns its numbers for this tree.
    """

    def __init__(self, model: Any, tree: Any) -> None:
        """Take a model and a tree with its joints."""
        self.model: Any = model.model if type(model) is ModelOnTree else model
        self.tree = tree

    def __getattr__(self, name: str) -> Any:
        """Return what the model has under this name."""
        return getattr(self.model, name)


class Reading:
    """A quantity on numbers: takes the model, a tree and one flat list for each array.

    Returns one flat list.  It runs on any kind of number: floats, NumPy arrays that hold a batch,
    SymPy's symbols, MPFR, dual numbers, nodes of the compiler's graph.
    """

    def __init__(
        self, function: Callable[..., Any], arrays: Sequence[str], joint_space: bool, rolls: bool
    ) -> None:
        """Take the public function as it is written, the names of its arrays and two properties."""
        self.function, self.arrays = function, arrays
        self.numbers = [name for name in arrays if not ARRAYS[name].sizes]
        self.joint_space, self.rolls = joint_space, rolls
        self.__name__ = function.__name__

    def __call__(self, model: Any, tree: Any, *lists: Any, **options: Any) -> Any:
        """Return the numbers of all results, one after the other."""
        named = dict(zip(self.arrays, lists, strict=False))
        for name in self.numbers:
            if named.get(name) is not None:
                (named[name],) = named[name]
        if "frame" in options and "f_ext" in self.arrays:  # as algorithms name that frame
            options["f_ext_frame"] = options.pop("frame")
        return flat_numbers(self.function(ModelOnTree(model, tree), **named, **options))


def flat_numbers(result: Any) -> Any:
    """Return the numbers of nested lists as one list; results of a rolled form as they are."""
    if isinstance(result, PerItem):
        return result
    if not isinstance(result, (list, tuple)):
        return [result]
    found: list[Scalar] = []
    for x in result:
        if isinstance(x, (list, tuple)):
            found += flat_numbers(x)
        else:
            found.append(x)
    return found


def page(*, joint_space: bool = False, rolls: bool = False) -> Callable[[F], F]:
    """Say what the compiler may do with a function of a model, a tree and flat lists.

    Args:
        joint_space: its result is the same whichever of two bodies an inertia is counted with, so
            that kernels may take the reduced tree.
        rolls: it goes over the bodies only, so that it has a rolled form; matrices loop over
            ancestors and stay unrolled.
    """

    def mark(function: F) -> F:
        function.joint_space, function.rolls = joint_space, rolls  # type: ignore[attr-defined]
        return function

    return mark


def of_inertias(reading: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reading that takes the inertial parameters of all bodies as one more, last list.

    It runs on the model's own tree: moving inertias to other bodies or frames, as for the reduced
    tree, costs more than it saves where they are inputs.
    """
    if isinstance(reading, partial):
        return partial(of_inertias(reading.func), *reading.args, **reading.keywords)
    kept: Callable[..., Any] | None = getattr(reading, "of_inertias", None)
    if kept is not None:
        return kept

    def with_inertias(model: Any, tree: Any, *lists: Numbers, **options: Any) -> Any:
        return reading(model, tree.with_inertias(lists[-1]), *lists[:-1], **options)

    reading.of_inertias = with_inertias  # type: ignore[attr-defined]
    return with_inertias


# -- rows


@dataclass(frozen=True)
class Quantity:
    """A public quantity."""

    name: str
    #: Computes it: takes the model, a tree and flat lists; options by keyword.
    reading: Callable[..., Any]
    outputs: tuple[str, ...]  #: Sizes of the axes of each result for one state.
    #: Names of the array arguments, in the order of the reading; inertias come last.
    arrays: tuple[str, ...]
    optional: frozenset[str]  #: Those of them that may be left out.
    #: Options, and what may be chosen: words, or a function that checks what was given.
    choices: Mapping[str, Choices]
    default_none: frozenset[str]  #: Options that may be None: the reading's own default then.
    place: str | None  #: The argument that names a body or frame, if there is one.
    #: The algorithm divides by pivots, which are tested for joints without inertia.
    solves: bool = False
    needs_mass: bool = False  #: There is no result for a model without mass.
    #: Takes the name, the model and the arguments; raises where they do not go together.
    refuses: Callable[[str, Model, Mapping[str, Any]], None] | None = None
    #: Fast calls by model, options and optional arrays; see `call`.
    prepared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, or without the fast calls where the row is made for a call."""
        if QUANTITIES.get(self.name) is self:
            return _row, (self.name,)
        return __newobj__, (type(self),), {**self.__dict__, "prepared": {}}

    @property
    def option_names(self) -> tuple[str, ...]:
        """Names of the options, then of the argument that names a body or frame."""
        return (*self.choices, self.place) if self.place else tuple(self.choices)

    def shapes(self, model: Model) -> tuple[Shape, ...]:
        """Return the shape of each result for one state."""
        return tuple(shape_of(sizes, model) for sizes in self.outputs)

    def core(self, names: Collection[str], keywords: Mapping[str, Any]) -> Callable[..., Any]:
        """Return the reading for arrays of these names, with its options."""
        reading = of_inertias(self.reading) if "inertias" in names else self.reading
        return partial(reading, **keywords) if keywords else reading

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
        """Return the keywords of the reading for a call, or say what is wrong with one."""
        given = dict(zip((*self.arrays, *self.option_names), (*arrays, *values), strict=True))
        found: dict[str, Any] = {}
        for name, choices in self.choices.items():
            chosen = given[name]
            if chosen is None and name in self.default_none:
                continue
            if callable(choices):
                chosen = choices(self.name, model, chosen)
            elif not isinstance(chosen, str) or chosen not in choices:
                if choices != FRAMES:
                    raise OptionError(self.name, name, choices, chosen)
                _check_frame(self.name, model, chosen)
            found["frame" if name == "f_ext_frame" else name] = chosen
        # an option without the argument that it is about
        if given.get("f_ext") is None and given.get("f_ext_frame", "world") != "world":
            what = f"{self.name}: option 'f_ext_frame'"
            raise NotApplicableError(what, "a call without f_ext", "pass f_ext, or leave it out")
        if self.refuses is not None:
            self.refuses(self.name, model, given)
        if self.place is not None:
            locate(self.name, model, given[self.place], self.place)
            found[self.place] = given[self.place]
        return found

    def call_inside(self, model: ModelOnTree, arrays: Sequence[Any], options: Sequence[Any]) -> Any:
        """Return the numbers of a call inside the function of another quantity."""
        named = dict(zip(self.arrays, arrays, strict=True))
        # inertias of the inner call make a tree of their own
        inertias = named.pop("inertias", None)
        if inertias is not None:
            model = ModelOnTree(model, model.tree.with_inertias(inertias))
        chosen = dict(zip(self.option_names, options, strict=True))
        function: Callable[..., Any] = self.reading.function  # type: ignore[attr-defined]
        return function(model, **named, **chosen)


QUANTITIES: dict[str, Quantity] = {}  #: All rows, by name.
#: The public function of each row, which identifies it: another function may have its name.
PUBLIC: dict[str, Callable[..., Any]] = {}


def all_quantities() -> dict[str, Quantity]:
    """Return every row, by name."""
    import_module("sixfold.quantities")  # its modules add the rows
    return QUANTITIES


def _row(name: str) -> Quantity:
    """Return the row of a public quantity, as pickles keep it."""
    return all_quantities()[name]


def shape_of(sizes: str, model: Model) -> Shape:
    """Return a shape from the sizes of its axes."""

    def size(factors: list[str]) -> int:
        return prod(int(n) if n.isdecimal() else int(getattr(model, n)) for n in factors)

    return tuple(size(axis.split("*")) for axis in sizes.split())


# -- combinations that are refused

COMPILE_DERIVATIVES = 'use sixfold.compile(sixfold.forward_dynamics, model, derivative="tangent")'


def refuse_method_with_couplings(function: str, model: Model, method: str | None) -> None:
    """Refuse a method of forward dynamics where there is no choice."""
    if method is None or not (model.constraints or model.couplings):
        return
    reason = (
        "constraints are solved with the factor of the mass matrix"
        if model.constraints
        else "coupled joints always solve their reduced mass matrix"
    )
    where = f"model '{model.name}': {reason}"
    raise NotApplicableError(f"{function}: option 'method'", where, "leave it out")


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


def _check_frame(function: str, model: Model, name: Any) -> None:
    """Refuse an unknown `frame=`, with the names that are near."""
    # one of the reserved words, or a name of the model
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        words = ", ".join(map(repr, FRAMES))
        near = near_names(name, (*FRAMES, *known)) if isinstance(name, str) else []
        hint = f" (did you mean {', '.join(map(repr, near))}?)" if near else ""
        choices = f"{words}, or the name of a body or frame of model '{model.name}'{hint}"
        raise OptionError(function, "frame", choices, name)


def locate(function: str, model: Model, name: Any, argument: str) -> dict[str, Any]:
    """Return the body that a body's or frame's name stands for, and the placement on it."""
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        where = f"{function}: argument '{argument}' for model '{model.name}'"
        raise UnknownNameError("body or frame", name, known, where=where)
    k, placement = model.locate(name)
    return {"body": k + 1, "placement": placement}
