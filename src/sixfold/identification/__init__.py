"""Inertial parameters that joint forces can show, and models fitted to logs of real robots."""

from sixfold.identification.base_parameters import (
    BaseParameter,
    BaseParameters,
    BaseProjection,
    base_parameters,
    base_projection,
    base_regressor,
)
from sixfold.identification.excitation import excitation, expected_errors
from sixfold.identification.findings import DataFinding
from sixfold.identification.friction import FrictionLaw
from sixfold.identification.identification import Estimate, Identification, JointResidual
from sixfold.identification.identify import identify
from sixfold.identification.log import Log
from sixfold.quantities import energy_regressor, joint_regressor

__all__ = [
    "BaseParameter",
    "BaseParameters",
    "BaseProjection",
    "DataFinding",
    "Estimate",
    "FrictionLaw",
    "Identification",
    "JointResidual",
    "Log",
    "base_parameters",
    "base_projection",
    "base_regressor",
    "energy_regressor",
    "excitation",
    "expected_errors",
    "identify",
    "joint_regressor",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
