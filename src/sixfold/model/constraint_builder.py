"""Constraints beside the joints of a tree, collected by name: loops, rods, gears, rolling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from sixfold.errors import ModelError, UnknownNameError, shown
from sixfold.model.body import Body
from sixfold.model.constraint import Constraint, Distance, Gear, Loop, Rolling
from sixfold.model.joint.joint import Joint
from sixfold.model.joint.standard import Free
from sixfold.model.values import check_name, numbers_of, placement_of
from sixfold.scalar import exact, plain
from sixfold.spatial import Transform, Vector3

Attachments = Mapping[str, tuple[int, Transform]]
"""Of each body, frame and the base: the body that carries it (-1 for the base), and where."""
Placement = Transform | Sequence[float] | None
MAX_POWER = 8
"""Highest power of a gear's polynomial."""


class ConstraintBuilder:
    """The part of `ModelBuilder` that collects constraints."""

    base_name: str

    def __init__(self) -> None:
        """Start without constraints."""
        self._constraints: dict[str, Callable[[Attachments, list[Body]], Constraint]] = {}

    def close(
        self,
        body_a: str,
        body_b: str,
        joint: Joint,
        placement_a: Placement = None,
        placement_b: Placement = None,
        *,
        name: str | None = None,
    ) -> Self:
        """Close a loop: between two bodies only what a joint allows may happen.

        A hinge forbids five motions, a ball (`Spherical`) three, a weld (`Fixed`) all six.

        Args:
            body_a: body, frame or base on the parent's side of the joint.
            body_b: body or frame that the joint carries.
            joint: any joint type; its frames coincide at its neutral position.
            placement_a: transform from body_a to the joint's frame there, or the frame's position.
            placement_b: the same on body_b.
            name: unique; "body_a-body_b" when left out.
        """
        where, name = self._name("close", body_a, body_b, name)
        if not isinstance(joint, Joint):
            raise ModelError(where, f"joint is {shown(joint)}", "pass a joint, as Revolute('z')")
        if isinstance(joint, Free) or joint.nv > 5:
            what = f"a {joint.kind} joint forbids nothing"
            raise ModelError(where, what, "close loops with a joint of fewer freedoms")
        XA, XB = placement_of(where, placement_a), placement_of(where, placement_b)

        def made(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, body_a, body_b)
            return Loop(name, a, (XA @ PA).map(exact), b, (XB @ PB).map(exact), joint)

        self._constraints[name] = made
        return self

    def add_rod(
        self,
        body_a: str,
        body_b: str,
        length: float,
        point_a: Sequence[float] = (0.0, 0.0, 0.0),
        point_b: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        name: str | None = None,
    ) -> Self:
        """Keep two points at a distance, as a massless rod with ball joints at its ends does.

        Args:
            body_a: body, frame or base at one end.
            body_b: body or frame at the other.
            length: distance of the points [m], above zero.
            point_a: where the rod ends, in coordinates of body_a.
            point_b: the same on body_b.
            name: unique; "body_a-body_b" when left out.
        """
        where, name = self._name("add_rod", body_a, body_b, name)
        (long,) = numbers_of(where, "length", length, 1, positive=True)
        if not long:
            raise ModelError(where, "length = 0", "close the loop with Spherical() instead")
        ends = [
            numbers_of(where, label, p, 3)
            for label, p in (("point_a", point_a), ("point_b", point_b))
        ]

        def made(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, body_a, body_b)
            pa, pb = (_point(P, p) for P, p in zip((PA, PB), ends, strict=True))
            return Distance(name, a, pa, b, pb, long)

        self._constraints[name] = made
        return self

    def add_gear(
        self,
        follower: str,
        *leaders: tuple[str, float | Sequence[float]],
        offset: float | None = None,
        name: str | None = None,
    ) -> Self:
        """Gear a joint to others: q = offset + sum of ratio x q_leader, or of polynomials in it.

        `couple` removes the follower's coordinate; a gear keeps it, and its force is a result.

        Args:
            follower: name of a joint with one freedom.
            leaders: pairs (joint name, ratio), or (joint name, coefficients of q, q^2, ...);
                without any, the joint is held at the offset, which must be given then.
            offset: position of the follower when all leaders are at zero; 0 if left out.
            name: unique; "gear of follower" when left out.
        """
        check_name("add_gear: argument 'follower'", follower)
        label = f"gear of {follower}" if name is None else name
        where = self._new(f"gear of joint '{follower}'", label)
        pairs = all(isinstance(pair, tuple) and len(pair) == 2 for pair in leaders)
        if not pairs or (not leaders and offset is None):
            raise ModelError(where, f"leaders {shown(leaders)}", "give pairs (joint name, ratio)")
        terms: list[tuple[str, tuple[float, ...]]] = []
        for leader, given in leaders:
            check_name(f"{where}: a leader", leader)
            terms.append((leader, _coefficients(where, given)))
        if len({leader for leader, _ in terms} | {follower}) <= len(terms):
            raise ModelError(where, "a joint appears twice", "name each joint once")
        (shift,) = numbers_of(where, "offset", 0.0 if offset is None else offset, 1)

        def made(_: Attachments, bodies: list[Body]) -> Constraint:
            number = {body.joint_name: k for k, body in enumerate(bodies)}
            for joint_name in (follower, *(leader for leader, _ in terms)):
                if joint_name not in number:
                    raise UnknownNameError("joint", joint_name, number, where=where)
                joint = bodies[number[joint_name]].joint
                if joint.nq != 1 or joint.nv != 1:
                    what = f"joint '{joint_name}' ({joint.kind}) has {joint.nv} freedoms"
                    raise ModelError(where, what, "gear joints of one freedom")
            numbered = tuple((number[leader], c) for leader, c in terms)
            return Gear(label, number[follower], numbered, shift)

        self._constraints[label] = made
        return self

    def add_rolling(
        self,
        body: str,
        radius: float,
        *,
        shape: str = "disc",
        axis: Sequence[float] | str = "z",
        center: Sequence[float] = (0.0, 0.0, 0.0),
        plane: str | None = None,
        placement: Placement = None,
        name: str | None = None,
    ) -> Self:
        """Let a wheel or ball roll on a plane without slipping, sinking or lifting off.

        Args:
            body: body or frame that rolls.
            radius: of the disc's sharp rim, or of the ball [m].
            shape: "disc" or "ball".
            axis: of the disc, in coordinates of the body.
            center: in coordinates of the body [m].
            plane: body, frame or base with the plane; the base if left out.
            placement: transform from there to a frame on the plane whose z axis points out of it,
                or a point of the plane; the x-y plane if left out.
            name: unique; "plane-body" when left out.
        """
        ground = self.base_name if plane is None else plane
        where, name = self._name("add_rolling", ground, body, name)
        (size,) = numbers_of(where, "radius", radius, 1, positive=True)
        if not size:
            raise ModelError(where, "radius = 0", "give a radius above zero [m]")
        if not isinstance(shape, str) or shape not in ("disc", "ball"):
            raise ModelError(where, f"shape is {shown(shape)}", "choose 'disc' or 'ball'")
        XP = placement_of(where, placement)
        p = numbers_of(where, "center", center, 3)
        XB = Transform(_axes(where, axis), Vector3(*map(exact, p)))

        def made(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, ground, body)
            XA, X = (XP @ PA).map(exact), (XB @ PB).map(exact)
            return Rolling(name, a, XA, b, X, size, shape == "disc")

        self._constraints[name] = made
        return self

    def constraints_of(self, at: Attachments, bodies: list[Body]) -> tuple[Constraint, ...]:
        """Return all constraints, their bodies by number."""
        return tuple(made(at, bodies) for made in self._constraints.values())

    def _name(self, what: str, a: Any, b: Any, name: str | None) -> tuple[str, str]:
        for label, given in (("first", a), ("second", b)):
            check_name(f"{what}: the {label} body", given)
        label = f"{a}-{b}" if name is None else name
        return self._new(f"constraint '{label}'", label), label

    def _new(self, where: str, label: Any) -> str:
        check_name(where, label)
        if label in self._constraints:
            raise ModelError(where, "the name is already taken", "pass name=...")
        return where

    def _pair(
        self, where: str, at: Attachments, a: str, b: str
    ) -> tuple[tuple[int, Transform], tuple[int, Transform]]:
        for name in (a, b):
            if name not in at:
                raise UnknownNameError("body or frame", name, at, where=where)
        if at[a][0] == at[b][0]:
            what = f"'{a}' and '{b}' are on the same body"
            raise ModelError(where, what, "name two bodies that can move against each other")
        return at[a], at[b]


def _coefficients(where: str, given: Any) -> tuple[float, ...]:
    if isinstance(given, Sequence) and not isinstance(given, str):
        if not 1 <= len(given) <= MAX_POWER:
            what = f"{len(given)} coefficients"
            raise ModelError(where, what, f"give those of q to q^{MAX_POWER} at most")
        return numbers_of(where, "coefficients", given, len(given))
    return numbers_of(where, "ratio", given, 1)


def _point(X: Transform, p: Sequence[float]) -> tuple[float, ...]:
    """Return a point of a frame in coordinates of the body that carries it."""
    return tuple(float(plain(x)) for x in X.r + X.E.T @ Vector3(*map(exact, p)))


def _axes(where: str, axis: Any) -> Any:
    """Return E of a frame whose z axis is the given one."""
    from sixfold.spatial import IDENTITY3, Matrix3, unit

    z = unit(axis, where)
    if math.isclose(float(plain(z.z)), 1.0, rel_tol=0.0, abs_tol=0.0):
        return IDENTITY3
    size = [abs(float(plain(x))) for x in z]
    least = IDENTITY3[size.index(min(size))]
    x = least.cross(z)
    x = x / math.sqrt(float(plain(x.dot(x))))
    return Matrix3(x, z.cross(x), z).map(exact)
