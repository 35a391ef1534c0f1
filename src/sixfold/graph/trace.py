"""Call a function on nodes instead of numbers, and keep what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sixfold.graph.build import Graph
from sixfold.graph.program import Program
from sixfold.graph.subroutines import with_calls
from sixfold.scalar import Scalar


def trace(
    function: Callable[..., Sequence[Scalar]], sizes: Sequence[int], *, boundaries: bool = False
) -> Program:
    """Return the program of a function of several lists of numbers.

    Args:
        function: takes one list of numbers for each size, returns a sequence of numbers.
        sizes: length of each list.
        boundaries: keep those around functions that are evaluated several times, for the step of a
            scan; else what is worth calling is kept once, see `subroutines`.
    """
    graph = Graph()
    lists = [[graph.input() for _ in range(size)] for size in sizes]
    program = graph.finish(function(*lists))
    return program if boundaries else with_calls(program)
