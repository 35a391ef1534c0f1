"""The <origin> and <inertial> of URDF."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.formats.notes import Notes
from sixfold.formats.xml.fields import Fields
from sixfold.scalar import exact
from sixfold.spatial import IDENTITY3, Inertia, Transform, Vector3
from sixfold.spatial.rotations import exact_rotation, matrix_of_rotation, rpy_to_rotation
from sixfold.spatial.vector3 import Symmetric3

Numbers = tuple[float, ...]
WRITE = 'write <mass value="..."/> [kg] and <inertia ixx="..." .../> [kg m^2]'
NOTHING = (0.0, 0.0, 0.0)
AT_REST = Transform.identity()
AGREES = 1e-9
ORIGIN = frozenset({"xyz", "rpy", "sixfold_rotation"})
INERTIAL = frozenset({"origin", "mass", "inertia"})
TENSOR = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
VALUE, SIX, OWN = frozenset({"value"}), frozenset(TENSOR), frozenset({"sixfold_parameters"})


def origin(element: Fields | None, notes: Notes) -> Transform:
    """Return the transform to the coordinates of an <origin> from those around it."""
    if element is None:
        return AT_REST
    element.open(notes, ORIGIN)
    xyz, rpy = element.numbers("xyz", 3, NOTHING), element.numbers("rpy", 3, NOTHING)
    E = rpy_to_rotation(rpy)
    if "sixfold_rotation" in element.element.attributes:
        nine = element.numbers("sixfold_rotation", 9)
        if max(abs(x - y) for x, y in zip(nine, matrix_of_rotation(E), strict=True)) > AGREES:
            element.fail(
                "rpy and sixfold_rotation are not the same rotation",
                "remove sixfold_rotation after changing rpy",
                expected=f"agreement to {AGREES:g}",
            )
        E = exact_rotation(nine)
    return Transform(E, Vector3(*map(exact, xyz)))


def inertia(inertial: Fields, notes: Notes) -> Inertia | None:
    """Return mass, first moment and rotational inertia about the link's origin, in its axes."""
    inside = inertial.open(notes, OWN, INERTIAL)
    place = origin(inside.get("origin"), notes)
    if "mass" not in inside:
        if "inertia" in inside:
            inertial.fail("has no <mass>", WRITE)
        inertial.repair("has neither <mass> nor <inertia>", "the link has no inertia", WRITE)
        return None
    inside["mass"].open(notes, VALUE)
    mass = inside["mass"].number("value")
    if mass < 0:
        inside["mass"].fail(
            "the mass is negative",
            "give the mass of the link [kg]",
            expected=">= 0",
            got=f"{mass!r}",
        )
    found = centred(mass, place, _six(inertial, inside.get("inertia"), notes))
    if "sixfold_parameters" not in inertial.element.attributes:
        return found
    ten = inertial.numbers("sixfold_parameters", 10)
    given = [float(x) for x in found.parameters()]
    if not all(_agree(ten[part], given[part]) for part in (slice(1), slice(1, 4), slice(4, 10))):
        inertial.fail(
            "its elements and sixfold_parameters are not the same inertia",
            "remove sixfold_parameters after changing mass, origin or inertia",
            expected=f"agreement to {AGREES:g}",
        )
    return Inertia.from_parameters(ten)


def _six(inertial: Fields, tensor: Fields | None, notes: Notes) -> Numbers:
    """Return the six moments; products that are left out are zero, as are all six together."""
    if tensor is None:
        inertial.repair("has no <inertia>", "the link is a point mass", WRITE)
        return (0.0,) * 6
    tensor.open(notes, SIX)
    given = tensor.element.attributes
    if not any(name in given for name in TENSOR):
        tensor.repair("has no moments", "the link is a point mass", WRITE)
        return (0.0,) * 6
    for name in TENSOR[3:]:
        if name not in given:
            tensor.repair(f"has no attribute '{name}'", "0 is read", f'write {name}="0"')
    return tuple(tensor.number(name, None if name in TENSOR[:3] else 0.0) for name in TENSOR)


def centred(m: float, X: Transform, six: Numbers) -> Inertia:
    """Return the inertia of a body with its centre of mass at X.r.

    Args:
        m: mass.
        X: link coordinates to those of the centre of mass.
        six: Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the centre of mass, in X's axes.
    """
    xx, yy, zz, xy, xz, yz = six if X.E is IDENTITY3 else _turned(matrix_of_rotation(X.E), six)
    x, y, z = map(float, X.r)
    # parallel axes: + m (c.c 1 - c c^T)
    I = (
        *(xx + m * (y * y + z * z), yy + m * (z * z + x * x), zz + m * (x * x + y * y)),
        *(xy - m * (x * y), xz - m * (x * z), yz - m * (y * z)),
    )
    h = Vector3(exact(m * x), exact(m * y), exact(m * z))
    return Inertia(exact(m), h, Symmetric3(*map(exact, I)))


def _turned(R: Numbers, six: Numbers) -> Numbers:
    """Return the six elements of R I R^T."""
    xx, yy, zz, xy, xz, yz = six
    rows = (R[0:3], R[3:6], R[6:9])
    half = [
        (a * xx + b * xy + c * xz, a * xy + b * yy + c * yz, a * xz + b * yz + c * zz)
        for a, b, c in rows
    ]
    return tuple(
        half[i][0] * rows[j][0] + half[i][1] * rows[j][1] + half[i][2] * rows[j][2]
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    )


def _agree(a: Sequence[float], b: Sequence[float]) -> bool:
    worst = max(abs(x - y) for x, y in zip(a, b, strict=True))
    return worst <= AGREES * max(map(abs, a))
