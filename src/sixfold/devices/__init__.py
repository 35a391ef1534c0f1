"""Devices that are not this processor: functions and rollouts by OpenCL."""

from sixfold.devices.opencl import OpenclFunction, opencl_function, opencl_rollout

__all__ = ["OpenclFunction", "opencl_function", "opencl_rollout"]
