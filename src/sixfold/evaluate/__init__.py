"""Where a model, an algorithm and a backend meet.

Functions that few programs need are imported when they are first used.
"""

from typing import TYPE_CHECKING

from sixfold.evaluate import quantities, scalar_functions
from sixfold.evaluate.array_libraries import (
    LABELS,
    Call,
    Names,
    call_on_dask_or_xarray,
    in_order,
    is_container,
    last_labels,
    names_along,
    plain_argument,
)
from sixfold.evaluate.arrays import (
    FEWER_STATES,
    Argument,
    checked,
    enough_memory,
    join_numbers,
    leading_shape,
    model_checked,
    refuse_masses_below_zero,
)
from sixfold.evaluate.call import BACKENDS
from sixfold.evaluate.compile_api import (
    ArrayFunction,
    array_function,
    compile,
    target_object,
    target_text,
    targets,
    xla_handler,
)
from sixfold.evaluate.kernels.kernel_cache import KERNELS, per_model, while_alive
from sixfold.evaluate.kernels.kernels import kernel_tree, user_kernel, without_compiling
from sixfold.evaluate.kernels.scan import (
    adjoint_kernel,
    evaluated,
    gradient_kernel,
    run_scan,
    scan_kernel,
    second_order,
    threads_for,
)
from sixfold.evaluate.kernels.threads import (
    cuts,
    get_threads,
    run_kernel,
    set_threads,
    share,
    spread,
)
from sixfold.evaluate.kernels.trace_function import (
    FunctionProgram,
    graph_of,
    numbers_array,
    program_of,
)
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import *
from sixfold.evaluate.quantities.dynamics import solved
from sixfold.evaluate.quantity import PUBLIC, QUANTITIES, Quantity
from sixfold.evaluate.singular import (
    lost_pivots,
    possibly_singular_joints,
    refuse_singular,
    singular_joints,
)
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.evaluate.kernels.scan import adjoint_kernel, gradient_kernel, second_order
    from sixfold.evaluate.kernels.trace_function import Program as Program
    from sixfold.evaluate.quantities.contact import evaluate_with_scene, inverse_masses

_LATER = {
    "quantities.contact": ("evaluate_with_scene", "inverse_masses"),
}

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


def all_quantities() -> dict[str, Quantity]:
    """Return every row, by name."""
    return QUANTITIES


__all__ = [
    "BACKENDS",
    "FEWER_STATES",
    "KERNELS",
    "LABELS",
    "PUBLIC",
    "QUANTITIES",
    "Argument",
    "ArrayFunction",
    "Call",
    "FunctionProgram",
    "Names",
    "Quantity",
    "adjoint_kernel",
    "all_quantities",
    "array_function",
    "call_on_dask_or_xarray",
    "checked",
    "compile",
    "cuts",
    "enough_memory",
    "evaluate_with_scene",
    "evaluated",
    "get_threads",
    "gradient_kernel",
    "graph_of",
    "in_order",
    "inverse_masses",
    "is_container",
    "join_numbers",
    "kernel_tree",
    "last_labels",
    "leading_shape",
    "lost_pivots",
    "model_checked",
    "names_along",
    "numbers_array",
    "per_model",
    "plain_argument",
    "possibly_singular_joints",
    "program_of",
    "quantity",
    "refuse_masses_below_zero",
    "refuse_singular",
    "run_kernel",
    "run_scan",
    "scalar_functions",
    "scan_kernel",
    "second_order",
    "set_threads",
    "share",
    "singular_joints",
    "solved",
    "spread",
    "target_object",
    "target_text",
    "targets",
    "threads_for",
    "user_kernel",
    "while_alive",
    "without_compiling",
    "xla_handler",
]

if not TYPE_CHECKING:  # static tools follow the star above
    __all__ = sorted({*__all__, *quantities.__all__})
