"""The public functions bound to a backend, and what cannot run on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.model import Model
from tests.public_names import find

BACKENDS = ("numpy", "unrolled", "rolled", "float32")
"""NumPy, straight-line machine code, looped machine code, straight-line code of single floats."""


class Calls:
    """The public functions bound to a backend; its rounding error is `eps`.

    Matrices and coupled models have no rolled form: on the backend "rolled" those calls run by
    NumPy, and `ran` counts the calls that did run on the backend itself.
    """

    def __init__(self, backend: str) -> None:
        """Take one of BACKENDS."""
        self.backend = backend
        self.dtype = np.float32 if backend == "float32" else np.float64
        self.eps = float(np.finfo(self.dtype).eps)
        self.ran = 0

    def rounded(self, x: Any) -> np.ndarray:
        """Return numbers that the backend holds exactly, as doubles."""
        return np.asarray(x, float).astype(self.dtype).astype(float)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a public function."""
        function = find(name)
        backend = "unrolled" if self.backend == "float32" else self.backend

        def call(model: Model, *arguments: Any, **options: Any) -> Any:
            given = [self._taken(x) for x in arguments]
            try:
                found = function(model, *given, **options, backend=backend)
            except sf.errors.NotApplicableError:
                if backend != "rolled":
                    raise
                return function(model, *given, **options, backend="numpy")
            except sf.errors.SixfoldError:  # what the law expects of the backend
                self.ran += 1
                raise
            self.ran += 1
            several = found if isinstance(found, tuple) else (found,)
            assert all(x.dtype == self.dtype for x in several)
            doubles = tuple(x.astype(float) for x in several)
            return doubles if isinstance(found, tuple) else doubles[0]

        return call

    def _taken(self, x: Any) -> Any:
        return x.astype(self.dtype) if isinstance(x, np.ndarray) else x
