"""How objects show themselves in notebooks: tables, trees and curves as HTML, and short texts.

Every text that comes from a file passes `plain`, so no name can become markup.
"""

from sixfold.show.curves import Panel, curves
from sixfold.show.fields import fields_line
from sixfold.show.html import block, folded, listing, matrix, plain, table
from sixfold.show.robot import robot
from sixfold.show.tree import Node, tree

__all__ = [
    "Node",
    "Panel",
    "block",
    "curves",
    "fields_line",
    "folded",
    "listing",
    "matrix",
    "plain",
    "robot",
    "table",
    "tree",
]
