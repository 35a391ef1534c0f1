"""Kill workers and clients of sweeps, and damage a piece: the bits are those of one thread.

    python -m tests.long.killed_sweeps [--rows 200000] [--pieces 1000] [--format zarr]

A cluster of two processes loses a worker to SIGKILL in the middle; a client of such a cluster is
killed in the middle, and the sweep goes on with another block size; one of a thousand pieces is
damaged, found and computed again.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import sixfold as sf
from sixfold.sweeps.pieces import pieces_in

REDUCE = ["mean", "deviation", "covariance", "extremes", "quantiles"]
PANDA = sf.load("panda")


def torques(q, v):
    """Return the joint forces of panda."""
    return {"tau": sf.inverse_dynamics(PANDA, q, v, np.zeros_like(v))}


def run(rows: int, **options):
    """Return a sweep of panda."""
    draw = {
        "q": sf.sweeps.draws.configuration(PANDA),
        "v": sf.sweeps.draws.normal(np.zeros(PANDA.nv), 0.5),
    }
    return sf.sweeps.sweep(torques, rows, seed=5, draw=draw, **options)


def same(one, other) -> bool:
    """Return whether two results have the same bits."""
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in one)
    return np.array_equal(one, other)


def cluster():
    """Return two worker processes."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)


def kill_a_worker(rows: int) -> bool:
    """Kill one of two workers when a third of the rows is done."""
    serial = run(rows, reduce=REDUCE, engine="serial")
    killed: list[int] = []
    with cluster() as workers, workers.get_client() as client:

        def kill(done: int, rows: int) -> None:
            if done > rows // 3 and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        found = run(rows, reduce=REDUCE, engine=client, progress=kill)
    return bool(killed) and all(same(found[name], serial[name]) for name in REDUCE)


def kill_the_client(rows: int, kind: str) -> bool:
    """Kill the client of a cluster in the middle; go on with another block size."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.long.killed_sweeps", "--client", folder]
        command += ["--rows", str(rows), "--format", kind]
        done = subprocess.run(command, check=False, timeout=600)
        there = sum(piece.stop - piece.start for piece in pieces_in(Path(folder)))
        with cluster() as workers, workers.get_client() as client:
            more = {"write": folder, "format": kind, "reduce": REDUCE, "engine": client}
            again = run(rows, block=rows // 37, **more)
        serial = run(rows, reduce=REDUCE, engine="serial")
        whole = done.returncode == -signal.SIGKILL and 0 < there < rows
        whole = whole and again.reused >= there and again.computed == rows - again.reused
        print(f"  {there:,} rows were there, {again.computed:,} were left")
        return whole and all(same(again[name], serial[name]) for name in REDUCE)


def client_to_be_killed(folder: str, rows: int, kind: str) -> None:
    """Begin to write, and kill this process in the middle."""

    def kill(done: int, rows: int) -> None:
        if done > rows // 2:
            os.kill(os.getpid(), signal.SIGKILL)

    with cluster() as workers, workers.get_client() as client:
        more = {"write": folder, "format": kind, "engine": client}
        run(rows, block=rows // 23, progress=kill, **more)


def damage_a_piece(rows: int, pieces: int, kind: str) -> bool:
    """Damage one piece of many in one bit."""
    with tempfile.TemporaryDirectory() as folder:
        first = run(rows, write=folder, format=kind, block=rows // pieces)
        found = pieces_in(Path(folder))
        path = found[len(found) // 3].path
        inside = [each for each in path.rglob("*") if each.is_file()]
        file = max(inside or [path], key=lambda each: each.stat().st_size)
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        before = {piece.path: piece.path.stat().st_mtime_ns for piece in found}
        again = run(rows, write=folder, format=kind, block=rows // pieces)
        after = {piece.path: piece.path.stat().st_mtime_ns for piece in pieces_in(Path(folder))}
        changed = [each for each in before if after.get(each) != before[each]]
        print(f"  {len(found):,} pieces, {again.computed:,} rows were computed again")
        serial = run(rows, engine="serial").arrays()["tau"]
        right = np.array_equal(again.arrays()["tau"], serial)
        return right and changed == [path] and len(again.damaged) == 1 and first.computed == rows


def main() -> int:
    """Do all three, or be the client that is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--pieces", type=int, default=1000)
    parser.add_argument("--format", choices=["parquet", "zarr"], default="parquet")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.client:
        client_to_be_killed(chosen.client, chosen.rows, chosen.format)
        return 1
    failed = 0
    for name, call in (
        ("a worker killed", lambda: kill_a_worker(chosen.rows)),
        ("the client killed", lambda: kill_the_client(chosen.rows, chosen.format)),
        ("a piece damaged", lambda: damage_a_piece(chosen.rows, chosen.pieces, chosen.format)),
    ):
        right = call()
        failed += not right
        print(f"{name}: {'equal bits' if right else 'WRONG'}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
