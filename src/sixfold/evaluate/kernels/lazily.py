"""The compiler, imported when the first kernel is wanted."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sixfold.forks import IMPORTS, lazily

_found: list[Any] = []


def graphs() -> Any:
    """Return what traces functions and works on graphs."""
    return lazily("sixfold.graph")


def compiler() -> Any:
    """Return what makes machine code of graphs, with LLVM."""
    if not _found:
        with IMPORTS:
            found = import_module("sixfold.llvm")
            found.toolchain()  # imports LLVM
            for name in ("sixfold.evaluate.kernels.reduce_frames", "sixfold.model.grouping"):
                import_module(name)
            _found[:] = [found]
    return _found[0]
