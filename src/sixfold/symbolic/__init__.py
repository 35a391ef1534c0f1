"""Closed forms: the equations of motion on paper and as code."""

from sixfold.symbolic.base import BaseParameter, BaseParameters, base_parameters
from sixfold.symbolic.code import Code, export
from sixfold.symbolic.equations import Equations, equations

__all__ = [
    "BaseParameter",
    "BaseParameters",
    "Code",
    "Equations",
    "base_parameters",
    "equations",
    "export",
]
