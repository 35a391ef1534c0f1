"""Influence operators of a model at a state, and equations solved with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators import equations as page
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.book.operators.operators import (
    BlockMatrix,
    Influence,
    Propagation,
    Stack,
    spread,
)
from sixfold.dynamics.kinematics import forces_from_world, no_forces
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import NotApplicableError, ShapeError, UnknownNameError, one_of, visible
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.operators.block_operator import (
    FORCES,
    JOINTS,
    MOTIONS,
    BlockOperator,
    Space,
    formula_html,
    numbers_of,
    reshape_numbers,
)
from sixfold.runtime import (
    Argument,
    checked_array,
    enough_memory,
    leading_shape,
    plain_argument,
    refuse_singular,
    require_model,
)
from sixfold.scalar import ZERO, Scalar, dot
from sixfold.spatial import Column

Run = Callable[[Stack], Stack]
Later = Callable[[], BlockOperator]
#: Where the transpose of an operator acts.
DUAL = {MOTIONS: FORCES, FORCES: MOTIONS, JOINTS: JOINTS}


@dataclass(frozen=True)
class Maker:
    """Makes operators for a model at a state with leading axes."""

    model: Model
    lead: Shape

    def __call__(
        self, name: str, latex: str, takes: Space, gives: Space, *how: Any, **more: Any
    ) -> BlockOperator:
        """Make an operator from what it does, its blocks and its transpose."""
        return BlockOperator(name, latex, self.model, takes, gives, self.lead, *how, **more)

    def identity(self, space: Space) -> BlockOperator:
        """Return e."""
        tree = self.model.tree
        sizes = {i: tree.joint[i].nv if space is JOINTS else 6 for i in tree.bodies}

        def whole() -> BlockMatrix:
            ones = {(i, i): units(n) for i, n in sizes.items()}
            return BlockMatrix(sizes, sizes, ones, dict.fromkeys(ones, "e"))

        def itself() -> BlockOperator:
            return made

        def back() -> BlockOperator:
            return self.identity(DUAL[space])

        made = self("e", "e", space, space, dict, whole, back, itself, identity=self.identity)
        return made

    def influence(self, A: Stack, letter: str, latex: str) -> BlockOperator:
        """Return Phi_A, which knows Psi_A."""
        phi = Influence(self.model.tree, A, letter)

        def psi() -> BlockOperator:
            return self.propagation(A, letter, latex)

        back: BlockOperator
        name, symbol = f"Phi_{letter}", f"\\Phi_{{{latex}}}"
        forth = self(
            *(name, symbol, MOTIONS, MOTIONS, phi.__matmul__, phi.blocks, lambda: back),
            resolvent=psi,
        )
        back = self(
            *(f"{name}^T", f"{symbol}^T", FORCES, FORCES, phi.T.__matmul__, phi.T.blocks),
            lambda: forth,
            resolvent=lambda: psi().T,
        )
        return forth

    def propagation(self, A: Stack, letter: str, latex: str) -> BlockOperator:
        """Return Psi_A, whose inverse is e - Phi_A."""
        psi = Propagation(self.model.tree, A, letter)

        def inverse() -> BlockOperator:
            return self.identity(MOTIONS) - self.influence(A, letter, latex)

        back: BlockOperator
        name, symbol = f"Psi_{letter}", f"\\Psi_{{{latex}}}"
        forth = self(
            *(name, symbol, MOTIONS, MOTIONS, psi.__matmul__, psi.blocks, lambda: back), inverse
        )
        back = self(
            *(f"{name}^T", f"{symbol}^T", FORCES, FORCES, psi.T.__matmul__, psi.T.blocks),
            lambda: forth,
            lambda: inverse().T,
        )
        return forth

    def with_transpose(
        self,
        names: tuple[str, str],
        spaces: tuple[Space, Space],
        run: Run,
        run_back: Run,
        whole: Any,
    ) -> BlockOperator:
        """Return an operator that knows its transpose, from what both do and its blocks."""
        (name, latex), (takes, gives) = names, spaces
        back: BlockOperator
        forth = self(name, latex, takes, gives, run, whole, lambda: back)
        more = (run_back, lambda: whole().T, lambda: forth)
        back = self(f"{name}^T", f"{latex}^T", DUAL[gives], DUAL[takes], *more)
        return forth

    def diagonal(self, name: str, takes: Space, gives: Space, blocks: Stack) -> BlockOperator:
        """Return a block diagonal, for example of joint maps (6 x n_i)."""

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: blocks[i] for i in self.model.tree.bodies}, name)

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] for i in x}

        def run_back(x: Stack) -> Stack:
            return {i: blocks[i].T @ x[i] for i in x}

        return self.with_transpose((name, name), (takes, gives), run, run_back, whole)

    def inertias(self, name: str, blocks: Stack) -> BlockOperator:
        """Return a block diagonal of symmetric matrices from motions to forces."""

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: blocks[i] for i in self.model.tree.bodies}, name)

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] for i in x}

        made: BlockOperator
        made = self(name, name, MOTIONS, FORCES, run, whole, lambda: made)
        return made

    def joint_matrices(self, R: Stack) -> BlockOperator:
        """Return a block diagonal of joint matrices, which knows its inverse."""
        bodies = self.model.tree.bodies

        def run(x: Stack) -> Stack:
            return {i: Column(dot(row, x[i]) for row in R[i].rows) for i in x}

        def solve(x: Stack) -> Stack:
            return {i: x[i] / R[i] for i in x}

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: R[i].rows for i in bodies}, "R")

        def inverses() -> BlockMatrix:
            ones = {i: units(len(R[i].rows)) for i in bodies}
            rows = {i: tuple(tuple(R[i].solve(unit)) for unit in ones[i]) for i in bodies}
            return BlockMatrix.diagonal(rows, "1/R")

        def forth() -> BlockOperator:
            return made

        def inverse() -> BlockOperator:
            return other

        made = self("R", "R", JOINTS, JOINTS, run, whole, forth, inverse)
        other = self("R^-1", "R^{-1}", JOINTS, JOINTS, solve, inverses, inverse, forth)
        return made

    def shifts(
        self, name: str, letter: str, latex: str, blocks: Mapping[int, Any]
    ) -> BlockOperator:
        """Return a block diagonal of shifts; bodies on the base have none (D_1 = 0)."""
        tree = self.model.tree
        inner = [i for i in tree.bodies if tree.parent[i]]

        def whole() -> BlockMatrix:
            found = {(i, i): spread(blocks[i]) for i in inner}
            return BlockMatrix.square(tree, found, {at: f"{letter}{at[0]}" for at in found})

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] if tree.parent[i] else x[i] * ZERO for i in x}

        def run_back(x: Stack) -> Stack:
            return {i: blocks[i].T @ x[i] if tree.parent[i] else x[i] * ZERO for i in x}

        return self.with_transpose((name, latex), (MOTIONS, MOTIONS), run, run_back, whole)


def units(n: int) -> tuple[tuple[Scalar, ...], ...]:
    """Return the rows of an identity."""
    return tuple(tuple(1.0 if r == c else ZERO for c in range(n)) for r in range(n))


class Step(NamedTuple):
    """One step of a solution."""

    name: str  #: The letter, as in `solution["K"]`.
    formula: str  #: Formula, in the letters of the source.
    latex: str  #: The same in LaTeX.
    value: Array


@dataclass(frozen=True, eq=False)
class OperatorSolution:
    """Joint accelerations and all that was computed on the way to them.

    `solution.qdd` is the result, `solution["K"]` one of the steps, `list(solution)` their names.
    """

    equation: str  #: "(19a)" or "(19b)".
    formula: str
    steps: tuple[Step, ...]

    @property
    def qdd(self) -> Array:
        """Joint accelerations, shape (..., nv)."""
        return self["qdd"]

    def __getitem__(self, name: str) -> Array:
        """Return the value of a step by its letter."""
        for step in self.steps:
            if isinstance(name, str) and step.name == name:
                return step.value
        raise UnknownNameError("step", name, list(self), where=f"equation {self.equation}")

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the steps, in their order."""
        return iter(step.name for step in self.steps)

    def __repr__(self) -> str:
        """Describe it in one line."""
        return f"<equation {self.equation}, {len(self.steps)} steps: {', '.join(self)}>"

    def __str__(self) -> str:
        """Print the steps as a table: name, formula and shape."""
        wide = max(len(step.name) for step in self.steps)
        far = max(len(step.formula) for step in self.steps)
        lines = [f"{self.equation}  {self.formula}"]
        for name, formula, _, value in self.steps:
            shape = " x ".join(map(str, np.shape(value)))
            lines.append(f"  {name:<{wide}} = {formula:<{far}}  {shape}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the steps as a table for notebooks."""
        rows = "".join(
            f"<tr><th><code>{name}</code></th>"
            f'<td style="text-align:left">{formula_html(formula)}</td>'
            f"<td>{' &times; '.join(map(str, np.shape(value)))}</td></tr>"
            for name, formula, _, value in self.steps
        )
        head = "<thead><tr><th>step</th><th>formula</th><th>shape</th></tr></thead>"
        caption = f"<caption>{self.equation} {formula_html(self.formula)}</caption>"
        return f'<table class="steps">{caption}{head}<tbody>{rows}</tbody></table>'

    def _repr_latex_(self) -> str:
        """Return the formulas of the steps for notebooks."""
        lines = " \\\\ ".join(step.latex for step in self.steps)
        return f"$\\begin{{array}}{{l}} {lines} \\end{{array}}$"


DENSE = "qdd = M^-1 (f - C)"
FACTORISED = "qdd = [e - K^T Phi Psi_b G] R^-1 [e - G^T Psi_b^T Phi^T K] (f - C)"
#: What each step is made of, and the same in LaTeX.
FORMULAS: dict[str, tuple[str, str]] = {
    "f": ("net joint forces: tau less springs, damping, friction", r"f = G^T F"),
    "A": ("acceleration that does not come from qdd (5a)", r"A"),
    "B": ("nonlinear force (17)", r"B"),
    "YF": ("Y^T F, external forces at the joints (11)", r"Y^T \bar F"),
    "C": (
        "G^T Psi^T (M Psi A + B - Y^T F) (18b)",
        r"C = G^T \Psi_D^T (M \Psi_D A + B - Y^T \bar F)",
    ),
    "x": ("f - C", r"x = f - C"),
    "M": ("G^T Psi^T M Psi G (18c)", r"\mathcal{M} = G^T \Psi_D^T M \Psi_D G"),
    "L": ("M = L diag(d) L^T", r"\mathcal{M} = L \, \mathrm{diag}(d) \, L^T"),
    "d": ("M = L diag(d) L^T", r"d"),
    "J": ("branch inertias", r"J_{ip} := J_{ip} + D_i^T (J_i - K_i G_i^T J_i) D_i"),
    "R": ("G^T J G", r"R_i = G_i^T J_i G_i"),
    "K": ("J G R^-1, one row for each freedom", r"K_i = J_i G_i R_i^{-1}"),
    "beta": ("(e - G K^T) D", r"\beta_i = (e - G_i K_i^T) D_i"),
    "Kx": ("K x", r"K x"),
    "Phi_Kx": ("Phi^T K x", r"\Phi_D^T K x"),
    "z": ("Psi_b^T Phi^T K x", r"z = \Psi_\beta^T \Phi_D^T K x"),
    "y": ("x - G^T z", r"y = x - G^T z"),
    "w": ("R^-1 y", r"w = R^{-1} y"),
    "Gw": ("G w", r"G w"),
    "Psi_Gw": ("Psi_b G w", r"\Psi_\beta G w"),
    "u": ("Phi Psi_b G w", r"u = \Phi_D \Psi_\beta G w"),
    "qdd": ("", ""),
}
LAST = {
    "(19a)": ("M^-1 x", r"\ddot q = \mathcal{M}^{-1} x"),
    "(19b)": ("w - K^T u", r"\ddot q = w - K^T u"),
}


def solution(equation: str, formula: str, values: dict[str, Array]) -> OperatorSolution:
    """Return a solution from the values of its steps, in their order."""
    steps = tuple(
        Step(name, *(LAST[equation] if name == "qdd" else FORMULAS[name]), value)
        for name, value in values.items()
    )
    return OperatorSolution(equation, formula, steps)


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
    lead: Shape  #: Leading axes of the state.
    positions: Table
    velocities: Table
    system: page.System  #: The blocks and stacks as the page has them, by body.

    # -- operators

    @cached_property
    def e(self) -> BlockOperator:
        """The identity, with the size of the operator that it is combined with."""
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
        """Joint maps, 6 x n_i, from joint velocities to motions."""
        return self._make.diagonal("G", JOINTS, MOTIONS, self.system.G)

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
        return self._make.diagonal("K", JOINTS, FORCES, self._branches.K)

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
        return JOINTS.array(self.model, page.bias(self.system), self.lead)

    @property
    def nilpotency(self) -> int:
        """The least m with Phi^m = 0, the number of bodies on the longest path."""
        return self.system.Phi.nilpotency

    def branch_inertias(self) -> Array:
        """Return J_i of every body, shape (..., nb, 6, 6), in the axes of this reading.

        Returns:
            Symmetric matrices on motions; see also `sf.articulated_inertias`.
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
            Net joint forces, shape (..., nv); without springs, damping and friction.
        """
        return self._of(JOINTS, page.joint_forces, "joint_forces", qdd)

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
        values |= {"d": reshape_numbers(list(s.d), self.lead, (self.model.nv,))}
        values |= {"qdd": JOINTS.array(self.model, s.qdd, lead)}
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
            return self._solve_with_factors(*self._net("equation_19b", tau))

    def _solve_with_factors(self, f: Table, lead: Shape) -> OperatorSolution:
        # (19b): C by an inward sweep, then gains, two outward and inward sweeps
        C = page.bias(self.system)
        x = {i: Column(f[i]) - C[i] for i in f}
        s = page.factor_steps(self.system, self._branches, x)
        values = self._first(f, C, x, lead)
        values |= {"J": self.branch_inertias(), "R": self.R.dense()}
        # K has one row for each degree of freedom, (n; f) of six numbers
        columns = [c for i in self.model.tree.bodies for c in self._branches.K[i].columns]
        flat = [each for c in columns for each in (*c.ang, *c.lin)]
        values |= {"K": reshape_numbers(flat, self.lead, (self.model.nv, 6))}
        values |= {"beta": self._matrices(self._shifts)}
        spaces = (FORCES, FORCES, FORCES, JOINTS, JOINTS, MOTIONS, MOTIONS, MOTIONS, JOINTS)
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
        given, lead = JOINTS.stack(self.model, tau, where)
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
        stacks = {name: JOINTS.array(self.model, y, lead) for name, y in (("f", f), ("x", x))}
        bias = {"C": JOINTS.array(self.model, C, self.lead)}
        return {"f": stacks["f"], **known, **bias, "x": stacks["x"]}

    def _of(self, space: Space, equation: Callable[..., Stack], where: str, qdd: Any) -> Array:
        with enough_memory(where, "the stack"):
            stack, lead = JOINTS.stack(self.model, qdd, where)
            return space.array(self.model, equation(self.system, stack), self._lead(where, lead))

    def _square(self, rows: list[list[Scalar]]) -> Array:
        n = self.model.nv
        return reshape_numbers([x for row in rows for x in row], self.lead, (n, n))

    def _matrices(self, blocks: Mapping[int, Any]) -> Array:
        flat = [x for i in self.model.tree.bodies for row in spread(blocks[i]) for x in row]
        return reshape_numbers(flat, self.lead, (self.model.nb, 6, 6))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the operators that were made of it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    # -- what they look like

    def __repr__(self) -> str:
        """Describe it in one line."""
        several = f", {' x '.join(map(str, self.lead))} states" if self.lead else ""
        sizes = f"{self.model.nb} bodies, {self.model.nv} degrees of freedom{several}"
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


AXES = ("body", "inertial")
FRAMES = ("world", "body")


def influence_operators(
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
        v: joint velocity, shape (..., nv); default: at rest.
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
        >>> op = sf.operators.influence_operators(sf.load("star:4"), [0.1, 0.2, 0.3, 0.4])
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
    require_model("operators", model)
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
    found = {name: checked_array("operators", name, given) for name, given in arrays.items()}
    lead = leading_shape("operators", arrays, found)
    if lead and any(x.dtype == object for x in found.values()):
        fix = "call it for each state"
        raise NotApplicableError("operators of symbols", f"a batch of states {lead}", fix)
    with enough_memory("operators", f"operators of states {lead}"):
        return _build_operators(model, found, f_ext_frame, axes, lead)


def _build_operators(
    model: Model, found: Mapping[str, Array], f_ext_frame: str, axes: str, lead: Shape
) -> Operators:
    """Return the operators for arrays that were checked."""
    # by body, over numbers of any kind: floats, batches or symbols
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
