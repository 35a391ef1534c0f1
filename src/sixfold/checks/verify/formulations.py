"""Every formulation of every quantity, and how far each is from the reference.

The reference is recursive Newton-Euler in extended precision.  Each state is judged separately:

- forward dynamics at random tau by the backward error max|tau - ID(q, v, a)| divided by
  ||H|| max|a| + max|C| + max|tau|, or by the largest force through a joint if that is more;
- inverse dynamics by max|tau - tau_ref| divided by max|tau_ref|, or by the largest force through a
  joint if that is more, because joint forces are what is left of those;
- the mass matrix by max|M - M_ref| / max|M_ref|, its inverse W by max|M W - 1| / (||M|| ||W||).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.checks.verify.report import Finding
from sixfold.dynamics.book import lagrange, newton_euler
from sixfold.dynamics.book.aba import aba
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltl, solve_ltl
from sixfold.dynamics.book.operators import equations, inertial_axes
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast import articulated
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.progress import tell
from sixfold.quantities import readings
from sixfold.quantities.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    mass_matrix,
)
from sixfold.runtime import join_numbers as joined
from sixfold.runtime import singular_joints
from sixfold.scalar import ZERO
from sixfold.spatial import Column

Extended = np.longdouble
#: Maximum degrees of freedom for which Lagrange's O(n^4) derivatives are evaluated.
MAX_LAGRANGE_FREEDOMS = 10
#: About 90 roundings of a double: what formulations of one quantity may differ by.
MAX_RELATIVE_ERROR = 2e-14
#: Bodies up to which that limit holds; it grows in proportion for longer trees.
BODIES_OF_LIMIT = 100


def applicable(model: Model) -> dict[str, dict[str, str]]:
    """Return, for each quantity, each formulation with why it is left out (or an empty text)."""
    # formulations with 3-vectors write each joint by its axis
    one_axis = all(body.joint.fixed_axis for body in model.bodies)
    three_vectors = "" if one_axis else "joints with one fixed axis only"
    size = model.tree.nv
    energies = (
        ""
        if size <= MAX_LAGRANGE_FREEDOMS
        else f"{size} degrees of freedom, evaluated up to {MAX_LAGRANGE_FREEDOMS}"
    )
    singular = "a joint has no inertia behind it" if singular_joints(model) else ""
    coupled = "compared without couplings" if model.couplings else ""
    return {
        "inverse dynamics": {
            "rnea": "",
            "rnea (fast)": "",
            "machine code": coupled,
            "newton_euler": three_vectors,
            "lagrange": energies,
            "operators": "",
            "operators (inertial)": three_vectors,
        },
        "mass matrix": {
            "crba": "",
            "machine code": coupled,
            "rnea, unit accelerations": "",
            "lagrange": energies,
            "operators G'(Psi' Q)": "",
            "operators J' Q": "",
        },
        "inverse mass": {
            "operators (19b)": singular,
            "articulated (fast)": singular,
            "machine code": singular or coupled,
        },
        "forward dynamics": {
            "aba": singular,
            "aba (fast)": singular,
            "machine code": singular or coupled,
            "crba + ltdl": singular,
            "crba + ltl": singular,
            "operators (19b)": singular,
            "operators dense (19a)": singular,
            "operators (inertial, 19b)": singular or three_vectors,
        },
    }


def findings(model: Model, q: Array, v: Array, a: Array, tau: Array) -> list[Finding]:
    """Evaluate every formulation that applies on a batch of states and judge it."""
    run = Runner(model, q, v, a, tau)
    found: list[Finding] = []
    # roundings add up along long trees
    limit = MAX_RELATIVE_ERROR * max(1.0, model.nb / BODIES_OF_LIMIT)
    every = applicable(model)
    total = sum(map(len, every.values()))
    for quantity, entries in every.items():
        for name, excuse in entries.items():
            tell(len(found), total)
            if excuse:
                found.append(Finding(quantity, name, None, None, limit, excuse))
                continue
            errors = run.errors(quantity, name)
            # NaN is worse than any error
            worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors))) if len(errors) else 0
            error = float(errors[worst]) if len(errors) else 0.0
            found.append(Finding(quantity, name, error, worst, limit))
    tell(total, total)
    return found


class Runner:
    """Evaluates formulations of the tree (couplings and passive forces aside) on one batch."""

    def __init__(self, model: Model, q: Array, v: Array, a: Array, tau: Array) -> None:
        self.bare = model.without(damping=True, friction=True, springs=True)
        self.model, self.tree, self.n = model, model.tree, len(q)
        self.arrays = (q, v, a)
        self.q, self.v, self.a = self.split(q, v, a)
        self.forces = no_forces(self.tree)
        # the reference: recursive Newton-Euler in extended precision
        wide = self.tree.map(lambda x: Extended(x))
        state = self.split(*(x.astype(Extended) for x in (q, v, a)))
        with np.errstate(all="ignore"):
            tau_ref, f_ref = rnea(wide, *state, self.forces)
            self.tau_ref = self.flat(tau_ref, Extended)
            through = [x for i in self.tree.bodies for x in (*f_ref[i].ang, *f_ref[i].lin)]
            self.force_size = np.abs(joined(through, (self.n,), (len(through),), float))
            still = {i: Column.zero(len(x)) for i, x in state[1].items()}
            self.bias_ref = self.flat(rnea(wide, *state[:2], still, self.forces)[0], Extended)
            self.mass_ref = self.unit_columns(wide, state[0], Extended)
        self.wide, self.wide_state = wide, state
        # applied forces of the size that the motion itself needs
        size = np.abs(self.tau_ref).max(initial=0.0).astype(float)
        self.tau = self.flat(model.velocities([size * x for x in tau.T]))

    def errors(self, quantity: str, name: str) -> Array:
        """Return the error of one formulation at each state."""
        with np.errstate(all="ignore"):
            value = COMPUTE[quantity][name](self)
        if quantity == "forward dynamics":
            return self._backward_error(value)
        if quantity == "inverse mass":
            return self._inverse_error(value)
        if quantity == "inverse dynamics":
            # relative to the largest force through a joint: joint forces are what is left of it
            size = np.maximum(_max(np.abs(self.tau_ref)), _max(self.force_size))
            return _ratio(_max(np.abs(value - self.tau_ref)), size)
        size = np.abs(self.mass_ref).max(axis=(1, 2), initial=0.0)
        return _ratio(np.abs(value - self.mass_ref).max(axis=(1, 2), initial=0.0), size)

    def _inverse_error(self, inverse: Array) -> Array:
        unit = np.eye(self.tree.nv)
        residual = np.abs(np.einsum("nij,njk->nik", self.mass_ref, inverse) - unit)
        # max|M W - 1| / (||M|| ||W||)
        sizes = [_max(np.abs(x).sum(axis=-1)) for x in (self.mass_ref, inverse)]
        return _ratio(residual.max(axis=(1, 2), initial=0.0), sizes[0] * sizes[1])

    def _backward_error(self, acc: Array) -> Array:
        with np.errstate(all="ignore"):
            columns = self.columns(acc.astype(Extended))
            back = self.flat(
                rnea(self.wide, *self.wide_state[:2], columns, self.forces)[0], Extended
            )
        # backward error: residual over ||H|| max|a| + max|C| + max|tau|
        rows = np.abs(self.mass_ref).sum(axis=-1)
        size = _max(rows) * _max(np.abs(acc)) + _max(np.abs(self.bias_ref)) + _max(np.abs(self.tau))
        return _ratio(_max(np.abs(back - self.tau)), np.maximum(size, _max(self.force_size)))

    def split(self, q: Array, v: Array, a: Array) -> tuple[Table, Table, Table]:
        """Return positions, velocities and accelerations by body."""
        listed = [[x[:, k] for k in range(x.shape[1])] for x in (q, v, a)]
        model = self.model
        return model.positions(listed[0]), model.velocities(listed[1]), model.velocities(listed[2])

    def columns(self, flat: Array) -> Table:
        """Return forces of all joints by body."""
        return {
            i: Column(flat[:, k] for k in range(s.start, s.stop))
            for i, s in enumerate(self.tree.velocity_slices)
            if i
        }

    def flat(self, table: Table, dtype: Any = float) -> Array:
        """Return numbers by body as an array."""
        return self.stack([x for i in self.tree.bodies for x in table[i]], dtype)

    def stack(self, values: Any, dtype: Any = float) -> Array:
        """Return numbers of all joints as an array."""
        return joined(values, (self.n,), (self.tree.nv,), dtype)

    def matrix(self, rows: Any, dtype: Any = float) -> Array:
        """Return rows as matrices."""
        size = self.tree.nv
        return joined([x for row in rows for x in row], (self.n,), (size, size), dtype)

    def unit_columns(self, tree: Tree, q: Table, dtype: Any) -> Array:
        """Return the mass matrix by unit accelerations, one after the other."""
        still = {i: Column.zero(tree.joint[i].nv) for i in tree.bodies}
        # column k of M = rnea(q, 0, e_k) without gravity
        weightless = _without_gravity(tree)
        rows = []
        for i in tree.bodies:
            for k in range(tree.joint[i].nv):
                unit = Column(1.0 if m == k else ZERO for m in range(tree.joint[i].nv))
                tau, _ = rnea(weightless, q, still, {**still, i: unit}, self.forces)
                rows.append([x for j in tree.bodies for x in tau[j]])
        return self.matrix(rows, dtype)

    # -- the formulations

    def body_frame(self) -> equations.System:
        """Return the operators in body coordinates."""
        return equations.body_frame(self.tree, self.q, self.v, self.forces)

    def inertial(self) -> equations.System:
        """Return the operators in inertial axes."""
        return inertial_axes.inertial(self.tree, self.q, self.v, self.forces)

    def applied_forces(self) -> Table:
        """Return the joint forces of forward dynamics."""
        return self.columns(self.tau)

    def lagrange(self) -> Array:
        """Return joint forces by Lagrange's form."""
        bare = without_springs(self.tree)
        values = lagrange.lagrange(bare, self.q, self.v, self.a, self.forces)
        return self.stack(values)

    def forward(self, method: str) -> Array:
        """Return accelerations by a method of `forward_dynamics`."""
        page = readings.METHODS[method]
        return self.flat(page(self.tree, self.q, self.v, self.applied_forces(), self.forces))

    def by_ltl(self) -> Array:
        """Return accelerations by the factor L^T L."""
        still = {i: Column.zero(len(x)) for i, x in self.v.items()}
        C = self.flat(rnea(self.tree, self.q, self.v, still, self.forces)[0])
        # H = L^T L, then two triangular solves of H a = tau - C
        H = dense(self.tree, crba(self.tree, self.q))
        rhs = self.tau - C
        L = ltl(H, self.tree.dof_parent)
        x = solve_ltl(L, self.tree.dof_parent, [rhs[:, k] for k in range(self.tree.nv)])
        return joined(x, (self.n,), (self.tree.nv,), float)

    def compiled_forward(self) -> Array:
        """Return accelerations by machine code."""
        q, v, _ = self.arrays
        return forward_dynamics(self.bare, q, v, self.tau)


COMPUTE: dict[str, dict[str, Callable[[Runner], Array]]] = {
    "inverse dynamics": {
        "rnea": lambda r: r.flat(rnea(r.tree, r.q, r.v, r.a, r.forces)[0]),
        "rnea (fast)": lambda r: r.flat(joint_forces(r.tree, r.q, r.v, r.a, r.forces)[0]),
        "machine code": lambda r: inverse_dynamics(r.bare, *r.arrays),
        "newton_euler": lambda r: r.flat(
            newton_euler.newton_euler(r.tree, r.q, r.v, r.a, r.forces)
        ),
        "lagrange": lambda r: r.lagrange(),
        "operators": lambda r: r.flat(equations.joint_forces(r.body_frame(), r.a)),
        "operators (inertial)": lambda r: r.flat(equations.joint_forces(r.inertial(), r.a)),
    },
    "mass matrix": {
        "crba": lambda r: r.matrix(dense(r.tree, crba(r.tree, r.q))),
        "machine code": lambda r: mass_matrix(r.bare, r.arrays[0]),
        "rnea, unit accelerations": lambda r: r.unit_columns(r.tree, r.q, float),
        "lagrange": lambda r: r.matrix(lagrange.mass_matrix(r.tree, r.q)),
        "operators G'(Psi' Q)": lambda r: r.matrix(equations.mass_matrix(r.body_frame())),
        "operators J' Q": lambda r: r.matrix(equations.mass_matrix_as_printed(r.body_frame())),
    },
    "inverse mass": {
        "operators (19b)": lambda r: r.matrix(equations.inverse_mass_matrix(r.body_frame())),
        "articulated (fast)": lambda r: r.matrix(articulated.inverse_mass_matrix(r.tree, r.q)),
        "machine code": lambda r: inverse_mass_matrix(r.bare, r.arrays[0]),
    },
    "forward dynamics": {
        "aba": lambda r: r.flat(aba(r.tree, r.q, r.v, r.applied_forces(), r.forces)),
        "aba (fast)": lambda r: r.forward("aba"),
        "machine code": lambda r: r.compiled_forward(),
        "crba + ltdl": lambda r: r.forward("crba"),
        "crba + ltl": lambda r: r.by_ltl(),
        "operators (19b)": lambda r: r.forward("operators"),
        "operators dense (19a)": lambda r: r.forward("operators_dense"),
        "operators (inertial, 19b)": lambda r: r.flat(
            equations.solve_factorised(r.inertial(), r.applied_forces())
        ),
    },
}


def _without_gravity(tree: Tree) -> Tree:
    return replace(tree, gravity=tree.gravity * ZERO)


def without_springs(tree: Tree) -> Tree:
    """Return the tree without springs, which are no part of joint forces here."""
    return replace(tree, stiffness=tuple(Column.zero(len(x)) for x in tree.stiffness))


def _ratio(error: Array, size: Array) -> Array:
    return (error / np.where(size == 0, 1, size)).astype(float)


def _max(x: Array) -> Array:
    return x.max(axis=-1, initial=0.0)
