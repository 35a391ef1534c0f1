"""How objects show themselves in notebooks: tables, trees and curves as HTML, and short texts.

Every text that comes from a file passes `plain`, so no name can become markup.
"""

from sixfold.show.html import (
    Panel,
    block,
    curves,
    fields_line,
    folded,
    listing,
    matrix,
    plain,
    table,
)
from sixfold.show.tree import Node, robot, tree

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
