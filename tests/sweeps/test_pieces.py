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
from sixfold.files import discard
from sixfold.sweeps.pieces import pieces_in, write_piece
from tests.sweeps.studies import REDUCTIONS, ROWS, draw, reduced, same_sweeps, torques

parquet = pytest.importorskip("pyarrow.parquet")


def written(folder, **options):
    return sf.sweeps.sweep(
        torques, ROWS, seed=7, draw=draw(), write=folder, engine="serial", **options
    )


@pytest.fixture(scope="module")
def rows():
    return sf.sweeps.sweep(torques, ROWS, seed=7, draw=draw(), engine="serial").arrays()


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


def test_zarr_pieces_hold_the_same_rows_and_go_on_beside_parquet(tmp_path, rows):
    zarr = pytest.importorskip("zarr")
    xarray = pytest.importorskip("xarray")
    written(tmp_path, block=700, format="zarr")
    pieces = pieces_in(tmp_path)
    assert [p.path.name for p in pieces][:1] == ["rows-000000000000000-000000000000700.zarr"]
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    group = zarr.open_group(pieces[0].path, mode="r")
    assert np.array_equal(group["tau"][...], rows["tau"][:700])
    table = xarray.open_zarr(pieces[0].path, consolidated=False)
    assert table["tau"].dims == ("row", "tau_1") and table["energy"].dims == ("row",)
    discard(pieces[1].path)
    again = written(tmp_path, block=100)  # the rest in Parquet
    assert (again.reused, again.computed) == (2300, 700)
    assert {p.path.suffix for p in pieces_in(tmp_path)} == {".zarr", ".parquet"}
    assert same_rows(again.arrays(), rows)
    assert same_sweeps(written(tmp_path, reduce=list(REDUCTIONS)), reduced())


@pytest.mark.parametrize("kind", ["chunk cut", "chunk flipped", "chunk gone", "note gone", "file"])
def test_a_damaged_zarr_piece_is_found_and_computed_again(tmp_path, rows, kind):
    pytest.importorskip("zarr")
    written(tmp_path, block=1000, format="zarr")
    path = pieces_in(tmp_path)[1].path
    chunk = max((p for p in path.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    data = bytearray(chunk.read_bytes())
    if kind == "chunk cut":
        chunk.write_bytes(data[: len(data) // 2])
    elif kind == "chunk flipped":
        data[len(data) // 3] ^= 4
        chunk.write_bytes(data)
    elif kind == "chunk gone":
        chunk.unlink()  # Zarr reads zeros then
    elif kind == "note gone":
        (path / "zarr.json").unlink()
    else:
        discard(path)
        path.write_text("no folder")
    again = written(tmp_path, block=1000, format="zarr")
    assert len(again.damaged) == 1 and path.name in again.damaged[0]
    assert (again.reused, again.computed) == (2000, 1000)
    assert same_rows(again.arrays(), rows)


def test_zarr_pieces_take_any_names_shapes_and_kinds_of_numbers(tmp_path):
    pytest.importorskip("zarr")

    def odd(row):
        flags = {"a/b": row % 2 == 0, "tau [N m]": row.astype(np.float32)}
        return {**flags, "none": np.zeros((len(row), 0)), "c": row[:, None, None] * np.ones((2, 3))}

    expected = sf.sweeps.sweep(odd, 50, engine="serial").arrays()
    found = sf.sweeps.sweep(odd, 50, write=tmp_path, format="zarr", engine="threads", block=7)
    assert list(found.arrays()) == list(expected)
    for name, x in expected.items():
        assert found.arrays()[name].dtype == x.dtype and np.array_equal(found.arrays()[name], x)


def test_two_workers_that_write_the_same_rows_leave_one_piece(tmp_path):
    pytest.importorskip("zarr")
    for _ in range(2):
        write_piece(str(tmp_path), "zarr", "digest", 0, 5, {"x": np.arange(5.0)})
    assert [p.name for p in tmp_path.iterdir()] == ["rows-000000000000000-000000000000005.zarr"]


def test_a_format_is_one_of_two_and_needs_a_folder(tmp_path):
    with pytest.raises(sf.errors.OptionError, match="format"):
        written(tmp_path, format="csv")
    with pytest.raises(sf.errors.NotApplicableError, match="writes no rows"):
        sf.sweeps.sweep(torques, ROWS, draw=draw(), format="zarr")


def test_a_missing_library_is_named_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(sf.errors.NotApplicableError, match="zarr"):
        sf.sweeps.sweep(lambda row: 1 / 0, 10, write=tmp_path / "new", format="zarr")
    assert not (tmp_path / "new").exists()


def test_leftovers_of_a_killed_writer_are_no_pieces(tmp_path, rows):
    (tmp_path / ".rows-000000000000000-000000000000500.parquet.abc").write_text("half")
    assert same_rows(written(tmp_path, block=500).arrays(), rows)


def test_the_folder_of_another_study_is_refused(tmp_path):
    written(tmp_path)
    with pytest.raises(sf.errors.OutputFileError, match="another study"):
        sf.sweeps.sweep(torques, ROWS, seed=8, draw=draw(), write=tmp_path)
    (tmp_path / "study.json").unlink()
    with pytest.raises(sf.errors.OutputFileError, match="another study"):
        sf.sweeps.sweep(torques, ROWS, seed=8, draw=draw(), write=tmp_path)


def test_a_changed_function_is_another_study_unless_its_version_says_no(tmp_path):
    def study(factor, **options):
        return sf.sweeps.sweep(
            lambda row: row * factor, 20, write=tmp_path, engine="serial", **options
        )

    first = study(2.0, version="a")
    assert study(3.0, version="a").reused == 20
    with pytest.raises(sf.errors.OutputFileError):
        study(2.0, version="b")
    assert sf.sweeps.sweep(lambda row: row, 20).digest != first.digest


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(sf.errors.OutputFileError, match="file"):
        written(tmp_path / "file")


def test_a_sweep_without_rows_says_so():
    with pytest.raises(sf.errors.NotApplicableError, match="kept no rows"):
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

        sf.sweeps.sweep(torques, ROWS, seed=7, draw=draw(), write={str(tmp_path)!r},
        engine="serial",
                 block=300, progress=stop)
        """
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    again = written(tmp_path, block=128)
    assert again.reused == 1500 and again.computed == 1500
    assert same_rows(again.arrays(), rows)
