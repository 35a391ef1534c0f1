"""The machine and the programs that took part, so that figures can be read later."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.bench.engines.extras import versions
from sixfold.compiler.llvm import host, lanes


def machine() -> dict[str, Any]:
    """Return processor, cores, lanes and system."""
    triple, cpu, features = host()
    return {
        "processor": processor(),
        "llvm_cpu": cpu,
        "llvm_triple": triple,
        "features": sorted(x[1:] for x in features.split(",") if x.startswith("+")),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "lanes": {dtype: lanes(dtype) for dtype in ("float64", "float32")},
    }


def circumstances() -> dict[str, Any]:
    """Return when and by which command, Python and packages."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["python", "-m", "benchmarks", *sys.argv[1:]],
        "python": platform.python_version(),
        "packages": versions(),
    }


def processor() -> str:
    """Return the processor's own name where the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def load_average() -> float | None:
    """Return how many programs were running over the last minute."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
