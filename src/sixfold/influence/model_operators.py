"""The influence operators of a model at a state, and the equations made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators import equations as page
from sixfold.dynamics.book.operators.operators import Stack, spread
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import ShapeError, visible
from sixfold.evaluate import enough_memory, refuse_singular
from sixfold.influence.block_operator import BlockOperator
from sixfold.influence.makers import Maker
from sixfold.influence.solution import DENSE, FACTORISED, OperatorSolution, solution
from sixfold.influence.stacks import FORCES, FREEDOMS, MOTIONS, Space, shaped
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.scalar import Scalar
from sixfold.spatial import Column


@dataclass(frozen=True, eq=False)
class Operators:
    """The influence operators of a model at a state, in the letters of the source.

    Operators: `Phi`, `Psi` = (e - Phi)^-1, the shifts `D`, the joint maps `G`, the mass matrices of
    the bodies `M`, the branch inertias `J`, `R` = G^T J G, the gains `K` = J G R^-1, `beta` =
    (e - G K^T) D with `Psi_beta`, and the identity `e`.  Stacks: `A`, `B`, `YF`.  Each operator has
    its transpose `.T`; see `BlockOperator`.
    """

    model: Model
    axes: str
    lead: Shape
    """Leading axes of the state."""
    positions: Table
    velocities: Table
    system: page.System
    """The blocks and stacks as the page has them, by body."""

    # -- operators

    @cached_property
    def e(self) -> BlockOperator:
        """The identity; beside an operator it has that operator's size."""
        return self._make.identity(MOTIONS)

    @cached_property
    def Phi(self) -> BlockOperator:
        """Phi_D, with block (i, parent of i) = D_i; each child takes its parent's value."""
        return self._make.influence(self.system.D, "D", "D")

    @cached_property
    def Psi(self) -> BlockOperator:
        """Psi_D = (e - Phi_D)^-1, the sweep from the base to the tips."""
        return self._make.propagation(self.system.D, "D", "D")

    @cached_property
    def Psi_beta(self) -> BlockOperator:
        """Psi_beta = (e - Phi_beta)^-1, the sweep of (19b), where joints yield."""
        return self._make.propagation(self._shifts, "b", r"\beta")

    @cached_property
    def D(self) -> BlockOperator:
        """Shifts from the parent's joint to this one; zero for bodies on the base."""
        return self._make.shifts("D", "D", "D", self.system.D)

    @cached_property
    def beta(self) -> BlockOperator:
        """beta_i = (e - G_i K_i^T) D_i, shifts that the joints yield to."""
        return self._make.shifts("beta", "b", r"\beta", self._shifts)

    @cached_property
    def G(self) -> BlockOperator:
        """Joint maps, 6 x n_i, from rates of the freedoms to motions."""
        return self._make.diagonal("G", FREEDOMS, MOTIONS, self.system.G)

    @cached_property
    def M(self) -> BlockOperator:
        """Mass matrices of the bodies about their joints (16)."""
        return self._make.inertias("M", self.system.M)

    @cached_property
    def J(self) -> BlockOperator:
        """Branch inertias, what a body with all it carries resists when joints beyond yield."""
        return self._make.inertias("J", self._branches.J)

    @cached_property
    def K(self) -> BlockOperator:
        """Gains K_i = J_i G_i R_i^-1."""
        return self._make.diagonal("K", FREEDOMS, FORCES, self._branches.K)

    @cached_property
    def R(self) -> BlockOperator:
        """R_i = G_i^T J_i G_i, what joint i feels when the joints beyond are free."""
        return self._make.joint_matrices(self._branches.R)

    # -- stacks

    @property
    def A(self) -> Array:
        """Acceleration that does not come from qdd (5a), shape (..., nb, 6)."""
        return MOTIONS.array(self.model, self.system.A, self.lead)

    @property
    def B(self) -> Array:
        """Nonlinear force (17), shape (..., nb, 6)."""
        return FORCES.array(self.model, self.system.B, self.lead)

    @property
    def YF(self) -> Array:
        """Y^T Fbar, external forces moved to the joints (11), shape (..., nb, 6)."""
        return FORCES.array(self.model, self.system.YF, self.lead)

    @property
    def C(self) -> Array:
        """Bias G^T Psi^T (M Psi A + B - Y^T Fbar) (18b), shape (..., nv)."""
        return FREEDOMS.array(self.model, page.bias(self.system), self.lead)

    @property
    def nilpotency(self) -> int:
        """The least m with Phi^m = 0, the number of bodies on the longest path."""
        return self.system.Phi.nilpotency

    def branch_inertias(self) -> Array:
        """Return J_i of every body, shape (..., nb, 6, 6), in the axes of this reading.

        Returns:
            Symmetric matrices on motions; see also `sf.branch_inertias`.
        """
        return self._matrices(self._branches.J)

    def mass_matrix(self) -> Array:
        """Return the system mass matrix G^T Psi^T M Psi G (18c), shape (..., nv, nv), in O(N^2).

        Returns:
            The same as `sf.mass_matrix`, rotors included.
        """
        return self._square(page.mass_matrix(self.system))

    def accelerations(self, qdd: ArrayLike) -> Array:
        """Return vdot = Psi (G qdd + A) (7).

        Args:
            qdd: joint accelerations, shape (..., nv).

        Returns:
            Accelerations of the bodies, shape (..., nb, 6).
        """
        return self._of(MOTIONS, page.accelerations, "accelerations", qdd)

    def interbody_forces(self, qdd: ArrayLike) -> Array:
        """Return F = Psi^T (M Psi (G qdd + A) + B - Y^T Fbar) (15).

        Args:
            qdd: joint accelerations, shape (..., nv).

        Returns:
            Forces through the joints (n; f), shape (..., nb, 6).
        """
        return self._of(FORCES, page.interbody_forces, "interbody_forces", qdd)

    def joint_forces(self, qdd: ArrayLike) -> Array:
        """Return f = G^T F (18a), and what the rotors take: inverse dynamics.

        Args:
            qdd: joint accelerations, shape (..., nv).

        Returns:
            Net forces along the freedoms, shape (..., nv); without springs, damping and friction.
        """
        return self._of(FREEDOMS, page.joint_forces, "joint_forces", qdd)

    # -- the two solutions

    def equation_19a(self, tau: ArrayLike) -> OperatorSolution:
        """Return qdd = M^-1 (f - C) with every step: O(N^3).

        Args:
            tau: joint forces [N m or N], shape (..., nv); f is tau less springs, damping and
                friction of the model.

        Returns:
            The steps f, A, B, YF, C, x, M, L, d and qdd.
        """
        with enough_memory("equation_19a", "all steps"):
            return self._dense(*self._net("equation_19a", tau))

    def _dense(self, f: Table, lead: Shape) -> OperatorSolution:
        s = page.dense_steps(self.system, f)
        values = self._first(f, s.C, s.x, lead)
        values |= {"M": self._square(s.M), "L": self._square(_with_ones(s.L))}
        values |= {"d": shaped(list(s.d), self.lead, (self.model.nv,))}
        values |= {"qdd": FREEDOMS.array(self.model, s.qdd, lead)}
        return solution("(19a)", DENSE, values)

    def equation_19b(self, tau: ArrayLike) -> OperatorSolution:
        """Return qdd = [e - K^T Phi Psi_b G] R^-1 [e - G^T Psi_b^T Phi^T K] (f - C): O(N).

        Args:
            tau: joint forces [N m or N], shape (..., nv); f is tau less springs, damping and
                friction of the model.

        Returns:
            The steps f, A, B, YF, C, x, J, R, K, beta, Kx, Phi_Kx, z, y, w, Gw,
            Psi_Gw, u and qdd.
        """
        with enough_memory("equation_19b", "all steps"):
            return self._factorised(*self._net("equation_19b", tau))

    def _factorised(self, f: Table, lead: Shape) -> OperatorSolution:
        C = page.bias(self.system)
        x = {i: Column(f[i]) - C[i] for i in f}
        s = page.factor_steps(self.system, self._branches, x)
        values = self._first(f, C, x, lead)
        values |= {"J": self.branch_inertias(), "R": self.R.dense()}
        columns = [c for i in self.model.tree.bodies for c in self._branches.K[i].columns]
        flat = [each for c in columns for each in (*c.ang, *c.lin)]
        values |= {"K": shaped(flat, self.lead, (self.model.nv, 6))}
        values |= {"beta": self._matrices(self._shifts)}
        spaces = (FORCES, FORCES, FORCES, FREEDOMS, FREEDOMS, MOTIONS, MOTIONS, MOTIONS, FREEDOMS)
        for name, space, stack in zip(s._fields, spaces, s, strict=True):
            values[name] = space.array(self.model, stack, lead)
        return solution("(19b)", FACTORISED, values)

    # -- how they are made

    @cached_property
    def _make(self) -> Maker:
        return Maker(self.model, self.lead)

    @cached_property
    def _branches(self) -> page.Branches:
        refuse_singular(self.model)
        return page.branch_inertias(self.system)

    @cached_property
    def _shifts(self) -> dict[int, page.Beta]:
        return page.yielding_shifts(self.system, self._branches.K)

    def _net(self, where: str, tau: ArrayLike) -> tuple[Table, Shape]:
        given, lead = FREEDOMS.stack(self.model, tau, where)
        passive = passive_forces(self.model.tree, self.positions, self.velocities)
        f = {i: given[i] - passive[i] for i in given}
        return f, self._lead(where, lead)

    def _lead(self, where: str, lead: Shape) -> Shape:
        try:
            return np.broadcast_shapes(self.lead, lead)
        except ValueError:
            expected = f"leading axes that fit {self.lead}, those of the state"
            fix = "give one vector for each state, or one for all"
            raise ShapeError(where, "x", expected, lead, fix) from None

    def _first(self, f: Stack, C: Stack, x: Stack, lead: Shape) -> dict[str, Array]:
        known = {"A": self.A, "B": self.B, "YF": self.YF}
        stacks = {name: FREEDOMS.array(self.model, y, lead) for name, y in (("f", f), ("x", x))}
        bias = {"C": FREEDOMS.array(self.model, C, self.lead)}
        return {"f": stacks["f"], **known, **bias, "x": stacks["x"]}

    def _of(self, space: Space, equation: Callable[..., Stack], where: str, qdd: Any) -> Array:
        with enough_memory(where, "the stack"):
            stack, lead = FREEDOMS.stack(self.model, qdd, where)
            return space.array(self.model, equation(self.system, stack), self._lead(where, lead))

    def _square(self, rows: list[list[Scalar]]) -> Array:
        n = self.model.nv
        return shaped([x for row in rows for x in row], self.lead, (n, n))

    def _matrices(self, blocks: Mapping[int, Any]) -> Array:
        flat = [x for i in self.model.tree.bodies for row in spread(blocks[i]) for x in row]
        return shaped(flat, self.lead, (self.model.nb, 6, 6))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the operators that were made of it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    # -- what they look like

    def __repr__(self) -> str:
        """Say what it is in one line."""
        several = f", {' x '.join(map(str, self.lead))} states" if self.lead else ""
        sizes = f"{self.model.nb} bodies, {self.model.nv} freedoms{several}"
        name = visible(self.model.name)
        return f"<operators of '{name}': {sizes}, nilpotency {self.nilpotency}, {self.axes} axes>"

    def __str__(self) -> str:
        """Print Phi and Psi."""
        return f"{self!r}\n{self.Phi}\n{self.Psi}"

    def _repr_html_(self) -> str:
        """Return tables of Phi and Psi for notebooks."""
        return f"{self.Phi._repr_html_()}{self.Psi._repr_html_()}"

    def _repr_latex_(self) -> str | None:
        """Return Phi and Psi for notebooks."""
        return self.Phi._repr_latex_()


def _with_ones(L: list[list[Scalar]]) -> list[list[Scalar]]:
    """Return a unit triangular matrix with its diagonal."""
    return [[1.0 if r == c else x for c, x in enumerate(row)] for r, row in enumerate(L)]
