"""Where samples come from: arrays, a log, a trajectory, a file, or chunks one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NotApplicableError, OptionError, ShapeError, StateError
from sixfold.evaluate import in_order
from sixfold.identification.data.log import Chunk, Log
from sixfold.identification.data.record_checks import cleaned
from sixfold.identification.data.signals import complete
from sixfold.identification.findings import DataFinding
from sixfold.model import Model
from sixfold.simulation import Trajectory

ROWS = 65_536
"""Samples that are read at a time from arrays that are not in memory."""
CUTOFF = 10.0
"""Cut-off frequency of the filter [Hz] where velocities or accelerations are made."""


LogInput = ArrayLike | Log | Trajectory | str | os.PathLike[str] | Iterable[Any]
"""Positions, a record, the path of a file, or an iterable of chunks."""


@dataclass(frozen=True, eq=False)
class Source:
    """Samples with velocities and accelerations, in pieces."""

    chunks: Callable[[], Iterator[Chunk]]
    again: bool
    """Whether they can be read twice."""
    forces: bool
    """Whether external forces were measured."""
    total: int | None
    """Number of samples, if it is known before."""
    dt: float | None
    """Time between samples [s], if known."""
    findings: list[DataFinding] = field(default_factory=list)
    filtered: float | None = None
    """Cut-off frequency [Hz] of the filter that was used."""
    logs: tuple[Log, ...] = ()
    """The stretches of a log in memory."""

    def shifted(self, lag: float) -> Source:
        """Return the samples with joint forces that were recorded so much late [s]."""
        if not self.logs or self.dt is None:
            where = "samples that come in chunks or without times"
            raise NotApplicableError("identify: option 'lag'", where, "pass a log with times t=")
        logs = tuple(_shifted(log, lag) for log in self.logs)
        return replace(self, logs=logs, chunks=lambda: (_chunk(log) for log in logs))


def source_of(
    model: Model,
    given: Any,
    arrays: Mapping[str, Any],
    cutoff: float | None,
    columns: Any,
    usual: float | None = None,
) -> Source:
    """Return the samples that the arguments of `identify` stand for.

    Args:
        model: the robot.
        given: the argument `log`.
        arrays: v, a, tau, t and f_ext, as given.
        cutoff: of the filter [Hz], if the user chose one.
        columns: names of columns in a file.
        usual: cut-off frequency [Hz] where velocities or accelerations are made and none is chosen.
    """
    usual = CUTOFF if usual is None else usual
    beside = [name for name, x in arrays.items() if x is not None]
    is_path = isinstance(given, (str, os.PathLike))
    if columns is not None and not is_path:
        where, fix = "a log that is not a file", "leave it out"
        raise NotApplicableError("identify: option 'columns'", where, fix)
    if is_path or isinstance(given, (Log, Trajectory)) or _is_chunks(given):
        if beside:
            where = "a log that holds everything itself"
            raise NotApplicableError(f"identify: argument '{beside[0]}'", where, "leave it out")
        if is_path:
            return _in_memory(model, Log.read(given, model, columns=columns), cutoff, usual)
        if isinstance(given, Trajectory):
            return _in_memory(model, _of_trajectory(given), cutoff, usual)
        if isinstance(given, Log):
            return _in_memory(model, given, cutoff, usual)
        return _in_chunks(model, given, cutoff, usual)
    given = in_order("identify", "q", given, [model.coordinates.q_names])
    rates = model.coordinates.v_names
    names = {"v": rates, "a": rates, "tau": _force_names(model, arrays["tau"])}
    arrays = {
        name: in_order("identify", name, x, [names[name]]) if name in names else x
        for name, x in arrays.items()
    }
    whole = all(arrays[name] is not None for name in ("v", "a", "tau"))
    sliced = hasattr(given, "shape") and hasattr(given, "__getitem__")
    if whole and cutoff is None and sliced and not isinstance(given, np.ndarray):
        return _lazy(model, given, arrays)
    if given is None:
        fix = "pass q, v, a, tau, a Log, a Trajectory or the path of a file"
        raise ArgumentError("identify: argument 'log'", "measured positions", given, fix)
    return _in_memory(model, Log(q=given, **arrays), cutoff, usual)


def _force_names(model: Model, tau: Any) -> Sequence[str]:
    """Return the names of measured joint forces: of all joints, or of those with a motor."""
    coordinates = model.coordinates
    motors = [coordinates.v_names[k] for k in coordinates.actuated]
    shape = getattr(tau, "shape", ())
    return motors if shape and shape[-1] == len(motors) else coordinates.v_names


def _is_chunks(given: Any) -> bool:
    """Return whether this is a sequence or an iterator of chunks, not an array."""
    if isinstance(given, (np.ndarray, Mapping)) or hasattr(given, "shape"):
        return False
    if isinstance(given, (list, tuple)):
        first = given[0] if given else None
        matrices = isinstance(first, tuple) and first and all(np.ndim(x) == 2 for x in first)
        return bool(isinstance(first, (Log, Mapping, Trajectory)) or matrices)
    return isinstance(given, Iterable)


def _of_trajectory(given: Trajectory) -> Log:
    if not given.lead:
        return Log(given.q, given.v, given.a, given.tau, given.t)
    # many starts one after the other: nothing is missing, so that their order does not matter
    rows = [x.reshape(-1, x.shape[-1]) for x in (given.q, given.v, given.a, given.tau)]
    return Log(*rows)


def _in_memory(
    model: Model, log: Log, cutoff: float | None, usual: float, whole: bool = True
) -> Source:
    if not len(log):
        raise StateError("identify", "samples to fit", "none", "give a log that is not empty")
    log, findings = cleaned(model, fitted(model, log), whole)
    missing = [name for name in ("v", "a") if getattr(log, name) is None]
    if (missing or cutoff is not None) and log.times is None:
        words = " and ".join(missing) or "a filter"
        fix = "pass t=, the times of the samples or the time between two, or v and a"
        raise StateError("identify", f"times to make {words} with", "no times", fix)
    if missing and cutoff is None:
        cutoff = usual
    dt = None
    times = log.times
    if times is not None and len(times) > 1:
        dt = float(np.median(np.diff(times)))
        if not dt > 0:
            fix = "give times in seconds that grow, or the time between two samples"
            raise StateError("identify: argument 't'", "growing times", times[:3], fix)
    if cutoff is not None and dt is not None and not cutoff < 0.5 / dt:
        words = f"a frequency below {0.5 / dt:.4g} Hz, half that of the samples"
        if dt >= 0.5:
            fix = "divide t by 1e3 if it is in ms (1e6: us, 1e9: ns), or record faster"
            got = f"samples that are {dt:.4g} s apart"
            raise StateError("identify: argument 't'", "times in seconds", got, fix)
        raise OptionError("identify", "filter", words, cutoff)
    logs = tuple(complete(model, log, cutoff))
    if not sum(map(len, logs)):
        fix = "record longer, raise filter=, or pass v and a"
        got = f"{len(log)} samples, of which the filter's ends leave none"
        raise StateError("identify", "samples to fit", got, fix)

    def chunks() -> Iterator[Chunk]:
        return (_chunk(one) for one in logs)

    forces = log.f_ext is not None
    return Source(chunks, True, forces, sum(map(len, logs)), dt, findings, cutoff, logs)


def _in_chunks(model: Model, given: Iterable[Any], cutoff: float | None, usual: float) -> Source:
    """Return chunks of an iterable; each is a record of its own."""
    again = iter(given) is not given
    findings: list[DataFinding] = []
    start: Iterator[Any] = iter(given)
    try:
        first = next(start)
    except StopIteration:
        fix = "give at least one chunk"
        raise StateError("identify", "chunks of samples", "none", fix) from None
    one = _as_log(first)
    forces = one.f_ext is not None
    filtered = usual if cutoff is None and (one.v is None or one.a is None) else cutoff
    state: dict[str, Any] = {"first": [first], "rest": start}

    def chunks() -> Iterator[Chunk]:
        if state["first"]:
            items: Iterable[Any] = _chained(state["first"], state["rest"])
            state["first"], state["rest"] = [], ()
        elif again:
            items = given
        else:  # pragma: no cover - callers ask `again` first
            raise AssertionError("chunks of an iterator are read once")
        for item in items:
            one = _in_memory(model, _as_log(item), cutoff, usual, whole=False)
            known = {finding.code for finding in findings}
            findings.extend(f for f in one.findings if f.code not in known)
            yield from one.chunks()

    return Source(chunks, again, forces, None, None, findings, filtered)


def _chained(first: list[Any], rest: Iterable[Any]) -> Iterator[Any]:
    yield from first
    yield from rest


def _as_log(item: Any) -> Log:
    if isinstance(item, Log):
        return item
    if isinstance(item, Trajectory):
        return _of_trajectory(item)
    words = "Log objects, mappings with q, v, a, tau, or tuples (q, v, a, tau)"
    if isinstance(item, Mapping):
        try:
            return Log(**item)
        except TypeError as error:
            raise ArgumentError("identify: a chunk", words, item, str(error)) from None
    if isinstance(item, tuple) and len(item) == 4:
        return Log(*item)
    raise ArgumentError("identify: a chunk", words, item, "give each chunk in one of these forms")


def _lazy(model: Model, q: Any, arrays: Mapping[str, Any]) -> Source:
    """Return parts of arrays that are read when they are sliced: Dask, HDF5, Zarr."""
    total = int(q.shape[0])
    sizes = getattr(q, "chunks", None)
    steps = sizes[0] if isinstance(sizes, tuple) and isinstance(sizes[0], tuple) else None
    edges = np.cumsum([0, *steps]) if steps else np.arange(0, total + ROWS, ROWS).clip(max=total)
    findings: list[DataFinding] = []
    names = [name for name in ("v", "a", "tau", "f_ext") if arrays[name] is not None]

    def chunks() -> Iterator[Chunk]:
        for i, j in pairwise(edges):
            parts = {name: np.asarray(arrays[name][i:j], float) for name in names}
            log = Log(q=np.asarray(q[i:j], float), **parts)
            one = _in_memory(model, log, None, CUTOFF, whole=False)
            known = {finding.code for finding in findings}
            findings.extend(f for f in one.findings if f.code not in known)
            yield from one.chunks()

    return Source(chunks, True, arrays["f_ext"] is not None, total, None, findings)


def fitted(model: Model, log: Log) -> Log:
    """Return a log whose arrays fit the model: joint forces for all freedoms, unit quaternions."""
    if log.tau is None:
        fix = "pass tau=, measured joint forces or motor currents"
        raise ArgumentError("identify: argument 'tau'", "joint forces", None, fix)
    motors = list(model.coordinates.actuated)
    tau = log.tau
    if tau.shape[1] == len(motors) < model.nv:
        full = np.zeros((len(log), model.nv))
        full[:, motors] = tau
        tau = full
    sizes = {"q": (log.q, model.nq, "nq"), "v": (log.v, model.nv, "nv")}
    sizes |= {"a": (log.a, model.nv, "nv"), "tau": (tau, model.nv, "nv")}
    for name, (array, size, words) in sizes.items():
        if array is not None and array.shape[1] != size:
            fix = f"give the columns {', '.join(model.coordinates.v_names[:8])}"
            expected = f"(samples, {words}) with {words} = {size}"
            raise ShapeError("identify", name, expected, array.shape, fix)
    if log.f_ext is not None and log.f_ext.shape[1:] != (model.nb, 6):
        expected = f"(samples, nb, 6) with nb = {model.nb}"
        fix = "give a wrench for each body"
        raise ShapeError("identify", "f_ext", expected, log.f_ext.shape, fix)
    q = log.q
    for name, part in model.coordinates.quaternions:
        size = np.linalg.norm(q[:, part], axis=1)
        if np.nanmax(np.abs(size - 1), initial=0.0) > 0.01:
            where, fix = (
                f"identify: quaternion of joint '{name}'",
                "give (x, y, z, w) of length one",
            )
            raise StateError(where, "unit quaternions", f"length {np.nanmax(size):.4g}", fix)
        q = q.copy() if q is log.q else q
        q[:, part] /= size[:, None]
    return Log(q, log.v, log.a, tau, log.t, log.f_ext)


def _chunk(log: Log) -> Chunk:
    arrays = (log.q, log.v, log.a, log.tau, log.f_ext)
    return tuple(x for x in arrays if x is not None)


def _shifted(log: Log, lag: float) -> Log:
    """Return a stretch in which the force recorded at t stands beside the motion at t - lag.

    The motion is smooth and may be interpolated; torques would lose some of their noise.
    """
    t, tau = log.times, log.tau
    assert t is not None
    assert tau is not None
    inside = (t - lag >= t[0]) & (t - lag <= t[-1])
    then = t[inside] - lag

    def at(x: Array | None) -> Array | None:
        if x is None:
            return None
        rows = [np.interp(then, t, column) for column in x.reshape(len(x), -1).T]
        return np.stack(rows, axis=-1).reshape(len(then), *x.shape[1:])

    return Log(at(log.q), at(log.v), at(log.a), tau[inside], t[inside], at(log.f_ext))  # type: ignore[arg-type]
