"""Many trajectories at once, the time loop inside one kernel."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import (
    NonFiniteStateWarning,
    NumberError,
    OptionError,
    PythonCallbackWarning,
    ShapeError,
    visible,
)
from sixfold.evaluate.arrays import (
    Argument,
    Array,
    checked,
    enough_memory,
    leading_shape,
    model_checked,
)
from sixfold.evaluate.kernels.scan import numpy_scan, run_scan, scan_kernel
from sixfold.evaluate.quaternions import quaternions
from sixfold.evaluate.singular.states import refuse_singular
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar
from sixfold.simulation import short
from sixfold.simulation.callbacks.callbacks import Callback, Tracing, control_callback, declared
from sixfold.simulation.checks.options import check_rate, check_shared, choice, vector
from sixfold.simulation.checks.start import refuse_long
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.system import System, as_array, system_of
from sixfold.spatial import Inertia

Law = Callable[..., Any]
MAX_STEPS = 10**9
"""Most steps of one call: the times of the steps are kept, 8 bytes each."""


def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    integrator: str = "semi_implicit_euler",
    every: int = 1,
    control: Law | None = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    inertias: ArrayLike | None = None,
    method: str | None = None,
    out: tuple[Array, ...] | None = None,
    backend: str | None = None,
) -> tuple[Array, ...]:
    """Return the states that many starts pass through, all computed in one kernel.

    Leading axes of all arrays broadcast; each row of the batch is a trajectory of its own, and its
    bits do not depend on the others.  Batches are handed to threads.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq).
        v0: velocities at the start, shape (..., nv).
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep the state after every so many steps.
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau, evaluated in every stage of a step.  It is compiled into the kernel if it
            is built from arithmetic and sixfold functions and is shown to remember nothing between
            calls; otherwise it runs as Python, row by row, and one warning says so.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        x0: states of the controller itself at the start, shape (..., nx): as in `simulate`, the
            controller takes x after v and returns the joint forces and dx/dt.
        hold: evaluate the controller once at the start of each step; with x0 it then returns the
            joint forces and x at the next step.
        compiled: True to compile the controller in any case, or fail and say why; False to run it
            as Python without a warning.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), each (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz).
        method: of forward dynamics, as in `forward_dynamics`; by the model if left out.
        out: float64 arrays in C order, of the results' shapes, to write the results to.
        backend: "numpy" takes the same steps in NumPy, to look into.

    Steps are taken in float64, whatever the dtype of the arguments.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv); with x0 also x,
        shape (..., steps // every, nx).  A trajectory that leaves the finite numbers is NaN from
        there on, and one warning names time and joint.
    """
    unusual = (control, parameters, x0, compiled, inertias, method, backend)
    if hold is False and all(option is None for option in unusual):
        found = short.roll(model, q0, v0, tau, dt, steps, integrator, every, out)
        if found is not None:
            q, v, lost = found
            if lost:
                _warn_if_lost(model, q, v, dt * every)
            return q, v
    model_checked("rollout", model)
    choice("rollout", "integrator", INTEGRATORS, integrator)
    if x0 is None:
        x0 = declared(control, "x0")
    has = {"control": control is not None, "parameters": parameters, "x0": x0}
    check_shared("rollout", model, method, hold, compiled, backend, **has)
    h = _positive("dt", dt)
    check_rate("rollout", control, bool(hold), h)
    count, between = _whole("steps", steps), _whole("every", every)
    if inertias is None:
        refuse_singular(model)
    given = _arguments(model, q0, v0, tau, count)
    given |= _more(model, x0=x0, parameters=parameters, inertias=inertias)
    arrays = {name: checked("rollout", name, argument) for name, argument in given.items()}
    lead = leading_shape("rollout", given, arrays)
    with enough_memory("rollout", f"trajectories {lead}"):
        _check_start(model, arrays)
    arrays = {name: np.asarray(array, np.float64) for name, array in arrays.items()}
    sequence = tau is not None and len(given["tau"].shape) == 2
    states = arrays["x0"].shape[-1] if "x0" in arrays else 0
    law = None
    if control is not None:
        law = control_callback(model, control, arrays.get("parameters"), states, "rollout")
    plan = _Plan(model, integrator, law, tuple(arrays), sequence, bool(hold), method)
    if out is not None:
        sizes = [model.nq, model.nv, *([states] if states else [])]
        _check_out(out, [(*lead, count // between, n) for n in sizes], arrays)
    results, lost = plan.run(arrays, lead, h, count, between, backend, out, compiled)
    if lost:
        _warn_if_lost(model, results[0], results[1], h * between)
    return results


@dataclass(frozen=True)
class _Plan:
    """Which arrays a rollout has, and its step."""

    model: Model
    integrator: str
    control: Callback | None
    names: tuple[str, ...]
    sequence: bool
    """The joint forces differ from step to step."""
    hold: bool = False
    method: str | None = None

    @property
    def states(self) -> int:
        """How many states the controller has."""
        return 0 if self.control is None else self.control.states

    def sizes(self, arrays: dict[str, Array]) -> tuple[list[int], list[int], list[int]]:
        """Return the sizes of what is carried, fixed, and new at each step."""
        model = self.model
        carried = [model.nq, model.nv, *([self.states] if self.states else [])]
        fixed = [1]
        for name in ("parameters", "inertias"):
            if name in self.names:
                fixed.append(model.nb * 10 if name == "inertias" else arrays[name].shape[-1])
        each = [1]
        if "tau" in self.names:
            (each if self.sequence else fixed).append(model.nv)
        return carried, fixed, each

    def step(self, *lists: Sequence[Scalar]) -> list[Scalar]:
        """Take one step on flat lists: q, v, x, dt, then what there is of the rest, t, tau."""
        q, v, *rest = map(list, lists)
        v = v + (rest.pop(0) if self.states else [])
        (h,) = rest.pop(0)
        parameters = as_array(rest.pop(0)) if "parameters" in self.names else None
        inertial = rest.pop(0) if "inertias" in self.names else None
        constant = rest.pop(0) if "tau" in self.names and not self.sequence else None
        (t,), *late = rest
        push = constant if constant is not None else (late[0] if late else None)
        tree = None if inertial is None else _with_inertias(self.model.tree, inertial)
        options = {"parameters": parameters, "tree": tree, "method": self.method}
        system, take = system_of(self.model, self.control, **options), INTEGRATORS[self.integrator]
        if not self.hold:
            moved, faster = take(_pushed(system, push), t, q, v, h)
            return [*moved, *faster]
        held, following = system.held(t, q, v)
        moved, faster = take(_pushed(held, push), t, q, v[: self.model.nv], h)
        return [*moved, *faster, *following]

    def run(
        self,
        arrays: dict[str, Array],
        lead: tuple[int, ...],
        h: float,
        steps: int,
        every: int,
        backend: str | None,
        out: tuple[Array, ...] | None,
        compiled: bool | None,
    ) -> tuple[tuple[Array, ...], bool]:
        """Take all steps of all rows; return also whether one may have been lost."""
        sizes = self.sizes(arrays)
        ordered = [arrays[name] for name in ("q0", "v0", "x0") if name in arrays]
        ordered += [np.array([h])]
        ordered += [arrays[name] for name in ("parameters",) if name in arrays]
        if "inertias" in arrays:
            x = arrays["inertias"]
            ordered.append(x.reshape((*x.shape[:-2], -1)))
        times = short.times(steps, h)
        if "tau" not in arrays:
            ordered.append(times)
        elif self.sequence:
            ordered += [times, arrays["tau"]]
        else:
            ordered += [arrays["tau"], times]
        kernel = None if backend == "numpy" else self._kernel(sizes, compiled)
        if kernel is not None:
            results, lost = run_scan(kernel, ordered, lead, steps, every, out)
            return (tuple(results) if out is None else out), lost
        results = self._plain(sizes, ordered, lead, steps, every)
        if out is not None:
            for given, found in zip(out, results, strict=True):
                given[...] = found
            return out, True
        return tuple(results), True

    def _kernel(self, sizes: tuple[list[int], list[int], list[int]], compiled: bool | None) -> Any:
        """Return the kernel of all steps; None, with a warning, for a controller in Python."""
        name = f"rollout of '{self.model.name}'"
        if self.control is None:
            key = (self.model.digest, self.integrator, self.names, self.sequence, self.method)
            kernel = scan_kernel(self.step, *sizes, name=name, key=key)
            if kernel is not None and self.method is None and not quaternions(self.model):
                short.remember(self.model, self.integrator, self.names, self.sequence, kernel)
            return kernel
        tracing = Tracing(self.control, compiled)
        kernel = tracing.attempt(lambda: scan_kernel(self.step, *sizes, name=name))
        if tracing.reason and compiled is None:
            warnings.warn(
                f"{name}: control runs as Python, row by row: {tracing.reason}",
                PythonCallbackWarning,
                stacklevel=5,
            )
        return kernel

    def _plain(
        self,
        sizes: tuple[list[int], list[int], list[int]],
        arrays: Sequence[Array],
        lead: tuple[int, ...],
        steps: int,
        every: int,
    ) -> list[Array]:
        """Take the steps in NumPy; a controller sees one state at a time."""
        if self.control is None or not lead:
            return numpy_scan(self.step, *sizes, arrays, lead, steps, every)
        kept = len(sizes[0]) + len(sizes[1])
        wide = [
            np.broadcast_to(x, (*lead, *x.shape[x.ndim - (2 if k >= kept else 1) :]))
            for k, x in enumerate(arrays)
        ]
        outputs = [np.empty((*lead, steps // every, n)) for n in sizes[0]]
        for row in np.ndindex(*lead):
            one = numpy_scan(self.step, *sizes, [x[row] for x in wide], (), steps, every)
            for out, x in zip(outputs, one, strict=True):
                out[row] = x
        return outputs


def _with_inertias(tree: Tree, numbers: Sequence[Scalar]) -> Tree:
    """Return the tree with other inertias, ten numbers each."""
    each = [Inertia.from_parameters(numbers[k : k + 10]) for k in range(0, len(numbers), 10)]
    return replace(tree, inertia=(tree.inertia[0], *each))


def _pushed(system: System, push: Sequence[Scalar] | None) -> System:
    """Return the system with joint forces added to those of its controller."""
    if push is None:
        return system

    def law(t: Scalar, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        tau = list(push)
        if system.control is None:
            return tau
        both = list(system.control(t, q, v))
        return [a + b for a, b in zip(both, tau, strict=False)] + both[len(tau) :]

    return replace(system, control=law)


def _arguments(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike | None,
    steps: int,
) -> dict[str, Argument]:
    given: dict[str, Argument] = {
        "q0": Argument(q0, (model.nq,), f"nq coordinates of model '{model.name}'"),
        "v0": Argument(v0, (model.nv,), f"nv velocity coordinates of model '{model.name}'"),
    }
    if tau is not None:
        shape: tuple[int, ...] = (steps, model.nv)
        with contextlib.suppress(Exception):  # what is no array is refused below
            if np.ndim(tau) == 1:
                shape = (model.nv,)
            elif np.ndim(tau) > 1 and np.shape(tau)[-2] == 1:
                tau, shape = np.asarray(tau)[..., 0, :], (model.nv,)
        meaning = "(steps, nv) for each step; (1, nv) or (nv,) for all of them"
        given["tau"] = Argument(tau, shape, meaning)
    return given


def _more(model: Model, inertias: ArrayLike | None, **given: Any) -> dict[str, Argument]:
    meaning = {"x0": "states of the controller", "parameters": "parameters of the controller"}
    found = {name: vector("rollout", name, given[name], meaning[name]) for name in meaning}
    if inertias is not None:
        what = "(nb, 10): inertial parameters of each body"
        found["inertias"] = Argument(inertias, (model.nb, 10), what)
    return {name: argument for name, argument in found.items() if argument is not None}


def _check_out(out: Any, shapes: Sequence[tuple[int, ...]], arguments: Mapping[str, Array]) -> None:
    """Refuse results that are not plain arrays of the right shapes, apart from all others."""
    expected = f"float64 arrays in C order, of shapes {' and '.join(map(str, shapes))}"
    fix = "pass (numpy.empty(...), numpy.empty(...)), one for each result"
    if not isinstance(out, tuple) or len(out) != len(shapes):
        raise ShapeError("rollout", "out", expected, type(out).__name__, fix)
    for array, shape in zip(out, shapes, strict=True):
        plain = isinstance(array, np.ndarray) and array.dtype == np.float64
        if not (plain and array.shape == shape and array.flags.carray):
            raise ShapeError("rollout", "out", expected, getattr(array, "shape", array), fix)
    if short.overlap(arguments.values(), out):
        apart = "arrays apart from the arguments and from each other"
        raise OptionError("rollout", "out", apart, "arrays that share memory")


def _check_start(model: Model, arrays: dict[str, Array]) -> None:
    """Refuse numbers that are not finite and quaternions that are not of unit length."""
    for name, array in arrays.items():
        if array.dtype == object:
            raise NumberError(
                f"rollout: argument '{name}'", "floats", "objects", "pass arrays of floats"
            )
        if not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise NumberError(
                f"rollout: argument '{name}' is not finite at {where}",
                "finite numbers",
                array[where],
                "start from finite states",
            )
    refuse_long("rollout", model, arrays["q0"])
    if "inertias" in arrays and (arrays["inertias"][..., 0] < 0).any():
        raise NumberError(
            "rollout: argument 'inertias' has a mass",
            "masses >= 0",
            float(arrays["inertias"][..., 0].min()),
            "fix the first of the ten numbers",
        )


def _warn_if_lost(model: Model, q: Array, v: Array, between: float) -> None:
    if not q.size or (np.isfinite(q[..., -1, :]).all() and np.isfinite(v[..., -1, :]).all()):
        return
    bad_q, bad_v = ~np.isfinite(q), ~np.isfinite(v)
    bad = bad_q.any(axis=-1) | bad_v.any(axis=-1)
    rows = bad.any(axis=-1)
    first = tuple(int(k) for k in np.argwhere(bad)[0])
    # velocities as a rule leave first; a long step can overflow q alone
    fast = bool(bad_v[first].any())
    place = int(np.argmax(bad_v[first] if fast else bad_q[first]))
    names = model.coordinates.v_names if fast else model.coordinates.q_names
    warnings.warn(
        f"rollout of '{visible(model.name)}': {int(rows.sum())} of {rows.size} trajectories leave"
        f" the finite numbers; first joint '{visible(names[place])}' of row {first[:-1]} by "
        f"t = {(first[-1] + 1) * between:.6g} s",
        NonFiniteStateWarning,
        stacklevel=3,
    )


def _positive(option: str, got: Any) -> float:
    try:
        value = float(got)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not (value > 0 and math.isfinite(value)) or isinstance(got, (str, bool)):
        raise OptionError("rollout", option, "a finite number > 0", got)
    return value


def _whole(option: str, got: Any) -> int:
    try:
        value = index(got)
    except TypeError:
        value = 0
    if not 1 <= value <= MAX_STEPS or isinstance(got, bool):
        raise OptionError("rollout", option, f"a whole number from 1 to {MAX_STEPS}", got)
    return value
