"""Spatial inertias (rigid, articulated, of the Coriolis matrix), subspaces and small matrices.

A joint of n degrees of freedom has a motion subspace S (6 x n); an inertia times S is a force
subspace U (6 x n); S^T U is an n x n joint matrix D.  For n = 1 everything is a plain number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import add, sub
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ArgumentError, ModelError, NumberError, OptionError, ShapeError, quote
from sixfold.scalar import (
    ZERO,
    Scalar,
    exact,
    is_number,
    is_one,
    is_plain,
    items_of,
    mistaken,
    number_of,
    several_numbers,
    together,
)
from sixfold.spatial.vectors import (
    ZERO3,
    ZERO33,
    ZERO_SYMMETRIC,
    Force,
    Linear,
    Matrix3,
    Motion,
    Rows,
    Symmetric3,
    Vector3,
    blocks,
    comparable,
    displayable,
    number_text,
    row_text,
    skew,
    steiner,
    symmetric_part,
)


class _InertiaParts(NamedTuple):
    m: Scalar
    h: Vector3
    I: Symmetric3


def _inertia_text(x: Any) -> str:
    return f"Inertia(m={number_text(x.m)}, h={row_text(x.h)}, I={row_text(x.I)})"


@displayable(lambda inertia: inertia.matrix(), _inertia_text)
@comparable()
class Inertia(Linear, _InertiaParts):
    """Rigid-body inertia in body coordinates: mass, first moment h = m c, rotational inertia at O.

    As a matrix it is [[I_O, h x], [-h x, m 1]].

    Args:
        m: mass [kg].
        h: first moment, mass times centre of mass [kg m].
        I: rotational inertia about the origin [kg m^2].

    Example:
        >>> import sixfold as sf
        >>> I = sf.Inertia.from_mass(2.0, center=(0.1, 0, 0), rotational=(0.01, 0.02, 0.03))
        >>> print(I)
        Inertia(m=2, h=(0.2, 0, 0), I=(0.01, 0.04, 0.05, 0, 0, 0))
        >>> print(I @ sf.spatial.Motion.of((0, 0, 1, 0, 0, 0)))  # the momentum of a turn about z
        Force(n=(0, 0, 0.05), f=(0, 0.2, 0))
    """

    @classmethod
    def zero(cls) -> Inertia:
        """Return the inertia of nothing."""
        return cls(ZERO, ZERO3, ZERO_SYMMETRIC)

    @classmethod
    def from_mass(
        cls,
        mass: Scalar,
        center: Sequence[Scalar] = (0.0, 0.0, 0.0),
        rotational: Sequence[Sequence[Scalar]] | Sequence[Scalar] = (0.0, 0.0, 0.0),
    ) -> Inertia:
        """Build from mass [kg], centre of mass [m] and rotational inertia about it [kg m^2].

        Args:
            mass: mass of the body.
            center: centre of mass in body coordinates.
            rotational: 3x3 matrix about the centre of mass, or its three diagonal elements.
        """
        # I_O = I_C + m c x c x^T
        m = number_of("Inertia.from_mass", "mass", mass)
        fix = "pass (x, y, z)"
        c = Vector3.of(items_of("Inertia.from_mass", "center", center, 3, "3 numbers", fix))
        Ic = to_rotational_inertia(rotational)
        with together("Inertia.from_mass"):
            return cls(exact(m), (c * m).map(exact), (Ic + steiner(m, c)).map(exact))

    @classmethod
    def from_parameters(cls, parameters: Sequence[Scalar]) -> Inertia:
        """Build from (m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz), all about the origin.

        Ixy, Ixz and Iyz are matrix elements; a table that prints positive integrals of xy has
        their negatives (see `products`).
        """
        fix = "pass m, h (3), Ixx, Iyy, Izz, Ixy, Ixz, Iyz"
        ten = several_numbers("Inertia", "parameters", parameters, 10, fix)
        m, hx, hy, hz, *I = map(exact, ten)
        return cls(m, Vector3(hx, hy, hz), Symmetric3(*I))

    @classmethod
    def from_second_moments(cls, mass: Scalar, h: Vector3, second: Symmetric3) -> Inertia:
        """Build from mass, first moment and the integral of r r^T, which it keeps as it is."""
        where = "Inertia.from_second_moments"
        number_of(where, "mass", mass)
        if not isinstance(h, Vector3):
            h = Vector3.of(items_of(where, "h", h, 3, "3 numbers", "pass m (x, y, z)"))
        if not isinstance(second, Symmetric3):
            fix = "pass the integrals of xx, yy, zz, xy, xz, yz"
            second = Symmetric3(*several_numbers(where, "second", second, 6, fix))
        xx, yy, zz, xy, xz, yz = second
        with together(where):
            I = Symmetric3(yy + zz, zz + xx, xx + yy, -xy, -xz, -yz)
        return _BothMoments.of(mass, h, I, second)

    def with_second_moments(self) -> Inertia:
        """Return the inertia with its second moments, which are then moved and added separately."""
        return _BothMoments.of(*self, self.second_moments)

    def with_moments(self, I: Symmetric3) -> Inertia:
        """Return the inertia with other moments of inertia, and second moments as they are."""
        return _BothMoments.of(self.m, self.h, I, self.second_moments)

    def parameters(self) -> tuple[Scalar, ...]:
        """Return the ten parameters in the order of `from_parameters`."""
        return (self.m, *self.h, *self.I)

    def array(self) -> NDArray[np.float64]:
        """Return the ten parameters as floats, shape (10,)."""
        return np.array([float(x) for x in self.parameters()])

    @property
    def center(self) -> Vector3:
        """The centre of mass; the origin for a massless body."""
        return ZERO3 if self.m == 0 else self.h / self.m

    @property
    def about_center(self) -> Symmetric3:
        """The rotational inertia about the centre of mass (parallel-axis theorem, inward)."""
        return self.I - steiner(self.m, self.center)

    @property
    def second_moments(self) -> Symmetric3:
        """The integral of r r^T over the body, tr(I)/2 1 - I."""
        # tr(I)/2 1 - I
        xx, yy, zz, xy, xz, yz = self.I
        sums = _half_sum(yy, zz, xx), _half_sum(zz, xx, yy), _half_sum(xx, yy, zz)
        return Symmetric3(*sums, -xy, -xz, -yz)

    def about(self, point: Sequence[Scalar]) -> Symmetric3:
        """Return the rotational inertia about any point (parallel-axis theorem, outward)."""
        p = Vector3.of(items_of("Inertia.about", "point", point, 3, "3 numbers", "pass (x, y, z)"))
        with together("Inertia.about"):
            return self.about_center + steiner(self.m, self.center - p)

    def __matmul__(self, v: Any) -> Any:
        # h = I v, the momentum of a velocity; or f = I a
        if not isinstance(v, Motion):
            return NotImplemented if not isinstance(v, Force) else _refuse_force(v)
        return Force(self.I @ v.ang + self.h.cross(v.lin), v.lin * self.m - self.h.cross(v.ang))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        if isinstance(other, ArticulatedInertia):
            return other + self
        if not isinstance(other, Inertia):
            raise mistaken(TypeError(), "Inertia + other", Inertia, other)
        return Inertia(*map(add, self, other))

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, ArticulatedInertia):
            return ArticulatedInertia.of(self) - other
        if not isinstance(other, Inertia):
            raise mistaken(TypeError(), "Inertia - other", Inertia, other)
        return Inertia(*map(sub, self, other))

    def to_parent(self, E: Matrix3, r: Vector3) -> Inertia:
        """Return X^T I X for X = (E, r): the same body in the coordinates X starts from."""
        try:
            # first moment in the parent's axes, then about its origin
            k = E.T @ self.h
            h = k + r * self.m
            # E^T I E - r x k x - h x r x, whose parts are all symmetric together
            back = self.I.congruence(E)
            return Inertia(self.m, h, back + _double_cross(r, k, h))
        except Exception as error:
            raise to_parent_error("Inertia", E, r, error) from None

    def kinetic_energy(self, v: Motion) -> Scalar:
        """Return (1/2) v . I v."""
        if not isinstance(v, Motion):
            where = "Inertia.kinetic_energy: argument 'v'"
            raise ArgumentError(where, "a Motion", v, "pass the velocity as Motion.of(...)")
        return (self @ v).dot(v) * 0.5

    def matrix(self) -> Rows:
        """Return the 6x6 matrix."""
        # [[I_O, h x], [-h x, m 1]]
        hx = skew(self.h)
        mass = Matrix3(
            Vector3(self.m, ZERO, ZERO), Vector3(ZERO, self.m, ZERO), Vector3(ZERO, ZERO, self.m)
        )
        return blocks(self.I.matrix(), hx, -hx, mass)


class _BothMoments(Inertia):
    """An inertia that carries its second moments along, each of the two moved by its own sums.

    Computed from moments of inertia that were moved and rounded, a small second moment
    would hold the rounding error of the largest.
    """

    _second: Symmetric3

    @classmethod
    def of(cls, m: Scalar, h: Vector3, I: Symmetric3, second: Symmetric3) -> _BothMoments:
        """Take both."""
        both = cls(m, h, I)
        both._second = second
        return both

    @property
    def second_moments(self) -> Symmetric3:
        """The ones that it carries."""
        return self._second

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        total = super().__add__(other)
        if not isinstance(total, Inertia):
            return total
        return self.of(*total, self.second_moments + other.second_moments)

    def to_parent(self, E: Matrix3, r: Vector3) -> Inertia:
        """Move both."""
        moved = super().to_parent(E, r)
        k, h = E.T @ self.h, moved.h
        return self.of(*moved, self._second.congruence(E) + _spread(r, k, h))

    def map(self, convert: Callable[[Scalar], Scalar]) -> Inertia:  # type: ignore[override]
        """Convert both."""
        return self.of(*super().map(convert), self._second.map(convert))


def _half_sum(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
    """Return (a + b - c) / 2; of plain numbers with one rounding."""
    if is_plain(a, b, c):
        return exact(math.fsum((a, b, -c)) / 2)
    return (a - c + b) * 0.5


def _spread(r: Vector3, k: Vector3, h: Vector3) -> Symmetric3:
    """Return k r^T + r h^T for h = k + m r: what moving by r adds to second moments."""
    s = k + h
    return Symmetric3(
        s.x * r.x,
        s.y * r.y,
        s.z * r.z,
        k.x * r.y + r.x * h.y,
        k.x * r.z + r.x * h.z,
        k.y * r.z + r.y * h.z,
    )


def _double_cross(r: Vector3, k: Vector3, h: Vector3) -> Symmetric3:
    """Return -(r x k x + h x r x) for h = k + m r: what moving by r adds to moments of inertia.

    Sums of two second moments: the trace less the third would lose small moments about an axis to
    large ones along it.
    """
    xx, yy, zz, xy, xz, yz = _spread(r, k, h)
    return Symmetric3(yy + zz, xx + zz, xx + yy, -xy, -xz, -yz)


class _ArticulatedParts(NamedTuple):
    I: Symmetric3
    H: Matrix3
    M: Symmetric3


def _articulated_text(x: Any) -> str:
    H = ", ".join(map(row_text, x.H))
    return f"ArticulatedInertia(I={row_text(x.I)}, H=({H}), M={row_text(x.M)})"


@displayable(lambda inertia: inertia.matrix(), _articulated_text)
@comparable()
class ArticulatedInertia(Linear, _ArticulatedParts):
    """A general symmetric inertia [[I, H], [H^T, M]] of 21 parameters.

    Args:
        I: rotational part [kg m^2].
        H: what couples turning and moving [kg m].
        M: the mass that is felt in each direction [kg].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> rigid = sf.Inertia.from_mass(2.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
        >>> np.array_equal(sf.spatial.ArticulatedInertia.of(rigid), rigid)  # the same 6x6 matrix
        True
    """

    __slots__ = ()

    @classmethod
    def zero(cls) -> ArticulatedInertia:
        """Return the inertia of nothing."""
        return cls(ZERO_SYMMETRIC, ZERO33, ZERO_SYMMETRIC)

    @classmethod
    def of(cls, rigid: Inertia) -> ArticulatedInertia:
        """Return a rigid-body inertia in the general form."""
        if not isinstance(rigid, Inertia):
            where, fix = "ArticulatedInertia.of: argument 'rigid'", "use Inertia.from_mass(...)"
            raise ArgumentError(where, "an Inertia", rigid, fix)
        m = rigid.m
        return cls(rigid.I, skew(rigid.h), Symmetric3(m, m, m, ZERO, ZERO, ZERO))

    def __matmul__(self, v: Any) -> Any:
        if not isinstance(v, Motion):
            return NotImplemented if not isinstance(v, Force) else _refuse_force(v)
        return Force(self.I @ v.ang + self.H @ v.lin, self.H.T @ v.ang + self.M @ v.lin)

    def __add__(self, other: Any) -> ArticulatedInertia:
        return super().__add__(
            ArticulatedInertia.of(other) if isinstance(other, Inertia) else other
        )

    def to_parent(self, E: Matrix3, r: Vector3) -> ArticulatedInertia:
        """Return X^T I X for X = (E, r)."""
        try:
            # rotate the blocks, then move the origin by r
            M = self.M.congruence(E)
            H1 = self.H.congruence(E)
            rx = skew(r)
            H = H1 + rx @ M.matrix()
            I = self.I.congruence(E) + symmetric_part(rx @ H.T - H1 @ rx)
            return ArticulatedInertia(I, H, M)
        except Exception as error:
            raise to_parent_error("ArticulatedInertia", E, r, error) from None

    def matrix(self) -> Rows:
        """Return the 6x6 matrix."""
        return blocks(self.I.matrix(), self.H, self.H.T, self.M.matrix())


def _refuse_force(f: Force) -> Any:
    where = "Inertia @ Force: inertia maps motions to forces"
    raise ArgumentError(where, "a Motion", f, "give it a Motion")


class _CoriolisParts(NamedTuple):
    A: Matrix3
    p: Vector3


class CoriolisInertia(Linear, _CoriolisParts):
    """B of rigid bodies, [[A, 0], [-p x, 0]]: the other blocks of the sum cancel.

    For one body A = -(w x) Sigma - (h x) (u x), with its second moments Sigma = integral of r r^T
    and the velocity u of its origin, and p = m u + w x h is its momentum.
    """

    __slots__ = ()

    @classmethod
    def zero(cls) -> CoriolisInertia:
        """Return B of nothing."""
        return cls(ZERO33, ZERO3)

    @classmethod
    def of(cls, inertia: Inertia, v: Motion) -> CoriolisInertia:
        """Return B of a body that moves with v."""
        w, u = v
        # -A = (w x) Sigma + (h x) (u x), and the momentum p = m u + w x h
        A = skew(w) @ inertia.second_moments.matrix() + skew(inertia.h) @ skew(u)
        return cls(-A, u * inertia.m + w.cross(inertia.h))

    def __matmul__(self, m: Motion) -> Force:
        return Force(self.A @ m.ang, m.ang.cross(self.p))

    @property
    def T(self) -> TransposedCoriolisInertia:
        """B^T, which takes motions to forces too."""
        return TransposedCoriolisInertia(self)

    def to_parent(self, E: Matrix3, r: Vector3) -> CoriolisInertia:
        """Return X^T B X for X = (E, r): the same body in the coordinates X starts from."""
        # the moment of the momentum about the new origin comes with r
        p = E.T @ self.p
        return CoriolisInertia(self.A.congruence(E) - skew(r) @ skew(p), p)


class TransposedCoriolisInertia(NamedTuple):
    """B^T."""

    B: CoriolisInertia

    def __matmul__(self, m: Motion) -> Force:
        return Force(self.B.A.T @ m.ang + self.B.p.cross(m.lin), ZERO3)


class Consistency(NamedTuple):
    """What a physical-consistency test found; amounts are relative to the largest moment."""

    principal_moments: tuple[float, float, float]
    negative_mass: bool
    not_positive: float
    triangle_excess: float

    @property
    def physical(self) -> bool:
        """True when some distribution of positive mass has this inertia."""
        return not (self.negative_mass or self.not_positive > 0 or self.triangle_excess > 0)


def physical_consistency(inertia: Inertia, tolerance: float = 1e-9) -> Consistency:
    """Test mass >= 0, moments >= 0 and the triangle inequality about the centre of mass.

    A body of positive mass density has principal moments with A + B >= C; a body of zero mass has
    no rotational inertia of its own, which is reported through `not_positive` only when negative.

    Args:
        inertia: ten float parameters.
        tolerance: amounts up to this fraction of the largest moment count as rounding.

    Returns:
        What was found; `.physical` is the verdict.

    Example:
        >>> import sixfold as sf
        >>> flat = sf.Inertia.from_mass(1.0, rotational=(1, 1, 3))
        >>> sf.spatial.physical_consistency(flat).physical
        False
    """
    where = "physical_consistency"
    if not isinstance(inertia, Inertia):
        fix = "make one with Inertia.from_mass(...)"
        raise ArgumentError(f"{where}: argument 'inertia'", "an Inertia", inertia, fix)
    if not is_number(tolerance) or np.ndim(tolerance) or not tolerance >= 0:
        raise OptionError(where, "tolerance", "a number >= 0", tolerance)
    with together(where):
        matrix = np.array(inertia.about_center.matrix(), float)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        fix = "give one inertia in finite floats"
        raise NumberError(where, "ten finite numbers", quote(inertia), fix)
    # amounts are relative to the largest moment
    moments = np.linalg.eigvalsh(matrix)
    scale = max(float(np.abs(moments).max()), np.finfo(float).tiny)
    a, b, c = (float(x) for x in moments)
    # moments a <= b <= c: a >= 0 and a + b >= c
    negative = max(0.0, -a / scale)
    excess = max(0.0, (c - a - b) / scale)
    return Consistency(
        (a, b, c),
        not float(inertia.m) >= 0,
        negative if negative > tolerance else 0.0,
        excess if excess > tolerance else 0.0,
    )


def to_parent_error(kind: str, E: Any, r: Any, error: Exception) -> Exception:
    """Return the error to raise when an inertia could not be moved."""
    first = mistaken(error, f"{kind}.to_parent: argument 'E'", Matrix3, E)
    if first is not error:
        return first
    return mistaken(error, f"{kind}.to_parent: argument 'r'", Vector3, r)


def to_rotational_inertia(values: Any) -> Symmetric3:
    """Return a rotational inertia that is given as 3x3 numbers or by its diagonal."""
    fix = "pass a 3x3 matrix, or its three diagonal elements"
    listed = items_of("Inertia", "rotational", values, 3, "3 or 3x3 numbers", fix)
    if hasattr(listed[0], "__len__"):
        rows = Matrix3.of(listed)
        # elements that are mirrored must be equal
        off = [(rows[0][1], rows[1][0]), (rows[0][2], rows[2][0]), (rows[1][2], rows[2][1])]
        if any(a is not b and _any_differ(a, b) for a, b in off):
            what = f"rotational inertia is not symmetric: {quote(values)}"
            raise ModelError("Inertia", what, "give a symmetric matrix")
        return Symmetric3.of(rows)
    xx, yy, zz = map(exact, several_numbers("Inertia", "rotational", listed, 3, fix))
    return Symmetric3(xx, yy, zz, ZERO, ZERO, ZERO)


def _any_differ(a: Scalar, b: Scalar) -> bool:
    """Return whether two numbers differ, in any state of a batch."""
    # arrays differ if any element does
    different = a != b
    return bool(different.any() if hasattr(different, "any") else different)


@comparable(as_tuple=True)
class Column(tuple[Scalar, ...]):
    """A short column of numbers: one joint's positions, velocities or forces."""

    __slots__ = ()

    @classmethod
    def zero(cls, n: int) -> Column:
        """Return n exact zeros."""
        return cls([ZERO] * n)

    def __add__(self, other: Iterable[Scalar]) -> Column:
        return Column([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Iterable[Scalar]) -> Column:
        return Column([a - b for a, b in zip(self, other, strict=True)])

    def __neg__(self) -> Column:
        return Column([-a for a in self])

    def __mul__(self, other: Any) -> Column:
        factors = other if isinstance(other, tuple) else (other,) * len(self)
        return Column([a * b for a, b in zip(self, factors, strict=True)])

    def __truediv__(self, D: Any) -> Column:
        return D.solve(self) if isinstance(D, JointMatrix) else Column([a / D for a in self])


def _joint_matrix_text(D: Any) -> str:
    return f"JointMatrix({', '.join(map(row_text, D.rows))})"


@displayable(lambda D: D.rows, _joint_matrix_text)
@comparable(lambda D: tuple(map(Column, D.rows)))
class JointMatrix:
    """A small matrix between the degrees of freedom of two joints, or of one.

    That of one joint is symmetric and positive definite; `solve` factors it as L diag(d) L^T.

    Args:
        rows: the rows of the matrix.

    Example:
        >>> import sixfold as sf
        >>> D = sf.spatial.JointMatrix([[2.0, 0.0], [0.0, 4.0]])
        >>> list(D.solve([1.0, 1.0]))
        [0.5, 0.25]
    """

    __slots__ = ("_factors", "rows")

    def __init__(self, rows: Sequence[Sequence[Scalar]]) -> None:
        self.rows = tuple(tuple(row) for row in rows)
        self._factors: tuple[list[list[Scalar]], list[Scalar]] | None = None

    def __add__(self, diagonal: Sequence[Scalar]) -> JointMatrix:
        return JointMatrix(
            [
                [x + diagonal[i] if i == j else x for j, x in enumerate(row)]
                for i, row in enumerate(self.rows)
            ]
        )

    def factors(self) -> tuple[list[list[Scalar]], list[Scalar]]:
        """Return L (unit lower triangular, by rows) and the pivots d."""
        if self._factors is None:
            self._factors = ldl(self.rows)
        return self._factors

    def pivots(self) -> list[Scalar]:
        """Return the pivots d of D = L diag(d) L^T."""
        return self.factors()[1]

    def solve(self, b: Sequence[Scalar]) -> Column:
        """Return D^-1 b."""
        L, d = self.factors()
        return ldl_solve(L, d, b)


def ldl(A: Sequence[Sequence[Scalar]]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Factorise a symmetric positive matrix as L diag(d) L^T; any kind of number, no root.

    Of A the lower half is read, row by row; L is unit lower triangular.  Each element is finished
    before the next is begun, so that a kernel keeps its sum in a register.
    """
    # row by row: L d from the rows above, then the pivot
    L: list[list[Scalar]] = []
    d: list[Scalar] = []
    for i, given in enumerate(A):
        row: list[Scalar] = []  # of L diag(d)
        for j in range(i):
            x = given[j]
            for k in range(j):
                x = x - L[j][k] * row[k]
            row.append(x)
        pivot = given[i]
        L.append([x / y for x, y in zip(row, d, strict=True)])
        for k in range(i):
            pivot = pivot - L[i][k] * row[k]
        d.append(pivot)
    n = len(d)
    return [[*row, 1.0, *[ZERO] * (n - i - 1)] for i, row in enumerate(L)], d


def ldl_solve(L: list[list[Scalar]], d: list[Scalar], b: Sequence[Scalar]) -> Column:
    """Return x with L diag(d) L^T x = b."""
    # forward with L, divide by d, back with L^T
    n = len(d)
    x = list(b)
    for i in range(n):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    x = [value / pivot for value, pivot in zip(x, d, strict=True)]
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = x[i] - L[j][i] * x[j]
    return Column(x)


class _Columns:
    """Motions or forces side by side: a matrix of six rows."""

    __slots__ = ("columns",)
    _kind: ClassVar[type[Motion] | type[Force]]

    def __init__(self, *columns: Any) -> None:
        self.columns = columns

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"

    @property
    def rows(self) -> Rows:
        """The six rows."""
        flat = [(*column.ang, *column.lin) for column in self.columns]
        return tuple(zip(*flat, strict=True)) or ((),) * 6

    @property
    def T(self) -> TransposedSubspace:
        """The transpose: S^T projects forces on the degrees of freedom, U^T motions."""
        return TransposedSubspace(self.columns)

    def __matmul__(self, numbers: Any) -> Any:
        # S qd or U x: a sum of the columns with these weights
        name = type(self).__name__
        if isinstance(numbers, np.ndarray):
            if type(numbers) is not np.ndarray or numbers.ndim == 0:
                fix = "pass a tuple or a 1-D array"
                raise ArgumentError(f"{name} @ other", "numbers", numbers, fix)
        elif not isinstance(numbers, (tuple, list)) or isinstance(numbers, (Motion, Force)):
            return NotImplemented
        if len(numbers) != len(self.columns):
            fix, expected = "give one number for each column", f"{len(self.columns)} numbers"
            raise ShapeError(f"{name} @ x", "x", expected, len(numbers), fix)
        total = self._kind.zero()
        for column, number in zip(self.columns, numbers, strict=True):
            total = total + column * number
        return total


def _columns_text(S: Any) -> str:
    return f"{type(S).__name__}({', '.join(map(str, S.columns))})"


@displayable(lambda S: S.rows, _columns_text)
@comparable(lambda S: S.columns)
class Subspace(_Columns):
    """S: the motions that a joint allows, one column for each degree of freedom.

    Args:
        columns: motions.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> from sixfold.spatial import Motion, Subspace
        >>> S = Subspace(Motion.of([0, 0, 1, 0, 0, 0]), Motion.of([0, 0, 0, 0, 0, 1]))
        >>> print(S @ (2.0, 3.0), np.asarray(S).shape)
        Motion(w=(0, 0, 2), v=(0, 0, 3)) (6, 2)
    """

    __slots__ = ()
    _kind = Motion

    def __init__(self, *columns: Motion) -> None:
        super().__init__(*columns)
        for column in columns:
            if type(column) is not Motion:
                raise ArgumentError("Subspace", "motions", column, "pass Motion.of(...) columns")

    def __rmatmul__(self, inertia: Inertia | ArticulatedInertia) -> ForceSubspace:
        if not isinstance(inertia, (Inertia, ArticulatedInertia)):
            return NotImplemented
        return ForceSubspace(*(inertia @ column for column in self.columns))

    def map(self, convert: Callable[[Scalar], Scalar]) -> Subspace:
        """Return the subspace with each number converted."""
        return Subspace(*(column.map(convert) for column in self.columns))


@displayable(lambda U: U.rows, _columns_text)
@comparable(lambda U: U.columns)
class ForceSubspace(_Columns):
    """U = I S: forces, one column for each degree of freedom.

    Args:
        columns: the forces.

    Example:
        >>> import sixfold as sf
        >>> slide = sf.spatial.Subspace(sf.spatial.Motion.of([0, 0, 0, 1, 0, 0]))
        >>> U = sf.spatial.sphere(0.5, mass=2.0) @ slide
        >>> print(U @ [3.0])
        Force(n=(0, 0, 0), f=(6, 0, 0))
    """

    __slots__ = ()
    _kind = Force

    def __init__(self, *columns: Force) -> None:
        super().__init__(*columns)

    def __matmul__(self, other: Any) -> Any:
        # K U^T is a symmetric inertia when K = U / D
        if isinstance(other, TransposedSubspace):
            return _outer(self.columns, other.columns)
        return super().__matmul__(other)

    def __truediv__(self, D: JointMatrix) -> ForceSubspace:
        if len(self.columns) == 1:
            (d,) = D.pivots()
            ((ang, lin),) = self.columns
            return ForceSubspace(Force(ang / d, lin / d))
        # U D^-1, row by row of U
        L, d = D.factors()
        solved = zip(*(ldl_solve(L, d, row) for row in self.rows), strict=True)
        return ForceSubspace(*(Force(Vector3(*c[:3]), Vector3(*c[3:])) for c in solved))


class TransposedSubspace:
    """A transposed subspace: one row for each degree of freedom."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Any]) -> None:
        self.columns = tuple(columns)

    def __matmul__(self, other: Any) -> Any:
        # S^T f and U^T v are columns of numbers, S^T U is a joint matrix
        if isinstance(other, (Motion, Force)):
            return Column([row.dot(other) for row in self.columns])
        if isinstance(other, (Subspace, ForceSubspace)):
            return JointMatrix([[row.dot(c) for c in other.columns] for row in self.columns])
        return NotImplemented


def _outer(K: Sequence[Force], U: Sequence[Force]) -> ArticulatedInertia:
    """Return sum of k u^T, known to be symmetric."""
    # one term k u^T for each degree of freedom; their sum is symmetric
    total = ArticulatedInertia.zero()
    alone = len(K) == 1

    def pair(a: Scalar, q: Scalar, b: Scalar, p: Scalar) -> Scalar:
        """Return a q; b p, which is equal in a product alone, where that multiplies by one."""
        return b * p if alone and is_one(b) else a * q

    for k, u in zip(K, U, strict=True):
        (a, b, c), (p, q, r) = k.ang, u.ang
        (d, e, f), (s, t, v) = k.lin, u.lin
        total = total + ArticulatedInertia(
            Symmetric3(a * p, b * q, c * r, pair(a, q, b, p), pair(a, r, c, p), pair(b, r, c, q)),
            Matrix3(u.lin * a, u.lin * b, u.lin * c),
            Symmetric3(d * s, e * t, f * v, pair(d, t, e, s), pair(d, v, f, s), pair(e, v, f, t)),
        )
    return total
