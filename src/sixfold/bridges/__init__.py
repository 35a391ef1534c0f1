"""Functions of other array libraries: by kernels on the CPU, or by themselves on a device."""

from sixfold.bridges.array_api import ArrayApiFunction, array_api_function
from sixfold.bridges.jax_bridge import JaxFunction, jax_function
from sixfold.bridges.torch_bridge import TorchFunction, torch_function

__all__ = [
    "ArrayApiFunction",
    "JaxFunction",
    "TorchFunction",
    "array_api_function",
    "jax_function",
    "torch_function",
]
