"""Results of two libraries for the same random states, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.choices import Backend
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import SingularPivotWarning
from sixfold.evaluate import (
    bias_force,
    body_poses,
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    random_state,
    singular_joints,
)
from sixfold.interop.converter import Converter
from sixfold.interop.matching import convert
from sixfold.model import Model
from sixfold.spatial import Transform

Array = NDArray[np.float64]

TOLERANCE = 1e-12
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Difference:
    """The worst difference of one quantity over all states, relative to its size."""

    quantity: str
    """Such as "mass matrix"."""
    worst: float
    """The worst difference, relative to the size of the quantity; no units."""
    tolerance: float
    """What is allowed at the state where the difference is worst for its tolerance; no units."""
    state: int
    """Number of that state among the random ones, from 0."""
    numpy: Difference | None = None
    """The same by the NumPy reading, beside the default call."""

    @property
    def agrees(self) -> bool:
        """True when the difference is within its tolerance, by NumPy too."""
        return self.worst <= self.tolerance and (self.numpy is None or self.numpy.agrees)


def differences(
    model: Model, engine: Any, samples: int, seed: int, backend: Backend | None = None
) -> tuple[Difference, ...]:
    """Return the worst differences of a model's results from an engine's.

    They are those of the calls that users make, and beside them NumPy's, unless a backend is named.
    """
    c = convert(model, engine.robot)
    rng = np.random.default_rng(seed)
    q, v = random_state(model, samples, seed=rng)
    a, push = rng.standard_normal((2, samples, model.nv))
    bare = model.without(damping=True, friction=True, springs=True)
    tau = push * strength(bare, q, v)
    there: dict[str, Array] = {}
    found = []
    for each in (None, "numpy") if backend is None else (backend,):
        here = _ours(model, engine, q, v, a, tau, each)
        there = there or _theirs(engine, c, q, v, a, tau, solve="forward dynamics" in here)
        found.append(
            [
                _difference(quantity, ours, there[quantity], bare, q, here)
                for quantity, ours in here.items()
                if quantity in there and ours.size
            ]
        )
    first, *others = found
    if not others:
        return tuple(first)
    return tuple(replace(d, numpy=n) for d, n in zip(first, others[0], strict=True))


def strength(model: Model, q: Array, v: Array) -> Array:
    """Return forces as large as gravity and speed make them, for joints of the same inertia.

    Weaker ones would only show how well large forces cancel.
    """
    weight = np.sqrt(np.einsum("...ii->...i", mass_matrix(model, q, backend="numpy")))
    with np.errstate(all="ignore"):
        bias = np.where(weight > 0, np.abs(bias_force(model, q, v, backend="numpy")) / weight, 0.0)
    strength: Array = weight * np.maximum(1.0, bias.max(-1, initial=0.0))[..., None]
    return strength


def _ours(
    model: Model, engine: Any, q: Array, v: Array, a: Array, tau: Array, backend: Backend | None
) -> dict[str, Array]:
    """Return Sixfold's results for each state; the default call takes nothing but the arrays."""
    options: dict[str, Any] = {} if backend is None else {"backend": backend}
    bare = model.without(damping=True, friction=True, springs=True)
    moving = bare if engine.counts_rotors else bare.without(armature=True)
    here = {"inverse dynamics": inverse_dynamics(bare, q, v, a, **options)}
    if not singular_joints(bare):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularPivotWarning)
            here["forward dynamics"] = forward_dynamics(bare, q, v, tau, **options)
    return here | {
        "mass matrix": mass_matrix(bare, q, **options),
        "kinetic energy": kinetic_energy(moving, q, v, **options),
        "potential energy": potential_energy(bare, q, **options),
        "poses": _poses(model, engine.frames, q, options),
        "springs and damping": _passive(model, q, v),
    }


def _poses(model: Model, names: Iterable[str], q: Array, options: dict[str, Any]) -> Array:
    """Return world-from-frame matrices of those frames that the model has."""
    places = {frame.name: (frame.body, frame.placement) for frame in model.frames}
    places |= {name: (k, Transform.identity()) for k, name in enumerate(model.body_names)}
    bodies = body_poses(model, q, **options)
    found = []
    for k, X in (places[name] for name in names if name in places):
        inside = np.array(X.pose(), float)
        found.append(bodies[:, k] @ inside if k >= 0 else np.broadcast_to(inside, (len(q), 4, 4)))
    return np.stack(found, 1) if found else np.zeros((len(q), 0, 4, 4))


def _passive(model: Model, q: Array, v: Array) -> Array:
    """Return the joint forces of springs and damping alone."""
    tree = model.without(friction=True).tree
    columns = model.positions(list(q.T)), model.velocities(list(v.T))
    forces = model.gather(passive_forces(tree, *columns))
    out = np.zeros((len(q), model.nv))
    for k, force in enumerate(forces):
        out[:, k] = np.asarray(force, float)
    return out


def _theirs(
    engine: Any, c: Converter, q: Array, v: Array, a: Array, tau: Array, *, solve: bool
) -> dict[str, Array]:
    """Return the other library's results for each state, in Sixfold's coordinates."""
    at, speed = c.q_to(q), c.v_to(q, v)
    states = zip(at, speed, c.a_to(q, v, a), c.tau_to(q, tau), strict=True)
    rows = [engine.results(*state) for state in states]
    there = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    M, bias = there["mass matrix"], there.pop("bias")
    for key in {"inverse dynamics", "springs and damping"} & there.keys():
        there[key] = c.tau_from(at, there[key])
    there["mass matrix"] = c.mass_matrix_from(at, M)
    # joints that follow others are free there: solve the reduced equations instead
    if c.model.couplings and solve:
        there["forward dynamics"] = c.solve_from(q, v, M, bias, tau)
    else:
        there["forward dynamics"] = c.a_from(at, speed, there["forward dynamics"])
    known = {*c.model.frame_names, *c.model.body_names}
    there["poses"] = there["poses"][:, [name in known for name in engine.frames]]
    return there


def _difference(
    quantity: str, ours: Array, theirs: Array, bare: Model, q: Array, here: dict[str, Array]
) -> Difference:
    axes = tuple(range(1, ours.ndim))
    if quantity == "forward dynamics":
        # metres and radians, heavy and light joints count alike: weigh by the root of M's diagonal
        weight = np.sqrt(np.einsum("...ii->...i", here["mass matrix"]))
        ours, theirs = ours * weight, theirs * weight
    error = np.abs(ours - theirs).max(axes)
    size = np.maximum(np.abs(theirs), np.abs(ours)).max(axes)
    if quantity == "potential energy":
        size = np.maximum(size, _potential_size(bare, q))
    with np.errstate(all="ignore"):
        relative = np.where(error == 0, 0.0, error / size)
    allowed = np.full(len(relative), TOLERANCE)
    if quantity == "forward dynamics":
        # states where a joint has no inertia behind it have no acceleration
        relative = np.where(np.isnan(ours).any(-1), 0.0, relative)
        allowed = 100 * EPS * _condition(here["mass matrix"])
    state = int(np.argmax(relative / allowed))
    return Difference(quantity, float(relative[state]), float(allowed[state]), state)


def _condition(M: Array) -> Array:
    """Return the condition number of the mass matrix scaled to a unit diagonal."""
    scale = 1 / np.sqrt(np.einsum("...ii->...i", M))
    condition: Array = np.linalg.cond(M * scale[..., :, None] * scale[..., None, :])
    return condition


def _potential_size(model: Model, q: Array) -> Array:
    """Return the sum of the bodies' potential energies without their signs."""
    poses = body_poses(model, q, backend="numpy")
    total: Array = np.zeros(len(q))
    for k, body in enumerate(model.bodies):
        h = np.array([float(x) for x in body.inertia.h])
        moment = poses[:, k, :3, :3] @ h + float(body.inertia.m) * poses[:, k, :3, 3]
        total += np.abs(moment * model.gravity).sum(-1)
    return total
