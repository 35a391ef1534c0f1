"""`equations`: the closed-form equations of motion of a model, compact and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Any, get_args

from sixfold.choices import CodeLanguage, CodePrecision, InertiaForm, Parameters
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import NotApplicableError, NumberError, OptionError, quote, visible, yes_or_no
from sixfold.model import Model, group_inertias
from sixfold.runtime import require_model
from sixfold.runtime.quantity import refuse_constraints
from sixfold.show import block, plain
from sixfold.symbolic.forms import Forms, verify
from sixfold.symbolic.polynomial import MAX_WORK, Ring
from sixfold.symbolic.symbolic_model import symbolic_model
from sixfold.symbolic.to_sympy import ToSympy

PARAMETERS: tuple[str, ...] = get_args(Parameters)
INERTIAS: tuple[str, ...] = get_args(InertiaForm)
MAX_SAMPLES = 1_000_000
MAX_SHOWN_TERMS = 300  #: Terms of equations that a notebook shows.
LONG = "They are long: .text(), .latex() and .html() write them."


@dataclass(frozen=True)
class Equations:
    """M(q) qdd + V(q, qd) + G(q) + F(q, qd) = tau, in SymPy, as text, LaTeX, HTML and code.

    Made by `sixfold.equations`; every part has been compared with the recursive kernels.
    """

    model: Model  #: The model that the equations are of; with grouped inertias for inertias="base".
    #: The closed forms as polynomials, from which everything else is written.
    forms: Forms = field(repr=False)
    #: Largest relative difference from the kernels over the samples, by term; no units.
    errors: Mapping[str, float]
    inertias: str  #: Which inertial parameters they are in: "centre", "origin" or "base".
    numbers: bool  #: Whether parameters are numbers (True) or symbols (False).

    def __repr__(self) -> str:
        """Say how long they are and how well they agree; `text` prints them."""
        sizes = ", ".join(f"{name} of {n} terms" for name, n in self.terms.items())
        worst = max(self.errors.values(), default=0.0)
        name = visible(self.model.name)
        return f"<equations of '{name}': {sizes}; differ from the kernels by {worst:.1e} at most>"

    def _repr_html_(self) -> str:
        """Return the formulas in MathML, for notebooks; of long ones the sizes alone."""
        from sixfold.symbolic.html import formulas

        head = f"<p>{plain(repr(self)[1:-1])}</p>"
        short = sum(self.terms.values()) <= MAX_SHOWN_TERMS
        return block(head, formulas(self, "M,V,G") if short else f"<p>{LONG}</p>")

    def _repr_latex_(self) -> str | None:
        """Return the formulas in LaTeX, for notebooks; None where they are long."""
        return self.latex() if sum(self.terms.values()) <= MAX_SHOWN_TERMS else None

    @cached_property
    def _sympy(self) -> ToSympy:
        return ToSympy(self.forms.symbolic.ring)

    @property
    def ring(self) -> Ring:
        """The variables."""
        return self.forms.symbolic.ring

    def _symbols(self, letter: str, n: int) -> tuple[Any, ...]:
        return tuple(self._sympy.symbols[f"{letter}{k + 1}"] for k in range(n))

    @property
    def q(self) -> tuple[Any, ...]:
        """Symbols of the positions."""
        return self._symbols("q", self.model.nq)

    @property
    def qd(self) -> tuple[Any, ...]:
        """Symbols of the velocities."""
        return self._symbols("qd", self.model.nv)

    @property
    def qdd(self) -> tuple[Any, ...]:
        """Symbols of the accelerations."""
        return self._symbols("qdd", self.model.nv)

    @property
    def parameters(self) -> dict[Any, float]:
        """The parameters that occur, as SymPy symbols, and their values in the model."""
        return {self._sympy.symbols[name]: value for name, value in self.values.items()}

    @property
    def values(self) -> dict[str, float]:
        """The parameters that occur, by name, and their values in the model."""
        used = self.forms.used_fields
        found = {
            v.name: v.value for v in self.ring.variables if v.value is not None and v.exponent(used)
        }
        return found | {
            a.name: a.value
            for a in self.ring.angles
            if a.name and (a.cosine.exponent(used) or a.sine.exponent(used))
        }

    def _matrix(self, forms: Any) -> Any:
        return self._sympy.sympy.ImmutableDenseMatrix(self._sympy(forms))

    @cached_property
    def M(self) -> Any:
        """Mass matrix, nv x nv."""
        return self._matrix(self.forms.M)

    @cached_property
    def V(self) -> Any:
        """Centrifugal and Coriolis forces, nv x 1."""
        return self._matrix(self.forms.V)

    @cached_property
    def G(self) -> Any:
        """Gravity forces, nv x 1."""
        return self._matrix(self.forms.G)

    @cached_property
    def B(self) -> Any:
        """Coriolis coefficients: V = B [qd1 qd2, qd1 qd3, ...] + C [qd1^2, qd2^2, ...] (Craig)."""
        return self._matrix(self.forms.B) if self.model.nv > 1 else self._sympy.sympy.zeros(1, 0)

    @cached_property
    def C(self) -> Any:
        """Centrifugal coefficients, nv x nv."""
        return self._matrix(self.forms.C)

    @cached_property
    def christoffel(self) -> tuple[Any, ...]:
        """Symbols of the first kind: V_k = qd^T christoffel[k] qd."""
        return tuple(self._matrix(plane) for plane in self.forms.christoffel)

    @cached_property
    def kinetic_energy(self) -> Any:
        """T = (1/2) qd^T M qd."""
        return self._sympy(self.forms.kinetic_energy)

    @cached_property
    def potential_energy(self) -> Any:
        """U of gravity, zero with all mass at the origin of the base."""
        return self._sympy(self.forms.potential_energy)

    @cached_property
    def F(self) -> Any:
        """What springs, damping and dry friction of the joints take, nv x 1, in numbers."""
        sympy, model = self._sympy.sympy, self.model
        tree = model.tree.map(lambda x: sympy.Float(float(x), 17))
        q, qd = model.positions(self.q), model.velocities(self.qd)
        return sympy.ImmutableDenseMatrix(model.gather(passive_forces(tree, q, qd)))

    @cached_property
    def tau(self) -> Any:
        """Joint forces M qdd + V + G + F."""
        return self._matrix(self.forms.tau) + self.F

    # -- on paper

    def text(self, terms: str = "M,V,G", width: int = 100) -> str:
        """Return the terms in the shorthand S2 = sin q2, C(2+3) = cos(q2 + q3), SS, CC, SC."""
        from sixfold.symbolic.shorthand import text

        if isinstance(width, bool) or not isinstance(width, int) or width < 1:
            raise OptionError("Equations.text", "width", "a whole number >= 1", width)
        return text(self, terms, width)

    def latex(self, terms: str = "M,V,G", *, shorthand: bool = True, document: bool = False) -> str:
        """Return the terms in LaTeX, aligned and in broken lines; a whole document if asked."""
        from sixfold.symbolic.latex import latex

        yes_or_no("Equations.latex", shorthand=shorthand, document=document)
        return latex(self, terms, shorthand=shorthand, document=document)

    def html(self, terms: str = "M,V,G") -> str:
        """Return a page of its own with the terms in MathML, which browsers show by themselves."""
        from sixfold.symbolic.html import html

        return html(self, terms)

    def code(
        self,
        language: CodeLanguage = "python",
        terms: str = "M,V,G",
        *,
        dtype: CodePrecision = "double",
    ) -> str:
        """Return functions of the terms in "python" (NumPy), "c", "julia" or "matlab"."""
        from sixfold.symbolic.code import closed_form_code

        return closed_form_code(self, language, terms, dtype=dtype)

    @property
    def terms(self) -> dict[str, int]:
        """How many terms M, V and G have in all, each element of M once."""
        n = range(self.model.nv)
        return {
            "M": sum(len(self.forms.M[i][j]) for i in n for j in range(i + 1)),
            "V": sum(map(len, self.forms.V)),
            "G": sum(map(len, self.forms.G)),
        }


def equations(
    model: Model,
    parameters: Parameters = "symbols",
    *,
    inertias: InertiaForm = "centre",
    names: Mapping[str, str] | None = None,
    angle_tolerance: float = 1e-12,
    samples: int = 100,
    limit: int = MAX_WORK,
) -> Equations:
    """Return the closed-form equations of motion of a model.

    Args:
        model: the robot.
        parameters: "symbols" for named masses, lengths and inertias, "numbers" for their values.
        inertias: "centre" (mass, centre of mass, inertia about it), "origin" (mass, first moments,
            inertia about the joint's origin) or "base" (the minimal set; see `base_parameters`).
        names: other letters for parameters, such as {"cy1": "-L"}; a sign may stand before them.
        angle_tolerance: constant angles this close to a right angle [rad] count as one.
        samples: number of random states on which everything is compared with the kernels.
        limit: largest number of terms to work on in total; a million take a second.

    Returns:
        Equations, with `.M`, `.V`, `.G`, `.B`, `.C`, `.christoffel`, `.tau`, both energies in
        SymPy, and `.text()`, `.latex()`, `.html()` and `.code()`.

    Raises:
        DisagreementError: if a closed form differs from the kernels by more than rounding.
        NotApplicableError: if the motion of a joint is no polynomial in sines and cosines, if the
            equations would be too long, or for a model with constraints.

    Example:
        >>> import sixfold as sf
        >>> swing = sf.equations(sf.load("pendulum"), names={"cy1": "-L"})
        >>> swing.M[0, 0], swing.G[0]
        (Izz1 + L**2*m1, L*g*m1*sin(q1))
        >>> {name: round(value, 6) for name, value in swing.values.items()}
        {'m1': 1.0, 'L': 0.5, 'Izz1': 0.02, 'g': 9.81}
        >>> max(swing.errors.values()) < 1e-12
        True

    Reference: Khatib, M qdd + V + G = tau; Craig's B and C; Christoffel symbols.
    """
    require_model("equations", model)
    refuse_constraints("equations", model, "write the tree's, and add J^T times the forces")
    for option, choices, got in (
        ("parameters", PARAMETERS, parameters),
        ("inertias", INERTIAS, inertias),
    ):
        if not isinstance(got, str) or got not in choices:
            raise OptionError("equations", option, choices, got)
    if names is not None and not (
        isinstance(names, Mapping)
        and all(isinstance(x, str) and x for x in (*names.keys(), *names.values()))
    ):
        fix = 'pass a dictionary such as {"cy1": "-L"}'
        raise NumberError(
            "equations: option 'names'",
            "a dictionary from parameters to other letters",
            quote(names),
            fix,
        )
    tolerance = _positive("angle_tolerance", angle_tolerance)
    count = _whole("samples", samples, MAX_SAMPLES)
    most = _whole("limit", limit)
    if model.nv == 0:
        raise NotApplicableError(
            "closed forms", f"model '{model.name}'", "pass a model with a joint that moves"
        )
    used = group_inertias(model) if inertias == "base" else model
    made = symbolic_model(
        used,
        symbols=parameters == "symbols",
        inertias="origin" if inertias == "base" else inertias,
        names=names or {},
        angle_tolerance=tolerance,
        limit=most,
    )
    # computed at first use, then compared with the kernels
    forms = Forms(made)
    # rounded angles make another model, and the equations are its own
    reference = made.model if tolerance > 1e-9 else used
    errors = verify(forms, reference, samples=count)
    return Equations(reference, forms, errors, inertias, parameters == "numbers")


def _positive(name: str, value: Any) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not 0 < value < inf or value >= 1e308:
        where = f"equations: option '{name}'"
        fix = "leave it out, or pass an angle in radians such as 1e-6"
        raise NumberError(where, "a positive number", quote(value), fix)
    return float(value)


def _whole(name: str, value: Any, most: float = inf) -> int:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not plain or not 1 <= value <= most or value != value // 1:
        where, up_to = f"equations: option '{name}'", "" if most == inf else f" to {most:,}"
        expected = f"a positive number, whole, from 1{up_to}"
        fix = "leave it out, or pass a count such as 100"
        raise NumberError(where, expected, quote(value), fix)
    return int(value)
