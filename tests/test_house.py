"""The house stays one that can be read: small files, small rooms."""

from pathlib import Path

import sixfold

ROOT = Path(sixfold.__file__).parent
MAX_LINES = 400
MAX_MODULES = 16


def test_no_file_is_too_long():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in ROOT.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_no_room_is_crowded():
    folders = {path.parent for path in ROOT.rglob("*.py")}
    crowded = {
        str(folder.relative_to(ROOT)): count
        for folder in folders
        if (count := len(list(folder.glob("*.py")))) > MAX_MODULES
    }
    assert not crowded
