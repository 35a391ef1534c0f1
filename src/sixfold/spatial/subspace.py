"""Subspaces spanned by a few motions or forces, and the small matrices between them.

A joint of n degrees of freedom has a motion subspace S (6 x n); an inertia times S is a force
subspace U (6 x n); S^T U is an n x n joint matrix D.  For n = 1 everything is a plain number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from sixfold.errors import ArgumentError, ShapeError
from sixfold.scalar import ZERO, Scalar, is_one
from sixfold.spatial.inertia import ArticulatedInertia, Inertia
from sixfold.spatial.quantity import comparable, displayable, triple
from sixfold.spatial.vector3 import Matrix3, Symmetric3, Vector3
from sixfold.spatial.vectors import Force, Motion


@comparable(as_tuple=True)
class Column(tuple[Scalar, ...]):
    """A short column of numbers: one joint's positions, velocities or forces."""

    __slots__ = ()

    @classmethod
    def zero(cls, n: int) -> Column:
        """Return n exact zeros."""
        return cls([ZERO] * n)

    def __add__(self, other: Iterable[Scalar]) -> Column:
        """Add element by element."""
        return Column([a + b for a, b in zip(self, other, strict=True)])

    def __sub__(self, other: Iterable[Scalar]) -> Column:
        """Subtract element by element."""
        return Column([a - b for a, b in zip(self, other, strict=True)])

    def __neg__(self) -> Column:
        """Change every sign."""
        return Column([-a for a in self])

    def __mul__(self, other: Any) -> Column:
        """Multiply element by element, or scale by a number."""
        factors = other if isinstance(other, tuple) else (other,) * len(self)
        return Column([a * b for a, b in zip(self, factors, strict=True)])

    def __truediv__(self, D: Any) -> Column:
        """Return D^-1 times the column."""
        return D.solve(self) if isinstance(D, JointMatrix) else Column([a / D for a in self])


def _matrix_text(D: Any) -> str:
    return f"JointMatrix({', '.join(map(triple, D.rows))})"


@displayable(lambda D: D.rows, _matrix_text)
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
        """Keep the rows; the factors are computed at first use."""
        self.rows = tuple(tuple(row) for row in rows)
        self._factors: tuple[list[list[Scalar]], list[Scalar]] | None = None

    def __add__(self, diagonal: Sequence[Scalar]) -> JointMatrix:
        """Add a diagonal."""
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


def _columns(S: Any) -> tuple[tuple[Scalar, ...], ...]:
    """Return the six rows of a subspace."""
    flat = [(*column.ang, *column.lin) for column in S.columns]
    return tuple(zip(*flat, strict=True)) or ((),) * 6


def _text(S: Any) -> str:
    return f"{type(S).__name__}({', '.join(map(str, S.columns))})"


@displayable(_columns, _text)
@comparable(lambda S: S.columns)
class Subspace:
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

    __slots__ = ("columns",)

    def __init__(self, *columns: Motion) -> None:
        """Take the columns."""
        self.columns = columns
        for column in columns:
            if type(column) is not Motion:
                raise ArgumentError("Subspace", "motions", column, "pass Motion.of(...) columns")

    def __repr__(self) -> str:
        """Print all digits."""
        return f"Subspace({', '.join(map(repr, self.columns))})"

    def __matmul__(self, rates: Any) -> Motion:
        """S qd: the motion with these rates."""
        rates = _numbers(rates, "Subspace")
        if rates is None:
            return NotImplemented
        if len(rates) != len(self.columns):
            raise _unequal("Subspace", self.columns, rates)
        total = Motion.zero()
        for column, rate in zip(self.columns, rates, strict=True):
            total = total + column * rate
        return total

    def __rmatmul__(self, inertia: Inertia | ArticulatedInertia) -> ForceSubspace:
        """I S: one force for each degree of freedom."""
        if not isinstance(inertia, (Inertia, ArticulatedInertia)):
            return NotImplemented
        return ForceSubspace(*(inertia @ column for column in self.columns))

    @property
    def T(self) -> Rows:
        """S^T, which projects forces on the degrees of freedom."""
        return Rows(self.columns)

    def map(self, convert: Callable[[Scalar], Scalar]) -> Subspace:
        """Return the subspace with each number converted."""
        return Subspace(*(column.map(convert) for column in self.columns))


@displayable(_columns, _text)
@comparable(lambda T: T.columns)
class ForceSubspace:
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

    __slots__ = ("columns",)

    def __init__(self, *columns: Force) -> None:
        """Take the columns."""
        self.columns = columns

    def __repr__(self) -> str:
        """Print all digits."""
        return f"ForceSubspace({', '.join(map(repr, self.columns))})"

    def __matmul__(self, other: Any) -> Any:
        """U x for a column of numbers; K U^T as a symmetric inertia when K = U / D."""
        if isinstance(other, Rows):
            return _outer(self.columns, other.columns)
        other = _numbers(other, "ForceSubspace")
        if other is None:
            return NotImplemented
        if len(other) != len(self.columns):
            raise _unequal("ForceSubspace", self.columns, other)
        total = Force.zero()
        for column, weight in zip(self.columns, other, strict=True):
            total = total + column * weight
        return total

    def __truediv__(self, D: JointMatrix) -> ForceSubspace:
        """U D^-1."""
        if len(self.columns) == 1:
            (d,) = D.pivots()
            ((ang, lin),) = self.columns
            return ForceSubspace(Force(ang / d, lin / d))
        L, d = D.factors()
        flat = [(*column.ang, *column.lin) for column in self.columns]
        solved = zip(*(ldl_solve(L, d, row) for row in zip(*flat, strict=True)), strict=True)
        return ForceSubspace(*(Force(Vector3(*c[:3]), Vector3(*c[3:])) for c in solved))

    @property
    def T(self) -> Rows:
        """U^T, which takes motions to numbers."""
        return Rows(self.columns)


class Rows:
    """A transposed subspace: one row for each degree of freedom."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Any]) -> None:
        """Take the columns that become rows."""
        self.columns = tuple(columns)

    def __matmul__(self, other: Any) -> Any:
        """S^T f or U^T v: a column of numbers; S^T U: a joint matrix."""
        if isinstance(other, (Motion, Force)):
            return Column([row.dot(other) for row in self.columns])
        if isinstance(other, (Subspace, ForceSubspace)):
            return JointMatrix([[row.dot(c) for c in other.columns] for row in self.columns])
        return NotImplemented


def _numbers(given: Any, name: str) -> Any:
    """Return numbers, one for each column; None for objects that are no sequence of numbers."""
    if isinstance(given, np.ndarray):
        if type(given) is not np.ndarray or given.ndim == 0:
            raise ArgumentError(f"{name} @ other", "numbers", given, "pass a tuple or a 1-D array")
        return tuple(given)
    if not isinstance(given, (tuple, list)) or isinstance(given, (Motion, Force)):
        return None
    return given


def _unequal(kind: str, columns: Sequence[Any], given: Sequence[Any]) -> ShapeError:
    fix = "give one number for each column"
    return ShapeError(f"{kind} @ x", "x", f"{len(columns)} numbers", len(given), fix)


def _outer(K: Sequence[Force], U: Sequence[Force]) -> ArticulatedInertia:
    """Return sum of k u^T, known to be symmetric."""
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
