"""Cost functions of the user's own: called on symbols, and known by what they do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import ShapeError
from sixfold.model import Model
from sixfold.simulation.callbacks.callbacks import Callback, checked_callback
from sixfold.simulation.callbacks.tracing import Tracing, digests


@dataclass(frozen=True)
class Cost(Callback):
    """A running or final cost: a function of some arrays that returns one number."""

    arguments: str = ""

    @property
    def takes(self) -> str:
        """Its arguments, as one writes them."""
        return f"({self.arguments}{'' if self.parameters is None else ', cost_parameters'})"

    def traceable(self, model: Model) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Return it as a function of arrays alone, and the shapes of these arrays by name."""
        last = {} if self.parameters is None else {"cost_parameters": (self.parameters,)}
        shapes: dict[str, Shape] = {"q": (model.nq,), "v": (model.nv,)}
        if self.name == "cost":
            shapes = {"t": (), **shapes, "tau": (model.nv,), **last}
            return lambda t, *arrays: self.of(t[()], *arrays), shapes
        return self.of, {**shapes, **last}

    def of(self, *arrays: Any) -> Any:
        """Return its number for one state, or say what is wrong."""
        result = self.function(*arrays)
        self.refuse_none(result, "one number", "return cost")
        shape = np.shape(result)
        if shape:
            fix = "return a sum, such as q @ q"
            raise ShapeError(self.caller, f"{self.name}{self.takes}", "one number", shape, fix)
        return result[()] if isinstance(result, np.ndarray) else result


def cost_callback(
    function: Any, name: str, parameters: int | None, caller: str = "rollout_gradient"
) -> Cost | None:
    """Return a cost function of the user's own; None if there is none."""
    if function is None:
        return None
    arguments = "t, q, v, tau" if name == "cost" else "q, v"
    made = Cost(function, name, (), (), parameters, 0, caller, arguments)
    checked_callback(made, "pass a function; cost_parameters come last, if there are any")
    return made


def identify(
    model: Model, callbacks: list[Callback], compiled: bool | None
) -> tuple[list[Tracing], tuple[tuple[str, str], ...]]:
    """Return the traces of callbacks, and what tells them from others: what they do.

    A function whose program is known needs no new kernel, so a descent compiles once although its
    functions are traced again in every iteration.
    """
    tracings: list[Tracing] = []
    for callback in callbacks:
        others = [each.function for each in callbacks if each is not callback]
        tracing = Tracing(callback, model, compiled, others)
        if tracing.reason:
            raise tracing.refusal()
        tracings.append(tracing)
    return tracings, digests(tracings)
