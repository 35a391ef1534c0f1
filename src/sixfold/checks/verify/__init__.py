"""Every formulation of every quantity compared with a reference."""

from sixfold.checks.verify.check import check

__all__ = ["check"]
