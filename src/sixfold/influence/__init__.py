"""Influence operators of a model at a state, as Concurrent Dynamics writes them."""

from sixfold.influence.block_operator import BlockOperator
from sixfold.influence.model_operators import Operators, OperatorSolution, operators

__all__ = ["BlockOperator", "OperatorSolution", "Operators", "operators"]
