"""Files as bytes: whatever can be wrong before the first byte gets a message of its own."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from secrets import token_hex
from typing import Any

from sixfold.errors import ArgumentError, RobotFileError

MAX_BYTES = 64 * 2**20


def path_of(where: str, path: Any, example: str) -> Path:
    """Return a path, or say that the argument is none."""
    try:
        if isinstance(path, (str, os.PathLike)):
            text = os.fspath(path)
            if isinstance(text, str) and text and "\0" not in text:
                text.encode()
                return Path(text)
    except Exception:  # an object whose own path fails, or half a character
        pass
    fix = f'pass a path such as "{example}"'
    raise ArgumentError(f"{where}: argument 'path'", "a path", path, fix)


def read(path: Path) -> bytes:
    """Return the bytes of a regular file of at most 64 MiB that is not empty.

    Raises:
        RobotFileError: if there is no such file or it cannot be read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _error(path, "is a folder, not a file", _inside(path))
        if not stat.S_ISREG(mode):
            raise _error(path, "is not a regular file", "give a file with a robot in it")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _error(path, "there is no such file", _near(path)) from None
    except PermissionError:
        raise _error(path, "may not be read", "ask its owner for permission to read") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(path, f"cannot be read ({reason})", "check the path") from None
    if len(data) > MAX_BYTES:
        what = f"is larger than {MAX_BYTES // 2**20} MiB"
        raise _error(path, what, "give a robot file; meshes belong in files of their own")
    if not data.strip():
        raise RobotFileError("the file is empty", file=path, line=1, fix="write a robot into it")
    return data


def is_json(data: bytes) -> bool:
    """Tell a JSON file from XML by what is in it."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def write(path: Path, data: bytes) -> None:
    """Write a file at once: a reader finds the old one or the new one, never half of it.

    Raises:
        RobotFileError: if the file cannot be written.
    """
    kept: Path | None = None
    try:
        target = path.resolve()
        kept = target.with_name(f".{target.name[:100]}.{token_hex(8)}")
        with kept.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            kept.chmod(stat.S_IMODE(target.stat().st_mode))
        kept.replace(target)
        kept = None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(path, f"cannot be written ({reason})", "check folder and rights") from None
    finally:
        if kept is not None:
            kept.unlink(missing_ok=True)


def _error(path: Path, what: str, fix: str) -> RobotFileError:
    return RobotFileError(what, file=path, fix=fix)


def _inside(path: Path) -> str:
    found = sorted(p.name for kind in ("urdf", "xml", "json") for p in path.glob(f"*.{kind}"))
    return f"name one of its files: {', '.join(found[:5])}" if found else "name a file"


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"check the path: there is no folder '{path.parent}'"
    same = sorted(p.name for p in path.parent.glob("*") if p.suffix == path.suffix and p.suffix)
    return f"the folder has {', '.join(same[:5])}" if same else "check the path"
