"""Libraries that are not part of sixfold: imported when they are wanted, missed with a pip line."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

PACKAGES = {
    "sixfold": "sixfold",
    "pinocchio": "pin",
    "mujoco": "mujoco",
    "gmpy2": "gmpy2",
    "matplotlib": "matplotlib",
    "example_robot_data": "example-robot-data",
    "llvmlite": "llvmlite",
    "numpy": "numpy",
}
"""Name of the package that holds each module."""


def installed(module: str) -> bool:
    """Return whether a module can be imported, without doing so."""
    return find_spec(module) is not None


def versions() -> dict[str, str | None]:
    """Return the version of every package that takes part, None for those that are not there."""
    found: dict[str, str | None] = {}
    for package in PACKAGES.values():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
