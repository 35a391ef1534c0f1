"""Functions and rollouts on OpenCL devices."""

from sixfold.interop.opencl import OpenclFunction, opencl_function, opencl_rollout

__all__ = ["OpenclFunction", "opencl_function", "opencl_rollout"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
