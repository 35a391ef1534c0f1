"""Where a model, an algorithm and a backend meet.

Functions that few programs need are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from sixfold.evaluate.functions.dynamics import (
    bias_force,
    center_of_mass,
    centroidal_momentum,
    constraint_forces,
    coriolis_matrix,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    momentum,
    potential_energy,
)
from sixfold.evaluate.functions.kinematics import (
    body_accelerations,
    body_poses,
    body_velocities,
    difference,
    frame_pose,
    frame_velocity,
    integrate,
    jacobian,
    jacobian_bias,
    point_force,
    position_rate,
)
from sixfold.evaluate.kernels import result_memory
from sixfold.evaluate.kernels.kernel_cache import KERNELS, while_alive
from sixfold.evaluate.kernels.kernel_tree import kernel_tree, solved
from sixfold.evaluate.kernels.kernels import user_kernel
from sixfold.evaluate.kernels.scan import evaluated, run_scan, scan_kernel, threads_for
from sixfold.evaluate.kernels.threads import cuts, get_threads, set_threads, share, spread
from sixfold.evaluate.kernels.trace_function import graph_of, numbers_array
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import QUANTITIES, Quantity
from sixfold.evaluate.singular.pivot_margin import possibly_singular_joints
from sixfold.evaluate.singular.states import lost_pivots, refuse_singular, singular_joints
from sixfold.evaluate.states import neutral, random_state

if TYPE_CHECKING:
    from sixfold.evaluate.array_functions import (
        ArrayFunction,
        array_function,
        opencl_options,
        opencl_scan_source,
        opencl_source,
        target_object,
        target_text,
        targets,
        xla_handler,
    )
    from sixfold.evaluate.functions.constraints import (
        constrained_dynamics,
        constraint_bias,
        constraint_gaps,
        constraint_jacobian,
        constraint_wrenches,
        project,
    )
    from sixfold.evaluate.functions.derivatives import (
        forward_dynamics_derivatives,
        forward_second_derivatives,
        inverse_dynamics_derivatives,
        second_derivatives,
    )
    from sixfold.evaluate.functions.impacts import delassus_matrix, impact
    from sixfold.evaluate.functions.kinematic_derivatives import (
        center_of_mass_jacobian,
        centroidal_momentum_bias,
        centroidal_momentum_derivatives,
        centroidal_momentum_matrix,
        difference_derivatives,
        frame_velocity_derivatives,
        integrate_derivatives,
        jacobian_derivatives,
        kinetic_energy_derivatives,
        potential_energy_derivatives,
    )
    from sixfold.evaluate.kernels.adjoint import adjoint_kernel, gradient_kernel, program_text
    from sixfold.evaluate.kernels.trace_function import Program as Program
    from sixfold.evaluate.scalar_functions import inverse_masses
    from sixfold.evaluate.scenes import evaluate_with_scene

_LATER = {
    "array_functions": (
        "ArrayFunction",
        "array_function",
        "opencl_options",
        "opencl_scan_source",
        "opencl_source",
        "target_object",
        "target_text",
        "targets",
        "xla_handler",
    ),
    "functions.constraints": (
        "constrained_dynamics",
        "constraint_bias",
        "constraint_gaps",
        "constraint_jacobian",
        "constraint_wrenches",
        "project",
    ),
    "functions.derivatives": (
        "forward_dynamics_derivatives",
        "forward_second_derivatives",
        "inverse_dynamics_derivatives",
        "second_derivatives",
    ),
    "functions.impacts": (
        "delassus_matrix",
        "impact",
    ),
    "functions.kinematic_derivatives": (
        "center_of_mass_jacobian",
        "centroidal_momentum_bias",
        "centroidal_momentum_derivatives",
        "centroidal_momentum_matrix",
        "difference_derivatives",
        "frame_velocity_derivatives",
        "integrate_derivatives",
        "jacobian_derivatives",
        "kinetic_energy_derivatives",
        "potential_energy_derivatives",
    ),
    "kernels.adjoint": (
        "adjoint_kernel",
        "gradient_kernel",
        "program_text",
    ),
    "scalar_functions": ("inverse_masses",),
    "scenes": ("evaluate_with_scene",),
}
_HOME = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the module that a name comes from."""
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def all_quantities() -> dict[str, Quantity]:
    """Return every row, by name."""
    for module in _LATER:
        import_module(f"{__name__}.{module}")
    return QUANTITIES


__all__ = [
    "BACKENDS",
    "FEWER_STATES",
    "KERNELS",
    "Argument",
    "ArrayFunction",
    "adjoint_kernel",
    "all_quantities",
    "array_function",
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_momentum",
    "centroidal_momentum_bias",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "checked",
    "compile",
    "constrained_dynamics",
    "constraint_bias",
    "constraint_forces",
    "constraint_gaps",
    "constraint_jacobian",
    "constraint_wrenches",
    "coriolis_matrix",
    "cuts",
    "delassus_matrix",
    "difference",
    "difference_derivatives",
    "enough_memory",
    "evaluate_with_scene",
    "evaluated",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_second_derivatives",
    "frame_pose",
    "frame_velocity",
    "frame_velocity_derivatives",
    "get_threads",
    "gradient_kernel",
    "graph_of",
    "gravity_force",
    "impact",
    "integrate",
    "integrate_derivatives",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "inverse_masses",
    "jacobian",
    "jacobian_bias",
    "jacobian_derivatives",
    "joined",
    "joint_wrenches",
    "kernel_tree",
    "kinetic_energy",
    "kinetic_energy_derivatives",
    "leading_shape",
    "lost_pivots",
    "mass_matrix",
    "model_checked",
    "momentum",
    "neutral",
    "numbers_array",
    "opencl_options",
    "opencl_scan_source",
    "opencl_source",
    "point_force",
    "position_rate",
    "possibly_singular_joints",
    "potential_energy",
    "potential_energy_derivatives",
    "program_text",
    "project",
    "quantity",
    "random_state",
    "refuse_singular",
    "result_memory",
    "run_scan",
    "scan_kernel",
    "second_derivatives",
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
    "xla_handler",
]
