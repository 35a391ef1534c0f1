"""The models that every law runs over, random states of each, and the scales of their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import sixfold as sf
from sixfold.model import Model
from sixfold.quantities import readings
from sixfold.scalar import differentiate, plain
from tests.laws.backends import Calls

SAMPLES = (
    "pendulum",
    "cart_pendulum",
    "double_pendulum",
    "planar_chain:3",
    "tree6",
    "tree10",
    "star:4",
    "puma560",
    "rolling_ball",
    "floating_link",
)
MODELS: dict[str, Model] = {name: sf.load(name) for name in SAMPLES}
# dry friction that jumps at rest has laws of its own; random trees have the smooth one
MODELS["puma560"] = MODELS["puma560"].with_friction_speed(0.0)
for _n, _seed in ((3, 1), (6, 2), (9, 3), (12, 5)):
    MODELS[f"tree {_n} bodies"] = sf.random_tree(_n, _seed)
for _n, _seed in ((4, 1), (7, 2)):
    MODELS[f"tree {_n} bodies, damped and sprung"] = sf.random_tree(_n, _seed, properties=True)
MODELS["free and ball joints, damped and sprung"] = sf.random_tree(
    3, 6, joints=(sf.Free, sf.Spherical, sf.Revolute), properties=True
)


def floating(n: int, seed: int, *, properties: bool = False) -> Model:
    """Return a random tree on a free base."""
    tree = sf.random_tree(n, seed, properties=properties)
    builder = sf.ModelBuilder(f"floating {n} {seed}", gravity=tree.gravity)
    solid = sf.Inertia.from_mass(3.0, (0.05, -0.1, 0.02), (0.1, 0.15, 0.12))
    builder.add_body("hull", joint=sf.Free(), inertia=solid)
    for body in tree.bodies:
        builder.add_body(
            body.name,
            parent="hull" if body.parent < 0 else tree.body_names[body.parent],
            joint=body.joint,
            placement=body.placement,
            inertia=body.inertia,
            damping=body.damping,
            friction=body.friction,
            stiffness=body.stiffness,
            rest=body.rest,
            armature=body.armature,
        )
    return builder.build()


FLOATING: dict[str, Model] = {
    "floating_link": MODELS["floating_link"],
    "floating tree 4": floating(4, 3),
    "floating tree 8": floating(8, 4),
    "floating tree, damped and sprung": floating(5, 2, properties=True),
}


Core = Callable[..., Any]


class State(NamedTuple):
    """Configurations, velocities and accelerations (or joint forces)."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def states(fn: Calls, model: Model, size: int | tuple[int, ...], seed: int = 0) -> State:
    """Return random states that the backend's numbers hold exactly, (size, nq) and (size, nv)."""
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, size, seed=rng)
    return State(*map(fn.rounded, (q, v, rng.standard_normal(v.shape))))


def pushes(model: Model, size: int, seed: int = 0) -> np.ndarray:
    """Return random external forces, (size, nb, 6)."""
    return np.random.default_rng([3, seed]).standard_normal((size, model.nb, 6))


def forward_bar(
    fn: Calls, model: Model, q: np.ndarray, load: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Return how far accelerations may be off, for each state: eps x condition x load.

    Forces round on the scale of what the joints bear (`load`), and M^-1 takes them to
    accelerations: 64 eps (|load| + ||M|| |a|) ||M^-1||.
    """
    M = fn.mass_matrix(model, q)
    norm, inverse = (np.abs(x).sum(axis=-1).max(axis=-1) for x in (M, np.linalg.inv(M)))
    forces = np.abs(load).max(axis=(-2, -1)) + norm * np.abs(a).max(axis=-1)
    return 64 * fn.eps * inverse * forces


def rates(core: Core, model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return d/dt core(q, v) for each state of a motion with acceleration a, by dual numbers.

    Exact but for rounding: no step is taken.
    """
    found = []
    for x, speed, change in zip(q.tolist(), v.tolist(), a.tolist(), strict=True):
        along = [*readings.position_rate(model, model.tree, x, speed), *change]

        def values(at: Any) -> Any:
            return core(model, model.tree, at[: model.nq], at[model.nq :])

        found.append([float(plain(r)) for r in differentiate(values, [*x, *speed], along)[1]])
    return np.array(found)


def force_scale(fn: Calls, model: Model, state: State, f_ext: np.ndarray | None = None) -> float:
    """Return the size of the forces at play: what joints bear, and ||M|| |a|."""
    M = fn.mass_matrix(model, state.q)
    borne = np.abs(fn.joint_wrenches(model, *state, f_ext)).max()
    return float(borne + np.abs(M).sum(axis=-1).max() * np.abs(state.a).max())
