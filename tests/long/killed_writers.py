"""Kill a process at every step of a write to the cache: no half file is ever used.

    python -m tests.long.killed_writers

A child counts the calls of the operating system and the lines that a write takes, and kills itself
with SIGKILL at one of them.  Then the file is whole or absent, and the next writer succeeds.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from sixfold.compiler.llvm.runtime import cache

PAYLOAD = bytes(range(256)) * 200
NAME = "0123abcd"


def write_and_die(step: int) -> None:
    """Write in this process and kill it at a step, in the write or in a function it calls."""
    left = step

    def trace(frame, event, argument):
        nonlocal left
        own = frame.f_code.co_filename == cache.__file__
        if event in ("line", "return", "c_call", "c_return") and own:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
        return trace

    sys.setprofile(trace)
    sys.settrace(trace)
    cache.write(NAME, PAYLOAD)
    sys.settrace(None)
    sys.setprofile(None)


def one(step: int) -> bool:
    """Return whether the child got to that step."""
    pid = os.fork()
    if pid == 0:
        try:
            write_and_die(step)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), f"the writer ended with {code}"
    return code != 0


def run(most: int) -> tuple[int, int, int]:
    """Return how many steps there were, after how many the file was there, and what was left."""
    step = whole = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIXFOLD_CACHE_DIR"] = folder + "/kernels"
        os.environ.pop("SIXFOLD_CACHE", None)
        where = Path(folder) / "kernels"
        while step < most:
            cache.clear()
            if not one(step):
                break
            found = cache.read(NAME)
            assert found in (None, PAYLOAD), f"half a file after step {step}"
            whole += found is not None
            cache.write(NAME, PAYLOAD)
            assert cache.read(NAME) == PAYLOAD
            step += 1
        one(10)
        for path in where.glob(".writing-*"):
            os.utime(path, (1.0, 1.0))
        cache._sweep.cache_clear()
        cache.write(NAME, PAYLOAD)
        left = len(list(where.glob(".writing-*")))
    assert step < most and 0 < whole < step and left == 0
    return step, whole, left


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    start = time.monotonic()
    step, whole, _ = run(2000)
    print(
        f"killed writers: killed at each of {step} steps in {time.monotonic() - start:.0f} s;"
        f" {whole} left the whole file, none half of it"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
