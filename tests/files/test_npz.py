"""What an .npz file asks for is known before it is allocated."""

import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import sixfold as sf
from sixfold.identification import Log
from sixfold.simulation import trajectory_files as npz
from tests.files.arrays import header


def write_zeros(path, count, **more):
    """Write a file whose array q is `count` zeros, without making them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("q.npy", "w", force_zip64=True) as entry:
            entry.write(header((count,)))
            chunk = bytes(2**20)
            for start in range(0, 8 * count, 2**20):
                entry.write(chunk[: 8 * count - start])
        for name, data in more.items():
            archive.writestr(name.replace("_", "."), data)


def peak_of(call):
    """Return what a call raises and the most memory that it held."""
    tracemalloc.start()
    try:
        with pytest.raises(sf.errors.TrajectoryFileError) as caught:
            call()
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [sf.Trajectory.load, lambda p: Log.read(p, sf.load("pendulum"))])
def test_a_small_file_of_many_zeros_is_refused_before_they_are_allocated(read, tmp_path):
    path = tmp_path / "bomb.npz"
    write_zeros(path, 20_000_000)
    assert path.stat().st_size < 2**20
    said, peak = peak_of(lambda: read(path))
    assert "holds 153 MiB of arrays in 0.1 MiB" in said
    assert peak < 20 * 2**20


def test_many_arrays_that_are_small_alone_are_refused_together(tmp_path):
    path = tmp_path / "many.npz"
    whole = header((1_000_000,)) + bytes(8_000_000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(20):
            archive.writestr(f"event{k}.npy", whole)
    said, peak = peak_of(lambda: sf.Trajectory.load(path))
    assert "of arrays in" in said and peak < 20 * 2**20


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (header((10**12,)) + bytes(80), "not as long as its header says"),
        (header((2**62, 2**62)), "not as long as its header says"),
        (header((4,)) + bytes(31), "not as long as its header says"),
        (header((4,)) + bytes(33), "not as long as its header says"),
        (header((2,), "|O") + bytes(16), "Python objects"),
        (b"\x93NUMPY\x03\x00" + header((2,))[8:] + bytes(16), "version"),
        (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + bytes(16), "cannot be read"),
    ],
    ids=["long", "huge", "cut", "more", "objects", "version", "header"],
)
def test_headers_that_lie_are_refused(data, words, tmp_path):
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", data)
    said, peak = peak_of(lambda: sf.Trajectory.load(path))
    assert words in said and peak < 20 * 2**20


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_methods_with_dictionaries_of_any_size_are_refused(method, tmp_path):
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("q.npy", header((4,)) + bytes(32))
    with pytest.raises(sf.errors.TrajectoryFileError, match="compressed in an unusual way"):
        sf.Trajectory.load(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for _ in range(2):
            archive.writestr("q.npy", header((4,)) + bytes(32))
    with pytest.raises(sf.errors.TrajectoryFileError, match="two arrays of the same name"):
        sf.Trajectory.load(path)


def test_a_motion_at_rest_that_would_be_too_small_is_saved_so_that_it_is_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(npz, "SMALL", 2**16)
    monkeypatch.setattr(npz, "RATIO", 10)
    still = sf.simulate(sf.load("cart_pendulum"), [0.0, 0.0], None, 20.0)
    still.save(tmp_path / "still.npz")
    assert (tmp_path / "still.npz").stat().st_size > still.q.nbytes
    np.testing.assert_array_equal(sf.Trajectory.load(tmp_path / "still.npz").q, still.q)


def test_a_log_with_empty_fields_takes_no_lists_of_texts(tmp_path):
    path = tmp_path / "log.csv"
    rows = "0.5,,1.25\n" + "0.5,0.25,1.25\n" * 50_000
    path.write_text("t,q1,tau1\n" + rows)
    tracemalloc.start()
    log = Log.read(path, sf.load("pendulum"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isnan(log.q[0]).all() and len(log.q) == 50_001
    assert peak < 12 * 2**20


def test_a_first_line_without_an_end_is_refused(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("q" * 3_000_000)
    with pytest.raises(sf.errors.TrajectoryFileError, match="a line has more than"):
        Log.read(path, sf.load("pendulum"))
