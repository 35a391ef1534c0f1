"""Gradients of rollouts by the adjoint method."""

from sixfold.simulation.gradient.rollout_gradient import RolloutGradient, rollout_gradient

__all__ = ["RolloutGradient", "rollout_gradient"]
