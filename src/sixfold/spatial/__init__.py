"""Spatial vector algebra over any kind of number."""

from sixfold.spatial.consistency import Consistency, physical_consistency
from sixfold.spatial.constraint import (
    Constrained,
    apparent_inverse_inertia,
    constrained_motion,
    constraint_basis,
)
from sixfold.spatial.coriolis_inertia import CoriolisInertia
from sixfold.spatial.inertia import ArticulatedInertia, Inertia, products
from sixfold.spatial.rates import (
    classical_acceleration,
    component_rate,
    equation_of_motion,
    inertia_rate,
    spatial_acceleration,
    transform_rate,
    vector_rate,
    velocity_at,
)
from sixfold.spatial.subspace import (
    Column,
    ForceSubspace,
    JointMatrix,
    Subspace,
    inverse_factor,
    ldl,
    ldl_solve,
)
from sixfold.spatial.transform import Transform, cos_sin, deviation, unit
from sixfold.spatial.vector3 import (
    IDENTITY3,
    ZERO3,
    ZERO33,
    Matrix3,
    Symmetric3,
    Vector3,
    axial,
    outer,
    rotation,
    skew,
    steiner,
)
from sixfold.spatial.vectors import Force, Motion

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
    "classical_acceleration",
    "component_rate",
    "constrained_motion",
    "constraint_basis",
    "cos_sin",
    "deviation",
    "equation_of_motion",
    "inertia_rate",
    "inverse_factor",
    "ldl",
    "ldl_solve",
    "outer",
    "physical_consistency",
    "products",
    "rotation",
    "skew",
    "spatial_acceleration",
    "steiner",
    "transform_rate",
    "unit",
    "vector_rate",
    "velocity_at",
]
