"""Optimal control: regulators along motions, iLQR and differential dynamic programming."""

from sixfold.control.optimal.solve import OptimalControl, optimal_control
from sixfold.control.optimal.tvlqr import TVLQR, tvlqr

__all__ = ["TVLQR", "OptimalControl", "optimal_control", "tvlqr"]
