"""Control by sampling: many sequences of actions are tried in one kernel, the best count most."""

from sixfold.control.sampling.planners import MPPI, CrossEntropy

__all__ = ["MPPI", "CrossEntropy"]
