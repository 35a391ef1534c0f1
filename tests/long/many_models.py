"""Make models, use each once and drop it: memory, maps and disk stay flat, and nothing crashes.

    python -m tests.long.many_models --models 100000

Each model has kernels of its own.  One in ten differs in its mass, and is compiled; the others
differ in their names, and their code is found on disk by its text, which takes a tenth of the time.
"""

import argparse
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import sixfold as sf
from sixfold.evaluate.kernel_cache import KERNELS
from sixfold.native.limits import maps

DISK_MB = 16


def resident() -> float:
    """Return the memory of this process [MiB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def use(k: int) -> None:
    """Make the model of a number, use it and drop it."""
    mass = 1.0 + k // 10 * 1e-5
    builder = sf.ModelBuilder(f"cart {k}")
    builder.add_body("cart", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(mass))
    assert sf.mass_matrix(builder.build(), np.zeros(1)) == mass


def run(models: int, minutes: float) -> bool:
    assert gc.isenabled()
    start, warm = time.monotonic(), 2 * KERNELS.most + 200
    for k in range(warm):
        use(k)
    first, worst, done = (resident(), maps()), (0.0, 0), 0
    while done < models and time.monotonic() - start < 60 * minutes:
        use(warm + done)
        done += 1
        if done % 250 == 0:
            worst = tuple(map(max, worst, (resident(), maps())))
    seconds = time.monotonic() - start
    folder = Path(os.environ["SIXFOLD_CACHE_DIR"])
    disk = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    print(
        f"many models: {warm} + {done} in {seconds:.0f} s ({1e3 * seconds / (warm + done):.1f} ms"
        f" each); memory {first[0]:.1f} MiB, at most {worst[0]:.1f} afterwards; maps {first[1]},"
        f" at most {worst[1]}; {len(KERNELS)} kernels of {KERNELS.size / 2**20:.1f} MiB kept;"
        f" {disk:.1f} MiB on disk"
    )
    flat = worst[0] < first[0] + 16 and worst[1] < first[1] + 32 and disk < 1.2 * DISK_MB
    return flat and done == models


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SIXFOLD_CACHE_DIR": folder, "SIXFOLD_CACHE_MB": str(DISK_MB)}
        os.environ.pop("SIXFOLD_CACHE", None)
        return 0 if run(arguments.models, arguments.minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
