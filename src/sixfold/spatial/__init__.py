"""Spatial vector algebra over any kind of number.

Motions and forces are six-dimensional vectors, angular part first.  They, transforms and inertias
hold numbers of any kind: floats, arrays (a batch lives inside the numbers), SymPy expressions, MPFR
numbers.  `np.asarray` turns them into arrays, `print` into a short line, a notebook into LaTeX.

Types stand on the left of `@`: `X @ m` moves a motion, `X.star @ f` a force, `I @ v` is a momentum,
`S @ qd` a motion, `S.T @ f` the part of a force along the degrees of freedom.  `m.cross(u)` is v x
for a motion u and v x* for a force u, `m.dot(f)` is power.  A motion and a force cannot be added,
and an array on the left of `@` is an error: take `np.asarray` of both sides to compute with
matrices.
"""

from sixfold.spatial.body_motion import (
    Constrained,
    apparent_inverse_inertia,
    classical_acceleration,
    component_rate,
    constrained_motion,
    constraint_basis,
    equation_of_motion,
    inertia_rate,
    spatial_acceleration,
    vector_rate,
    velocity_at,
    velocity_field,
)
from sixfold.spatial.inertia import (
    ArticulatedInertia,
    Column,
    Consistency,
    CoriolisInertia,
    ForceSubspace,
    Inertia,
    JointMatrix,
    Subspace,
    ldl,
    ldl_solve,
    physical_consistency,
)
from sixfold.spatial.solids import (
    box,
    capsule,
    cylinder,
    ellipsoid,
    point_mass,
    products,
    rod,
    shell,
    sphere,
)
from sixfold.spatial.transform import Transform, cos_sin, deviation, transform_rate, unit
from sixfold.spatial.vectors import (
    IDENTITY3,
    ZERO3,
    ZERO33,
    Force,
    Matrix3,
    Motion,
    Symmetric3,
    Vector3,
    axial,
    outer,
    rotation,
    skew,
    steiner,
    to_array,
)

__all__ = [
    "IDENTITY3",
    "ZERO3",
    "ZERO33",
    "ArticulatedInertia",
    "Column",
    "Consistency",
    "Constrained",
    "CoriolisInertia",
    "Force",
    "ForceSubspace",
    "Inertia",
    "JointMatrix",
    "Matrix3",
    "Motion",
    "Subspace",
    "Symmetric3",
    "Transform",
    "Vector3",
    "apparent_inverse_inertia",
    "axial",
    "box",
    "capsule",
    "classical_acceleration",
    "component_rate",
    "constrained_motion",
    "constraint_basis",
    "cos_sin",
    "cylinder",
    "deviation",
    "ellipsoid",
    "equation_of_motion",
    "inertia_rate",
    "ldl",
    "ldl_solve",
    "outer",
    "physical_consistency",
    "point_mass",
    "products",
    "rod",
    "rotation",
    "shell",
    "skew",
    "spatial_acceleration",
    "sphere",
    "steiner",
    "to_array",
    "transform_rate",
    "unit",
    "vector_rate",
    "velocity_at",
    "velocity_field",
]

#: What users of `sf.spatial` find in the reference; the other names serve the algorithms.
PUBLIC = (
    *("ArticulatedInertia", "Consistency", "Constrained", "Force", "ForceSubspace"),
    *("Inertia", "JointMatrix", "Matrix3", "Motion", "Subspace", "Symmetric3"),
    *("Transform", "Vector3", "apparent_inverse_inertia", "box", "capsule"),
    *("classical_acceleration", "component_rate", "constrained_motion"),
    *("constraint_basis", "cylinder", "ellipsoid", "equation_of_motion"),
    *("inertia_rate", "physical_consistency", "point_mass", "products", "rod"),
    *("rotation", "shell", "skew", "spatial_acceleration", "sphere", "steiner"),
    *("to_array", "transform_rate", "vector_rate", "velocity_at", "velocity_field"),
)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
