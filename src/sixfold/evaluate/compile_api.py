"""Kernels on request: `sf.compile` for sixfold's functions and for the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from sixfold.choices import Form
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    NotApplicableError,
    OptionError,
    ShapeError,
    TooLargeError,
    kind_of,
    one_of,
    shown,
)
from sixfold.evaluate.arrays import Shape, model_checked
from sixfold.evaluate.kernels.kernels import FORMS, user_kernel, watched
from sixfold.evaluate.kernels.trace_function import FunctionProgram, program_of
from sixfold.evaluate.quantity import PUBLIC
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.llvm import Kernel


TANGENT = "tangent"
MAX_INPUTS = 1_000_000
"""Numbers of one argument of a kernel."""


def compile(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
    dtype: DTypeLike = np.float64,
    form: Form | None = None,
    derivative: str | None = None,
) -> Kernel:
    """Return a function as a kernel: machine code for many states at once.

    The function is called on symbols, now and never again: what it reads (globals, captured arrays,
    files) is read at this moment.  It must be pure, as for JAX and Numba: one that does something
    else at a second call (a random number, a clock, a counter) is refused.  It may be one of
    sixfold's own, such as `sf.inverse_dynamics`, or any function of arrays for one state built from
    arithmetic, `numpy.sin` and its like, and sixfold functions.  A function that returns a tuple of
    arrays gives a kernel with several results: it returns a tuple, and `out=` takes one.

    Args:
        function: what to compile.  Sixfold's own functions get `model` as their first argument.
        model: gives the sizes of arguments named q (nq), v, a, tau (nv) and f_ext (nb, 6).
        inputs: sizes of other arguments, or of optional ones to be included, by name.
        dtype: float64 or float32, of all arrays.
        form: "rolled" (loops over the bodies, for long trees) or "unrolled" (straight-line code);
            sixfold's own functions only.  By the size of the program if left out.
        derivative: name of an argument: compile the derivatives of the result by it instead, the
            result's axes first, then the argument's; one array for each result.  "q" gives partial
            derivatives by the coordinates as they are, nq columns, the four numbers of a quaternion
            among them.  "tangent" gives derivatives by q along the motion subspaces, nv columns:
            column t is the rate of the result when q moves with unit velocity v_t, as in
            `forward_dynamics_derivatives`.  The two are the same where v = dq/dt.

    Returns:
        A callable, picklable kernel with `.ufunc`, `.signature`, `.graph`, `.llvm_ir`, `.assembly`,
        `.operations` and `.flops`.  A program of more than 25,000 nodes (derivatives of a humanoid
        on a floating base) is compiled when it is first called: once for batches, once for one or
        two states.  Where a first call must not take seconds, call the kernel once beforehand.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> kernel = sf.compile(sf.inverse_dynamics, arm)
        >>> q, v = sf.random_state(arm, 100, seed=1)
        >>> kernel.signature, kernel(q, v, v).shape
        ('(2),(2),(2)->(2)', (100, 2))
        >>> def speed(q, v):
        ...     tip = sf.frame_velocity(arm, q, v, "tip")[3:]
        ...     return np.sqrt(tip @ tip)
        >>> sf.compile(speed, arm)(q, v).shape
        (100,)
    """
    kind = _dtype(dtype)
    bound = bind("compile", function, model, inputs)
    name, shapes, names = bound.name, bound.shapes, list(bound.shapes)
    if form is not None and derivative is not None:
        raise OptionError("compile", "form", "nothing, with a derivative", form)
    if form is not None:
        return _in_form(bound.function, name, shapes, kind, form)
    along, tangent = None, None
    if isinstance(derivative, str) and derivative == TANGENT and TANGENT not in names:
        tangent = _with_tangent(name, model, shapes)
        along, name = names.index("q"), f"{name}_by_tangent"
    elif derivative is not None:
        one_of("compile", "derivative", (*names, TANGENT), derivative)
        along, name = names.index(derivative), f"{name}_by_{derivative}"
    program = pure_program("compile", bound)
    sizes = list(shapes.values())
    return user_kernel(bound.by_place, name, sizes, kind, along, tangent, program)


@dataclass(frozen=True)
class Bound:
    """A function of arrays alone, and the shapes of one state's arrays by name."""

    name: str
    function: Callable[..., Any]
    """Takes the arrays by name; one of sixfold's own has the model in it."""
    shapes: dict[str, Shape]

    @property
    def by_place(self) -> Callable[..., Any]:
        """The same function, which takes the arrays in order."""
        function, names = self.function, list(self.shapes)

        def by_place(*arrays: Any) -> Any:
            return function(**dict(zip(names, arrays, strict=True)))

        by_place.__doc__ = whole(function).__doc__
        return by_place


def is_public(function: Callable[..., Any]) -> bool:
    """Return whether a function is one of sixfold's own, itself and not by its name."""
    inner = whole(function)
    name = getattr(inner, "__name__", "")
    known = PUBLIC.get(name), getattr(import_module("sixfold.evaluate"), name, None)
    return any(inner is public for public in known)


def pure_program(caller: str, bound: Bound) -> FunctionProgram | None:
    """Trace a function of the user's own, once for all; None for one of sixfold's own.

    Raises:
        CallbackError: if a second trace gives another program.
    """
    if is_public(bound.function):
        return None
    first, second = (program_of(bound.by_place, list(bound.shapes.values())) for _ in range(2))
    if first.digest != second.digest:
        raise CallbackError(
            f"{caller}: '{bound.name}', called twice on symbols",
            "the same operations and constants",
            "something else at the second call",
            "pass random numbers, times and counts as arguments: a kernel would keep them forever",
        )
    return first


def whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function without the arguments that are bound to it."""
    return function.func if isinstance(function, partial) else function


def bind(
    caller: str,
    function: Callable[..., Any],
    model: Model | None,
    inputs: Mapping[str, int | Shape] | None,
) -> Bound:
    """Return a function with the model in it and the shapes of its arrays, or say what is missing.

    Args:
        caller: the public function that this is for, for messages.
        function: one of sixfold's own, or any function of arrays for one state.
        model: gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.
    """
    if model is not None:
        model_checked(caller, model)
    parameters = _parameters(caller, function)
    name = getattr(whole(function), "__name__", "kernel")
    if parameters and parameters[0].name == "model":
        function = partial(function, model_checked(caller, model))
        parameters = parameters[1:]
    extra = _sizes(caller, inputs)
    shapes: dict[str, Shape] = {}
    for parameter in parameters:
        if parameter.name in extra:
            shapes[parameter.name] = extra.pop(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            shapes[parameter.name] = _known_shape(caller, name, parameter.name, model)
    of_model = {"q", "v", "a", "tau", "f_ext"} & set(shapes) - set(inputs or {})
    if model is not None and not isinstance(function, partial) and not of_model:
        where = f"'{name}', no argument of which gets its size from a model"
        fix = "leave it out, or name arguments q, v, a, tau or f_ext"
        raise NotApplicableError(f"{caller}: argument 'model'", where, fix)
    if extra:
        raise OptionError(caller, "inputs", [p.name for p in parameters], next(iter(extra)))
    return Bound(name, function, shapes)


def _with_tangent(name: str, model: Model | None, shapes: Mapping[str, Shape]) -> Model:
    """Return the model whose motion subspaces a derivative is along."""
    what, fix = f"compile: derivative='{TANGENT}'", "pass the model, and name an argument q"
    if model is None:
        raise NotApplicableError(what, f"'{name}' without a model", fix)
    if "q" not in shapes:
        raise NotApplicableError(what, f"'{name}', which has no argument q", fix)
    if shapes["q"] != (model.nq,):
        expected = f"({model.nq},), the coordinates of model '{model.name}'"
        raise ShapeError("compile", "q", expected, shapes["q"], "leave q out of inputs")
    return model


def _parameters(caller: str, function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function, or say that it is none."""
    fix = "pass a function of arrays, such as sixfold.inverse_dynamics"
    if not callable(function):
        where = f"{caller}: argument 'function'"
        raise ArgumentError(where, "a function", function, fix)
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions of C say nothing about themselves
        where = f"{kind_of(function)}, which does not tell its arguments"
        raise NotApplicableError(caller, where, fix) from None


def _sizes(caller: str, inputs: Any) -> dict[str, Shape]:
    """Return the shapes of further arguments by name."""
    given = {} if inputs is None else inputs
    words = "sizes by name, such as {'x': 3} or {'x': (2, 3)}"
    if not isinstance(given, Mapping):
        raise OptionError(caller, "inputs", words, inputs)
    sizes: dict[str, Shape] = {}
    for name, size in given.items():
        shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape)
        if not isinstance(name, str) or not whole:
            raise OptionError(caller, "inputs", words, inputs)
        if prod(shape) > MAX_INPUTS:
            what = f"argument '{name}' has {shown(prod(shape))} numbers, each of them a symbol"
            raise TooLargeError(caller, what, f"give at most {MAX_INPUTS:,} in all")
        sizes[name] = shape
    return sizes


def _in_form(
    function: Callable[..., Any], name: str, shapes: Mapping[str, Shape], kind: str, form: str
) -> Kernel:
    """Return the kernel that one of sixfold's own functions uses when a form is asked for."""
    if not isinstance(form, str) or form not in FORMS:
        raise OptionError("compile", "form", FORMS, form)
    if not (isinstance(function, partial) and is_public(function)):
        raise NotApplicableError(
            "a choice of form", f"'{name}'", "leave form out, or compile one of sixfold's functions"
        )
    with watched() as found:
        none = {key: np.zeros((0, *shape), kind) for key, shape in shapes.items()}
        try:
            function(**none, backend=form)
        except NotApplicableError:
            if found.get(name, ...) is not None:  # something else does not apply
                raise
    kernel = found.get(name)
    if kernel is None:
        raise NotApplicableError(f"the {form} form", f"'{name}'", "leave form out")
    return kernel


def _dtype(dtype: Any) -> str:
    choices = ("float64", "float32")
    try:
        kind = np.dtype(dtype).name
    except Exception:  # an object of any kind, whose own text may fail too
        kind = ""
    if kind not in choices:
        raise OptionError("compile", "dtype", choices, dtype)
    return kind


def _known_shape(caller: str, function: str, argument: str, model: Model | None) -> Shape:
    sizes: dict[str, Shape] = {}
    if model is not None:
        sizes = {"q": (model.nq,), "f_ext": (model.nb, 6)}
        sizes |= dict.fromkeys(("v", "a", "tau"), (model.nv,))
    if argument not in sizes:
        raise NotApplicableError(
            f"sixfold.{caller}",
            f"argument '{argument}' of '{function}', whose size is not known",
            f"pass inputs={{'{argument}': size}}, and the model for q, v, a, tau and f_ext",
        )
    return sizes[argument]
