"""Functions and rollouts on OpenCL devices."""

from sixfold.interop.opencl import opencl_function, opencl_rollout

__all__ = ["opencl_function", "opencl_rollout"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
