"""Rigid-body dynamics in Python: the book, and beside each page the page that runs."""

from typing import TYPE_CHECKING

from sixfold import spatial
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    ContactResidualWarning,
    ContactShapeWarning,
    DisagreementError,
    DomainError,
    InternalError,
    KernelMemoryError,
    ModelError,
    NonFiniteStateWarning,
    NotApplicableError,
    NumberError,
    OptionError,
    OutputFileError,
    PythonCallbackWarning,
    RobotFileError,
    RobotFileWarning,
    SampleError,
    ShapeError,
    SimulationError,
    SingularModelError,
    SingularPivotWarning,
    SixfoldError,
    StateError,
    TooLargeError,
    TrajectoryFileError,
    UnknownNameError,
    UnlikelyInputWarning,
)
from sixfold.runtime import (
    compile,
    get_threads,
    quantities,
    set_threads,
)
from sixfold.quantities import *
from sixfold.model import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.lazy import later
from sixfold.scalar import atan2, cos, exp, if_positive, log, repeat, sign, sin, sqrt, tanh
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Subspace,
    Transform,
    Vector3,
    physical_consistency,
)

if TYPE_CHECKING:
    from sixfold.interop.array_api import array_api_function
    from sixfold.interop.jax_bridge import jax_function
    from sixfold.interop.torch_bridge import torch_function
    from sixfold.loops import Mobility, actuator_forces, assemble, mobility
    from sixfold.simulation.contact import (
        ContactCapsule,
        ContactForces,
        ContactPair,
        ContactPoint,
        Ground,
        contact_forces,
    )
    from sixfold.control import (
        MPPI,
        CrossEntropy,
        InverseKinematics,
        Linearization,
        OptimalControl,
        all_solutions,
        controllers,
        differential_ik,
        inverse_kinematics,
        linearize,
        lqr,
        optimal_control,
        plan_trajectory,
        targets,
        tvlqr,
    )
    from sixfold.interop.opencl import opencl_function, opencl_rollout
    from sixfold.checks.doctor import Diagnosis, diagnose
    from sixfold.dynamics.book.planar import (
        PlanarChain,
        skeleton,
        skeleton_bias,
        skeleton_fd,
        skeleton_id,
        skeleton_inertia,
        skeleton_jacobian,
    )
    from sixfold.formats import load, save
    from sixfold.identification import (
        BaseParameters,
        BaseProjection,
        Identification,
        Log,
        base_parameters,
        base_projection,
        base_regressor,
        excitation,
        identify,
    )
    from sixfold.operators import BlockOperator, Operators, OperatorSolution, operators
    from sixfold.interop import Comparison, Converter, compare_with, convert
    from sixfold.learn import Task, VectorEnv, tasks
    from sixfold.model import (
        CustomJoint,
        DHRow,
        ImpactPoint,
        ModelBuilder,
        add_payload,
        attach,
        from_arrays,
        from_dh,
        grouped,
        lock_joints,
        random_tree,
        replace_inertias,
    )
    from sixfold.model.edit import rename
    from sixfold.display.report import plot, write_report
    from sixfold.simulation import (
        Event,
        JointStops,
        McapLog,
        RolloutGradient,
        Stepper,
        System,
        Trajectory,
        rollout,
        rollout_gradient,
        simulate,
    )
    from sixfold.sweeps import Grid, Sweep, draws, reducers, sweep
    from sixfold.symbolic import Code, export
    from sixfold.symbolic.equations import Equations, equations
    from sixfold.checks.verify.check import check
    from sixfold.display.viewer import view

__version__ = "0.1.0"

_LATER = {
    "bridges": ("array_api_function", "jax_function", "torch_function"),
    "doctor": ("Diagnosis", "diagnose"),
    "dynamics.book.planar": (
        *("PlanarChain", "skeleton", "skeleton_bias", "skeleton_fd", "skeleton_id"),
        *("skeleton_inertia", "skeleton_jacobian"),
    ),
    "verify": ("check",),
    "formats": ("load", "save"),
    "influence": ("BlockOperator", "Operators", "OperatorSolution", "operators"),
    "interop": ("Comparison", "Converter", "compare_with", "convert"),
    "model": (
        *("CustomJoint", "DHRow", "ImpactPoint", "ModelBuilder", "add_payload", "attach"),
        *("from_arrays", "from_dh", "grouped", "lock_joints", "random_tree"),
        "replace_inertias",
    ),
    "model.edit": ("rename",),
    "report": ("plot", "write_report"),
    "constraints": ("Mobility", "actuator_forces", "assemble", "mobility"),
    "contact": (
        *("ContactCapsule", "ContactForces", "ContactPair", "ContactPoint", "Ground"),
        *("JointLaw", "contact_forces"),
    ),
    "control": (
        *("CrossEntropy", "InverseKinematics", "Linearization", "MPPI", "OptimalControl"),
        *("all_solutions", "controllers", "differential_ik", "inverse_kinematics", "linearize"),
        *("lqr", "optimal_control", "plan_trajectory", "targets", "tvlqr"),
    ),
    "devices": ("opencl_function", "opencl_rollout"),
    "simulation": (
        *("Event", "JointStops", "McapLog", "RolloutGradient", "Stepper", "System", "Trajectory"),
        *("rollout", "rollout_gradient", "simulate"),
    ),
    "identification": (
        *("BaseParameters", "BaseProjection", "Identification", "Log", "base_parameters"),
        *("base_projection", "base_regressor", "excitation", "identify"),
    ),
    "sweeps": ("Grid", "Sweep", "draws", "reducers", "sweep"),
    "symbolic": ("Code", "Equations", "equations", "export"),
    "learn": ("Task", "VectorEnv", "tasks"),
    "viewer": ("view",),
}
"""Names of packages that are imported when one of them is first asked for."""

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


def __dir__() -> list[str]:
    """List all public names."""
    return [*globals(), *(name for names in _LATER.values() for name in names)]


__all__ = [
    "MPPI",
    "ArgumentError",
    "ArticulatedInertia",
    "BaseParameters",
    "BaseProjection",
    "BlockOperator",
    "CallbackError",
    "Code",
    "Comparison",
    "ContactCapsule",
    "ContactForces",
    "ContactPair",
    "ContactPoint",
    "ContactResidualWarning",
    "ContactShapeWarning",
    "Converter",
    "CrossEntropy",
    "CustomJoint",
    "Cylindrical",
    "DHRow",
    "Diagnosis",
    "DisagreementError",
    "DomainError",
    "Equations",
    "Event",
    "Fixed",
    "Force",
    "Free",
    "Grid",
    "Ground",
    "Helical",
    "Identification",
    "ImpactPoint",
    "Inertia",
    "InternalError",
    "InverseKinematics",
    "Joint",
    "JointStops",
    "KernelMemoryError",
    "Linearization",
    "Log",
    "McapLog",
    "Mobility",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Motion",
    "NonFiniteStateWarning",
    "NotApplicableError",
    "NumberError",
    "OperatorSolution",
    "Operators",
    "OptimalControl",
    "OptionError",
    "OutputFileError",
    "Planar",
    "PlanarChain",
    "Prismatic",
    "PythonCallbackWarning",
    "Revolute",
    "RobotFileError",
    "RobotFileWarning",
    "RolloutGradient",
    "SampleError",
    "ShapeError",
    "SimulationError",
    "SingularModelError",
    "SingularPivotWarning",
    "SixfoldError",
    "Spherical",
    "StateError",
    "Stepper",
    "Subspace",
    "Sweep",
    "System",
    "Task",
    "TooLargeError",
    "Trajectory",
    "TrajectoryFileError",
    "Transform",
    "Translational",
    "Universal",
    "UnknownNameError",
    "UnlikelyInputWarning",
    "Vector3",
    "VectorEnv",
    "actuator_forces",
    "add_payload",
    "all_solutions",
    "array_api_function",
    "assemble",
    "atan2",
    "attach",
    "base_parameters",
    "base_projection",
    "base_regressor",
    "check",
    "compare_with",
    "compile",
    "contact_forces",
    "controllers",
    "convert",
    "cos",
    "diagnose",
    "differential_ik",
    "draws",
    "equations",
    "excitation",
    "exp",
    "export",
    "from_arrays",
    "from_dh",
    "get_threads",
    "grouped",
    "identify",
    "if_positive",
    "inverse_kinematics",
    "jax_function",
    "linearize",
    "load",
    "lock_joints",
    "log",
    "lqr",
    "mobility",
    "neutral",
    "opencl_function",
    "opencl_rollout",
    "operators",
    "optimal_control",
    "physical_consistency",
    "plan_trajectory",
    "plot",
    "random_state",
    "random_tree",
    "reducers",
    "rename",
    "repeat",
    "replace_inertias",
    "rollout",
    "rollout_gradient",
    "save",
    "set_threads",
    "sign",
    "simulate",
    "sin",
    "skeleton",
    "skeleton_bias",
    "skeleton_fd",
    "skeleton_id",
    "skeleton_inertia",
    "skeleton_jacobian",
    "spatial",
    "sqrt",
    "sweep",
    "tanh",
    "targets",
    "tasks",
    "torch_function",
    "tvlqr",
    "view",
    "write_report",
]

if TYPE_CHECKING:
    from sixfold.runtime import quantities as _rows

    __all__ += _rows.configurations.__all__
    __all__ += _rows.constraints.__all__
    __all__ += _rows.derivatives.__all__
    __all__ += _rows.dynamics.__all__
    __all__ += _rows.energies.__all__
    __all__ += _rows.impacts.__all__
    __all__ += _rows.kinematic_derivatives.__all__
    __all__ += _rows.kinematics.__all__
    __all__ += _rows.regressors.__all__
    __all__ += _rows.wrenches.__all__
else:
    __all__ = sorted({*__all__, *quantities.__all__})
