"""The user's own functions of (t, q, v): called with care, and compiled where they can be."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from sixfold.errors import CallbackError, NumberError, ShapeError
from sixfold.evaluate.arrays import Array, Shape
from sixfold.evaluate.kernels import user_kernel
from sixfold.model import Model

RUNAWAY = 1e50
"""Size of coordinates and velocities from which no controller is to blame for what it returns."""


@dataclass(frozen=True)
class Callback:
    """A controller or external force: its function, the shape it returns and its name."""

    function: Callable[..., Any]
    name: str
    shape: Shape
    labels: tuple[str, ...]
    """What the rows of the result belong to, for messages."""
    parameters: int | None = None
    """How many parameters it takes after (t, q, v); None if it takes none."""

    def __call__(self, t: Any, q: Any, v: Any, *rest: Any) -> Any:
        """Return its result for one state as an array of the right shape, or say what is wrong."""
        given = rest if self.parameters is not None else ()
        try:
            result = np.asarray(self.function(t, q, v, *given))
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            result = np.empty(0)
        if result.shape != self.shape:
            raise ShapeError(
                "simulate",
                f"{self.name}(t, q, v)",
                f"{self.shape}: one row for each of {', '.join(self.labels[:6])}",
                result.shape,
                "return one array for one state",
            )
        return result

    def at(self, t: float, q: Array, v: Array, rest: tuple[Array, ...]) -> Array:
        """Return finite numbers for one state; NaN for a state that has run away already."""
        if not max(np.abs(q).max(initial=0.0), np.abs(v).max(initial=0.0)) < RUNAWAY:
            return np.full(self.shape, np.nan)
        where = f"simulate: {self.name}(t, q, v) at t = {t:.9g} s"
        try:
            result = self(t, q, v, *rest)
            numbers = result.astype(float)
        except ShapeError:
            raise
        except Exception as error:
            fix = f"call {self.name} on this state by hand to see why"
            got = f"{type(error).__name__}: {error}"
            raise CallbackError(where, "an array of numbers", got, fix) from error
        if not np.isfinite(numbers).all():
            self.refuse(t, numbers)
        return numbers

    def refuse(self, t: float, numbers: Array) -> None:
        """Raise CallbackError naming the first row that is not finite."""
        row = int(np.argmax(~np.isfinite(numbers.reshape(self.shape[0], -1)).all(axis=1)))
        raise CallbackError(
            f"simulate: {self.name}(t, q, v) at t = {t:.9g} s, '{self.labels[row]}'",
            "finite numbers",
            numbers[row].tolist(),
            "look for divisions by zero, square roots and logarithms of negative numbers",
        )


def control_callback(model: Model, control: Any, parameters: Array | None) -> Callback:
    """Return the controller of a model as a callback."""
    labels = tuple(_labels(model))
    wanted = None if parameters is None else parameters.shape[-1]
    return _callback(control, "control", (model.nv,), labels, wanted)


def force_callback(model: Model, force: Any) -> Callback:
    """Return an external force of a model as a callback."""
    return _callback(force, "f_ext", (model.nb, 6), model.body_names, None)


def _callback(
    function: Any, name: str, shape: Shape, labels: tuple[str, ...], parameters: int | None
) -> Callback:
    takes = "(t, q, v)" if parameters is None else "(t, q, v, parameters)"
    if not callable(function):
        raise NumberError(
            f"simulate: argument '{name}'",
            f"a function of {takes}",
            type(function).__name__,
            "pass a function, or one of sixfold.controllers",
        )
    check_signature("simulate", function, 3 if parameters is None else 4, name)
    return Callback(function, name, shape, labels, parameters)


def check_signature(where: str, function: Any, count: int, name: str = "control") -> None:
    """Refuse a function that does not take (t, q, v), and parameters if there are some."""
    try:
        inspect.signature(function).bind(*(None,) * count)
    except TypeError as error:
        takes = "(t, q, v)" if count == 3 else "(t, q, v, parameters)"
        fix = "pass parameters=... for a fourth argument, and leave it out for three"
        got = f"{inspect.signature(function)} ({error})"
        raise CallbackError(
            f"{where}: argument '{name}'", f"a function of {takes}", got, fix
        ) from None
    except ValueError:
        pass  # a function that tells nothing about its arguments


def _labels(model: Model) -> list[str]:
    """Return the joint of each velocity coordinate."""
    followers = {coupling.follower for coupling in model.couplings}
    return [
        body.joint_name
        for k, body in enumerate(model.bodies)
        if k not in followers
        for _ in range(body.joint.nv)
    ]


def compiled(callback: Callback, model: Model) -> tuple[Any, str]:
    """Return a callback as a kernel of (t, q, v[, parameters]), or None and the reason.

    A function that asks for values, or that remembers something between calls, has to run as it
    is.  It is tried on a copy, so that its own memory stays as it was.
    """
    spare = _copied(callback.function)
    twin = Callback(spare, callback.name, callback.shape, callback.labels, callback.parameters)
    shapes: list[Shape] = [(), (model.nq,), (model.nv,)]
    shapes += [] if callback.parameters is None else [(callback.parameters,)]

    def run(t: Any, *arrays: Any) -> Any:
        return twin(t[()], *arrays)

    before = _memory(spare)
    try:
        kernel = user_kernel(run, callback.name, shapes, "float64")
        again = user_kernel(run, callback.name, shapes, "float64")
    except ShapeError:
        raise
    except Exception as error:
        return None, str(error).partition("\n")[0].partition(": its program")[0]
    if kernel.text != again.text or not _same(before, _memory(spare)):
        return None, "it remembers something between calls"
    return kernel, ""


def _copied(function: Any) -> Any:
    """Return a copy with a memory of its own; the function itself where that cannot be."""
    try:
        if isinstance(function, FunctionType) and function.__closure__:
            cells = tuple(CellType(_apart(cell.cell_contents)) for cell in function.__closure__)
            twin = FunctionType(
                function.__code__,
                function.__globals__,
                function.__name__,
                function.__defaults__,
                cells,
            )
            twin.__kwdefaults__ = function.__kwdefaults__
            return twin
        if isinstance(function, MethodType):
            return MethodType(function.__func__, _apart(function.__self__))
        return _apart(function)
    except Exception:
        return function


def _apart(value: Any) -> Any:
    return value if isinstance(value, (Model, FunctionType)) else copy.deepcopy(value)


def _memory(function: Any) -> list[Any]:
    """Return what a function could have changed: its closure and its attributes."""
    owner = function.__self__ if isinstance(function, MethodType) else function
    cells = getattr(function, "__closure__", None) or ()
    try:
        held = [copy.copy(cell.cell_contents) for cell in cells]
    except ValueError:
        held = []
    return held + [copy.copy(x) for x in getattr(owner, "__dict__", {}).values()]


def _same(before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after):
        return False
    for x, y in zip(before, after, strict=True):
        try:
            if x is not y and not np.array_equal(x, y):
                return False
        except Exception:
            return False
    return True
