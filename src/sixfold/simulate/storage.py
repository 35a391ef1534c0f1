"""Trajectories on disk: one `.npz` file of plain arrays, never a pickle."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError, NumberError, SixfoldError, TrajectoryFileError
from sixfold.evaluate.arrays import Array
from sixfold.formats.json_in import read_json
from sixfold.formats.json_out import to_json
from sixfold.model import Model
from sixfold.simulate.events import Crossing

FORMAT = "sixfold trajectory 1"
ALONG = ("q", "v", "a", "tau", "kinetic", "potential")
"""The arrays of a trajectory that have a time axis, `t` apart."""

DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    AttributeError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy raises on files that are not what they seem."""


def save(trajectory: Any, path: str | os.PathLike[str]) -> None:
    """Write a trajectory, its model and its notes; the file appears at once or not at all."""
    target = _path("Trajectory.save", path)
    arrays = {name: getattr(trajectory, name) for name in ("t", *ALONG)}
    if trajectory.x is not None:
        arrays["x"] = trajectory.x
    for k, event in enumerate(trajectory.events):
        arrays[f"event{k}"] = np.concatenate([[event.t], event.q, event.v])
    about = {
        "format": FORMAT,
        "model": trajectory.model.name,
        "digest": trajectory.model.digest,
        "integrator": trajectory.integrator,
        "dt": trajectory.dt,
        "steps": trajectory.steps,
        "elapsed": trajectory.elapsed,
        "events": [event.name for event in trajectory.events],
        "notes": list(trajectory.notes),
    }
    # bytes, not text arrays: NumPy would store four bytes for each character
    arrays["about"] = _bytes(json.dumps(about))
    # joints of the user's own making are code: load then needs the model beside the file
    with suppress(NotApplicableError):
        arrays["model"] = _bytes(to_json(trajectory.model))
    part = target.with_name(target.name + ".part")
    try:
        with open(part, "wb") as stream:
            np.savez_compressed(stream, **arrays)
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        fix = "choose a folder that exists and can be written"
        raise TrajectoryFileError(target, f"cannot be written ({error})", fix) from None


def load(path: str | os.PathLike[str], model: Model | None = None) -> dict[str, Any]:
    """Read the fields of a trajectory, its model among them."""
    source = _path("Trajectory.load", path)
    data = _read(source)
    fix = "write it with Trajectory.save"
    try:
        about = json.loads(bytes(data["about"]))
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise TrajectoryFileError(source, f"is not of the form '{FORMAT}'", fix)
        if model is None:
            model = _model(source, data)
        if model.digest != about["digest"]:
            what = f"holds a motion of another model, '{about['model']}'"
            raise TrajectoryFileError(source, what, "pass the model it was made with")
        fields: dict[str, Any] = {
            "model": model,
            **{name: np.asarray(data[name], float) for name in ("t", *ALONG)},
            "integrator": str(about["integrator"]),
            "dt": float(about["dt"]),
            "steps": int(about["steps"]),
            "elapsed": float(about["elapsed"]),
            "events": _crossings(model, about["events"], data),
            "notes": tuple(map(str, about["notes"])),
            "x": np.asarray(data["x"], float) if "x" in data else None,
        }
    except SixfoldError:
        raise
    except KeyError as error:
        raise TrajectoryFileError(source, f"has no entry {error}", fix) from None
    except (ValueError, TypeError) as error:
        raise TrajectoryFileError(source, f"cannot be understood ({error})", fix) from None
    _check_shapes(source, model, fields)
    return fields


def _read(source: Path) -> dict[str, Array]:
    fix = "give the path of a file that Trajectory.save wrote"
    try:
        with np.load(source, allow_pickle=False) as stored:
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise TrajectoryFileError(source, "is not an npz file", fix)
            return {name: stored[name] for name in stored.files}
    except TrajectoryFileError:
        raise
    except DAMAGED as error:
        raise TrajectoryFileError(source, f"cannot be read ({error})", fix) from None


def _model(source: Path, data: dict[str, Array]) -> Model:
    if "model" not in data:
        what = "holds no model: it has joints of the user's own making"
        raise TrajectoryFileError(source, what, "pass model= to Trajectory.load")
    return read_json(bytes(data["model"]), f"{source}:model")


def _crossings(model: Model, names: list[str], data: dict[str, Array]) -> tuple[Crossing, ...]:
    rows = [data[f"event{k}"] for k in range(len(names))]
    n = model.nq
    return tuple(
        Crossing(str(name), float(row[0]), row[1 : 1 + n], row[1 + n :])
        for name, row in zip(names, rows, strict=True)
    )


def _check_shapes(source: Path, model: Model, fields: dict[str, Any]) -> None:
    """Refuse arrays whose shapes do not fit each other and the model."""
    n, lead = fields["t"].size, fields["q"].shape[:-2]
    sizes = {"q": model.nq, "v": model.nv, "a": model.nv, "tau": model.nv}
    shapes = {name: (*lead, n, sizes[name]) if name in sizes else (*lead, n) for name in ALONG}
    if fields["x"] is not None:
        shapes["x"] = (*lead, n, *fields["x"].shape[-1:])
    for name, expected in {"t": (n,), **shapes}.items():
        got = fields[name].shape
        if got != expected:
            what = f"array '{name}' has shape {got} where {expected} belongs"
            raise TrajectoryFileError(source, what, "write it with Trajectory.save")


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode("utf-8"), np.uint8)


def _path(function: str, path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        fix = 'pass a path such as "run.npz"'
        raise NumberError(f"{function}: argument 'path'", "a path", repr(path), fix)
    return Path(path)
