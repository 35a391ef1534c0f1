"""Match the joints and bodies of a model with those of Pinocchio or MuJoCo, by name."""

from __future__ import annotations

from typing import Any, get_args

from sixfold.choices import Library
from sixfold.errors import ArgumentError, NotApplicableError, NumberError, UnknownNameError
from sixfold.formats.mjcf_arrays import BALL, FREE, names_of
from sixfold.interop.blocks import (
    Block,
    BodyPlane,
    CosSin,
    LinearFirst,
    Same,
    ScalarFirst,
    WorldLinear,
)
from sixfold.interop.converter import Converter, Piece, Site
from sixfold.model import Free, Joint, Model, Planar, Spherical

LIBRARIES: tuple[str, ...] = get_args(Library)


def convert(model: Model, other: Any) -> Converter:
    """Return a converter of states and results between a model and the same robot elsewhere.

    Args:
        model: the robot here.
        other: a `pinocchio.Model` or a `mujoco.MjModel` whose joints have the same names.  Only a
            floating base may be called otherwise, such as Pinocchio's "root_joint".

    Returns:
        A `Converter` with methods for positions, velocities, accelerations, joint forces, external
        forces, mass matrices, poses and spatial vectors, `_to` the other library and `_from` it.

    Raises:
        UnknownNameError: if a joint of the model is not in the other library.
        NotApplicableError: if the other library has joints that the model does not have, or a
            joint of another kind under the same name.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> import pinocchio
        >>> model = sf.load("double_pendulum")
        >>> sf.save(model, "arm.urdf")
        >>> other = pinocchio.buildModelFromUrdf("arm.urdf")
        >>> between = sf.convert(model, other)
        >>> there = between.q_to([0.3, 0.4])  # joints without limits: cosine and sine
        >>> there.round(3)
        array([0.955, 0.296, 0.921, 0.389])
        >>> M = pinocchio.crba(other, other.createData(), there)
        >>> np.allclose(between.mass_matrix_from(there, M), sf.mass_matrix(model, [0.3, 0.4]))
        True
    """
    kind = f"{type(other).__module__}.{type(other).__name__}"
    if not isinstance(model, Model):
        raise ArgumentError("convert: argument 'model'", "a Model", model, "use sixfold.load")
    if hasattr(other, "idx_qs") and hasattr(other, "jointPlacements"):
        return _with_pinocchio(model, other)
    if hasattr(other, "jnt_qposadr") and hasattr(other, "body_ipos"):
        return _with_mujoco(model, other)
    fix = "pass the other library's model itself"
    raise NumberError("convert: argument 'other'", "a pinocchio.Model or mujoco.MjModel", kind, fix)


# -- Pinocchio


def _with_pinocchio(model: Model, other: Any) -> Converter:
    names = list(other.names)
    floating = [
        j
        for j in range(1, len(names))
        if other.parents[j] == 0 and other.joints[j].shortname() == "JointModelFreeFlyer"
    ]
    _rename_base(model, names, floating)
    number = {name: j for j, name in enumerate(names)}
    pieces = []
    for k in _present(model, number, "pinocchio"):
        body = model.bodies[k]
        j = number[body.joint_name]
        kind = other.joints[j].shortname().removeprefix("JointModel")
        block = _pinocchio_block(body.joint, kind, int(other.nqs[j]))
        if block is None:
            raise _different(body.joint_name, body.joint, kind)
        q, v = int(other.idx_qs[j]), int(other.idx_vs[j])
        pieces.append(Piece(k, block, _range(q, int(other.nqs[j])), _range(v, int(other.nvs[j]))))
    _nothing_more([names[j] for j in range(1, len(names)) if other.nvs[j]], model, "pinocchio")
    rows = {body.joint_name: k for k, body in enumerate(model.bodies)}
    sites = [Site(rows[name], (0.0, 0.0, 0.0)) if name in rows else None for name in names]
    return Converter(model, "pinocchio", other.nq, other.nv, tuple(pieces), tuple(sites))


def _pinocchio_block(joint: Joint, kind: str, nq: int) -> Block | None:
    if isinstance(joint, Free):
        return LinearFirst() if kind == "FreeFlyer" else None
    if isinstance(joint, Planar) and kind == "Planar":
        return BodyPlane()
    if (joint.nq, joint.nv, nq) == (1, 1, 2):
        return CosSin()
    return Same() if joint.nq == nq else None


# -- MuJoCo


def _with_mujoco(model: Model, other: Any) -> Converter:
    names = names_of(other)
    joints = list(names.joints)
    _rename_base(model, joints, [j for j, kind in enumerate(other.jnt_type) if kind == FREE])
    number = {name: j for j, name in enumerate(joints)}
    # joints of several freedoms that MuJoCo has as several joints, and the other way round
    parts = {
        body.joint_name: _mujoco_parts(body.joint_name, body.joint, number) for body in model.bodies
    }
    pieces = []
    for k in _present(model, [name for name, part in parts.items() if part], "mujoco"):
        body = model.bodies[k]
        kinds = [int(other.jnt_type[j]) for j, _ in parts[body.joint_name]]
        block = _mujoco_block(body.joint, kinds)
        if block is None:
            raise _different(body.joint_name, body.joint, f"{len(kinds)} joints of MuJoCo")
        q: tuple[int, ...] = ()
        v: tuple[int, ...] = ()
        for j, part in parts[body.joint_name]:
            nq, nv = ((7, 6), (4, 3), (1, 1), (1, 1))[int(other.jnt_type[j])]
            first, start = int(other.jnt_qposadr[j]), int(other.jnt_dofadr[j])
            # a free joint read as translation and rotation: take one of its halves
            q += {"": _range(first, nq), "t": _range(first, 3), "r": _range(first + 3, 4)}[part]
            v += {"": _range(start, nv), "t": _range(start, 3), "r": _range(start + 3, 3)}[part]
        pieces.append(Piece(k, block, q, v))
    known = {joints[j] for part in parts.values() for j, _ in part}
    _nothing_more(joints, model, "mujoco", known)
    sites = [_mujoco_site(model, other, b, name) for b, name in enumerate(names.bodies)]
    return Converter(model, "mujoco", int(other.nq), int(other.nv), tuple(pieces), tuple(sites))


def _mujoco_parts(name: str, joint: Joint, number: dict[str, int]) -> list[tuple[int, str]]:
    if name in number:
        return [(number[name], "")]
    several = [f"{name}.{i}" for i in range(joint.nv)]
    if all(part in number for part in several):
        return [(number[part], "") for part in several]
    whole, _, half = name.rpartition(".")
    if half in ("translation", "rotation") and whole in number:
        return [(number[whole], half[0])]
    return []


def _mujoco_block(joint: Joint, kinds: list[int]) -> Block | None:
    if isinstance(joint, Free):
        return WorldLinear() if kinds == [FREE] else None
    if isinstance(joint, Spherical):
        return ScalarFirst() if kinds in ([BALL], [FREE]) else None
    return Same() if joint.nq == joint.nv and BALL not in kinds else None


def _mujoco_site(model: Model, other: Any, b: int, name: str) -> Site | None:
    known = {*model.body_names, *model.frame_names}
    if b == 0 or name not in known:
        return None
    k, X = model.locate(name)
    center = X.r + X.E.T @ type(X.r).of([float(x) for x in other.body_ipos[b]])
    return Site(k, tuple(float(x) for x in center))


# -- what must match


def _rename_base(model: Model, names: list[str], floating: list[int]) -> None:
    """Give the other library's floating base its name here, if there is no doubt which it is."""
    free = [body for body in model.bodies if body.parent < 0 and isinstance(body.joint, Free)]
    here = [body.joint_name for body in free if body.joint_name not in names]
    there = [j for j in floating if names[j] not in model.joint_names]
    if len(here) == len(there) == 1:
        names[there[0]] = here[0]


def _range(start: int, size: int) -> tuple[int, ...]:
    return tuple(range(start, start + size))


def _present(model: Model, known: Any, library: str) -> list[int]:
    """Return the bodies whose joints the other library has; followers may be missing."""
    followers = model.coordinates.followers
    rows = []
    for k, name in enumerate(model.joint_names):
        if name in known:
            rows.append(k)
        elif k not in followers:
            where = f"convert: {library} model for '{model.name}'"
            raise UnknownNameError("joint", name, known, where=where)
    return rows


def _nothing_more(
    names: list[str], model: Model, library: str, known: set[str] | None = None
) -> None:
    found = {*model.joint_names} if known is None else known
    more = [name for name in names if name not in found]
    if more:
        raise NotApplicableError(
            "convert",
            f"the {library} model: it has joints {more[:5]} that model '{model.name}' has not",
            "lock these joints there, or load the model without locking them",
        )


def _different(name: str, joint: Joint, kind: str) -> NotApplicableError:
    return NotApplicableError(
        "convert",
        f"joint '{name}': {joint.kind} here, {kind} there",
        "pass the same robot in both libraries",
    )
