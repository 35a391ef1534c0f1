"""Arrays of `.npz` files: how large they are is known before any of them is read."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import TrajectoryFileError
from sixfold.files import open_regular

SMALL = 128 * 2**20
"""Bytes of arrays that a file of any size may hold."""
RATIO = 20
"""How many times its own size the arrays of a file may take beyond that."""
MAX_MEMBERS = 100_000


def allowed_bytes(file_size: int) -> int:
    """Return how many bytes the arrays of a file of a size may take.

    Zeros are compressed to a thousandth: without a bound, a file of some MiB fills the memory.
    `Trajectory.save` does not compress what would come out smaller.
    """
    return max(SMALL, RATIO * file_size)


def read_arrays(source: Path) -> dict[str, Array]:
    """Return the arrays of an `.npz` file; nothing in it is run.

    Raises:
        TrajectoryFileError: whatever is wrong with the file.
    """
    fix = "give the path of a file that Trajectory.save wrote"
    try:
        with open_regular(source) as stream:
            return _arrays(stream)
    except _UnsuitableError as error:
        raise TrajectoryFileError(source, str(error), error.fix or fix) from None
    except OSError as error:
        what = f"cannot be read ({error.strerror or error})"
        raise TrajectoryFileError(source, what, fix) from None
    except Exception as error:
        # NumPy, zipfile, zlib, the tokenizer and the parser of headers all have errors of their own
        raise TrajectoryFileError(source, f"cannot be read ({first_line(error)})", fix) from None


def first_line(error: Exception) -> str:
    """Return the first line of a message, the kind of the error where there is none."""
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__


class _UnsuitableError(Exception):
    """A file that is sound but not one of arrays."""

    fix = ""


def _arrays(stream: BinaryIO) -> dict[str, Array]:
    if not zipfile.is_zipfile(stream):
        raise _UnsuitableError("is not an npz file")
    size = stream.seek(0, 2)
    with zipfile.ZipFile(stream) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        if len(members) > MAX_MEMBERS:
            raise _UnsuitableError(f"holds {len(members):,} arrays, over {MAX_MEMBERS:,}")
        names = [m.filename.removesuffix(".npy") for m in members]
        if len(set(names)) < len(names):
            raise _UnsuitableError("holds two arrays of the same name")
        needed = sum(_checked_bytes(archive, member) for member in members)
        if needed > allowed_bytes(size):
            what = f"holds {needed / 2**20:,.0f} MiB of arrays in {size / 2**20:,.1f} MiB"
            error = _UnsuitableError(f"{what}: more than {RATIO} times its size is not read")
            error.fix = "if you trust it, save it without compression: numpy.savez"
            raise error
        found = {}
        for name, member in zip(names, members, strict=True):
            with archive.open(member) as entry:
                found[name] = np.lib.format.read_array(entry, allow_pickle=False)
        return found


def _checked_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Return the bytes of an array by its header, which has to agree with the archive's table."""
    # other methods could ask for dictionaries of some GiB; NumPy writes these two
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _UnsuitableError(f"'{member.filename}' is compressed in an unusual way")
    form = np.lib.format
    with archive.open(member) as entry:
        version = form.read_magic(entry)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if read is None:
            raise _UnsuitableError(f"'{member.filename}' has the version {version} of its format")
        shape, _, dtype = read(entry)
        header = entry.tell()
    if dtype.hasobject:
        raise _UnsuitableError(f"'{member.filename}' holds Python objects, which are not read")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or header + size != member.file_size:
        raise _UnsuitableError(f"'{member.filename}' is not as long as its header says")
    return size
