"""Models from tables of numbers, as books and lectures print them: DH rows, and Featherstone's
lambda, jtype, X_T and I.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from math import inf, isnan
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sixfold.choices import Convention
from sixfold.errors import ArgumentError, ModelError, TooLargeError, UnknownNameError, one_of, quote
from sixfold.model.body import JOINT_PROPERTIES
from sixfold.model.builder import ModelBuilder
from sixfold.model.joint import Joint
from sixfold.model.model import Model
from sixfold.model.standard_joints import Helical, Prismatic, Revolute
from sixfold.model.validate import MAX_BODIES, inertia_of
from sixfold.spatial import Inertia, Transform


@dataclass(frozen=True)
class DHRow:
    """One row of a table.  Angles in rad, lengths in m.

    For a revolute joint q is added to theta, for a prismatic joint (`sigma=1`) to d.  The inertia
    is given in the row's own DH frame; `properties` are those of `ModelBuilder.add_body`.

    Args:
        a: length along x [m].
        alpha: twist about x [rad].
        d: offset along z [m].
        theta: angle about z [rad].
        sigma: 0 for a revolute joint, 1 for a prismatic one.
        inertia: of the link, in the row's own DH frame; none by default.
        properties: damping, limits and so on of the joint, by name, as in `ModelBuilder.add_body`.

    Example:
        >>> import sixfold as sf
        >>> rod = sf.Inertia.from_mass(1.0, (-0.5, 0, 0))
        >>> turn = sf.DHRow(a=1.0, inertia=rod, properties={"damping": 0.1})
        >>> slide = sf.DHRow(d=0.2, sigma=1)
        >>> model = sf.from_dh([turn, slide], name="turn_and_slide")
        >>> model, model.bodies[1].joint.kind
        (<Model 'turn_and_slide': nb=2, nq=2, nv=2, 1 kg>, 'prismatic')
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    sigma: int = 0
    inertia: Inertia | None = None
    properties: dict[str, Any] | None = None


def from_dh(
    rows: Sequence[DHRow | Sequence[float]],
    *,
    convention: Convention = "standard",
    name: str = "arm",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    friction_speed: float = 0.0,
) -> Model:
    """Return a serial arm from a Denavit-Hartenberg table.

    Args:
        rows: one `DHRow` or tuple (a, alpha, d, theta[, sigma]) for each joint.
        convention: "standard" (Paul, Corke: A = Rz(theta) Tz(d) Tx(a) Rx(alpha), a row's frame at
            the far end of its link) or "modified" (Craig, Khatib: A = Rx(alpha) Tx(a) Rz(theta)
            Tz(d), where a and alpha of row i are those printed as a_(i-1), alpha_(i-1)).
        name: name of the model.
        gravity: in world axes [m/s^2].
        friction_speed: v_s of the friction law [rad/s or m/s].

    Returns:
        A Model with bodies link1..linkN, joints joint1..jointN and the DH frames dh1..dhN.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.from_dh([(1.0, 0, 0, 0), (0.5, 0, 0, 0)], name="planar")
        >>> sf.frame_pose(arm, [0.0, np.pi / 2], "dh2")[:3, 3].round(3)
        array([1. , 0.5, 0. ])
    """
    one_of("from_dh", "convention", get_args(Convention), convention)
    if not isinstance(rows, (list, tuple)) and getattr(rows, "ndim", 0) != 2:
        fix = "pass a list of rows (a, alpha, d, theta[, sigma])"
        raise ArgumentError("from_dh: argument 'rows'", "a list of rows", rows, fix)
    if len(rows) > MAX_BODIES:
        fix = f"give at most {MAX_BODIES:,}, one for each joint"
        raise TooLargeError("from_dh", f"{len(rows)} rows", fix)
    # one body for each row
    builder = ModelBuilder(name, gravity=gravity, friction_speed=friction_speed)
    before = Transform.identity()  # body frame of the last link to where this row starts
    for n, given in enumerate(rows, 1):
        # T = Rz(theta) Tz(d) Tx(a) Rx(alpha) in the standard form, Rx Tx Rz Tz in the modified
        row = _row(n, given)
        joint = Revolute("z") if row.sigma == 0 else Prismatic("z")
        # the four elementary transforms of a row
        across = Transform.translation((row.a, 0.0, 0.0))
        twist = Transform.turn((1.0, 0.0, 0.0), row.alpha)
        fixed = Transform.turn((0.0, 0.0, 1.0), row.theta)
        lift = Transform.translation((0.0, 0.0, row.d))
        if convention == "standard":
            # the joint moves about the old z; the link's own frame sits behind it
            placement = fixed @ before if row.sigma == 0 else lift @ fixed @ before
            after = twist @ across @ (lift if row.sigma == 0 else Transform.identity())
        else:
            placement = lift @ fixed @ across @ twist @ before
            after = Transform.identity()
        # inertias of rows are about the frame of the row
        inertia = None
        if row.inertia is not None:
            inertia = after.T @ inertia_of(f"DH row {n}", row.inertia) @ after
        builder.add_body(
            f"link{n}",
            parent=f"link{n - 1}" if n > 1 else None,
            joint=joint,
            joint_name=f"joint{n}",
            placement=placement,
            inertia=inertia,
            **_properties(n, row.properties),
        )
        # the frame that DH gives the link stands behind the joint
        builder.add_frame(f"dh{n}", f"link{n}", after)
        before = after
    return builder.build()


def _properties(n: int, given: Any) -> dict[str, Any]:
    """Return further options of `ModelBuilder.add_body`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        fix = "pass a dictionary such as {'damping': 0.1}"
        raise ModelError(f"DH row {n}", f"properties are {quote(given)}", fix)
    # the same names as in add_body
    for name in given:
        if name not in JOINT_PROPERTIES:
            raise UnknownNameError("property", name, JOINT_PROPERTIES, where=f"DH row {n}")
    return dict(given)


def _row(n: int, given: DHRow | Sequence[float]) -> DHRow:
    values: Any = given
    if isinstance(given, DHRow):
        values = (given.a, given.alpha, given.d, given.theta, given.sigma)
    try:
        # one more than wanted is enough to see that there are too many
        several = not isinstance(values, (str, bytes, Mapping, Set))
        numbers = [float(x) for x in islice(values, 6)] if several else []
    except Exception:  # a number's or a sequence's own complaint
        numbers = []
    if len(numbers) not in (4, 5) or not all(map(math.isfinite, numbers)):
        raise ModelError(
            f"DH row {n}", f"{quote(values)} is not a row", "give (a, alpha, d, theta[, sigma])"
        )
    # sigma says what moves: theta or d
    a, alpha, d, theta, *sigma = numbers
    if sigma and sigma[0] not in (0.0, 1.0):
        raise ModelError(f"DH row {n}", f"sigma = {sigma[0]}", "give 0 (revolute) or 1 (prismatic)")
    if isinstance(given, DHRow):
        return replace(given, a=a, alpha=alpha, d=d, theta=theta, sigma=int(sigma[0]))
    return DHRow(a, alpha, d, theta, int(sigma[0]) if sigma else 0)


CLOSE = 1e-9  #: How far a given matrix may be from the form that it has to have, for its size.


def from_arrays(
    parent: Sequence[int],
    jtype: str | Sequence[Any],
    Xtree: Sequence[Any],
    inertia: Sequence[Any],
    *,
    name: str = "tree",
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    body_names: Sequence[str] | None = None,
    joint_names: Sequence[str] | None = None,
) -> Model:
    """Return a model from the arrays of a dynamic model: lambda, jtype, X_T and I.

    Bodies are numbered as in Featherstone: 1 to N, and 0 is the fixed base.  Joint i is the joint
    of body i, and its frame is that of body i at q = 0.

    Args:
        parent: lambda, the number of the parent of each body; lambda(i) < i.
        jtype: the type of each joint: a text such as "RPPRRR" or "RzPx", or a list with, for each
            joint, a text "R" or "P" (about and along z), "Rx", "Pz" and so on, a pair ("H", pitch)
            or ("Hy", pitch) for a screw, a number for the pitch of a screw about z [m/rad] (0 is
            revolute, infinity prismatic), or a joint such as `sf.Spherical()`.
        Xtree: X_T, one for each joint: from the parent's frame to the joint's.  A `sf.Transform`, a
            6x6 matrix [[E, 0], [-E r x, E]] on motions (angular part first), a 4x4 matrix with the
            axes and the origin of the joint's frame in the parent's, three numbers for an origin
            alone, or None for the parent's frame itself.
        inertia: I, one for each body, in its frame: a `sf.Inertia`, a 6x6 matrix [[I, m c x],
            [-m c x, m 1]], ten parameters (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz), or None
            for a body without inertia.
        name: name of the model.
        gravity: [m/s^2].
        body_names: names of the bodies; body1, body2 and so on by default.
        joint_names: names of the joints; joint1, joint2 and so on by default.

    Returns:
        A Model; row k of its arrays is body k + 1.

    Raises:
        ArgumentError: if an argument is not an array.
        ModelError: if an array has another length than lambda, or an entry makes no sense; the
            message names the body.

    Example:
        >>> import sixfold as sf
        >>> rod = sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
        >>> arm = sf.from_arrays([0, 1], "RR", [None, (1, 0, 0)], [rod, rod])
        >>> arm.nb, arm.parent
        (2, (-1, 0))

    Reference: Featherstone, Summer Screws 2024, "The dynamic model".
    """
    parents = _entries("parent", parent)
    if len(parents) > MAX_BODIES:
        fix = f"give at most {MAX_BODIES:,}, one for each body"
        raise TooLargeError("from_arrays", f"{len(parents)} bodies", fix)
    n = len(parents)
    # 'RRP' or a list of types
    types = _letters(jtype) if isinstance(jtype, str) else _entries("jtype", jtype)
    # one entry for each body in every column
    columns = {"jtype": types, "Xtree": _entries("Xtree", Xtree)}
    columns["inertia"] = _entries("inertia", inertia)
    for what, names in (("body", body_names), ("joint", joint_names)):
        given = [f"{what}{i}" for i in range(1, n + 1)] if names is None else names
        columns[f"{what}_names"] = _entries(f"{what}_names", given)
    for argument, column in columns.items():
        if len(column) != n:
            what = f"{argument} has {len(column)} entries, parent has {n}"
            raise ModelError("from_arrays", what, "give one entry for each body")
    builder = ModelBuilder(name, gravity=gravity)
    # bodies count from 1, the base is 0
    for k, p in enumerate(parents):
        where = f"from_arrays: body {k + 1}"
        above = _parent(where, p, k)
        builder.add_body(
            columns["body_names"][k],
            parent=columns["body_names"][above - 1] if above else None,
            joint=_joint(where, types[k]),
            joint_name=columns["joint_names"][k],
            placement=_placement(where, columns["Xtree"][k]),
            inertia=_inertia(where, columns["inertia"][k]),
        )
    return builder.build()


def _entries(argument: str, given: Any) -> list[Any]:
    """Return the entries of a list or array."""
    if isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) > 0:
        return list(given)
    where, fix = f"from_arrays: argument '{argument}'", "give a list with one entry for each body"
    raise ArgumentError(where, "a list", given, fix)


def _letters(text: str) -> list[str]:
    """Return the types of a text such as RPPRRR."""
    if not re.fullmatch("(?:[RP][xyz]?)+", text):
        fix = "write R and P, each with an axis x, y or z if it is not z; use a list for others"
        raise ModelError("from_arrays: jtype", f"{quote(text)} does not read as joints", fix)
    return re.findall("[RP][xyz]?", text)


def _parent(where: str, given: Any, k: int) -> int:
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or not 0 <= given <= k:
        what = f"parent is {quote(given)}"
        fix = f"give a number from 0 (the base) to {k}: bodies are numbered parent first"
        raise ModelError(where, what, fix)
    return int(given)


def _joint(where: str, given: Any) -> Joint:
    if isinstance(given, Joint):
        return given
    # 'R', 'Px', ('H', pitch), or a pitch alone as in spatial_v2
    pitch: Any = None
    kind: Any = given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        kind, pitch = given
    elif isinstance(given, Real) and not isinstance(given, bool):
        kind, pitch = "H", given
    if isinstance(kind, str) and re.fullmatch("[RP][xyz]?" if pitch is None else "H[xyz]?", kind):
        axis = kind[1:] or "z"
        if pitch is None:
            return Revolute(axis) if kind[0] == "R" else Prismatic(axis)
        if isinstance(pitch, Real) and not isinstance(pitch, bool) and not isnan(pitch):
            if pitch == 0:
                return Revolute(axis)
            return Prismatic(axis) if pitch == inf else Helical(axis, pitch=float(pitch))
    fix = "give 'R', 'P', 'Rx', ('H', pitch), a pitch (0 turns, infinity slides) or a joint"
    raise ModelError(where, f"jtype is {quote(given)}", fix)


def _numbers(where: str, what: str, given: Any, shapes: Sequence[tuple[int, ...]]) -> NDArray[Any]:
    """Return an array of floats of one of some shapes."""
    try:
        found = np.asarray(given, float)
    except Exception:  # an array's or a number's own complaint
        found = np.full((), np.nan)
    if found.shape not in shapes or not np.isfinite(found).all():
        shape = f", of shape {found.shape}" if found.ndim else ""
        fix = f"give finite numbers of shape {' or '.join(map(str, shapes))}, or an object of sf"
        raise ModelError(where, f"{what} is {quote(given)}{shape}", fix)
    return found


def _close(given: NDArray[Any], wanted: NDArray[Any]) -> bool:
    return bool(np.abs(given - wanted).max() <= CLOSE * max(1.0, float(np.abs(given).max())))


def _placement(where: str, given: Any) -> Transform | None:
    if given is None or isinstance(given, Transform):
        return given
    # an offset, a pose, or a transform of motions
    X = _numbers(where, "Xtree", given, ((6, 6), (4, 4), (3,)))
    if X.shape == (3,):
        return Transform.translation(X.tolist())
    if X.shape == (4, 4):
        if not _close(X[3], np.array([0.0, 0.0, 0.0, 1.0])):
            what = f"the last row of the 4x4 Xtree is {X[3].tolist()}"
            raise ModelError(where, what, "give [[R, p], [0, 1]]")
        return Transform.from_pose(X[:3, :3].tolist(), X[:3, 3].tolist())
    # E and -E r x are the left blocks; r is read off the skew part of -E^T (-E r x)
    E = X[:3, :3]
    rx = -E.T @ X[3:, :3]
    r = np.array([rx[2, 1] - rx[1, 2], rx[0, 2] - rx[2, 0], rx[1, 0] - rx[0, 1]]) / 2
    made = Transform.from_pose(E.T.tolist(), r.tolist())
    if not _close(X, np.asarray(made)):
        what = "the 6x6 Xtree is no transform of motions [[E, 0], [-E r x, E]]"
        fix = "give the matrix of a rotation and an offset, angular part first"
        raise ModelError(where, what, fix)
    return made


def _inertia(where: str, given: Any) -> Inertia | None:
    if given is None or isinstance(given, Inertia):
        return given
    # ten parameters, or the matrix of a rigid body
    I = _numbers(where, "inertia", given, ((6, 6), (10,)))
    if I.shape == (10,):
        return Inertia.from_parameters(I.tolist())
    # take the ten parameters from the blocks, then compare the matrix they make
    moments = (I[:3, :3] + I[:3, :3].T) / 2
    hx = (I[:3, 3:] - I[:3, 3:].T) / 2
    m = float(np.trace(I[3:, 3:])) / 3
    upper = (moments[0, 0], moments[1, 1], moments[2, 2], moments[0, 1], moments[0, 2])
    ten = (m, hx[2, 1], hx[0, 2], hx[1, 0], *upper, moments[1, 2])
    made = Inertia.from_parameters([float(x) for x in ten])
    if not _close(I, np.asarray(made)):
        what = "the 6x6 inertia is not that of a rigid body [[I, m c x], [-m c x, m 1]]"
        raise ModelError(where, what, "give a symmetric matrix of ten numbers, angular part first")
    return made
