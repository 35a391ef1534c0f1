"""`explain`: what a joint force consists of, and what an equation of the sources means."""

from __future__ import annotations

from typing import Any, get_args, overload

import numpy as np
from numpy.typing import ArrayLike

from sixfold import quantities
from sixfold.arrays import Array
from sixfold.checks.explanation.contributions import CAUSES, Contributions, hand_out_rounding, split
from sixfold.checks.explanation.letters import State
from sixfold.checks.explanation.source_equations import SourceEquations, find_equations
from sixfold.choices import ExplainedQuantity, ForceFrame
from sixfold.errors import ArgumentError, NotApplicableError, NumberError, ShapeError, one_of
from sixfold.model import Model
from sixfold.runtime import checked_array, require_model
from sixfold.runtime.quantity import QUANTITIES

#: The quantities that can be split, and the arguments that each needs.
REQUIRED = {"inverse_dynamics": ("q", "v", "a"), "bias_force": ("q", "v"), "gravity_force": ("q",)}


def _contributions(
    model: Model, quantity: str, given: dict[str, Any], joint: str | None, f_ext_frame: str
) -> Contributions:
    """Return a quantity of a model at one state, split by body and cause."""
    one_of("explain", "about", REQUIRED, quantity)
    one_of("explain", "f_ext_frame", get_args(ForceFrame), f_ext_frame)
    for name, value in given.items():
        where = f"explain: argument '{name}' of {quantity}"
        if value is None and name in REQUIRED[quantity]:
            fix = f"sf.explain(model, '{quantity}', {', '.join(REQUIRED[quantity])})"
            raise ArgumentError(where, "an array", value, fix)
        loaded = name == "f_ext" and quantity != "gravity_force"
        if value is not None and name not in REQUIRED[quantity] and not loaded:
            raise NotApplicableError(where, "this quantity", "leave it out")
    if given["f_ext"] is None and f_ext_frame != "world":
        where = "explain: option 'f_ext_frame'"
        raise NotApplicableError(where, "a call without f_ext", "pass f_ext, or leave it out")
    numbers = _one_state(model, given)
    parts = split(model, numbers, f_ext_frame)
    if quantity == "gravity_force":
        parts[:, :, [c for c, cause in enumerate(CAUSES) if cause != "gravity"]] = 0.0
    frame = {"f_ext_frame": f_ext_frame} if "f_ext" in numbers else {}
    total = getattr(quantities, quantity)(model, **numbers, **frame)
    hand_out_rounding(parts, total)
    joints = model.coordinates.v_names
    found = Contributions(model, quantity, joints, model.body_names, CAUSES, parts, total)
    return found if joint is None else found[joint]


def _one_state(model: Model, given: dict[str, Any]) -> dict[str, Array]:
    """Return arguments as arrays of one state, or say what is wrong with them."""
    found = {}
    for name, value in given.items():
        if value is None:
            continue
        wanted = QUANTITIES["inverse_dynamics"].argument(model, name, value)
        array = checked_array("explain", name, wanted)
        if array.dtype == object or not np.isfinite(array).all():
            where, fix = f"explain: argument '{name}'", "explain a state in finite numbers"
            raise NumberError(where, "finite floats", array, fix)
        if array.shape != wanted.shape:
            expected = f"{wanted.shape}: {wanted.meaning}, of one state"
            fix = f"explain one state at a time: {name}[0]"
            raise ShapeError("explain", name, expected, array.shape, fix)
        found[name] = array.astype(float)
    return found


@overload
def explain(
    subject: Model,
    about: ExplainedQuantity,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    joint: str | None = None,
    f_ext_frame: ForceFrame = "world",
) -> Contributions: ...
@overload
def explain(
    subject: str,
    about: Model | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
) -> SourceEquations: ...


def explain(
    subject: Model | str,
    about: ExplainedQuantity | Model | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    joint: str | None = None,
    f_ext_frame: ForceFrame = "world",
) -> Contributions | SourceEquations:
    """Split joint forces by body and cause, or show an equation of the sources for a model.

    `explain(model, "inverse_dynamics", q, v, a)` returns what the inertia, the velocities, the
    weight and the load of each body add to the joint forces, and what armature, friction and
    springs of the joints add.  Squares of velocities are centrifugal, products of two different
    ones Coriolis terms.  The contributions add up to the joint forces.

    `explain("Concurrent Dynamics (19b)", model, q, v, a)` returns the equation with its misprint,
    the function that computes it, the test that proves it and the values of its letters.  The
    name of a source lists its equations.

    Args:
        subject: the robot, or the name of an equation or a source.
        about: "inverse_dynamics", "bias_force" or "gravity_force"; for an equation the robot that
            its letters are bound to, or nothing.
        q: configuration, shape (nq,).
        v: joint velocity, shape (nv,).
        a: joint acceleration, shape (nv,).
        f_ext: external force on each body (n; f), shape (nb, 6).
        joint: a joint, or one of its coordinates such as "base.wx"; all by default.
        f_ext_frame: "world" (world axes about the world origin) or "body".

    Returns:
        `Contributions` of a model, with an array (joint forces, bodies, causes) [N m or N];
        `SourceEquations` of an equation.

    Raises:
        ShapeError: for more than one state.
        UnknownNameError: if there is no such joint or equation; the message names near ones.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("planar_chain:2")
        >>> parts = sf.explain(arm, "inverse_dynamics", [0.3, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> print(parts["joint1"])
        inverse_dynamics of 'planar_chain:2', joint 'joint1' [N m or N]
        <BLANKLINE>
        body      coriolis  centrifugal      gravity          sum
        link1            0            0        4.686        4.686
        link2      -0.9589      -0.9589        12.79        10.87
        sum        -0.9589      -0.9589        17.48        15.56
        >>> sf.explain("Featherstone (5)", arm, [0.3, 0.5], [1.0, 2.0])["T"].round(3)
        np.float64(3.483)
    """
    given = {"q": q, "v": v, "a": a, "f_ext": f_ext}
    if not isinstance(subject, str):
        require_model("explain", subject)
        return _contributions(subject, str(about), given, joint, f_ext_frame)
    frame = None if f_ext_frame == "world" else f_ext_frame
    for name, value in (("f_ext", f_ext), ("joint", joint), ("f_ext_frame", frame)):
        if value is not None:
            where = f"explain: argument '{name}'"
            raise NotApplicableError(where, "an equation", "leave it out")
    found = find_equations(subject)
    if about is None:
        return SourceEquations(found)
    model = require_model("explain", about)
    return SourceEquations(found, State(model, **_one_state(model, given)))
