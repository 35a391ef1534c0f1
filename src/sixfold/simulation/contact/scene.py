"""A ground and a model together: contacts by body number, with their weights; contact forces."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame
from sixfold.dynamics.contact.scene import (
    CapsuleShape,
    Contact,
    DryFriction,
    HeightGrid,
    Heights,
    JointLimit,
    Law,
    Numbers3,
    Plane,
    Scene,
    SphereShape,
)
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    ContactResidualWarning,
    ContactShapeWarning,
    NotApplicableError,
    UnknownNameError,
    visible,
)
from sixfold.model import Box, Capsule, Geometry, Model, Sphere
from sixfold.quantities.configurations import neutral
from sixfold.quantities.contact import evaluate_with_scene, inverse_masses
from sixfold.runtime import program_of, refuse_singular, require_model
from sixfold.show import fields_line
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.contact.shapes import (
    ContactCapsule,
    ContactPoint,
    JointLaw,
    can_meet,
    law_of,
    mix,
)
from sixfold.spatial import Transform, Vector3

MAX_SCENES = 64  #: Scenes that are kept; a scene is a few numbers and takes milliseconds to make.

Surface = Plane | Heights | HeightGrid
LeftOut = tuple[tuple[str, int], ...]  #: Kinds of shapes and how many of each.
_SCENES: dict[tuple[str, Ground, Surface], tuple[Scene, LeftOut]] = {}


def scene_of(function: str, model: Model, ground: Any) -> Scene:
    """Return what a ground is for a model.

    Args:
        function: the caller, for messages.
        model: the robot.
        ground: what was given as `contacts`.
    """
    refuse_singular(model)
    if not isinstance(ground, Ground):
        fix = "pass sixfold.contact.Ground(...)"
        raise ArgumentError(
            f"{function}: argument 'contacts'", "a sixfold.contact.Ground", ground, fix
        )
    scene, left_out = _scene(model, ground)
    if left_out:
        many = ", ".join(f"{n} {visible(name)}" for name, n in left_out)
        warnings.warn(
            f"{function} of '{visible(model.name)}': collision shapes without a counterpart are "
            f"left out: {many}; give Ground(points=...) to choose by hand",
            ContactShapeWarning,
            stacklevel=3,
        )
    return scene


def _scene(model: Model, ground: Ground) -> tuple[Scene, LeftOut]:
    """Return the scene, made once for a model and a ground, and what was left out.

    A height function is traced each time: what it reads may have changed.
    """
    surface = _surface(ground)
    key = (model.digest, ground, surface)
    try:
        found = _SCENES.get(key)
    except TypeError:  # a height function that cannot be hashed
        return _build_scene(model, ground, surface)
    if found is None:
        found = _build_scene(model, ground, surface)
        if len(_SCENES) >= MAX_SCENES:
            _SCENES.clear()
        _SCENES[key] = found
    return found


def _build_scene(model: Model, ground: Ground, surface: Surface) -> tuple[Scene, LeftOut]:
    left_out: Counter[str] = Counter()
    law = law_of(ground.solref, ground.solimp)
    felt = _Weights(model, ground)
    touches: list[Contact] = []
    if ground.points is None:
        touches += _collision_touches(model, ground, felt, left_out)
    else:
        for point in ground.points:
            ball, mu = _ball(model, point), _or(point.friction, ground.friction)
            if ball.body:
                weight = felt.touch(ball, None, felt(point.body))
                touches.append(Contact(ball, None, mu, weight, law, ground.margin))
    # pairs may have a law of their own; the ground's by default
    for pair in ground.pairs:
        first, second = _ball(model, pair.first), _shape(model, pair.second)
        if first.body == second.body:
            what = f"Ground: a pair on one body, '{pair.first.body}'"
            raise NotApplicableError(what, f"model '{model.name}'", "pair shapes of two bodies")
        mu, margin = _or(pair.friction, ground.friction), _or(pair.margin, ground.margin)
        own = law_of(pair.solref or ground.solref, pair.solimp or ground.solimp)
        both = felt.touch(first, second, felt(pair.first.body) + felt(pair.second.body))
        touches.append(Contact(first, second, mu, both, own, margin))
    limits, frictions = _limits(model, ground, felt, law), _frictions(model, ground, felt, law)
    if not touches and not limits and not frictions:
        where = f"model '{model.name}', nothing of which may touch it"
        raise NotApplicableError(
            "a Ground", where, "pass points=[sixfold.contact.ContactPoint(...)]"
        )
    scene = Scene(
        surface,
        tuple(touches),
        limits,
        frictions,
        ground.impratio,
        ground.iterations,
        ground.rigid,
        ground.restitution,
    )
    return scene, tuple(left_out.items())


class _Weights:
    """Inverse masses and inertias that constraints feel at the neutral configuration."""

    def __init__(self, model: Model, ground: Ground) -> None:
        self.model = model
        self.links = dict(ground.link_weights)
        self.at, self.at_joint = inverse_masses(model, neutral(model).tolist())
        self.found = dict(self.links)

    def __call__(self, link: str) -> float:
        """Return the weight of contacts on a body, a frame or a link of a file [1/kg]."""
        if link not in self.found:
            body, _ = _locate(self.model, link)
            inertia = self.model.tree.inertia[body]
            center = _numbers(inertia.center) if inertia.m else (0.0, 0.0, 0.0)
            self.found[link] = self.at(body, center)
        return self.found[link]

    def touch(
        self, ball: SphereShape, other: SphereShape | CapsuleShape | None, weight: float
    ) -> float:
        """Return the weight of a contact; that at its own points if the centres cannot move."""
        if weight > 0:
            return weight
        weight = self.at(ball.body, ball.center)
        if other is not None:
            weight += self.at(
                other.body, other.center if isinstance(other, SphereShape) else other.start
            )
        if weight > 0:
            return weight
        name = self.model.bodies[ball.body - 1].name
        what = f"a contact of '{visible(name)}', whose point cannot move,"
        fix = "leave the point out, or give its body a joint that moves it"
        raise NotApplicableError(what, f"model '{visible(self.model.name)}'", fix)


def _surface(ground: Ground) -> Surface:
    if ground.grid is not None:
        return HeightGrid(_pair(ground.grid_corner), _pair(ground.grid_spacing), ground.grid)
    if not callable(ground.height):
        return Plane(_three(ground.normal), ground.height)
    function = ground.height
    try:
        first, again = (
            program_of(lambda x, y: function(x[()], y[()]) + 0.0 * x[()], [(), ()]).digest
            for _ in range(2)
        )
    except Exception as error:
        where = f"Ground: argument 'height', called with (x, y), failed: {error}"
        fix = "write it with arithmetic and sixfold functions, without branches on values"
        raise ArgumentError(
            where, "a function of (x, y) that returns a number", function, fix
        ) from error
    if again != first:
        where = "Ground: argument 'height', called twice with (x, y)"
        expected, got = "the same height both times", "something else at the second call"
        fix = "keep no state between calls; use neither clock nor random numbers"
        raise CallbackError(where, expected, got, fix)
    return Heights(function, first)


def _collision_touches(
    model: Model, ground: Ground, felt: _Weights, left_out: Counter[str]
) -> list[Contact]:
    """Return the contacts of the collision shapes with the ground; count shapes that have none."""
    found: list[Contact] = []
    law = law_of(ground.solref, ground.solimp)
    for geometry in model.geometries:
        options = geometry.contact
        touches = geometry.collides or options is not None
        if not touches or geometry.body < 0:
            continue
        friction, own, margin = ground.friction, law, ground.margin
        if ground.plane is not None and options is not None:
            if not can_meet(ground.plane, options):
                continue
            friction, own, margin = mix(ground.plane, options)
        elif options is not None:
            # MuJoCo's rule: the larger friction counts, or that of the shape with priority
            friction = float(options.friction[0])
            friction = friction if options.priority > 0 else max(friction, ground.friction)
        link = geometry.link if geometry.link in felt.links else ""
        weight = felt(link or model.bodies[geometry.body].name)
        found += [
            Contact(ball, None, friction, felt.touch(ball, None, weight), own, margin)
            for ball in _balls(geometry, left_out)
        ]
    return found


def _balls(geometry: Geometry, left_out: Counter[str]) -> list[SphereShape]:
    """Return the balls of a shape, or count it among those that have none."""
    match geometry.shape:
        case Sphere(radius):
            return [_place_sphere(geometry, (0.0, 0.0, 0.0), radius)]
        case Capsule(radius, length):
            ends = (-0.5 * length, 0.5 * length)
            return [_place_sphere(geometry, (0.0, 0.0, z), radius) for z in ends]
        case Box(size):
            halves = [(-0.5 * x, 0.5 * x) for x in size]
            corners = [(x, y, z) for x in halves[0] for y in halves[1] for z in halves[2]]
            return [_place_sphere(geometry, corner, 0.0) for corner in corners]
        case other:
            left_out[type(other).__name__] += 1
            return []


def _place_sphere(geometry: Geometry, place: Numbers3, radius: float) -> SphereShape:
    p = geometry.placement.r + geometry.placement.E.T @ Vector3.of(place)
    return SphereShape(geometry.body + 1, _numbers(p), float(radius))


def _locate(model: Model, name: str) -> tuple[int, Transform]:
    known = (*model.body_names, *model.frame_names, model.base_name)
    if name not in known:
        raise UnknownNameError("body or frame", name, known, where=f"Ground of '{model.name}'")
    k, placement = model.locate(name)
    return k + 1, placement


def _ball(model: Model, point: ContactPoint) -> SphereShape:
    body, X = _locate(model, point.body)
    return SphereShape(body, _numbers(X.r + X.E.T @ Vector3.of(point.position)), point.radius)


def _shape(model: Model, shape: ContactPoint | ContactCapsule) -> SphereShape | CapsuleShape:
    if isinstance(shape, ContactPoint):
        return _ball(model, shape)
    body, X = _locate(model, shape.body)
    ends = [_numbers(X.r + X.E.T @ Vector3.of(end)) for end in (shape.start, shape.end)]
    return CapsuleShape(body, ends[0], ends[1], shape.radius)


def _limits(model: Model, ground: Ground, felt: _Weights, law: Law) -> tuple[JointLimit, ...]:
    if not ground.limits:
        return ()
    # only coordinates that are sums of their velocities have limits
    lower, upper = model.lower_position, model.upper_position
    laws = _joint_laws(model, ground)
    found = []
    for i, j in model.coordinates.additive:
        if np.isfinite(lower[i]) or np.isfinite(upper[i]):
            own = laws.get(j)
            margin = 0.0 if own is None else own.margin
            weight = _felt_joint(model, felt, j)
            bounds = _clip_limit(lower[i]), _clip_limit(upper[i])
            each = law if own is None else law_of(own.limit_solref, own.limit_solimp)
            found.append(JointLimit(i, j, *bounds, weight, each, margin))
    if not found:
        where = f"model '{model.name}', no joint of which has a limit"
        raise NotApplicableError("Ground: limits", where, "leave it out")
    return tuple(found)


def _joint_laws(model: Model, ground: Ground) -> dict[int, JointLaw]:
    """Return the laws of joints, by the place of their first velocity."""
    own = {law.joint: law for law in ground.joint_laws}
    unknown = own.keys() - set(model.joint_names)
    if unknown:
        where = f"Ground of '{model.name}': joint_laws"
        raise UnknownNameError("joint", min(unknown), model.joint_names, where=where)
    names = {free.v.start: model.bodies[free.body].joint_name for free in model.coordinates.free}
    return {start: own[name] for start, name in names.items() if name in own}


def _felt_joint(model: Model, felt: _Weights, j: int) -> float:
    weight = felt.at_joint(j)
    if not 0.0 < weight < np.inf:
        what = "Ground: limits or dry_friction of a joint that moves no mass"
        fix = "give its bodies inertias, or the joint an armature"
        raise NotApplicableError(what, f"model '{visible(model.name)}'", fix)
    return weight


FAR = 1e300  #: A limit that no joint reaches.


def _clip_limit(limit: float) -> float:
    return float(min(max(limit, -FAR), FAR))


def _frictions(model: Model, ground: Ground, felt: _Weights, law: Law) -> tuple[DryFriction, ...]:
    if not ground.dry_friction:
        return ()
    found = []
    laws = _joint_laws(model, ground)
    for free in model.coordinates.free:
        body = model.bodies[free.body]
        for k in range(body.joint.nv):
            levels = float(body.friction[k]), float(body.friction_negative[k])
            if any(levels):
                v = free.v.start + k
                own = laws.get(free.v.start)
                each = law if own is None else law_of(own.friction_solref, own.friction_solimp)
                found.append(DryFriction(v, *levels, _felt_joint(model, felt, v), each))
    if not found:
        where = f"model '{model.name}', no joint of which has dry friction"
        raise NotApplicableError("Ground: dry_friction", where, "leave it out")
    return tuple(found)


def _or(own: float | None, usual: float) -> float:
    return usual if own is None else own


def _numbers(v: Any) -> Numbers3:
    x, y, z = v
    return float(x), float(y), float(z)


def _three(x: tuple[float, ...]) -> Numbers3:
    return x[0], x[1], x[2]


def _pair(x: tuple[float, ...]) -> tuple[float, float]:
    return x[0], x[1]


MAX_RESIDUAL = 1e-4  #: Relative residual of the contact solver above which a motion is reported.


def residual_text(residual: float) -> str:
    """Return what to do about contact forces that are not solved."""
    return (
        f"the contact solver left a relative residual of {residual:.1e} (bound {MAX_RESIDUAL:g}): "
        f"contact forces are not accurate; raise Ground(iterations=...) or make dt smaller"
    )


def warn_residual(caller: str, model: Model, residual: float, stacklevel: int = 3) -> None:
    """Warn if the contact solver did not converge in some step."""
    if residual > MAX_RESIDUAL:
        text = f"{caller} of '{visible(model.name)}': {residual_text(residual)}"
        warnings.warn(text, ContactResidualWarning, stacklevel=stacklevel)


class ContactForces(NamedTuple):
    """What `contact_forces` returns; nc contacts: those with the ground, then the pairs."""

    a: Array  #: Joint accelerations, shape (..., nv).
    #: Force on each body that touches, on the first one of a pair, in world axes [N], shape (...,
    #: nc, 3).
    forces: Array
    #: Where it acts, halfway between the surfaces, in world coordinates [m], shape (..., nc, 3).
    points: Array
    gaps: Array  #: Distance of the surfaces, negative inside [m], shape (..., nc).
    #: What limits and dry friction add to the joint forces [N m or N], shape (..., nv).
    joint_forces: Array
    #: Relative residual of the solver, about the relative error of `a`, shape (...).
    residual: Array

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def contact_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    contacts: Ground,
    dt: float | None = None,
    f_ext_frame: ForceFrame = "world",
    backend: Backend | None = None,
) -> ContactForces:
    """Return the accelerations of a model that touches the ground, and the contact forces.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        contacts: the ground and what may touch it.
        dt: length of a step [s], for a rigid ground, whose forces are those of a step.
        f_ext_frame: "world" (world axes about the world origin) or "body" (body axes and origin).
        backend: "numpy" for the reference reading; by default machine code where there is some.

    Returns:
        A tuple (a, forces, points, gaps, joint_forces, residual): joint accelerations, shape
        (..., nv); forces on the body of each point, in world axes [N], and where they act [m],
        shapes (..., nc, 3); gaps [m], negative inside, shape (..., nc); what limits and dry
        friction add to tau, shape (..., nv); the relative residual of the solver, shape (...).

    Raises:
        ShapeError: if a last axis is not nq or nv.
        ArgumentError, NotApplicableError: if `contacts` is no ground, or does not suit the model.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> point = sf.contact.ContactPoint("ball", radius=0.1)
        >>> ground = sf.contact.Ground(friction=0.3, points=[point])
        >>> q, v, tau = [0, 0, 0.0999, 0, 0, 0, 1], [0, 0, 0, 1.0, 0, 0], np.zeros(6)
        >>> found = sf.contact.contact_forces(model, q, v, tau, contacts=ground)
        >>> x, y, z = found.forces[0]
        >>> bool(z > 0), bool(np.isclose(x, -0.3 * z))  # the ball slides: Coulomb's friction
        (True, True)

    Reference: Todorov, Convex and analytically-invertible dynamics with contacts and constraints,
    ICRA 2014; MuJoCo documentation, chapter Computation.
    """
    scene = scene_of("contact_forces", require_model("contact_forces", model), contacts)
    if scene.rigid != (dt is not None):
        where = "a rigid ground" if scene.rigid else "a soft ground"
        fix = "pass the length of a step, dt" if scene.rigid else "leave dt out"
        what = "contact_forces without dt" if scene.rigid else "contact_forces: option 'dt'"
        raise NotApplicableError(what, where, fix)
    # dt comes before external forces, as the quantity takes them
    values: tuple[Any, ...] = (q, v, tau, *((dt,) if scene.rigid else ()), f_ext)
    results = evaluate_with_scene(model, scene, values, f_ext_frame, backend)
    return ContactForces(*results)
