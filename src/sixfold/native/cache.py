"""Object code on disk: one file for each kernel, in a private folder.

A file holds a header (magic, length, BLAKE2 hash of the rest) and the payload.  It is written under
a temporary name and renamed, so that readers never see half a file.  Whatever is wrong with a file
(damaged, cut, foreign, unreadable), it counts as absent.  Nothing on disk is ever a pickle.

`SIXFOLD_CACHE_DIR` moves the folder; `SIXFOLD_CACHE=off` switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

MAGIC = b"sixfold kernel 1\n"
_HEADER = struct.Struct(f"<{len(MAGIC)}sQ32s")
SUFFIX = ".kernel"
ABANDONED = 3600.0
"""Seconds after which a half-written file is nobody's."""


def folder() -> Path | None:
    """Return the cache folder, or None when the cache is off."""
    if os.environ.get("SIXFOLD_CACHE", "").lower() in ("off", "0", "no"):
        return None
    named = os.environ.get("SIXFOLD_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    return home / "sixfold"


def digest(*parts: str | bytes) -> str:
    """Return a name made from everything that the object code depends on."""
    total = hashlib.blake2b(digest_size=24)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


def read(name: str) -> bytes | None:
    """Return the payload of a file, or None if there is no whole, sound file of ours."""
    where = folder()
    if where is None:
        return None
    try:
        if not _private(where):
            return None
        data = (where / (name + SUFFIX)).read_bytes()
        magic, length, check = _HEADER.unpack_from(data)
        payload = data[_HEADER.size :]
        sound = magic == MAGIC and length == len(payload) and check == _hash(name, payload)
        return payload if sound else None
    except (OSError, struct.error):
        return None


def write(name: str, payload: bytes) -> None:
    """Keep a payload; a folder that cannot be written is not an error."""
    where = folder()
    if where is None:
        return
    with contextlib.suppress(OSError):
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(where):
            return
        _sweep(where)
        header = _HEADER.pack(MAGIC, len(payload), _hash(name, payload))
        handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=where)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header + payload)
            os.replace(temporary, where / (name + SUFFIX))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


@lru_cache(maxsize=8)
def _sweep(where: Path) -> None:
    """Remove what writers that were killed left behind; once for each folder and process."""
    for path in where.glob(".writing-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()


def entries() -> Iterator[tuple[str, int]]:
    """Yield name and size of each kept kernel."""
    where = folder()
    if where is not None and where.is_dir():
        for path in sorted(where.glob("*" + SUFFIX)):
            with contextlib.suppress(OSError):
                yield path.stem, path.stat().st_size


def clear() -> int:
    """Remove every kept kernel and leftover; return how many files went."""
    where, removed = folder(), 0
    if where is None or not where.is_dir():
        return 0
    for path in [*where.glob("*" + SUFFIX), *where.glob(".writing-*")]:
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _hash(name: str, payload: bytes) -> bytes:
    return hashlib.blake2b(name.encode() + payload, digest_size=32).digest()


def _private(where: Path) -> bool:
    """Return whether the folder is ours and nobody else can write to it."""
    if os.name != "posix":
        return where.is_dir()
    found = where.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
