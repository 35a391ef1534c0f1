"""Digests of programs and results, to see what a change of the compiler changes.

`python -m tests.replay.recording` records them anew; commit the file with the change that meant it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import sixfold as sf
from tests.public_names import find

FILE = Path(__file__).with_name("recorded.json")
ROBOTS = (
    "double_pendulum",
    "cart_pendulum",
    "puma560",
    "rolling_ball",
    "floating_link",
    "planar_chain:6",
    "planar_chain:200",
    "ur5",
    "panda",
    "g1_29dof",
)
FUNCTIONS = {
    "inverse_dynamics": "qvv",
    "forward_dynamics": "qvv",
    "mass_matrix": "q",
    "coriolis_matrix": "qv",
    "body_poses": "q",
    "momentum": "qv",
    "integrate": "qv",
}
LONG_TREES = ("inverse_dynamics", "forward_dynamics", "body_poses", "momentum")
"""Functions with a rolled form; matrices of long trees take too long to compile here."""
STATES = 9


def functions(robot: str) -> list[str]:
    """Return the functions that are recorded for a robot."""
    return list(LONG_TREES if robot == "planar_chain:200" else FUNCTIONS)


def digest(robot: str, function: str) -> dict[str, str]:
    """Return short digests of the program's text and of the bits of its results."""
    model = sf.load(robot)
    rng = np.random.default_rng(20)
    q = sf.integrate(model, sf.neutral(model), rng.uniform(-1, 1, (STATES, model.nv)))
    given: dict[str, Any] = {"q": q, "v": rng.uniform(-1, 1, (STATES, model.nv))}
    form = "rolled" if robot == "planar_chain:200" else None
    kernel = sf.compile(find(function), model, form=form)
    result = find(function)(model, *(given[letter] for letter in FUNCTIONS[function]))
    return {
        "text": hashlib.sha256(kernel.text.encode()).hexdigest()[:12],
        "bits": hashlib.sha256(np.ascontiguousarray(result).tobytes()).hexdigest()[:12],
    }


def record() -> None:
    """Write the digests of this version of the library."""
    found = {r: {f: digest(r, f) for f in functions(r)} for r in ROBOTS}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    record()
