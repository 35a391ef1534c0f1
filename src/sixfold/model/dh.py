"""Denavit-Hartenberg tables, standard and modified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sixfold.errors import ModelError, OptionError
from sixfold.model.builder import ModelBuilder
from sixfold.model.joints import Prismatic, Revolute
from sixfold.model.model import Model
from sixfold.spatial import Inertia, Transform


@dataclass(frozen=True)
class DHRow:
    """One row of a table.  Angles in rad, lengths in m.

    For a revolute joint q is added to theta, for a prismatic joint (`sigma=1`) to d.  The inertia
    is given in the row's own DH frame; `properties` are those of `ModelBuilder.add_body`.
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
    convention: str = "standard",
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
        gravity: [m/s^2].
        friction_speed: v_s of the friction law.

    Returns:
        A Model with bodies link1..linkN, joints joint1..jointN and the DH frames dh1..dhN.
    """
    if convention not in ("standard", "modified"):
        raise OptionError("from_dh", "convention", ("standard", "modified"), convention)
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
        inertia = None if row.inertia is None else after.T @ row.inertia @ after
        builder.add_body(
            f"link{n}",
            parent=f"link{n - 1}" if n > 1 else None,
            joint=joint,
            joint_name=f"joint{n}",
            placement=placement,
            inertia=inertia,
            **(row.properties or {}),
        )
        builder.add_frame(f"dh{n}", f"link{n}", after)
        before = after
    return builder.build()


def _row(n: int, given: DHRow | Sequence[float]) -> DHRow:
    values: Any = given
    if isinstance(given, DHRow):
        values = (given.a, given.alpha, given.d, given.theta, given.sigma)
    try:
        numbers = [] if isinstance(values, str) else [float(x) for x in values]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) not in (4, 5) or not all(map(math.isfinite, numbers)):
        raise ModelError(
            f"DH row {n}", f"{values!r} is not a row", "give (a, alpha, d, theta[, sigma])"
        )
    a, alpha, d, theta, *sigma = numbers
    if sigma and sigma[0] not in (0.0, 1.0):
        raise ModelError(f"DH row {n}", f"sigma = {sigma[0]}", "0 for revolute, 1 for prismatic")
    if isinstance(given, DHRow):
        return given
    return DHRow(a, alpha, d, theta, int(sigma[0]) if sigma else 0)
