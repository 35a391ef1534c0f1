"""Every Python block of the README runs, and prints what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run blocks in a folder of their own: one writes a page."""
    monkeypatch.chdir(tmp_path)


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


def test_the_first_block_has_ten_lines_and_writes_a_page(tmp_path):
    assert len([line for line in BLOCKS[0].splitlines() if line]) <= 10
    run(BLOCKS[0])
    assert "<html" in (tmp_path / "arm.html").read_text(encoding="utf-8")[:500]


def test_the_last_block_prints_what_its_comment_says():
    assert promised(BLOCKS[-1]) == run(BLOCKS[-1]).splitlines() != []


def test_the_check_of_the_third_block_agrees():
    assert "DISAGREES" not in (table := run(BLOCKS[2]))
    assert table.startswith("pendulum on a cart: 100 random states")


def test_blocks_import_what_they_use():
    assert len(BLOCKS) >= 3
    assert all("import sixfold as sf" in block for block in BLOCKS)


def test_every_link_and_script_exists():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    scripts = re.findall(r"examples/\w+\.py", TEXT)
    assert len(links) > 25 and scripts
    missing = [name for name in (*links, *scripts) if not (README.parent / name).is_file()]
    assert not missing


def test_the_picture_is_small():
    picture = README.parent / "docs" / "pictures" / "front.png"
    assert 20_000 < picture.stat().st_size < 200_000
