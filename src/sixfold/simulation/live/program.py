"""One step under an action as a function of symbols, with what the user's functions say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.evaluate import numbers_array, scan_kernel, user_kernel
from sixfold.scalar import if_positive, repeat
from sixfold.simulation.live.checks import clipped, object_array
from sixfold.simulation.live.functions import ActionLaw, StepFunction
from sixfold.simulation.setup import Setup

SEEN = ("observe", "reward", "terminate")
"""Functions of the user's own whose results a step returns, in order."""


@dataclass(frozen=True)
class StepProgram:
    """What a stepper compiles: substeps under one action, then the user's functions."""

    setup: Setup
    dt: float
    substeps: int
    actions: int
    bounds: tuple[tuple[float, float], ...]
    law: ActionLaw | None
    functions: Mapping[str, StepFunction]
    """Those of SEEN that there are."""
    fixed: Mapping[str, Shape]
    """Shapes of the arrays that stay the same: parameters, inertias, f_ext, gains."""

    @property
    def callbacks(self) -> list[Any]:
        """All functions of the user's own."""
        return [*([] if self.law is None else [self.law]), *self.functions.values()]

    @property
    def state(self) -> list[Shape]:
        """Shapes of the parts of a state: the number of steps, q, v, and what contact keeps."""
        return [(1,), *((n,) for n in self.setup.carried)]

    def kernels(self) -> tuple[Any, Any]:
        """Return the kernel of a step and that of an observation; None where there is none."""
        dtype, shapes = self.setup.dtype, [*self.state, (self.actions,), *self.fixed.values()]
        whole = user_kernel(self.step, "step", shapes, dtype)
        look = self.functions.get("observe")
        if look is None:
            return whole, None
        rest = [self.fixed["parameters"]] if "parameters" in self.fixed else []

        def observed(n: Any, q: Any, v: Any, *parameters: Any) -> Any:
            return look.of(n[0] * self.dt, q, v, *parameters)

        return whole, user_kernel(observed, "observe", [*self.state[:3], *rest], dtype)

    def step(self, n: Any, *arrays: Any) -> tuple[Any, ...]:
        """Take all substeps on symbols; return the state and what the functions say of it."""
        state, named, action = self._advanced(n[0], arrays)
        return (*state, *(self._said(name, state, named, action) for name in self.functions))

    def _advanced(self, n: Any, arrays: Sequence[Any]) -> tuple[list[Any], dict[str, Any], Any]:
        setup, count = self.setup, len(self.setup.carried)
        action = clipped(arrays[count], self.bounds)
        named = dict(zip(self.fixed, arrays[count + 1 :], strict=True))
        given = dict(named)
        if self.law is None:
            given["tau"] = action
        else:
            given["parameters"] = np.concatenate([action, *self._parameters(named)])
        constants = [list(given[name].reshape(-1)) for name in setup.constants]

        def one(carried: Any) -> Any:
            now, *parts = carried
            after = setup.step(*map(list, parts), [self.dt], *constants, [now * self.dt])
            return (now + 1.0, *map(object_array, setup.parts(after)))

        done, *state = repeat(self.substeps, one, (n, *arrays[:count]))
        return [object_array([done]), *state], named, action

    def _said(self, name: str, state: Sequence[Any], named: Mapping[str, Any], action: Any) -> Any:
        """Return what one of the user's functions says of a state."""
        n, q, v = state[:3]
        acted = [action] if name == "reward" else []
        return self.functions[name].of(n[0] * self.dt, q, v, *acted, *self._parameters(named))

    @staticmethod
    def _parameters(named: Mapping[str, Any]) -> list[Any]:
        return [named["parameters"]] if "parameters" in named else []

    # -- many steps

    def returns_kernel(self) -> Any:
        """Return a kernel that sums rewards over many steps, the loop inside; None without code.

        It carries the state, the sum, and 1.0 while the row has not ended.
        """
        sizes = [shape[0] for shape in self.state]
        fixed = [int(np.prod(shape)) for shape in self.fixed.values()]
        name = f"returns of '{self.setup.model.name}'"
        return scan_kernel(
            self._summed,
            [*sizes, 1, 1],
            fixed,
            [self.actions],
            name=name,
            dtype=self.setup.dtype,
        )

    def _summed(self, *lists: Sequence[Any]) -> list[Any]:
        """Take one step on flat lists: state, sum, going; fixed arrays; action."""
        n = len(self.state)
        (n0,), *parts = lists[:n]
        (total,), (going,), action = lists[n], lists[n + 1], lists[-1]
        shapes = self.fixed.values()
        fixed = [
            numbers_array(list(x)).reshape(shape)
            for x, shape in zip(lists[n + 2 : -1], shapes, strict=True)
        ]
        arrays = [*map(numbers_array, parts), numbers_array(list(action)), *fixed]
        state, named, used = self._advanced(n0, arrays)
        reward = self._said("reward", state, named, used)[()]
        if "terminate" in self.functions:
            over = self._said("terminate", state, named, used)[()]
            still = if_positive(over, 0.0, going)
        else:
            still = going
        after = [x for part in state for x in part]
        return [*after, total + going * reward, still]
