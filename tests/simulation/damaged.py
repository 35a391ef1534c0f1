"""Damaged motions: files with bytes flipped, cut off, swapped, or arrays that do not belong.

    python -m tests.simulation.damaged --files 5000

loads that many and ends with 1 if any is read as another motion or ends in anything but the one
error of the library.
"""

import argparse
import io
import random
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

import sixfold as sf

HEADERS = (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), ",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (((((((((((((3,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<f8', 'fortran_order': 2, 'shape': (3,), }",
    b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }",
    b"__import__('os').abort()",
    b"\x00\x00\x00",
    b"'''",
    b"(" * 500,
    b"  x\n y",
    b"0x",
    b"{'descr': '<c16', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<m8[s]', 'fortran_order': False, 'shape': (3,), }",
)


def motion():
    """Return a short motion with an event and a note."""
    model = sf.load("double_pendulum")
    stop = sf.Event(lambda t, q, v: t - 0.005, name="middle")
    return sf.simulate(model, [0.3, 0.1], None, 0.01, events=[stop])


def flip(rng, data):
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 40))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng, data):
    return data[: rng.randrange(len(data))]


def swap(rng, data):
    j, k = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[k:] + data[j:k] + data[:j]


def rewritten(data, name, content):
    """Return the archive with one member replaced, whole and with a good checksum."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            new.writestr(member, content if member == name else old.read(member))
    return out.getvalue()


def header(rng, data):
    """Replace the header of one array by another text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = rng.choice(archive.namelist())
        array = archive.read(name)
    text = rng.choice(HEADERS)
    if rng.random() < 0.4:
        text = bytes(rng.choice(b"(){}[]'\",:\\#\n\t 0x1eLf<|") for _ in range(rng.randrange(60)))
    text = text + b" " * rng.randrange(8) + b"\n"
    version = rng.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return rewritten(data, name, b"\x93NUMPY" + version + size + text + array[-64:])


def inside(rng, data):
    """Flip bytes inside an array, under a good checksum."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = rng.choice(archive.namelist())
        array = archive.read(name)
    return rewritten(data, name, rng.choice((flip, cut, swap))(rng, array))


def other(rng, data):
    """Put an array of another kind in place of one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        name = rng.choice(archive.namelist())
    arrays = (
        np.zeros((0, 2)),
        np.array("text"),
        np.array([1 + 2j]),
        np.array([True]),
        np.frombuffer(b'{"format": "sixfold trajectory 1"}', np.uint8),
        np.frombuffer(b"[" * 5000, np.uint8),
        np.zeros((2, 3, 4, 5)),
    )
    out = io.BytesIO()
    np.save(out, rng.choice(arrays))
    return rewritten(data, name, out.getvalue())


WAYS = (flip, cut, swap, header, inside, other)


def outcome(path, data, expected):
    """Return "same", "other numbers", "error", or how the law was broken."""
    path.write_bytes(data)
    try:
        found = sf.Trajectory.load(path)
    except sf.errors.TrajectoryFileError as error:
        good = str(error).startswith(f"{path}: ") and "\n  fix: " in str(error)
        return "error" if good else f"no place in {error}"
    except Exception as error:
        return f"foreign error {type(error).__name__}: {error}"
    same = np.array_equal(found.q, expected.q) and np.array_equal(found.t, expected.t)
    return "same" if same and found.model == expected.model else "other numbers"


def run(numbers):
    """Return how many files ended how."""
    expected = motion()
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        expected.save(path)
        whole = path.read_bytes()
        for number in numbers:
            rng, way = random.Random(number), WAYS[number % len(WAYS)]
            counts[way.__name__, outcome(path, way(rng, whole), expected)] += 1
    return counts


def broken(counts):
    """Return what breaks the law; numbers under a good checksum may be any numbers."""
    fine = {"same", "error"}
    return {
        key: n
        for key, n in counts.items()
        if key[1] not in fine and not (key[0] == "inside" and key[1] == "other numbers")
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=5000)
    counts = run(range(parser.parse_args().files))
    for (way, end), n in sorted(counts.items()):
        print(f"{way:<8} {end:<14.60} {n}")
    sys.exit(1 if broken(counts) else 0)


if __name__ == "__main__":
    main()
