"""Machine code for a core and a model: found in memory, then on disk, and only then compiled.

The compiler is imported when the first kernel is wanted.  The reference evaluation takes a model
as it is given.  Kernels of joint-space functions take a reduced tree: inertias moved to the parents
and frames moved for zeros, where that costs no digit (`sixfold.model.grouping.reduce_inertias`,
`reduce_frames`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, get_args

from sixfold.choices import Form
from sixfold.errors import NotApplicableError
from sixfold.forks import renew_in_child
from sixfold.model import Model, Tree
from sixfold.runtime.arrays import nonzero_numbers
from sixfold.runtime.kernels.kernel_cache import KERNELS, per_model
from sixfold.runtime.kernels.rolled_tree import trace_loops
from sixfold.runtime.kernels.trace_function import FunctionProgram, tangent_derivative, trace
from sixfold.runtime.lazy_import import Kernel, compiler, graphs
from sixfold.scalar import is_plain

if TYPE_CHECKING:
    from sixfold.compiler.graph.program import Program
    from sixfold.compiler.graph.rolled import Rolled
    from sixfold.compiler.llvm.layout.signature import Layout

#: Nodes up to which a program is compiled as straight-line code; beyond, NumPy evaluates it.
MAX_NODES = 40_000

#: Nodes as traced up to which it is compiled anyway: passes leave about two thirds.
MAX_TRACED_NODES = 60_000

#: Results of one state up to which straight-line code is made: each is a store in its text.
MAX_RESULTS = 200_000

#: Loops over the bodies, or straight-line code for all of them.
FORMS: tuple[str, ...] = get_args(Form)

#: Operations up to which straight-line code is preferred where both forms exist.
MAX_STRAIGHT_OPERATIONS = 9_000

#: Degrees of freedom up to which it always is, and the other form is not even traced.
MAX_STRAIGHT_FREEDOMS = 16

# -- the tree of a kernel


def kernel_tree(core: Callable[..., Any], model: Model) -> Tree:
    """Return the tree that machine code of a core is traced on."""
    body, options = (core.func, core.keywords) if isinstance(core, partial) else (core, {})
    if not getattr(body, "joint_space", False):
        return model.tree
    return reduced_tree(model, options.get("frame") != "body")


def for_kernel(core: Callable[..., Any], model: Model) -> Callable[..., Any]:
    """Return a core of a model as machine code takes it: a function of its lists of numbers."""
    return partial(core, model, kernel_tree(core, model))


#: Largest pitch of a screw joint [m/rad] in a tree whose placements and inertias may be rounded. A
#: screw of pitch p makes linear velocities of p times its rate. What rounding takes from a
#: placement, or from a first moment that is moved to the parent, then counts p times.
_MAX_PITCH = 1e3


@per_model()
def reduced_tree(model: Model, anywhere: bool = True) -> Tree:
    """Return the reduced tree; forces in body coordinates need the model's own frames."""
    from sixfold.model import reduce_inertias
    from sixfold.runtime.kernels.reduce_frames import reduce_frames

    tree = model.tree
    # a large pitch would mix numbers of very different size
    pitches = (getattr(joint, "pitch", 0) for joint in tree.joint)
    if tree.is_numeric() and any(abs(float(pitch)) > _MAX_PITCH for pitch in pitches):
        return tree
    return reduce_inertias(reduce_frames(model.tree) if anywhere else model.tree)


# -- kernels of quantities

#: Held while a kernel is made, so that threads that want the same one make it once. A fork does not
#: wait for it: it may be held for seconds, and guards nothing that could be half done.
_making = threading.RLock()
renew_in_child(lambda: _making._at_fork_reinit())  # type: ignore[attr-defined]


def kernel_for(
    function: str,
    core: Callable[..., Any],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: tuple[tuple[int, ...], ...],
    dtype: str = "float64",
    form: str | None = None,
) -> Kernel | None:
    """Return the kernel of a core for a model, or None where it has to run on NumPy.

    Args:
        function: public name, for messages and the kernel.
        core: function of (model, tree, one list for each input), a partial when it has options.
        model: the robot.
        inputs: core shape of each input array, by name.
        outputs: core shape of each result.
        dtype: float64 or float32.
        form: one of FORMS; by the size of the program by default.
    """
    options = core.keywords if isinstance(core, partial) else {}
    body = core.func if isinstance(core, partial) else core
    shapes = tuple(inputs.items())
    key = (function, body, model.digest, shapes, tuple(options.items()), dtype, form)
    known = KERNELS.find(key)
    if known is None and getattr(_interpreting, "now", False):
        return None
    # one thread makes a kernel, the others wait for it
    if known is None:
        with _making:
            known = KERNELS.find(key)
            if known is None:
                known = (_make(function, core, options, model, inputs, outputs, dtype, form),)
                KERNELS.keep(key, known[0])
    kernel: Kernel | None = known[0]
    for found in WATCHERS:
        found[function] = kernel
    return kernel


_interpreting = threading.local()


@contextmanager
def without_compiling() -> Iterator[None]:
    """Let functions whose kernels are not in memory run on NumPy meanwhile, in this thread."""
    before = getattr(_interpreting, "now", False)
    _interpreting.now = True
    try:
        yield
    finally:
        _interpreting.now = before


#: Dictionaries that get each kernel that a call uses.
WATCHERS: list[dict[str, Any]] = []


@contextmanager
def watch_kernels() -> Iterator[dict[str, Any]]:
    """Yield a dictionary of the kernels that are used meanwhile, by function."""
    found: dict[str, Any] = {}
    WATCHERS.append(found)
    try:
        yield found
    finally:
        WATCHERS.remove(found)


def _make(
    function: str,
    core: Callable[..., Any],
    options: Mapping[str, Any],
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: tuple[tuple[int, ...], ...],
    dtype: str,
    form: str | None,
) -> Kernel | None:
    llvm = compiler()
    layout = llvm.Layout(
        tuple(inputs.values()), outputs, dtype, nonzero_numbers(model, list(inputs))
    )
    if 0 in layout.sizes:
        return None
    # a joint made of the user's own code is known by its trace only
    known = not model.has_code
    name = llvm.cache.digest(
        "model",
        function,
        repr(sorted(options.items())),
        model.digest,
        repr(layout),
        ",".join(inputs),
        form or "",
        llvm.cache.source_digest(),  # a changed algorithm is another function
        *llvm.toolchain(),
    )
    # the text of the program, the data of a rolled form, the object code
    kept = llvm.cache.read(name) if known else None
    if kept is not None:
        return _unpack(function, kept, layout)
    with announce(f"{function} for '{model.name}'"):
        program, data = _program(function, core, model, list(inputs), layout, form)
        if program is None:
            return None
        kernel, code = llvm.build(function, program, layout, data=data)
    if known:
        parts = (kernel.text.encode(), data or b"", code)
        sizes = b"".join(len(part).to_bytes(8, "little") for part in parts[:2])
        llvm.cache.write(name, sizes + b"".join(parts))
    return kernel


def _program(
    function: str,
    core: Callable[..., Any],
    model: Model,
    inputs: Sequence[str],
    layout: Layout,
    form: str | None,
) -> tuple[Program | Rolled | None, bytes | None]:
    """Trace a core in the given form, or in the one that suits the size of its program.

    Straight-line code is faster while it is short: it knows every zero of every body.  The rule
    looks at nothing but the two programs.
    """
    llvm = compiler()
    straight = form == "unrolled" or (form is None and model.nv <= MAX_STRAIGHT_FREEDOMS)
    rolled, data = (None, None) if straight else _roll(function, core, model, inputs)
    if form == "rolled" and rolled is None:
        raise NotApplicableError(
            "the rolled form",
            f"{function} of model '{model.name}'",
            "leave backend out: matrices and coupled joints are compiled as straight-line code",
        )
    # long trees: loops over bodies
    if form == "rolled" or (rolled is not None and rolled.work() > 2 * MAX_STRAIGHT_OPERATIONS):
        return rolled, data
    if form is None and sum(prod(shape) for shape in layout.outputs) > MAX_RESULTS:
        return rolled, data  # NumPy, where there is no rolled form
    # straight-line code, unless that is too long and loops are possible
    tree = kernel_tree(core, model)
    program = graphs().trace(partial(core, model, tree), [prod(s) for s in layout.inputs])
    if (
        rolled is not None
        and _work(program) > MAX_STRAIGHT_OPERATIONS
        and _work(graphs().optimise(program)) > MAX_STRAIGHT_OPERATIONS
    ):
        return rolled, data
    if not llvm.has_machine_code(program) or (form is None and _too_long(program)):
        return None, None
    return program, None


def _too_long(program: Program) -> bool:
    """Return whether a program is not compiled."""
    return program.length > MAX_TRACED_NODES and graphs().optimise(program).length > MAX_NODES


def _work(program: Program) -> int:
    return sum(n for op, n in program.counts().items() if op not in ("input", "const"))


def _roll(
    function: str, core: Callable[..., Any], model: Model, inputs: Sequence[str]
) -> tuple[Rolled | None, bytes | None]:
    """Return the rolled program of a core and its data, if it has one."""
    NotRolled = graphs().NotRolled
    body = core.func if isinstance(core, partial) else core
    options = core.keywords if isinstance(core, partial) else {}
    # loops need equal joints, and neither couplings nor constraints
    rolls = getattr(body, "rolls", False)
    named = not isinstance(options.get("frame", ""), str)  # one body of its own has no loop
    other = options.get("method", "aba") != "aba"
    # the rolled form reads a joint's fields as columns of numbers; functions stay as they are
    odd = any(
        not (is_plain(value := getattr(joint, field.name)) or value is None or callable(value))
        for joint in {id(body.joint): body.joint for body in model.bodies}.values()
        if joint.is_code
        for field in fields(joint)  # type: ignore[arg-type]
    )
    if not rolls or model.couplings or model.constraints or other or named or odd:
        return None, None
    try:
        return trace_loops(core, model, inputs)
    except (NotRolled, ZeroDivisionError):
        return None, None


def _unpack(function: str, kept: bytes, layout: Layout) -> Kernel:
    llvm = compiler()
    sizes = [int.from_bytes(kept[k : k + 8], "little") for k in (0, 8)]
    text, data = kept[16 : 16 + sizes[0]], kept[16 + sizes[0] : 16 + sum(sizes)]
    code = kept[16 + sum(sizes) :]
    lanes = llvm.lanes(layout.dtype)
    kernel: Kernel = llvm.load(function, text.decode(), layout, lanes, code, data=data or None)
    return kernel


@contextmanager
def announce(what: str) -> Iterator[None]:
    """Say what is being compiled when it takes longer than two seconds and somebody watches.

    Meanwhile the floating-point environment is the default one: constants are folded in it.
    """
    from sixfold.progress import working

    with compiler().usual_environment(), working(f"compiling {what}"):
        yield


def user_kernel(
    function: Callable[..., Any],
    name: str,
    shapes: Sequence[tuple[int, ...]],
    dtype: str,
    along: int | None = None,
    tangent: Model | None = None,
    known: FunctionProgram | None = None,
) -> Any:
    """Compile a function of the user's own, written with arrays and sixfold functions.

    A function that returns a tuple of arrays gives a kernel with as many outputs.  With `along`,
    compile its derivatives by that argument: for each output its axes, then the argument's.  With
    `tangent` too, that argument is the model's q, and the last axis has its velocities.  A function
    that is `known` by its program is not called again, but for the latter.
    """
    llvm = compiler()
    with announce(name):
        if along is not None and tangent is not None:
            program, outputs = tangent_derivative(function, shapes, along, tangent)
        elif known is not None:
            program, outputs = known.program, known.outputs
        else:
            program, outputs = trace(function, shapes)
        # the derivative with respect to an argument adds its axes to each result
        if along is not None and tangent is None:
            start = sum(prod(shape) for shape in shapes[:along])
            program = graphs().jacobian(program, range(start, start + prod(shapes[along])))
            outputs = tuple((*output, *shapes[along]) for output in outputs)
        layout = llvm.Layout(tuple(shapes), outputs, dtype)
        if not llvm.has_machine_code(program):
            missing = sorted(program.names() - llvm.SUPPORTED)
            fix = "write the function with operations that have machine code"
            raise NotApplicableError(f"machine code of {name}", ", ".join(missing), fix)
        kernel, _ = llvm.build(name, program, layout, doc=function.__doc__ or "")
    return kernel
