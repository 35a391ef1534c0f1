"""Controllers, linearisation and the linear-quadratic regulator."""

from sixfold.control import controllers
from sixfold.control.linearize import Linearization, linearize
from sixfold.control.lqr import LQR, lqr

__all__ = ["LQR", "Linearization", "controllers", "linearize", "lqr"]
