"""Build a model body by body, in any order, with constraints and couplings between them."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from math import inf
from typing import Any, Self

import numpy as np

from sixfold.errors import (
    ArgumentError,
    CallbackError,
    ModelError,
    SixfoldError,
    UnknownNameError,
    UnlikelyInputWarning,
    kind_of,
    quote,
    visible,
)
from sixfold.model.body import Body, Coupling, Frame, Numbers
from sixfold.model.constraint import Constraint, Distance, Gear, Loop, Rolling
from sixfold.model.joint import Joint
from sixfold.model.model import Model
from sixfold.model.standard_joints import Fixed, Free
from sixfold.model.validate import (
    Values,
    check_name,
    check_spring,
    degree_limits,
    impossible_inertias,
    inertia_of,
    numbers_of,
    placement_of,
)
from sixfold.scalar import exact, plain
from sixfold.spatial import Inertia, Transform, Vector3


def resolve_couplings(
    law: dict[int, tuple[dict[int, float], float]], bodies: list[Body]
) -> dict[int, tuple[dict[int, float], float]]:
    """Replace followers of followers by their own masters.

    Args:
        law: for each follower {number of a master: ratio} and the offset.
        bodies: of the model; their joints name those that follow each other in a loop.
    """
    # followers of followers: masters first
    graph = {k: [m for m in terms if m in law] for k, (terms, _) in law.items()}
    try:
        masters_first = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        names = [bodies[k].joint_name for k in error.args[1][1:]]
        what = "follow each other in a loop"
        raise ModelError(f"joints {names}", what, "name one master") from None
    free: dict[int, tuple[dict[int, float], float]] = {}
    for k in masters_first:
        terms, offset = law[k]
        total: dict[int, float] = {}
        # substitute the law of a master that follows others itself
        for m, ratio in terms.items():
            inner, shift = free.get(m, ({m: 1.0}, 0.0))
            for other, r in inner.items():
                total[other] = total.get(other, 0.0) + ratio * r
            offset += ratio * shift
        free[k] = (total, offset)
    return free


#: Of each body, frame and the base: the body that carries it (-1 for the base), and where.
Attachments = Mapping[str, tuple[int, Transform]]
Placement = Transform | Sequence[float] | None
MAX_POWER = 8  #: Highest power of a gear's polynomial.


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
        """Close a loop: two bodies may move against each other only as a joint allows.

        A hinge constrains five motions, a ball (`Spherical`) three, a weld (`Fixed`) all six.

        Args:
            body_a: body, frame or base on the parent's side of the joint.
            body_b: body or frame that the joint carries.
            joint: any joint type; its frames coincide at its neutral position.
            placement_a: transform from body_a to the joint's frame there, or the frame's position.
            placement_b: the same on body_b.
            name: unique; "body_a-body_b" by default.
        """
        where, name = self._name("close", body_a, body_b, name)
        if not isinstance(joint, Joint):
            raise ModelError(where, f"joint is {quote(joint)}", "pass a joint, as Revolute('z')")
        # a joint with six degrees of freedom constrains nothing
        if isinstance(joint, Free) or joint.nv > 5:
            what = f"a {joint.kind} joint forbids nothing"
            raise ModelError(where, what, "close loops with a joint of fewer degrees of freedom")
        XA, XB = placement_of(where, placement_a), placement_of(where, placement_b)

        # made when all bodies are known; placements on frames become those on bodies
        def build(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, body_a, body_b)
            return Loop(name, a, (XA @ PA).map(exact), b, (XB @ PB).map(exact), joint)

        self._constraints[name] = build
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
            name: unique; "body_a-body_b" by default.
        """
        where, name = self._name("add_rod", body_a, body_b, name)
        (long,) = numbers_of(where, "length", length, 1, positive=True)
        if not long:
            raise ModelError(where, "length = 0", "close the loop with Spherical() instead")
        # its ends, in the coordinates of the two bodies or frames
        ends = [
            numbers_of(where, label, p, 3)
            for label, p in (("point_a", point_a), ("point_b", point_b))
        ]

        # a distance between two points of different bodies
        def build(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, body_a, body_b)
            pa, pb = (_point(P, p) for P, p in zip((PA, PB), ends, strict=True))
            return Distance(name, a, pa, b, pb, long)

        self._constraints[name] = build
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
            follower: name of a joint with one degree of freedom.
            leaders: pairs (joint name, ratio), or (joint name, coefficients of q, q^2, ...);
                without any, the joint is held at the offset, which must be given then.
            offset: position of the follower when all leaders are at zero; 0 by default.
            name: unique; "gear of follower" by default.
        """
        check_name("add_gear: argument 'follower'", follower)
        label = f"gear of {follower}" if name is None else name
        where = self._new(f"gear of joint '{follower}'", label)
        pairs = all(isinstance(pair, tuple) and len(pair) == 2 for pair in leaders)
        if not pairs or (not leaders and offset is None):
            raise ModelError(where, f"leaders {quote(leaders)}", "give pairs (joint name, ratio)")
        # powers of each leader's coordinate, from the first on
        terms: list[tuple[str, tuple[float, ...]]] = []
        for leader, given in leaders:
            check_name(f"{where}: a leader", leader)
            terms.append((leader, _coefficients(where, given)))
        if len({leader for leader, _ in terms} | {follower}) <= len(terms):
            raise ModelError(where, "a joint appears twice", "name each joint once")
        (shift,) = numbers_of(where, "offset", 0.0 if offset is None else offset, 1)

        def build(_: Attachments, bodies: list[Body]) -> Constraint:
            # gears couple numbers: joints of one coordinate each
            number = {body.joint_name: k for k, body in enumerate(bodies)}
            for joint_name in (follower, *(leader for leader, _ in terms)):
                if joint_name not in number:
                    raise UnknownNameError("joint", joint_name, number, where=where)
                joint = bodies[number[joint_name]].joint
                if joint.nq != 1 or joint.nv != 1:
                    what = f"joint '{joint_name}' ({joint.kind}) has {joint.nv} degrees of freedom"
                    raise ModelError(where, what, "gear joints of one freedom")
            numbered = tuple((number[leader], c) for leader, c in terms)
            return Gear(label, number[follower], numbered, shift)

        self._constraints[label] = build
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
            plane: body, frame or base with the plane; the base by default.
            placement: transform from there to a frame on the plane whose z axis points out of it,
                or a point of the plane; the x-y plane by default.
            name: unique; "plane-body" by default.
        """
        ground = self.base_name if plane is None else plane
        where, name = self._name("add_rolling", ground, body, name)
        (size,) = numbers_of(where, "radius", radius, 1, positive=True)
        if not size:
            raise ModelError(where, "radius = 0", "give a radius above zero [m]")
        if not isinstance(shape, str) or shape not in ("disc", "ball"):
            raise ModelError(where, f"shape is {quote(shape)}", "choose 'disc' or 'ball'")
        XP = placement_of(where, placement)
        p = numbers_of(where, "center", center, 3)
        # the wheel's frame: its z axis is the axis of the disc
        XB = Transform(_axes(where, axis), Vector3(*map(exact, p)))

        # the plane belongs to one body, the wheel to the other
        def build(at: Attachments, _: list[Body]) -> Constraint:
            (a, PA), (b, PB) = self._pair(where, at, ground, body)
            XA, X = (XP @ PA).map(exact), (XB @ PB).map(exact)
            return Rolling(name, a, XA, b, X, size, shape == "disc")

        self._constraints[name] = build
        return self

    def constraints_of(self, at: Attachments, bodies: list[Body]) -> tuple[Constraint, ...]:
        """Return all constraints, their bodies by number."""
        return tuple(build(at, bodies) for build in self._constraints.values())

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
        # both ends exist, and can move against each other
        for name in (a, b):
            if name not in at:
                raise UnknownNameError("body or frame", name, at, where=where)
        if at[a][0] == at[b][0]:
            what = f"'{a}' and '{b}' are on the same body"
            raise ModelError(where, what, "name two bodies that can move against each other")
        return at[a], at[b]


def _coefficients(where: str, given: Any) -> tuple[float, ...]:
    # a ratio is the coefficient of q alone
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

    # a frame whose z axis is the given one
    z = unit(axis, where)
    if math.isclose(float(plain(z.z)), 1.0, rel_tol=0.0, abs_tol=0.0):
        return IDENTITY3
    # x is normal to z and to the coordinate axis that is farthest from z
    size = [abs(float(plain(x))) for x in z]
    least = IDENTITY3[size.index(min(size))]
    x = least.cross(z)
    x = x / math.sqrt(float(plain(x.dot(x))))
    return Matrix3(x, z.cross(x), z).map(exact)


@dataclass
class _Part:
    order: int
    name: str
    parent: str
    joint: Joint
    joint_name: str
    placement: Transform
    inertia: Inertia
    properties: dict[str, Numbers]


class ModelBuilder(ConstraintBuilder):
    """Collects bodies and frames; `build` numbers them parent first and returns a Model.

    Bodies whose order of adding already has parents first keep that order.

    Args:
        name: name of the model.
        gravity: in world axes [m/s^2].
        base_name: name of the fixed base.
        friction_speed: v_s of the friction law [rad/s or m/s] of bodies that are given none; 0 for
            friction that jumps at rest.

    Example:
        >>> import sixfold as sf
        >>> rod = sf.Inertia.from_mass(1.0, center=(0, 0, -0.5), rotational=(0.1, 0.1, 0))
        >>> builder = sf.ModelBuilder("pendulum")
        >>> builder = builder.add_body("rod", joint=sf.Revolute("y"), inertia=rod, damping=0.2)
        >>> model = builder.add_frame("tip", "rod", (0, 0, -1.0)).build()
        >>> model, model.frame_names
        (<Model 'pendulum': nb=1, nq=1, nv=1, 1 kg>, ('tip',))
    """

    def __init__(
        self,
        name: str = "robot",
        *,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        base_name: str = "world",
        friction_speed: float = 0.0,
    ) -> None:
        """Start a model with a fixed base."""
        super().__init__()
        check_name("ModelBuilder: argument 'name'", name)
        check_name("ModelBuilder: argument 'base_name'", base_name)
        self.name, self.base_name = name, base_name
        self.gravity = numbers_of("ModelBuilder", "gravity", gravity, 3)
        (self.friction_speed,) = numbers_of(
            "ModelBuilder", "friction_speed", friction_speed, 1, positive=True
        )
        self._parts: dict[str, _Part] = {}
        self._frames: list[tuple[str, str, Transform]] = []
        self._couplings: list[tuple[str, tuple[tuple[str, float], ...], float]] = []

    def __repr__(self) -> str:
        return f"<ModelBuilder '{visible(self.name)}': {len(self._parts)} bodies>"

    def add_body(
        self,
        name: str,
        *,
        parent: str | None = None,
        joint: Joint,
        joint_name: str | None = None,
        placement: Transform | Sequence[float] | None = None,
        inertia: Inertia | None = None,
        damping: Values = None,
        friction: Values = None,
        friction_negative: Values = None,
        friction_speed: Values = None,
        stiffness: Values = None,
        rest: Values = None,
        armature: Values = None,
        lower: Values = None,
        upper: Values = None,
        velocity_limit: Values = None,
        effort_limit: Values = None,
    ) -> ModelBuilder:
        """Add a body and the joint that carries it.

        Args:
            name: unique name of the body.
            parent: name of the parent body or frame, perhaps added later; the base by default.
            joint: how the body moves against its parent.
            joint_name: unique; `name + "_joint"` by default.
            placement: transform from the parent to the joint, or the joint's position there.
            inertia: in body coordinates; none by default.
            damping: viscous coefficient for each velocity coordinate.
            friction: dry friction for positive speed; both directions unless the next is given.
            friction_negative: dry friction for negative speed, as a positive number.
            friction_speed: v_s of friction f tanh(v / v_s), 0 for f sign(v); the builder's when
                left out.
            stiffness: spring constant for each velocity coordinate.
            rest: position where the spring is relaxed; the neutral position by default.
            armature: rotor inertia x ratio^2 for each velocity coordinate.
            lower: lower position limit.
            upper: upper position limit.
            velocity_limit: speed limit.
            effort_limit: joint force limit.
        """
        check_name(f"body {quote(name)}", name)
        where = f"body '{name}'"
        for option, other in (("parent", parent), ("joint_name", joint_name)):
            if other is not None:
                check_name(f"{where}: option '{option}'", other)
        if name in self._parts or name == self.base_name:
            raise ModelError(where, "the name is already taken", "give each body its own name")
        if not isinstance(joint, Joint):
            fix = "pass a joint such as Revolute('z')"
            raise ModelError(where, f"joint is {quote(joint)}", fix)
        # parts are checked one by one, so that the message names the part
        X = placement_of(where, placement)
        body_inertia = Inertia.zero() if inertia is None else inertia_of(where, inertia)
        nq, nv = joint.nq, joint.nv
        # one number stands for every axis, though not for the numbers of a quaternion
        axes = partial(numbers_of, where, n=nv, positive=True, spread=True)
        limits = partial(numbers_of, where, n=nq, finite=False, spread=joint.quaternion() is None)
        # friction against the negative direction is the same unless given
        forward = axes("friction", friction, default=0.0)
        backward = axes("friction_negative", friction_negative, default=0.0)
        properties = {
            "damping": axes("damping", damping, default=0.0),
            "friction": forward,
            "friction_negative": forward if friction_negative is None else backward,
            "friction_speed": axes("friction_speed", friction_speed, default=self.friction_speed),
            "stiffness": axes("stiffness", stiffness, default=0.0),
            "rest": joint.neutral() if rest is None else numbers_of(where, "rest", rest, nq),
            "armature": axes("armature", armature, default=0.0),
            "lower": limits("lower", lower, default=-inf),
            "upper": limits("upper", upper, default=inf),
            "velocity_limit": axes("velocity_limit", velocity_limit, default=inf, finite=False),
            "effort_limit": axes("effort_limit", effort_limit, default=inf, finite=False),
        }
        # limits, spring and rest position have to fit each other
        if any(a > b for a, b in zip(properties["lower"], properties["upper"], strict=True)):
            raise ModelError(where, "a lower limit is above its upper limit", "swap the limits")
        check_spring(where, joint, properties["stiffness"])
        # a rest position has to be a rotation
        part = joint.quaternion()
        if part is not None and not any(properties["rest"][part]):
            raise ModelError(where, "rest has a quaternion of length zero", "give a rotation")
        # parents may come later: they are resolved in build
        self._parts[name] = _Part(
            order=len(self._parts),
            name=name,
            parent=self.base_name if parent is None else parent,
            joint=joint,
            joint_name=joint_name or f"{name}_joint",
            placement=X,
            inertia=body_inertia,
            properties=properties,
        )
        return self

    def add_frame(
        self, name: str, parent: str, placement: Transform | Sequence[float] | None = None
    ) -> ModelBuilder:
        """Add a named frame fixed to a body, another frame or the base."""
        check_name(f"frame {quote(name)}", name)
        check_name(f"frame '{name}': argument 'parent'", parent)
        self._frames.append((name, parent, placement_of(f"frame '{name}'", placement)))
        return self

    def couple(
        self, follower: str, *masters: tuple[str, float], offset: float = 0.0
    ) -> ModelBuilder:
        """Let one joint follow others: q_follower = sum of ratio x q_master + offset."""
        check_name("couple: argument 'follower'", follower)
        where = f"coupling of joint '{follower}'"
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in masters):
            raise ModelError(where, f"masters {quote(masters)}", "give pairs (joint name, ratio)")
        for master, _ in masters:
            check_name(f"{where}: a master", master)
        # q_follower = offset + sum of ratio q_master
        terms = tuple((name, numbers_of(where, "ratio", ratio, 1)[0]) for name, ratio in masters)
        self._couplings.append((follower, terms, numbers_of(where, "offset", offset, 1)[0]))
        return self

    def build(
        self, extra_fields: Callable[[Attachments], Mapping[str, Any]] | None = None
    ) -> Model:
        """Number the bodies parent first, merge fixed joints and return the Model.

        Args:
            extra_fields: returns further fields of the Model, such as geometries, given for each
                name the body that carries it (-1 for the base) and the placement there.
        """
        if extra_fields is not None and not callable(extra_fields):
            fix = "pass a function, or nothing"
            raise ArgumentError(
                "build: argument 'extra_fields'", "a function of the attachments", extra_fields, fix
            )
        # resolve frames that sit on frames, then number the bodies parent first
        carried = self._frame_carriers()
        ordered = self._order_parts(carried)
        index: dict[str, int] = {self.base_name: -1}
        at_rest = Transform.identity()
        placed: dict[str, Transform] = {self.base_name: at_rest}
        bodies: list[Body] = []
        frames: list[Frame] = []
        for part in ordered:
            X = part.placement
            if placed[part.parent] is not at_rest:
                X = (X @ placed[part.parent]).map(exact)
            # a fixed joint makes no body: its inertia joins the carrier, its name becomes a frame
            if isinstance(part.joint, Fixed):
                index[part.name], placed[part.name] = index[part.parent], X
                frames.append(Frame(part.name, index[part.parent], X))
                if index[part.parent] >= 0:
                    carrier = bodies[index[part.parent]]
                    merged = (carrier.inertia + (X.T @ part.inertia @ X)).map(exact)
                    bodies[index[part.parent]] = _with(carrier, inertia=merged)
                continue
            index[part.name], placed[part.name] = len(bodies), at_rest
            bodies.append(
                Body(
                    name=part.name,
                    joint_name=part.joint_name,
                    parent=index[part.parent],
                    joint=part.joint,
                    placement=X,
                    inertia=part.inertia,
                    **part.properties,
                )
            )
        # frames last: their carriers have numbers now
        for name, _, _ in self._frames:
            carrier_name, X = carried[name]
            X = (X @ placed[carrier_name]).map(exact)
            frames.append(Frame(name, index[carrier_name], X))
        _unique("joint", (body.joint_name for body in bodies))
        # constraints may name bodies, merged bodies, frames and the base
        attachments = {name: (k, placed[name]) for name, k in index.items()}
        named = attachments | {frame.name: (frame.body, frame.placement) for frame in frames}
        model = Model(
            name=self.name,
            bodies=tuple(bodies),
            gravity=self.gravity,
            frames=tuple(frames),
            couplings=self._resolve_couplings(bodies),
            base_name=self.base_name,
            constraints=self.constraints_of(named, bodies),
            **_extra_fields(extra_fields, attachments),
        )
        if model.origin is None:  # problems of files are reported by `diagnose`
            self._warn_of_suspicions(model)
        return model

    def _warn_of_suspicions(self, model: Model) -> None:
        """Warn of inertias that no body can have, and of limits that look like degrees."""
        parts = list(self._parts.values())
        with np.errstate(all="ignore"):
            found = list(impossible_inertias([part.inertia for part in parts]))
        for k, why in found:
            text = f"no body has the inertia of body '{parts[k].name}' ({why})"
            _warn(model, f"{text}; sixfold.diagnose(model) explains it")
        for body in model.bodies:
            for _, low, high in degree_limits(body):
                text = (
                    f"limits {low:g} to {high:g} rad of joint '{body.joint_name}' look like degrees"
                )
                _warn(model, f"{text}; numpy.deg2rad converts them")

    def _order_parts(self, carried: Mapping[str, tuple[str, Transform]]) -> list[_Part]:
        """Return parts with parents first, otherwise in the order they were added."""
        children: dict[str, list[_Part]] = {}
        for part in self._parts.values():
            carrier, X = carried.get(part.parent, (part.parent, None))
            if X is not None:
                part = _Part(**{**vars(part), "parent": carrier, "placement": part.placement @ X})
            if carrier not in self._parts and carrier != self.base_name:
                known = (self.base_name, *self._parts, *carried)
                raise UnknownNameError("parent body", carrier, known, where=f"body '{part.name}'")
            children.setdefault(carrier, []).append(part)
        # a heap keeps the order of adding among bodies whose parent is done
        ready = [(part.order, part) for part in children.get(self.base_name, ())]
        heapq.heapify(ready)
        ordered: list[_Part] = []
        while ready:
            _, part = heapq.heappop(ready)
            ordered.append(part)
            for child in children.get(part.name, ()):
                heapq.heappush(ready, (child.order, child))
        # bodies that never became ready form a loop
        if len(ordered) < len(self._parts):
            done = {part.name for part in ordered}
            lost = [name for name in self._parts if name not in done]
            raise ModelError(
                f"model '{self.name}'",
                f"bodies {lost[:5]} are not connected to the base '{self.base_name}' (a loop)",
                "let the chain of parents end at the base",
            )
        return ordered

    def _frame_carriers(self) -> dict[str, tuple[str, Transform]]:
        """Return for each frame the body (or base) that carries it, and the placement there."""
        given = {name: (parent, X) for name, parent, X in self._frames}
        known = (self.base_name, *self._parts, *given)
        _unique("frame", (*known[: 1 + len(self._parts)], *(name for name, _, _ in self._frames)))
        names = set(known)
        for name, (parent, _) in given.items():
            if parent not in names:
                raise UnknownNameError("parent body", parent, known, where=f"frame '{name}'")
        graph = {name: [parent] if parent in given else [] for name, (parent, _) in given.items()}
        carried: dict[str, tuple[str, Transform]] = {}
        try:
            for name in TopologicalSorter(graph).static_order():
                parent, X = given[name]
                carrier, before = carried.get(parent, (parent, Transform.identity()))
                carried[name] = (carrier, X @ before)
        except CycleError as error:
            where = f"frame '{error.args[1][0]}'"
            raise ModelError(
                where, "frames carry each other in a loop", "attach one of them to a body"
            ) from None
        return carried

    def _resolve_couplings(self, bodies: list[Body]) -> tuple[Coupling, ...]:
        number = {body.joint_name: k for k, body in enumerate(bodies)}
        law: dict[int, tuple[dict[int, float], float]] = {}
        for follower, terms, offset in self._couplings:
            for name in (follower, *(master for master, _ in terms)):
                if name not in number:
                    raise UnknownNameError("joint", name, number, where="coupling")
                joint = bodies[number[name]].joint
                if joint.nq != 1 or joint.nv != 1:
                    raise ModelError(
                        f"coupling of joint '{name}'",
                        f"a {joint.kind} joint has {joint.nv} degrees of freedom",
                        "couple joints of one freedom",
                    )
            if number[follower] in law:
                raise ModelError(
                    f"joint '{follower}'",
                    "is coupled twice",
                    "name all of its masters in one call of couple",
                )
            total: dict[int, float] = {}
            for master, ratio in terms:
                total[number[master]] = total.get(number[master], 0.0) + ratio
            law[number[follower]] = (total, offset)
        return tuple(
            Coupling(k, tuple(sorted(terms.items())), offset)
            for k, (terms, offset) in sorted(resolve_couplings(law, bodies).items())
        )


def _extra_fields(
    extra_fields: Callable[[Attachments], Mapping[str, Any]] | None, attachments: Attachments
) -> dict[str, Any]:
    """Return the further fields of a model."""
    if extra_fields is None:
        return {}
    known = ("geometries", "origin")
    try:
        fields = extra_fields(attachments)
    except SixfoldError:
        raise
    except Exception as error:
        got = f"{kind_of(error)}: {error}"
        fix = "pass a function of the attachments, {name: (body, placement)}"
        raise CallbackError(
            "build: argument 'extra_fields'", "fields of the model", got, fix
        ) from error
    if not isinstance(fields, Mapping) or any(name not in known for name in fields):
        fix = "return a dictionary with geometries or origin"
        raise CallbackError(
            "build: argument 'extra_fields'", "fields of the model", quote(fields), fix
        )
    return dict(fields)


def _warn(model: Model, text: str) -> None:
    warnings.warn(visible(f"{model.name}: {text}"), UnlikelyInputWarning, stacklevel=4)


def _with(body: Body, **changes: Any) -> Body:
    return Body(**{**vars(body), **changes})


def _unique(kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"{kind} '{name}'", "the name is already taken", "rename one")
        seen.add(name)
