"""Trajectories on disk: the whole of one as `.npz`, plain arrays and never a pickle, or a table."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, TrajectoryFileError
from sixfold.evaluate import model_checked
from sixfold.files import path_of, replacement
from sixfold.formats.files import MAX_BYTES
from sixfold.formats.json_model import read_json, to_json
from sixfold.model import Model
from sixfold.simulation.events import Crossing
from sixfold.simulation.mcap.log import McapLog
from sixfold.simulation.trajectory.npz import allowed_bytes, first_line, read_arrays
from sixfold.simulation.trajectory.tables import to_csv, to_parquet

FORMAT = "sixfold trajectory 1"
ALONG = ("q", "v", "a", "tau", "kinetic", "potential")
"""The arrays of a trajectory that have a time axis, `t` apart."""
TOUCH = {
    "contact_forces": (3,),
    "contact_points": (3,),
    "contact_normals": (3,),
    "contact_gaps": (),
}
"""What is recorded of each contact, with its shape; after the axis of contacts."""
CONTACTS = (*TOUCH, "contact_friction")
"""All arrays of contacts."""


def save(trajectory: Any, path: str | os.PathLike[str]) -> None:
    """Write a trajectory in the format of the path's suffix."""
    target = path_of("Trajectory.save", path, "run.npz")
    suffix = target.suffix.lower()
    if suffix not in WRITERS:
        fix = f"name the file *{', *'.join(WRITERS)}"
        raise TrajectoryFileError(target, f"no format has the suffix '{suffix}'", fix)
    WRITERS[suffix](trajectory, target)


def _save_npz(trajectory: Any, target: Path) -> None:
    """Write a trajectory, its model and its notes; the file is replaced atomically."""
    arrays = {name: getattr(trajectory, name) for name in ("t", *ALONG)}
    for name in ("x", *CONTACTS):
        if getattr(trajectory, name) is not None:
            arrays[name] = getattr(trajectory, name)
    for k, event in enumerate(trajectory.events):
        after = () if event.q_after is None else (event.q_after, event.v_after)
        arrays[f"event{k}"] = np.concatenate([[event.t], event.q, event.v, *after])
    about = {
        "format": FORMAT,
        "model": trajectory.model.name,
        "digest": trajectory.model.digest,
        "integrator": trajectory.integrator,
        "dt": trajectory.dt,
        "steps": trajectory.steps,
        "elapsed": trajectory.elapsed,
        "contact_residual": trajectory.contact_residual,
        "events": [event.name for event in trajectory.events],
        "notes": list(trajectory.notes),
    }
    # bytes, not text arrays: NumPy would store four bytes for each character
    arrays["about"] = _bytes(json.dumps(about))
    # joints of the user's own classes are code: load then needs the model as an argument
    with suppress(NotApplicableError):
        arrays["model"] = _bytes(to_json(trajectory.model))
    with replacement(target) as part:
        with open(part, "wb") as stream:
            np.savez_compressed(stream, **arrays)
        # a motion at rest comes out so small that it would not be read again
        if sum(x.nbytes for x in arrays.values()) > allowed_bytes(part.stat().st_size):
            with open(part, "wb") as stream:
                np.savez(stream, **arrays)


def _save_mcap(trajectory: Any, target: Path) -> None:
    """Write a motion of one start as messages, for Foxglove and ROS 2."""
    if trajectory.lead:
        where = f"a motion of {int(np.prod(trajectory.lead))} starts"
        fix = "save one of them: trajectory.select(0).save(path)"
        raise NotApplicableError("Trajectory.save as .mcap", where, fix)
    with _WholeLog(target, trajectory.model) as log:
        log.write(trajectory.t, trajectory.q, trajectory.v, trajectory.tau)


class _WholeLog(McapLog):
    """A log of a motion that is still there: no part of it is worth keeping."""

    _keeps_part = False


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".npz": _save_npz,
    ".csv": to_csv,
    ".parquet": to_parquet,
    ".mcap": _save_mcap,
}
"""How to write a trajectory, by the suffix of its file."""


def load(path: str | os.PathLike[str], model: Model | None = None) -> dict[str, Any]:
    """Read the fields of a trajectory, its model among them."""
    source = path_of("Trajectory.load", path, "run.npz")
    if model is not None:
        model_checked("Trajectory.load", model)
    kind = {".csv": "table", ".parquet": "table", ".mcap": "log"}.get(source.suffix.lower())
    if kind is not None:
        what = f"is a {kind}, which holds neither the model nor the notes of a motion"
        raise TrajectoryFileError(source, what, "save the motion as .npz and load that file")
    if source.suffix.lower() != ".npz":
        what = f"no motion is kept in files with the suffix '{source.suffix}'"
        raise TrajectoryFileError(source, what, "give an .npz file that Trajectory.save wrote")
    data = read_arrays(source)
    fix = "write it with Trajectory.save"
    # whatever a damaged file makes its readers raise, it is one error to the caller
    try:
        about = json.loads(_text(data["about"]))
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise TrajectoryFileError(source, f"is not of the form '{FORMAT}'", fix)
        if model is None:
            model = _model(source, data)
        if model.digest != about["digest"]:
            what = f"holds a motion of another model, '{about['model']}'"
            raise TrajectoryFileError(source, what, "pass the model it was made with")
        fields: dict[str, Any] = {
            "model": model,
            **{name: _numbers(data, name) for name in ("t", *ALONG)},
            "integrator": str(about["integrator"]),
            "dt": float(about["dt"]),
            "steps": int(about["steps"]),
            "elapsed": float(about["elapsed"]),
            "contact_residual": float(about.get("contact_residual", 0.0)),
            "events": _crossings(model, about["events"], data),
            "notes": tuple(map(str, about["notes"])),
            **{name: _numbers(data, name) if name in data else None for name in ("x", *CONTACTS)},
        }
    except TrajectoryFileError:
        raise
    except KeyError as error:
        raise TrajectoryFileError(source, f"has no entry {error}", fix) from None
    except Exception as error:
        raise TrajectoryFileError(
            source, f"cannot be understood ({first_line(error)})", fix
        ) from None
    _check_shapes(source, model, fields)
    return fields


def _numbers(data: dict[str, Array], name: str) -> Array:
    array = data[name]
    if array.dtype.kind not in "fiu":
        raise TypeError(f"array '{name}' is of type {array.dtype}")
    return np.asarray(array, float)


def _model(source: Path, data: dict[str, Array]) -> Model:
    if "model" not in data:
        what = "holds no model: it has joints of the user's own making"
        raise TrajectoryFileError(source, what, "pass model= to Trajectory.load")
    return read_json(_text(data["model"]), f"{source}:model")


def _text(array: Array) -> bytes:
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > MAX_BYTES:
        raise ValueError(f"a text of shape {array.shape} and type {array.dtype}")
    return array.tobytes()


def _crossings(model: Model, names: list[str], data: dict[str, Array]) -> tuple[Crossing, ...]:
    rows = [_numbers(data, f"event{k}") for k in range(len(names))]
    n, size = model.nq, model.nq + model.nv
    if any(row.shape not in ((1 + size,), (1 + 2 * size,)) for row in rows):
        raise ValueError("an event has another size than the model's state")

    def parts(row: Array) -> list[Array]:
        """Return q and v before, and after a reset if there was one."""
        states = [row[k : k + size] for k in range(1, len(row), size)]
        return [part for state in states for part in (state[:n], state[n:])]

    return tuple(
        Crossing(str(name), float(row[0]), *parts(row))
        for name, row in zip(names, rows, strict=True)
    )


def shapes(
    model: Model, t: Array, q: Array, x: Array | None = None, gaps: Array | None = None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes that the arrays of a trajectory have.

    Args:
        model: the robot.
        t: the times.
        q: the positions.
        x: the states of the controller, if it has some.
        gaps: of the contacts, if there are some.
    """
    n, lead = t.size, q.shape[:-2]
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
    along = {name: (*lead, n, sizes[name]) if name in sizes else (*lead, n) for name in ALONG}
    if x is not None:
        along["x"] = (*lead, n, *x.shape[-1:])
    if gaps is not None:
        along |= {name: (*lead, n, *gaps.shape[-1:], *core) for name, core in TOUCH.items()}
        along["contact_friction"] = gaps.shape[-1:]
    return {"t": (n,), **along}


def _check_shapes(source: Path, model: Model, fields: dict[str, Any]) -> None:
    """Refuse arrays whose shapes do not fit each other and the model."""
    right = shapes(model, fields["t"], fields["q"], fields["x"], fields["contact_gaps"])
    for name, expected in right.items():
        got = np.shape(fields[name])
        if got != expected:
            what = f"array '{name}' has shape {got} where {expected} belongs"
            raise TrajectoryFileError(source, what, "write it with Trajectory.save")


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode("utf-8"), np.uint8)
