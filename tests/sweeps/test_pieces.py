"""Rows on disk: whole pieces or none, found again, and recomputed where they are damaged."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import sixfold as sf
from sixfold.sweeps.pieces import pieces_in
from tests.sweeps.studies import ROWS, draw, reduced, same_sweeps, torques

parquet = pytest.importorskip("pyarrow.parquet")


def written(folder, **options):
    return sf.sweep(torques, ROWS, seed=7, draw=draw(), write=folder, engine="serial", **options)


@pytest.fixture(scope="module")
def rows():
    return sf.sweep(torques, ROWS, seed=7, draw=draw(), engine="serial").arrays()


def same_rows(found, rows):
    return all(np.array_equal(found[name], x) for name, x in rows.items())


def test_written_rows_are_those_that_were_computed(tmp_path, rows):
    found = written(tmp_path / "a" / "b", block=700)
    assert same_rows(found.arrays(), rows)
    assert (found.computed, found.reused, found.damaged) == (ROWS, 0, ())
    pieces = pieces_in(found.folder)
    assert [(p.start, p.stop) for p in pieces] == [
        *((0, 700), (700, 1400), (1400, 2100), (2100, 2800), (2800, 3000))
    ]
    table = parquet.read_table(pieces[0].path)
    assert table.column_names == ["tau", "energy"] and table.num_rows == 700
    about = json.loads((found.folder / "study.json").read_text())
    assert about["digest"] == found.digest and about["seed"] == 7 and "q" in about["varied"]


def test_a_sweep_goes_on_with_another_block_size(tmp_path, rows):
    written(tmp_path, block=500)
    for piece in pieces_in(tmp_path)[1::2]:
        piece.path.unlink()
    again = written(tmp_path, block=333)
    assert again.reused == 1500 and again.computed == 1500
    assert same_rows(again.arrays(), rows)
    assert written(tmp_path).computed == 0


def test_rows_on_disk_are_reduced_to_the_same_bits(tmp_path):
    found = written(
        tmp_path, block=411, reduce=["mean", "deviation", "covariance", "extremes", "quantiles"]
    )
    assert same_sweeps(found, reduced())


@pytest.mark.parametrize("kind", ["cut", "flipped", "empty", "text", "renamed"])
def test_a_damaged_piece_is_found_and_computed_again(tmp_path, rows, kind):
    written(tmp_path, block=500)
    path = pieces_in(tmp_path)[2].path
    data = bytearray(path.read_bytes())
    if kind == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "flipped":
        data[len(data) // 3] ^= 4
        path.write_bytes(data)
    elif kind == "renamed":
        os.replace(pieces_in(tmp_path)[3].path, path)
    else:
        path.write_text("" if kind == "empty" else "these are no rows")
    again = written(tmp_path, block=250)
    assert len(again.damaged) == 1 and path.name in again.damaged[0]
    assert again.computed == (1000 if kind == "renamed" else 500)
    assert same_rows(again.arrays(), rows)


def test_leftovers_of_a_killed_writer_are_no_pieces(tmp_path, rows):
    (tmp_path / ".rows-000000000000000-000000000000500.parquet.abc").write_text("half")
    assert same_rows(written(tmp_path, block=500).arrays(), rows)


def test_the_folder_of_another_study_is_refused(tmp_path):
    written(tmp_path)
    with pytest.raises(sf.OutputFileError, match="another study"):
        sf.sweep(torques, ROWS, seed=8, draw=draw(), write=tmp_path)
    (tmp_path / "study.json").unlink()
    with pytest.raises(sf.OutputFileError, match="another study"):
        sf.sweep(torques, ROWS, seed=8, draw=draw(), write=tmp_path)


def test_a_changed_function_is_another_study_unless_its_version_says_no(tmp_path):
    def study(factor, **options):
        return sf.sweep(lambda row: row * factor, 20, write=tmp_path, engine="serial", **options)

    first = study(2.0, version="a")
    assert study(3.0, version="a").reused == 20
    with pytest.raises(sf.OutputFileError):
        study(2.0, version="b")
    assert sf.sweep(lambda row: row, 20).digest != first.digest


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sf.OutputFileError, match="file"):
        written(tmp_path / "file")


def test_a_sweep_without_rows_says_so():
    with pytest.raises(sf.NotApplicableError, match="kept no rows"):
        reduced().arrays()


def test_a_killed_client_goes_on_where_it_was(tmp_path, rows):
    """The same study in another process has the same digest."""
    code = textwrap.dedent(
        f"""
        import os, signal
        import sixfold as sf
        from tests.sweeps.studies import ROWS, draw, torques

        def stop(done, rows):
            if done >= 1500:
                os.kill(os.getpid(), signal.SIGKILL)

        sf.sweep(torques, ROWS, seed=7, draw=draw(), write={str(tmp_path)!r}, engine="serial",
                 block=300, progress=stop)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    again = written(tmp_path, block=128)
    assert again.reused == 1500 and again.computed == 1500
    assert same_rows(again.arrays(), rows)
