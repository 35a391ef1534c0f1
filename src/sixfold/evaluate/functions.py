"""The public functions: a model and arrays in, an array out.

Every function takes the model first, broadcasts over leading axes, and names the argument when a
shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is (..., nb, 6).
Float64 and float32 arrays run as machine code, compiled once for each model; `backend="numpy"`
evaluates the same algorithm step by step in NumPy instead, as all other kinds of numbers do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import (
    ModelError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from sixfold.evaluate import scalar_functions
from sixfold.evaluate.arrays import (
    Argument,
    Array,
    Shape,
    checked,
    evaluate,
    leading_shape,
    model_checked,
)
from sixfold.evaluate.kernels.kernel_tree import in_kernel, solved
from sixfold.evaluate.quaternions import watched_core
from sixfold.evaluate.quick import quick
from sixfold.evaluate.run_kernel import BACKENDS, machine
from sixfold.evaluate.singular.states import refuse_singular, spoil_singular_rows
from sixfold.model import Model
from sixfold.scalar import together
from sixfold.spatial import ZERO3

FRAMES = ("body", "world", "aligned")
FORCE_FRAMES = ("world", "body")


@quick(partial(scalar_functions.inverse_dynamics, frame="world"), "qvv", "v")
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    backend: str | None = None,
) -> Array:
    """Return the joint forces that produce accelerations a.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity in motion-subspace coordinates [rad/s or m/s], shape (..., nv).
        a: joint acceleration, shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        f_ext_frame: "world" (world axes about the world origin) or "body" (body axes and origin).
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Joint forces [N m or N], shape (..., nv), with damping, friction, springs and armature.

    Raises:
        ShapeError: if a last axis is not nq or nv; the message names the argument.

    Reference: recursive Newton-Euler (Featherstone, RBDA, table 5.1; Carius eqs. (30)-(38)), worked
    out about the joint points (Khatib; Concurrent Dynamics eqs. (5), (16), (17)).
    """
    _force_frame("inverse_dynamics", f_ext, f_ext_frame)
    core = partial(scalar_functions.inverse_dynamics, frame=f_ext_frame)
    return _run("inverse_dynamics", core, model, _nv, q=q, v=v, a=a, f_ext=f_ext, backend=backend)


@quick(solved, "qvv", "v", solves=True)
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    method: str | None = None,
    backend: str | None = None,
) -> Array:
    """Return the accelerations that joint forces tau produce.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f), shape (..., nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        method: "aba" (articulated bodies, O(N)), "crba" (mass matrix and sparse LTDL), "operators"
            (O(N) factorised inverse, eq. 19b) or "operators_dense" (O(N^3), eq. 19a); "aba" if left
            out.  Near a singular configuration, and with light bodies before heavy ones, "aba"
            keeps most digits.  Models with couplings always solve their reduced mass matrix
            and have no choice.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Accelerations, shape (..., nv).  A state where a joint has no inertia behind it gives NaN in
        its row and one SingularPivotWarning.

    Raises:
        ShapeError: if a last axis is not nq or nv.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Featherstone, RBDA, tables 7.1 and 6.2; Concurrent Dynamics eqs. (19a), (19b).
    """
    _force_frame("forward_dynamics", f_ext, f_ext_frame)
    if method is not None:
        _choice("forward_dynamics", "method", scalar_functions.METHODS, method)
    refuse_singular(model_checked("forward_dynamics", model))
    if method is not None and model.couplings:
        where = f"model '{model.name}': coupled joints always solve their reduced mass matrix"
        raise NotApplicableError("forward_dynamics: option 'method'", where, "leave it out")
    core = solved(model, f_ext_frame, method)
    given: dict[str, Any] = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    acc = _run("forward_dynamics", core, model, _nv, **given, backend=backend)
    return _spoiled(model, q, acc, 1)


@quick(scalar_functions.mass_matrix, "q", "vv")
def mass_matrix(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the joint-space inertia matrix M, shape (..., nv, nv), armature included.

    Reference: Featherstone, RBDA, table 6.2 (composite-rigid-body algorithm).
    """
    return _run("mass_matrix", scalar_functions.mass_matrix, model, _nv_nv, q=q, backend=backend)


def inverse_mass_matrix(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return M^-1, shape (..., nv, nv), by the articulated-body recursion.

    Raises:
        SingularModelError: if some joint has no inertia behind it at every configuration.
    """
    refuse_singular(model_checked("inverse_mass_matrix", model))
    core = scalar_functions.inverse_mass_matrix
    inverse = _run("inverse_mass_matrix", core, model, _nv_nv, q=q, backend=backend)
    return _spoiled(model, q, inverse, 2)


@quick(partial(scalar_functions.bias_force, frame="world"), "qv", "v")
def bias_force(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    backend: str | None = None,
) -> Array:
    """Return C = ID(q, v, 0): every joint force that does not depend on acceleration, (..., nv)."""
    _force_frame("bias_force", f_ext, f_ext_frame)
    core = partial(scalar_functions.bias_force, frame=f_ext_frame)
    return _run("bias_force", core, model, _nv, q=q, v=v, f_ext=f_ext, backend=backend)


@quick(scalar_functions.gravity_force, "q", "v")
def gravity_force(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the joint forces that hold the model still against gravity, (..., nv)."""
    return _run("gravity_force", scalar_functions.gravity_force, model, _nv, q=q, backend=backend)


def coriolis_matrix(
    model: Model, q: ArrayLike, v: ArrayLike, *, backend: str | None = None
) -> Array:
    """Return C(q, v), shape (..., nv, nv), with C v the velocity force and dM/dt - 2C skew.

    Reference: Christoffel symbols (Khatib), by Koszul's formula for quasi-velocities.
    """
    return _run(
        "coriolis_matrix",
        scalar_functions.coriolis_matrix,
        model,
        _nv_nv,
        q=q,
        v=v,
        backend=backend,
    )


def kinetic_energy(
    model: Model, q: ArrayLike, v: ArrayLike, *, backend: str | None = None
) -> Array:
    """Return the kinetic energy [J], shape (...), rotors included."""
    return _run(
        "kinetic_energy", scalar_functions.kinetic_energy, model, _scalar, q=q, v=v, backend=backend
    )


def potential_energy(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the potential energy [J], shape (...): gravity (zero at the origin) and springs."""
    return _run(
        "potential_energy", scalar_functions.potential_energy, model, _scalar, q=q, backend=backend
    )


def momentum(model: Model, q: ArrayLike, v: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the total momentum (moment; linear), (..., 6), world axes, about the origin."""
    return _run("momentum", scalar_functions.momentum, model, _six, q=q, v=v, backend=backend)


def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, backend: str | None = None
) -> Array:
    """Return the total momentum, (..., 6), in world axes about the centre of mass."""
    _massive("centroidal_momentum", model)
    return _run(
        "centroidal_momentum",
        scalar_functions.centroidal_momentum,
        model,
        _six,
        q=q,
        v=v,
        backend=backend,
    )


def center_of_mass(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the centre of mass [m] in world coordinates, shape (..., 3)."""
    _massive("center_of_mass", model)
    return _run(
        "center_of_mass",
        scalar_functions.center_of_mass,
        model,
        lambda m: (3,),
        q=q,
        backend=backend,
    )


def body_poses(model: Model, q: ArrayLike, *, backend: str | None = None) -> Array:
    """Return world-from-body matrices, shape (..., nb, 4, 4)."""
    return _run(
        "body_poses",
        scalar_functions.body_poses,
        model,
        lambda m: (m.nb, 4, 4),
        q=q,
        backend=backend,
    )


def frame_pose(model: Model, q: ArrayLike, name: str, *, backend: str | None = None) -> Array:
    """Return the world-from-frame matrix of a body or frame, shape (..., 4, 4)."""
    where = _locate("frame_pose", model, name)
    return _run(
        "frame_pose",
        partial(scalar_functions.frame_pose, **where),
        model,
        lambda m: (4, 4),
        q=q,
        backend=backend,
    )


def body_velocities(
    model: Model, q: ArrayLike, v: ArrayLike, *, frame: str = "body", backend: str | None = None
) -> Array:
    """Return the spatial velocity (omega; v) of each body, shape (..., nb, 6).

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        frame: "body" (axes and point of the body), "world" (axes and origin of the world) or
            "aligned" (world axes, body point).
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    _choice("body_velocities", "frame", FRAMES, frame)
    core = partial(scalar_functions.body_velocities, what="velocity", frame=frame)
    return _run("body_velocities", core, model, _nb_six, q=q, v=v, backend=backend)


def body_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    frame: str = "body",
    kind: str = "spatial",
    backend: str | None = None,
) -> Array:
    """Return the acceleration of each body, shape (..., nb, 6), gravity not included.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        v: joint velocity, shape (..., nv).
        a: joint acceleration, shape (..., nv).
        frame: as in `body_velocities`.
        kind: "spatial" (rate of the spatial velocity) or "classical" (angular acceleration, and
            acceleration of the body's origin; not with frame="world", where no body point lies).
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    _choice("body_accelerations", "frame", FRAMES, frame)
    _choice("body_accelerations", "kind", ("spatial", "classical"), kind)
    if kind == "classical" and frame == "world":
        raise OptionError("body_accelerations", "frame", ("body", "aligned"), frame)
    core = partial(scalar_functions.body_motions, what=kind, frame=frame)
    return _run("body_accelerations", core, model, _nb_six, q=q, v=v, a=a, backend=backend)


def jacobian(
    model: Model,
    q: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: str = "aligned",
    backend: str | None = None,
) -> Array:
    """Return the Jacobian of a body or frame, shape (..., 6, nv): J v is its velocity.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        name: a body or frame.
        point: reference point in the frame's coordinates [m], shape (3,); its origin when left out.
        frame: "aligned" (world axes, at the point), "body" (the frame's axes, at the point) or
            "world" (world axes and origin).
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    _choice("jacobian", "frame", FRAMES, frame)
    core = partial(scalar_functions.jacobian, **_locate("jacobian", model, name), frame=frame)
    at = _point("jacobian", point)
    return _run("jacobian", core, model, lambda m: (6, m.nv), q=q, point=at, backend=backend)


def jacobian_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    name: str,
    point: ArrayLike | None = None,
    *,
    frame: str = "aligned",
    backend: str | None = None,
) -> Array:
    """Return dJ/dt v, shape (..., 6): the derivative of J v is J a + this.

    With frame="aligned" that is the classical acceleration of the point at a = 0, otherwise the
    spatial acceleration.
    """
    _choice("jacobian_bias", "frame", FRAMES, frame)
    core = partial(
        scalar_functions.jacobian_bias, **_locate("jacobian_bias", model, name), frame=frame
    )
    at = _point("jacobian_bias", point)
    return _run("jacobian_bias", core, model, _six, q=q, v=v, point=at, backend=backend)


def joint_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    backend: str | None = None,
) -> Array:
    """Return the force of each parent on its body (n; f), (..., nb, 6), body axes, body origin."""
    _force_frame("joint_wrenches", f_ext, f_ext_frame)
    core = partial(scalar_functions.joint_wrenches, frame=f_ext_frame)
    return _run("joint_wrenches", core, model, _nb_six, q=q, v=v, a=a, f_ext=f_ext, backend=backend)


def constraint_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    backend: str | None = None,
) -> Array:
    """Return the joint wrenches without their working part, shape (..., nb, 6).

    Reference: Concurrent Dynamics eq. (20); `joint.constraint_basis` gives T.
    """
    _force_frame("constraint_forces", f_ext, f_ext_frame)
    core = partial(scalar_functions.joint_wrenches, frame=f_ext_frame, working=False)
    return _run(
        "constraint_forces", core, model, _nb_six, q=q, v=v, a=a, f_ext=f_ext, backend=backend
    )


def point_force(
    model: Model,
    q: ArrayLike,
    frame: str,
    force: ArrayLike,
    point: ArrayLike | None = None,
    *,
    backend: str | None = None,
) -> Array:
    """Return f_ext (..., nb, 6), world frame, for one force at a point.

    Args:
        model: the robot.
        q: configuration, shape (..., nq).
        frame: the body or frame that is pushed.
        force: in world axes [N], shape (..., 3).
        point: where it acts, in the frame's coordinates [m], shape (..., 3); its origin when left
            out.
        backend: "numpy" for the reference reading; machine code where there is some if left out.
    """
    core = partial(
        scalar_functions.point_force, **_locate("point_force", model, frame, argument="frame")
    )
    arguments = {
        "q": _argument(model, "q", q),
        "force": Argument(force, (3,), "a vector (x, y, z)"),
    }
    if point is None:
        core = partial(core, point=ZERO3)
    else:
        arguments["point"] = Argument(point, (3,), "a vector (x, y, z)")
    return _evaluate("point_force", core, model, arguments, _nb_six(model), backend)


def integrate(
    model: Model, q: ArrayLike, v: ArrayLike, dt: ArrayLike = 1.0, *, backend: str | None = None
) -> Array:
    """Return the configuration reached from q by moving with velocity v for dt, (..., nq).

    Quaternions turn by the exponential map and stay of unit length.  dt is a number or has the
    leading shape.
    """
    model_checked("integrate", model)
    arguments = {
        "q": _argument(model, "q", q),
        "v": _argument(model, "v", v),
        "dt": Argument(dt, (), "a time [s]"),
    }
    arrays = {name: checked("integrate", name, given) for name, given in arguments.items()}
    leading_shape("integrate", arguments, arrays)
    time = float(dt) if isinstance(dt, (int, float)) else arrays["dt"][..., None]
    with together("integrate"), np.errstate(all="ignore"):
        step = arrays["v"] * time
    return _run(
        "integrate", scalar_functions.integrate, model, _nq, q=arrays["q"], v=step, backend=backend
    )


def difference(model: Model, q0: ArrayLike, q1: ArrayLike, *, backend: str | None = None) -> Array:
    """Return the velocity-space increment with integrate(q0, difference) = q1, shape (..., nv)."""
    model_checked("difference", model)
    arguments = {"q0": _argument(model, "q", q0), "q1": _argument(model, "q", q1)}
    return _evaluate(
        "difference", scalar_functions.difference, model, arguments, _nv(model), backend
    )


def position_rate(model: Model, q: ArrayLike, v: ArrayLike, *, backend: str | None = None) -> Array:
    """Return dq/dt, shape (..., nq); it differs from v for spherical and free joints."""
    return _run(
        "position_rate", scalar_functions.position_rate, model, _nq, q=q, v=v, backend=backend
    )


# -- shapes


def _nq(model: Model) -> Shape:
    return (model.nq,)


def _nv(model: Model) -> Shape:
    return (model.nv,)


def _nv_nv(model: Model) -> Shape:
    return (model.nv, model.nv)


def _nb_six(model: Model) -> Shape:
    return (model.nb, 6)


def _six(model: Model) -> Shape:
    return (6,)


def _scalar(model: Model) -> Shape:
    return ()


# -- plumbing


def _run(
    function: str,
    core: Callable[..., Any],
    model: Model,
    shape: Callable[[Model], Shape],
    *,
    backend: str | None,
    **given: ArrayLike | None,
) -> Array:
    model_checked(function, model)
    arguments = {
        name: _argument(model, name, value) for name, value in given.items() if value is not None
    }
    for name in given:
        if given[name] is None and name not in ("f_ext", "point"):
            checked(function, name, _argument(model, name, None))
    return _evaluate(function, core, model, arguments, shape(model), backend)


def _evaluate(
    function: str,
    core: Callable[..., Any],
    model: Model,
    arguments: dict[str, Argument],
    shape: Shape,
    backend: str | None,
) -> Array:
    if backend is not None:
        _choice(function, "backend", BACKENDS, backend)
    native = machine(function, core, model, arguments, shape, backend)
    whole = watched_core(partial(core, model, model.tree), function, model, list(arguments))
    return evaluate(function, whole, arguments, shape, native, lambda: in_kernel(core, model))


def _argument(model: Model, name: str, value: Any) -> Argument:
    if name == "f_ext":
        return Argument(value, (model.nb, 6), "(nb, 6): one force (n; f) for each body")
    if name == "point":
        return Argument(value, (3,), "a vector (x, y, z)", weak=True)
    if name == "q":
        return Argument(value, (model.nq,), f"nq coordinates of model '{model.name}'")
    return Argument(value, (model.nv,), f"nv velocity coordinates of model '{model.name}'")


def _choice(function: str, option: str, choices: Any, got: Any) -> None:
    if not isinstance(got, str) or got not in choices:
        raise OptionError(function, option, choices, got)


def _force_frame(function: str, f_ext: ArrayLike | None, frame: Any) -> None:
    _choice(function, "f_ext_frame", FORCE_FRAMES, frame)
    if f_ext is None and frame != "world":
        fix = "pass f_ext, or leave it out"
        raise NotApplicableError(f"{function}: option 'f_ext_frame'", "a call without f_ext", fix)


def _locate(
    function: str,
    model: Model,
    name: str,
    *,
    argument: str = "name",
) -> dict[str, Any]:
    model_checked(function, model)
    known = (*model.body_names, *model.frame_names, model.base_name)
    if not isinstance(name, str) or name not in known:
        where = f"{function}: argument '{argument}' for model '{model.name}'"
        raise UnknownNameError("body or frame", name, known, where=where)
    k, placement = model.locate(name)
    return {"body": k + 1, "placement": placement}


def _point(function: str, point: ArrayLike | None) -> Array | None:
    """Return one reference point for all states."""
    if point is None:
        return None
    at = checked(function, "point", Argument(point, (3,), "a vector (x, y, z)"))
    if at.ndim != 1:
        fix = "pass one point for all states"
        raise ShapeError(function, "point", "(3,) = one vector (x, y, z)", at.shape, fix)
    try:
        return np.array([float(x) for x in at])
    except (TypeError, ValueError):
        where = f"{function}: argument 'point' does not hold plain numbers"
        raise NumberError(where, "three floats", point, "give the point in numbers") from None


def _massive(function: str, model: Model) -> None:
    model_checked(function, model)
    if sum(float(body.inertia.m) for body in model.bodies) == 0:
        raise ModelError(
            f"{function}: model '{model.name}'",
            "has no mass, so no centre of mass",
            "give a body some mass",
        )


def _spoiled(model: Model, q: ArrayLike, result: Array, axes: int) -> Array:
    if result.dtype == object:
        return result
    at = np.asarray(q, float)
    lead = result.shape[: result.ndim - axes]
    return spoil_singular_rows(model, np.broadcast_to(at, (*lead, model.nq)), result, axes)


__all__ = [
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum",
    "constraint_forces",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "frame_pose",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_bias",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "point_force",
    "position_rate",
    "potential_energy",
]
