"""Where a model, an algorithm and a backend meet.

Functions that few programs need are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sixfold.evaluate import functions
from sixfold.evaluate.arrays import (
    FEWER_STATES,
    Argument,
    checked,
    enough_memory,
    joined,
    leading_shape,
    model_checked,
)
from sixfold.evaluate.call import BACKENDS
from sixfold.evaluate.compile_api import compile
from sixfold.evaluate.containers import Call, contained
from sixfold.evaluate.foreign import is_container
from sixfold.evaluate.functions import *
from sixfold.evaluate.inertias import refuse_masses_below_zero
from sixfold.evaluate.kernels.kernel_cache import KERNELS, per_model, while_alive
from sixfold.evaluate.kernels.kernel_tree import kernel_tree, solved
from sixfold.evaluate.kernels.kernels import user_kernel, without_compiling
from sixfold.evaluate.kernels.scan import evaluated, run_scan, scan_kernel, threads_for
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
from sixfold.evaluate.labels import Names, in_order, last_labels, names_along, plain_argument
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import PUBLIC, QUANTITIES, Quantity
from sixfold.evaluate.singular.pivot_margin import possibly_singular_joints
from sixfold.evaluate.singular.states import lost_pivots, refuse_singular, singular_joints
from sixfold.evaluate.states import neutral, random_state
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.evaluate.array_functions import (
        ArrayFunction,
        array_function,
        target_object,
        target_text,
        targets,
        xla_handler,
    )
    from sixfold.evaluate.kernels.adjoint import (
        adjoint_kernel,
        gradient_kernel,
        second_order,
    )
    from sixfold.evaluate.kernels.trace_function import Program as Program
    from sixfold.evaluate.scalar_functions import inverse_masses
    from sixfold.evaluate.scenes import evaluate_with_scene

_LATER = {
    "array_functions": (
        "ArrayFunction",
        "array_function",
        "target_object",
        "target_text",
        "targets",
        "xla_handler",
    ),
    "kernels.adjoint": (
        "adjoint_kernel",
        "gradient_kernel",
        "second_order",
    ),
    "scalar_functions": ("inverse_masses",),
    "scenes": ("evaluate_with_scene",),
}

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


def all_quantities() -> dict[str, Quantity]:
    """Return every row, by name."""
    for module in _LATER:
        import_module(f"{__name__}.{module}")
    return QUANTITIES


__all__ = [
    "BACKENDS",
    "FEWER_STATES",
    "KERNELS",
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
    "checked",
    "compile",
    "contained",
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
    "joined",
    "kernel_tree",
    "last_labels",
    "leading_shape",
    "lost_pivots",
    "model_checked",
    "names_along",
    "neutral",
    "numbers_array",
    "per_model",
    "plain_argument",
    "possibly_singular_joints",
    "program_of",
    "quantity",
    "random_state",
    "refuse_masses_below_zero",
    "refuse_singular",
    "run_kernel",
    "run_scan",
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
    __all__ = sorted({*__all__, *functions.__all__})
