"""The Python blocks of the documentation."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))
from executed import installed

DOCS = Path(__file__).parents[2] / "docs"
NEEDS = re.compile(r"\A% needs (\w+)\n")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Yield each block, padded so that line numbers are those of the page."""
    for found in BLOCK.finditer(text):
        yield "\n" * text.count("\n", 0, found.start(1)) + found.group(1)


def run(page):
    """Run the blocks of a page in one namespace and return it; skip where a library is missing."""
    text = page.read_text(encoding="utf-8")
    if (needed := NEEDS.match(text)) and not installed(needed.group(1)):
        pytest.skip(f"the page needs {needed.group(1)}")
    namespace = {"__name__": "__main__"}
    for block in blocks(text):
        exec(compile(block, str(page), "exec"), namespace)
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")  # as the site does; too many open figures are a warning
    return namespace
