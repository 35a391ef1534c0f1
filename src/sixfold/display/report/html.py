"""A motion or an identification as one HTML file."""

from __future__ import annotations

import base64
import json
import os
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.choices import MotionInput
from sixfold.display.scene.figure import (
    Figure,
    figure,
    force_arrows,
    quaternions,
    stage,
    usual_force,
)
from sixfold.display.scene.record import Record, record
from sixfold.display.scene.surfaces import CONTACT, SERIES, Array, Part, revolve, sphere
from sixfold.errors import OptionError, visible
from sixfold.files import path_of, write_files
from sixfold.identification.identification import (
    Identification,
    findings_list,
    joints_table,
    parameters_table,
)
from sixfold.model import Model
from sixfold.quantities.configurations import difference
from sixfold.quantities.constraints import constrained_dynamics
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.quantities.kinematics import body_poses
from sixfold.runtime import require_model
from sixfold.show import keep_extremes

STEPS = 65535  #: Largest whole number of two bytes.


def base64_of(values: Array, kind: str) -> str:
    """Return the bytes of an array as text; kind is a little-endian NumPy type such as '<f4'."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def ranges(values: Array) -> tuple[Array, Array]:
    """Return the lowest value of each of the last axis' columns, and a step that spans it."""
    flat = values.reshape(-1, values.shape[-1])
    low = flat.min(axis=0)
    return low, np.maximum(flat.max(axis=0) - low, 1e-12) / STEPS


def whole(values: Array, low: Array, step: Array) -> Array:
    """Return values as whole numbers of steps above low."""
    return np.clip(np.round((values - low) / step), 0, STEPS)


def json_text(data: Any) -> str:
    """Return data as JSON that may stand inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


#: Most points of a line; longer ones keep the lowest and highest value of each stretch.
POINTS = 1000
NUMBERS = 90_000  #: Most numbers of all lines of a plot.
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
    # what is known decides which plots there are
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
        # the part along the normal shows lift-off and impacts best
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
    # multipliers of all rows at once
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
    # central differences along the joints, one-sided at the ends
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
    # one unit if all joints turn, or all slide
    kinds = {body.joint.kind for body in model.bodies}
    if kinds <= {"revolute", "universal", "spherical"}:
        return turning
    return sliding if kinds <= {"prismatic", "translational"} else f"{turning} or {sliding}"


def plot_data(lines: Lines, t: Array) -> dict[str, Any]:
    """Return one plot as plain data."""
    count = lines.values.shape[1]
    times, values = keep_extremes(t, lines.values, min(POINTS, max(200, NUMBERS // max(count, 1))))
    return {
        "title": lines.title,
        "unit": lines.unit,
        "names": list(lines.names),
        "colors": list(lines.colors),
        "t": base64_of(times, "<f4"),
        "values": base64_of(values.T, "<f4"),
    }


FRAMES = 900  #: Most frames of an animation; the page draws what lies between them.
MAX_SCENE_NUMBERS = 160_000  #: Most numbers that describe all poses.
FASTEST = 60.0  #: Frames a second that are enough for the eye.


def scene_data(record: Record, figure: Figure) -> dict[str, Any]:
    """Return the scene of a motion as plain data."""
    model = record.model
    count = record.given["contact_gaps"].shape[1] if record.has_contacts else 0
    # position and quaternion of each body, start and end of each arrow
    numbers_a_frame = 7 * max(model.nb, 1) + 6 * count
    wanted = int(min(FRAMES, MAX_SCENE_NUMBERS // numbers_a_frame, record.duration * FASTEST + 2))
    rows = record.rows(max(wanted, 2))
    q = record.q[0, rows]
    poses = body_poses(model, q)
    # the frame of the picture holds the robot at some sixty moments
    some = q[:: max(1, len(q) // 60)]
    place = stage(model, figure.parts, some, follow=True, contacts=record.touch_points())
    # numbers of two bytes: positions within their range, quaternions within [-1, 1]
    positions, turns = poses[..., :3, 3], quaternions(poses[..., :3, :3])
    low, step = ranges(positions)
    numbers = np.concatenate([whole(positions, low, step), np.round((turns + 1) / 2 * STEPS)], -1)
    return {
        "up": place.up.tolist(),
        "turn": place.turn.reshape(-1).tolist(),
        "center": place.center.tolist(),
        "radius": place.radius,
        "ground": place.ground,
        "eye": place.eye.tolist(),
        "follows": place.follows,
        "nb": model.nb,
        "times": base64_of(record.t[rows], "<f4"),
        "low": low.tolist(),
        "step": step.tolist(),
        "poses": base64_of(numbers, "<u2"),
        "parts": [_part(part) for part in figure.parts],
        "contacts": _contacts(record, rows, figure.size) if count else None,
    }


def _contacts(record: Record, rows: Array, size: float) -> dict[str, Any]:
    """Return where contact forces act at each frame and where their arrows end."""
    forces, points = record.given["contact_forces"], record.given["contact_points"]
    # arrows as long as the forces are large; the usual force sets the scale
    usual = usual_force(forces)
    arrows = force_arrows(points[rows], forces[rows], usual, 0.2 * size)
    low, step = ranges(arrows)
    ball = sphere(1.0)
    shaft = revolve([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], 12)
    head = revolve([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], 16)
    return {
        "count": points.shape[1],
        "thin": 0.0045 * size,
        "low": low.tolist(),
        "step": step.tolist(),
        "arrows": base64_of(whole(arrows, low, step), "<u2"),
        "parts": [_part(Part(-1, surface, CONTACT, 1.0)) for surface in (ball, shaft, head)],
    }


def _part(part: Part) -> dict[str, Any]:
    # vertices as whole numbers of two bytes: far shorter than decimal numbers
    low, step = ranges(part.surface.vertices)
    wide = len(part.surface.vertices) > STEPS
    return {
        "body": part.body,
        "color": list(part.color),
        "opacity": part.opacity,
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": base64_of(whole(part.surface.vertices, low, step), "<u2"),
        "faces": base64_of(part.surface.faces, "<u4" if wide else "<u2"),
        "wide": wide,
    }


def summary(record: Record) -> list[tuple[str, str]]:
    """Return the rows of the summary: robot, time, energy, and what the motion notes itself."""
    model = record.model
    mass = sum(float(body.inertia.m) for body in model.bodies)
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    size = f"{model.nb} bodies, {model.nv} degrees of freedom"
    rows = [
        ("Robot", f"{visible(model.name)}: {size}, {mass:.4g} kg"),
        ("Gravity", f"({gravity}) m/s²"),
        ("Duration", f"{record.duration:.6g} s from t = {record.t[0]:g} s"),
        ("Steps", _steps(record)),
        *_energy(record),
    ]
    # the rest of the settings as the motion names them
    said = dict(record.settings)
    step, seconds = said.pop("dt", None), said.pop("elapsed", None)
    said.pop("steps", None)
    rows += [(_text(name).replace("_", " ").capitalize(), _text(x)) for name, x in said.items()]
    if isinstance(step, float):
        rows.append(("Time step", f"{step:.6g} s"))
    if isinstance(seconds, float) and seconds > 0:
        speed = f"{record.duration / seconds:,.1f}".replace(",", "\u202f")
        rows.append(("Computed in", f"{seconds:.3g} s, {speed} times real time"))
    rows += [("Note", visible(note)) for note in record.notes]
    return rows


def versions() -> str:
    """Return the versions that wrote the report."""
    return (
        f"Sixfold {version('sixfold')}, NumPy {np.__version__}, Python {platform.python_version()}"
    )


def _steps(record: Record) -> str:
    # steps of the integrator if it says so, rows of the record otherwise
    made, dt = record.settings.get("steps"), record.settings.get("dt")
    if isinstance(made, int) and isinstance(dt, float):
        return f"{_count(made)} of {dt:.4g} s, {_count(len(record.t))} states kept"
    count = len(record.t) - 1
    if not count:
        return "one state"
    steps = np.diff(record.t)
    even = np.ptp(steps) <= 1e-6 * steps.mean()
    size = f"{steps.mean():.4g} s each" if even else f"{steps.min():.3g} to {steps.max():.3g} s"
    return f"{_count(count)} of {size}"


def _energy(record: Record) -> list[tuple[str, str]]:
    parts = energies(record)
    if parts is None:
        return []
    total = parts["total"]
    change = total - total[0]
    # without joint forces a change of energy is the integrator's error
    free = "tau" in record.given and not np.any(record.given["tau"])
    name = "Energy drift" if free else "Energy change"
    scale = float(np.ptp(parts["kinetic"])) or float(np.abs(total).max())
    share = f" ({abs(change[-1]) / scale:.1e} of the kinetic energy's range)" if scale else ""
    worst = float(change[np.argmax(np.abs(change))])
    return [
        ("Total energy", f"{total[0]:.6g} J at the start"),
        (name, f"{change[-1]:+.3e} J at the end{share}, {worst:+.3e} J at most"),
    ]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return visible(str(value)[:400])


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")


MAX_JOINTS = 12  #: Joints that are plotted: those that fit worst.
#: Of measured torques, of the model's, and of the difference.
COLORS = ("#8a97a6", "#e2622f", "#2f6fde")
MAX_WORDS = 200  #: Lines about what the data do not show.


@dataclass(frozen=True, eq=False)
class Content:
    """What a page shows next to the moving robot."""

    motion: Record
    lines: list[Lines]
    summary: list[tuple[str, str]]
    cards: str  #: HTML, escaped.


def identification_content(result: Identification) -> Content:
    """Return the content of a report about an identification."""
    kept = result.record
    motion = record("write_report", result.model, {"t": _times(result), "q": kept["q"]})
    # the joints that fit worst, in the order of the robot
    order = sorted(range(len(result.joints)), key=lambda j: -result.joints[j].share)
    lines = []
    for j in sorted(order[:MAX_JOINTS]):
        # measured and modelled on one scale, and what is left
        measured, made = kept["tau"][:, j], kept["model"][:, j]
        values = np.stack([measured, made, measured - made], axis=-1)
        title = f"Force of {visible(result.joints[j].name)}"
        names = ("measured", "model", "difference")
        lines.append(Lines(title, "N m or N", names, values, COLORS))
    return Content(motion, lines, _summary(result), _cards(result))


def _times(result: Identification) -> np.ndarray:
    """Return growing times; samples without them stand a millisecond apart."""
    t = result.record.get("t")
    if t is not None and (len(t) < 2 or (np.diff(t) > 0).all()):
        return t
    return np.asarray(result.record["row"]) * 1e-3


def _summary(result: Identification) -> list[tuple[str, str]]:
    worst = max(result.joints, key=lambda j: j.share)
    count = Counter(p.identifiability for p in result.parameters)
    counts = ", ".join(f"{count[word]} {word}" for word in ("good", "weak", "none") if count[word])
    mass = [sum(float(b.inertia.m) for b in m.bodies) for m in (result.loaded, result.model)]
    rows = [
        ("Samples", f"{result.samples:,}".replace(",", "\u202f")),
        ("Largest residual", f"{worst.share:.1%} of the force of {visible(worst.name)}"),
        *_hold_out(result),
        ("Base parameters", f"{len(result.parameters)}, identifiability {counts}"),
        ("Condition", f"{result.condition:.3g}"),
        ("Mass", f"{mass[1]:.4g} kg, loaded {mass[0]:.4g} kg"),
        ("Bodies", "physically consistent" if result.consistent else "not made consistent"),
    ]
    if result.filter is not None:
        rows.append(("Filter", f"{result.filter:g} Hz, no phase"))
    if result.lag:
        rows.append(("Torques late by", f"{result.lag * 1e3:.3g} ms"))
    if np.any(result.offsets):
        rows.append(("Offsets", ", ".join(f"{x:.3g}" for x in result.offsets) + " N m"))
    return rows


def _hold_out(result: Identification) -> list[tuple[str, str]]:
    """Return the held-out residuals in two norms; nothing if no samples were held out."""
    h = result.hold_out
    if np.isnan(h.all_joints):
        return []
    mean = f"{h.mean_of_joints:.2%} in the mean of joints ({h.plain_mean_of_joints:.2%})"
    both = f"{mean}, {h.all_joints:.2%} of all joints in one norm ({h.plain_all_joints:.2%})"
    return [("Held-out residual (plain least squares)", both)]


def _cards(result: Identification) -> str:
    parts = []
    if result.findings:
        parts.append(("Findings", findings_list(result)))
    parts.append(("Residuals", joints_table(result)))
    parts.append(("Base parameters", f'<div class="scroll">{parameters_table(result)}</div>'))
    if result.not_shown:
        shown = result.not_shown[:MAX_WORDS]
        items = "".join(f"<li>{escape(visible(line))}</li>" for line in shown)
        parts.append(
            ("What is not shown", f'<div class="scroll"><ul class="plain">{items}</ul></div>')
        )
    return "".join(f'<div class="card"><h2>{title}</h2>{body}</div>' for title, body in parts)


TRIANGLES = 24_000  #: Most triangles of the robot, which keeps the file light.
SCRIPTS = ("scene.js", "plots.js", "player.js")


def write_report(
    path: str | os.PathLike[str],
    model: Model,
    trajectory: MotionInput | Identification,
    *,
    title: str | None = None,
) -> Path:
    """Write a motion as one HTML file that needs no other file and no network; return its path.

    The page holds a summary, plots of positions, velocities, joint forces, forces of contacts and
    constraints, and energies with values under the pointer, and the robot in motion with its
    contact forces, which can be turned, zoomed, played and scrubbed.

    Args:
        path: where to write.
        model: the robot.
        trajectory: what `sixfold.simulate` returns, or any object or mapping with arrays t (T,)
            and q (T, nq) and, if known, v, a, tau (T, nv), kinetic, potential and total energies
            (T,), contacts and notes; or q alone.  Of a batch the first motion is shown.  What
            `sixfold.identification.identify` returns is shown with measured and modelled torques,
            residuals, parameters and findings.
        title: heading; the robot's name by default.

    Returns:
        The path of the file.

    Raises:
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.
        OutputFileError: if the file cannot be written.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("pendulum")
        >>> motion = sf.simulate(model, [0.5], [0.0], 1.0, dt=0.01)
        >>> page = sf.write_report("swing.html", model, motion, title="A swing")
        >>> page.name, "A swing" in page.read_text(encoding="utf-8")
        ('swing.html', True)
    """
    model = require_model("write_report", model)
    target = path_of("write_report", path, "motion.html")
    if title is not None and (not isinstance(title, str) or len(title) > 10_000):
        raise OptionError("write_report", "title", "a text of at most 10,000 characters", title)
    # meshes are thinned out: the page is one file
    picture = figure(model, budget=TRIANGLES)
    if isinstance(trajectory, Identification):
        content = identification_content(trajectory)
        text = page(content.motion, picture, title or model.name, content)
    else:
        text = page(record("write_report", model, trajectory), picture, title or model.name)
    write_files({target: text.encode("utf-8", "backslashreplace")})
    return target


def page(motion: Record, picture: Figure, title: str, content: Content | None = None) -> str:
    """Return the text of the page: of a motion, or what else is said about it."""
    lines = groups(motion) if content is None else content.lines
    said = summary(motion) if content is None else content.summary
    data = {
        "start": float(motion.t[0]),
        "end": float(motion.t[-1]),
        "scene": scene_data(motion, picture),
        "plots": [plot_data(each, motion.t) for each in lines],
    }
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in said
    )
    notes = "<br>".join(escape(note) for note in picture.notes[:8])
    values = {
        "title": escape(visible(title)),
        "subtitle": escape(_subtitle(motion, title)),
        "summary": rows,
        "cards": "" if content is None else content.cards,
        "notes": f'<div class="card notes">Not drawn: {notes}</div>' if notes else "",
        "versions": escape(versions()),
        "style": page_file("style.css"),
        "script": "\n".join(page_file(name) for name in SCRIPTS),
        "data": json_text(data),
    }
    return fill_page("page.html", values)


def fill_page(template: str, values: Mapping[str, str]) -> str:
    """Return a template of the folder `page` with its places `{{name}}` filled."""
    # one pass, so that nothing inside a value is taken for a place
    head, *rest = page_file(template).split("{{")
    pieces = (piece.split("}}", 1) for piece in rest)
    return head + "".join(values[name] + after for name, after in pieces)


def _subtitle(motion: Record, title: str) -> str:
    rows = f"{len(motion.t):,} states".replace(",", "\u202f")
    name = motion.model.name
    parts = [f"{motion.duration:g} s", rows, f"{motion.model.nv} degrees of freedom"]
    return " · ".join(parts if title == name else [visible(name), *parts])


def page_file(name: str) -> str:
    """Return the text of a file of the folder `page`."""
    return (files("sixfold.display.report") / "page" / name).read_text(encoding="utf-8")
