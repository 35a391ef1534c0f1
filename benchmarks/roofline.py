"""What bounds kernels: operations, bytes and registers; measured here, calculated for known cards.

    python -m benchmarks.roofline [ROBOT ...] [--cpu | --cards] [--rounds N]

`--cpu` measures this processor: the peak of fused multiply-adds, the speed of a copy, and the
kernels between both.  `--cards` counts the instructions of the PTX of each kernel, asks ptxas for
its registers where it is installed, and divides by what data sheets say: a calculation, no
measurement.  Tables are in Markdown.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import sixfold as sf
from benchmarks.bench.clock import fma_peak, interleaved
from benchmarks.names import find_public

FUNCTIONS = {"inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1}
"""Functions and how many arrays they take."""
DTYPES = {"float64": "double", "float32": "float"}
DIVISION = 10
"""Instructions that a division or a root is counted as: an assumption."""


@dataclass(frozen=True)
class Card:
    """What a data sheet says; tera-operations a second, two for a fused multiply-add."""

    name: str
    fp64: float
    fp32: float
    bandwidth: float  # GB/s
    threads: int  # of a multiprocessor
    source: str


CARDS = (
    Card("A100 80GB SXM", 9.7, 19.5, 2039, 2048, "NVIDIA A100 data sheet"),
    Card("H100 SXM", 34, 67, 3350, 2048, "NVIDIA H100 data sheet"),
    Card("RTX 4090", 82.6 / 64, 82.6, 1008, 1536, "NVIDIA Ada architecture white paper"),
)
REGISTERS = 65536
"""Registers of a multiprocessor of all of them, 32 bits each."""


def robots(names: list[str]) -> dict[str, sf.Model]:
    """Return the robots that are there."""
    found = {}
    for name in names:
        try:
            found[name] = sf.load(name)
        except sf.errors.SixfoldError:
            print(f"{name} is not there")
    return found


def traffic(kernel: Any) -> int:
    """Return the bytes that a state reads and writes."""
    layout = kernel.layout
    return layout.item * sum(map(prod, (*layout.inputs, *layout.outputs)))


def on_this_processor(models: dict[str, sf.Model], rounds: int) -> None:
    peaks = {dtype: max(fma_peak(dtype)) for dtype in DTYPES}
    source = np.ones(1 << 25)
    target = np.empty_like(source)
    best = min(interleaved([lambda: np.copyto(target, source)], 10)[0])
    copy = 2 * source.nbytes / best / 1e9
    print(f"peak of one core: {peaks['float64']:.1f} GFLOP/s in float64, ", end="")
    print(f"{peaks['float32']:.1f} in float32; copy of 256 MiB: {copy:.1f} GB/s\n")
    print(
        "| | operations | bytes | ns, 4,096 states | of the peak | ns, 2^18 states | of the copy |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, model in models.items():
        for word, arrays in FUNCTIONS.items():
            for dtype in DTYPES:
                print(measured(name, model, word, arrays, dtype, rounds, peaks[dtype], copy))


def measured(
    name: str,
    model: sf.Model,
    word: str,
    count: int,
    dtype: str,
    rounds: int,
    peak: float,
    copy: float,
) -> str:
    kernel = sf.compile(find_public(word), model, dtype=dtype)
    times = []
    for states in (4096, 1 << 18):
        q, v = sf.random_state(model, states, seed=0)
        given = [x.astype(dtype) for x in (q, v, np.ones_like(v))][:count]
        out = kernel(*given)
        found = interleaved([lambda g=given, o=out: kernel.ufunc(*g, out=o)], rounds)[0]
        times.append(min(found) / states * 1e9)
    flops, size = kernel.flops, traffic(kernel)
    speed, moved = flops / times[0], size / times[1]
    shares = f"{times[0]:.1f} | {speed / peak:.0%} | {times[1]:.1f} | {moved / copy:.0%}"
    return f"| {name} {word}, {dtype} | {flops} | {size} | {shares} |"


FUNCTION = re.compile(r"^(?:\.visible )?\.(?:func|entry)\s+(?:\(.*?\)\s*)?([\w$]+)\s*\(", re.M)
COUNTED = re.compile(
    r"^\s+(?:@!?%p\d+\s+)?(fma|mul|add|sub|div|sqrt|cvt)\.([\w.]*f(?:32|64)[\w.]*)", re.M
)


def instructions(ptx: str, name: str) -> Counter[str]:
    """Return the arithmetic instructions of a thread by precision; huge angles are left out."""
    starts = [(m.group(1), m.start()) for m in FUNCTION.finditer(ptx)]
    ends = [start for _, start in starts[1:]] + [len(ptx)]
    bodies = {f: ptx[a:b] for (f, a), b in zip(starts, ends, strict=True)}

    def of(function: str) -> Counter[str]:
        text, found = bodies[function], Counter()
        for op, kind in COUNTED.findall(text):
            weight = DIVISION if op in ("div", "sqrt") else 1
            found["float64" if "f64" in kind else "float32"] += weight
        for callee in bodies:
            called = rf"call\.uni\s+(?:\([^)]*\),\s*)?{re.escape(callee)}\b"
            calls = len(re.findall(called, text))
            if callee != function and "huge" not in callee:
                for kind, count in of(callee).items() if calls else ():
                    found[kind] += calls * count
        return found

    return of(name)


def registers(ptx: str) -> tuple[int, int] | None:
    """Return registers and bytes of spills, by ptxas; None without it."""
    if shutil.which("ptxas") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        command = ["ptxas", "-v", "-arch=sm_80", str(path), "-o", str(path.with_suffix(".cubin"))]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
    return max(map(int, re.findall(r"Used (\d+) registers", said))), spills


def on_cards(models: dict[str, sf.Model]) -> None:
    print("| card | float64 | float32 | memory | source |\n|---|---|---|---|---|")
    for card in CARDS:
        print(
            f"| {card.name} | {card.fp64:.3g} TFLOP/s | {card.fp32:g} "
            f"| {card.bandwidth} GB/s | {card.source} |"
        )
    print("\n| | instructions float64 | float32 | bytes | registers | threads |", end="")
    print("".join(f" {card.name} |" for card in CARDS))
    print("|---" * (6 + len(CARDS)) + "|")
    for name, model in models.items():
        for word in FUNCTIONS:
            for dtype, kind in DTYPES.items():
                ptx = sf.export(model, word, target="ptx", dtype=kind, name="kernel").files[
                    "kernel.ptx"
                ]
                size = traffic(sf.compile(find_public(word), model, dtype=dtype))
                print(calculated(f"{name} {word}, {dtype}", str(ptx), size), flush=True)


def calculated(label: str, ptx: str, size: int) -> str:
    count, asked = instructions(ptx, "kernel"), registers(ptx)
    shown, threads = "", ""
    if asked is not None:
        used, spills = asked
        warps = REGISTERS // (32 * -(-used // 8) * 8)
        shown = f"{used}" + (f", {spills} bytes of spills" if spills else "")
        threads = f"{32 * warps}"
    bounds = []
    for card in CARDS:
        # an instruction is one slot, of which a fused multiply-add makes two operations
        times = {
            "arithmetic": max(
                count["float64"] / (card.fp64 / 2 * 1e3), count["float32"] / (card.fp32 / 2 * 1e3)
            ),
            "memory": size / card.bandwidth,
        }
        by = max(times, key=lambda key: times[key])
        bounds.append(f"{times[by]:.2g} {by[0]}")
    cells = [label, count["float64"], count["float32"], size, shown, threads, *bounds]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=["panda", "g1_29dof"])
    parser.add_argument("--cpu", action="store_true", help="this processor only")
    parser.add_argument("--cards", action="store_true", help="the cards only")
    parser.add_argument("--rounds", type=int, default=20)
    chosen = parser.parse_args()
    models = robots(chosen.robots)
    sf.set_threads(1)
    if not chosen.cards:
        on_this_processor(models, chosen.rounds)
    if not chosen.cpu:
        on_cards(models)


if __name__ == "__main__":
    main()
