"""Inertial parameters that joint forces can show."""

from sixfold.identification.base_parameters import BaseParameter, BaseParameters, base_parameters

__all__ = ["BaseParameter", "BaseParameters", "base_parameters"]
