"""Limits of states in optimal control, as costs that grow until they hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sixfold.arrays import Array


@dataclass
class StateLimits:
    """Limits of states as an augmented Lagrangian, max(0, y + rho g)^2 / (2 rho) at each node."""

    low: Array
    """Shape (2 n,); -inf where there is none."""
    high: Array
    y: Array
    """Multipliers, upper limits first, shape (rows, steps + 1, 4 n)."""
    rho: Array
    """Shape (rows,)."""

    def over(self, q: Array, v: Array) -> Array:
        """Return g: how far states are beyond their limits, negative inside."""
        x = np.concatenate([q, v], -1)
        return np.concatenate([x - self.high, self.low - x], -1)

    def _pushes(self, q: Array, v: Array, rows: Array) -> tuple[Array, Array]:
        rho = self.rho[rows, None, None]
        return np.maximum(0.0, self.y[rows] + rho * self.over(q, v)), rho

    def cost(self, q: Array, v: Array, rows: Array) -> Array:
        """Return what the limits add to the cost."""
        push, rho = self._pushes(q, v, rows)
        return np.asarray(((push**2 - self.y[rows] ** 2) / (2 * rho)).sum((-1, -2)))

    def slopes(self, q: Array, v: Array, rows: Array) -> tuple[Array, Array]:
        """Return the derivatives by the states, first and second, (rows, steps + 1, 2 n) each."""
        push, rho = self._pushes(q, v, rows)
        n2 = len(self.low)
        bend = rho * ((push[..., :n2] > 0) + 0.0 + (push[..., n2:] > 0))
        return push[..., :n2] - push[..., n2:], bend

    def add(self, found: list[Array], q: Array, v: Array, rows: Array) -> None:
        """Add derivatives to those of the costs."""
        slope, bend = self.slopes(q, v, rows)
        n2 = len(self.low)
        found[2] += slope[:, :-1]
        found[4][..., np.arange(n2) * (n2 + 1)] += bend[:, :-1]
        found[7] += slope[:, -1]
        found[8][..., diagonal(n2)] += bend[:, -1]

    def update(self, q: Array, v: Array, factor: float) -> None:
        """Move the multipliers, and weigh what is left more."""
        rows = np.arange(len(q))
        self.y = self._pushes(q, v, rows)[0]
        self.rho = self.rho * factor


@cache
def diagonal(n: int) -> Array:
    """Return the places of the diagonal in a lower triangle, row by row."""
    k = np.arange(n)
    return k * (k + 3) // 2
