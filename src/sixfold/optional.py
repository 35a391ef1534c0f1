"""What is imported when it is needed: libraries that Sixfold can do without, and its own modules.

A library that is not there is named with the line that installs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from sixfold.errors import NotApplicableError

PACKAGES = {
    "PIL": ("pillow", "animate"),
    "cloudpickle": ("cloudpickle", "distributed"),
    "control": ("control", "control"),
    "dask": ("dask", "distributed"),
    "distributed": ("distributed", "distributed"),
    "example_robot_data": ("example-robot-data", "robots"),
    "gmpy2": ("gmpy2", "bench"),
    "gymnasium": ("gymnasium", "learn"),
    "imageio_ffmpeg": ("imageio-ffmpeg", "animate"),
    "jax": ("jax", "jax"),
    "matplotlib": ("matplotlib", "report"),
    "mcap": ("mcap", "mcap"),
    "mujoco": ("mujoco", "mjcf"),
    "pinocchio": ("pin", "bench"),
    "pyopencl": ("pyopencl", "opencl"),
    "pyarrow": ("pyarrow", "data"),
    "scipy": ("scipy", "data"),
    "sympy": ("sympy", "symbolic"),
    "torch": ("torch", "torch"),
    "trimesh": ("trimesh", "view"),
    "viser": ("viser", "view"),
    "xarray": ("xarray", "data"),
    "zarr": ("zarr", "zarr"),
}
"""The package that holds each module, and the extra of Sixfold that installs it."""


def optional(module: str, purpose: str) -> Any:
    """Import a module of an optional library and return it.

    Args:
        module: its name, for example "scipy.integrate".
        purpose: what needs it, for the message.

    Raises:
        NotApplicableError: if the library is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise missing(module, purpose) from None


def missing(module: str, purpose: str) -> NotApplicableError:
    """Return the error for a library that is not installed."""
    package, extra = PACKAGES[module.partition(".")[0]]
    fix = f"pip install {package}, or pip install 'sixfold[{extra}]'"
    return NotApplicableError(purpose, f"an installation without {package}", fix)


def later(package: str, table: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names come from modules not imported yet.

    Args:
        package: its name.
        table: the names in each module, which is named as seen from the package.
    """
    homes = {name: f"{package}.{module}" for module, names in table.items() for name in names}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
