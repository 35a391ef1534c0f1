"""States and results in the coordinates of another library, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.choices import ForceFrame
from sixfold.errors import NotApplicableError, NumberError, one_of
from sixfold.evaluate import Argument, body_poses, checked
from sixfold.interop.blocks import Block
from sixfold.model import Model
from sixfold.scalar import together
from sixfold.spatial.rotations import matrices_to_quaternions, quaternions_to_matrices

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Piece:
    """One joint of the model, and where its coordinates lie in the other library."""

    body: int
    """Row of the body it carries."""
    block: Block
    """How its coordinates are converted."""
    q: tuple[int, ...]
    """Indices of its positions in the other library."""
    v: tuple[int, ...]
    """Indices of its velocities in the other library."""


@dataclass(frozen=True)
class Site:
    """One body of the other library, fixed to a body of the model."""

    body: int
    """Row of the body, -1 for the base."""
    point: tuple[float, ...]
    """Where the other library lets forces act [m], in the body's coordinates."""


@dataclass(frozen=True)
class Converter:
    """Converts between a model and the same robot in another library.

    Methods ending in `_to` take Sixfold's coordinates only, those ending in `_from` the other
    library's only.  All broadcast over leading axes.  Joints are matched by name.  Where the model
    has joints that follow others and the other library counts them as free, `_to` computes their
    coordinates, `_from` drops them, and their forces work on the joints they follow.
    """

    model: Model
    """The robot here."""
    library: str
    """Either "pinocchio" or "mujoco"."""
    nq: int
    """Size of a position in the other library."""
    nv: int
    """Size of a velocity in the other library."""
    pieces: tuple[Piece, ...]
    """The joints of the model, and where they are in the other library."""
    bodies: tuple[Site | None, ...]
    """For each body (or joint) of the other library the body of the model that it moves with."""

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
        return self._stack(columns, lead, self.nq, "q", lambda piece, x: piece.block.q_to(x))

    @together("Converter.q_from")
    def q_from(self, q: ArrayLike) -> Array:
        """Return the position in Sixfold's coordinates, shape (..., nq)."""
        there = _checked("q_from", "q", q, self.nq)
        parts = [piece.block.q_from(there[..., piece.q]) for piece in self._own]
        return self._join(parts, there.shape[:-1])

    # -- velocities, accelerations, forces

    @together("Converter.v_to")
    def v_to(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity in the other library's coordinates, shape (..., other nv)."""
        return self._turned("v_to", q, v)

    @together("Converter.v_from")
    def v_from(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the velocity in Sixfold's coordinates, shape (..., nv)."""
        here, there = self.q_from(q), _checked("v_from", "v", v, self.nv)
        at = self._columns(here, "nq")
        return self._join(
            [p.block.turn_back(at[p.body], there[..., p.v]) for p in self._own], here.shape[:-1]
        )

    @together("Converter.a_to")
    def a_to(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the acceleration in the other library's coordinates, shape (..., other nv).

        MuJoCo's free joint counts the rate of a velocity in world axes, so v matters as well.
        """
        moved = self._turned("a_to", q, a)
        return moved + self._drift("a_to", q, v)

    @together("Converter.a_from")
    def a_from(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the acceleration in Sixfold's coordinates, shape (..., nv)."""
        rate = _checked("a_from", "a", a, self.nv)
        drift = self._drift("a_from", self.q_from(q), self.v_from(q, v))
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
        there = _checked("solve_from", "M", M, self.nv, self.nv)
        still = _checked("solve_from", "bias", bias, self.nv)
        forces = self._rates("solve_from", "tau", tau)
        rest = _apply(there, self._drift("solve_from", q, v)) + still
        right = forces - self.tau_from(at, rest)
        try:
            found = np.linalg.solve(self.mass_matrix_from(at, there), right[..., None])
        except np.linalg.LinAlgError as error:
            where = "solve_from: argument 'M'"
            raise NumberError(where, "matrices with an inverse", error, "look at them") from None
        return found[..., 0].astype(float)

    @together("Converter.tau_to")
    def tau_to(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return joint forces in the other library's coordinates; followers get none."""
        here = self._rates("tau_to", "tau", tau)
        at = self._columns(self._positions("tau_to", q), "nq")
        own = dict(zip((p.body for p in self._own), self._split(here), strict=True))
        columns = {p.body: own.get(p.body, np.zeros((1,))) for p in self.pieces}

        def turn(piece: Piece, part: Array) -> Array:
            return piece.block.turn(at[piece.body], part)

        return self._stack(columns, here.shape[:-1], self.nv, "v", turn)

    @together("Converter.tau_from")
    def tau_from(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Return joint forces in Sixfold's coordinates, shape (..., nv)."""
        here, there = self.q_from(q), _checked("tau_from", "tau", tau, self.nv)
        at = self._columns(here, "nq")
        work = {p.body: p.block.turn_back(at[p.body], there[..., p.v]) for p in self.pieces}
        for coupling in self.model.couplings:
            # a follower that the other library does not count has no force there
            if coupling.follower in work:
                for master, ratio in coupling.terms:
                    work[master] = work[master] + ratio * work[coupling.follower]
        return self._join([work[piece.body] for piece in self._own], here.shape[:-1])

    @together("Converter.mass_matrix_from")
    def mass_matrix_from(self, q: ArrayLike, M: ArrayLike) -> Array:
        """Return the mass matrix in Sixfold's coordinates, shape (..., nv, nv): P^T M P."""
        there = _checked("mass_matrix_from", "M", M, self.nv, self.nv)
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
        here = _checked("mass_matrix_to", "M", M, self.model.nv, self.model.nv)
        # v_to turns rows: first those of M^T, then those of B M
        turned = np.swapaxes(self.v_to(at, np.swapaxes(here, -1, -2)), -1, -2)
        return self.v_to(at, turned)

    # -- six-dimensional vectors and poses

    def spatial_to(self, x: ArrayLike) -> Array:
        """Return a motion or force in the other library's order: Pinocchio has linear first."""
        six = _checked("spatial_to", "x", x, 6)
        return np.roll(six, 3, -1) if self.library == "pinocchio" else six

    def spatial_from(self, x: ArrayLike) -> Array:
        """Return a motion or force in Sixfold's order, angular first."""
        return self.spatial_to(x)

    @together("Converter.pose_to")
    def pose_to(self, pose: ArrayLike) -> Array:
        """Return (position, quaternion) from 4x4 poses: xyzw for Pinocchio, wxyz for MuJoCo."""
        T = _checked("pose_to", "pose", pose, 4, 4)
        xyzw = matrices_to_quaternions(T[..., :3, :3])
        turn = xyzw if self.library == "pinocchio" else np.roll(xyzw, 1, -1)
        return np.concatenate([T[..., :3, 3], turn], -1)

    def pose_from(self, pose: ArrayLike) -> Array:
        """Return 4x4 poses from (position, quaternion) in the other library's order."""
        x = _checked("pose_from", "pose", pose, 7)
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
        forces = _checked("f_ext_to", "f_ext", f_ext, self.model.nb, 6)
        poses = body_poses(self.model, q)
        R, p = poses[..., :3, :3], poses[..., :3, 3]
        n, f = forces[..., :3], forces[..., 3:]
        if f_ext_frame == "body":
            n, f = _apply(R, n), _apply(R, f)
            n = n + np.cross(p, f)
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
        for coupling in coordinates.couplings:
            offset = coupling.offset if size == "nq" else 0.0
            total: Array = np.full((*x.shape[:-1], 1), offset)
            for master, ratio in coupling.terms:
                total = total + ratio * columns[master]
            columns[coupling.follower] = total
        return columns

    def _positions(self, function: str, q: ArrayLike) -> Array:
        names = self.model.coordinates.q_names
        return _checked(function, "q", q, self.model.nq, names=names)

    def _rates(self, function: str, argument: str, x: ArrayLike) -> Array:
        names = self.model.coordinates.v_names
        return _checked(function, argument, x, self.model.nv, names=names)

    def _turned(self, function: str, q: ArrayLike, x: ArrayLike) -> Array:
        at = self._columns(self._positions(function, q), "nq")
        given = self._rates(function, function[0], x)

        def turn(piece: Piece, part: Array) -> Array:
            return piece.block.turn(at[piece.body], part)

        return self._stack(self._columns(given, "nv"), given.shape[:-1], self.nv, "v", turn)

    def _drift(self, function: str, q: ArrayLike, v: ArrayLike) -> Array:
        at = self._columns(self._positions(function, q), "nq")
        given = self._rates(function, "v", v)

        def drift(piece: Piece, part: Array) -> Array:
            return piece.block.drift(at[piece.body], part)

        return self._stack(self._columns(given, "nv"), given.shape[:-1], self.nv, "v", drift)

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


def _checked(
    function: str, argument: str, x: ArrayLike, *shape: int, names: Sequence[str] | None = None
) -> Array:
    sizes = " x ".join(map(str, shape))
    labels = (names,) * len(shape)
    array = checked(function, argument, Argument(x, shape, f"{sizes} numbers", labels=labels))
    if array.dtype.kind != "f":
        where = f"{function}: argument '{argument}'"
        raise NumberError(where, "plain numbers", "symbols", "give the state in numbers")
    return array.astype(float, copy=False)


def _apply(R: Array, x: Array) -> Array:
    product: Array = (R @ x[..., None])[..., 0]
    return product
