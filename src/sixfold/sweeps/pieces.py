"""Rows on disk: pieces of whole blocks, each with a digest of the study and of its content.

A piece is a Parquet file or a Zarr group.  It is written under another name and renamed, so that it
is complete or absent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import OutputFileError, brief
from sixfold.files import open_regular, read_regular, replacement, write_error, write_files
from sixfold.lazy import optional

KEY = "sixfold"
PURPOSE = "sweep: option 'write'"
Note = Mapping[str, Any]


class Format(NamedTuple):
    """How pieces of one kind are written to a path and read again."""

    write: Callable[[Path, Mapping[str, Array], Note], None]
    read: Callable[[Path], tuple[dict[str, Array], dict[str, Any]]]
    modules: tuple[str, ...]  # what it needs


def _write_parquet(path: Path, results: Mapping[str, Array], note: Note) -> None:
    """Write a column for each array; those of several axes are lists of fixed size."""
    pa = optional("pyarrow", PURPOSE)
    columns = {}
    for name, x in results.items():
        flat = pa.array(np.ascontiguousarray(x).reshape(-1))
        size = int(np.prod(x.shape[1:]))
        columns[name] = flat if x.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, size)
    about = {**note, "shapes": {name: list(x.shape[1:]) for name, x in results.items()}}
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
    optional("pyarrow.parquet", PURPOSE).write_table(table, path)


def _read_parquet(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    with open_regular(path) as stream:
        table = optional("pyarrow.parquet", PURPOSE).read_table(stream)
    note = json.loads(table.schema.metadata[KEY.encode()])
    shapes = note["shapes"].items()
    return {name: _numbers(table.column(name)).reshape(-1, *shape) for name, shape in shapes}, note


def _numbers(column: Any) -> Array:
    joined = column.combine_chunks()
    flat = joined.flatten() if hasattr(joined, "flatten") and joined.type.num_fields else joined
    found: Array = flat.to_numpy(zero_copy_only=False)
    return found


def _write_zarr(path: Path, results: Mapping[str, Array], note: Note) -> None:
    """Write a group with one array of one chunk for each result; xarray can open it."""
    group = optional("zarr", PURPOSE).open_group(path, mode="w", zarr_format=3)
    # a slash in a name would be a group
    places = {name: quote(name, safe=" ,()[]") for name in results}
    for name, x in results.items():
        axes = ("row", *(f"{name}_{k}" for k in range(1, x.ndim)))
        chunk = tuple(max(1, n) for n in x.shape)
        made = group.create_array(
            places[name], shape=x.shape, dtype=x.dtype, chunks=chunk, dimension_names=axes
        )
        if x.size:
            made[...] = x
    group.attrs[KEY] = {**note, "arrays": places}


def _read_zarr(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    group = optional("zarr", PURPOSE).open_group(path, mode="r")
    note = dict(group.attrs[KEY])
    return {name: np.asarray(group[place][...]) for name, place in note["arrays"].items()}, note


FORMATS = {
    "parquet": Format(_write_parquet, _read_parquet, ("pyarrow", "pyarrow.parquet")),
    "zarr": Format(_write_zarr, _read_zarr, ("zarr",)),
}


NAME = "rows-{:015d}-{:015d}.{}"
PATTERN = re.compile(rf"rows-(\d{{15}})-(\d{{15}})\.({'|'.join(FORMATS)})")
STUDY = "study.json"
MAX_NOTE = 64 * 2**20  # bytes of the file about a study


class DamagedPieceError(Exception):
    """A file that does not hold the rows that its name says."""


@dataclass(frozen=True)
class StoredPiece:
    """A file or folder and the rows in it."""

    path: Path
    start: int
    stop: int
    kind: str


def write_piece(
    folder: str, kind: str, digest: str, start: int, stop: int, results: Mapping[str, Array]
) -> None:
    """Write the rows from start up to stop, in the format of a name."""
    note = {"study": digest, "start": start, "stop": stop, "content": content_digest(results)}
    target = Path(folder) / NAME.format(start, stop, kind)
    # another worker may have written the same rows meanwhile
    with replacement(target) as part:
        FORMATS[kind].write(part, results, note)


def read_piece(piece: StoredPiece, digest: str) -> dict[str, Array]:
    """Return the rows of a piece, or raise where it is damaged or of another study."""
    form = FORMATS[piece.kind]
    for module in form.modules:
        optional(module, "sweep: pieces that are there")
    try:
        found, about = form.read(piece.path)
        whole = about["content"] == content_digest(found)
        rows = (about["start"], about["stop"]) == (piece.start, piece.stop)
        other = about["study"] != digest
    except Exception as error:  # readers raise many kinds of errors for damaged files
        raise DamagedPieceError(f"{piece.path.name}: {brief(error)}") from None
    if not whole or not rows or any(len(x) != piece.stop - piece.start for x in found.values()):
        raise DamagedPieceError(f"{piece.path.name}: its content is not what was written")
    if other:
        what = f"holds rows of another study ({about['study'][:8]}, not {digest[:8]})"
        fix = "write to another folder, or delete this one"
        raise OutputFileError(piece.path, what, fix)
    return found


def content_digest(results: Mapping[str, Array]) -> str:
    """Return a hash of arrays by name."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(results):
        x = results[name]
        digest.update(f"{name} {x.shape} {x.dtype.str}".encode())
        digest.update(np.ascontiguousarray(x).tobytes())
    return digest.hexdigest()


def prepare_folder(folder: Path, digest: str, about: Mapping[str, Any]) -> None:
    """Make the folder of a study, or say that it is that of another one."""
    place = folder / STUDY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if place.exists():
            try:
                known = json.loads(read_regular(place, MAX_NOTE))["digest"]
            except Exception:  # a damaged note; the pieces themselves tell
                known = digest
            if known != digest:
                what = f"is the folder of another study ({known[:8]}, not {digest[:8]})"
                fix = "write to another folder, or delete this one"
                raise OutputFileError(folder, what, fix)
        write_files({place: json.dumps({"digest": digest, **about}, indent=1).encode()})
    except OSError as error:
        raise write_error(folder, error) from None


def pieces_in(folder: Path) -> list[StoredPiece]:
    """Return the pieces of a folder in the order of their rows, whole or not."""
    found = []
    for path in folder.iterdir():
        match = PATTERN.fullmatch(path.name)
        if match:
            found.append(StoredPiece(path, int(match[1]), int(match[2]), match[3]))
    return sorted(found, key=lambda piece: (piece.start, -piece.stop))


def gaps(pieces: Sequence[StoredPiece], rows: int) -> list[tuple[int, int]]:
    """Return the rows that no piece holds, as ranges."""
    found, done = [], 0
    for piece in pieces:
        if piece.start > done:
            found.append((done, piece.start))
        done = max(done, piece.stop)
    return found + ([(done, rows)] if done < rows else [])


def stored_rows(
    pieces: Sequence[StoredPiece], digest: str, size: int
) -> Iterator[tuple[int, dict[str, Array]]]:
    """Yield all rows in runs of a size, the last one shorter, each with its first row."""
    left: dict[str, Array] | None = None
    done = first = 0
    for piece in pieces:
        if piece.stop <= done:
            continue
        rows = read_piece(piece, digest)
        # pieces may overlap: take what is new, and add it to what is left
        new = {name: x[done - piece.start :] for name, x in rows.items()}
        done = piece.stop
        if left is not None:
            new = {name: np.concatenate([left[name], x]) for name, x in new.items()}
        count = done - first
        whole = count - count % size
        for start in range(0, whole, size):
            yield first + start, {name: x[start : start + size] for name, x in new.items()}
        left = {name: x[whole:] for name, x in new.items()}
        first += whole
    if left is not None and first < done:
        yield first, left
