"""Inertial parameters that joint forces can show, and models fitted to logs of real robots."""

from sixfold.identification.base_parameters import (
    BaseParameters,
    BaseProjection,
    base_parameters,
    base_projection,
    base_regressor,
)
from sixfold.identification.excitation import excitation
from sixfold.identification.excitation import expected_errors as expected_errors
from sixfold.identification.findings import DataFinding as DataFinding
from sixfold.identification.identification import HoldOut as HoldOut
from sixfold.identification.identification import Identification
from sixfold.identification.identification import JointResidual as JointResidual
from sixfold.identification.identify import identify
from sixfold.identification.log import Log
from sixfold.quantities.regressors import energy_regressor, joint_regressor

__all__ = [
    "BaseParameters",
    "BaseProjection",
    "Identification",
    "Log",
    "base_parameters",
    "base_projection",
    "base_regressor",
    "energy_regressor",
    "excitation",
    "identify",
    "joint_regressor",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
