"""Inertial parameters that joint forces can show."""

from sixfold.identification.base_parameters import BaseParameter, BaseParameters, base_parameters
from sixfold.identification.base_projection import (
    BaseProjection,
    base_projection,
    base_regressor,
)

__all__ = [
    "BaseParameter",
    "BaseParameters",
    "BaseProjection",
    "base_parameters",
    "base_projection",
    "base_regressor",
]
