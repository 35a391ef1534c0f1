"""Denavit-Hartenberg tables, standard and modified."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, get_args

from sixfold.choices import Convention
from sixfold.errors import (
    ArgumentError,
    ModelError,
    TooLargeError,
    UnknownNameError,
    one_of,
    shown,
)
from sixfold.model.builder import PROPERTIES, ModelBuilder
from sixfold.model.joint.standard import Prismatic, Revolute
from sixfold.model.model import Model
from sixfold.model.values import MAX_BODIES, inertia_of
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
        inertia: of the link, in the row's own DH frame; none if left out.
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
    builder = ModelBuilder(name, gravity=gravity, friction_speed=friction_speed)
    before = Transform.identity()  # body frame of the last link to where this row starts
    for n, given in enumerate(rows, 1):
        row = _row(n, given)
        joint = Revolute("z") if row.sigma == 0 else Prismatic("z")
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
        builder.add_frame(f"dh{n}", f"link{n}", after)
        before = after
    return builder.build()


def _properties(n: int, given: Any) -> dict[str, Any]:
    """Return further options of `ModelBuilder.add_body`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        fix = "pass a dictionary such as {'damping': 0.1}"
        raise ModelError(f"DH row {n}", f"properties are {shown(given)}", fix)
    for name in given:
        if name not in PROPERTIES:
            raise UnknownNameError("property", name, PROPERTIES, where=f"DH row {n}")
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
            f"DH row {n}", f"{shown(values)} is not a row", "give (a, alpha, d, theta[, sigma])"
        )
    a, alpha, d, theta, *sigma = numbers
    if sigma and sigma[0] not in (0.0, 1.0):
        raise ModelError(f"DH row {n}", f"sigma = {sigma[0]}", "0 for revolute, 1 for prismatic")
    if isinstance(given, DHRow):
        return replace(given, a=a, alpha=alpha, d=d, theta=theta, sigma=int(sigma[0]))
    return DHRow(a, alpha, d, theta, int(sigma[0]) if sigma else 0)
