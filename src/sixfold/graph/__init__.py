"""Programs as graphs of operations: traced, folded, differentiated, optimised; no robots here."""

from sixfold.graph.build import Graph, Node
from sixfold.graph.derivative import gradient, jacobian
from sixfold.graph.numpy_functions import traced_array
from sixfold.graph.passes import optimise, trace
from sixfold.graph.program import Program
from sixfold.graph.repeat import unrolled, value_at
from sixfold.graph.rolled import NotRolled, Rolled

__all__ = [
    "Graph",
    "Node",
    "NotRolled",
    "Program",
    "Rolled",
    "gradient",
    "jacobian",
    "optimise",
    "trace",
    "traced_array",
    "unrolled",
    "value_at",
]
