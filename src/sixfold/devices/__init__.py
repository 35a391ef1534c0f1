"""Devices that are not this processor: functions and rollouts by OpenCL and CUDA."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sixfold.devices.cuda.arrays import CudaArray
    from sixfold.devices.cuda.functions import CudaFunction, cuda_function
    from sixfold.devices.cuda.rollouts import cuda_rollout
    from sixfold.devices.functions import OpenclFunction, opencl_function
    from sixfold.devices.rollouts import opencl_rollout

_HOME = {
    "CudaArray": "cuda.arrays",
    "CudaFunction": "cuda.functions",
    "cuda_function": "cuda.functions",
    "cuda_rollout": "cuda.rollouts",
    "OpenclFunction": "functions",
    "opencl_function": "functions",
    "opencl_rollout": "rollouts",
}


def __getattr__(name: str) -> Any:
    """Import the module that a name comes from."""
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


__all__ = [
    "CudaArray",
    "CudaFunction",
    "OpenclFunction",
    "cuda_function",
    "cuda_rollout",
    "opencl_function",
    "opencl_rollout",
]
