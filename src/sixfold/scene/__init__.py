"""What a robot looks like and how it moved, as plain arrays for the window and the report."""

from sixfold.scene.figure import Figure, figure
from sixfold.scene.parts import Part
from sixfold.scene.record import Contacts, Record, check_quaternions, finite, record
from sixfold.scene.stage import Stage, stage
from sixfold.scene.sticks import stick_figure
from sixfold.scene.triangles import Triangles

__all__ = [
    "Contacts",
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
