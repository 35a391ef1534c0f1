"""Functions of the user's own that are compiled into a step: observations, rewards, ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.errors import CallbackError, ShapeError
from sixfold.model import Model
from sixfold.simulation.callbacks.callbacks import Callback, Tracing, checked_callback

FIX = "pass a function; parameters come last, if there are any"


@dataclass(frozen=True)
class StepFunction(Callback):
    """A function of one state that is traced into a step."""

    arguments: str = ""
    number: bool = False
    """It returns one number; otherwise one array of any length."""

    @property
    def takes(self) -> str:
        """Its arguments, as one writes them."""
        return f"({self.arguments}{'' if self.parameters is None else ', parameters'})"

    def of(self, *arrays: Any) -> Any:
        """Return its numbers for one state, shape (n,) or ()."""
        count = self.takes.count(",") + 1
        result = self.function(*arrays[:count])
        where = f"{self.name}{self.takes}"
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
        if result is None:
            raise CallbackError(f"{self.caller}: {where}", "numbers", None, "return them")
        return array


def step_function(
    function: Any, name: str, arguments: str, parameters: int | None, *, number: bool
) -> StepFunction | None:
    """Return a function of the user's own, checked; None if there is none."""
    if function is None:
        return None
    made = StepFunction(function, name, (), (), parameters, 0, "Stepper", arguments, number)
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

    def __call__(self, t: Any, q: Any, v: Any, x: Any = None, both: Any = None) -> Any:
        """Return the joint forces of one state."""
        n = self.actions
        given = [both[:n]] if self.parameters is None else [both[:n], both[n:]]
        return self._array(self.function(t, q, v, *given), self.shape, f"{self.shape}")


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
    callbacks: Sequence[Callback], compiled: bool | None, make: Callable[[], Any]
) -> Any:
    """Return what is made by calling the functions on symbols, each of which must be pure.

    Args:
        callbacks: the functions.
        compiled: True if the user says that they remember nothing.
        make: calls all of them once.

    Raises:
        CallbackError: if one cannot be compiled, or may remember something between calls.
    """
    tracings = [
        Tracing(each, compiled, [x.function for x in callbacks if x is not each])
        for each in callbacks
    ]
    for tracing in tracings:
        _refuse(tracing)
    if not tracings:
        return make()
    kept = [tracing.found.memory() for tracing in tracings[1:]]
    made = tracings[0].attempt(make)
    if any(memory.changed() for memory in kept) and compiled is None:
        tracings[0].reason = "one of them remembers something between calls"
    for memory in kept:
        memory.restore()
    _refuse(tracings[0])
    return made


def _refuse(tracing: Tracing) -> None:
    if not tracing.reason:
        return
    callback = tracing.callback
    remembers = "remember" in tracing.reason
    raise CallbackError(
        f"{callback.caller}: {callback.name}{callback.takes} cannot be compiled",
        "a function built from arithmetic, sixfold functions and sixfold.if_positive, "
        "which remembers nothing between calls",
        tracing.reason,
        "rewrite it, or pass compiled=True if it remembers nothing"
        if remembers
        else "rewrite it, without a choice by value",
    )
