"""`sf.operators`: checks a model and a state, and reads the blocks of its operators."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators import equations as page
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.book.operators.operators import Stack
from sixfold.dynamics.kinematics import forces_from_world, no_forces
from sixfold.errors import NotApplicableError, one_of
from sixfold.evaluate import (
    Argument,
    checked,
    enough_memory,
    leading_shape,
    model_checked,
    plain_argument,
)
from sixfold.influence.model_operators import Operators
from sixfold.influence.stacks import FORCES, numbers_of
from sixfold.model import Model

AXES = ("body", "inertial")
FRAMES = ("world", "body")


def operators(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: str = "world",
    axes: str = "body",
) -> Operators:
    """Return the influence operators of a model at a state: Phi, Psi, their transposes, G, M, J.

    Args:
        model: the robot: a tree without couplings and constraints.
        q: configuration, shape (..., nq).  Numbers may be symbols, for one state.
        v: joint velocity, shape (..., nv); at rest if left out.
        f_ext: external force on each body (n; f), shape (..., nb, 6).
        f_ext_frame: "world" (world axes about the world origin) or "body", as in
            `inverse_dynamics`.
        axes: "body" (coordinates of each body, spatial accelerations, every joint type; gravity
            accelerates the base) or "inertial" (as the source has it: inertial axes about the
            joint points, classical accelerations, gravity as an external force; hinges, slides and
            screws).  The equations are the same, and so are C, M and qdd.

    Returns:
        An `Operators` object.

    Raises:
        NotApplicableError: if the model has couplings or constraints, if axes="inertial" and a
            joint has no fixed axis, or for a batch of symbols.

    Example:
        >>> import sixfold as sf
        >>> op = sf.operators(sf.load("star:4"), [0.1, 0.2, 0.3, 0.4])
        >>> print(op.Psi)
        Psi_D =
        [  e  0  0  0 ]
        [ D2  e  0  0 ]
        [ D3  0  e  0 ]
        [ D4  0  0  e ]
        >>> op.nilpotency
        2

    Reference: Concurrent Dynamics International, EOM with Newton-Euler Equations, 2017.
    """
    model_checked("operators", model)
    one_of("operators", "axes", AXES, axes)
    one_of("operators", "f_ext_frame", FRAMES, f_ext_frame)
    if f_ext is None and f_ext_frame != "world":
        fix = "pass f_ext, or leave it out"
        raise NotApplicableError("operators: option 'f_ext_frame'", "a call without f_ext", fix)
    if model.couplings or model.constraints:
        what = "couplings" if model.couplings else "constraints"
        fix = "model.without(constraints=True) is the tree alone"
        fix = "use sf.mass_matrix and sf.forward_dynamics" if model.couplings else fix
        raise NotApplicableError("operators", f"model '{model.name}' with {what}", fix)
    arrays = {
        name: Argument(plain_argument("operators", name, x, model, sizes), shape, meaning)
        for name, x, sizes, shape, meaning in (
            ("q", q, "nq", (model.nq,), f"nq coordinates of model '{model.name}'"),
            ("v", v, "nv", (model.nv,), f"nv velocity coordinates of model '{model.name}'"),
            ("f_ext", f_ext, "nb 6", (model.nb, 6), "(nb, 6): one force for each body"),
        )
        if x is not None or name == "q"
    }
    found = {name: checked("operators", name, given) for name, given in arrays.items()}
    lead = leading_shape("operators", arrays, found)
    if lead and any(x.dtype == object for x in found.values()):
        fix = "call it for each state"
        raise NotApplicableError("operators of symbols", f"a batch of states {lead}", fix)
    with enough_memory("operators", f"operators of states {lead}"):
        return _made(model, found, f_ext_frame, axes, lead)


def _made(
    model: Model, found: Mapping[str, Array], f_ext_frame: str, axes: str, lead: Shape
) -> Operators:
    """Return the operators for arrays that were checked."""
    x = model.positions(numbers_of(found["q"], (model.nq,)))
    xd = model.tree.zero_velocities()
    if "v" in found:
        xd = model.velocities(numbers_of(found["v"], (model.nv,)))
    forces: Stack = no_forces(model.tree)
    if "f_ext" in found:
        forces, _ = FORCES.stack(model, found["f_ext"], "operators")
        # each reading takes forces in body coordinates
        forces = forces_from_world(model.tree, x, forces) if f_ext_frame == "world" else forces
    if axes == "body":
        made = page.body_frame(model.tree, x, xd, dict(forces))
        return Operators(model, axes, lead, x, xd, made)
    try:
        made = inertial(model.tree, x, xd, dict(forces))
    except NotApplicableError:
        where = f"model '{model.name}', where a joint has no fixed axis"
        fix = 'leave axes out: "body" takes every joint'
        raise NotApplicableError("operators: axes='inertial'", where, fix) from None
    return Operators(model, axes, lead, x, xd, made)
