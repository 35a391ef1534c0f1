"""Cost functions of the user's own: called on symbols, and known by what they do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import CallbackError, ShapeError
from sixfold.evaluate import program_text
from sixfold.model import Model
from sixfold.simulation.callbacks.callbacks import Callback, Tracing, checked_callback, declared

FIXES = {
    True: "rewrite it, or pass compiled=True if it remembers nothing",
    False: "rewrite it, without a memory and without a choice by value",
}
"""What to do about a function that may remember something, and about one that is no program."""


@dataclass(frozen=True)
class Cost(Callback):
    """A running or final cost: a function of some arrays that returns one number."""

    arguments: str = ""

    @property
    def takes(self) -> str:
        """Its arguments, as one writes them."""
        return f"({self.arguments}{'' if self.parameters is None else ', cost_parameters'})"

    def of(self, *arrays: Any) -> Any:
        """Return its number for one state, or say what is wrong."""
        result = self.function(*arrays)
        shape = np.shape(result)
        if shape:
            fix = "return a sum, such as q @ q"
            raise ShapeError(self.caller, f"{self.name}{self.takes}", "one number", shape, fix)
        if result is None:
            where = f"{self.caller}: {self.name}{self.takes}"
            raise CallbackError(where, "one number", None, "return it")
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
) -> tuple[list[Tracing], tuple[Any, ...]]:
    """Return how callbacks may be traced, and what tells them from others: what they do.

    Each is called once on symbols.  A function whose program is known needs no new kernel, so a
    descent compiles once although its functions are looked at anew in every iteration.
    """
    tracings: list[Tracing] = []
    known: list[Any] = []
    for callback in callbacks:
        function = callback.function
        if declared(function, "frozen_law", False):
            known.append((callback.name, function))
            continue
        others = [each.function for each in callbacks if each is not callback]
        tracing = Tracing(callback, None, others)
        if compiled:
            tracing.reason = ""  # the user knows
        text = tracing.attempt(partial(_text, model, callback))
        if tracing.reason:
            raise CallbackError(
                f"{callback.caller}: {callback.name}{callback.takes} cannot be compiled",
                "a function built from arithmetic, sixfold functions and sixfold.if_positive, "
                "which remembers nothing between calls",
                tracing.reason,
                FIXES["may remember" in tracing.reason],
            )
        tracings.append(tracing)
        known.append((callback.name, hashlib.sha256(text.encode()).digest()))
    return tracings, tuple(known)


def _text(model: Model, callback: Callback) -> str:
    """Return what a callback does to the arrays of one state, as text."""
    nq, nv = (model.nq,), (model.nv,)
    last: list[Shape] = [] if callback.parameters is None else [(callback.parameters,)]
    if isinstance(callback, Cost):
        if callback.name == "cost":
            cost = callback
            return program_text(lambda t, *arrays: cost.of(t[()], *arrays), [(), nq, nv, nv, *last])
        return program_text(callback.of, [nq, nv, *last])
    own: list[Shape] = [(callback.states,)] if callback.states else []

    def run(t: Any, q: Any, v: Any, *rest: Any) -> Any:
        x = rest[0] if callback.states else None
        return callback(t[()], q, v, x, rest[-1] if rest else None)

    return program_text(run, [(), nq, nv, *own, *last])
