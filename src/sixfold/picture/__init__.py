"""What a robot looks like and how it moved, as plain arrays for the window and the report."""

from sixfold.picture.figure import Figure, figure
from sixfold.picture.parts import Part
from sixfold.picture.record import Record, check_quaternions, finite, record
from sixfold.picture.stage import Stage, stage
from sixfold.picture.sticks import stick_figure
from sixfold.picture.triangles import Triangles

__all__ = [
    "Figure",
    "Part",
    "Record",
    "Stage",
    "Triangles",
    "check_quaternions",
    "figure",
    "finite",
    "record",
    "stage",
    "stick_figure",
]
