"""A ground and a model together: which shapes may touch, by body number, with their weights."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from sixfold.contact.ground import Ground
from sixfold.contact.shapes import ContactCapsule, ContactPoint
from sixfold.dynamics.contact.scene import Ball, Drag, Law, Numbers3, Rod, Scene, Stop, Touch
from sixfold.dynamics.contact.surfaces import Grid, Heights, Plane
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    ContactShapeWarning,
    NotApplicableError,
    UnknownNameError,
    visible,
)
from sixfold.evaluate import inverse_masses, neutral, program_of
from sixfold.model import Box, Capsule, Model, Sphere
from sixfold.model.geometry import Geometry
from sixfold.spatial import Transform, Vector3

FLAT_POINTS = 3
"""Points on one body from which Newton's method is used: more rows than its freedoms bear."""
ROUNDS = {
    (False, "nothing"): (16, 5),
    (False, "far"): (16, 0),
    (False, "near"): (8, 0),
    (True, "nothing"): (20, 5),
    (True, "far"): (20, 5),
    (True, "near"): (4, 3),
}
"""Rounds of ADMM and steps of Newton, by whether a body has so many points and by what the solver
starts from: no force, or that of the step before, which may be far from this one."""
MAX_SCENES = 64
"""Scenes that are kept; a scene is a few numbers and takes milliseconds to make."""

Surface = Plane | Heights | Grid
LeftOut = tuple[tuple[str, int], ...]
"""Kinds of shapes and how many of each."""
_SCENES: dict[tuple[str, Ground, Surface], tuple[Scene, LeftOut]] = {}


def scene_of(function: str, model: Model, ground: Any, *, stepping: bool = False) -> Scene:
    """Return what a ground is for a model.

    Args:
        function: the caller, for messages.
        model: the robot.
        ground: what was given as `contacts`.
        stepping: the solver starts from the forces of a step before.
    """
    if not isinstance(ground, Ground):
        fix = "pass sixfold.Ground(...)"
        raise ArgumentError(f"{function}: argument 'contacts'", "a sixfold.Ground", ground, fix)
    scene, left_out = _scene(model, ground)
    if left_out:
        many = ", ".join(f"{n} {visible(name)}" for name, n in left_out)
        warnings.warn(
            f"{function} of '{visible(model.name)}': collision shapes without a counterpart are "
            f"left out: {many}; give Ground(points=...) to choose by hand",
            ContactShapeWarning,
            stacklevel=3,
        )
    # an impact of rigid bodies is far from the forces of the step before
    before = "far" if scene.rigid else "near"
    rounds, steps = ROUNDS[scene.newton > 0, before if stepping else "nothing"]
    if ground.iterations is None:
        scene = replace(scene, iterations=rounds)
    if ground.newton is None:
        scene = replace(scene, newton=steps)
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
        return _made(model, ground, surface)
    if found is None:
        found = _made(model, ground, surface)
        if len(_SCENES) >= MAX_SCENES:
            _SCENES.clear()
        _SCENES[key] = found
    return found


def _made(model: Model, ground: Ground, surface: Surface) -> tuple[Scene, LeftOut]:
    left_out: Counter[str] = Counter()
    points = ground.points
    if points is None:
        balls = _collision_balls(model, ground.friction, left_out)
    else:
        balls = [(_ball(model, p), _or(p.friction, ground.friction)) for p in points]
    touches: list[tuple[Ball, Ball | Rod | None, float]] = [
        (ball, None, mu) for ball, mu in balls if ball.body
    ]
    for pair in ground.pairs:
        first, second = _ball(model, pair.first), _shape(model, pair.second)
        if first.body == second.body:
            what = f"Ground: a pair on one body, '{pair.first.body}'"
            raise NotApplicableError(what, f"model '{model.name}'", "pair shapes of two bodies")
        touches.append((first, second, _or(pair.friction, ground.friction)))
    at, freedoms = inverse_masses(model, neutral(model).tolist())
    felt = {0: 0.0}

    def weight(*bodies: int) -> float:
        for body in bodies:
            if body not in felt:
                inertia = model.tree.inertia[body]
                center = _numbers(inertia.center) if inertia.m else (0.0, 0.0, 0.0)
                felt[body] = at(body, center)
        return sum(felt[body] for body in bodies)

    found = tuple(
        Touch(ball, other, mu, weight(ball.body, *(() if other is None else (other.body,))))
        for ball, other, mu in touches
    )
    stops, drags = _stops(model, ground, freedoms), _drags(model, ground, freedoms)
    if not found and not stops and not drags:
        where = f"model '{model.name}', nothing of which may touch it"
        raise NotApplicableError("a Ground", where, "pass points=[sixfold.ContactPoint(...)]")
    newton = ground.newton
    if newton is None:
        most = max(Counter(t.ball.body for t in found).values(), default=0)
        newton = int(most >= FLAT_POINTS)
    law = Law(_pair(ground.solref), _five(ground.solimp))
    scene = Scene(
        surface,
        found,
        stops,
        drags,
        law,
        ground.margin,
        ground.impratio,
        ground.iterations or 1,
        newton,
        ground.rigid,
        ground.restitution,
    )
    return scene, tuple(left_out.items())


def _surface(ground: Ground) -> Surface:
    if ground.grid is not None:
        return Grid(_pair(ground.grid_corner), _pair(ground.grid_spacing), ground.grid)
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
        fix = "write a function without a memory, a clock and random numbers"
        raise CallbackError(where, expected, got, fix)
    return Heights(function, first)


def _collision_balls(
    model: Model, friction: float, left_out: Counter[str]
) -> list[tuple[Ball, float]]:
    """Return the balls of the collision shapes with their friction; count those that have none."""
    found: list[tuple[Ball, float]] = []
    for geometry in model.geometries:
        touches = geometry.collides or geometry.contact is not None
        if touches and geometry.body >= 0:
            mu = _friction(geometry, friction)
            found += [(ball, mu) for ball in _balls(geometry, left_out)]
    return found


def _friction(geometry: Geometry, ground: float) -> float:
    """Return the coefficient of a shape on the ground: by MuJoCo's rule, if a file gives its own.

    The larger of both counts, or that of the shape if it has priority.
    """
    if geometry.contact is None:
        return ground
    own = float(geometry.contact.friction[0])
    return own if geometry.contact.priority > 0 else max(own, ground)


def _balls(geometry: Geometry, left_out: Counter[str]) -> list[Ball]:
    """Return the balls of a shape, or count it among those that have none."""
    match geometry.shape:
        case Sphere(radius):
            return [_placed(geometry, (0.0, 0.0, 0.0), radius)]
        case Capsule(radius, length):
            ends = (-0.5 * length, 0.5 * length)
            return [_placed(geometry, (0.0, 0.0, z), radius) for z in ends]
        case Box(size):
            halves = [(-0.5 * x, 0.5 * x) for x in size]
            corners = [(x, y, z) for x in halves[0] for y in halves[1] for z in halves[2]]
            return [_placed(geometry, corner, 0.0) for corner in corners]
        case other:
            left_out[type(other).__name__] += 1
            return []


def _placed(geometry: Geometry, place: Numbers3, radius: float) -> Ball:
    p = geometry.placement.r + geometry.placement.E.T @ Vector3.of(place)
    return Ball(geometry.body + 1, _numbers(p), float(radius))


def _located(model: Model, name: str) -> tuple[int, Transform]:
    known = (*model.body_names, *model.frame_names, model.base_name)
    if name not in known:
        raise UnknownNameError("body or frame", name, known, where=f"Ground of '{model.name}'")
    k, placement = model.locate(name)
    return k + 1, placement


def _ball(model: Model, point: ContactPoint) -> Ball:
    body, X = _located(model, point.body)
    return Ball(body, _numbers(X.r + X.E.T @ Vector3.of(point.position)), point.radius)


def _shape(model: Model, shape: ContactPoint | ContactCapsule) -> Ball | Rod:
    if isinstance(shape, ContactPoint):
        return _ball(model, shape)
    body, X = _located(model, shape.body)
    ends = [_numbers(X.r + X.E.T @ Vector3.of(end)) for end in (shape.start, shape.end)]
    return Rod(body, ends[0], ends[1], shape.radius)


def _stops(model: Model, ground: Ground, weights: list[float]) -> tuple[Stop, ...]:
    if not ground.limits:
        return ()
    lower, upper = model.lower_position, model.upper_position
    found = tuple(
        Stop(i, j, _bounded(lower[i]), _bounded(upper[i]), weights[j])
        for i, j in model.coordinates.additive
        if np.isfinite(lower[i]) or np.isfinite(upper[i])
    )
    if not found:
        where = f"model '{model.name}', no joint of which has a limit"
        raise NotApplicableError("Ground: limits", where, "leave it out")
    return found


FAR = 1e300
"""A limit that no joint reaches."""


def _bounded(limit: float) -> float:
    return float(min(max(limit, -FAR), FAR))


def _drags(model: Model, ground: Ground, weights: list[float]) -> tuple[Drag, ...]:
    if not ground.dry_friction:
        return ()
    found = []
    for free in model.coordinates.free:
        body = model.bodies[free.body]
        for k in range(body.joint.nv):
            levels = float(body.friction[k]), float(body.friction_negative[k])
            if any(levels):
                v = free.v.start + k
                found.append(Drag(v, *levels, weights[v]))
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


def _five(x: tuple[float, ...]) -> tuple[float, float, float, float, float]:
    return x[0], x[1], x[2], x[3], x[4]
