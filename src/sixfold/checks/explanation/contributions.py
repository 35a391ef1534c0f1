"""Joint forces as sums of what each body and each cause adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum, ulp
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.arrays import Array
from sixfold.dynamics.fast.inverse_dynamics import body_forces
from sixfold.dynamics.kinematics import forces_from_world, no_forces
from sixfold.dynamics.passive import passive_force
from sixfold.errors import UnknownNameError, visible
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.scalar import plain as plain_number
from sixfold.show import COLORS, block, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What makes a joint force.  Those of bodies first, then those of the joint itself.
CAUSES = (
    *("inertia", "coriolis", "centrifugal", "gravity", "external"),
    *("armature", "viscous", "dry", "spring"),
)
OF_BODIES = 5
WIDTH, CELL = 80, 13  #: Columns of a printed table, and of one of its numbers.
MAX_NAME = 14  #: Characters of a name in a printed table.
NOISE = 1e-12  #: Numbers below this, relative to the largest of a table, are printed as 0.
MAX_CHANGE = 1e-10  #: Largest relative change of a contribution when rounding is handed out.


@dataclass(frozen=True, eq=False)
class Contributions:
    """What every body and every cause adds to joint forces.

    `math.fsum` of the contributions to a joint force is the joint force.  Each body adds the force
    that its own inertia, weight and load need; what a joint does by itself (armature, friction,
    springs) counts to the body that it carries.  Print it for a table that fits 80 columns.
    """

    model: Model
    quantity: str  #: Such as "inverse_dynamics".
    #: A name for each joint force; `joint.label` where a joint has several.
    joints: tuple[str, ...]
    bodies: tuple[str, ...]  #: Names of the bodies, in the order of axis 1.
    causes: tuple[str, ...]  #: Names of the causes, in the order of axis 2.
    contributions: Array  #: Shape (joint forces, bodies, causes) [N m or N].
    total: Array  #: The joint forces [N m or N].

    @property
    def by_cause(self) -> dict[str, Array]:
        """The sum over all bodies for each cause [N m or N]."""
        return {c: _sums(self.contributions[:, :, k]) for k, c in enumerate(self.causes)}

    @property
    def by_body(self) -> dict[str, Array]:
        """The sum over all causes for each body [N m or N]."""
        return {b: _sums(self.contributions[:, k]) for k, b in enumerate(self.bodies)}

    def __getitem__(self, joint: str) -> Contributions:
        """Return the contributions to the forces of one joint, or to one by its coordinate."""
        names = self.joints
        kept = [k for k, name in enumerate(names) if name == joint]
        kept = kept or [k for k, name in enumerate(names) if name.startswith(f"{joint}.")]
        if not isinstance(joint, str) or not kept:
            raise UnknownNameError("joint", joint, names, where=f"model '{self.model.name}'")
        joints, parts = tuple(names[k] for k in kept), self.contributions[kept]
        return replace(self, joints=joints, contributions=parts, total=self.total[kept])

    def __repr__(self) -> str:
        """Return one line; print the object for a table."""
        about = f"{self.quantity} of '{visible(self.model.name)}'"
        if len(self.joints) > 1:
            return f"<{about}: {len(self.joints)} joint forces, {len(self.bodies)} bodies>"
        largest = max(self.by_cause.items(), key=lambda item: abs(item[1][0]))
        joint = visible(self.joints[0])
        return f"<{about}, joint '{joint}': {self.total[0]:.4g}, most of it {largest[0]}>"

    def __str__(self) -> str:
        """Print a table: bodies and causes of one joint force, or the causes of several."""
        head, rows = self._table()
        scale = max((abs(x) for row in rows for x in row[1:]), default=0.0)
        first = min(MAX_NAME, max(len(visible(row[0])) for row in [head, *rows]))
        per_block = (WIDTH - first) // CELL
        lines = [self._title()]
        for start in range(1, len(head), per_block):
            part = slice(start, start + per_block)
            lines += ["", "".join([f"{head[0]:<{first}}", *(f"{x:>{CELL}}" for x in head[part])])]
            for row in rows:
                cells = (f"{0.0 if abs(x) <= NOISE * scale else x:.4g}" for x in row[part])
                name = f"{_short(row[0], first):<{first}}"
                lines.append("".join([name, *(f"{cell:>{CELL}}" for cell in cells)]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the table, for notebooks; `plot` draws it."""
        head, rows = self._table()
        return block(table(head, rows, self._title()))

    def plot(self) -> Figure:
        """Return a matplotlib figure: a bar for each row of the table, in pieces by cause."""
        names, values, causes = self._rows()
        figure: Figure = optional("matplotlib.figure", "plot").Figure(
            figsize=(8.0, 1.2 + 0.32 * len(names)), layout="constrained"
        )
        axes = figure.subplots()
        for c, cause in enumerate(causes):
            left = [_start(row, c) for row in values]
            axes.barh(names, values[:, c], left=left, color=COLORS[c], label=cause)
        axes.plot(values.sum(axis=1), names, "k|", markersize=14, label="sum")
        axes.axvline(0.0, color="black", linewidth=0.6)
        axes.invert_yaxis()
        axes.set_xlabel("[N m or N]")
        axes.set_title(self._title())
        figure.legend(loc="outside right upper", frameon=False)
        return figure

    def _title(self) -> str:
        joint = f", joint '{_short(self.joints[0], 18)}'" if len(self.joints) == 1 else ""
        return f"{self.quantity} of '{_short(self.model.name, 18)}'{joint} [N m or N]"

    def _rows(self) -> tuple[list[str], Array, list[str]]:
        """Return names, values and causes of the rows to show, without what adds nothing."""
        if len(self.joints) == 1:
            names, values = self.bodies, self.contributions[0]
            kept = np.flatnonzero(values.any(axis=1))
        else:
            names, values = self.joints, np.stack(list(self.by_cause.values()), axis=1)
            kept = np.arange(len(names))
        used = np.flatnonzero(values.any(axis=0))
        causes = [self.causes[c] for c in used]
        return [names[k] for k in kept], values[np.ix_(kept, used)], causes

    def _table(self) -> tuple[list[str], list[list[Any]]]:
        """Return head and rows with sums."""
        names, values, causes = self._rows()
        one = len(self.joints) == 1
        sums = [fsum(row) for row in values] if one else self.total.tolist()
        rows = [[n, *row, x] for n, row, x in zip(names, values.tolist(), sums, strict=True)]
        if one:
            rows.append(["sum", *map(fsum, values.T.tolist()), float(self.total[0])])
        return ["body" if one else "joint", *causes, "sum"], rows


def _short(name: str, width: int) -> str:
    shown = visible(name)
    return shown if len(shown) <= width else shown[: width - 2] + ".."


def _sums(table: Array) -> Array:
    """Return the sum of each row, rounded once."""
    return np.array([fsum(row) for row in table])


def _start(row: Array, c: int) -> float:
    """Return where the piece of a cause begins; signs are stacked away from zero."""
    return fsum(x for x in row[:c] if (x < 0) == (row[c] < 0))


# -- how a joint force is split


def split(model: Model, state: Mapping[str, Array], frame: str) -> Array:
    """Return what each body and cause adds to inverse dynamics, shape (nv, nb, causes).

    The state is q, and v, a and f_ext where they are not zero.

    Inverse dynamics is linear in accelerations, gravity and external forces, and quadratic in
    velocities, so one batch computes it with each of them alone: row 0 accelerations, 1 gravity,
    2 external forces, 3 all velocities, 4 + k velocity k.  Squares of velocities are centrifugal,
    products of two are Coriolis terms.
    """
    tree, n = model.tree, model.nv
    on, zero = np.eye(4 + n), np.zeros(n)
    q, v, a = state["q"], state.get("v", zero), state.get("a", zero)
    x = model.positions(q.tolist())
    xd = model.velocities([v[k] * (on[3] + on[4 + k]) for k in range(n)])
    xdd = model.velocities([a[k] * on[0] for k in range(n)])
    forces = no_forces(tree)
    if "f_ext" in state:
        given = model.wrenches(state["f_ext"].ravel().tolist())
        loads = given if frame == "body" else forces_from_world(tree, x, given)
        forces = {i: loads[i].map(lambda x: x * on[2]) for i in tree.bodies}
    pull = replace(tree, gravity=tree.gravity.map(lambda g: g * on[1]))
    Xup, S, f, *_ = body_forces(pull, x, xd, xdd, forces)

    parts = np.zeros((n, model.nb, len(CAUSES)))
    for j in tree.bodies:
        # the force that this body alone needs, handed from joint to joint to the base
        tau = tree.zero_velocities()
        wrench, i = f[j], j
        while i:
            tau[i] = S[i].T @ wrench
            wrench, i = Xup[i].T @ wrench, tree.parent[i]
        rows = _to_coordinates(model, tau, len(on))
        squares = rows[:, 4:].sum(axis=1)
        products = rows[:, 3] - squares
        # a difference at rounding level is no Coriolis force
        size = np.abs(rows[:, 3:]).sum(axis=1)
        products[np.abs(products) <= 8 * np.finfo(float).eps * size] = 0.0
        alone = (rows[:, 0], products, squares, rows[:, 1], rows[:, 2])
        parts[:, j - 1, :OF_BODIES] = np.stack(alone, axis=1)
    _add_joints(model, x, model.velocities(v.tolist()), model.velocities(a.tolist()), parts)
    return parts


def _add_joints(model: Model, q: Table, qd: Table, qdd: Table, parts: Array) -> None:
    """Add what joints do by themselves to the parts of the bodies that they carry."""
    tree = model.tree
    alone = {
        "viscous": model.without(friction=True, springs=True).tree,
        "dry": model.without(damping=True, springs=True).tree,
        "spring": model.without(damping=True, friction=True).tree,
    }
    for i in tree.bodies:
        own = {cause: passive_force(only, i, q[i], qd[i]) for cause, only in alone.items()}
        for cause, force in (own | {"armature": tree.armature[i] * qdd[i]}).items():
            tau = tree.zero_velocities() | {i: force}
            parts[:, i - 1, CAUSES.index(cause)] = _to_coordinates(model, tau, 1)[:, 0]


def _to_coordinates(model: Model, tau: Table, rows: int) -> Array:
    """Return forces of all joints as those of the model's coordinates, one column a row."""
    out = np.zeros((model.nv, rows))
    for k, force in enumerate(model.gather(tau)):
        out[k] = plain_number(force)
    return out


def hand_out_rounding(parts: Array, total: Array) -> None:
    """Change the largest contributions by rounding, so that their exact sum is the total.

    The kernel of a quantity adds in another order than the sum of its parts.  The difference, some
    1e-16 of the largest part, goes to that part, what is lost there to the next, and so on.
    """
    for terms, value in zip(parts.reshape(len(total), -1), total.tolist(), strict=True):
        for k in np.argsort(-np.abs(terms), kind="stable"):
            rest = fsum([value, *(-terms).tolist()])
            if abs(rest) <= 0.5 * ulp(value):
                break
            if abs(rest) <= MAX_CHANGE * abs(terms[k]):
                terms[k] += rest
