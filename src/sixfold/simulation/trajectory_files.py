"""Trajectories in files: `.npz` with everything, and tables for other programs."""

from __future__ import annotations

import csv
import json
import math
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, TrajectoryFileError
from sixfold.files import open_regular, path_of, replacement
from sixfold.formats.files import MAX_BYTES
from sixfold.formats.json_model import read_json, to_json
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import require_model
from sixfold.simulation.events import Crossing
from sixfold.simulation.mcap import McapLog

SMALL = 128 * 2**20  #: Bytes of arrays that a file of any size may hold.
RATIO = 20  #: How many times its own size the arrays of a file may take beyond that.
MAX_MEMBERS = 100_000


def allowed_bytes(file_size: int) -> int:
    """Return how many bytes the arrays of a file of a size may take.

    Zeros are compressed to a thousandth: without a bound, a file of some MiB fills the memory.
    `Trajectory.save` does not compress what would come out smaller.
    """
    return max(SMALL, RATIO * file_size)


def read_arrays(source: Path) -> dict[str, Array]:
    """Return the arrays of an `.npz` file; nothing in it is run.

    Raises:
        TrajectoryFileError: if the file is damaged or of another kind.
    """
    fix = "give the path of a file that Trajectory.save wrote"
    try:
        with open_regular(source) as stream:
            return _arrays(stream)
    except _UnsuitableError as error:
        raise TrajectoryFileError(source, str(error), error.fix or fix) from None
    except OSError as error:
        what = f"cannot be read ({error.strerror or error})"
        raise TrajectoryFileError(source, what, fix) from None
    except Exception as error:
        # NumPy, zipfile, zlib, the tokenizer and the parser of headers all have errors of their own
        raise TrajectoryFileError(source, f"cannot be read ({first_line(error)})", fix) from None


def first_line(error: Exception) -> str:
    """Return the first line of a message, or the kind of the error if it is empty."""
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__


class _UnsuitableError(Exception):
    """A file that is sound but not one of arrays."""

    fix = ""


def _arrays(stream: BinaryIO) -> dict[str, Array]:
    if not zipfile.is_zipfile(stream):
        raise _UnsuitableError("is not an npz file")
    size = stream.seek(0, 2)
    with zipfile.ZipFile(stream) as archive:
        # sizes by the headers first: nothing is unpacked before they fit the bound
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        if len(members) > MAX_MEMBERS:
            raise _UnsuitableError(f"holds {len(members):,} arrays, over {MAX_MEMBERS:,}")
        names = [m.filename.removesuffix(".npy") for m in members]
        if len(set(names)) < len(names):
            raise _UnsuitableError("holds two arrays of the same name")
        needed = sum(_checked_bytes(archive, member) for member in members)
        if needed > allowed_bytes(size):
            what = f"holds {needed / 2**20:,.0f} MiB of arrays in {size / 2**20:,.1f} MiB"
            error = _UnsuitableError(f"{what}: more than {RATIO} times its size is not read")
            error.fix = "if you trust it, save it without compression: numpy.savez"
            raise error
        found = {}
        for name, member in zip(names, members, strict=True):
            with archive.open(member) as entry:
                found[name] = np.lib.format.read_array(entry, allow_pickle=False)
        return found


def _checked_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Return the bytes of an array by its header, which has to agree with the archive's table."""
    # other methods could ask for dictionaries of some GiB; NumPy writes these two
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _UnsuitableError(f"'{member.filename}' is compressed in an unusual way")
    form = np.lib.format
    with archive.open(member) as entry:
        version = form.read_magic(entry)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if read is None:
            raise _UnsuitableError(f"'{member.filename}' has the version {version} of its format")
        shape, _, dtype = read(entry)
        header = entry.tell()
    if dtype.hasobject:
        raise _UnsuitableError(f"'{member.filename}' holds Python objects, which are not read")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or header + size != member.file_size:
        raise _UnsuitableError(f"'{member.filename}' is not as long as its header says")
    return size


def labels(model: Model, size: str) -> list[str]:
    """Return a name for each coordinate of q or v."""
    coordinates = model.coordinates
    return list(coordinates.q_names if size == "nq" else coordinates.v_names)


def columns(trajectory: Any) -> dict[str, Array]:
    """Return a long table: one row for each start and sample, a column for each number."""
    count = int(np.prod(trajectory.lead))
    n = len(trajectory)
    table: dict[str, Array] = {}
    if trajectory.lead:
        table["start"] = np.repeat(np.arange(count), n)
    table["t"] = np.tile(trajectory.t, count)
    for name, size in (("q", "nq"), ("v", "nv"), ("a", "nv"), ("tau", "nv")):
        array = getattr(trajectory, name).reshape(count * n, -1)
        for k, label in enumerate(labels(trajectory.model, size)):
            table[f"{name}[{label}]"] = array[:, k]
    if trajectory.x is not None:
        states = trajectory.x.reshape(count * n, -1)
        table |= {f"x[{k}]": states[:, k] for k in range(states.shape[1])}
    if trajectory.contact_gaps is not None:
        gaps = trajectory.contact_gaps.reshape(count * n, -1)
        forces = trajectory.contact_forces.reshape(count * n, -1, 3)
        points = trajectory.contact_points.reshape(count * n, -1, 3)
        normals = trajectory.contact_normals.reshape(count * n, -1, 3)
        for k in range(gaps.shape[1]):
            table[f"contact_gap[{k}]"] = gaps[:, k]
            for m, axis in enumerate("xyz"):
                table[f"contact_force[{k}].{axis}"] = forces[:, k, m]
                table[f"contact_point[{k}].{axis}"] = points[:, k, m]
                table[f"contact_normal[{k}].{axis}"] = normals[:, k, m]
    for name in ("kinetic", "potential", "total"):
        table[name] = getattr(trajectory, name).reshape(-1)
    return table


def to_parquet(trajectory: Any, path: str | os.PathLike[str]) -> None:
    """Write the long table to a Parquet file."""
    arrow = optional("pyarrow", "Trajectory.to_parquet")
    parquet = optional("pyarrow.parquet", "Trajectory.to_parquet")
    target = path_of("Trajectory.to_parquet", path, "run.parquet")
    table = arrow.table(columns(trajectory))
    table = table.replace_schema_metadata({"model": trajectory.model.name, "units": "SI"})
    with replacement(target) as part:
        parquet.write_table(table, os.fspath(part))


def to_csv(trajectory: Any, path: str | os.PathLike[str]) -> None:
    """Write the long table as text, a line of names first; numbers read back as they were."""
    target = path_of("Trajectory.to_csv", path, "run.csv")
    table = columns(trajectory)
    with replacement(target) as part, open(part, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(table)
        # in chunks: Python's numbers take several times the memory of NumPy's
        for start in range(0, len(table["t"]), 10_000):
            part_of = [column[start : start + 10_000].tolist() for column in table.values()]
            writer.writerows(zip(*part_of, strict=True))


def to_xarray(trajectory: Any) -> Any:
    """Return a Dataset; the axes of a batch are start, start1, start2..."""
    xarray = optional("xarray", "Trajectory.to_xarray")
    lead = [f"start{k or ''}" for k in range(len(trajectory.lead))]
    names = {"q": "q_coordinate", "v": "v_coordinate", "a": "v_coordinate", "tau": "v_coordinate"}
    variables = {name: ((*lead, "time", names[name]), getattr(trajectory, name)) for name in names}
    if trajectory.x is not None:
        variables["x"] = ((*lead, "time", "x_coordinate"), trajectory.x)
    if trajectory.contact_gaps is not None:
        across = (*lead, "time", "contact")
        variables["contact_gaps"] = (across, trajectory.contact_gaps)
        variables["contact_friction"] = (("contact",), trajectory.contact_friction)
        for name in ("contact_forces", "contact_points", "contact_normals"):
            variables[name] = ((*across, "axis"), getattr(trajectory, name))
    for name in ("kinetic", "potential", "total"):
        variables[name] = ((*lead, "time"), getattr(trajectory, name))
    places = {
        "time": trajectory.t,
        "q_coordinate": labels(trajectory.model, "nq"),
        "v_coordinate": labels(trajectory.model, "nv"),
    }
    about = {"model": trajectory.model.name, "integrator": trajectory.integrator}
    return xarray.Dataset(variables, places, {**about, "dt": trajectory.dt})


FORMAT = "sixfold trajectory 1"
#: The arrays of a trajectory that have a time axis, `t` apart.
ALONG = ("q", "v", "a", "tau", "kinetic", "potential")
#: What is recorded of each contact, with its shape; after the axis of contacts.
TOUCH = {
    "contact_forces": (3,),
    "contact_points": (3,),
    "contact_normals": (3,),
    "contact_gaps": (),
}
CONTACTS = (*TOUCH, "contact_friction")  #: All arrays of contacts.


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


#: How to write a trajectory, by the suffix of its file.
WRITERS: dict[str, Callable[[Any, Path], None]] = {
    ".npz": _save_npz,
    ".csv": to_csv,
    ".parquet": to_parquet,
    ".mcap": _save_mcap,
}


def load(path: str | os.PathLike[str], model: Model | None = None) -> dict[str, Any]:
    """Read the fields of a trajectory, its model among them."""
    source = path_of("Trajectory.load", path, "run.npz")
    if model is not None:
        require_model("Trajectory.load", model)
    kind = {".csv": "table", ".parquet": "table", ".mcap": "log"}.get(source.suffix.lower())
    if kind is not None:
        what = f"is a {kind}, which holds neither the model nor the notes of a motion"
        raise TrajectoryFileError(source, what, "save the motion as .npz and load that file")
    if source.suffix.lower() != ".npz":
        what = f"no motion is kept in files with the suffix '{source.suffix}'"
        raise TrajectoryFileError(source, what, "give an .npz file that Trajectory.save wrote")
    data = read_arrays(source)
    fix = "write it with Trajectory.save"
    # readers raise many kinds of errors for damaged files; callers get one
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
