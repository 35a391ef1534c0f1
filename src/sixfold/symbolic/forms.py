"""M, V, G and the energies of a model as polynomials, compared with the recursive kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import or_
from typing import Any

import numpy as np

from sixfold import quantities
from sixfold.arrays import Array
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.energy import potential_energy
from sixfold.dynamics.kinematics import no_forces
from sixfold.errors import DisagreementError, NotApplicableError, visible
from sixfold.model import Model
from sixfold.scalar import ZERO
from sixfold.spatial import Column, Motion
from sixfold.symbolic.polynomial import (
    ACCELERATION,
    COSINE,
    POSITION,
    RATE,
    SINE,
    Polynomial,
    Ring,
    Variable,
)
from sixfold.symbolic.symbolic_model import SymbolicModel

Vector = list[Polynomial]
Matrix = list[Vector]
#: Terms with numbers in front that are smaller than this, against the largest, are rounding.
NOISE = 1e-14


@dataclass(frozen=True)
class Forms:
    """The terms of the equations of motion, each computed at its first use."""

    symbolic: SymbolicModel

    @property
    def _n(self) -> range:
        return range(self.symbolic.model.nv)

    def polynomial(self, x: Any) -> Polynomial:
        """Return any number as a polynomial, without rounding left over from cancellation."""
        zero = Polynomial(self.symbolic.ring, {})
        return _clean(x if isinstance(x, Polynomial) else zero + x)

    @cached_property
    def M(self) -> Matrix:
        """The mass matrix, by composite bodies, reduced by couplings."""
        s = self.symbolic
        # P^T M P with followers, by the lower triangle
        full = dense(s.tree, crba(s.tree, s.positions))
        if s.model.couplings:
            # the lower triangle is read: that of the transpose
            rows = s.model.coordinates.reduce(full, s.tree.velocity_slices)
            full = [list(column) for column in zip(*rows, strict=True)]
        return [[self.polynomial(full[max(i, j)][min(i, j)]) for j in self._n] for i in self._n]

    def _by_body(self, row: Sequence[Any]) -> dict[int, Column]:
        tree = self.symbolic.tree
        return {i: Column(row[tree.velocity_slices[i]]) for i in tree.bodies}

    @cached_property
    def G(self) -> Vector:
        """Gravity forces: joint forces that hold the model still."""
        s = self.symbolic
        still = {i: Column.zero(s.tree.joint[i].nv) for i in s.tree.bodies}
        tau, _ = rnea(s.tree, s.positions, still, still, no_forces(s.tree))
        return [self.polynomial(x) for x in s.model.gather(tau)]

    @cached_property
    def V(self) -> Vector:
        """Centrifugal and Coriolis forces, by Christoffel symbols where velocities are rates."""
        if not self.velocities_are_rates:
            return self._velocity_force()
        # V_k = sum over i <= j of c[k][i][j] qd_i qd_j, twice where i < j
        qd = self.symbolic.qd
        result = []
        for plane in self.christoffel:
            total = Polynomial(self.symbolic.ring, {})
            for i in self._n:
                for j in range(i, self.symbolic.model.nv):
                    if plane[i][j]:
                        total = total + plane[i][j] * (qd[i] * qd[j]) * (1 if i == j else 2)
            result.append(total)
        return result

    def _velocity_force(self) -> Vector:
        """Return V by recursion on symbols, for spherical and free joints."""
        s = self.symbolic
        # joint forces of the velocities alone: no gravity, no acceleration
        tree = replace(s.tree, gravity=Motion.zero())
        still = s.model.velocities([ZERO] * s.model.nv)
        tau, _ = rnea(tree, s.positions, s.model.velocities(s.qd), still, no_forces(tree))
        return [self.polynomial(x) for x in s.model.gather(tau)]

    @cached_property
    def used_fields(self) -> int:
        """The fields of all variables that M, G or the potential energy contain."""
        rows = [*self.M, self.G, [self.potential_energy]]
        return reduce(or_, (key for row in rows for form in row for key in form.terms), 0)

    @property
    def velocities_are_rates(self) -> bool:
        """True when every joint velocity is the rate of a coordinate."""
        return all(body.joint.velocity_is_rate for body in self.symbolic.model.bodies)

    @cached_property
    def christoffel(self) -> list[Matrix]:
        """The symbols c[k][i][j] of the first kind, with V_k = sum of c[k][i][j] qd_i qd_j."""
        if not self.velocities_are_rates:
            raise NotApplicableError(
                "Christoffel's form of V",
                f"model '{self.symbolic.model.name}', whose velocities are not all rates",
                "use V itself, or coriolis_matrix for numbers",
            )
        M, n = self.M, self._n
        # c[k][i][j] = (dM_jk/dq_i + dM_ik/dq_j - dM_ij/dq_k) / 2
        dM = [[[M[i][j].derivative(k) for k in n] for j in n] for i in n]

        def symbol(k: int, i: int, j: int) -> Polynomial:
            return self.polynomial((dM[j][k][i] + dM[i][k][j] - dM[i][j][k]) * 0.5)

        # symmetric in i and j
        table: dict[tuple[int, int, int], Polynomial] = {}
        for k in n:
            for i in n:
                for j in range(i, len(n)):
                    table[k, i, j] = table[k, j, i] = symbol(k, i, j)
        return [[[table[k, i, j] for j in n] for i in n] for k in n]

    @cached_property
    def B(self) -> Matrix:
        """Coriolis coefficients: V = B [qd_i qd_j, i < j] + C [qd_i^2] (Craig)."""
        n = self._n
        return [[plane[i][j] * 2 for i in n for j in n if i < j] for plane in self.christoffel]

    @cached_property
    def C(self) -> Matrix:
        """Centrifugal coefficients."""
        return [[plane[i][i] for i in self._n] for plane in self.christoffel]

    @cached_property
    def kinetic_energy(self) -> Polynomial:
        """T = (1/2) qd^T M qd."""
        qd, total = self.symbolic.qd, Polynomial(self.symbolic.ring, {})
        for i in self._n:
            for j in range(i + 1):
                total = total + self.M[i][j] * (qd[i] * qd[j]) * (0.5 if i == j else 1)
        return self.polynomial(total)

    @cached_property
    def potential_energy(self) -> Polynomial:
        """U of gravity, zero with all mass at the origin."""
        s = self.symbolic
        return self.polynomial(potential_energy(s.tree, s.positions))

    @cached_property
    def tau(self) -> Vector:
        """M qdd + V + G: joint forces without springs, damping and friction."""
        result = []
        for row, v, g in zip(self.M, self.V, self.G, strict=True):
            total = v + g
            for m, a in zip(row, self.symbolic.qdd, strict=True):
                total = total + m * a
            result.append(total)
        return result


def _clean(form: Polynomial) -> Polynomial:
    """Drop terms that are rounding, where numbers stand in front; fractions become whole."""
    terms = {k: _whole(x) for k, x in form.terms.items()}
    if any(isinstance(x, float) for x in terms.values()):
        # numbers far below the largest are what is left of cancelled terms
        least = NOISE * max(map(abs, terms.values()))
        terms = {k: x for k, x in terms.items() if abs(x) > least}
    return Polynomial(form.ring, terms)


def _whole(x: Any) -> Any:
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


# -- comparison with the kernels


TOLERANCE = 1e-12


def values_at(ring: Ring, q: Array, v: Array, a: Array | None = None) -> dict[Variable, Any]:
    """Return the value of every variable at states (rows of q, v, a)."""
    given = {POSITION: iter(q.T), RATE: iter(v.T), ACCELERATION: iter((v if a is None else a).T)}
    values: dict[Variable, Any] = {}
    # positions, rates and accelerations from the arrays, parameters from the model
    for variable in ring.variables:
        if variable.kind in given:
            values[variable] = next(given[variable.kind])
        elif variable.value is not None:
            values[variable] = variable.value
    for variable in ring.variables:
        if variable.kind in (COSINE, SINE):
            angle = ring.angles[variable.angle]
            total = angle.value + sum(n * q[:, j] for j, n in angle.combination)
            values[variable] = np.cos(total) if variable.kind == COSINE else np.sin(total)
    return values


def evaluate(forms: Any, values: dict[Variable, Any], rows: int) -> Array:
    """Return nested lists of polynomials as an array with one row for each state."""
    if isinstance(forms, Polynomial):
        return np.broadcast_to(np.asarray(forms.evaluate(values.__getitem__), float), (rows,))
    return np.stack([evaluate(x, values, rows) for x in forms], axis=1)


def verify(forms: Forms, model: Model, samples: int = 100, seed: int = 0) -> dict[str, float]:
    """Compare M, V, G and both energies with the kernels; return the relative errors.

    Raises:
        DisagreementError: where one differs by more than rounding.
    """
    # the closed forms have no springs, damping and friction
    bare = model.without(damping=True, friction=True, springs=True)
    still = bare.without(gravity=True)
    q, v = quantities.random_state(bare, samples, seed=seed)
    pairs = {
        "M": (forms.M, quantities.mass_matrix(bare, q)),
        "V": (forms.V, quantities.bias_force(still, q, v)),
        "G": (forms.G, quantities.gravity_force(bare, q)),
        "T": (forms.kinetic_energy, quantities.kinetic_energy(bare, q, v)),
        "U": (forms.potential_energy, quantities.potential_energy(bare, q)),
    }
    values = values_at(forms.symbolic.ring, q, v)  # after the forms: they may make new angles
    # forces may be what is left of larger ones: judge them by the sizes that meet in a state
    weight = sum(float(body.inertia.m) for body in bare.bodies) * np.linalg.norm(bare.gravity)
    force = weight + np.abs(pairs["M"][1]).max() * np.square(v).sum(axis=1).max()
    # errors are relative to the size of the expected values
    errors: dict[str, float] = {}
    for name, (form, expected) in pairs.items():
        found = evaluate(form, values, samples)
        scale = force if name in "VG" else np.abs(expected).max()
        errors[name] = float(np.abs(found - expected).max() / (scale or 1.0))
        if not errors[name] <= TOLERANCE:
            raise DisagreementError(
                f"equations of model '{visible(model.name)}': "
                f"{name} differs from the recursive kernels\n"
                f"  expected: a relative difference below {TOLERANCE:g} on {samples} states\n"
                f"  got: {errors[name]:.2g}\n"
                f"  fix: a larger angle_tolerance than the model bears changes its geometry; "
                f"otherwise please report the model"
            )
    return errors
