"""Equations (19a) and (19b) step by step: every quantity by the letters of the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import UnknownNameError
from sixfold.influence.show import formula_html


class Step(NamedTuple):
    """One step of a solution."""

    name: str
    """The letter, as in `solution["K"]`."""
    formula: str
    """What it is made of."""
    latex: str
    """The same in LaTeX."""
    value: Array


@dataclass(frozen=True, eq=False)
class OperatorSolution:
    """Joint accelerations and all that was computed on the way to them.

    `solution.qdd` is the result, `solution["K"]` one of the steps, `list(solution)` their names.
    """

    equation: str
    """"(19a)" or "(19b)"."""
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
        """Say what it is in one line."""
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
"""What each step is made of, and the same in LaTeX."""
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
