"""What a robot looks like and how it moved, as plain arrays for the window and the report."""

from sixfold.scene.figure import Figure, Stage, figure, stage, stick_figure
from sixfold.scene.record import Contacts, Record, check_quaternions, finite, record
from sixfold.scene.surfaces import Part, Triangles

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
