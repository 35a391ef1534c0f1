"""Modules that are imported when they are first used: the compiler, and rarely used algorithms."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from sixfold.forks import IMPORTS, lazily

if TYPE_CHECKING:
    from sixfold.compiler.llvm.layout.signature import Layout

_compiler: list[Any] = []


class Kernel(Protocol):
    """What calls use of `sixfold.compiler.llvm.Kernel`, without an import of the compiler."""

    layout: Layout
    quick: Any
    unbounded: Any
    on_one_thread: Any
    text: str

    @property
    def numbers(self) -> int:
        """Numbers that are read and written for one state."""

    @property
    def ufunc(self) -> Any:
        """The gufunc."""

    def ufunc_for(self, size: int, states: int) -> Any:
        """Return the gufunc for arrays of `size` bytes in all."""


class LazyModule:
    """A module that is imported when one of its names is first used.

    `import sixfold` loads all public functions: with the algorithms of derivatives, contact and
    constraints it would take a third longer.
    """

    def __init__(self, name: str) -> None:
        """Take the module's full name."""
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under this name."""
        value = getattr(lazily(self._name), name)
        setattr(self, name, value)  # found without this method from now on
        return value


def graphs() -> Any:
    """Return what traces functions and works on graphs."""
    return lazily("sixfold.compiler.graph")


def compiler() -> Any:
    """Return what makes machine code of graphs, with LLVM."""
    if not _compiler:
        with IMPORTS:
            found = import_module("sixfold.compiler.llvm")
            found.toolchain()  # imports LLVM
            for name in ("sixfold.runtime.kernels.reduce_frames", "sixfold.model.grouping"):
                import_module(name)
            _compiler[:] = [found]
    return _compiler[0]
