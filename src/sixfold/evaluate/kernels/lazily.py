"""Imports that wait until something is wanted, and that a fork waits for.

A child that is forked while another thread imports a module could never import it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sixfold.forks import Rank, fork_lock

_lock = fork_lock(Rank.IMPORTS)
_found: dict[str, Any] = {}


def lazily(name: str) -> Any:
    """Return a module, imported the first time."""
    found = _found.get(name)
    if found is None:
        with _lock:
            found = _found[name] = import_module(name)
    return found


def graphs() -> Any:
    """Return what traces functions and works on graphs."""
    return lazily("sixfold.graph")


def compiler() -> Any:
    """Return what makes machine code of graphs, with LLVM."""
    found = _found.get("compiler")
    if found is None:
        with _lock:
            found = import_module("sixfold.llvm")
            found.toolchain()  # imports LLVM
            for name in ("sixfold.evaluate.kernels.reduce_frames", "sixfold.model.grouping"):
                import_module(name)
            _found["compiler"] = found
    return found
