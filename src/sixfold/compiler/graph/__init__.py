"""Programs as graphs of operations: traced, folded, differentiated, optimised; no robots here."""

from sixfold.compiler.graph.build import Graph, Node
from sixfold.compiler.graph.derivative import gradient, jacobian
from sixfold.compiler.graph.numpy_functions import traced_array
from sixfold.compiler.graph.passes import optimise, trace
from sixfold.compiler.graph.program import Program
from sixfold.compiler.graph.repeat import unroll, value_at
from sixfold.compiler.graph.rolled import NotRolled, Rolled

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
    "unroll",
    "value_at",
]
