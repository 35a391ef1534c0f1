"""Functions of other array libraries: by kernels on the CPU, or by themselves on a device."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sixfold.bridges.array_api import ArrayApiFunction, array_api_function
    from sixfold.bridges.jax_bridge import JaxFunction, jax_function
    from sixfold.bridges.torch_bridge import TorchFunction, torch_function

_HOME = {
    "ArrayApiFunction": "array_api",
    "JaxFunction": "jax_bridge",
    "TorchFunction": "torch_bridge",
    "array_api_function": "array_api",
    "jax_function": "jax_bridge",
    "torch_function": "torch_bridge",
}


def __getattr__(name: str) -> Any:
    """Import the module that a name comes from."""
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


__all__ = [
    "ArrayApiFunction",
    "JaxFunction",
    "TorchFunction",
    "array_api_function",
    "jax_function",
    "torch_function",
]
