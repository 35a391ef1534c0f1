"""Influence operators of a model at a state, as Concurrent Dynamics writes them."""

from sixfold.operators.block_operator import BlockOperator
from sixfold.operators.model_operators import Operators, OperatorSolution, influence_operators

__all__ = ["BlockOperator", "OperatorSolution", "Operators", "influence_operators"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
