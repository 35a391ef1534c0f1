"""Inverse dynamics of mechanisms: the forces of chosen motors for a motion of closed loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame
from sixfold.errors import ArgumentError, NotApplicableError, StateError
from sixfold.evaluate import (
    constraint_bias,
    constraint_jacobian,
    inverse_dynamics,
    inverse_mass_matrix,
    mass_matrix,
    model_checked,
    plain_argument,
)
from sixfold.model import Model

REACHED = 1e-6
"""Largest part of the joint forces that motors and constraints may leave undone."""


def actuator_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Iterable[str],
    f_ext_frame: ForceFrame = "world",
) -> tuple[Array, Array]:
    """Return the joint forces of chosen motors, and the constraint forces, that give a motion.

    M a + C = tau + J^T forces, with tau zero at every joint without a motor.  With more motors than
    freedoms, or redundant constraints, forces of least size are taken.

    Args:
        model: a robot with constraints.
        q: configurations [rad or m], shape (..., nq), that satisfy the constraints.
        v: velocities [rad/s or m/s], shape (..., nv), that do too.
        a: accelerations [rad/s^2 or m/s^2], shape (..., nv), that do too: J a + gamma = 0.
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        actuated: names of the joints with motors.
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.

    Returns:
        Joint forces [N m or N], shape (..., nv), zero at joints without a motor, and the force of
        each constraint row [N or N m], shape (..., nc).

    Raises:
        StateError: if these motors cannot give the motion.
        UnknownNameError: if there is no joint of a name in `actuated`.
        NotApplicableError: if the model has no constraints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> q, rest = sf.assemble(model, [1.0, -1.0, 1.0], hold=["crank_joint"]), np.zeros(3)
        >>> tau, forces = sf.actuator_forces(model, q, rest, rest, actuated=["crank_joint"])
        >>> np.allclose(sf.forward_dynamics(model, q, rest, tau), 0.0)  # the motor holds it
        True
        >>> tau.round(3)  # 2 m g cos(1)
        array([10.601,  0.   ,  0.   ])
    """
    model_checked("actuator_forces", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints beside its joints"
        raise NotApplicableError("actuator_forces", where, "use sixfold.inverse_dynamics")
    motors = _motors(model, actuated)
    q, v, a, f_ext = (
        plain_argument("actuator_forces", name, x, model, sizes)
        for name, x, sizes in (
            ("q", q, "nq"),
            ("v", v, "nv"),
            ("a", a, "nv"),
            ("f_ext", f_ext, "nb 6"),
        )
    )
    options: dict[str, Any] = {} if f_ext is None else {"f_ext_frame": f_ext_frame}
    need = inverse_dynamics(model, q, v, a, f_ext, **options)
    J = np.asarray(constraint_jacobian(model, q))
    _refuse_unknown(need, J)
    _refuse_broken(J, np.asarray(a, float), constraint_bias(model, q, v))
    n = model.nv
    # rows of tau and of the constraints side by side; scaled so that units do not matter
    scale = np.sqrt(np.abs(np.diagonal(mass_matrix(model, q), axis1=-2, axis2=-1)))
    inverse = inverse_mass_matrix(model, q)
    felt = np.einsum("...ri,...ij,...rj->...r", J, inverse, J)
    weight = 1.0 / np.sqrt(np.maximum(felt, np.finfo(float).tiny))
    weight = np.where(felt > 0, weight, 0.0)
    lead = np.broadcast_shapes(need.shape[:-1], J.shape[:-2])
    B = np.zeros((*lead, n, len(motors) + model.nc))
    B[..., motors, np.arange(len(motors))] = scale[..., motors]
    B[..., len(motors) :] = (J * weight[..., None]).swapaxes(-1, -2)
    B /= scale[..., None]
    right = np.broadcast_to(need, (*lead, n)) / scale
    x = (np.linalg.pinv(B, rcond=1e-12) @ right[..., None])[..., 0]
    left = np.abs((B @ x[..., None])[..., 0] - right).max(axis=-1)
    far = left > REACHED * (np.abs(right).max(axis=-1) + np.finfo(float).tiny)
    if far.any():
        raise StateError(
            "actuator_forces: argument 'a'",
            f"a motion that {len(motors)} motors and the constraints can give",
            f"{int(far.sum())} of {far.size} states with forces left over",
            "name more joints in actuated",
        )
    tau = np.zeros((*lead, n))
    tau[..., motors] = x[..., : len(motors)] * scale[..., motors]
    return tau, x[..., len(motors) :] * weight


def _refuse_unknown(need: Array, J: Array) -> None:
    """Refuse states without finite forces or rows: none of their parts is a least one."""
    if not (np.isfinite(need).all() and np.isfinite(J).all()):
        fix = "leave out states that are NaN or infinite"
        raise StateError("actuator_forces: arguments 'q/v/a'", "finite numbers", "others", fix)


def _refuse_broken(J: Array, a: Array, gamma: Array) -> None:
    """Refuse accelerations that tear the constraints apart."""
    terms = np.abs(J) @ np.abs(a)[..., None]
    left = np.abs((J @ a[..., None])[..., 0] + gamma)
    far = left > REACHED * (1.0 + terms[..., 0].max(axis=-1, keepdims=True))
    if far.any():
        raise StateError(
            "actuator_forces: argument 'a'",
            "accelerations with J a + gamma = 0",
            f"{float(left.max()):.3g} in the worst row",
            "take them from sixfold.constrained_dynamics, or a -= pinv(J) (J a + gamma)",
        )


def _motors(model: Model, actuated: Any) -> Array:
    """Return the freedoms with motors."""
    if isinstance(actuated, str) or not isinstance(actuated, Iterable):
        fix = "pass joint names, as actuated=('crank_joint',)"
        where = "actuator_forces: argument 'actuated'"
        raise ArgumentError(where, "a list of joint names", actuated, fix)
    slices = [model.v_slice(name) for name in actuated]
    found = sorted({k for part in slices for k in range(part.start, part.stop)})
    if not found:
        fix = "name the joints with motors"
        raise ArgumentError("actuator_forces: argument 'actuated'", "a joint or more", (), fix)
    return np.array(found)
