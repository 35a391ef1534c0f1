"""Adaptive step sizes: SciPy's methods behind the interface of a fixed step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import SixfoldError
from sixfold.lazy import optional
from sixfold.quantities.configurations import integrate
from sixfold.quantities.constraints import project
from sixfold.simulation.equations import ArrayEquations
from sixfold.simulation.step import StepRunner

MAX_STEPS_PER_SAMPLE = 1_000_000  #: Steps that the solver may take between two samples.


def adaptive_step(
    stepper: StepRunner, end: float, solver: str, rtol: float, atol: float
) -> tuple[Callable[[float, float, Array], Array], Callable[[], None]]:
    """Return a function (t, h, x) -> x that follows SciPy's solver, one for each start.

    It is to be called forward in time; within the last interval it may be asked for any time.  The
    second function makes it begin anew from the x of the next call.
    """
    method = getattr(optional("scipy.integrate", "integrator 'solve_ivp'"), solver)
    model = stepper.system.model
    nq, nv = model.nq, model.nv
    n = nq + nv + stepper.system.states
    flows: dict[tuple[int, ...], _Flow] = {}

    def slope(system: ArrayEquations, t: float, y: Array) -> Array:
        q, v = y[:nq].tolist(), y[nq:].tolist()
        return np.array([*system.rate(q, v), *system.acceleration(t, q, v)], float)

    projects = stepper.setup.stabilization.projects

    def project_state(y: Array) -> Array:
        q, v = project(model, y[:nq], y[nq : nq + nv])
        return np.concatenate([q, v, y[nq + nv :]])

    def advance(t: float, h: float, x: Array) -> Array:
        after, lead = x.copy(), x.shape[:-1]
        # each start has a solver of its own: their step sizes differ
        for index in np.ndindex(lead):
            if index not in flows:
                rates = partial(slope, stepper.row(lead, index))
                made = method(rates, t, x[index][:n], end, rtol=rtol, atol=atol)
                flows[index] = _Flow(made, project_state if projects else None)
            after[index][:n] = flows[index].at(t, t + h)
        if projects:
            after[..., :nq], after[..., nq : nq + nv] = project(
                model, after[..., :nq], after[..., nq : nq + nv]
            )
            return after
        after[..., :nq] = integrate(model, after[..., :nq], np.zeros_like(after[..., nq : nq + nv]))
        return after

    return advance, flows.clear


class _Flow:
    """One solution, followed forward; its pieces since the last sample are kept."""

    def __init__(self, solver: Any, project: Callable[[Array], Array] | None) -> None:
        self._solver, self._project = solver, project
        self._pieces: list[Any] = []

    def at(self, since: float, t: float) -> Array:
        """Return the state at t; times before `since` will not be asked for again."""
        self._pieces = [piece for piece in self._pieces if piece.t_max >= since]
        for _ in range(MAX_STEPS_PER_SAMPLE):
            if self._solver.t >= t or self._solver.status != "running":
                break
            if not self._take_step():
                break
            self._pieces.append(self._solver.dense_output())
            if self._project is not None:
                # one-step methods may begin the next step anywhere: put it on the constraints
                self._solver.y = self._project(self._solver.y)
                self._solver.f = self._solver.fun(self._solver.t, self._solver.y)
        if self._solver.t < t:
            return np.full_like(self._solver.y, np.nan)
        # the pieces overlap at their ends only
        for piece in self._pieces:
            if piece.t_min <= t <= piece.t_max:
                return np.array(piece(t), float)
        return np.array(self._solver.y, float)

    def _take_step(self) -> bool:
        """Take a step; false where the solver fails."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._solver.step()
        except SixfoldError:
            raise
        except (ValueError, ArithmeticError):
            return False  # the solver's linear algebra met numbers that are not finite
        return bool(self._solver.status != "failed")
