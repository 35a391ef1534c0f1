"""The coordinates of a model: which joints have them, where they lie, what they are called.

A joint that follows others has no coordinates of its own.  With T, the velocities of all joints
are v_all = T v, joint forces reduce to T^T tau and a mass matrix to T^T M T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ModelError, UnknownNameError, visible
from sixfold.model.body import Body, Coupling
from sixfold.model.joint import Joint
from sixfold.model.standard_joints import Free
from sixfold.scalar import ZERO, Scalar, exact
from sixfold.spatial import Column


@dataclass(frozen=True)
class FreeJoint:
    """A joint with coordinates of its own, and where they lie."""

    body: int  #: Row of the body that the joint carries.
    name: str
    joint: Joint
    q: slice  #: Where its positions lie in q.
    v: slice  #: Where its velocities lie in v, a and tau.

    @property
    def quaternion(self) -> slice | None:
        """Where in q its quaternion (x, y, z, w) lies, if it has one."""
        part = self.joint.quaternion()
        return None if part is None else slice(self.q.start + part.start, self.q.start + part.stop)

    @property
    def q_names(self) -> tuple[str, ...]:
        """Names of its positions: 'joint', or 'joint.label' if there are several."""
        return _names(self.name, self.joint.position_labels())

    @property
    def v_names(self) -> tuple[str, ...]:
        """Names of its velocities: 'joint', or 'joint.label' if there are several."""
        return _names(self.name, self.joint.velocity_labels())


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of a model; get them from `model.coordinates`."""

    model_name: str
    joint_names: tuple[str, ...]  #: Names of all joints; joint k carries body k.
    free: tuple[FreeJoint, ...]  #: The joints that follow no others, in the order of q and v.
    couplings: tuple[Coupling, ...]
    nq: int
    nv: int

    def __repr__(self) -> str:
        """Return the sizes."""
        sizes = f"nq={self.nq}, nv={self.nv}, {len(self.free)} joints"
        return f"<coordinates of '{visible(self.model_name)}': {sizes}>"

    @classmethod
    def of(
        cls, model_name: str, bodies: Sequence[Body], couplings: tuple[Coupling, ...]
    ) -> Coordinates:
        """Return the coordinates of a model made of these parts."""
        followers = {coupling.follower for coupling in couplings}
        free: list[FreeJoint] = []
        i = j = 0
        # followers have no coordinate of their own
        for k, body in enumerate(bodies):
            if k not in followers:
                q, v = slice(i, i + body.joint.nq), slice(j, j + body.joint.nv)
                free.append(FreeJoint(k, body.joint_name, body.joint, q, v))
                i, j = q.stop, v.stop
        names = tuple(body.joint_name for body in bodies)
        return cls(model_name, names, tuple(free), couplings, i, j)

    @cached_property
    def followers(self) -> frozenset[int]:
        """Rows of the bodies whose joints follow others."""
        return frozenset(coupling.follower for coupling in self.couplings)

    # -- by joint

    def q_slice(self, joint_name: str) -> slice:
        """Return where a joint's coordinates lie in q."""
        return self._joint(joint_name).q

    def v_slice(self, joint_name: str) -> slice:
        """Return where a joint's coordinates lie in v, a and tau."""
        return self._joint(joint_name).v

    def _joint(self, joint_name: str) -> FreeJoint:
        if isinstance(joint_name, str):
            if joint_name in self._by_name:
                return self._by_name[joint_name]
            if joint_name in self.joint_names:
                raise ModelError(
                    f"joint '{joint_name}'",
                    "follows other joints and has no coordinate of its own",
                    "use the joint it follows",
                )
        where = f"model '{self.model_name}'"
        raise UnknownNameError("joint", joint_name, self.joint_names, where=where)

    @cached_property
    def _by_name(self) -> dict[str, FreeJoint]:
        # the first of two joints of one name counts
        return {joint.name: joint for joint in reversed(self.free)}

    @cached_property
    def quaternions(self) -> tuple[tuple[str, slice], ...]:
        """The joints that have a quaternion (x, y, z, w), each with its place in q."""
        places = ((joint.name, joint.quaternion) for joint in self.free)
        return tuple((name, part) for name, part in places if part is not None)

    @cached_property
    def additive(self) -> tuple[tuple[int, int], ...]:
        """The coordinates whose rate is a velocity, each as (index in q, index in v)."""
        return tuple(
            pair
            for joint in self.free
            if joint.joint.velocity_is_rate
            for pair in zip(_range(joint.q), _range(joint.v), strict=True)
        )

    @cached_property
    def floating(self) -> tuple[FreeJoint, ...]:
        """The joints with six degrees of freedom (floating bases), which have no motor."""
        return tuple(joint for joint in self.free if isinstance(joint.joint, Free))

    @cached_property
    def actuated_indices(self) -> tuple[int, ...]:
        """Indices in v and tau of the coordinates that are not those of a floating base."""
        joints = (joint for joint in self.free if not isinstance(joint.joint, Free))
        return tuple(k for joint in joints for k in _range(joint.v))

    # -- by coordinate

    @cached_property
    def q_names(self) -> tuple[str, ...]:
        """A name for each coordinate of q: the joint's, with a label if it has several."""
        return tuple(name for joint in self.free for name in joint.q_names)

    @cached_property
    def v_names(self) -> tuple[str, ...]:
        """A name for each coordinate of v, a and tau: as in `q_names`."""
        return tuple(name for joint in self.free for name in joint.v_names)

    @cached_property
    def q_joints(self) -> tuple[FreeJoint, ...]:
        """The joint that owns each coordinate of q."""
        return tuple(joint for joint in self.free for _ in range(joint.joint.nq))

    @cached_property
    def v_joints(self) -> tuple[FreeJoint, ...]:
        """The joint that owns each coordinate of v, a and tau."""
        return tuple(joint for joint in self.free for _ in range(joint.joint.nv))

    # -- couplings

    @cached_property
    def T(self) -> NDArray[np.float64]:
        """The projector of couplings: velocities of all joints, body by body, are T v."""
        columns = self.velocities(list(np.eye(self.nv)))
        rows = [np.broadcast_to(x, self.nv) for k in sorted(columns) for x in columns[k]]
        projector = np.array(rows, float).reshape(len(rows), self.nv)
        projector.flags.writeable = False
        return projector

    def positions(self, q: Sequence[Any]) -> dict[int, Column]:
        """Split q into one column for each joint, followers included; body k is number k + 1."""
        columns = {joint.body + 1: Column(q[joint.q]) for joint in self.free}
        return self._with_followers(columns, offsets=True)

    def velocities(self, v: Sequence[Any]) -> dict[int, Column]:
        """Return T v as one column for each joint; body k is number k + 1."""
        columns = {joint.body + 1: Column(v[joint.v]) for joint in self.free}
        return self._with_followers(columns, offsets=False)

    def _with_followers(self, columns: dict[int, Column], offsets: bool) -> dict[int, Column]:
        # T v, and T q + offset for positions
        for c in self.couplings:
            total: Scalar = exact(c.offset) if offsets else ZERO
            for master, ratio in c.terms:
                total = total + columns[master + 1][0] * ratio
            columns[c.follower + 1] = Column([total])
        return columns

    def gather(self, forces: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Return T^T tau: a follower's force works on the joints it follows.

        Args:
            forces: a column for each joint; body k is number k + 1.
        """
        work = {k + 1: list(forces[k + 1]) for k in range(len(self.joint_names))}
        # T^T f: what a follower feels acts on its masters
        for c in self.couplings:
            (force,) = work.pop(c.follower + 1)
            for master, ratio in c.terms:
                work[master + 1][0] = work[master + 1][0] + force * ratio
        return [x for i in sorted(work) for x in work[i]]

    def reduce(self, matrix: Sequence[Sequence[Any]], slices: Sequence[slice]) -> list[list[Any]]:
        """Return T^T M T of a matrix over all joints, row by row.

        Args:
            matrix: rows of M over the velocities of all joints, followers included.
            slices: rows of each body in M, the base first: `Tree.velocity_slices`.
        """

        def reduce_row(row: Sequence[Any]) -> list[Any]:
            return self.gather({i: row[slices[i]] for i in range(1, len(slices))})

        half = [reduce_row(row) for row in matrix]  # M T
        columns = [reduce_row(column) for column in zip(*half, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]


def _names(joint: str, labels: Sequence[str]) -> tuple[str, ...]:
    return (joint,) if len(labels) == 1 else tuple(f"{joint}.{label}" for label in labels)


def _range(part: slice) -> range:
    return range(part.start, part.stop)
