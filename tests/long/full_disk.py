"""A full disk, a limit on file sizes, errors in every call of a write: no error for the user.

    python -m tests.long.full_disk

The system's calls fail one after the other with ENOSPC and EIO; the limit of the process on file
sizes is met for real; a small tmpfs is filled where this user may mount one.
"""

import argparse
import contextlib
import errno
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from sixfold.compiler.llvm.runtime import cache

PAYLOAD = os.urandom(300_000)
NAME = "0123abcd"


def failing_calls() -> int:
    """Let each call fail in turn; return how many ways that were."""
    ways = 0
    for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE):
        error = OSError(code, os.strerror(code))
        for call in ("open", "replace", "fstat", "scandir", "urandom"):
            cache.clear()
            with mock.patch.object(cache.os, call, side_effect=error):
                cache.write(NAME, PAYLOAD)
                assert cache.read(NAME) in (None, PAYLOAD)
            assert cache.read(NAME) in (None, PAYLOAD)
            assert not list(cache.folder().glob(".writing-*"))
            cache.write(NAME, PAYLOAD)
            assert cache.read(NAME) == PAYLOAD
            ways += 1
    return ways


def limited_files() -> int:
    """Write where no file may be longer than so many bytes, in a child."""
    limits = (0, 10, 57, 4096, 100_000, 299_000)
    for limit in limits:
        cache.clear()
        pid = os.fork()
        if pid == 0:
            code = 1
            with contextlib.suppress(BaseException):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                cache.write(NAME, PAYLOAD)
                code = 0 if cache.read(NAME) is None else 2
                code = 3 if list(cache.folder().glob(".writing-*")) else code
            os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0, f"with files of at most {limit} bytes"
    return len(limits)


def full_file_system(folder: str) -> str:
    """Fill a small file system, and use the library on it."""
    disk = Path(folder) / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return "no file system of our own to fill"
    try:
        code = (
            "import numpy as np, sixfold as sf\n"
            "for k in range(8):\n"
            "    arm = sf.random_tree(3, seed=k); q, v = sf.random_state(arm, 2, seed=1)\n"
            "    sf.inverse_dynamics(arm, q, v, v)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "SIXFOLD_CACHE_DIR": str(disk / "kernels")},
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
        assert not list((disk / "kernels").glob(".writing-*"))
        return f"a file system with {free >> 10} KiB left did no harm"
    finally:
        subprocess.run(["umount", str(disk)], check=False, capture_output=True)


def run() -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIXFOLD_CACHE_DIR"] = folder + "/kernels"
        os.environ.pop("SIXFOLD_CACHE", None)
        cache.write(NAME, PAYLOAD)
        assert cache.read(NAME) == PAYLOAD
        ways, limits = failing_calls(), limited_files()
        return f"{ways} failing calls, {limits} limits on files, {full_file_system(folder)}"


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    start = time.monotonic()
    print(f"full disk: {run()}, in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
