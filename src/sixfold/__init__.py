"""Rigid-body dynamics in Python: the book, and beside each page the page that runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sixfold.errors import (
    ArgumentError,
    CallbackError,
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
)
from sixfold.evaluate import (
    compile,
    functions,
    get_threads,
    neutral,
    random_state,
    set_threads,
)
from sixfold.evaluate.functions import *
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
    from sixfold.bridges import jax_function, torch_function
    from sixfold.constraints import Mobility, actuator_forces, assemble, mobility
    from sixfold.contact import (
        ContactCapsule,
        ContactForces,
        ContactPair,
        ContactPoint,
        Ground,
        contact_forces,
    )
    from sixfold.control import MPPI, CrossEntropy, Linearization, controllers, linearize, lqr
    from sixfold.devices import opencl_function, opencl_rollout
    from sixfold.doctor import Diagnosis, diagnose
    from sixfold.dynamics.book.planar import PlanarChain, skeleton_fd, skeleton_id
    from sixfold.formats import load, save
    from sixfold.identify import BaseParameters, base_parameters
    from sixfold.interop import Comparison, Converter, compare_with, convert
    from sixfold.learn import Task, VectorEnv, tasks
    from sixfold.model import (
        CustomJoint,
        DHRow,
        ImpactPoint,
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
    from sixfold.simulation import (
        Event,
        JointStops,
        RolloutGradient,
        Stepper,
        Trajectory,
        rollout,
        rollout_gradient,
        simulate,
    )
    from sixfold.symbolic import Code, export
    from sixfold.symbolic.equations import Equations, equations
    from sixfold.verify.check import check
    from sixfold.viewer import view

__version__ = "0.1.0"

_LATER = {
    "bridges": ("jax_function", "torch_function"),
    "doctor": ("Diagnosis", "diagnose"),
    "dynamics.book.planar": ("PlanarChain", "skeleton_fd", "skeleton_id"),
    "verify": ("check",),
    "formats": ("load", "save"),
    "interop": ("Comparison", "Converter", "compare_with", "convert"),
    "model": (
        *("CustomJoint", "DHRow", "ImpactPoint", "ModelBuilder", "add_payload", "attach"),
        *("from_dh", "grouped", "lock_joints", "random_tree", "replace_inertias"),
    ),
    "model.edit.rename": ("rename",),
    "report": ("plot", "write_report"),
    "constraints": ("Mobility", "actuator_forces", "assemble", "mobility"),
    "contact": (
        *("ContactCapsule", "ContactForces", "ContactPair", "ContactPoint", "Ground"),
        "contact_forces",
    ),
    "control": ("MPPI", "CrossEntropy", "Linearization", "controllers", "linearize", "lqr"),
    "devices": ("opencl_function", "opencl_rollout"),
    "simulation": (
        *("Event", "JointStops", "RolloutGradient", "Stepper", "Trajectory"),
        *("rollout", "rollout_gradient", "simulate"),
    ),
    "identify": ("BaseParameters", "base_parameters"),
    "symbolic": ("Code", "Equations", "equations", "export"),
    "learn": ("Task", "VectorEnv", "tasks"),
    "viewer": ("view",),
}
"""Names of packages that are imported when one of them is first asked for."""
_PACKAGE = {name: package for package, names in _LATER.items() for name in names}


if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong

    def __getattr__(name: str) -> Any:
        """Import the package that a name comes from."""
        if name not in _PACKAGE:
            raise AttributeError(f"module 'sixfold' has no attribute {name!r}")
        value = getattr(import_module(f"sixfold.{_PACKAGE[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List all public names."""
    return [*globals(), *_PACKAGE]


__all__ = [
    "MPPI",
    "ArgumentError",
    "ArticulatedInertia",
    "BaseParameters",
    "CallbackError",
    "Code",
    "Comparison",
    "ContactCapsule",
    "ContactForces",
    "ContactPair",
    "ContactPoint",
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
    "Ground",
    "Helical",
    "ImpactPoint",
    "Inertia",
    "InternalError",
    "Joint",
    "JointStops",
    "KernelMemoryError",
    "Linearization",
    "Mobility",
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
    "Task",
    "TooLargeError",
    "Trajectory",
    "TrajectoryFileError",
    "Transform",
    "Translational",
    "Universal",
    "UnknownNameError",
    "Vector3",
    "VectorEnv",
    "actuator_forces",
    "add_payload",
    "assemble",
    "atan2",
    "attach",
    "base_parameters",
    "check",
    "compare_with",
    "compile",
    "contact_forces",
    "controllers",
    "convert",
    "cos",
    "diagnose",
    "equations",
    "exp",
    "export",
    "from_dh",
    "get_threads",
    "grouped",
    "if_positive",
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
    "physical_consistency",
    "plot",
    "random_state",
    "random_tree",
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
    "skeleton_fd",
    "skeleton_id",
    "sqrt",
    "tanh",
    "tasks",
    "torch_function",
    "view",
    "write_report",
]

if not TYPE_CHECKING:  # static tools follow the star above
    __all__ = sorted({*__all__, *functions.__all__})
