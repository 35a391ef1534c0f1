"""Configurations: moves on their manifold, and states to start from."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import OptionError, SixfoldError, TooLargeError, quote
from sixfold.model import Joint, Model, require_model
from sixfold.model.validate import generator_of
from sixfold.runtime.public import common_arguments, quantity
from sixfold.runtime.quantity import Numbers, Options
from sixfold.scalar import Scalar
from sixfold.spatial import Column

MAX_AXES = 31  #: One less than NumPy's arrays may have in all.


@quantity("nq")
def integrate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    dt: ArrayLike | None = None,
    **options: Unpack[Options[Array]],
) -> Array:
    """Return the configuration reached from q by moving with velocity v for dt, (..., nq).

    Quaternions turn by the exponential map and stay of unit length.

    Returns:
        Configurations [rad or m], shape (..., nq).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> v = np.array([0, 0, np.pi, 0, 0, 0, 0])
        >>> q = sf.integrate(ship, sf.neutral(ship), v, 0.5)  # a quarter turn about z
        >>> np.allclose(q[3:7], (0, 0, np.sqrt(0.5), np.sqrt(0.5)))
        True
    """
    # each joint steps along its own group: x + v, or x times exp(v)
    dq = v if dt is None else [x * dt for x in v]
    return _join_by_joint(model, lambda joint, x, dx: joint.step(x, dx), q, dq)


@quantity("nv")
def difference(
    model: Model, q0: ArrayLike, q1: ArrayLike, **options: Unpack[Options[Array]]
) -> Array:
    """Return the velocity-space increment with integrate(q0, difference) = q1, shape (..., nv).

    Returns:
        Increments in the coordinates of v [rad or m], shape (..., nv).  Rotations go the shorter
        way.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")
        >>> (q0, q1), _ = sf.random_state(ship, 2, seed=1)
        >>> dq = sf.difference(ship, q0, q1)
        >>> dq.shape, np.allclose(sf.difference(ship, sf.integrate(ship, q0, dq), q1), 0)
        ((7,), True)
    """
    return [joint.joint.difference(q0[joint.q], q1[joint.q]) for joint in model.coordinates.free]


@quantity("nq")
def position_rate(
    model: Model, q: ArrayLike, v: ArrayLike, **options: Unpack[Options[Array]]
) -> Array:
    """Return dq/dt, shape (..., nq); it differs from v for spherical and free joints.

    Returns:
        Rates of q [rad/s, m/s or 1/s], shape (..., nq).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> ship = sf.load("floating_link")  # position, quaternion, hinge
        >>> rate = sf.position_rate(ship, sf.neutral(ship), [0, 0, 2, 1, 0, 0, 3])
        >>> np.allclose(rate, (1, 0, 0, 0, 0, 1, 0, 3))
        True
    """
    return _join_by_joint(model, lambda joint, x, xd: joint.rate(x, xd), q, v)


def _join_by_joint(
    model: Model, rule: Callable[..., Column], q: Numbers, v: Numbers
) -> list[Scalar]:
    """Return the results of a rule for the coordinates and velocities of each joint."""
    # joints in the order of their coordinates; followers have none
    result: list[Scalar] = []
    for each in model.coordinates.free:
        result += rule(each.joint, q[each.q], v[each.v])
    return result


@common_arguments
def neutral(model: Model) -> Array:
    """Return the configuration with every joint at zero (quaternions not turned), shape (nq,).

    Returns:
        Configuration [rad or m], shape (nq,); a quaternion is (0, 0, 0, 1).

    Example:
        >>> import sixfold as sf
        >>> sf.neutral(sf.load("floating_link")).tolist()  # position, quaternion, hinge
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    """
    require_model("neutral", model)
    return np.array([x for free in model.coordinates.free for x in free.joint.neutral()], float)


@common_arguments
def random_state(
    model: Model, size: int | tuple[int, ...] = (), *, seed: int | np.random.Generator | None = None
) -> tuple[Array, Array]:
    """Return random configurations and velocities, (..., nq) and (..., nv) for leading axes `size`.

    Angles cover a full turn, lengths a metre either way, quaternions all rotations evenly; joints
    with finite limits stay within them.  Velocities are standard normal.  The same seed and size
    give the same states; another size gives others, not the first ones of a longer list.

    Args:
        size: how many states: a number or a leading shape; one state by default.
        seed: a number for repeatable states, or a NumPy generator.

    Returns:
        Configurations [rad or m], shape (..., nq), and velocities [rad/s or m/s], shape (..., nv),
        with the leading axes `size`.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, (5, 2), seed=1)
        >>> q.shape, v.shape
        ((5, 2, 6), (5, 2, 6))
    """
    require_model("random_state", model)
    lead = _lead(size)
    rng = generator_of("random_state", seed)
    count = prod(lead)
    try:
        # positions, then velocities, from one generator: a seed fixes both
        q = _positions(model, count, rng)
        lower, upper = model.lower_position, model.upper_position
        # coordinates with two finite limits are drawn between them
        limited = np.isfinite(lower) & np.isfinite(upper)
        q[:, limited] = rng.uniform(lower[limited], upper[limited], (count, int(limited.sum())))
        v = rng.standard_normal((count, model.nv))
    except (MemoryError, ValueError) as error:  # NumPy refuses sizes beyond its integers
        if isinstance(error, SixfoldError):
            raise
        what = f"no memory for {quote(count)} states of {model.nq + model.nv} numbers"
        raise TooLargeError("random_state", what, "draw them in parts, each with a seed") from None
    return q.reshape((*lead, model.nq)), v.reshape((*lead, model.nv))


def _positions(model: Model, count: int, rng: np.random.Generator) -> Array:
    """Return random positions: coordinates up to a rotation, the rotation, and so on."""
    joints = [free.joint for free in model.coordinates.free]
    # joints with their own random() draw state by state
    own = [type(joint).random is not Joint.random for joint in joints]
    if any(own):
        rows = [[x for joint in joints for x in joint.random(rng)] for _ in range(count)]
        return np.array(rows, float).reshape(count, model.nq)
    # all states at once: uniform numbers, and quaternions from normal ones
    far = np.array([x for joint in joints for x in joint.sampling_range()])
    q = np.empty((count, model.nq))

    def spread(start: int, stop: int) -> None:
        if start < stop:
            reach = far[start:stop]
            q[:, start:stop] = rng.uniform(-reach, reach, (count, stop - start))

    # intervals between the quaternions, in one draw each
    done = 0
    for _, part in model.coordinates.quaternions:
        spread(done, part.start)
        done = part.stop
        # a normalised Gaussian vector is a uniform rotation
        turn = rng.standard_normal((count, 4))
        q[:, part] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    spread(done, model.nq)
    return q


def _lead(size: object) -> tuple[int, ...]:
    """Return a leading shape from a number or several."""
    # any integer type counts as a number
    try:
        sizes = tuple(index(n) for n in (size if isinstance(size, (tuple, list)) else (size,)))
    except Exception:  # no number, or one whose own conversion fails
        sizes = (-1,)
    if any(n < 0 for n in sizes) or len(sizes) > MAX_AXES:
        raise OptionError("random_state", "size", "a number >= 0, or a tuple of them", size)
    return sizes
