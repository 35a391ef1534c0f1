"""Inertial parameters that joint forces can show."""

from sixfold.identify.base_parameters import BaseParameter, BaseParameters, base_parameters

__all__ = ["BaseParameter", "BaseParameters", "base_parameters"]
