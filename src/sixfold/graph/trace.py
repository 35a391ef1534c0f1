"""Call a function on nodes instead of numbers, and keep what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sixfold.graph.passes import unsealed
from sixfold.graph.program import Graph, Program
from sixfold.scalar import Scalar


def trace(
    function: Callable[..., Sequence[Scalar]], sizes: Sequence[int], *, sealed: bool = False
) -> Program:
    """Return the program of a function of several lists of numbers.

    Args:
        function: takes one list of numbers for each size, returns a sequence of numbers.
        sizes: length of each list.
        sealed: keep the seals around functions that are evaluated several times, for `outline`.
    """
    graph = Graph()
    lists = [[graph.input() for _ in range(size)] for size in sizes]
    program = graph.finish(function(*lists))
    return program if sealed else unsealed(program)
