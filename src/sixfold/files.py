"""Files of the user: paths, what is opened for reading, and how a new file takes its place."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

from sixfold.errors import ArgumentError, OutputFileError

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


def path_of(where: str, path: Any, example: str) -> Path:
    """Return a path; refuse anything else."""
    try:
        if isinstance(path, (str, os.PathLike)):
            # texts that no file can have as a name are refused, too
            text = os.fspath(path)
            if isinstance(text, str) and text and "\0" not in text:
                text.encode()
                return Path(text)
    except Exception:  # an object whose own path fails, or half a character
        pass
    fix = f'pass a path such as "{example}"'
    raise ArgumentError(f"{where}: argument 'path'", "a path", path, fix)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; a pipe or a device, which may never end, is not waited for.

    Raises:
        IsADirectoryError: if it is a folder.
        OSError: if it is not a regular file, or cannot be opened.
    """
    handle = os.open(path, _READ)
    try:
        # the open file is asked, not the name: that may change in between
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder, not a file")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file of at most a size; see `open_regular`.

    Raises:
        OSError: also if the file is larger.
    """
    with open_regular(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"is larger than {most / 2**20:g} MiB")
    return data


@dataclass(frozen=True)
class NewFile:
    """A file that is being written, and the place that it takes once it is complete."""

    path: Path  #: As the user named it.
    part: Path  #: The file that is written, in the same folder.
    _target: Path
    _mode: int | None

    def finish(self) -> None:
        """Give the file its name, when all of it has reached the disk."""
        # folders are renamed as a whole
        if self.part.is_dir():
            try:
                os.replace(self.part, self._target)
            except OSError:
                # a folder does not replace one that is there
                if not self._target.is_dir():
                    raise
                self.discard()
            return
        # on disk before the name changes: a crash leaves the old file or the new one
        with open(self.part, "r+b") as stream:
            os.fsync(stream.fileno())
        if self._mode is not None:
            self.part.chmod(self._mode)
        os.replace(self.part, self._target)

    def discard(self) -> None:
        """Remove the part."""
        discard(self.part)


def new_file(path: Path) -> NewFile:
    """Return the file to write instead of `path`.

    Raises:
        OutputFileError: if what is there is not a regular file, or may not be written to.
    """
    try:
        target, mode = _target(path)
    except OSError as error:
        raise write_error(path, error) from None
    # in the same folder, so that a rename is atomic
    part = target.with_name(f"{target.name[:50]}.{token_hex(8)}.part")
    return NewFile(path, part, target, mode)


@contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, which takes the place of `path` once it is complete.

    The new file lies in the same folder.  If the body fails, on a full disk for example, it is
    removed and the old file stays as it was; so readers find the old file or the new one, never a
    part of one.  An old file passes its permissions on; links to it lead to the new one.  The new
    file may be a folder, which does not replace one that is there.

    Raises:
        OutputFileError: if the file cannot be written, or what is there is not a regular file.
    """
    new = new_file(path)
    try:
        yield new.part
        new.finish()
    except OSError as error:
        raise write_error(path, error) from None
    finally:
        new.discard()


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write files, each as by `replacement`; none is replaced before all are written.

    Raises:
        OutputFileError: if one of them cannot be written.
    """
    with ExitStack() as stack:
        # all parts are written before the first file is replaced
        parts = [stack.enter_context(replacement(path)) for path in contents]
        for part, (path, data) in zip(parts, contents.items(), strict=True):
            try:
                part.write_bytes(data)
            except OSError as error:
                raise write_error(path, error) from None


def write_error(path: Path, error: OSError) -> OutputFileError:
    """Return the error of a file that cannot be written, with the way out."""
    if isinstance(error, OutputFileError):
        return error
    # what to do depends on why the system refused
    fix = {
        errno.ENOSPC: "free some space, or choose another disk",
        errno.EDQUOT: "free some of your quota, or choose another disk",
        errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    }.get(error.errno or 0, "choose a file in a folder that exists and that you may write to")
    return OutputFileError(path, f"cannot be written ({error.strerror or error})", fix)


def discard(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _target(path: Path) -> tuple[Path, int | None]:
    """Return the file that a path leads to, and the permissions of the one that is there."""
    if os.path.abspath(path).startswith(_STREAMS):
        raise _not_a_file(path, "is a stream of this process")
    # links are followed: the file behind one is replaced, not the link
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        return target, None
    if not stat.S_ISREG(mode):
        raise _not_a_file(path, "is not a regular file")
    # a rename needs the right to write to the folder only: protected files stay protected
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected")
    return target, stat.S_IMODE(mode)


def _not_a_file(path: Path, what: str) -> OutputFileError:
    fix = "name a file; pipes and devices are not written to"
    return OutputFileError(path, f"cannot be written: it {what}", fix)
