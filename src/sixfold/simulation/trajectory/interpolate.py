"""Between samples: cubic curves along positions and velocities, quaternions of unit length."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import integrate, position_rate
from sixfold.model import Model


def between(
    model: Model, t: Array, q: Array, v: Array, a: Array, times: Array
) -> tuple[Array, Array]:
    """Return q and v at other times, shapes (..., len(times), nq) and (..., len(times), nv).

    Cubic Hermite curves: fourth-order accurate in the distance of the samples.
    """
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
    after = np.minimum(k + 1, len(t) - 1)
    h = t[after] - t[k]
    s = np.divide(times - t[k], h, out=np.zeros_like(times), where=h > 0)
    rate = position_rate(model, q, v)
    ends = q[..., after, :].copy()
    rates = rate[..., after, :].copy()
    for _, part in model.coordinates.quaternions:
        # a quaternion and its negative are the same rotation: take the nearer one
        near = (q[..., k, part] * ends[..., part]).sum(axis=-1, keepdims=True)
        flip = np.where(near < 0, -1.0, 1.0)
        ends[..., part] *= flip
        rates[..., part] *= flip
    x = _hermite(s, h, q[..., k, :], ends, rate[..., k, :], rates)
    u = _hermite(s, h, v[..., k, :], v[..., after, :], a[..., k, :], a[..., after, :])
    return integrate(model, x, np.zeros_like(u)), u


def _hermite(s: Array, h: Array, x0: Array, x1: Array, d0: Array, d1: Array) -> Array:
    s, h = s[:, None], h[:, None]
    r = 1.0 - s
    value = x0 * ((1 + 2 * s) * r * r) + x1 * (s * s * (3 - 2 * s))
    return value + h * (d0 * (s * r * r) - d1 * (s * s * r))
