"""Robot files in and out, and robots by name."""

from sixfold.formats.load import load

__all__ = ["load"]
