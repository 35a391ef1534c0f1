"""The two derivatives of a coordinate vector, and the derivatives of transforms and inertias.

In coordinates that move with velocity v, the coordinates *of the derivative* of a vector differ
from the *componentwise* derivative of its coordinates (Featherstone writes a dot and a ring):

    vector_rate = component_rate + v x u        (v x* for forces; Carius eq. 5)

For a vector of ordinary space in axes that turn, v is the angular velocity of the axes.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from sixfold.scalar import Scalar
from sixfold.spatial.inertia import ArticulatedInertia, Inertia
from sixfold.spatial.transform import Transform
from sixfold.spatial.vector3 import Vector3
from sixfold.spatial.vectors import Force, Motion, Rows

Vector = TypeVar("Vector", Motion, Force)


@overload
def vector_rate(component_rate: Vector, u: Vector, frame_velocity: Motion) -> Vector: ...
@overload
def vector_rate(component_rate: Vector3, u: Vector3, frame_velocity: Vector3) -> Vector3: ...
def vector_rate(component_rate: Any, u: Any, frame_velocity: Any) -> Any:
    """Return the coordinates of du/dt from the componentwise derivative of u."""
    return component_rate + _carried(u, frame_velocity)


@overload
def component_rate(vector_rate: Vector, u: Vector, frame_velocity: Motion) -> Vector: ...
@overload
def component_rate(vector_rate: Vector3, u: Vector3, frame_velocity: Vector3) -> Vector3: ...
def component_rate(vector_rate: Any, u: Any, frame_velocity: Any) -> Any:
    """Return the componentwise derivative of u from the coordinates of du/dt."""
    return vector_rate - _carried(u, frame_velocity)


def _carried(u: Any, frame_velocity: Any) -> Any:
    """Return the rate of a vector that rests in a frame that moves."""
    if isinstance(frame_velocity, Vector3) and not isinstance(u, Vector3):
        raise TypeError(
            f"rate of a {type(u).__name__} in axes that turn with a Vector3: "
            f"give the velocity of the frame as a Motion"
        )
    return frame_velocity.cross(u)


def classical_acceleration(a: Motion, v: Motion) -> Motion:
    """Return (angular acceleration; acceleration of the body point at the origin)."""
    return Motion(a.ang, a.lin + v.ang.cross(v.lin))


def spatial_acceleration(classical: Motion, v: Motion) -> Motion:
    """Return the spatial acceleration from the classical one, for a body moving with v."""
    return Motion(classical.ang, classical.lin - v.ang.cross(v.lin))


def velocity_at(v: Motion, point: Vector3) -> Vector3:
    """Return the velocity of the body point that is passing through a point."""
    return v.lin + v.ang.cross(point)


def transform_rate(X: Transform, v_A: Motion, v_B: Motion) -> Rows:
    """Return d/dt B_X_A = (v_A - v_B) x B_X_A as a 6x6 matrix, both in B (Carius eq. 16)."""
    return product((v_A - v_B).cross_matrix(), X.matrix())


def inertia_rate(inertia: Inertia | ArticulatedInertia, v: Motion) -> Rows:
    """Return dI/dt = v x* I - I v x for a body moving with v, as a 6x6 matrix (Carius eq. 21)."""
    first = product(v.cross_star_matrix(), inertia.matrix())
    second = product(inertia.matrix(), v.cross_matrix())
    return tuple(
        tuple(a - b for a, b in zip(p, q, strict=True)) for p, q in zip(first, second, strict=True)
    )


def equation_of_motion(inertia: Inertia, v: Motion, a: Motion) -> Force:
    """Return the force on a body, f = I a + v x* I v (Carius eq. 22, Featherstone)."""
    return inertia @ a + v.cross(inertia @ v)


def product(A: Rows, B: Rows) -> Rows:
    """Multiply two 6x6 matrices given by rows."""
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in A)


def _dot(a: tuple[Scalar, ...], b: tuple[Scalar, ...]) -> Scalar:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total
