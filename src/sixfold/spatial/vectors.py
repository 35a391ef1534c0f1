"""Vectors and matrices of ordinary space, motions and forces, over any kind of number.

First what all spatial quantities share (equality, arrays, short text, LaTeX, arithmetic part by
part), then `Vector3`, `Matrix3` and `Symmetric3`, then the two six-dimensional spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from operator import add, neg, sub
from typing import Any, NamedTuple, Self, TypeVar, overload

import numpy as np

from sixfold.errors import ArgumentError, ShapeError, SixfoldError, kind_of
from sixfold.scalar import (
    ZERO,
    Scalar,
    Zero,
    conversion_error,
    dot,
    exact,
    is_number,
    items_of,
    mistaken,
    number_of,
    several_numbers,
    sqrt,
    together,
)

Kind = TypeVar("Kind", bound=type)
Nested = Any  #: Numbers, or sequences of such.
Rows = tuple[tuple[Scalar, ...], ...]


# -- equality


def comparable(
    numbers: Callable[[Any], Sequence[Any]] = tuple, *, as_tuple: bool = False
) -> Callable[[Kind], Kind]:
    """Give a class `==`, `!=` and a hash that look at its numbers.

    Comparisons are always one bool.  Arrays are equal when their shapes and all their elements
    are, so that a quantity of many states is equal to another when it is so in every state.
    Symbols are compared as SymPy does, by form.  Graph nodes refuse to be compared.

    Args:
        numbers: how to get the numbers, or parts that are compared by themselves.
        as_tuple: whether a plain tuple of the same numbers is equal too.
    """

    def decorate(kind: Kind) -> Kind:
        # a tuple of arrays must not be compared element by element by NumPy
        others = (kind, tuple) if as_tuple else kind
        unlike = tuple if as_tuple else (tuple, np.ndarray)  # arrays would compare themselves

        def eq(self: Any, other: object) -> Any:
            if isinstance(other, others):
                return equal(numbers(self), numbers(other))
            return False if isinstance(other, unlike) else NotImplemented

        def ne(self: Any, other: object) -> Any:
            same = eq(self, other)
            return same if same is NotImplemented else not same

        def hash_of(self: Any) -> int:
            return hash(tuple(numbers(self)))

        for name, method in (("__eq__", eq), ("__ne__", ne), ("__hash__", hash_of)):
            setattr(kind, name, method)
        return kind

    return decorate


def equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether two sequences are equal, element by element."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


# -- arrays and text


def to_array(quantity: Any) -> np.ndarray[Any, Any]:
    """Return a spatial quantity as an array; a batch inside its numbers becomes leading axes.

    `np.asarray(quantity)` is the same for the types below.  This function also takes the rows that
    `X.pose()`, `m.cross_matrix()` or `apparent_inverse_inertia` return.

    Args:
        quantity: a Motion (omega; v) or a Force (n; f), a Transform (the matrix that acts on
            motions), an Inertia or ArticulatedInertia (the matrix that acts on motions), a Subspace
            or ForceSubspace (one column for each degree of freedom), a Vector3, a Matrix3, a
            JointMatrix, or a tuple or list of numbers or of rows.

    Returns:
        An array of shape (..., 6), (..., 6, 6), (..., 6, n), (..., 3), (..., 3, 3) or (..., rows,
        columns).  It holds floats, and objects where a number is a symbol or an MPFR number.

    Raises:
        ArgumentError: if something else is given.
        ShapeError: if rows have different lengths.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.to_array(sf.spatial.Motion.of([0, 0, 1, 0.5, 0, 0])).tolist()
        [0.0, 0.0, 1.0, 0.5, 0.0, 0.0]
        >>> sf.spatial.to_array(sf.Transform.translation((1, 2, 3)).pose()).shape
        (4, 4)
    """
    parts = getattr(type(quantity), "_nested", None)
    nested = quantity if parts is None else parts(quantity)
    with together("to_array"):
        shape, numbers = _shape(nested), list(_flat(nested))
        lead = _lead(numbers)
        # floats, unless a number is a symbol; the type of the arrays if there is a batch
        kinds = [x.dtype for x in numbers if isinstance(x, (np.ndarray, np.number))]
        dtype: Any = np.result_type(*kinds) if lead else np.dtype(np.float64)
        if not all(isinstance(x, (int, float, Zero, np.number, np.ndarray)) for x in numbers):
            dtype = np.dtype(object)
        made = np.empty((*lead, prod(shape)), dtype if dtype.kind in "fO" else np.float64)
        for k, x in enumerate(numbers):
            made[..., k] = 0 if isinstance(x, Zero) else x
        return made.reshape((*lead, *shape))


def _shape(nested: Nested) -> tuple[int, ...]:
    """Return the sizes of nested tuples or lists, or say what is wrong with them."""
    if not isinstance(nested, (tuple, list)):
        if is_number(nested):
            return ()
        fix = "pass a spatial quantity, or the rows of a matrix"
        raise ArgumentError("to_array", "numbers, or rows of numbers", nested, fix)
    # all parts of a level have one shape
    shapes = {_shape(part) for part in nested}
    if len(shapes) > 1:
        got, fix = sorted(map(str, shapes)), "pass rows of one length"
        raise ShapeError("to_array", "quantity", "rows of one length", got, fix)
    return (len(nested), *(shapes.pop() if shapes else ()))


def _flat(nested: Nested) -> Iterable[Any]:
    if not isinstance(nested, (tuple, list)):
        yield nested
        return
    for part in nested:
        yield from _flat(part)


def _lead(numbers: Sequence[Any]) -> tuple[int, ...]:
    """Return the leading axes that the numbers have together."""
    with together("to_array"):
        return np.broadcast_shapes(*(np.shape(x) for x in numbers if isinstance(x, np.ndarray)))


def _as_array(quantity: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the array of a spatial quantity, as NumPy's protocol wants it."""
    if copy is False:
        raise ValueError(f"a {type(quantity).__name__} is no array: one has to be made")
    array = to_array(quantity)
    return array if dtype is None else array.astype(dtype)


def displayable(
    nested: Callable[[Any], Nested], text: Callable[[Any], str]
) -> Callable[[Kind], Kind]:
    """Give a class a short `__str__`, `_repr_latex_` and `__array__`.

    Args:
        nested: the numbers of an object, nested as the axes of its array are.
        text: the short text of an object of plain numbers or symbols.
    """

    def decorate(kind: Kind) -> Kind:
        def short(self: Any) -> str:
            lead = _lead(list(_flat(nested(self))))
            if lead:
                return f"{kind.__name__} of {' x '.join(map(str, lead))} states"
            return text(self)

        def latex(self: Any) -> str | None:
            rows = nested(self)
            return None if _lead(list(_flat(rows))) else f"${matrix_latex(rows)}$"

        # arrays leave operations to the class: `array * quantity` is ours, as the batch lives
        # inside the numbers, and `array @ quantity` is an error
        members = {"__str__": short, "_repr_latex_": latex, "__array__": _as_array}
        more = {"_nested": staticmethod(nested), "__array_ufunc__": None}
        for name, member in {**members, **more}.items():
            setattr(kind, name, member)
        return kind

    return decorate


def number_text(x: Any) -> str:
    """Return a number with five digits, or a symbol as it prints itself."""
    if isinstance(x, (int, float, Zero, np.number)):
        value = float(x)
        return "0" if value == 0 else f"{value:.5g}"
    return str(x)


def row_text(numbers: Iterable[Any]) -> str:
    """Return numbers in brackets."""
    return f"({', '.join(map(number_text, numbers))})"


def number_latex(x: Any) -> str:
    """Return a number with five digits, or a symbol, as LaTeX."""
    own = getattr(x, "_repr_latex_", None)
    if own is not None:  # a symbol knows
        return str(own()).strip("$").removeprefix("\\displaystyle").strip()
    # 1.5e-05 as 1.5 x 10^-5
    digits, e, power = number_text(x).partition("e")
    return f"{digits} \\cdot 10^{{{int(power)}}}" if e else digits


def matrix_latex(nested: Nested) -> str:
    """Return a column or rows as a LaTeX matrix; six rows or columns are ruled in the middle."""
    rows = [row if isinstance(row, (tuple, list)) else (row,) for row in nested]
    width = len(rows[0]) if rows else 0
    form = "ccc|ccc" if width == 6 else "c" * width
    lines = [" & ".join(map(number_latex, row)) for row in rows]
    if len(lines) == 6:
        lines[3] = f"\\hline {lines[3]}"
    body = " \\\\ ".join(lines)
    return f"\\left[\\begin{{array}}{{{form}}} {body} \\end{{array}}\\right]"


# -- arithmetic


class Linear(tuple[Any, ...]):
    """Elements of a vector space: tuples of numbers, or of parts that are such elements."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:  # type: ignore[override]
        if not isinstance(other, type(self)):
            raise self._mismatch("+", other)
        # tuple.__new__ and map are twice as fast as the class and a comprehension
        return tuple.__new__(type(self), map(add, self, other))

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            raise self._mismatch("-", other)
        return tuple.__new__(type(self), map(sub, self, other))

    def __neg__(self) -> Self:
        return tuple.__new__(type(self), map(neg, self))

    def __mul__(self, scale: Scalar) -> Self:
        if isinstance(scale, tuple):
            where, fix = f"{type(self).__name__} * other", "use .dot() or .cross() for two vectors"
            raise ArgumentError(where, "a number", scale, fix)
        return tuple.__new__(type(self), [x * scale for x in self])

    def __rmul__(self, scale: Scalar) -> Self:
        return self * scale

    def map(self, convert: Callable[[Scalar], Scalar]) -> Self:
        """Return the same with each number converted."""
        try:
            parts = [x.map(convert) if isinstance(x, Linear) else convert(x) for x in self]
        except SixfoldError:
            raise
        except Exception as error:
            raise conversion_error(error, convert) from error
        return tuple.__new__(type(self), parts)

    def _mismatch(self, sign: str, other: Any) -> Exception:
        """Return the error of a sum of different kinds."""
        kind = type(self)
        return mistaken(TypeError(), f"{kind.__name__} {sign} other", kind, other)


# -- ordinary space


class _Coordinates(NamedTuple):
    x: Scalar
    y: Scalar
    z: Scalar


@comparable(as_tuple=True)
class Vector3(Linear, _Coordinates):
    """Three coordinates, numbers of any kind.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.Vector3(1.0, 2.0, 0.0).cross(sf.spatial.Vector3(0.0, 0.0, 3.0))
        Vector3(x=6.0, y=-3.0, z=0.0)
    """

    __slots__ = ()
    __array_ufunc__ = None  # array * vector is ours: the batch lives inside the numbers

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Vector3:
        """Take three numbers; plain zeros become exact ones."""
        x, y, z = several_numbers("Vector3", "values", values, 3, "pass (x, y, z)")
        return cls(exact(x), exact(y), exact(z))

    def __truediv__(self, scale: Scalar) -> Vector3:
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


ZERO3 = Vector3(ZERO, ZERO, ZERO)


class _Matrix3Rows(NamedTuple):
    a: Vector3
    b: Vector3
    c: Vector3


@comparable(as_tuple=True)
class Matrix3(Linear, _Matrix3Rows):
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

    __slots__ = ()

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Matrix3:
        """Take three rows of three numbers; plain zeros become exact ones."""
        listed = items_of("Matrix3", "rows", rows, 3, "3 rows of 3 numbers", "pass a 3x3 matrix")
        return cls(*(Vector3.of(row) for row in listed))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Vector3):
            return Vector3(self.a.dot(other), self.b.dot(other), self.c.dot(other))
        if isinstance(other, Matrix3):
            columns = other.T
            return Matrix3(*(Vector3(*(row.dot(column) for column in columns)) for row in self))
        return NotImplemented

    @property
    def T(self) -> Matrix3:
        """Transpose."""
        return Matrix3(*(Vector3(*column) for column in zip(*self, strict=True)))

    def congruence(self, E: Matrix3) -> Matrix3:
        """Return E^T A E for a rotation E."""
        turned = _about_axis(self, E)
        return E.T @ (self @ E) if turned is None else turned


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
    # which element of E stands alone, and the other two rows and columns
    three = range(3)
    fixed = [(k, n) for k in three for n in three if _alone(E, k, n)]
    if len(fixed) != 1:
        return None
    ((k, n),) = fixed
    (i, j), (p, q) = ([m for m in three if m != x] for x in (k, n))
    # E turns about this axis, perhaps with a change of sign
    c, s, along = E[i][p], E[j][p], E[k][n]
    if not isinstance(along, (int, float)):
        return None
    sign = along if (k + n) % 2 == 0 else -along

    def turn_pair(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        return (c * x + s * y) * along, (c * y - s * x) * (sign * along)

    w = s * (A[i][i] - A[j][j]) - c * (A[i][j] + A[j][i])
    new: list[list[Scalar]] = [[ZERO] * 3 for _ in three]
    new[p][p], new[q][q] = A[i][i] - s * w, A[j][j] + s * w
    new[p][q], new[q][p] = (c * w + A[j][i]) * -sign, (c * w + A[i][j]) * -sign
    new[p][n], new[q][n] = turn_pair(A[i][k], A[j][k])
    new[n][p], new[n][q] = turn_pair(A[k][i], A[k][j])
    new[n][n] = A[k][k]
    return Matrix3(*(Vector3(*row) for row in new))


def _alone(E: Matrix3, k: int, n: int) -> bool:
    """Return whether element (k, n) alone is not an exact zero in its row and its column."""
    row, column = E[k], E.T[n]
    others = [x for m, x in enumerate(row) if m != n] + [x for m, x in enumerate(column) if m != k]
    return row[n] is not ZERO and all(x is ZERO for x in others)


class _SymmetricElements(NamedTuple):
    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar


@comparable(as_tuple=True)
class Symmetric3(Linear, _SymmetricElements):
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

    __slots__ = ()

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> Symmetric3:
        """Take the upper triangle of a 3x3 matrix; plain zeros become exact ones."""
        return symmetric_part(Matrix3.of(rows))

    def __matmul__(self, v: Any) -> Vector3:
        if not isinstance(v, Vector3):
            return NotImplemented
        return Vector3(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )

    def congruence(self, E: Matrix3) -> Symmetric3:
        """Return E^T A E for a rotation E."""
        turned = _about_axis(self.matrix(), E)
        if turned is not None:
            return symmetric_part(turned)
        # columns of E: element (i, j) of E^T A E is column i . A column j
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
        # E = a a^T + c (1 - a a^T) - s a x
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


# -- the spaces of motions and forces


class _Six(NamedTuple):
    ang: Vector3
    lin: Vector3


class _SixVector(Linear, _Six):
    """What motions and forces share; neither space has an inner product of its own."""

    __slots__ = ()

    @classmethod
    def zero(cls) -> Self:
        """Return the one that is exactly zero."""
        return cls(ZERO3, ZERO3)

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Self:
        """Take six numbers: the angular part, then the linear part."""
        fix = "pass the angular part, then the linear part"
        six = items_of(cls.__name__, "values", values, 6, "6 numbers", fix)
        return cls(Vector3.of(six[:3]), Vector3.of(six[3:]))

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            raise self._mismatch("-", other)
        return self + -other

    def __mul__(self, scale: Scalar) -> Self:
        if isinstance(scale, _SixVector):
            where = f"{type(self).__name__} * {type(scale).__name__}"
            raise ArgumentError(where, "a number", scale, "use .dot() for power, .cross() for x")
        return type(self)(self.ang * scale, self.lin * scale)

    def _mismatch(self, sign: str, other: Any) -> Exception:
        kind = type(self).__name__
        what = f"{kind} {sign} {type(other).__name__}: motions and forces live in different spaces"
        where, fix = f"{what}; only vectors of one kind can be added", "add vectors of one kind"
        return ArgumentError(where, f"a {kind}", other, fix)

    def _power(self, other: Any, dual: type[_SixVector]) -> Scalar:
        if not isinstance(other, dual):
            what = f"{type(self).__name__} . {type(other).__name__}: the scalar product joins"
            where = f"{what} a Motion and a Force (power); neither space has one of its own"
            raise ArgumentError(where, f"a {dual.__name__}", other, f"pass a {dual.__name__}")
        return self.ang.dot(other.ang) + self.lin.dot(other.lin)


def _six(x: _SixVector) -> tuple[Scalar, ...]:
    return (*x.ang, *x.lin)


@displayable(_six, lambda m: f"Motion(w={row_text(m.ang)}, v={row_text(m.lin)})")
@comparable()
class Motion(_SixVector):
    """A velocity or acceleration: angular part first, linear part at the origin.

    Args:
        ang: angular velocity [rad/s], or its rate.
        lin: velocity of the body point at the origin [m/s], or its rate.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> v = sf.spatial.Motion.of([0, 0, 1, 0.5, 0, 0])
        >>> print(2 * v, v.dot(sf.spatial.Force.of([0, 0, 3, 4, 0, 0])), np.asarray(v).shape)
        Motion(w=(0, 0, 2), v=(1, 0, 0)) 5.0 (6,)
    """

    __slots__ = ()

    def dot(self, f: Force) -> Scalar:
        """Return the power of a force on this motion; motion . motion does not exist."""
        return self._power(f, Force)

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Any) -> Any:
        """Return v x m for a motion (Carius eq. 9) and v x* f for a force (eq. 10)."""
        w, v = self
        if isinstance(other, Motion):
            return Motion(w.cross(other.ang), w.cross(other.lin) + v.cross(other.ang))
        if isinstance(other, Force):
            return Force(w.cross(other.ang) + v.cross(other.lin), w.cross(other.lin))
        where = f"cross product of Motion with {kind_of(other)}"
        raise ArgumentError(where, "a Motion or Force", other, "pass a Motion or Force")

    def cross_matrix(self) -> Rows:
        """Return the 6x6 matrix v x = [[w x, 0], [v x, w x]]."""
        w, v = skew(self.ang), skew(self.lin)
        return blocks(w, ZERO33, v, w)

    def cross_star_matrix(self) -> Rows:
        """Return the 6x6 matrix v x* = [[w x, v x], [0, w x]] = -(v x)^T."""
        w, v = skew(self.ang), skew(self.lin)
        return blocks(w, v, ZERO33, w)


@displayable(_six, lambda f: f"Force(n={row_text(f.ang)}, f={row_text(f.lin)})")
@comparable()
class Force(_SixVector):
    """A force, momentum or impulse: moment about the origin first, linear part second.

    Args:
        ang: moment about the origin [N m].
        lin: force [N].

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.Force.at_point((0, 0, 10), (2, 0, 0)))
        Force(n=(0, -20, 0), f=(0, 0, 10))
    """

    __slots__ = ()

    @classmethod
    def at_point(cls, force: Sequence[Scalar], point: Sequence[Scalar]) -> Force:
        """Return a pure force acting along a line through a point; each is three numbers."""
        where, fix = "Force.at_point", "pass three numbers, or a Vector3"
        # a force along a line has the moment p x f about the origin
        f, p = (
            x
            if isinstance(x, Vector3)
            else Vector3.of(items_of(where, name, x, 3, "3 numbers", fix))
            for name, x in (("force", force), ("point", point))
        )
        with together(where):
            return cls(p.cross(f), f)

    def dot(self, v: Motion) -> Scalar:
        """Return the power on a motion; force . force does not exist."""
        return self._power(v, Motion)


def blocks(a: Matrix3, b: Matrix3, c: Matrix3, d: Matrix3) -> Rows:
    """Return the rows of the 6x6 matrix [[a, b], [c, d]]."""
    halves = (*zip(a, b, strict=True), *zip(c, d, strict=True))
    return tuple((*left, *right) for left, right in halves)


def product(A: Rows, B: Rows) -> Rows:
    """Multiply two 6x6 matrices given by rows."""
    # element (i, j) is the product of row i of A and column j of B
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(dot(row, column) for column in columns) for row in A)
