"""Rigid-body dynamics in Python: the book, and beside each page the page that runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sixfold.errors import (
    ArgumentError,
    CallbackError,
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
)
from sixfold.evaluate import (
    bias_force,
    body_accelerations,
    body_poses,
    body_velocities,
    center_of_mass,
    centroidal_momentum,
    compile,
    constraint_forces,
    coriolis_matrix,
    difference,
    forward_dynamics,
    forward_dynamics_derivatives,
    frame_pose,
    frame_velocity,
    get_threads,
    gravity_force,
    integrate,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_mass_matrix,
    jacobian,
    jacobian_bias,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    momentum,
    neutral,
    point_force,
    position_rate,
    potential_energy,
    random_state,
    set_threads,
)
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
from sixfold.scalar import atan2, cos, exp, if_positive, log, sign, sin, sqrt, tanh
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
    from sixfold.control import Linearization, controllers, linearize, lqr
    from sixfold.doctor import Diagnosis, diagnose
    from sixfold.dynamics.book.planar import PlanarChain, skeleton_fd, skeleton_id
    from sixfold.formats import load, save
    from sixfold.identify import BaseParameters, base_parameters
    from sixfold.interop import Comparison, Converter, compare_with, convert
    from sixfold.model import (
        CustomJoint,
        DHRow,
        ModelBuilder,
        add_payload,
        attach,
        from_dh,
        grouped,
        lock_joints,
        random_tree,
        replace_inertias,
    )
    from sixfold.model.edit.rename import rename
    from sixfold.report import plot, write_report
    from sixfold.simulation import Event, JointStops, Trajectory, rollout, simulate
    from sixfold.symbolic import Code, export
    from sixfold.symbolic.equations import Equations, equations
    from sixfold.verify.check import check
    from sixfold.viewer import view

__version__ = "0.1.0"

_LATER = {
    "doctor": ("Diagnosis", "diagnose"),
    "dynamics.book.planar": ("PlanarChain", "skeleton_fd", "skeleton_id"),
    "verify": ("check",),
    "formats": ("load", "save"),
    "interop": ("Comparison", "Converter", "compare_with", "convert"),
    "model": (
        *("CustomJoint", "DHRow", "ModelBuilder", "add_payload", "attach", "from_dh", "grouped"),
        *("lock_joints", "random_tree", "replace_inertias"),
    ),
    "model.edit.rename": ("rename",),
    "report": ("plot", "write_report"),
    "control": ("Linearization", "controllers", "linearize", "lqr"),
    "simulation": ("Event", "JointStops", "Trajectory", "rollout", "simulate"),
    "identify": ("BaseParameters", "base_parameters"),
    "symbolic": ("Code", "Equations", "equations", "export"),
    "viewer": ("view",),
}
"""Names that come from rooms which are imported when one of them is first asked for."""
_ROOM = {name: room for room, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the room that a name comes from."""
    if name not in _ROOM:
        raise AttributeError(f"module 'sixfold' has no attribute {name!r}")
    value = getattr(import_module(f"sixfold.{_ROOM[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all public names."""
    return [*globals(), *_ROOM]


__all__ = [
    "ArgumentError",
    "ArticulatedInertia",
    "BaseParameters",
    "CallbackError",
    "Code",
    "Comparison",
    "Converter",
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
    "Helical",
    "Inertia",
    "InternalError",
    "Joint",
    "JointStops",
    "KernelMemoryError",
    "Linearization",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Motion",
    "NonFiniteStateWarning",
    "NotApplicableError",
    "NumberError",
    "OptionError",
    "OutputFileError",
    "Planar",
    "PlanarChain",
    "Prismatic",
    "PythonCallbackWarning",
    "Revolute",
    "RobotFileError",
    "RobotFileWarning",
    "SampleError",
    "ShapeError",
    "SimulationError",
    "SingularModelError",
    "SingularPivotWarning",
    "SixfoldError",
    "Spherical",
    "StateError",
    "Subspace",
    "TooLargeError",
    "Trajectory",
    "TrajectoryFileError",
    "Transform",
    "Translational",
    "Universal",
    "UnknownNameError",
    "Vector3",
    "add_payload",
    "atan2",
    "attach",
    "base_parameters",
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum",
    "check",
    "compare_with",
    "compile",
    "constraint_forces",
    "controllers",
    "convert",
    "coriolis_matrix",
    "cos",
    "diagnose",
    "difference",
    "equations",
    "exp",
    "export",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_pose",
    "frame_velocity",
    "from_dh",
    "get_threads",
    "gravity_force",
    "grouped",
    "if_positive",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_bias",
    "joint_wrenches",
    "kinetic_energy",
    "linearize",
    "load",
    "lock_joints",
    "log",
    "lqr",
    "mass_matrix",
    "momentum",
    "neutral",
    "physical_consistency",
    "plot",
    "point_force",
    "position_rate",
    "potential_energy",
    "random_state",
    "random_tree",
    "rename",
    "replace_inertias",
    "rollout",
    "save",
    "set_threads",
    "sign",
    "simulate",
    "sin",
    "skeleton_fd",
    "skeleton_id",
    "sqrt",
    "tanh",
    "view",
    "write_report",
]
