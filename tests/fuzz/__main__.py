"""Change files at random and read them, for some seconds; a crash is kept and ends in status 1.

    python -m tests.fuzz all --seconds 60
    python -m tests.fuzz npz --seconds 3600 --seed 7 --keep build/fuzz

A crash is an exception that is not one of the library's, a file that takes more than 10 s, more
memory than 2 GiB beyond the start, or the end of the process.  Files whose reader says something
new (a message with other words) become bases of further changes.  The same seed gives the same
changes.
"""

import argparse
import hashlib
import io
import logging
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import sixfold as sf
from tests.fuzz.corpus import READERS

SECONDS, MEMORY = 10, 2 << 30
MAX_BASES, MAX_BYTES = 400, 400_000
ODD = (
    *(b"nan", b"inf", b"-inf", b"1e308", b"-1e309", b"1e-320", b"-1", b"0", b"9" * 400, b"1_0"),
    *(b"", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\n", b"\r", b"\t", b'"', b"'"),
    *(b"<", b">", b"&x;", b"&#0;", b"]]>", b"<!--", b"[", b"]", b"{", b"}", b",", b":", b"null"),
    *(b"true", b"world", b"base", b"../../x", b"/dev/zero", b"${x}", b"[[a]]", b"a.b.c = 1"),
    *(b"1e400", b"0x10", b"\xe2\x80\xae", b"2147483648", b"-9223372036854775808", b"1979-05-27"),
)

TOKENS = (rb"-?\d+(?:\.\d+)?(?:e-?\d+)?", rb"[A-Za-z_]\w*", rb"[^\n]*\n", rb'"[^"]*"')


class HangError(Exception):
    """A file that takes too long."""


def change_bytes(rng, data, bases):
    """Return bytes with one to some changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 32, 200)))
        way = rng.randrange(10)
        if way == 0 and data:
            k = rng.randrange(len(data))
            data = data[:k] + bytes([data[k] ^ 1 << rng.randrange(8)]) + data[k + 1 :]
        elif way == 1:
            data = data[:at] + data[end:]
        elif way == 2:
            data = data[:at] + data[at:end] * rng.choice((2, 3, 50, 2000)) + data[end:]
        elif way == 3:
            other = rng.choice(bases)
            k = rng.randrange(len(other) + 1)
            data = data[:at] + other[k : k + rng.choice((8, 64, 1000, len(other)))] + data[end:]
        elif way == 4:
            data = data[:at]
        elif way == 5:
            data = data[:at] + rng.randbytes(rng.choice((1, 4, 16))) + data[at:]
        elif way == 6:
            data = data[:at] + rng.choice(ODD) + data[at:]
        else:
            data = change_token(rng, data)
        data = data[:MAX_BYTES]
    return data


def change_token(rng, data):
    """Replace, remove or exchange a number, a word or a line."""
    pattern = rng.choice(
        (rb"-?\d+(?:\.\d+)?(?:e-?\d+)?", rb"[A-Za-z_]\w*", rb"[^\n]*\n", rb'"[^"]*"')
    )
    found = list(re.finditer(pattern, data[:100_000]))
    if not found:
        return data
    one, other = rng.choice(found), rng.choice(found)
    new = rng.choice((other[0], rng.choice(ODD), b"", one[0] * 2))
    return data[: one.start()] + new + data[one.end() :]


def change(rng, data, bases):
    """Return a changed file; of an archive, one of its members half of the time."""
    if not data.startswith(b"PK") or rng.random() < 0.5:
        return change_bytes(rng, data, bases)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return change_bytes(rng, data, bases)
    name = rng.choice(list(members))
    members[name] = change_bytes(rng, members[name], list(members.values()))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new:
        for each, content in members.items():
            new.writestr(each, content)
    return out.getvalue()


def _alarm(*_):
    raise HangError(f"took more than {SECONDS} s")


def _signature(ended):
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "", ended)[:160]


def work(name: str, seconds: float, seed: int, folder: Path) -> int:
    """Run one reader in this process; return how many files were read."""
    suffix, read, begin = READERS[name]
    rng, bases = random.Random(f"{name} {seed}"), begin()
    seen: set[str] = set()
    path = folder / f"current{suffix}"
    warnings.simplefilter("ignore")
    logging.disable()
    for data in bases:  # what is loaded at the first call is not the file's
        path.write_bytes(data)
        read(path)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _alarm)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = change(rng, rng.choice(bases), bases)
        path.write_bytes(data)
        signal.alarm(SECONDS)
        try:
            read(path)
            ended = "read"
        except sf.errors.SixfoldError as error:
            ended = f"{type(error).__name__} {error}".replace(str(path), "")
        except BaseException:
            signal.alarm(0)
            traceback.print_exc()
            return -1
        signal.alarm(0)
        count += 1
        if len(bases) < MAX_BASES and _signature(ended) not in seen:
            seen.add(_signature(ended))
            bases.append(data)
    print(f"{name}: {count} files, {len(seen)} kinds of answers, no crash", flush=True)
    return count


def run(name: str, seconds: float, seed: int, keep: Path) -> bool:
    """Run one reader in a process of its own; return whether all went well."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [name, "--seconds", str(seconds), "--seed", str(seed), "--inside", folder]
        done = subprocess.run([sys.executable, "-m", "tests.fuzz", *arguments], check=False)
        if done.returncode == 0:
            return True
        keep.mkdir(parents=True, exist_ok=True)
        for path in Path(folder).glob("current*"):
            data = path.read_bytes()
            kept = keep / f"{name}-{hashlib.blake2b(data, digest_size=6).hexdigest()}{path.suffix}"
            kept.write_bytes(data)
            print(f"{name}: CRASH (status {done.returncode}), the file is {kept}", flush=True)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=["all", *READERS])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for crashes")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return 0 if work(given.reader, given.seconds, given.seed, Path(given.inside)) >= 0 else 1
    names = list(READERS) if given.reader == "all" else [given.reader]
    good = [run(name, given.seconds, given.seed, given.keep) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
