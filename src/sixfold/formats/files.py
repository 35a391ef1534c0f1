"""Robot files as bytes: whatever can be wrong before the first byte gets its own message."""

from __future__ import annotations

from pathlib import Path

from sixfold.errors import RobotFileError
from sixfold.files import open_regular

MAX_BYTES = 64 * 2**20


def read(path: Path) -> bytes:
    """Return the bytes of a regular file of at most 64 MiB that is not empty.

    Raises:
        RobotFileError: if there is no such file or it cannot be read.
    """
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise _error(path, "is a folder, not a file", _inside(path)) from None
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
