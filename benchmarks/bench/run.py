"""One run of the benchmark: section by section, printed as it goes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.bench import tables
from benchmarks.bench.clock import fma_peak
from benchmarks.bench.engines.engines import States, draw
from benchmarks.bench.engines.extras import versions
from benchmarks.bench.machine import load_average, processor
from benchmarks.bench.robots import Robot, said
from benchmarks.bench.sections import (
    accuracy,
    chains,
    constraints,
    contact,
    control,
    derivatives,
    latency,
    regressors,
    rollouts,
    speed,
    threads,
)
from benchmarks.bench.sections.chains import LENGTHS
from sixfold.compiler.llvm import lanes
from sixfold.errors import NotApplicableError, SixfoldError
from sixfold.runtime import get_threads, set_threads

Say = Callable[[str], object]
RESTLESS = 1.25


@dataclass(frozen=True)
class Settings:
    """What was asked for."""

    functions: tuple[str, ...]
    batch: int = 4096
    rounds: int = 20
    dtype: str = "float64"
    seed: int = 0
    quick: bool = False
    chains: bool = False
    longest: int = LENGTHS[-1]
    rollout: bool = False
    derivatives: bool = False
    regressor: bool = False
    contact: bool = False
    control: bool = False

    @property
    def precise_states(self) -> int:
        """States that are compared with MPFR arithmetic."""
        return min(self.batch, 8 if self.quick else 32)


@dataclass
class Results:
    """What was found, section by section."""

    peak_gflops: list[float] = field(default_factory=list)
    speed: list[speed.Speed] = field(default_factory=list)
    accuracy: list[accuracy.Accuracy] = field(default_factory=list)
    latency: list[latency.Latency] = field(default_factory=list)
    threads: list[threads.Threads] = field(default_factory=list)
    chains: list[chains.Chain] = field(default_factory=list)
    rollouts: list[rollouts.RolledOut] = field(default_factory=list)
    derivatives: list[derivatives.Derivatives] = field(default_factory=list)
    regressors: list[regressors.Regressors] = field(default_factory=list)
    contact: list[contact.Touched] = field(default_factory=list)
    constraints: list[constraints.Constrained] = field(default_factory=list)
    control: list[control.Controlled] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    load_average: float | None = None
    """Programs that were running at the start, over a minute."""

    @property
    def disagreements(self) -> list[str]:
        """A line for each engine whose results are not ours."""
        return (
            [line for r in self.speed for line in r.disagreements]
            + [
                f"pinocchio C++ DISAGREES on {r.function}, chain of {r.bodies}: {r.difference:.1e}"
                for r in self.chains
                if r.difference is not None and not r.pinocchio_rounds_ns
            ]
            + [
                f"mujoco DISAGREES on the rollout of {r.robot}: {r.difference:.1e}"
                for r in self.rollouts
                if r.difference is not None and not r.mujoco_rounds_ns
            ]
            + [
                f"mujoco DISAGREES on the contacts of {r.robot}: {r.difference:.1e}"
                for r in self.contact
                if r.difference is not None and not r.mujoco_rounds_ns
            ]
            + [
                f"pinocchio DISAGREES on {r.function} derivatives of {r.robot}: {r.difference:.1e}"
                for r in self.derivatives
                if r.difference is not None and not r.peer_rounds_ns
            ]
            + [
                f"pinocchio DISAGREES on the regressor of {r.robot}: {r.difference:.1e}"
                for r in self.regressors
                if r.difference is not None and not r.peer_rounds_ns
            ]
            + [
                f"pinocchio DISAGREES on constrained dynamics of {r.robot}: {r.difference:.1e}"
                for r in self.constraints
                if r.difference is not None and not r.peer_rounds_ns
            ]
        )


Case = tuple[Robot, str, States]


def run(robots: Sequence[Robot], settings: Settings, say: Say) -> Results:
    """Measure everything on one thread but the section on threads, and print the tables."""
    notes = list(dict.fromkeys(note for robot in robots for note in robot.notes))
    results = Results(notes=notes, load_average=load_average())
    before = get_threads()
    set_threads(1)
    try:
        say(heading(settings, results.load_average))
        results.peak_gflops += fma_peak(settings.dtype)
        cases = _speed(robots, settings, results, say)
        _others(cases, settings, results, say)
        if settings.chains:
            _chains(settings, results, say)
        if settings.rollout:
            _rollouts(robots, settings, results, say)
        if settings.derivatives:
            _derivatives(robots, settings, results, say)
        if settings.regressor:
            _regressors(robots, settings, results, say)
        if settings.contact:
            _constraints(settings, results, say)
            _contact(settings, results, say)
        if settings.control:
            _control(settings, results, say)
    finally:
        set_threads(before)
    results.notes += disturbed(results.speed)
    if results.notes:
        say("\n" + "\n".join(f"note: {note}" for note in results.notes))
    return results


def disturbed(records: Sequence[speed.Speed]) -> list[str]:
    """Return a line if the rounds of many timings differ more than on a quiet machine."""
    rounds = [x.rounds_ns for r in records for x in (r.sixfold, *r.others) if x.rounds_ns]
    restless = sum(median(found) > RESTLESS * min(found) for found in rounds)
    if 4 * restless <= len(rounds):
        return []
    share = f"{restless} of {len(rounds)} timings have a median {RESTLESS} times their best or more"
    return [f"{share}: the machine is busy; fix: repeat the run on a quiet one"]


def heading(settings: Settings, load: float | None) -> str:
    """Return the machine, the programs and the way of measuring in a few lines."""
    found = versions()
    packages = ("numpy", "llvmlite", "pin", "mujoco", "gmpy2")
    listed = ", ".join(f"{name} {found[name] or 'missing'}" for name in packages)
    busy = "" if load is None else f"; load average {load:.1f}"
    return (
        f"{processor()}{busy}\n{listed}\n"
        f"one core, {settings.dtype} in {lanes(settings.dtype)} lanes, row-major, "
        f"batch {settings.batch}, best of {settings.rounds} rounds, seed {settings.seed};\n"
        "rigid bodies alone: no damping, friction, springs or rotors"
    )


def _speed(
    robots: Sequence[Robot], settings: Settings, results: Results, say: Say
) -> list[tuple[Case, set[str]]]:
    """Time the batches; return what agreed, for the sections after."""
    cases = []
    for robot in robots:
        _watched(f"batches of {robot.name}")
        states = draw(robot.model, settings.batch, settings.seed, settings.dtype)
        for function in settings.functions:
            try:
                found = speed.measure(robot, function, states, settings.dtype, settings.rounds)
            except SixfoldError as error:
                results.notes.append(f"{function} of {robot.name} is left out: {said(error)}")
                continue
            results.speed.append(found)
            if found.sixfold.agrees:
                agreed = {x.engine for x in found.others if x.agrees}
                cases.append(((robot, function, states), agreed))
        results.peak_gflops += fma_peak(settings.dtype, 10)
    say("\n" + tables.speed_table(results.speed))
    say("\n" + tables.work_table(results.speed, max(results.peak_gflops)))
    return cases


def _others(
    cases: Sequence[tuple[Case, set[str]]], settings: Settings, results: Results, say: Say
) -> None:
    dtype, rounds = settings.dtype, settings.rounds
    _watched("errors")
    try:
        for case, agreed in cases:
            found = accuracy.measure(*case, agreed, dtype, settings.precise_states)
            results.accuracy.append(found)
        say("\n" + tables.accuracy_table(results.accuracy))
    except NotApplicableError as error:
        results.notes.append(said(error))
    _watched("single calls")
    for case, agreed in cases:
        results.latency.append(latency.measure(*case, agreed, dtype, rounds))
    say("\n" + tables.latency_table(results.latency))
    if len(threads.counts()) > 1:
        _watched("threads")
        for case, _ in cases:
            results.threads.append(threads.measure(*case, dtype, rounds))
        say("\n" + tables.threads_table(results.threads))
    else:
        results.notes.append("no section on threads: this process may use one core only")


def _chains(settings: Settings, results: Results, say: Say) -> None:
    for n in LENGTHS:
        for function in chains.CHAIN_FUNCTIONS:
            if n <= settings.longest and function in settings.functions:
                _watched(f"{function} of {n} bodies")
                found = chains.measure(n, function, settings.batch, settings.seed, settings.rounds)
                results.chains.append(found)
    say("\n" + tables.chains_table(results.chains))


def _rollouts(robots: Sequence[Robot], settings: Settings, results: Results, say: Say) -> None:
    for robot in robots:
        for integrator in rollouts.INTEGRATORS:
            _watched(f"rollout of {robot.name} by {integrator}")
            found = rollouts.measure(robot, integrator, settings.seed, settings.rounds)
            results.rollouts.append(found)
    say("\n" + tables.rollouts_table(results.rollouts))


def _derivatives(robots: Sequence[Robot], settings: Settings, results: Results, say: Say) -> None:
    for name, model in derivatives.cases(robots):
        for function in derivatives.FUNCTIONS:
            _watched(f"{function} derivatives of {name}")
            try:
                found = derivatives.measure(
                    name, model, function, settings.batch, settings.seed, settings.rounds
                )
            except SixfoldError as error:
                results.notes.append(f"derivatives of {name} are left out: {said(error)}")
                continue
            results.derivatives.append(found)
    say("\n" + tables.derivatives_table(results.derivatives))


def _regressors(robots: Sequence[Robot], settings: Settings, results: Results, say: Say) -> None:
    for name, model in regressors.cases(robots):
        _watched(f"the regressor of {name}")
        try:
            found = regressors.measure(name, model, settings.seed, settings.rounds)
        except SixfoldError as error:
            results.notes.append(f"the regressor of {name} is left out: {said(error)}")
            continue
        results.regressors.append(found)
    say("\n" + tables.regressors_table(results.regressors))


def _contact(settings: Settings, results: Results, say: Say) -> None:
    found, missing = contact.available()
    if missing:
        results.notes.append(f"no section on contact: {missing}")
        return
    for stance in found:
        _watched(f"contacts of {stance.name}")
        results.contact.append(contact.measure(stance, settings.seed, settings.rounds))
    say("\n" + tables.contact_table(results.contact))


def _constraints(settings: Settings, results: Results, say: Say) -> None:
    for name, model, q in constraints.cases():
        _watched(f"constrained dynamics of {name}")
        found = constraints.measure(name, model, q, settings.batch, settings.seed, settings.rounds)
        results.constraints.append(found)
    say("\n" + tables.constraints_table(results.constraints))


def _control(settings: Settings, results: Results, say: Say) -> None:
    for what, measure in control.cases(settings.seed, settings.rounds):
        _watched(what)
        results.control.append(measure())
    say("\n" + tables.control_table(results.control))


def _watched(what: str) -> None:
    """Say what is going on when somebody watches."""
    if sys.stderr.isatty():
        print(f"measuring {what} ...", file=sys.stderr)
