"""Many trajectories at once, the time loop inside one kernel."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NonFiniteStateWarning, NumberError, OptionError, ShapeError
from sixfold.evaluate.arrays import Argument, Array, checked, leading_shape, model_checked
from sixfold.evaluate.scan import numpy_scan, run_scan, scan_kernel
from sixfold.evaluate.singular import refuse_singular
from sixfold.model import Model, Tree
from sixfold.scalar import Scalar
from sixfold.simulate import short
from sixfold.simulate.callbacks import check_signature
from sixfold.simulate.integrators import INTEGRATORS
from sixfold.simulate.system import System, as_array, flat, joints
from sixfold.spatial import Inertia

Law = Callable[..., Any]
BACKENDS = ("native", "numpy")


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
    inertias: ArrayLike | None = None,
    out: tuple[Array, Array] | None = None,
    backend: str | None = None,
) -> tuple[Array, Array]:
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
        control: function of (t, q, v), or of (t, q, v, parameters), built from arithmetic and
            sixfold functions, that returns joint forces to be added to tau; it is compiled into the
            kernel and evaluated in every stage of a step.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), each (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz).
        out: float64 arrays in C order, of the results' shapes, to write q and v to.
        backend: "numpy" takes the same steps in NumPy, to look into.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv).  A trajectory
        that leaves the finite numbers is NaN from there on, and one warning names time and joint.
    """
    if control is None and parameters is None and inertias is None and backend is None:
        found = short.roll(model, q0, v0, tau, dt, steps, integrator, every, out)
        if found is not None:
            q, v, lost = found
            if lost:
                _warn_if_lost(model, q, v, dt * every)
            return q, v
    model_checked("rollout", model)
    _choice("integrator", INTEGRATORS, integrator)
    if backend is not None:
        _choice("backend", BACKENDS, backend)
    h = _positive("dt", dt)
    count, between = _whole("steps", steps), _whole("every", every)
    if inertias is None:
        refuse_singular(model)
    given = _arguments(model, q0, v0, tau, parameters, inertias, count)
    if (parameters is not None) and control is None:
        raise OptionError("rollout", "parameters", "nothing, without a controller", "an array")
    arrays = {name: checked("rollout", name, argument) for name, argument in given.items()}
    lead = leading_shape("rollout", given, arrays)
    _check_start(model, arrays)
    sequence = tau is not None and len(given["tau"].shape) == 2
    plan = _Plan(model, integrator, control, tuple(arrays), sequence)
    if out is not None:
        _check_out(out, [(*lead, count // between, n) for n in (model.nq, model.nv)], arrays)
    q, v, lost = plan.run(arrays, lead, h, count, between, backend, out)
    if lost:
        _warn_if_lost(model, q, v, h * between)
    return q, v


@dataclass(frozen=True)
class _Plan:
    """Which arrays a rollout has, and its step."""

    model: Model
    integrator: str
    control: Law | None
    names: tuple[str, ...]
    sequence: bool
    """The joint forces differ from step to step."""

    def sizes(self, arrays: dict[str, Array]) -> tuple[list[int], list[int], list[int]]:
        """Return the sizes of what is carried, fixed, and new at each step."""
        model = self.model
        fixed = [1]
        for name in ("parameters", "inertias"):
            if name in self.names:
                fixed.append(model.nb * 10 if name == "inertias" else arrays[name].shape[-1])
        each = [1]
        if "tau" in self.names:
            (each if self.sequence else fixed).append(model.nv)
        return [model.nq, model.nv], fixed, each

    def step(self, *lists: Sequence[Scalar]) -> list[Scalar]:
        """Take one step on flat lists: q, v, dt, then what there is of the rest, t, tau."""
        q, v, (h,), *rest = lists
        parameters = rest.pop(0) if "parameters" in self.names else None
        inertial = rest.pop(0) if "inertias" in self.names else None
        constant = rest.pop(0) if "tau" in self.names and not self.sequence else None
        (t,), *late = rest
        push = constant if constant is not None else (late[0] if late else None)
        tree = None if inertial is None else _with_inertias(self.model.tree, inertial)
        whole = System(self.model, _law(self.control, parameters, push), tree=tree)
        moved, faster = INTEGRATORS[self.integrator](whole, t, list(q), list(v), h)
        return [*moved, *faster]

    def run(
        self,
        arrays: dict[str, Array],
        lead: tuple[int, ...],
        h: float,
        steps: int,
        every: int,
        backend: str | None,
        out: tuple[Array, Array] | None,
    ) -> tuple[Array, Array, bool]:
        """Take all steps of all rows; return also whether one may have been lost."""
        sizes = self.sizes(arrays)
        ordered = [arrays["q0"], arrays["v0"], np.array([h])]
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
        key = None
        if self.control is None:
            key = (self.model, self.integrator, self.names, self.sequence)
        name = f"rollout of '{self.model.name}'"
        kernel = None
        if backend != "numpy":
            kernel = scan_kernel(self.step, *sizes, name=name, key=key)
        if kernel is not None:
            if key is not None and not _quaternions(self.model):
                short.remember(self.model, self.integrator, self.names, self.sequence, kernel)
            (q, v), lost = run_scan(kernel, ordered, lead, steps, every, out)
            return (q, v, lost) if out is None else (*out, lost)
        q, v = self._plain(sizes, ordered, lead, steps, every)
        if out is not None:
            out[0][...], out[1][...] = q, v
            q, v = out
        return q, v, True

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


def _law(
    control: Law | None, parameters: Sequence[Scalar] | None, push: Sequence[Scalar] | None
) -> Callable[..., list[Scalar]] | None:
    """Return the joint forces of the controller and of the push as one law on flat lists."""
    if control is None and push is None:
        return None
    rest = () if parameters is None else (as_array(parameters),)
    if control is not None:
        check_signature("rollout", control, 3 + len(rest))

    def law(t: Scalar, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        if control is None:
            return list(push or ())
        tau = flat(control(t, as_array(q), as_array(v), *rest))
        if len(tau) != len(v):
            raise ShapeError(
                "rollout", "control", f"{len(v)} joint forces", len(tau), "return one for each of v"
            )
        return tau if push is None else [a + b for a, b in zip(tau, push, strict=True)]

    return law


def _arguments(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike | None,
    parameters: ArrayLike | None,
    inertias: ArrayLike | None,
    steps: int,
) -> dict[str, Argument]:
    given: dict[str, Argument] = {
        "q0": Argument(q0, (model.nq,), f"nq coordinates of model '{model.name}'"),
        "v0": Argument(v0, (model.nv,), f"nv velocity coordinates of model '{model.name}'"),
    }
    if tau is not None:
        shape: tuple[int, ...] = (steps, model.nv)
        with contextlib.suppress(ValueError):  # ragged data is refused below
            if np.ndim(tau) == 1:
                shape = (model.nv,)
            elif np.ndim(tau) > 1 and np.shape(tau)[-2] == 1:
                tau, shape = np.asarray(tau)[..., 0, :], (model.nv,)
        meaning = "(steps, nv) for each step; (1, nv) or (nv,) for all of them"
        given["tau"] = Argument(tau, shape, meaning)
    if parameters is not None:
        try:
            n = np.shape(parameters)[-1] if np.ndim(parameters) else 1
        except ValueError:
            n = 1
        value = np.reshape(parameters, (1,)) if np.ndim(parameters) == 0 else parameters
        given["parameters"] = Argument(value, (n,), "the controller's parameters")
    if inertias is not None:
        given["inertias"] = Argument(
            inertias, (model.nb, 10), "(nb, 10): inertial parameters of each body"
        )
    return given


def _check_out(out: Any, shapes: Sequence[tuple[int, ...]], arguments: Mapping[str, Array]) -> None:
    """Refuse results that are not two plain arrays of the right shapes, apart from all others."""
    expected = f"two float64 arrays in C order, of shapes {shapes[0]} and {shapes[1]}"
    fix = "pass (numpy.empty(...), numpy.empty(...))"
    if not isinstance(out, tuple) or len(out) != 2:
        raise ShapeError("rollout", "out", expected, type(out).__name__, fix)
    for array, shape in zip(out, shapes, strict=True):
        plain = isinstance(array, np.ndarray) and array.dtype == np.float64
        if not (plain and array.shape == shape and array.flags.carray):
            raise ShapeError("rollout", "out", expected, getattr(array, "shape", array), fix)
    if short.overlap(arguments.values(), out):
        apart = "two arrays apart from the arguments and from each other"
        raise OptionError("rollout", "out", apart, "arrays that share memory")


@lru_cache(maxsize=256)
def _quaternions(model: Model) -> tuple[tuple[str, slice, slice], ...]:
    """Return the joints with a quaternion: their kind, their place in q, its place in theirs."""
    found = ((joint.kind, x, joint.quaternion()) for joint, x, _ in joints(model))
    return tuple((kind, x, part) for kind, x, part in found if part is not None)


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
    for kind, x, part in _quaternions(model):
        lengths = np.linalg.norm(arrays["q0"][..., x][..., part], axis=-1)
        if not np.allclose(lengths, 1.0, rtol=0, atol=1e-6):
            worst = float(np.ravel(lengths)[np.argmax(np.abs(np.ravel(lengths) - 1))])
            raise NumberError(
                f"rollout: argument 'q0' has a quaternion of a {kind} joint",
                "length 1",
                f"length {worst:.6g}",
                "divide it by its length",
            )
    if "inertias" in arrays and (arrays["inertias"][..., 0] < 0).any():
        raise NumberError(
            "rollout: argument 'inertias' has a mass",
            "masses >= 0",
            float(arrays["inertias"][..., 0].min()),
            "mend the first of the ten numbers",
        )


def _warn_if_lost(model: Model, q: Array, v: Array, between: float) -> None:
    if not q.size or (np.isfinite(q[..., -1, :]).all() and np.isfinite(v[..., -1, :]).all()):
        return
    bad = ~np.isfinite(v)
    rows = bad.any(axis=(-1, -2))
    first = tuple(int(k) for k in np.argwhere(bad)[0])
    owner = next(
        body
        for body in model.bodies
        for span in [_v_slice(model, body.joint_name)]
        if span is not None and span.start <= first[-1] < span.stop
    )
    warnings.warn(
        f"rollout of '{model.name}': {int(rows.sum())} of {rows.size} trajectories leave the finite"
        f" numbers; first joint '{owner.joint_name}' of row {first[:-2]} by t = "
        f"{(first[-2] + 1) * between:.6g} s",
        NonFiniteStateWarning,
        stacklevel=3,
    )


def _v_slice(model: Model, joint: str) -> slice | None:
    followers = {coupling.follower for coupling in model.couplings}
    if model.joint_names.index(joint) in followers:
        return None
    return model.v_slice(joint)


def _choice(option: str, choices: Any, got: Any) -> None:
    if not isinstance(got, str) or got not in choices:
        raise OptionError("rollout", option, choices, got)


def _positive(option: str, got: Any) -> float:
    try:
        value = float(got)
    except (TypeError, ValueError):
        value = math.nan
    if not (value > 0 and math.isfinite(value)) or isinstance(got, (str, bool)):
        raise OptionError("rollout", option, "a finite number > 0", got)
    return value


def _whole(option: str, got: Any) -> int:
    try:
        value = index(got)
    except TypeError:
        value = 0
    if value < 1 or isinstance(got, bool):
        raise OptionError("rollout", option, "a whole number >= 1", got)
    return value
