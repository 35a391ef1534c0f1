"""Closed forms: the equations of motion on paper and as code."""

from sixfold.symbolic.code import Code, export
from sixfold.symbolic.equations import Equations, equations

__all__ = ["Code", "Equations", "equations", "export"]
