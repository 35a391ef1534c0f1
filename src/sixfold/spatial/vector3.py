"""Vectors and matrices of ordinary space, over any kind of number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sixfold.errors import ArgumentError
from sixfold.scalar import (
    ZERO,
    Scalar,
    exact,
    items_of,
    mistaken,
    number_of,
    several_numbers,
    sqrt,
    unconverted,
)
from sixfold.spatial.quantity import comparable


@comparable(as_tuple=True)
class Vector3(NamedTuple):
    """Three coordinates, numbers of any kind.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.Vector3(1.0, 2.0, 0.0).cross(sf.spatial.Vector3(0.0, 0.0, 3.0))
        Vector3(x=6.0, y=-3.0, z=0.0)
    """

    x: Scalar
    y: Scalar
    z: Scalar

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Vector3:
        """Take three numbers; plain zeros become exact ones."""
        x, y, z = several_numbers("Vector3", "values", values, 3, "pass (x, y, z)")
        return cls(exact(x), exact(y), exact(z))

    def __add__(self, other: Vector3) -> Vector3:  # type: ignore[override]
        """Add."""
        try:
            return Vector3(self.x + other.x, self.y + other.y, self.z + other.z)
        except (AttributeError, TypeError) as error:
            raise mistaken(error, "Vector3 + other", Vector3, other) from None

    def __sub__(self, other: Vector3) -> Vector3:
        """Subtract."""
        try:
            return Vector3(self.x - other.x, self.y - other.y, self.z - other.z)
        except (AttributeError, TypeError) as error:
            raise mistaken(error, "Vector3 - other", Vector3, other) from None

    def __neg__(self) -> Vector3:
        """Reverse."""
        return Vector3(-self.x, -self.y, -self.z)

    def __mul__(self, scale: Scalar) -> Vector3:
        """Scale."""
        if isinstance(scale, tuple):
            fix = "use .dot() or .cross() for two vectors"
            raise ArgumentError("Vector3 * other", "a number", scale, fix)
        return Vector3(self.x * scale, self.y * scale, self.z * scale)

    def __rmul__(self, scale: Scalar) -> Vector3:
        """Scale."""
        return self * scale

    def __truediv__(self, scale: Scalar) -> Vector3:
        """Divide by a number."""
        return Vector3(self.x / scale, self.y / scale, self.z / scale)

    def dot(self, other: Vector3) -> Scalar:
        """Scalar product."""
        try:
            return self.x * other.x + self.y * other.y + self.z * other.z
        except (AttributeError, TypeError) as error:
            raise mistaken(error, "Vector3.dot: argument 'other'", Vector3, other) from None

    def cross(self, other: Vector3) -> Vector3:
        """Vector product."""
        try:
            return Vector3(
                self.y * other.z - self.z * other.y,
                self.z * other.x - self.x * other.z,
                self.x * other.y - self.y * other.x,
            )
        except (AttributeError, TypeError) as error:
            raise mistaken(error, "Vector3.cross: argument 'other'", Vector3, other) from None

    def norm(self) -> Scalar:
        """Length."""
        return sqrt(self.dot(self))

    def map(self, convert: Callable[[Scalar], Scalar]) -> Vector3:
        """Return the vector with each number converted."""
        try:
            return Vector3(*map(convert, self))
        except Exception as error:
            raise unconverted(error, convert) from error


# array * vector is ours: the batch lives inside the numbers
Vector3.__array_ufunc__ = None  # type: ignore[attr-defined]
ZERO3 = Vector3(ZERO, ZERO, ZERO)


@comparable(as_tuple=True)
class Matrix3(NamedTuple):
    """A 3x3 matrix: three rows.

    Args:
        a: first row, a `Vector3`.
        b: second row.
        c: third row.

    Example:
        >>> import sixfold as sf
        >>> A = sf.spatial.Matrix3.of([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        >>> A @ sf.spatial.Vector3(1.0, 2.0, 3.0)
        Vector3(x=-2.0, y=1.0, z=3.0)
    """

    a: Vector3
    b: Vector3
    c: Vector3

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Matrix3:
        """Take three rows of three numbers; plain zeros become exact ones."""
        listed = items_of("Matrix3", "rows", rows, 3, "3 rows of 3 numbers", "pass a 3x3 matrix")
        return cls(*(Vector3.of(row) for row in listed))

    def __matmul__(self, other: Any) -> Any:
        """Multiply a vector or a matrix."""
        if isinstance(other, Vector3):
            return Vector3(self.a.dot(other), self.b.dot(other), self.c.dot(other))
        if isinstance(other, Matrix3):
            columns = other.T
            return Matrix3(*(Vector3(*(row.dot(column) for column in columns)) for row in self))
        return NotImplemented

    def __add__(self, other: Matrix3) -> Matrix3:  # type: ignore[override]
        """Add."""
        return Matrix3(self.a + other.a, self.b + other.b, self.c + other.c)

    def __sub__(self, other: Matrix3) -> Matrix3:
        """Subtract."""
        return Matrix3(self.a - other.a, self.b - other.b, self.c - other.c)

    def __neg__(self) -> Matrix3:
        """Change every sign."""
        return Matrix3(-self.a, -self.b, -self.c)

    def __mul__(self, scale: Scalar) -> Matrix3:
        """Scale."""
        return Matrix3(self.a * scale, self.b * scale, self.c * scale)

    def __rmul__(self, scale: Scalar) -> Matrix3:
        """Scale."""
        return self * scale

    @property
    def T(self) -> Matrix3:
        """Transpose."""
        return Matrix3(*(Vector3(*column) for column in zip(*self, strict=True)))

    def congruence(self, E: Matrix3) -> Matrix3:
        """Return E^T A E for a rotation E."""
        turned = _about_axis(self, E)
        return E.T @ (self @ E) if turned is None else turned

    def map(self, convert: Callable[[Scalar], Scalar]) -> Matrix3:
        """Return the matrix with each number converted."""
        return Matrix3(*(row.map(convert) for row in self))


ZERO33 = Matrix3(ZERO3, ZERO3, ZERO3)
IDENTITY3 = Matrix3(Vector3(1.0, ZERO, ZERO), Vector3(ZERO, 1.0, ZERO), Vector3(ZERO, ZERO, 1.0))


def skew(v: Vector3) -> Matrix3:
    """Return the matrix v x, with (v x) u = v x u (Carius eq. 1).

    Args:
        v: a Vector3.

    Returns:
        A Matrix3, skew-symmetric.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.to_array(sf.spatial.skew(sf.spatial.Vector3(1.0, 2.0, 3.0)))[0].tolist()
        [0.0, -3.0, 2.0]
    """
    try:
        return Matrix3(Vector3(ZERO, -v.z, v.y), Vector3(v.z, ZERO, -v.x), Vector3(-v.y, v.x, ZERO))
    except (AttributeError, TypeError) as error:
        raise mistaken(error, "skew: argument 'v'", Vector3, v) from None


def axial(E: Matrix3) -> Vector3:
    """Return sin(angle) times the axis of the turn that E takes coordinates through."""
    return Vector3((E.b.z - E.c.y) * 0.5, (E.c.x - E.a.z) * 0.5, (E.a.y - E.b.x) * 0.5)


def outer(a: Vector3, b: Vector3) -> Matrix3:
    """Return a b^T."""
    return Matrix3(b * a.x, b * a.y, b * a.z)


def _about_axis(A: Matrix3, E: Matrix3) -> Matrix3 | None:
    """Return E^T A E where E takes a coordinate axis to one and mixes the other two, else None.

    The other two rows and columns of E are an orthogonal matrix with columns (c, s) and +-(-s, c).
    With w = s (a - d) - c (b + b') for the elements a, b, b', d of A there, the new ones are
    a - s w, d + s w, +-(-c w - b') and +-(-c w - b): half the products of E^T (A E).
    """
    three = range(3)
    fixed = [(k, n) for k in three for n in three if _alone(E, k, n)]
    if len(fixed) != 1:
        return None
    ((k, n),) = fixed
    (i, j), (p, q) = ([m for m in three if m != x] for x in (k, n))
    c, s, along = E[i][p], E[j][p], E[k][n]
    if not isinstance(along, (int, float)):
        return None
    sign = along if (k + n) % 2 == 0 else -along

    def turned(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        return (c * x + s * y) * along, (c * y - s * x) * (sign * along)

    w = s * (A[i][i] - A[j][j]) - c * (A[i][j] + A[j][i])
    new: list[list[Scalar]] = [[ZERO] * 3 for _ in three]
    new[p][p], new[q][q] = A[i][i] - s * w, A[j][j] + s * w
    new[p][q], new[q][p] = (c * w + A[j][i]) * -sign, (c * w + A[i][j]) * -sign
    new[p][n], new[q][n] = turned(A[i][k], A[j][k])
    new[n][p], new[n][q] = turned(A[k][i], A[k][j])
    new[n][n] = A[k][k]
    return Matrix3(*(Vector3(*row) for row in new))


def _alone(E: Matrix3, k: int, n: int) -> bool:
    """Return whether element (k, n) alone is not an exact zero in its row and its column."""
    row, column = E[k], E.T[n]
    others = [x for m, x in enumerate(row) if m != n] + [x for m, x in enumerate(column) if m != k]
    return row[n] is not ZERO and all(x is ZERO for x in others)


@comparable(as_tuple=True)
class Symmetric3(NamedTuple):
    """A symmetric 3x3 matrix: its six independent elements.

    Args:
        xx: diagonal element, as `yy` and `zz`.
        yy: diagonal element.
        zz: diagonal element.
        xy: off-diagonal element, as `xz` and `yz`.
        xz: off-diagonal element.
        yz: off-diagonal element.

    Example:
        >>> import sixfold as sf
        >>> A = sf.spatial.Symmetric3(1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
        >>> A @ sf.spatial.Vector3(1.0, 0.0, 0.0)
        Vector3(x=1.0, y=0.1, z=0.2)
    """

    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Symmetric3:
        """Take the upper triangle of a 3x3 matrix; plain zeros become exact ones."""
        m = Matrix3.of(rows)
        return cls(m.a.x, m.b.y, m.c.z, m.a.y, m.a.z, m.b.z)

    def __matmul__(self, v: Any) -> Vector3:
        """Multiply a vector."""
        if not isinstance(v, Vector3):
            return NotImplemented
        return Vector3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def __add__(self, other: Symmetric3) -> Symmetric3:  # type: ignore[override]
        """Add."""
        return Symmetric3(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Symmetric3) -> Symmetric3:
        """Subtract."""
        return Symmetric3(*(a - b for a, b in zip(self, other, strict=True)))

    def __mul__(self, scale: Scalar) -> Symmetric3:
        """Scale."""
        return Symmetric3(*(a * scale for a in self))

    def __rmul__(self, scale: Scalar) -> Symmetric3:
        """Scale."""
        return self * scale

    def congruence(self, E: Matrix3) -> Symmetric3:
        """Return E^T A E for a rotation E."""
        turned = _about_axis(self.matrix(), E)
        if turned is not None:
            return symmetric_part(turned)
        p, q, r = E.T
        Ap, Aq, Ar = self @ p, self @ q, self @ r
        return Symmetric3(p.dot(Ap), q.dot(Aq), r.dot(Ar), p.dot(Aq), p.dot(Ar), q.dot(Ar))

    def matrix(self) -> Matrix3:
        """Return all nine elements."""
        return Matrix3(
            Vector3(self.xx, self.xy, self.xz),
            Vector3(self.xy, self.yy, self.yz),
            Vector3(self.xz, self.yz, self.zz),
        )

    def map(self, convert: Callable[[Scalar], Scalar]) -> Symmetric3:
        """Return the matrix with each number converted."""
        try:
            return Symmetric3(*map(convert, self))
        except Exception as error:
            raise unconverted(error, convert) from error


ZERO_SYMMETRIC = Symmetric3(ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)


def symmetric_part(m: Matrix3) -> Symmetric3:
    """Return the six elements of a matrix that is known to be symmetric."""
    return Symmetric3(m.a.x, m.b.y, m.c.z, m.a.y, m.a.z, m.b.z)


def steiner(mass: Scalar, c: Vector3) -> Symmetric3:
    """Return m (c.c 1 - c c^T) = m c x c x^T, the parallel-axis term (Khatib).

    Args:
        mass: [kg].
        c: position of the centre of mass, a Vector3 [m].

    Returns:
        What the rotational inertia about the origin has more than that about c [kg m^2].

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.steiner(2.0, sf.spatial.Vector3(0.0, 0.0, 3.0))[:3]
        (18.0, 18.0, 0.0)
    """
    try:
        x, y, z = c
        return Symmetric3(
            mass * (y * y + z * z),
            mass * (z * z + x * x),
            mass * (x * x + y * y),
            -(mass * (x * y)),
            -(mass * (x * z)),
            -(mass * (y * z)),
        )
    except Exception as error:
        raise _unfit(error, "steiner", "c", c, mass=mass) from None


def rotation(axis: Vector3, c: Scalar, s: Scalar) -> Matrix3:
    """Return E for a turn about a unit axis with cosine c and sine s: old coordinates to new.

    E = a a^T + c (1 - a a^T) - s a x, written so that constants of the axis fold first.

    Args:
        axis: a unit Vector3.
        c: cosine of the angle.
        s: sine of the angle.

    Returns:
        The Matrix3 E of a `Transform`.

    Example:
        >>> import sixfold as sf
        >>> E = sf.spatial.rotation(sf.spatial.Vector3(0.0, 0.0, 1.0), 0.0, 1.0)  # a quarter turn
        >>> tuple(E @ sf.spatial.Vector3(1.0, 0.0, 0.0))
        (0.0, -1.0, 0.0)
    """
    try:
        P = outer(axis, axis)
        Q = (IDENTITY3 - P).map(exact)
        return P.map(exact) + Q * c - skew(axis) * s
    except Exception as error:
        raise _unfit(error, "rotation", "axis", axis, c=c, s=s) from None


def _unfit(error: Exception, where: str, name: str, vector: Any, **numbers: Any) -> Exception:
    """Return the error to raise when a function of a vector and numbers failed."""
    for argument, x in numbers.items():
        number_of(where, argument, x)
    return mistaken(error, f"{where}: argument '{name}'", Vector3, vector)
