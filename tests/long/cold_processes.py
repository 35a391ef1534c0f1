"""Many processes start together with an empty cache: all get the same bits, and none waits long.

python -m tests.long.cold_processes --processes 32
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CODE = """
import numpy as np
import sixfold as sf
arm = sf.load("double_pendulum")
q, v = sf.random_state(arm, 7, seed=1)
tau = sf.inverse_dynamics(arm, q, v, v)
M = sf.mass_matrix(arm, q)
out = sf.rollout(arm, q, v, dt=1e-3, steps=5)
print(tau.tobytes().hex(), M.tobytes().hex(), out[0].tobytes().hex())
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--limit", type=float, default=300.0)
    arguments = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "not" / "there" / "yet"
        running = [
            subprocess.Popen(
                [sys.executable, "-c", CODE],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "SIXFOLD_CACHE_DIR": str(where)},
            )
            for _ in range(arguments.processes)
        ]
        found = set()
        try:
            for process in running:
                left = arguments.limit - (time.monotonic() - start)
                out, errors = process.communicate(timeout=max(left, 1.0))
                assert process.returncode == 0 and not errors, errors
                found.add(out)
        finally:
            for process in running:
                process.kill()
        assert len(found) == 1, "processes got different bits"
        names = [path.name for path in where.iterdir()]
        assert not [name for name in names if name.startswith(".writing-")]
    seconds = time.monotonic() - start
    print(
        f"cold processes: {arguments.processes} got the same bits in {seconds:.0f} s,"
        f" {len(names)} files in the cache"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
