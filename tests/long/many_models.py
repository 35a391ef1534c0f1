"""Make models, compile for each, use it and drop it: memory, maps and disk stay within bounds.

    python -m tests.long.many_models --models 4000

Each model is a random tree of one to six bodies with numbers of its own, so that every kernel is
traced, compiled by LLVM and loaded; the run counts the texts that LLVM was given.  Two kernels of
each model are used: mass matrix and forward dynamics.

Bounds, asserted: once the table of kernels is full, memory stays below its level then plus
`MEMORY_MIB`, and maps below theirs plus `MAPS`, however many models follow; the table holds at most
`KERNELS_KEPT` kernels, and the folder on disk `DISK_MB`, with a fifth on top while files are
written.
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
from sixfold.compiler.llvm.runtime import jit
from sixfold.compiler.llvm.runtime.limits import maps
from sixfold.runtime.kernels.kernel_cache import KERNELS

DISK_MB = 16
KERNELS_KEPT = 100
"""Fewer than usual, so that kernels are dropped from early on."""
MEMORY_MIB, MAPS = 24.0, 32
"""How much may be added once the table is full."""


def resident() -> float:
    """Return the memory of this process [MiB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def use(k: int) -> None:
    """Make the model of a number, use it and drop it."""
    model = sf.random_tree(1 + k % 6, seed=k)
    q, v = sf.random_state(model, seed=k)
    tau = np.linspace(-1.0, 1.0, model.nv)
    a = sf.forward_dynamics(model, q, v, tau)
    M = sf.mass_matrix(model, q)
    rest = sf.bias_force(model, q, v, backend="numpy")
    np.testing.assert_allclose(M @ a + rest, tau, rtol=0, atol=1e-8 * (1 + np.abs(rest).max()))


def run(models: int, minutes: float) -> bool:
    """Return whether all models were used within the bounds."""
    assert gc.isenabled()
    compiled = 0
    object_code = jit.object_code

    def counted(text: str) -> bytes:
        nonlocal compiled
        compiled += 1
        return object_code(text)

    jit.object_code = counted
    KERNELS.most = KERNELS_KEPT
    start, warm = time.monotonic(), 2 * KERNELS_KEPT
    for k in range(warm):
        use(k)
    first, worst, done = (resident(), maps()), (0.0, 0), 0
    while done < models and time.monotonic() - start < 60 * minutes:
        use(warm + done)
        done += 1
        if done % 50 == 0 or done == models:
            worst = tuple(map(max, worst, (resident(), maps())))
    seconds = time.monotonic() - start
    folder = Path(os.environ["SIXFOLD_CACHE_DIR"])
    disk = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    print(
        f"many models: {warm} + {done} in {seconds:.0f} s ({1e3 * seconds / (warm + done):.1f} ms"
        f" each), {compiled} texts compiled; memory {first[0]:.1f} MiB, at most {worst[0]:.1f}"
        f" afterwards; maps {first[1]}, at most {worst[1]}; {len(KERNELS)} kernels of"
        f" {KERNELS.size / 2**20:.1f} MiB kept; {disk:.1f} MiB on disk"
    )
    assert compiled >= 2 * (warm + done), "models share their code: they have to differ"
    assert worst[0] < first[0] + MEMORY_MIB, f"memory grew by {worst[0] - first[0]:.1f} MiB"
    assert worst[1] < first[1] + MAPS, f"maps grew by {worst[1] - first[1]}"
    assert len(KERNELS) <= KERNELS_KEPT and disk < 1.2 * DISK_MB
    return done == models


def main() -> int:
    """Run it in a cache folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=4000)
    parser.add_argument("--minutes", type=float, default=60.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SIXFOLD_CACHE_DIR": folder, "SIXFOLD_CACHE_MB": str(DISK_MB)}
        os.environ.pop("SIXFOLD_CACHE", None)
        return 0 if run(arguments.models, arguments.minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
