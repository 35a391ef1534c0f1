"""Functions of arrays for other array libraries: their kernels, and their derivatives as functions.

Derivatives here are by the coordinates as they are, since other libraries know no motion subspaces:
the four numbers of a quaternion count one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import NotApplicableError, TooLargeError
from sixfold.evaluate.compile_api import Bound, bind, pure_program
from sixfold.evaluate.functions import derivatives
from sixfold.evaluate.kernels.adjoint import replay
from sixfold.evaluate.kernels.kernels import announced, watched
from sixfold.evaluate.kernels.lazily import compiler, graphs
from sixfold.evaluate.kernels.trace_function import FunctionProgram, numbers_array, traced
from sixfold.evaluate.quantities import QUANTITIES
from sixfold.evaluate.scalar_functions import position_rate
from sixfold.model import Model
from sixfold.scalar import ZERO, plain

if TYPE_CHECKING:
    from sixfold.graph import Program
    from sixfold.llvm import Kernel, XlaHandler

Source = Callable[[], "tuple[Program, tuple[Shape, ...]]"]
"""Returns a program as traced and the shapes of its results."""
MAX_NODES = 400_000
"""Operations of a traced program that is compiled; derivatives of derivatives can have more."""
MAX_CORE_AXES = 3
"""Axes of a kernel's results; those that have more are handed over flat."""


@dataclass(frozen=True)
class Slopes:
    """Derivatives of one result by the first arrays, by an algorithm of their own."""

    count: int
    """By how many arrays."""
    function: Callable[..., Sequence[Any]]
    """Takes all arrays; returns one derivative for each of the first ones."""
    own: Callable[[str], Kernel] | None
    """Returns a kernel of all of them, if the library has it."""


@dataclass(frozen=True, eq=False)
class ArrayFunction:
    """A function of arrays for one state."""

    name: str
    names: tuple[str, ...]
    inputs: tuple[Shape, ...]
    source: Source
    own: Callable[[str], Kernel] | None = None
    """Returns the kernel of a dtype that the public function uses, if it is one."""
    slopes: Slopes | None = None
    """Derivatives that have an algorithm of their own."""
    _kernels: dict[str, Kernel] = field(default_factory=dict)
    _derivatives: dict[tuple[int, ...], ArrayFunction] = field(default_factory=dict)

    @cached_property
    def traced(self) -> tuple[Program, tuple[Shape, ...]]:
        """The program as traced, and the shapes of its results."""
        with announced(self.name):
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
        return self.traced[1]

    def kernel(self, dtype: str) -> Kernel:
        """Return the kernel for arrays of a dtype; results of many axes are flat."""
        found = self._kernels.get(dtype)
        if found is None:
            found = self._kernels[dtype] = self.own(dtype) if self.own else self._built(dtype)
        return found

    @property
    def flat_outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results as kernels have them: those of many axes are flat."""
        return tuple(x if len(x) <= MAX_CORE_AXES else (prod(x),) for x in self.outputs)

    @cached_property
    def program(self) -> Program:
        """The optimised program of straight-line code, all rounds written out."""
        with announced(self.name):
            program: Program = graphs().optimise(graphs().unrolled(self.traced[0]))
        return program

    def _built(self, dtype: str) -> Kernel:
        llvm = compiler()
        program, _ = self.traced
        layout = llvm.Layout(self.inputs, self.flat_outputs, dtype)
        if not llvm.supported(program):
            missing = ", ".join(sorted(program.names() - llvm.SUPPORTED))
            fix = "write the function with operations that have machine code"
            raise NotApplicableError(f"machine code of {self.name}", missing, fix)
        with announced(self.name):
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
            name, source = f"{self.name}_by_{words}", partial(self._differentiated, key)
            every = self.slopes is not None and key == tuple(range(self.slopes.count))
            own = self.slopes.own if self.slopes is not None and every else None
            found = ArrayFunction(name, self.names, self.inputs, source, own)
            self._derivatives[key] = found
        return found

    def _differentiated(self, by: tuple[int, ...]) -> tuple[Program, tuple[Shape, ...]]:
        slopes = self.slopes
        if slopes is None or min(by) >= slopes.count:
            return self._jacobian(by)
        rest = tuple(k for k in by if k >= slopes.count)

        def both(*arrays: Any) -> tuple[Any, ...]:
            first = slopes.function(*arrays)
            found = [first[k] for k in by if k < slopes.count]
            if rest:
                program, shapes = self._jacobian(rest)
                numbers = [x for array in arrays for x in array.reshape(-1)]
                values = replay(graphs().unrolled(program), numbers)
                ends = list(accumulate(map(prod, shapes), initial=0))
                for shape, start in zip(shapes, ends, strict=False):
                    part = numbers_array(values[start : start + prod(shape)])
                    found.append(part.reshape(shape))
            return tuple(found)

        return traced(both, self.inputs)

    def _jacobian(self, by: Sequence[int]) -> tuple[Program, tuple[Shape, ...]]:
        """Return derivatives by forward mode, and their shapes."""
        program, outputs = self.traced
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


_DERIVATIVES = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}
"""Functions whose derivatives by their first three arrays have a page."""


def array_function(
    caller: str,
    function: Callable[..., Any],
    model: Model | None,
    inputs: Mapping[str, int | Shape] | None,
) -> ArrayFunction:
    """Return a function for another array library, or say what is missing, as `bind` does."""
    bound = bind(caller, function, model, inputs)
    names, shapes = tuple(bound.shapes), tuple(bound.shapes.values())
    source = partial(traced, bound.by_place, shapes)
    row = QUANTITIES.get(bound.name)
    options = bound.function.keywords if isinstance(bound.function, partial) else {}
    program = pure_program(caller, bound)
    if program is not None:
        source = partial(_traced, program)
    known = row is not None and model is not None and program is None
    if row is None or model is None or not known or options.keys() - {*row.choices, row.place}:
        return ArrayFunction(bound.name, names, shapes, source)
    slopes = None
    page = _DERIVATIVES.get(bound.name)
    if page and names[:3] == row.arrays[:3] and not model.constraints and "method" not in options:
        pages = getattr(derivatives, page)
        of_page = Bound(page, partial(pages, model, **options), bound.shapes)
        kernel = None if model.coordinates.quaternions else partial(_public_kernel, caller, of_page)
        slopes = Slopes(3, partial(_by_coordinates, of_page, model), kernel)
    own = partial(_public_kernel, caller, bound)
    return ArrayFunction(bound.name, names, shapes, source, own, slopes)


def _traced(program: FunctionProgram) -> tuple[Program, tuple[Shape, ...]]:
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
    with announced(f"{name} for {PTX}"):
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
    with announced(f"{name} for {target}"):
        return compiler().cross_object(kernel, name, target), kernel


def xla_handler(kernel: Kernel) -> tuple[str, XlaHandler]:
    """Return a kernel as a custom call of XLA, under a name that says what it computes."""
    llvm = compiler()
    return f"sixfold_{kernel.name}_{llvm.content_digest(kernel)}", llvm.XlaHandler(kernel)


_DERIVATIVES = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}
"""Functions whose derivatives by their first three arrays have an algorithm of their own."""


def _public_kernel(caller: str, bound: Bound, dtype: str) -> Kernel:
    """Return the kernel that a public function uses."""
    with watched() as found:
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
    t of N over its square.  A change of a quaternion's length is no velocity: the pages do not
    depend on that length.
    """
    rows: list[Any] = []
    for t in range(model.nv):
        unit = [1.0 if k == t else ZERO for k in range(model.nv)]
        column = position_rate(model, model.tree, list(q), unit)
        square = sum(x * x for x in column if x is not ZERO)
        rows += [ZERO if x is ZERO else x / square for x in column]
    return graphs().traced_array([plain(x) for x in rows], (model.nv, model.nq))
