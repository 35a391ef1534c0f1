"""What is plotted over time: groups of lines with names and units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sixfold.errors import visible
from sixfold.evaluate import constrained_dynamics, difference, kinetic_energy, potential_energy
from sixfold.model import Model
from sixfold.report.encode import base64_of
from sixfold.scene import Record
from sixfold.scene.colors import SERIES
from sixfold.scene.triangles import Array

POINTS = 1000
"""Most points of a line; longer ones keep the lowest and highest value of each stretch."""
NUMBERS = 90_000
"""Most numbers of all lines of a plot."""
CHANGE = "Change of total energy"
ENERGY_COLORS = ("#e2622f", "#2f6fde", "#3c4856")


@dataclass(frozen=True, eq=False)
class Lines:
    """One plot: values (T, n) over the times of a record."""

    title: str
    unit: str
    names: tuple[str, ...]
    values: Array
    colors: tuple[str, ...] = SERIES


def groups(record: Record) -> list[Lines]:
    """Return the plots of a motion, as far as they are known.

    They are q, v, tau, forces of contacts and constraints, and energies.
    """
    model = record.model
    found = [Lines("Positions", _unit(model, "rad", "m"), names(model, "nq"), record.q[0])]
    v = velocities(record)
    if v is not None:
        found.append(Lines("Velocities", _unit(model, "rad/s", "m/s"), names(model, "nv"), v))
    if "tau" in record.given:
        unit = _unit(model, "N m", "N")
        found.append(Lines("Joint forces", unit, names(model, "nv"), record.given["tau"]))
    found += contact_forces(record) + constraint_forces(record)
    parts = energies(record)
    if parts is not None:
        rows = np.stack([parts["kinetic"], parts["potential"], parts["total"]], axis=1)
        found.append(Lines("Energy", "J", ("kinetic", "potential", "total"), rows, ENERGY_COLORS))
        change = (parts["total"] - parts["total"][0])[:, None]
        found.append(Lines(CHANGE, "J", ("",), change, ENERGY_COLORS[2:]))
    return found


def contact_forces(record: Record) -> list[Lines]:
    """Return the plot of the contact forces: along the normals, or their norms without normals."""
    given = record.given
    if "contact_forces" not in given:
        return []
    forces = given["contact_forces"]
    labels = tuple(f"contact {k}" for k in range(forces.shape[1]))
    if "contact_normals" in given:
        along = (forces * given["contact_normals"]).sum(axis=-1)
        return [Lines("Contact forces, normal", "N", labels, along)]
    return [Lines("Contact forces", "N", labels, np.linalg.norm(forces, axis=-1))]


def constraint_forces(record: Record) -> list[Lines]:
    """Return the plot of the force of each constraint row.

    They follow from q, v and tau, so all three must be known.  What contacts do to them is not
    recorded: a motion with contacts has no such plot.
    """
    model, given = record.model, record.given
    if not model.constraints or not {"v", "tau"} <= given.keys() or "contact_forces" in given:
        return []
    _, forces = constrained_dynamics(model, record.q[0], given["v"], given["tau"])
    labels = tuple(map(visible, model.constraint_rows))
    return [Lines("Constraint forces", "N or N m", labels, forces)]


def velocities(record: Record) -> Array | None:
    """Return velocities (T, nv): those given, or the mean ones between rows."""
    if "v" in record.given:
        return record.given["v"]
    if len(record.t) < 2:
        return None
    q = record.q[0]
    before, after = np.r_[0, 0 : len(q) - 1], np.r_[1 : len(q), len(q) - 1]
    step = difference(record.model, q[before], q[after])
    return step / (record.t[after] - record.t[before])[:, None]


def energies(record: Record) -> dict[str, Array] | None:
    """Return kinetic, potential and total energy (T,), given or computed; None without v."""
    given = record.given
    if "v" not in given and "kinetic" not in given:
        return None
    q = record.q[0]
    kinetic = (
        given["kinetic"] if "kinetic" in given else kinetic_energy(record.model, q, given["v"])
    )
    potential = given["potential"] if "potential" in given else potential_energy(record.model, q)
    total = given.get("total", kinetic + potential)
    return {"kinetic": kinetic, "potential": potential, "total": total}


def names(model: Model, size: str) -> tuple[str, ...]:
    """Return a name for each coordinate of q (nq) or v (nv)."""
    coordinates = model.coordinates
    return tuple(map(visible, coordinates.q_names if size == "nq" else coordinates.v_names))


def _unit(model: Model, turning: str, sliding: str) -> str:
    kinds = {body.joint.kind for body in model.bodies}
    if kinds <= {"revolute", "universal", "spherical"}:
        return turning
    return sliding if kinds <= {"prismatic", "translational"} else f"{turning} or {sliding}"


def plot_data(lines: Lines, t: Array) -> dict[str, Any]:
    """Return one plot as plain data."""
    count = lines.values.shape[1]
    times, values = stretched(t, lines.values, min(POINTS, max(200, NUMBERS // max(count, 1))))
    return {
        "title": lines.title,
        "unit": lines.unit,
        "names": list(lines.names),
        "colors": list(lines.colors),
        "t": base64_of(times, "<f4"),
        "values": base64_of(values.T, "<f4"),
    }


def stretched(t: Array, values: Array, most: int) -> tuple[Array, Array]:
    """Return at most so many rows of (T, n): the extremes of each stretch, in their order."""
    if len(t) <= most:
        return t, values
    edges = np.linspace(0, len(t), most // 2 + 1).round().astype(int)
    times = np.empty(2 * (len(edges) - 1))
    rows = np.empty((len(times), values.shape[1]))
    column = np.arange(values.shape[1])
    for k, (start, stop) in enumerate(pairwise(edges)):
        stretch = values[start:stop]
        first, last = np.sort([stretch.argmin(axis=0), stretch.argmax(axis=0)], axis=0)
        rows[2 * k], rows[2 * k + 1] = stretch[first, column], stretch[last, column]
        times[2 * k], times[2 * k + 1] = t[start], t[stop - 1]
    # the ends themselves, so that start and finish read true
    rows[0], rows[-1] = values[0], values[-1]
    return times, rows
