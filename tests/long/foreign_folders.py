"""Cache folders that are read-only, of somebody else, writable by all, links, or full of traps.

    python -m tests.long.foreign_folders

Each is a case; the library computes in all of them, and uses no code that others could have put
there.  As root the folders really belong to others; as anybody else that is left out.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sixfold.compiler.llvm.runtime import cache

PAYLOAD = b"code" * 1000
NAME = "0123abcd"
FOREIGN = b"code of somebody else" * 100


def use() -> bytes | None:
    """Write and read as the library does, in bounded time; return what is found afterwards."""
    found: list[bytes | None] = []

    def work() -> None:
        found.append(cache.read(NAME))
        cache.write(NAME, PAYLOAD)
        found.append(cache.read(NAME))
        list(cache.entries())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(20.0)
    assert len(found) == 2, "the cache hangs or raises"
    assert found[0] in (None, PAYLOAD) and found[1] in (None, PAYLOAD)
    return found[1]


def planted(where: Path) -> Path:
    """Put a file with a right header and hash but another's code where the kernel would be."""
    where.mkdir(parents=True, exist_ok=True)
    path = where / (NAME + cache.SUFFIX)
    check = cache._hash(NAME, FOREIGN)
    path.write_bytes(cache._HEADER.pack(cache.MAGIC, len(FOREIGN), check) + FOREIGN)
    return path


def writable_by_all(where: Path) -> None:
    planted(where)
    where.chmod(0o777)
    assert use() is None


def writable_by_group(where: Path) -> None:
    planted(where)
    where.chmod(0o770)
    assert use() is None


def read_only(where: Path) -> None:
    where.mkdir()
    where.chmod(0o500)
    assert use() == (PAYLOAD if os.geteuid() == 0 else None)


def read_only_and_full(where: Path) -> None:
    where.mkdir(mode=0o700)
    cache.write(NAME, PAYLOAD)
    where.chmod(0o500)
    assert use() == PAYLOAD


def a_file(where: Path) -> None:
    where.write_text("not a folder")
    assert use() is None


def below_a_file(where: Path) -> None:
    where.write_text("not a folder")
    os.environ["SIXFOLD_CACHE_DIR"] = str(where / "kernels")
    assert use() is None


def a_link_to_nothing(where: Path) -> None:
    where.symlink_to(where.parent / "nothing")
    assert use() is None


def a_link_to_itself(where: Path) -> None:
    where.symlink_to(where)
    assert use() is None


def a_link_to_a_folder_of_ours(where: Path) -> None:
    real = where.parent / "real"
    real.mkdir(mode=0o700)
    where.symlink_to(real)
    assert use() == PAYLOAD


def a_link_to_a_folder_for_all(where: Path) -> None:
    real = where.parent / "real"
    planted(real)
    real.chmod(0o777)
    where.symlink_to(real)
    assert use() is None


def a_kernel_that_is_a_link(where: Path) -> None:
    elsewhere = planted(where.parent / "elsewhere")
    where.mkdir(mode=0o700)
    (where / elsewhere.name).symlink_to(elsewhere)
    assert use() == PAYLOAD and elsewhere.read_bytes().endswith(FOREIGN)


def a_kernel_that_all_can_write(where: Path) -> None:
    planted(where).chmod(0o666)
    where.chmod(0o700)
    assert use() == PAYLOAD


def a_kernel_that_is_a_pipe(where: Path) -> None:
    where.mkdir(mode=0o700)
    os.mkfifo(where / (NAME + cache.SUFFIX))
    assert use() == PAYLOAD


def a_kernel_that_is_a_folder(where: Path) -> None:
    (where / (NAME + cache.SUFFIX)).mkdir(parents=True)
    where.chmod(0o700)
    assert use() is None


def a_kernel_of_a_terabyte(where: Path) -> None:
    where.mkdir(mode=0o700)
    with (where / (NAME + cache.SUFFIX)).open("wb") as file:
        size = 1 << 40
        file.write(cache._HEADER.pack(cache.MAGIC, size, bytes(32)))
        file.truncate(size + cache._HEADER.size)
    assert use() == PAYLOAD


def no_home(where: Path) -> None:
    gone = {name: os.environ.pop(name, None) for name in ("SIXFOLD_CACHE_DIR", "XDG_CACHE_HOME")}
    os.environ["HOME"] = str(where / "nobody")
    try:
        assert use() == PAYLOAD
    finally:
        os.environ |= {name: text for name, text in gone.items() if text is not None}


def of_somebody_else(where: Path) -> None:
    planted(where)
    os.chown(where, 12345, 12345)
    assert use() is None


def a_kernel_of_somebody_else(where: Path) -> None:
    path = planted(where)
    where.chmod(0o700)
    os.chown(path, 12345, 12345)
    assert use() == PAYLOAD


CASES: list[Callable[[Path], None]] = [
    writable_by_all,
    writable_by_group,
    read_only,
    read_only_and_full,
    a_file,
    below_a_file,
    a_link_to_nothing,
    a_link_to_itself,
    a_link_to_a_folder_of_ours,
    a_link_to_a_folder_for_all,
    a_kernel_that_is_a_link,
    a_kernel_that_all_can_write,
    a_kernel_that_is_a_pipe,
    a_kernel_that_is_a_folder,
    a_kernel_of_a_terabyte,
    no_home,
]
AS_ROOT = [of_somebody_else, a_kernel_of_somebody_else]


def run(case: Callable[[Path], None]) -> None:
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "kernels"
        os.environ["SIXFOLD_CACHE_DIR"] = str(where)
        os.environ.pop("SIXFOLD_CACHE", None)
        try:
            case(where)
        finally:
            os.environ.clear()
            os.environ |= before
            if where.is_dir() and not where.is_symlink():
                where.chmod(0o700)


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    start = time.monotonic()
    cases = CASES + (AS_ROOT if os.geteuid() == 0 else [])
    for case in cases:
        run(case)
    print(f"foreign folders: {len(cases)} cases in {time.monotonic() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
