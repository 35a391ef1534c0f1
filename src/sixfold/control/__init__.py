"""Controllers."""

from sixfold.control import controllers

__all__ = ["controllers"]
