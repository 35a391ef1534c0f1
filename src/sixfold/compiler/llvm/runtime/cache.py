"""Object code on disk: one file for each kernel, in a private folder.

A file holds a header (magic, length, BLAKE2 hash of the rest) and the payload.  It is written under
a temporary name and renamed, so that readers never see half a file.  A file that is damaged, cut,
foreign or unreadable counts as absent.  Nothing on disk is ever a pickle.

`SIXFOLD_CACHE_DIR` moves the folder; `SIXFOLD_CACHE=off` switches it off; `SIXFOLD_CACHE_MB` limits
its size (1024), and files not used for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

MAGIC = b"sixfold kernel 1\n"
_HEADER = struct.Struct(f"<{len(MAGIC)}sQ32s")
SUFFIX = ".kernel"
MAX_BYTES = 1 << 30  #: Size of a payload that is read at all.
ABANDONED = 3600.0  #: Seconds after which a half-written file is removed.

_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | getattr(os, "O_NOFOLLOW", 0)


def folder() -> Path | None:
    """Return the cache folder, or None when the cache is off."""
    if os.environ.get("SIXFOLD_CACHE", "").lower() in ("off", "0", "no"):
        return None
    named = os.environ.get("SIXFOLD_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return home / "sixfold"


def digest(*parts: str | bytes) -> str:
    """Return a name made from everything that the object code depends on."""
    total = hashlib.blake2b(digest_size=24)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()


@lru_cache(maxsize=4)
def source_digest(*packages: str) -> str:
    """Return a hash of every source file of the library, or of some of its packages."""
    root = Path(__file__).parents[3]
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(path for name in packages or ("",) for path in (root / name).rglob("*.py")):
        total.update(str(path.relative_to(root)).encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def read(name: str) -> bytes | None:
    """Return the payload of a file, or None if there is no whole, sound file of ours."""
    with contextlib.suppress(OSError, struct.error), _open_folder() as where:
        if where is None:
            return None
        # a name that leads elsewhere is not followed, and no pipe is waited for
        path, at = where.place(name + SUFFIX)
        with open(os.open(path, _READ, **at), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _ours(found):
                return None
            magic, length, check = _HEADER.unpack(file.read(_HEADER.size))
            if magic != MAGIC or length != found.st_size - _HEADER.size or length > MAX_BYTES:
                return None
            payload = file.read(length)
        return payload if check == _hash(name, payload) else None
    return None


def write(name: str, payload: bytes) -> None:
    """Keep a payload; a folder that cannot be written is not an error, nor is a full disk."""
    with contextlib.suppress(OSError), _open_folder(make=True) as where:
        if where is None:
            return
        _sweep(where.path)
        temporary, at = where.place(f".writing-{os.urandom(8).hex()}")
        handle = os.open(temporary, _CREATE, 0o600, **at)
        try:
            with open(handle, "wb") as file:
                file.write(_HEADER.pack(MAGIC, len(payload), _hash(name, payload)))
                file.write(payload)
            where.rename(temporary, name + SUFFIX)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, **at)
            raise
        _trim(where.path, len(payload))


@lru_cache(maxsize=8)
def _sweep(where: Path) -> None:
    """Remove what writers that were killed left behind; once for each folder and process."""
    for path in where.glob(".writing-*"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > ABANDONED:
                path.unlink()


#: Bytes written to a folder by this process since it was last scanned.
_written: dict[Path, int] = {}


def _trim(where: Path, size: int) -> None:
    """Remove the files not used for longest when all take more than they may.

    The folder is scanned at the first file, then after each sixteenth of its limit.
    """
    # scan the folder rarely: it may hold thousands of files
    most = _megabytes() << 20
    _written[where] = _written.get(where, most) + size
    if _written[where] < most >> 4:
        return
    _written[where] = 0
    with os.scandir(where) as found:
        files = [(entry.stat(follow_symlinks=False), entry.path) for entry in found]
    # oldest use first; access times may be off, then the time of writing counts
    kept = sorted(
        (max(info.st_atime, info.st_mtime), info.st_size, path)
        for info, path in files
        if path.endswith(SUFFIX)
    )
    total = sum(size for _, size, _ in kept)
    if total <= most:
        return
    for _, size, path in kept:
        if total <= most - (most >> 2):
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def _megabytes() -> int:
    text = os.environ.get("SIXFOLD_CACHE_MB", "")
    return int(text) if text.isascii() and text.isdecimal() else 1024


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


def _ours(found: os.stat_result) -> bool:
    """Return whether a file or folder is ours and writable by no other user."""
    if os.name != "posix":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class _Folder(NamedTuple):
    """The folder, held open so that it stays the one that was checked."""

    path: Path
    handle: int | None

    def place(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return path and keywords by which functions of `os` find a file in it."""
        if self.handle is None:
            return str(self.path / name), {}
        return name, {"dir_fd": self.handle}

    def rename(self, old: str, name: str) -> None:
        """Give a file its name."""
        if self.handle is None:
            os.replace(old, self.path / name)
        else:
            os.replace(old, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)


@contextlib.contextmanager
def _open_folder(make: bool = False) -> Iterator[_Folder | None]:
    """Yield the folder if there is one that no other user can write to."""
    where = folder()
    if where is not None and make:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if where is None or os.name != "posix":
        yield None if where is None else _Folder(where, None)
        return
    # the handle stays that of the folder that was checked
    handle = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _Folder(where, handle) if _ours(os.fstat(handle)) else None
    finally:
        os.close(handle)
