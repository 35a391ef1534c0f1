"""Functions of the user's own that are compiled into a step: observations, rewards, ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import ShapeError
from sixfold.model import Model
from sixfold.simulation.callbacks.callbacks import Callback, checked_callback
from sixfold.simulation.gradient.costs import identify

FIX = "pass a function; parameters come last, if there are any"


@dataclass(frozen=True)
class StepFunction(Callback):
    """A function of one state that is traced into a step."""

    arguments: str = ""
    number: bool = False
    """It returns one number; otherwise one array of any length."""
    actions: int = 0

    @property
    def takes(self) -> str:
        """Its arguments, as one writes them."""
        return f"({self.arguments}{'' if self.parameters is None else ', parameters'})"

    def traceable(self, model: Model) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Return it as a function of arrays alone, and the shapes of these arrays by name."""
        shapes: dict[str, Shape] = {"t": (), "q": (model.nq,), "v": (model.nv,)}
        if self.name == "reward":
            shapes["action"] = (self.actions,)
        if self.parameters is not None:
            shapes["parameters"] = (self.parameters,)
        return lambda t, *arrays: self.of(t[()], *arrays), shapes

    def of(self, *arrays: Any) -> Any:
        """Return its numbers for one state, shape (n,) or ()."""
        count = self.takes.count(",") + 1
        result = self.function(*arrays[:count])
        where = f"{self.name}{self.takes}"
        wanted = "one number" if self.number else "an array (n,)"
        self.refuse_none(result, wanted, f"return {'value' if self.number else 'array'}")
        try:
            array = np.asarray(result)
        except ValueError:
            array = np.empty((0, 0))
        if self.number and array.shape:
            fix = "return a sum, such as -(q @ q)"
            raise ShapeError(self.caller, where, "one number", array.shape, fix)
        if not self.number and (array.ndim != 1 or not array.size):
            fix = "return one array, such as numpy.concatenate([q, v])"
            raise ShapeError(self.caller, where, "an array (n,)", array.shape, fix)
        return array


def step_function(
    function: Any,
    name: str,
    arguments: str,
    parameters: int | None,
    *,
    number: bool,
    actions: int = 0,
) -> StepFunction | None:
    """Return a function of the user's own, checked; None if there is none."""
    if function is None:
        return None
    made = StepFunction(
        function, name, (), (), parameters, 0, "Stepper", arguments, number, actions
    )
    checked_callback(made, FIX)
    return made


@dataclass(frozen=True)
class ActionLaw(Callback):
    """A controller that takes an action, and perhaps parameters after it.

    A step hands both over in one array.
    """

    actions: int = 0

    @property
    def takes(self) -> str:
        """Its arguments, as one writes them."""
        return f"(t, q, v, action{'' if self.parameters is None else ', parameters'})"

    def traceable(self, model: Model) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Return it as a function of arrays alone, and the shapes of these arrays by name."""
        both = self.actions + (self.parameters or 0)
        shapes: dict[str, Shape] = {"t": (), "q": (model.nq,), "v": (model.nv,), "both": (both,)}
        return lambda t, q, v, both: self(t[()], q, v, None, both), shapes

    def __call__(self, t: Any, q: Any, v: Any, x: Any = None, both: Any = None) -> Any:
        """Return the joint forces of one state."""
        n = self.actions
        given = [both[:n]] if self.parameters is None else [both[:n], both[n:]]
        return self._array(self.function(t, q, v, *given), self.shape, f"{self.shape}", self.labels)


def action_law(
    model: Model, control: Any, actions: int, parameters: int | None
) -> ActionLaw | None:
    """Return the controller of a stepper, checked; None if there is none."""
    if control is None:
        return None
    names = model.coordinates.v_names
    made = ActionLaw(
        control, "control", (model.nv,), names, parameters, caller="Stepper", actions=actions
    )
    checked_callback(made, FIX)
    return made


def traced_together(
    model: Model, callbacks: Sequence[Callback], compiled: bool | None, make: Callable[[], Any]
) -> tuple[Any, tuple[tuple[str, str], ...]]:
    """Return what is made by calling the functions on symbols, and what identifies them.

    Args:
        model: the robot.
        callbacks: the functions; each must be pure.
        compiled: True if the user says that they remember nothing.
        make: calls all of them once.

    Raises:
        CallbackError: if one cannot be compiled, or may remember something between calls.
    """
    tracings, known = identify(model, list(callbacks), compiled)
    made = make
    for tracing in tracings:
        made = partial(tracing.attempt, made)
    found = made()
    for tracing in tracings:
        if tracing.reason:
            raise tracing.refusal()
    return found, known
