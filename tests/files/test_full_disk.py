"""On a full disk every writer says so, and the file that was there stays as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits on the size of files are POSIX")
for name in ("matplotlib", "mcap", "pyarrow", "PIL"):
    pytest.importorskip(name, reason="all writers are tried in one process")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """How each writer ended where no file may be longer than 100 bytes."""
    folder = tmp_path_factory.mktemp("disk")
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.full_disk", str(folder)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SIXFOLD_CACHE": "off"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_all_writers_are_tried(ends):
    assert len(ends) >= 14


def test_every_writer_says_that_the_disk_is_full(ends):
    wrong = [end for end in ends if not end["ended"].startswith("OutputFileError: ")]
    assert not wrong
    assert all("File too large" in end["ended"] and "fix: " in end["ended"] for end in ends)


def test_the_old_file_stays_as_it_was(ends):
    assert not [end["writer"] for end in ends if not end["old"]]


def test_nothing_is_left_behind_but_the_part_of_a_log_that_was_written(ends):
    left = {end["writer"]: end["left"] for end in ends if end["left"]}
    assert set(left) <= {"log.mcap"}
