"""What a robot looks like and how it moved, as plain arrays for the window and the report."""

from sixfold.display.scene.figure import Figure, Stage, figure, stage, stick_figure
from sixfold.display.scene.record import Contacts, Record, check_quaternions, finite, record
from sixfold.display.scene.surfaces import Part, Triangles

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
