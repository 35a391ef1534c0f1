"""Which robots are measured, and the same robots in the other engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench.engines import mujoco, pinocchio
from benchmarks.bench.engines.build_peer import Peer
from benchmarks.bench.engines.engines import States, Way
from benchmarks.bench.examples import FILES, pinocchio_example
from sixfold.errors import NotApplicableError, visible
from sixfold.formats import load
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.model import Model

STANDARD = ("puma560", *FILES)
"""What is measured when no robot is named."""


@dataclass(frozen=True)
class Robot:
    """A robot, bare of what Pinocchio leaves out, and where it stands in the other engines."""

    name: str
    model: Model
    pinocchio: Peer | None = None
    mujoco: Peer | None = None
    notes: tuple[str, ...] = ()
    """Why an engine does not take part."""

    def ways(self, function: str, states: States) -> list[Way]:
        """Return the other engines' ways to evaluate a function."""
        found: list[Way] = []
        if self.pinocchio:
            found += pinocchio.ways(self.pinocchio, function, states)
        if self.mujoco:
            found += mujoco.ways(self.mujoco, function, states)
        return found


def find(names: Iterable[str]) -> tuple[list[Robot], list[str]]:
    """Return the robots that can be had, and a line for each whose package is missing.

    Raises:
        UnknownNameError: for a name that no installation would make known.
    """
    robots, missing = [], []
    for name in dict.fromkeys(names):
        try:
            robots.append(_robot(name))
        except NotApplicableError as error:
            missing.append(f"{visible(name)} is left out: {said(error)}")
    return robots, missing


def _robot(name: str) -> Robot:
    """Return a robot by its name in example-robot-data, or as `sf.load` finds it."""
    example = None
    if name in FILES:
        _, example = pinocchio_example(name)
        model = from_pinocchio(example, name)
    else:
        model = load(name)
    if not model.nv:
        raise NotApplicableError(
            "bench", f"'{name}', which has no joint that moves", "name another"
        )
    shown = visible(Path(name).stem if Path(name).suffix else name)
    return with_peers(shown, bare(model), example)


def bare(model: Model) -> Model:
    """Return the rigid bodies alone, which is what all engines compute."""
    return model.without(damping=True, friction=True, springs=True, armature=True, constraints=True)


def with_peers(name: str, model: Model, example: Any = None) -> Robot:
    """Return a robot with the engines that are installed and can hold it."""
    notes: list[str] = []

    def attempt(make: Callable[[], Peer]) -> Peer | None:
        try:
            return make()
        except NotApplicableError as error:
            notes.append(said(error))
            return None

    peers = (
        attempt(lambda: pinocchio.build_peer(model, example)),
        attempt(lambda: mujoco.build_peer(model)),
    )
    return Robot(name, model, *peers, tuple(notes))


def said(error: Exception) -> str:
    """Return a message on one line."""
    return "; ".join(line.strip() for line in str(error).splitlines())
