"""Thousands of bad calls over every public callable: `python -m tests.battery.run --calls 24000`.

The calls run in processes of their own; one that dies counts as found, and the next goes on after
it.  Prints each kind of finding once, with the call that showed it, and exits with 1 if any.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

MEMORY = 6 << 30
"""Address space of a process [bytes]: a call that wants it all is found, not the machine's end."""
LIBRARIES = {"jax_function": "jax", "torch_function": "torch"}
"""Large libraries that public functions import."""


def work(first: int, step: int, count: int, seed: int, only: str) -> None:
    """Make calls number first, first + step, ... and print one line of JSON for each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from tests.battery.cases import call, outcome, spread
    from tests.battery.surface import motion, targets

    out = os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    motion().save("good.npz")
    found = [t for t in targets() if not only or t.label.startswith(only)]
    # a library's first import takes seconds, which are no part of a call
    for library in LIBRARIES.keys() & {t.label for t in found}:
        with contextlib.suppress(ImportError):
            importlib.import_module(LIBRARIES[library])
    for k, (which, number) in list(enumerate(spread(found, count)))[first::step]:
        target = found[which]
        out.write(json.dumps({"begin": k, "label": target.label}) + "\n")
        out.flush()
        made = call(target, f"{seed}:{number}")
        came = outcome(target, made)
        line = {"end": k, "label": made.label, "how": made.how, "kind": came.kind}
        out.write(json.dumps({**line, "text": came.text}) + "\n")
        out.flush()


def one_worker(first: int, step: int, count: int, seed: int, only: str) -> list[dict[str, Any]]:
    """Run a worker, again after each call that kills it, and return what it wrote."""
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        while first < count:
            command = [sys.executable, "-m", "tests.battery.run", "--work"]
            command += [f"{first}", f"{step}", f"{count}", f"{seed}", only]
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            got = [json.loads(line) for line in done.stdout.splitlines()]
            lines += [line for line in got if "end" in line]
            if done.returncode == 0 or not got:
                break
            lost = got[-1].get("begin", got[-1].get("end"))
            text = f"process ended with {done.returncode}: {done.stderr[-200:]!r}"
            lines.append({"end": lost, "label": got[-1]["label"], "kind": "crash", "text": text})
            first = lost + step
        if done.returncode:
            text = f"worker did not start: {done.stderr[-2000:]}"
            lines.append({"end": -1, "label": "?", "kind": "crash", "text": text})
    return lines


def main() -> int:
    """Make the calls and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=24_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", default="", help="callables whose name begins so")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*map(int, options.work[:4]), options.work[4])
        return 0
    from concurrent.futures import ThreadPoolExecutor

    began = time.perf_counter()
    n = options.processes
    with ThreadPoolExecutor(n) as pool:
        parts = [
            pool.submit(one_worker, k, n, options.calls, options.seed, options.only)
            for k in range(n)
        ]
        lines = [line for part in parts for line in part.result()]
    return report(lines, time.perf_counter() - began)


def report(lines: list[dict[str, Any]], seconds: float) -> int:
    """Print counts and each kind of finding; return the exit code."""
    kinds = Counter(line["kind"] for line in lines)
    names = len({line["label"] for line in lines})
    print(f"{len(lines)} bad calls of {names} callables in {seconds:.0f} s: {dict(kinds)}")
    bad: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        if line["kind"] in ("foreign", "hang", "crash"):
            place = line["text"].partition(": ")[0]
            key = (line["label"] if line["kind"] != "foreign" else "", place)
            bad.setdefault(key, []).append(line)
    for found in sorted(bad.values(), key=len, reverse=True):
        line = found[0]
        labels = sorted({x["label"] for x in found})
        print(f"{len(found):4} {line['kind']} {', '.join(labels[:4])}: {line['text']}")
        print(f"       e.g. {line['label']}({line.get('how', '')})"[:300])
    print(f"{len(bad)} kinds of findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
