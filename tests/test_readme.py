"""Every Python block of the README runs, and prints what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def run(block):
    out = StringIO()
    with redirect_stdout(out):
        exec(compile(block, str(README), "exec"), {"__name__": "readme"})
    return out.getvalue()


def promised(block):
    """Return what the prints of a block promise in their trailing comments."""
    return re.findall(r"^print\(.*\)  # (.+)$", block, re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs_in_a_fresh_namespace(block):
    run(block)


def test_the_last_block_prints_what_its_comment_says():
    assert promised(BLOCKS[-1]) == run(BLOCKS[-1]).splitlines() != []


def test_the_check_of_the_second_block_agrees():
    assert "DISAGREES" not in (table := run(BLOCKS[1]))
    assert table.startswith("pendulum on a cart: 100 random states")


def test_blocks_import_what_they_use():
    assert len(BLOCKS) >= 3
    assert all("import sixfold as sf" in block for block in BLOCKS)
