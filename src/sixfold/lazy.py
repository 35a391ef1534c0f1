"""Modules that are imported at their first use: optional libraries, and names of packages.

The error for a library that is not installed names the line that installs it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from sixfold.errors import NotApplicableError
from sixfold.hints import missing_name

#: The package that holds each module, and the extra of Sixfold that installs it.
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


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the `__getattr__` and the names of a package that imports them at their first use.

    Names and the modules they come from are read from the stub file of the package, which type
    checkers read too: one list serves both.

    Args:
        package: its `__name__`.
        file: its `__file__`.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    # the module of each name
    homes = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> Any:
        if name not in homes:
            message = missing_name(package, name, homes)
            raise AttributeError(message, name=name, obj=sys.modules[package])
        # kept in the package: found without this function from now on
        home = homes[name]
        if home == package:  # a submodule
            value = import_module(f"{package}.{name}")
        else:
            value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, sorted(homes)
