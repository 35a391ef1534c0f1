"""How many digits are right, against MPFR arithmetic at the same rounded states.

The reference runs the library's own algorithms on 256-bit numbers, with sixfold's constants.  The
other engines hold the same robot in constants of their own (inertia about the centre of mass,
principal axes), which differ by roundings: their errors include that.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.bench.engines.engines import FUNCTIONS, States
from benchmarks.bench.robots import Robot
from sixfold.arrays import Array
from sixfold.lazy import optional
from sixfold.model import Model, Tree
from sixfold.quantities import bias_force, mass_matrix, readings
from sixfold.runtime import compile
from sixfold.scalar import plain

BITS = 256
MEASURE = {
    "inverse_dynamics": "normwise",
    "forward_dynamics": "backward",
    "mass_matrix": "normwise",
}
"""max|x - x_ref| / max|x_ref|, or
max|tau - ID(q, v, a)| / (||M|| max|a| + max|C| + max|tau|)."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of one function of one robot, one for each state, by engine."""

    robot: str
    function: str
    measure: str
    errors: dict[str, tuple[float, ...]]

    def worst(self, engine: str) -> float | None:
        """Return the largest error, None for who does not take part."""
        found = self.errors.get(engine)
        return float(np.max(found)) if found else None

    def typical(self, engine: str) -> float | None:
        """Return the median error."""
        found = self.errors.get(engine)
        return float(np.median(found)) if found else None


def measure(
    robot: Robot, function: str, states: States, agreed: Container[str], dtype: str, count: int
) -> Accuracy:
    """Return the errors of sixfold and of the engines that agree with it on the first states."""
    few = states.first(count)
    kernel = compile(FUNCTIONS[function], robot.model, dtype=dtype)
    values = {"sixfold": kernel(*(x.astype(dtype) for x in few.of(function))).astype(float)}
    # an engine's C++ and Python calls run the same code: one of them will do
    for way in robot.ways(function, few):
        if way.engine in agreed:
            values.setdefault(way.engine.split()[0], way.values(count))
    gmpy2 = optional("gmpy2", "the accuracy section")
    with gmpy2.context(precision=BITS):
        tree = robot.model.map(gmpy2.mpfr)
        judge = _Judge(robot.model, tree, gmpy2.mpfr, few)
        errors = {who: judge.errors(function, x) for who, x in values.items()}
    return Accuracy(robot.name, function, MEASURE[function], errors)


@dataclass(frozen=True)
class _Judge:
    """The reference for some states."""

    model: Model
    tree: Tree
    number: Any
    states: States

    def errors(self, function: str, values: Array) -> tuple[float, ...]:
        """Return the error of each state's result."""
        how = {
            "inverse_dynamics": self._forces,
            "forward_dynamics": self._backward,
            "mass_matrix": self._matrix,
        }[function]
        return tuple(how(k, x) for k, x in enumerate(values))

    def _forces(self, k: int, forces: Array) -> float:
        return _normwise(self._precise(forces), self._inverse(k, self.states.a[k]))

    def _matrix(self, k: int, matrix: Array) -> float:
        reference = readings.mass_matrix(self.model, self.tree, self._precise(self.states.q[k]))
        return _normwise(self._precise(matrix.ravel()), reference)

    def _backward(self, k: int, a: Array) -> float:
        """Return how far the joint forces would have to move for a to be their exact answer."""
        q, v, t = self.states.q[k], self.states.v[k], self.states.t[k]
        back = self._inverse(k, a)
        residual = max(abs(x - y) for x, y in zip(self._precise(t), back, strict=True))
        norm = np.abs(mass_matrix(self.model, q)).sum(axis=1).max()
        size = norm * np.abs(a).max() + np.abs(bias_force(self.model, q, v)).max()
        return float(residual / (size + np.abs(t).max()))

    def _inverse(self, k: int, a: Array) -> list[Any]:
        q, v = self._precise(self.states.q[k]), self._precise(self.states.v[k])
        return readings.inverse_dynamics(self.model, self.tree, q, v, self._precise(a))

    def _precise(self, values: Array) -> list[Any]:
        return [self.number(float(x)) for x in values]


def _normwise(values: Sequence[Any], reference: Sequence[Any]) -> float:
    plain_reference = [plain(x) for x in reference]
    off = max(abs(x - y) for x, y in zip(values, plain_reference, strict=True))
    size = max(abs(x) for x in plain_reference)
    return float(off / size) if size else float(off)
