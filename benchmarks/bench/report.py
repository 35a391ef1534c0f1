"""The whole run as one JSON file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.bench.machine import circumstances, machine
from benchmarks.bench.run import Results, Settings
from benchmarks.bench.sections.accuracy import BITS
from benchmarks.bench.sections.speed import Speed
from sixfold.errors import NotApplicableError
from sixfold.files import write_files

FORMAT = 1
"""Raised when the meaning of a field changes."""


def write(file: str, results: Results, settings: Settings, missing: Sequence[str]) -> None:
    """Write every figure, the machine and how it was run."""
    text = json.dumps(document(results, settings, missing), indent=1) + "\n"
    write_files({Path(file): text.encode()})


def document(results: Results, settings: Settings, missing: Sequence[str]) -> dict[str, Any]:
    """Return the run as plain data."""
    return {
        "format": FORMAT,
        **circumstances(),
        "machine": machine() | {"load_average": results.load_average},
        "settings": asdict(settings),
        "fma_peak_gflops": {"best": max(results.peak_gflops), "rounds": results.peak_gflops},
        "speed": [_speed(r, max(results.peak_gflops)) for r in results.speed],
        "accuracy": [
            asdict(r) | {"bits": BITS, "worst": {who: r.worst(who) for who in r.errors}}
            for r in results.accuracy
        ],
        "latency": [
            asdict(r) | {"best_ns": {who: r.ns(who) for who in r.rounds_ns}}
            for r in results.latency
        ],
        "threads": [
            asdict(r)
            | {"speedup": {n: r.speedup(n) for n in r.rounds_s}}
            | {"moving_speedup": {n: r.moving_speedup(n) for n in r.moving_s}}
            | {"working_speedup": {n: r.working_speedup(n) for n in r.working_s}}
            for r in results.threads
        ],
        "chains": [
            asdict(r) | {"ns_per_body": r.ns, "pinocchio_ns_per_body": r.pinocchio_ns}
            for r in results.chains
        ],
        "rollouts": [
            asdict(r) | {"ns_per_step": r.ns, "mujoco_ns_per_step": r.mujoco_ns, "ratio": r.ratio}
            for r in results.rollouts
        ],
        "derivatives": [
            asdict(r)
            | {"ns": r.ns, "peer_ns": r.peer_ns, "ratio": r.ratio}
            | {"single_share": r.single_share}
            for r in results.derivatives
        ],
        "regressors": [
            asdict(r)
            | {"ns": r.ns, "peer_ns": r.peer_ns, "ratio": r.ratio(r.rounds_ns)}
            | {"sparse_ratio": r.ratio(r.sparse_rounds_ns)}
            for r in results.regressors
        ],
        "contact": [
            asdict(r)
            | {"ns_per_step": r.ns, "mujoco_ns_per_step": r.mujoco_ns, "ratio": r.ratio}
            | {"float32_ns_per_step": r.single_ns, "float32_ratio": r.single_ratio}
            for r in results.contact
        ],
        "constraints": [
            asdict(r) | {"ns": r.ns, "peer_ns": r.peer_ns, "ratio": r.ratio}
            for r in results.constraints
        ],
        "control": [asdict(r) | {"ratio": r.ratio} for r in results.control],
        "disagreements": results.disagreements,
        "notes": results.notes,
        "left_out": list(missing),
    }


def _speed(record: Speed, peak: float) -> dict[str, Any]:
    found = asdict(record)
    for timing, shown in zip(record.others, found["others"], strict=True):
        shown |= {"ns": timing.ns, "ratio": record.ratio(timing)}
        shown["difference"] = _finite(timing.difference)
    found["sixfold"] |= {"ns": record.sixfold.ns}
    found["sixfold"]["difference"] = _finite(record.sixfold.difference)
    if record.copy:
        found["copy"] |= {"ns": record.copy.ns}
    share = record.gflops / peak if record.gflops else None
    return found | {"gflops": record.gflops, "of_peak": share}


def _finite(x: float) -> float | str:
    """Return a number that JSON can hold."""
    return x if x < float("inf") else "infinite"


def refuse_unwritable(option: str, file: str | None) -> None:
    """Raise before measuring if a file could not be written afterwards."""
    if file is None:
        return
    folder = Path(file).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        where = f"'{file}', whose folder does not exist or cannot be written"
        raise NotApplicableError(option, where, "make the folder, or name another file")
