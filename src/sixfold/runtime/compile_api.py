"""Kernels on request: `sf.compile`, and functions of arrays for other array libraries.

Derivatives for other libraries are with respect to the coordinates as they are, since those know no
motion subspaces: the four numbers of a quaternion count one by one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from itertools import accumulate
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
    quote,
)
from sixfold.model import Model, require_model
from sixfold.runtime.arrays import Shape
from sixfold.runtime.kernels.kernels import FORMS, announce, user_kernel, watch_kernels
from sixfold.runtime.kernels.scan import replay
from sixfold.runtime.kernels.trace_function import FunctionProgram, numbers_array, program_of, trace
from sixfold.runtime.lazy_import import compiler, graphs
from sixfold.runtime.quantity import PUBLIC, QUANTITIES
from sixfold.scalar import ZERO, plain

if TYPE_CHECKING:
    from sixfold.compiler.graph import Program
    from sixfold.compiler.llvm import Kernel, XlaHandler


TANGENT = "tangent"
MAX_INPUTS = 1_000_000  #: Numbers of one argument of a kernel.


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
            sixfold's own functions only.  By the size of the program by default.
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
    # forms are those of the library's own functions
    if form is not None and derivative is not None:
        fix = "leave one of them out"
        raise NotApplicableError("compile: option 'form'", "a call with derivative=...", fix)
    if form is not None:
        return _in_form(bound.function, name, shapes, kind, form)
    # differentiate with respect to an argument, or along the tangent space of q
    along, tangent = None, None
    if isinstance(derivative, str) and derivative == TANGENT and TANGENT not in names:
        tangent = _with_tangent(name, model, shapes)
        along, name = names.index("q"), f"{name}_by_tangent"
    elif derivative is not None:
        one_of("compile", "derivative", (*names, TANGENT), derivative)
        along, name = names.index(derivative), f"{name}_by_{derivative}"
    # user functions are traced twice: they have to be pure
    program = pure_program("compile", bound)
    sizes = list(shapes.values())
    return user_kernel(bound.by_place, name, sizes, kind, along, tangent, program)


@dataclass(frozen=True)
class Bound:
    """A function of arrays alone, and the shapes of one state's arrays by name."""

    name: str
    #: Takes the arrays by name; one of sixfold's own has the model in it.
    function: Callable[..., Any]
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
    known = PUBLIC.get(name), getattr(import_module("sixfold.quantities"), name, None)
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
        require_model(caller, model)
    parameters = _parameters(caller, function)
    name = getattr(whole(function), "__name__", "kernel")
    # functions of a model get it now
    if parameters and parameters[0].name == "model":
        function = partial(function, require_model(caller, model))
        parameters = parameters[1:]
    # shapes by `inputs`, or by the names that models know
    extra = _sizes(caller, inputs)
    shapes: dict[str, Shape] = {}
    for parameter in parameters:
        if parameter.name in extra:
            shapes[parameter.name] = extra.pop(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            shapes[parameter.name] = _known_shape(caller, name, parameter.name, model)
    # a model that no argument needs is a mistake of the caller
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
    """Return the parameters of a function; refuse anything else."""
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
            what = f"argument '{name}' has {quote(prod(shape))} numbers, each of them a symbol"
            raise TooLargeError(caller, what, f"give at most {MAX_INPUTS:,} in all")
        sizes[name] = shape
    return sizes


def _in_form(
    function: Callable[..., Any], name: str, shapes: Mapping[str, Shape], kind: str, form: str
) -> Kernel:
    """Return the kernel in a form of one of sixfold's own functions."""
    if not isinstance(form, str) or form not in FORMS:
        raise OptionError("compile", "form", FORMS, form)
    if not (isinstance(function, partial) and is_public(function)):
        raise NotApplicableError(
            "a choice of form", f"'{name}'", "leave form out, or compile one of sixfold's functions"
        )
    # a call without states makes the kernel, and the watcher sees it
    with watch_kernels() as found:
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


# -- functions for other array libraries

#: Returns a program as traced and the shapes of its results.
Source = Callable[[], "tuple[Program, tuple[Shape, ...]]"]
#: Operations of a traced program that is compiled; derivatives of derivatives can have more.
MAX_NODES = 400_000
MAX_CORE_AXES = 3  #: Axes of a kernel's results; those with more are flat.


@dataclass(frozen=True)
class Slopes:
    """Derivatives of one result by the first arrays, by an algorithm of their own."""

    count: int  #: By how many arrays.
    #: Takes all arrays; returns one derivative for each of the first ones.
    function: Callable[..., Sequence[Any]]
    own: Callable[[str], Kernel] | None  #: Returns a kernel of all of them, if the library has it.


@dataclass(frozen=True, eq=False)
class ArrayFunction:
    """A function of arrays for one state."""

    name: str
    names: tuple[str, ...]
    inputs: tuple[Shape, ...]
    source: Source
    #: Returns the kernel of a dtype that the public function uses, if it is one.
    own: Callable[[str], Kernel] | None = None
    slopes: Slopes | None = None  #: Derivatives that have an algorithm of their own.
    _kernels: dict[str, Kernel] = field(default_factory=dict)
    _derivatives: dict[tuple[int, ...], ArrayFunction] = field(default_factory=dict)

    @cached_property
    def trace(self) -> tuple[Program, tuple[Shape, ...]]:
        """The program as traced, and the shapes of its results."""
        with announce(self.name):
            program, outputs = self.source()
        if len(program.nodes) > MAX_NODES:
            what = f"it has {len(program.nodes):,} operations"
            raise TooLargeError(self.name, what, "differentiate by fewer arguments at a time")
        return program, outputs

    @cached_property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of one state's results."""
        if self.own is not None:
            return tuple(self.kernel("float64").layout.outputs)
        return self.trace[1]

    def kernel(self, dtype: str) -> Kernel:
        """Return the kernel for arrays of a dtype; results of many axes are flat."""
        found = self._kernels.get(dtype)
        if found is None:
            found = self._kernels[dtype] = self.own(dtype) if self.own else self._build(dtype)
        return found

    @property
    def flat_outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results as kernels have them: those of many axes are flat."""
        return tuple(x if len(x) <= MAX_CORE_AXES else (prod(x),) for x in self.outputs)

    @cached_property
    def program(self) -> Program:
        """The optimised program of straight-line code, all rounds written out."""
        with announce(self.name):
            program: Program = graphs().optimise(graphs().unroll(self.trace[0]))
        return program

    def _build(self, dtype: str) -> Kernel:
        llvm = compiler()
        program, _ = self.trace
        layout = llvm.Layout(self.inputs, self.flat_outputs, dtype)
        if not llvm.has_machine_code(program):
            missing = ", ".join(sorted(program.names() - llvm.SUPPORTED))
            fix = "write the function with operations that have machine code"
            raise NotApplicableError(f"machine code of {self.name}", missing, fix)
        with announce(self.name):
            kernel: Kernel = llvm.build(self.name, program, layout)[0]
        return kernel

    def derivative(self, by: Sequence[int]) -> ArrayFunction:
        """Return the derivatives of all results by some arguments, as a function.

        Its results are those by the first of the arguments, one for each result, then those by the
        next, and so on; the result's axes come first, then the argument's.
        """
        key = tuple(by)
        found = self._derivatives.get(key)
        if found is None:
            words = "_".join(self.names[k] for k in key)
            name, source = f"{self.name}_by_{words}", partial(self._differentiate, key)
            every = self.slopes is not None and key == tuple(range(self.slopes.count))
            own = self.slopes.own if self.slopes is not None and every else None
            found = ArrayFunction(name, self.names, self.inputs, source, own)
            self._derivatives[key] = found
        return found

    def _differentiate(self, by: tuple[int, ...]) -> tuple[Program, tuple[Shape, ...]]:
        slopes = self.slopes
        if slopes is None or min(by) >= slopes.count:
            return self._jacobian(by)
        # by the closed form where there is one, by differentiating the program elsewhere
        rest = tuple(k for k in by if k >= slopes.count)

        def both(*arrays: Any) -> tuple[Any, ...]:
            first = slopes.function(*arrays)
            found = [first[k] for k in by if k < slopes.count]
            if rest:
                program, shapes = self._jacobian(rest)
                numbers = [x for array in arrays for x in array.reshape(-1)]
                values = replay(graphs().unroll(program), numbers)
                ends = list(accumulate(map(prod, shapes), initial=0))
                for shape, start in zip(shapes, ends, strict=False):
                    part = numbers_array(values[start : start + prod(shape)])
                    found.append(part.reshape(shape))
            return tuple(found)

        return trace(both, self.inputs)

    def _jacobian(self, by: Sequence[int]) -> tuple[Program, tuple[Shape, ...]]:
        """Return derivatives by forward mode, and their shapes."""
        program, outputs = self.trace
        # columns of the arguments asked for
        starts = list(accumulate(map(prod, self.inputs), initial=0))
        columns = [n for k in by for n in range(starts[k], starts[k + 1])]
        slopes = graphs().jacobian(program, columns)
        # forward mode gives whole rows: take them apart by argument, then by result
        rows = np.array(slopes.outputs, int).reshape(-1, len(columns))
        ends = list(accumulate((prod(self.inputs[k]) for k in by), initial=0))
        heights = list(accumulate(map(prod, outputs), initial=0))
        places: list[int] = []
        shapes: list[Shape] = []
        for n, k in enumerate(by):
            for m, output in enumerate(outputs):
                part = rows[heights[m] : heights[m + 1], ends[n] : ends[n + 1]]
                places += part.reshape(-1).tolist()
                shapes.append((*output, *self.inputs[k]))
        return graphs().Program(slopes.inputs, slopes.nodes, tuple(places)), tuple(shapes)


def array_function(
    caller: str,
    function: Callable[..., Any],
    model: Model | None,
    inputs: Mapping[str, int | Shape] | None,
) -> ArrayFunction:
    """Return a function for another array library, or say what is missing, as `bind` does."""
    bound = bind(caller, function, model, inputs)
    names, shapes = tuple(bound.shapes), tuple(bound.shapes.values())
    source = partial(trace, bound.by_place, shapes)
    row = QUANTITIES.get(bound.name)
    options = bound.function.keywords if isinstance(bound.function, partial) else {}
    program = pure_program(caller, bound)
    if program is not None:
        source = partial(_program_and_shapes, program)
    # quantities bring their own kernel, and derivatives in closed form
    known = row is not None and model is not None and program is None
    if row is None or model is None or not known or options.keys() - {*row.choices, row.place}:
        return ArrayFunction(bound.name, names, shapes, source)
    slopes = None
    # derivatives of a tree by the algorithms of sf.derivatives
    by_algorithm = _DERIVATIVES.get(bound.name)
    of_tree = not model.constraints and "method" not in options
    if by_algorithm and of_tree and names[:3] == row.arrays[:3]:
        public = partial(PUBLIC[by_algorithm], model, **options)
        found = Bound(by_algorithm, public, bound.shapes)
        kernel = None if model.coordinates.quaternions else partial(_public_kernel, caller, found)
        slopes = Slopes(3, partial(_by_coordinates, found, model), kernel)
    own = partial(_public_kernel, caller, bound)
    return ArrayFunction(bound.name, names, shapes, source, own, slopes)


def _program_and_shapes(program: FunctionProgram) -> tuple[Program, tuple[Shape, ...]]:
    return program.program, program.outputs


PTX = "ptx"


def targets() -> tuple[str, ...]:
    """Return the names of the processors that code can be made for."""
    return (*compiler().TARGETS, PTX)


def target_text(
    function: Callable[..., Any], model: Model, shapes: Mapping[str, Shape], dtype: str, name: str
) -> tuple[str, Program]:
    """Return a public function of a model as PTX, and its program.

    The text has one kernel: inputs, outputs, number of states.
    """
    core = array_function("export", function, model, shapes)
    layout = compiler().Layout(core.inputs, core.flat_outputs, dtype)
    with announce(f"{name} for {PTX}"):
        return str(compiler().ptx_text(core.program, layout, name)), core.program


def target_object(
    function: Callable[..., Any],
    model: Model,
    shapes: Mapping[str, Shape],
    dtype: str,
    name: str,
    target: str,
) -> tuple[bytes, Kernel]:
    """Return a public function of a model as an object file with one C function, and its kernel."""
    kernel = array_function("export", function, model, shapes).kernel(dtype)
    with announce(f"{name} for {target}"):
        return compiler().cross_object(kernel, name, target), kernel


def xla_handler(kernel: Kernel) -> tuple[str, XlaHandler]:
    """Return a kernel as a custom call of XLA, under a name that says what it computes."""
    llvm = compiler()
    return f"sixfold_{kernel.name}_{llvm.content_digest(kernel)}", llvm.XlaHandler(kernel)


#: Functions whose derivatives by their first three arrays have an algorithm of their own.
_DERIVATIVES = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}


def _public_kernel(caller: str, bound: Bound, dtype: str) -> Kernel:
    """Return the kernel that a public function uses."""
    with watch_kernels() as found:
        none = {name: np.zeros((0, *shape), dtype) for name, shape in bound.shapes.items()}
        try:
            bound.function(**none, backend="native")
        except NotApplicableError:
            if found.get(bound.name, ...) is not None:  # something else does not apply
                raise
    kernel = found.get(bound.name)
    if kernel is None:
        where = f"'{bound.name}', which runs without machine code for this model"
        raise NotApplicableError(caller, where, "use a smaller model, or the function itself")
    return kernel


def _by_coordinates(bound: Bound, model: Model, *arrays: Any) -> list[Any]:
    """Return derivatives by the first three arrays, that by q by its coordinates."""
    by_q, *others = bound.by_place(*arrays)
    if model.coordinates.quaternions:
        by_q = by_q @ _velocity_map(model, arrays[0])
    return [by_q, *others]


def _velocity_map(model: Model, q: Any) -> Any:
    """Return the matrix that takes dq/dt to v, shape (nv, nq).

    The columns of N in dq/dt = N v are orthogonal for every joint, so row t of the matrix is column
    t of N over its square.  A change of a quaternion's length is no velocity: the algorithms do not
    depend on that length.
    """
    # columns of dq/dt = E v are orthogonal: E^+ = E^T over the squared lengths
    rows: list[Any] = []
    for t in range(model.nv):
        unit = [1.0 if k == t else ZERO for k in range(model.nv)]
        column = QUANTITIES["position_rate"].reading(model, model.tree, list(q), unit)
        square = sum(x * x for x in column if x is not ZERO)
        rows += [ZERO if x is ZERO else x / square for x in column]
    return graphs().traced_array([plain(x) for x in rows], (model.nv, model.nq))
