"""Seeded models in which nearly everything is nearly something else.

Axes parallel to within 1e-12 to 1e-4, quarter and half turns that are a little off, offsets and
products of inertia near zero, masses over 20 decades, massless links and point masses, rotors and
screws of any size, joints that follow others in chains, planes that stand askew, free bases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import sixfold as sf
from sixfold.model import Joint, Model
from sixfold.spatial import Inertia, Matrix3, Transform, rotation, unit

FEW, MANY = 4, 9
"""Most bodies of an ordinary model, and of every tenth."""
AXIAL = (sf.Revolute, sf.Prismatic, sf.Helical, sf.Cylindrical)
OTHERS = (sf.Planar, sf.Universal, sf.Spherical, sf.Translational, sf.Free)
Rng = np.random.Generator


class Sample(NamedTuple):
    """A model with states to try it on; all but the model are (states, .) arrays."""

    model: Model
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    push: np.ndarray
    """Joint forces to be scaled by what the joints bear."""


def draw(k: int, seed: int = 0, states: int = 4) -> Sample:
    """Return model number k with its states: the same for the same numbers."""
    rng = np.random.default_rng([seed, k])
    most = MANY if k % 10 == 9 else FEW
    model = _model(rng, f"adversarial {k} seed {seed}", int(rng.integers(1, most + 1)))
    q, v = sf.random_state(model, states, seed=rng)
    _spoil(q, model, rng)
    a, push = rng.standard_normal((2, states, model.nv))
    return Sample(model, q, v, a, push)


def _model(rng: Rng, name: str, bodies: int) -> Model:
    gravity = _chosen(rng, (0.0, 0.0, -9.81), (0.0, -9.81, 9.81 * _small(rng)), (0.0, 0.0, 0.0))
    builder = sf.ModelBuilder(name, gravity=gravity)
    decades = float(rng.choice([0.0, 3.0, 10.0], p=[0.4, 0.3, 0.3]))
    one_axis: list[str] = []
    parent = None
    for k in range(bodies):
        free = k == 0 and rng.random() < 0.15
        joint = sf.Free() if free else _joint(rng)
        size = float(10 ** rng.uniform(-decades, decades))
        builder.add_body(
            f"body{k}",
            parent=parent,
            joint=joint,
            joint_name=f"joint{k}",
            placement=Transform(_turn(rng), Transform.translation(_offset(rng)).r),
            inertia=_inertia(rng, size),
            armature=_rotors(rng, joint.nv),
        )
        if isinstance(joint, (sf.Revolute, sf.Prismatic, sf.Helical)):
            one_axis.append(f"joint{k}")
        parent = f"body{int(rng.integers(k + 1))}" if rng.random() < 0.3 else f"body{k}"
    if len(one_axis) > 1 and rng.random() < 0.15:
        # a chain of followers: each follows the one before it
        for leader, follower in pairwise(one_axis[:3]):
            ratio = _chosen(rng, 1.0, -1.0, 1e-3, -40.0, float(rng.normal()))
            builder.couple(follower, (leader, ratio), offset=_chosen(rng, 0.0, 0.3))
    return builder.build()


def _joint(rng: Rng) -> Joint:
    if rng.random() < 0.25:
        return OTHERS[int(rng.integers(len(OTHERS) - 1))]()
    kind = AXIAL[int(rng.choice(4, p=[0.55, 0.2, 0.15, 0.1]))]
    axis = _axis(rng)
    if kind is sf.Helical:
        sign = _chosen(rng, 1.0, -1.0)
        pitch = _chosen(rng, 0.0, 0.05, sign * 10 ** rng.uniform(-12, -3), sign * _large(rng))
        return sf.Helical(axis, float(pitch))
    return kind(axis)


def _axis(rng: Rng) -> list[float]:
    """Return a coordinate axis, one that is a little off, or any direction."""
    axis = np.eye(3)[int(rng.integers(3))] * _chosen(rng, 1.0, -1.0)
    kind = rng.random()
    if kind < 0.3:
        axis = axis + _small(rng) * rng.standard_normal(3)
    elif kind < 0.45:
        axis = rng.standard_normal(3)
    return axis.tolist()


def _turn(rng: Rng) -> Matrix3:
    """Return no turn, quarter and half turns, either of them a little off, or any turn."""
    if rng.random() < 0.15:
        return Transform.from_rpy(rng.uniform(-np.pi, np.pi, 3).tolist()).E
    E = Transform.identity().E
    for axis in range(3):
        if rng.random() < 0.4:
            angle = float(rng.integers(-2, 3)) * math.pi / 2
            E = Transform.turn(np.eye(3)[axis].tolist(), angle).E @ E
    if rng.random() < 0.4:
        angle = _small(rng)
        E = (
            rotation(unit(rng.standard_normal(3).tolist(), ""), math.cos(angle), math.sin(angle))
            @ E
        )
    return E


def _offset(rng: Rng) -> list[float]:
    return [
        _chosen(rng, 0.0, 0.0, _small(rng), float(rng.uniform(-0.5, 0.5)), _far(rng))
        for _ in range(3)
    ]


def _inertia(rng: Rng, size: float) -> Inertia:
    """Return the inertia of a box, a rod, a point or nothing, its centre anywhere or nearly 0."""
    kind = rng.random()
    if kind < 0.08:
        return Inertia.zero()
    sides = rng.uniform(0.02, 0.5, 3)
    if kind < 0.25:
        sides[rng.permutation(3)[:2]] *= 10 ** -rng.uniform(0, 6)  # a thin rod
    a, b, c = (size * sides**2 / 12).tolist()
    center = [_chosen(rng, 0.0, _small(rng), float(rng.uniform(-0.3, 0.3))) for _ in range(3)]
    if kind > 0.93:
        return Inertia.from_mass(size, center)  # a point
    solid = Inertia.from_mass(size, (0.0, 0.0, 0.0), (b + c, c + a, a + b))
    X = Transform(_turn(rng), Transform.translation(center).r)
    return (X.T @ solid @ X).map(float)


def _rotors(rng: Rng, nv: int) -> list[float]:
    if rng.random() < 0.75:
        return [0.0] * nv
    return [
        float(_chosen(rng, 0.0, 0.1, 10 ** rng.uniform(-12, 0), _large(rng))) for _ in range(nv)
    ]


def _spoil(q: np.ndarray, model: Model, rng: Rng) -> None:
    """Put some coordinates at zero or at a quarter turn, or a little off."""
    followers = {c.follower for c in model.couplings}
    start = 0
    for k, body in enumerate(model.bodies):
        if k in followers:
            continue
        stop = start + body.joint.nq
        if body.joint.quaternion() is None:
            for row in q:
                if rng.random() < 0.3:
                    row[start:stop] = float(rng.integers(-2, 3)) * math.pi / 2
                    row[start] += _chosen(rng, 0.0, _small(rng))
        start = stop


def _small(rng: Rng) -> float:
    """Return a number of either sign between 1e-12 and 1e-4."""
    return float(rng.choice([-1.0, 1.0]) * 10 ** rng.uniform(-12, -4))


def _large(rng: Rng) -> float:
    return float(10 ** rng.uniform(0, 12))


def _far(rng: Rng) -> float:
    return float(10 ** rng.uniform(0, 3)) if rng.random() < 0.15 else 0.0


def _chosen(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def describe(model: Model) -> str:
    """Return the joints of a model in a few words."""
    kinds: Sequence[str] = [body.joint.kind for body in model.bodies]
    return f"{model.name}: {' '.join(kinds)}" + (", coupled" if model.couplings else "")
