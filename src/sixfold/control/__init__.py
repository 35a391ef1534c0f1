"""Controllers, linearisation and the linear-quadratic regulator."""

from sixfold.control import controllers
from sixfold.control.linearize import Linearization, linearize
from sixfold.control.lqr import LQR, lqr
from sixfold.control.sampling import MPPI, CrossEntropy

__all__ = ["LQR", "MPPI", "CrossEntropy", "Linearization", "controllers", "linearize", "lqr"]
