"""What a mechanism can do: freedoms left by its constraints, and rows that say nothing new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.constraints.assemble import assemble
from sixfold.errors import NotApplicableError
from sixfold.evaluate import constraint_jacobian, integrate, model_checked
from sixfold.model import Model
from sixfold.show import block, table

RANK_TOLERANCE = 1e-10
"""Singular values up to here, of the largest, are zero: the loops are closed to 1e-11, and J
changes by about as much as its gaps."""
SAMPLES = 4
"""Assembled configurations near the given one; the largest rank among them is the generic one."""


@dataclass(frozen=True)
class Mobility:
    """What the constraints of a model leave of its freedoms."""

    freedoms: int
    """Of the tree, nv."""
    rows: int
    """Of the constraints, nc."""
    rank: int
    """Independent rows."""
    singular: bool
    """At the given configuration fewer rows are independent than near it."""

    @property
    def mobility(self) -> int:
        """Freedoms that are left."""
        return self.freedoms - self.rank

    @property
    def redundant(self) -> int:
        """Rows that follow from the others; their forces are not determined by the motion."""
        return self.rows - self.rank

    def __str__(self) -> str:
        """Return one line."""
        text = f"{self.freedoms} freedoms, {self.rows} rows, {self.redundant} of them redundant"
        more = "; singular configuration" if self.singular else ""
        return f"{text}: mobility {self.mobility}{more}"

    def _repr_html_(self) -> str:
        """Return a table, for notebooks."""
        head = ("freedoms", "rows", "independent", "redundant", "mobility", "singular")
        counted = (self.freedoms, self.rows, self.rank, self.redundant, self.mobility)
        return block(table(head, [(*counted, "yes" if self.singular else "no")]))


def mobility(model: Model, q: ArrayLike | None = None) -> Mobility:
    """Return how many freedoms the constraints of a model leave, and how many rows are redundant.

    Kutzbach's count nv - nc is wrong for many mechanisms, planar ones in space first of all; here
    the rank of the constraint Jacobian is taken at the configuration and near it.

    Args:
        model: a robot with constraints.
        q: a configuration [rad or m], shape (nq,), assembled first if it gapes; near the neutral
            one if left out.

    Returns:
        A `Mobility` with freedoms (nv), rows (nc), rank, redundant, mobility and singular: whether
        fewer rows are independent at q than near it.

    Raises:
        StateError: if the loops cannot be closed from there.
        NotApplicableError: if the model has no constraints.

    Example:
        >>> import sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> print(sf.mobility(model, [1.0, -1.0, 1.0]))
        3 freedoms, 5 rows, 3 of them redundant: mobility 1
    """
    model_checked("mobility", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints beside its joints"
        raise NotApplicableError("mobility", where, "its mobility is model.nv")
    at = assemble(model, q)
    if at.ndim != 1:
        fix = "call it for one configuration after the other"
        raise NotApplicableError("mobility", f"a batch of configurations {at.shape[:-1]}", fix)
    here = _rank(constraint_jacobian(model, at))
    rng = np.random.default_rng(0)
    near = [here]
    for _ in range(SAMPLES):
        J = constraint_jacobian(model, at)
        # along the motions that are left, then back to the constraints
        _, s, Vt = np.linalg.svd(J)
        free = Vt[_count(s) :]
        step = rng.normal(size=len(free)) @ free * 0.1
        near.append(_rank(constraint_jacobian(model, assemble(model, integrate(model, at, step)))))
    return Mobility(model.nv, model.nc, max(near), here < max(near))


def _rank(J: Array) -> int:
    return _count(np.linalg.svd(J, compute_uv=False))


def _count(s: Array) -> int:
    return int((s > RANK_TOLERANCE * s.max(initial=0.0)).sum()) if len(s) and s[0] > 0 else 0
