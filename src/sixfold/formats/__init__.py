"""Robot files in and out, and robots by name."""

from sixfold.formats.files import mesh_path
from sixfold.formats.load import load
from sixfold.formats.save import save

__all__ = ["load", "mesh_path", "save"]
