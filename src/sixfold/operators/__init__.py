"""Influence operators of a model at a state, as Concurrent Dynamics writes them."""

from sixfold.operators.block_operator import BlockOperator
from sixfold.operators.model_operators import Operators, OperatorSolution, operators

__all__ = ["BlockOperator", "OperatorSolution", "Operators", "operators"]
