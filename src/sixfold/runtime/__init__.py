"""What runs a quantity: argument checks, prepared calls, kernels, threads."""

from importlib import import_module

from sixfold.model import require_model
from sixfold.runtime.array_libraries import (
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
from sixfold.runtime.arrays import (
    FEWER_STATES,
    Argument,
    checked_array,
    enough_memory,
    finite_floats,
    join_numbers,
    leading_shape,
    refuse_masses_below_zero,
)
from sixfold.runtime.call import BACKENDS
from sixfold.runtime.compile_api import (
    ArrayFunction,
    array_function,
    compile,
    target_object,
    target_text,
    targets,
    xla_handler,
)
from sixfold.runtime.kernels.kernel_cache import KERNELS, per_model, while_alive
from sixfold.runtime.kernels.kernels import kernel_tree, user_kernel, without_compiling
from sixfold.runtime.kernels.scan import (
    adjoint_kernel,
    evaluate_once,
    flat_rows,
    gradient_kernel,
    keep_last,
    run_scan,
    scan_kernel,
    second_order,
    threads_for,
)
from sixfold.runtime.kernels.threads import (
    cuts,
    get_threads,
    run_kernel,
    set_threads,
    share,
    spread,
)
from sixfold.runtime.kernels.trace_function import (
    FunctionProgram,
    graph_of,
    numbers_array,
    program_of,
)
from sixfold.runtime.public import quantity
from sixfold.runtime.quantity import PUBLIC, QUANTITIES, Quantity
from sixfold.runtime.singular import (
    lost_pivots,
    possibly_singular_joints,
    refuse_singular,
    singular_joints,
)


def all_quantities() -> dict[str, Quantity]:
    """Return every row, by name."""
    import_module("sixfold.quantities")  # its modules add the rows
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
    "checked_array",
    "compile",
    "cuts",
    "enough_memory",
    "evaluate_once",
    "finite_floats",
    "flat_rows",
    "get_threads",
    "gradient_kernel",
    "graph_of",
    "in_order",
    "is_container",
    "join_numbers",
    "keep_last",
    "kernel_tree",
    "last_labels",
    "leading_shape",
    "lost_pivots",
    "names_along",
    "numbers_array",
    "per_model",
    "plain_argument",
    "possibly_singular_joints",
    "program_of",
    "quantity",
    "refuse_masses_below_zero",
    "refuse_singular",
    "require_model",
    "run_kernel",
    "run_scan",
    "scan_kernel",
    "second_order",
    "set_threads",
    "share",
    "singular_joints",
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
