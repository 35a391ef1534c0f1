"""The words that options may be, as types: editors offer them, and type checkers refuse others.

The tuples that calls are checked against are made from these types with `typing.get_args`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

from numpy.typing import ArrayLike

Backend: TypeAlias = Literal["native", "rolled", "unrolled", "numpy"]
StepBackend: TypeAlias = Literal["native", "numpy"]
RolloutDevice: TypeAlias = Literal["cpu", "opencl"]
DeviceMath: TypeAlias = Literal["kernel", "device"]
Precision: TypeAlias = Literal["float64", "float32"]
Form: TypeAlias = Literal["rolled", "unrolled"]
MotionFrame: TypeAlias = Literal["body", "world", "aligned"]
ForceFrame: TypeAlias = Literal["world", "body"]
AccelerationKind: TypeAlias = Literal["spatial", "classical"]
Method: TypeAlias = Literal["aba", "crba", "operators", "operators_dense"]
FixedStep: TypeAlias = Literal["semi_implicit_euler", "rk4", "lie_rk4", "midpoint"]
Solver: TypeAlias = Literal["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"]
Integrator: TypeAlias = FixedStep | Solver | Literal["solve_ivp"]
Stabilization: TypeAlias = Literal["project"] | float
Friction: TypeAlias = bool | Literal["viscous", "dry", "direction"]
JointColumn: TypeAlias = Literal["viscous", "dry", "dry+", "dry-", "offset", "rotor", "spring"]
SplineName: TypeAlias = Literal["minimum_jerk", "cubic"]
Search: TypeAlias = Literal["ddp", "ilqr"]
Convention: TypeAlias = Literal["standard", "modified"]
Mimic: TypeAlias = Literal["couple", "free"]
Library: TypeAlias = Literal["pinocchio", "mujoco"]
Parameters: TypeAlias = Literal["symbols", "numbers"]
ExplainedQuantity: TypeAlias = Literal["inverse_dynamics", "bias_force", "gravity_force"]
InertiaForm: TypeAlias = Literal["centre", "origin", "base"]
CodeLanguage: TypeAlias = Literal["c", "python", "julia", "matlab"]
CodePrecision: TypeAlias = Literal["double", "float"]
CodeTarget: TypeAlias = Literal[
    "aarch64", "aarch64_sve256", "aarch64_sve512", "riscv64", "x86_64", "ptx"
]
Reduction: TypeAlias = Literal["mean", "deviation", "covariance", "extremes", "quantiles"]
Engine: TypeAlias = Literal["threads", "processes", "serial"]
PieceFormat: TypeAlias = Literal["parquet", "zarr"]
Autoreset: TypeAlias = Literal["next_step", "same_step", "disabled"]

#: A function of (t, q, v), and of further numbers where a docstring names them.
Callback: TypeAlias = Callable[..., Any]
#: External forces as numbers, or as a function of (t, q, v).
ForceInput: TypeAlias = ArrayLike | Callback
#: True for a bar, or a function of (how much is done, how much there is).
Progress: TypeAlias = bool | Callable[[Any, Any], object]
#: One number for each joint, or by the names of joints.
Gains: TypeAlias = ArrayLike | Mapping[str, float | None]


class HasMotion(Protocol):
    """An object with times t (T,) and configurations q (T, nq), such as a `Trajectory`."""

    @property
    def t(self) -> Any:
        """Times [s]."""

    @property
    def q(self) -> Any:
        """Configurations."""


#: A motion: an object or a mapping with t and q, or q alone.
MotionInput: TypeAlias = HasMotion | Mapping[str, ArrayLike] | ArrayLike
