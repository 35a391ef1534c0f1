"""Convert states and forces between Sixfold and another library, joint by joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import ForceFrame, Library
from sixfold.errors import ArgumentError, NotApplicableError, NumberError, UnknownNameError, one_of
from sixfold.formats.mjcf_arrays import BALL, FREE, names_of
from sixfold.model import Free, Joint, Model, Planar, Spherical
from sixfold.quantities import body_poses
from sixfold.runtime import Argument, checked_array
from sixfold.scalar import together
from sixfold.spatial.rotations import matrices_to_quaternions, quaternions_to_matrices


class JointMap:
    """One joint: `q` and `x` are Sixfold's, shapes (..., nq) and (..., nv); here both are alike."""

    def q_to(self, q: Array) -> Array:
        """Return the position in the other convention."""
        return q

    def q_from(self, q: Array) -> Array:
        """Return the position in Sixfold's convention."""
        return q

    def velocity(self, q: Array, x: Array) -> Array:
        """Return B(q) x, the velocity in the other convention."""
        return x

    def velocity_transpose(self, q: Array, x: Array) -> Array:
        """Return B(q)^T x."""
        return x

    def acceleration_bias(self, q: Array, v: Array) -> Array:
        """Return dB/dt v."""
        return np.zeros_like(v)


class CosSin(JointMap):
    """An angle here, its cosine and sine there (Pinocchio's continuous joints)."""

    def q_to(self, q: Array) -> Array:
        """Return (cos, sin)."""
        return np.concatenate([np.cos(q), np.sin(q)], -1)

    def q_from(self, q: Array) -> Array:
        """Return the angle in (-pi, pi]."""
        return np.arctan2(q[..., 1:], q[..., :1])


class ScalarFirst(JointMap):
    """A quaternion xyzw here, wxyz there (MuJoCo's ball joint)."""

    def q_to(self, q: Array) -> Array:
        """Return wxyz."""
        return np.roll(q, 1, -1)

    def q_from(self, q: Array) -> Array:
        """Return xyzw."""
        return np.roll(q, -1, -1)


class LinearFirst(JointMap):
    """A free joint: (omega; v) here, (v; omega) there, both in the body (Pinocchio)."""

    def velocity(self, q: Array, x: Array) -> Array:
        """Swap the halves."""
        return np.roll(x, 3, -1)

    velocity_transpose = velocity


class WorldLinear(JointMap):
    """A free joint as MuJoCo has it: wxyz; velocity of the origin in world axes, then body omega.

    The acceleration there is the rate of the origin's velocity: R (a + omega x v).
    """

    def q_to(self, q: Array) -> Array:
        """Return (position, wxyz)."""
        return np.concatenate([q[..., :3], np.roll(q[..., 3:], 1, -1)], -1)

    def q_from(self, q: Array) -> Array:
        """Return (position, xyzw)."""
        return np.concatenate([q[..., :3], np.roll(q[..., 3:], -1, -1)], -1)

    def velocity(self, q: Array, x: Array) -> Array:
        """Return (R x_lin, x_ang)."""
        lin = rotate(q[..., 3:], x[..., 3:])
        return np.concatenate(np.broadcast_arrays(lin, x[..., :3]), -1)

    def velocity_transpose(self, q: Array, x: Array) -> Array:
        """Return (x_ang, R^T x_lin)."""
        lin = rotate(q[..., 3:] * (-1, -1, -1, 1), x[..., :3])
        return np.concatenate(np.broadcast_arrays(x[..., 3:], lin), -1)

    def acceleration_bias(self, q: Array, v: Array) -> Array:
        """Return (R (omega x v), 0)."""
        lin = rotate(q[..., 3:], np.cross(v[..., :3], v[..., 3:]))
        return np.concatenate([lin, np.zeros_like(lin)], -1)


class BodyPlane(JointMap):
    """A planar joint: rates of x, y, theta here; there cosine and sine, velocities in the body."""

    def q_to(self, q: Array) -> Array:
        """Return (x, y, cos, sin)."""
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], -1)

    def q_from(self, q: Array) -> Array:
        """Return (x, y, theta)."""
        return np.concatenate([q[..., :2], np.arctan2(q[..., 3:], q[..., 2:3])], -1)

    def velocity(self, q: Array, x: Array) -> Array:
        """Turn the plane's vector into the body."""
        return _rotate_in_plane(-q[..., 2], x)

    def velocity_transpose(self, q: Array, x: Array) -> Array:
        """Turn the plane's vector out of the body."""
        return _rotate_in_plane(q[..., 2], x)

    def acceleration_bias(self, q: Array, v: Array) -> Array:
        """Return theta' (v_y, -v_x, 0) in the body."""
        body, rate = self.velocity(q, v), v[..., 2]
        zero = np.zeros_like(body[..., 0])
        return np.stack([body[..., 1] * rate, -body[..., 0] * rate, zero], -1)


def rotate(xyzw: Array, x: Array) -> Array:
    """Return the vectors x turned by quaternions of any length."""
    u, w = xyzw[..., :3], xyzw[..., 3:]
    size = np.sum(xyzw * xyzw, -1, keepdims=True)
    across = np.cross(u, x)
    return x + 2 * (w * across + np.cross(u, across)) / size


def _rotate_in_plane(angle: Array, x: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    a, b, turn = np.broadcast_arrays(
        c * x[..., 0] - s * x[..., 1], s * x[..., 0] + c * x[..., 1], x[..., 2]
    )
    return np.stack([a, b, turn], -1)


@dataclass(frozen=True)
class Piece:
    """One joint of the model, and where its coordinates lie in the other library."""

    body: int  #: Row of the body it carries.
    map: JointMap  #: How its coordinates are converted.
    q: tuple[int, ...]  #: Indices of its positions in the other library.
    v: tuple[int, ...]  #: Indices of its velocities in the other library.


@dataclass(frozen=True)
class Site:
    """One body of the other library, fixed to a body of the model."""

    body: int  #: Row of the body, -1 for the base.
    #: Where the other library lets forces act [m], in the body's coordinates.
    point: tuple[float, ...]


@dataclass(frozen=True)
class Converter:
    """Converts between a model and the same robot in another library.

    Methods ending in `_to` take Sixfold's coordinates only, those ending in `_from` the other
    library's only.  All broadcast over leading axes.  Joints are matched by name.  Where the model
    has joints that follow others and the other library counts them as free, `_to` computes their
    coordinates, `_from` drops them, and their forces work on the joints they follow.
    """

    model: Model  #: The robot here.
    library: str  #: Either "pinocchio" or "mujoco".
    nq: int  #: Size of a position in the other library.
    nv: int  #: Size of a velocity in the other library.
    pieces: tuple[Piece, ...]  #: The joints of the model, and where they are in the other library.
    #: For each body (or joint) of the other library the body of the model that it moves with.
    bodies: tuple[Site | None, ...]

    def __repr__(self) -> str:
        """Say between what it converts."""
        sizes = f"nq={self.nq}, nv={self.nv}"
        return f"<converter between {self.model!r} and {self.library}: {sizes} there>"

    # -- positions

    @together("Converter.q_to")
    def q_to(self, q: ArrayLike) -> Array:
        """Return the position in the other library's coordinates, shape (..., other nq)."""
        here = self._positions("q_to", q)
        columns = self._columns(here, "nq")
        lead = here.shape[:-1]
        return self._stack(columns, lead, self.nq, "q", lambda piece, x: piece.map.q_to(x))

    @together("Converter.q_from")
    def q_from(self, q: ArrayLike) -> Array:
        """Return the position in Sixfold's coordinates, shape (..., nq)."""
        there = _check("q_from", "q", q, self.nq)
        parts = [piece.map.q_from(there[..., piece.q]) for piece in self._own]
        return self._join(parts, there.shape[:-1])

    # -- velocities, accelerations, forces

    @together("Converter.v_to")
    def v_to(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity in the other library's coordinates, shape (..., other nv)."""
        return self._convert_rates("v_to", q, v, "velocity")

    @together("Converter.v_from")
    def v_from(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity in Sixfold's coordinates, shape (..., nv)."""
        here, there = self.q_from(q), _check("v_from", "v", v, self.nv)
        at = self._columns(here, "nq")
        return self._join(
            [p.map.velocity_transpose(at[p.body], there[..., p.v]) for p in self._own],
            here.shape[:-1],
        )

    @together("Converter.a_to")
    def a_to(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the acceleration in the other library's coordinates, shape (..., other nv).

        MuJoCo's free joint counts the rate of a velocity in world axes, so v matters as well.
        """
        # d(B v)/dt = B a + dB/dt v
        moved = self._convert_rates("a_to", q, a, "velocity")
        return moved + self._convert_rates("a_to", q, v, "acceleration_bias")

    @together("Converter.a_from")
    def a_from(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the acceleration in Sixfold's coordinates, shape (..., nv)."""
        rate = _check("a_from", "a", a, self.nv)
        state = self.q_from(q), self.v_from(q, v)
        drift = self._convert_rates("a_from", *state, "acceleration_bias")
        return self.v_from(q, rate - drift)

    @together("Converter.solve_from")
    def solve_from(self, q: Array, v: Array, M: Array, bias: Array, tau: Array) -> Array:
        """Return accelerations in Sixfold's coordinates from the other library's M and bias.

        Args:
            q: positions here, (..., nq).
            v: velocities here, (..., nv).
            M: mass matrices there, (..., other nv, other nv).
            bias: forces there at zero acceleration there, (..., other nv).
            tau: joint forces here, (..., nv).
        """
        at = self.q_to(q)
        # P^T M P a = tau - P^T (M dB/dt v + bias)
        there = _check("solve_from", "M", M, self.nv, self.nv)
        still = _check("solve_from", "bias", bias, self.nv)
        forces = self._rates("solve_from", "tau", tau)
        drift = self._convert_rates("solve_from", q, v, "acceleration_bias")
        rest = _apply(there, drift) + still
        right = forces - self.tau_from(at, rest)
        try:
            found = np.linalg.solve(self.mass_matrix_from(at, there), right[..., None])
        except np.linalg.LinAlgError as error:
            where = "solve_from: argument 'M'"
            fix = "give every joint inertia or armature there"
            raise NumberError(where, "matrices with an inverse", error, fix) from None
        return found[..., 0].astype(float)

    @together("Converter.tau_to")
    def tau_to(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return joint forces in the other library's coordinates; followers get none."""
        here = self._rates("tau_to", "tau", tau)
        at = self._columns(self._positions("tau_to", q), "nq")
        # forces of joints with coordinates of their own; followers get none
        own = dict(zip((p.body for p in self._own), self._split(here), strict=True))
        columns = {p.body: own.get(p.body, np.zeros((1,))) for p in self.pieces}

        def turn(piece: Piece, part: Array) -> Array:
            return piece.map.velocity(at[piece.body], part)

        return self._stack(columns, here.shape[:-1], self.nv, "v", turn)

    @together("Converter.tau_from")
    def tau_from(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return joint forces in Sixfold's coordinates, shape (..., nv)."""
        here, there = self.q_from(q), _check("tau_from", "tau", tau, self.nv)
        at = self._columns(here, "nq")
        # tau = B^T tau', then forces of followers work on their leaders
        work = {p.body: p.map.velocity_transpose(at[p.body], there[..., p.v]) for p in self.pieces}
        for coupling in self.model.couplings:
            # a follower that the other library does not count has no force there
            if coupling.follower in work:
                for master, ratio in coupling.terms:
                    work[master] = work[master] + ratio * work[coupling.follower]
        return self._join([work[piece.body] for piece in self._own], here.shape[:-1])

    @together("Converter.mass_matrix_from")
    def mass_matrix_from(self, q: ArrayLike, M: ArrayLike) -> Array:
        """Return the mass matrix in Sixfold's coordinates, shape (..., nv, nv): P^T M P."""
        there = _check("mass_matrix_from", "M", M, self.nv, self.nv)
        here = np.asarray(self.q_from(q))[..., None, :]
        # row k of the velocities is the motion of unit velocity k: the columns of P
        P = np.swapaxes(self.v_to(here, np.eye(self.model.nv)), -1, -2)
        product: Array = np.swapaxes(P, -1, -2) @ there @ P
        return product

    @together("Converter.mass_matrix_to")
    def mass_matrix_to(self, q: ArrayLike, M: ArrayLike) -> Array:
        """Return the mass matrix in the other library's coordinates, shape (..., nv, nv)."""
        if self.nv != self.model.nv:
            raise NotApplicableError(
                "mass_matrix_to",
                f"model '{self.model.name}', whose mass matrix is reduced by couplings",
                "compare with mass_matrix_from",
            )
        at = self._positions("mass_matrix_to", q)[..., None, :]
        here = _check("mass_matrix_to", "M", M, self.model.nv, self.model.nv)
        # v_to turns rows: first those of M^T, then those of B M
        turned = np.swapaxes(self.v_to(at, np.swapaxes(here, -1, -2)), -1, -2)
        return self.v_to(at, turned)

    # -- six-dimensional vectors and poses

    def spatial_to(self, x: ArrayLike) -> Array:
        """Return a motion or force in the other library's order: Pinocchio has linear first."""
        six = _check("spatial_to", "x", x, 6)
        return np.roll(six, 3, -1) if self.library == "pinocchio" else six

    def spatial_from(self, x: ArrayLike) -> Array:
        """Return a motion or force in Sixfold's order, angular first."""
        return self.spatial_to(x)

    @together("Converter.pose_to")
    def pose_to(self, pose: ArrayLike) -> Array:
        """Return (position, quaternion) from 4x4 poses: xyzw for Pinocchio, wxyz for MuJoCo."""
        T = _check("pose_to", "pose", pose, 4, 4)
        xyzw = matrices_to_quaternions(T[..., :3, :3])
        turn = xyzw if self.library == "pinocchio" else np.roll(xyzw, 1, -1)
        return np.concatenate([T[..., :3, 3], turn], -1)

    def pose_from(self, pose: ArrayLike) -> Array:
        """Return 4x4 poses from (position, quaternion) in the other library's order."""
        x = _check("pose_from", "pose", pose, 7)
        xyzw = x[..., 3:] if self.library == "pinocchio" else np.roll(x[..., 3:], -1, -1)
        T = np.zeros((*x.shape[:-1], 4, 4))
        T[..., :3, :3] = quaternions_to_matrices(xyzw)
        T[..., :3, 3], T[..., 3, 3] = x[..., :3], 1.0
        return T

    @together("Converter.f_ext_to")
    def f_ext_to(
        self, q: ArrayLike, f_ext: ArrayLike, *, f_ext_frame: ForceFrame = "world"
    ) -> Array:
        """Return external forces as the other library takes them, one row a body of its own.

        Pinocchio: (..., njoints, 6), each row (f; n) in the joint's frame, for `pin.Force(row)`.
        MuJoCo: (..., nbody, 6) for `xfrc_applied`: force and torque in world axes, at the body's
        centre of mass.  A force on a body that the other library does not have is refused.
        """
        one_of("f_ext_to", "f_ext_frame", ("world", "body"), f_ext_frame)
        forces = _check("f_ext_to", "f_ext", f_ext, self.model.nb, 6)
        # forces in world axes, moments about the world's origin
        poses = body_poses(self.model, q)
        R, p = poses[..., :3, :3], poses[..., :3, 3]
        n, f = forces[..., :3], forces[..., 3:]
        if f_ext_frame == "body":
            n, f = _apply(R, n), _apply(R, f)
            n = n + np.cross(p, f)
        # one row for each of the other library's bodies, the first that moves with ours
        lead = np.broadcast_shapes(n.shape[:-2], p.shape[:-2])
        out = np.zeros((*lead, len(self.bodies), 6))
        met = set()
        for row, site in enumerate(self.bodies):
            if site is None or site.body < 0 or site.body in met:
                continue
            k = site.body
            met.add(k)
            at = p[..., k, :] + _apply(R[..., k, :, :], np.asarray(site.point))
            moment = n[..., k, :] - np.cross(at, f[..., k, :])
            parts: tuple[Any, Any] = f[..., k, :], moment
            if self.library == "pinocchio":
                back = np.swapaxes(R[..., k, :, :], -1, -2)
                parts = _apply(back, parts[0]), _apply(back, parts[1])
            out[..., row, :3], out[..., row, 3:] = parts
        # a force on a body that is missing there would be lost
        lost = [self.model.body_names[k] for k in range(self.model.nb) if k not in met]
        if lost and np.any(forces[..., [self.model.body_index(name) for name in lost], :]):
            where = f"bodies {lost[:5]}, which {self.library} does not have"
            raise NotApplicableError("f_ext_to", where, "put the force on the body they carry")
        return out

    # -- plumbing

    @property
    def _own(self) -> list[Piece]:
        """The pieces with coordinates of their own in the model."""
        followers = self.model.coordinates.followers
        return [piece for piece in self.pieces if piece.body not in followers]

    def _split(self, x: Array) -> list[Array]:
        return [x[..., joint.v] for joint in self.model.coordinates.free]

    def _columns(self, x: Array, size: str) -> dict[int, Array]:
        """Return the coordinates of each joint by body, followers included."""
        coordinates = self.model.coordinates
        columns = {
            joint.body: x[..., joint.q if size == "nq" else joint.v] for joint in coordinates.free
        }
        # a follower is a sum of its leaders, positions with an offset
        for coupling in coordinates.couplings:
            offset = coupling.offset if size == "nq" else 0.0
            total: Array = np.full((*x.shape[:-1], 1), offset)
            for master, ratio in coupling.terms:
                total = total + ratio * columns[master]
            columns[coupling.follower] = total
        return columns

    def _positions(self, function: str, q: ArrayLike) -> Array:
        names = self.model.coordinates.q_names
        return _check(function, "q", q, self.model.nq, names=names)

    def _rates(self, function: str, argument: str, x: ArrayLike) -> Array:
        names = self.model.coordinates.v_names
        return _check(function, argument, x, self.model.nv, names=names)

    def _convert_rates(self, function: str, q: ArrayLike, x: ArrayLike, method: str) -> Array:
        """Return what a method of the joint maps makes of velocities or accelerations."""
        at = self._columns(self._positions(function, q), "nq")
        argument = "a" if function == "a_to" and method == "velocity" else "v"
        given = self._rates(function, argument, x)

        def convert(piece: Piece, part: Array) -> Array:
            converted: Array = getattr(piece.map, method)(at[piece.body], part)
            return converted

        return self._stack(self._columns(given, "nv"), given.shape[:-1], self.nv, "v", convert)

    def _stack(
        self,
        columns: dict[int, Array],
        lead: tuple[int, ...],
        size: int,
        kind: str,
        change: Callable[[Piece, Array], Array],
    ) -> Array:
        """Return one array of the other library from the columns of all joints."""
        parts = [change(piece, columns[piece.body]) for piece in self.pieces]
        shape = np.broadcast_shapes(lead, *(part.shape[:-1] for part in parts))
        out = np.zeros((*shape, size))
        for piece, part in zip(self.pieces, parts, strict=True):
            out[..., getattr(piece, kind)] = part
        return out

    @staticmethod
    def _join(parts: Sequence[Array], lead: tuple[int, ...]) -> Array:
        if not parts:
            return np.zeros((*lead, 0))
        shape = np.broadcast_shapes(lead, *(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in parts], -1)


def _check(
    function: str, argument: str, x: ArrayLike, *shape: int, names: Sequence[str] | None = None
) -> Array:
    sizes = " x ".join(map(str, shape))
    labels = (names,) * len(shape)
    array = checked_array(function, argument, Argument(x, shape, f"{sizes} numbers", labels=labels))
    if array.dtype.kind != "f":
        where = f"{function}: argument '{argument}'"
        raise NumberError(where, "plain numbers", "symbols", "give the state in numbers")
    return array.astype(float, copy=False)


def _apply(R: Array, x: Array) -> Array:
    product: Array = (R @ x[..., None])[..., 0]
    return product


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
        >>> between = sf.interop.convert(model, other)
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
    # match joints by name
    number = {name: j for j, name in enumerate(names)}
    pieces = []
    for k in _present(model, number, "pinocchio"):
        body = model.bodies[k]
        j = number[body.joint_name]
        kind = other.joints[j].shortname().removeprefix("JointModel")
        joint_map = _pinocchio_map(body.joint, kind, int(other.nqs[j]))
        if joint_map is None:
            raise _different(body.joint_name, body.joint, kind)
        q, v = int(other.idx_qs[j]), int(other.idx_vs[j])
        pieces.append(
            Piece(k, joint_map, _range(q, int(other.nqs[j])), _range(v, int(other.nvs[j])))
        )
    _nothing_more([names[j] for j in range(1, len(names)) if other.nvs[j]], model, "pinocchio")
    # forces act at the joints' frames there
    rows = {body.joint_name: k for k, body in enumerate(model.bodies)}
    sites = [Site(rows[name], (0.0, 0.0, 0.0)) if name in rows else None for name in names]
    return Converter(model, "pinocchio", other.nq, other.nv, tuple(pieces), tuple(sites))


def _pinocchio_map(joint: Joint, kind: str, nq: int) -> JointMap | None:
    if isinstance(joint, Free):
        return LinearFirst() if kind == "FreeFlyer" else None
    if isinstance(joint, Planar) and kind == "Planar":
        return BodyPlane()
    if (joint.nq, joint.nv, nq) == (1, 1, 2):
        return CosSin()
    return JointMap() if joint.nq == nq else None


# -- MuJoCo


def _with_mujoco(model: Model, other: Any) -> Converter:
    names = names_of(other)
    joints = list(names.joints)
    _rename_base(model, joints, [j for j, kind in enumerate(other.jnt_type) if kind == FREE])
    number = {name: j for j, name in enumerate(joints)}
    # joints with several degrees of freedom are several joints in MuJoCo, and vice versa
    parts = {
        body.joint_name: _mujoco_parts(body.joint_name, body.joint, number) for body in model.bodies
    }
    pieces = []
    for k in _present(model, [name for name, part in parts.items() if part], "mujoco"):
        body = model.bodies[k]
        kinds = [int(other.jnt_type[j]) for j, _ in parts[body.joint_name]]
        joint_map = _mujoco_map(body.joint, kinds)
        if joint_map is None:
            raise _different(body.joint_name, body.joint, f"{len(kinds)} joints of MuJoCo")
        q: tuple[int, ...] = ()
        v: tuple[int, ...] = ()
        for j, part in parts[body.joint_name]:
            nq, nv = ((7, 6), (4, 3), (1, 1), (1, 1))[int(other.jnt_type[j])]
            first, start = int(other.jnt_qposadr[j]), int(other.jnt_dofadr[j])
            # a free joint read as translation and rotation: take one of its halves
            q += {"": _range(first, nq), "t": _range(first, 3), "r": _range(first + 3, 4)}[part]
            v += {"": _range(start, nv), "t": _range(start, 3), "r": _range(start + 3, 3)}[part]
        pieces.append(Piece(k, joint_map, q, v))
    # every joint there must be one here, or a part of one
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


def _mujoco_map(joint: Joint, kinds: list[int]) -> JointMap | None:
    if isinstance(joint, Free):
        return WorldLinear() if kinds == [FREE] else None
    if isinstance(joint, Spherical):
        return ScalarFirst() if kinds in ([BALL], [FREE]) else None
    return JointMap() if joint.nq == joint.nv and BALL not in kinds else None


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
