"""Trajectories as tables and labelled arrays of other libraries."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.files import path_of, replacement
from sixfold.model import Model
from sixfold.optional import optional


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
