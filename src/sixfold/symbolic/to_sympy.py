"""Closed forms as SymPy expressions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sixfold.lazy import optional
from sixfold.symbolic.polynomial import COSINE, SINE, Polynomial, Ring, Variable
from sixfold.symbolic.simplify import Power, Sum, Term, nest


class ToSympy:
    """Turns polynomials of one ring into SymPy; each variable becomes one symbol."""

    def __init__(self, ring: Ring) -> None:
        """Make the symbols, all real."""
        sympy = optional("sympy", "SymPy output")
        self.ring = ring
        self.sympy = sympy
        self.symbols: dict[str, Any] = {}
        for v in ring.variables:
            if v.kind not in (COSINE, SINE):
                self.symbols[v.name] = sympy.Symbol(v.name, real=True)
        for angle in ring.angles:
            if angle.name:
                self.symbols[angle.name] = sympy.Symbol(angle.name, real=True)
        self._made: dict[Variable, Any] = {}

    def __call__(self, form: Any) -> Any:
        """Return a polynomial, or nested lists of them, in SymPy."""
        if isinstance(form, Polynomial):
            return self._sum(nest(form))
        return [self(x) for x in form]

    def _sum(self, total: Sum) -> Any:
        parts = [
            self._term(part)
            if isinstance(part, Term)
            else self.sympy.Mul(*self._powers(part.head), self._sum(part.inner))
            for part in total.parts
        ]
        return self.sympy.Add(*parts)

    def _term(self, term: Term) -> Any:
        return self.sympy.Mul(self._number(term.number), *self._powers(term.powers))

    def _powers(self, powers: tuple[Power, ...]) -> list[Any]:
        return [self._variable(v) ** n for v, n in powers]

    def _number(self, x: Any) -> Any:
        if isinstance(x, Fraction):
            return self.sympy.Rational(x.numerator, x.denominator)
        return self.sympy.Integer(x) if isinstance(x, int) else self.sympy.Float(float(x), 17)

    def _variable(self, variable: Variable) -> Any:
        if variable not in self._made:
            self._made[variable] = self._expression(variable)
        return self._made[variable]

    def _expression(self, variable: Variable) -> Any:
        if variable.kind not in (COSINE, SINE):
            return self.symbols[variable.name]
        # cos or sin of a sum of positions, or of a constant angle
        angle = self.ring.angles[variable.angle]
        positions = [self.symbols[v.name] for v in self.ring.positions]
        total = self.symbols[angle.name] if angle.name else 0
        for j, n in angle.combination:
            total = total + n * positions[j]
        return self.sympy.cos(total) if variable.kind == COSINE else self.sympy.sin(total)
