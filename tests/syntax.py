"""Syntax trees of source files."""

import ast
import gc
from pathlib import Path


def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file.

    The collector is off meanwhile: Python 3.11 counts the depth of all trees that are being made in
    one number, and a finaliser that runs inside leaves it wrong (a SystemError).
    """
    text = file.read_text(encoding="utf-8")
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.enable()
