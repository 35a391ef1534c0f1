"""Make models, use each once and drop it: memory and maps stay flat, and nothing crashes.

    python -m tests.long.many_models --models 100000

Each model is a cart of another mass, so that each has a kernel of its own: the cheapest there is,
as the compiler's time dominates.  The cache on disk is off, as it could only get in the way.
"""

import argparse
import gc
import os
import sys
import time
from pathlib import Path

os.environ["SIXFOLD_CACHE"] = "off"

import numpy as np

import sixfold as sf
from sixfold.evaluate.kernel_cache import KERNELS
from sixfold.native.limits import maps


def resident() -> float:
    """Return the memory of this process [MiB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def cart(mass: float) -> sf.Model:
    builder = sf.ModelBuilder("cart")
    builder.add_body("cart", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(mass))
    return builder.build()


def use(mass: float) -> None:
    assert sf.mass_matrix(cart(mass), np.zeros(1)) == mass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    assert gc.isenabled()
    start, masses = time.monotonic(), iter(1.0 + np.arange(1, 10**7) * 1e-6)
    warm = 2 * KERNELS.most + 200
    for _ in range(warm):
        use(next(masses))
    first, worst, done = (resident(), maps()), (0.0, 0), 0
    while done < arguments.models and time.monotonic() - start < 60 * arguments.minutes:
        use(next(masses))
        done += 1
        if done % 250 == 0:
            worst = tuple(map(max, worst, (resident(), maps())))
    seconds = time.monotonic() - start
    print(
        f"many models: {warm} + {done} in {seconds:.0f} s ({1e3 * seconds / (warm + done):.1f} ms"
        f" each); memory {first[0]:.1f} MiB, at most {worst[0]:.1f} afterwards; maps {first[1]},"
        f" at most {worst[1]}; {len(KERNELS)} kernels of {KERNELS.size / 2**20:.1f} MiB kept"
    )
    flat = worst[0] < first[0] + 16 and worst[1] < first[1] + 32
    return 0 if flat and done == arguments.models else 1


if __name__ == "__main__":
    sys.exit(main())
