"""Inertial parameters that joint forces can show, and models fitted to logs of real robots."""

from sixfold.identification.base_parameters import BaseParameter, BaseParameters, base_parameters
from sixfold.identification.base_projection import (
    BaseProjection,
    base_projection,
    base_regressor,
)
from sixfold.identification.data.log import Log
from sixfold.identification.excitation import excitation
from sixfold.identification.expected import expected_errors
from sixfold.identification.findings import DataFinding
from sixfold.identification.fit.friction import FrictionLaw
from sixfold.identification.identification import Estimate, Identification, JointResidual
from sixfold.identification.identify import identify

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
    "excitation",
    "expected_errors",
    "identify",
]
