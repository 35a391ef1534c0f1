"""Functions of the user: their arguments and results are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.errors import ArgumentError, CallbackError, ShapeError
from sixfold.model import Model
from sixfold.runtime import LABELS, in_order

#: Size of coordinates and velocities from which a controller's NaN is not reported as its error.
MAX_STATE_SIZE = 1e50


@dataclass(frozen=True)
class Callback:
    """A controller or external force: its function, the shape it returns and its name."""

    function: Callable[..., Any]
    name: str
    shape: Shape
    labels: tuple[str, ...]  #: What the rows of the result belong to, for messages.
    parameters: int | None = None  #: How many parameters it takes last; None if it takes none.
    #: How many states of its own it has; it returns their rates, or next values, as well.
    states: int = 0
    caller: str = "simulate"

    @property
    def takes(self) -> str:
        """Its arguments, as text."""
        return arguments_of(self.states, self.parameters)

    def __call__(self, t: Any, q: Any, v: Any, x: Any = None, parameters: Any = None) -> Any:
        """Return its result for one state as one array, or raise.

        With states: the joint forces, then the rates or next values of its states, concatenated.
        """
        given = [t, q, v] if not self.states else [t, q, v, x]
        given += [] if self.parameters is None else [parameters]
        result = self.function(*given)
        if not self.states:
            return self._array(result, self.shape, f"{self.shape}", self.labels)
        n = self.shape[0] - self.states
        wanted = f"two arrays: {n} joint forces, and one number for each of {self.states} states"
        self.refuse_none(result, wanted, "return tau, rates")
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            several = f" of {len(result)}" if hasattr(result, "__len__") else ""
            self._refuse_shape(wanted, f"{type(result).__name__}{several}")
        tau, about = (
            self._array(part, (len(labels),), wanted, labels)
            for part, labels in zip(result, (self.labels[:n], self.labels[n:]), strict=True)
        )
        return np.concatenate([tau, about])

    def traceable(self, model: Model) -> tuple[Callable[..., Any], dict[str, Shape]]:
        """Return it as a function of arrays alone, and the shapes of these arrays by name."""
        shapes: dict[str, Shape] = {"t": (), "q": (model.nq,), "v": (model.nv,)}
        if self.states:
            shapes["x"] = (self.states,)
        if self.parameters is not None:
            shapes["parameters"] = (self.parameters,)

        def run(t: Any, q: Any, v: Any, *rest: Any) -> Any:
            x = rest[0] if self.states else None
            return self(t[()], q, v, x, rest[-1] if rest else None)

        return run, shapes

    def refuse_none(self, result: Any, wanted: str, fix: str) -> None:
        """Refuse a function that returns nothing: most often its return is missing."""
        if result is None:
            where = f"{self.caller}: {self.name}{self.takes} returned nothing"
            raise CallbackError(where, wanted, None, f"end the function with '{fix}'")

    def _array(self, result: Any, shape: Shape, wanted: str, labels: Sequence[str]) -> Any:
        if self.name == "control":
            self.refuse_none(result, f"joint forces, an array of shape {shape}", "return tau")
        self.refuse_none(result, f"forces, an array of shape {shape}", "return forces")
        # a table is taken by the names of its rows and columns, as an argument is
        result = in_order(self.caller, self.name, result, (labels, LABELS["6"])[: len(shape)])
        try:
            array = np.asarray(result)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            array = np.empty(0)
        if array.dtype.kind in "USMm":
            where = f"{self.caller}: {self.name}{self.takes}"
            fix = "return one array for one state"
            raise CallbackError(where, f"an array of numbers, shape {shape}", result, fix)
        if array.shape != shape:
            self._refuse_shape(wanted, array.shape)
        return array

    def _refuse_shape(self, wanted: str, got: object) -> None:
        raise ShapeError(
            self.caller,
            f"{self.name}{self.takes}",
            f"{wanted}: one row for each of {', '.join(self.labels[:6])}",
            got,
            "return one array for one state" if not self.states else "return tau, rates",
        )

    def at(self, t: float, q: Array, v: Array, *rest: Array | None) -> Array:
        """Return finite numbers for one state; NaN for a state that has already diverged."""
        if not max(np.abs(q).max(initial=0.0), np.abs(v).max(initial=0.0)) < MAX_STATE_SIZE:
            return np.full(self.shape, np.nan)
        where = f"{self.caller}: {self.name}{self.takes} at t = {t:.9g} s"
        try:
            result = self(t, q, v, *rest)
            numbers = result.astype(float)
        except (ShapeError, CallbackError):
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
            f"{self.caller}: {self.name}{self.takes} at t = {t:.9g} s, '{self.labels[row]}'",
            "finite numbers",
            numbers[row].tolist(),
            "look for divisions by zero, square roots and logarithms of negative numbers",
        )


def arguments_of(states: int, parameters: int | None) -> str:
    """Return the arguments that a controller takes, as text."""
    more = (", x" if states else "") + ("" if parameters is None else ", parameters")
    return f"(t, q, v{more})"


def control_callback(
    model: Model,
    control: Any,
    parameters: Array | None = None,
    states: int = 0,
    caller: str = "simulate",
) -> Callback:
    """Return the controller of a model as a callback."""
    labels = (*model.coordinates.v_names, *(f"x[{k}]" for k in range(states)))
    wanted = None if parameters is None else parameters.shape[-1]
    return check_callback(
        Callback(control, "control", (model.nv + states,), labels, wanted, states, caller)
    )


def force_callback(model: Model, force: Any, caller: str = "simulate") -> Callback:
    """Return an external force of a model as a callback."""
    return check_callback(Callback(force, "f_ext", (model.nb, 6), model.body_names, caller=caller))


CONTROL_FIX = "pass x0=... for a state x, parameters=... for parameters, and neither for (t, q, v)"


def check_callback(made: Callback, fix: str = CONTROL_FIX) -> Callback:
    """Return the callback if its function takes what it will be given."""
    function, where = made.function, f"{made.caller}: argument '{made.name}'"
    wanted = f"a function of {made.takes}"
    if not callable(function):
        ready = ", or pass one of sixfold.control" if made.name == "control" else ""
        fix = f"write def {made.name}{made.takes}: return ...{ready}"
        raise ArgumentError(where, wanted, function, fix)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return made  # a function without a signature
    count = made.takes.count(",") + 1
    try:
        signature.bind(*[None] * count)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        fix = _signature_fix(made, name, signature, count) or fix
        raise CallbackError(where, wanted, f"{name}{signature}", fix) from None
    return made


def _signature_fix(made: Callback, name: str, signature: inspect.Signature, count: int) -> str:
    """Return how to write a function that cannot take its arguments; empty if it takes more."""
    if isinstance(made.function, type):
        return f"{name} is a class: pass an object of it, such as {name}()"
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(each.kind in kinds for each in signature.parameters.values()) >= count:
        return ""
    first = "self, " if inspect.ismethod(made.function) else ""
    name = name if name.isidentifier() else made.name
    takes = f"({first}{made.takes[1:]}"
    idle = "x0=" if made.states else "" if made.parameters is None else "parameters="
    other = f"; or leave {idle} out" if idle and made.name == "control" else ""
    return f"write def {name}{takes}: all arguments are passed, whether it uses them or not{other}"


def static_attribute(control: Any, name: str, otherwise: Any = None) -> Any:
    """Return an attribute of a controller, but none that `__getattr__` makes."""
    try:
        inspect.getattr_static(control, name)
    except AttributeError:
        return otherwise
    return getattr(control, name)


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
        """Return its number for one state, or raise."""
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
    """Return the cost function of a user, or None without one."""
    if function is None:
        return None
    arguments = "t, q, v, tau" if name == "cost" else "q, v"
    made = Cost(function, name, (), (), parameters, 0, caller, arguments)
    check_callback(made, "pass a function; cost_parameters come last, if there are any")
    return made


FIX = "pass a function; parameters come last, if there are any"


@dataclass(frozen=True)
class StepFunction(Callback):
    """A function of one state that is traced into a step."""

    arguments: str = ""
    number: bool = False  #: It returns one number; otherwise one array of any length.
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
        # a function may take fewer arguments than there are: parameters come last
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
    """Check and return a function of the user, or None without one."""
    if function is None:
        return None
    made = StepFunction(
        function, name, (), (), parameters, 0, "Stepper", arguments, number, actions
    )
    check_callback(made, FIX)
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
    """Check and return the controller of a stepper, or None without one."""
    if control is None:
        return None
    names = model.coordinates.v_names
    made = ActionLaw(
        control, "control", (model.nv,), names, parameters, caller="Stepper", actions=actions
    )
    check_callback(made, FIX)
    return made
