"""URDF files damaged in ten ways, always the same for the same number.

    python -m tests.formats.mutations --files 10000 --processes 2

writes that many damaged files, loads each, and ends with 1 if any breaks the law: a file becomes a
Model whose inverse dynamics is finite, or an error of ours with file and line, within a second and
256 MB.  Other formats join in with `corpus(bases, ...)`: a base is the text of a whole file.
"""

import argparse
import random
import re
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

import numpy as np

import sixfold as sf
from sixfold.formats import bundled
from tests.formats.small_robots import SMALL

SECONDS, MEGABYTES = 1.0, 256
LARGEST_BASE = 25_000
ATTRIBUTE = re.compile(r'([\w:]+)="([^"]*)"')
TAG = re.compile(r"<(/?)([\w:]+)")
ODD_VALUES = (
    *("nan", "inf", "-inf", "1e308", "1e309", "-1e308", "1e-320", "0", "-0", "-1", "1,5", "1.5 kg"),
    *(
        "0x10",
        "1_000",
        "",
        " ",
        "1e",
        "abc",
        "9" * 400,
        "1 2",
        "1 2 3 4",
        "0 0 0",
        "${x}",
        "$(arg x)",
    ),
    *("\u0661", "&lt;", "&#0;", "&x;", "../../../etc/passwd", "package://", "\u202e", "x" * 70_000),
)
ODD_NAMES = (
    "link",
    "joint",
    "robot",
    "inertial",
    "mimic",
    "visual",
    "sixfold",
    "xacro:macro",
    "a",
    "",
)
JUNK = (
    *("\0", "<", ">", "&", "]]>", "<!--", "<![CDATA[", "\ufeff", "junk", "<?php?>", '"', "'"),
    *("<!DOCTYPE robot>", '<!DOCTYPE r [<!ENTITY a "b">]>', '<link name="base"/>', "<mujoco/>"),
    *(
        '<joint name="x" type="fixed"><parent link="base"/><child link="upper"/></joint>',
        "<sixfold/>",
    ),
)
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp500", "utf-7")

Mutation = Callable[[random.Random, str], str | bytes]


def flip_bytes(rng: random.Random, text: str) -> bytes:
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def cut_off(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text))]


def change_lines(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    j, k = (rng.randrange(len(lines)) for _ in range(2))
    match rng.randrange(3):
        case 0:
            del lines[j]
        case 1:
            lines.insert(k, lines[j])
        case _:
            lines[j], lines[k] = lines[k], lines[j]
    return "".join(lines)


def change_value(rng: random.Random, text: str) -> str:
    found = rng.choice(list(ATTRIBUTE.finditer(text)))
    return text[: found.start(2)] + rng.choice(ODD_VALUES) + text[found.end(2) :]


def rename_element(rng: random.Random, text: str) -> str:
    found = rng.choice(list(TAG.finditer(text)))
    name = rng.choice(ODD_NAMES)
    if rng.random() < 0.5:
        return text[: found.start(2)] + name + text[found.end(2) :]
    return re.sub(rf"(</?){re.escape(found[2])}\b", rf"\g<1>{name}", text)


def drop_attribute(rng: random.Random, text: str) -> str:
    found = rng.choice(list(ATTRIBUTE.finditer(text)))
    return text[: found.start()] + text[found.end() :]


def swap_values(rng: random.Random, text: str) -> str:
    first, second = rng.sample(list(ATTRIBUTE.finditer(text)), 2)
    if first.start() > second.start():
        first, second = second, first
    between = text[first.end(2) : second.start(2)]
    return text[: first.start(2)] + second[2] + between + first[2] + text[second.end(2) :]


def change_encoding(rng: random.Random, text: str) -> bytes:
    declared, real = rng.choice(ENCODINGS), rng.choice(ENCODINGS)
    body = re.sub(r"^<\?xml[^>]*\?>", "", text)
    return (f'<?xml version="1.0" encoding="{declared}"?>' + body).encode(real, "replace")


def nest(rng: random.Random, text: str) -> str:
    found = rng.choice(list(TAG.finditer(text)))
    depth = rng.choice((1, 3, 50, 150, 3000))
    tag = rng.choice(("link", "x", "robot", found[2]))
    inside = f"<{tag}>" * depth + f"</{tag}>" * (depth - rng.randrange(2))
    return text[: found.start()] + inside + text[found.start() :]


def insert_junk(rng: random.Random, text: str) -> str:
    k = rng.randrange(len(text))
    return text[:k] + rng.choice(JUNK) + text[k:]


MUTATIONS: tuple[Mutation, ...] = (
    *(flip_bytes, cut_off, change_lines, change_value, rename_element),
    *(drop_attribute, swap_values, change_encoding, nest, insert_junk),
)


@cache
def urdf_bases() -> tuple[str, ...]:
    """Return our own small files, and the smaller ones of example-robot-data when it is there."""
    paths = (path for path in bundled.robots().values() if path.stat().st_size < LARGEST_BASE)
    return (*SMALL.values(), *(path.read_text("utf-8") for path in paths))


def mutated(bases: Sequence[str], number: int) -> tuple[str, bytes]:
    """Return the kind and the content of one damaged file."""
    rng = random.Random(number)
    mutation = MUTATIONS[number % len(MUTATIONS)]
    content: str | bytes = rng.choice(bases)
    for _ in range(1 if rng.random() < 0.7 else 2):
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        content = mutation(rng, text) if ATTRIBUTE.search(text) else text
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    return mutation.__name__, data


def corpus(bases: Sequence[str], numbers: range) -> Iterator[tuple[int, str, bytes]]:
    """Yield number, kind and content of damaged files."""
    for number in numbers:
        yield (number, *mutated(bases, number))


def outcome(path: Path) -> str:
    """Return what became of a file: "model", "error", or how the law was broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
            model = sf.load(path, floating_base=path.stat().st_size % 2 == 0)
        zero = np.zeros(model.nv)
        tau = sf.inverse_dynamics(model, sf.neutral(model), zero, zero, backend="numpy")
    except sf.errors.SixfoldError as error:
        line = getattr(error, "line", 0)
        placed = str(error).startswith(f"{path}:{line}: ") and line > 0
        return "error" if placed and "\n  fix: " in str(error) else f"no place in: {error}"
    except Exception as error:
        return f"foreign error {type(error).__name__}: {error}"
    return "model" if np.isfinite(tau).all() else "inverse dynamics is not finite"


def run(
    numbers: range, bases: Sequence[str] | None = None
) -> tuple[Counter[str], list[str], float]:
    """Return how many files ended how, the broken laws, and the longest time of one."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    longest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        for number, kind, data in corpus(bases or urdf_bases(), numbers):
            path.write_bytes(data)
            start = time.process_time()
            result = outcome(path)
            longest = max(longest, time.process_time() - start)
            counts[f"{kind}: {result}" if result in ("model", "error") else "broken"] += 1
            if result not in ("model", "error"):
                broken.append(f"{number} ({kind}): {result}")
    return counts, broken, longest


def main() -> None:
    """Run many files and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    size = 250
    parts = [range(k, min(k + size, options.files)) for k in range(0, options.files, size)]
    total: Counter[str] = Counter()
    broken: list[str] = []
    longest = 0.0
    with ProcessPoolExecutor(options.processes) as pool:
        for counts, bad, seconds in pool.map(partial(run), parts):
            total += counts
            broken += bad
            longest = max(longest, seconds)
    tracemalloc.start()
    run(range(0, options.files, max(1, options.files // 200)))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    for name, count in sorted(total.items()):
        print(f"{name:<28}{count:>7}")
    print("\n".join(broken[:20]))
    print(f"{options.files} files from {len(urdf_bases())} bases: {len(broken)} broken laws,")
    print(f"longest {longest:.2f} s, peak of a sample {peak:.0f} MB")
    sys.exit(bool(broken) or longest > SECONDS or peak > MEGABYTES)


if __name__ == "__main__":
    main()
