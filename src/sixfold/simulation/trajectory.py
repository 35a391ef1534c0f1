"""A motion as plain arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.errors import (
    NumberError,
    OptionError,
    SampleError,
    ShapeError,
    StateError,
    TooLargeError,
    quote,
    real_number,
    visible,
)
from sixfold.model import Model
from sixfold.quantities.configurations import integrate, position_rate
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.runtime import Argument, checked_array, plain_argument, require_model
from sixfold.scalar import together
from sixfold.show import Panel, block, curves, plain
from sixfold.simulation import trajectory_files as files
from sixfold.simulation.events import Crossing
from sixfold.simulation.trajectory_files import ALONG, CONTACTS, TOUCH


def between(
    model: Model, t: Array, q: Array, v: Array, a: Array, times: Array
) -> tuple[Array, Array]:
    """Return q and v at other times, shapes (..., len(times), nq) and (..., len(times), nv).

    Cubic Hermite curves: fourth-order accurate in the distance of the samples.
    """
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
    after = np.minimum(k + 1, len(t) - 1)
    h = t[after] - t[k]
    s = np.divide(times - t[k], h, out=np.zeros_like(times), where=h > 0)
    rate = position_rate(model, q, v)
    ends = q[..., after, :].copy()
    rates = rate[..., after, :].copy()
    for _, part in model.coordinates.quaternions:
        # a quaternion and its negative are the same rotation: take the nearer one
        near = (q[..., k, part] * ends[..., part]).sum(axis=-1, keepdims=True)
        flip = np.where(near < 0, -1.0, 1.0)
        ends[..., part] *= flip
        rates[..., part] *= flip
    x = _hermite(s, h, q[..., k, :], ends, rate[..., k, :], rates)
    u = _hermite(s, h, v[..., k, :], v[..., after, :], a[..., k, :], a[..., after, :])
    return integrate(model, x, np.zeros_like(u)), u


def _hermite(s: Array, h: Array, x0: Array, x1: Array, d0: Array, d1: Array) -> Array:
    s, h = s[:, None], h[:, None]
    r = 1.0 - s
    value = x0 * ((1 + 2 * s) * r * r) + x1 * (s * s * (3 - 2 * s))
    return value + h * (d0 * (s * r * r) - d1 * (s * s * r))


def shown_motion(motion: Any) -> str:
    """Return a `Trajectory` as HTML: its summary, q, v, tau, contact forces and energies."""
    lines = "".join(f"<p>{plain(line)}</p>" for line in motion.summary())
    if not len(motion) or 0 in motion.lead:
        return block(lines)
    one = motion.select(*(0 for _ in motion.lead))
    note = f"<p>shown: the first of {int(np.prod(motion.lead))} motions</p>" if motion.lead else ""
    return block(lines, note, curves(one.t, _panels(one)))


def _panels(motion: Any) -> list[Panel]:
    places = motion.model.coordinates
    found = [
        Panel("positions q", places.q_names, motion.q),
        Panel("velocities v", places.v_names, motion.v),
    ]
    if np.any(motion.tau):
        found.append(Panel("joint forces", places.v_names, motion.tau))
    if motion.contact_forces is not None and motion.contact_normals is not None:
        along = (motion.contact_forces * motion.contact_normals).sum(axis=-1)
        names = [f"contact {k}" for k in range(along.shape[1])]
        found.append(Panel("contact forces along the normals [N]", names, along))
    energies = np.stack([motion.kinetic, motion.potential, motion.total], axis=1)
    found.append(Panel("energy [J]", ("kinetic", "potential", "total"), energies))
    return [panel for panel in found if len(panel.names)]


MAX_SAMPLES = 10**8  #: Largest number of times in one call of interpolation.
#: Sizes of the last axis of arrays whose columns may have names.
_SIZES = {"q": "nq", "v": "nv", "a": "nv", "tau": "nv"}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of a model.  Time is the last axis but one: q is (..., samples, nq).

    The leading axes are those of the starts; a single start has none.
    """

    model: Model
    t: Array  #: Times [s], shape (samples,).
    q: Array
    v: Array
    a: Array
    tau: Array  #: Joint forces of the controller.
    kinetic: Array  #: Kinetic energy [J], shape (..., samples).
    potential: Array  #: Potential energy of gravity and springs [J], shape (..., samples).
    integrator: str = ""
    dt: float = 0.0  #: Step [s]; samples may be further apart.
    steps: int = 0
    elapsed: float = 0.0  #: How long the steps took [s].
    events: tuple[Crossing, ...] = ()
    notes: tuple[str, ...] = ()
    #: States of the controller, shape (..., samples, nx); None if it has none.
    x: Array | None = None
    #: Force of each contact in world axes [N], shape (..., samples, nc, 3); None without a ground.
    #: They are those of the step that begins at the sample.
    contact_forces: Array | None = None
    #: Where it acts, in world coordinates [m], shape (..., samples, nc, 3).
    contact_points: Array | None = None
    #: Unit normal of each contact, towards the body that the force acts on, in world axes, shape
    #: (..., samples, nc, 3).
    contact_normals: Array | None = None
    #: Distance of the surfaces, negative inside [m], shape (..., samples, nc).
    contact_gaps: Array | None = None
    contact_friction: Array | None = None  #: Coulomb's coefficient of each contact, shape (nc,).
    #: Largest relative residual of the contact solver in all steps; 0 without a ground.
    contact_residual: float = 0.0

    def __post_init__(self) -> None:
        """Check the arrays against the model and each other, and make them read-only."""
        require_model("Trajectory", self.model)
        given_of_contacts = [name for name in CONTACTS if getattr(self, name) is not None]
        if given_of_contacts and len(given_of_contacts) < len(CONTACTS):
            words = "given with all of " + ", ".join(CONTACTS) + ", or left out"
            raise OptionError("Trajectory", given_of_contacts[0], words, given_of_contacts)
        for name in ("t", *self._along, *(CONTACTS[-1:] if given_of_contacts else ())):
            value = plain_argument(
                "Trajectory", name, getattr(self, name), self.model, _SIZES.get(name, "")
            )
            given = Argument(value, (), "numbers")
            with together("Trajectory"):
                array = np.ascontiguousarray(checked_array("Trajectory", name, given), float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shapes = files.shapes(self.model, self.t, self.q, self.x, self.contact_gaps)
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                fix = "give one row of each array for each of the times"
                raise ShapeError("Trajectory", name, str(shape), getattr(self, name).shape, fix)
        self._check_notes()

    def _check_notes(self) -> None:
        """Refuse metadata of the run that is not valid."""
        for name, kinds, words in (
            ("integrator", (str,), "a text"),
            ("dt", (int, float), "a number [s]"),
            ("steps", (int, np.integer), "a whole number"),
            ("elapsed", (int, float), "a number [s]"),
            ("contact_residual", (int, float), "a number"),
        ):
            if not isinstance(getattr(self, name), kinds):
                raise OptionError("Trajectory", name, words, getattr(self, name))
        for name, kind in (("events", Crossing), ("notes", str)):
            given = getattr(self, name)
            if not isinstance(given, tuple) or not all(isinstance(x, kind) for x in given):
                raise OptionError("Trajectory", name, f"a tuple of {kind.__name__}", given)

    @property
    def _along(self) -> tuple[str, ...]:
        """The arrays that have a time axis, `t` apart."""
        present = (name for name in ("x", *TOUCH) if getattr(self, name) is not None)
        return (*ALONG, *present)

    def _after_time(self, name: str) -> int:
        """Return how many axes an array has after that of time."""
        if name in TOUCH:
            return 1 + len(TOUCH[name])
        return 0 if name in ("kinetic", "potential") else 1

    @property
    def total(self) -> Array:
        """Kinetic plus potential energy [J], shape (..., samples)."""
        return self.kinetic + self.potential

    @property
    def energy_drift(self) -> float:
        """The largest change of the total energy since the start [J]."""
        return float(np.abs(self.total - self.total[..., :1]).max(initial=0.0))

    @property
    def duration(self) -> float:
        """From the first sample to the last [s]."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    @property
    def lead(self) -> Shape:
        """The leading shape: one axis or more for a batch of starts, none for a single one."""
        return self.q.shape[:-2]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.t)

    def __getitem__(self, part: slice | int) -> Trajectory:
        """Return some of the samples, by a slice over time; one number gives one sample."""
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            if not -len(self) <= part < len(self):
                fix = f"there are {len(self)} samples"
                raise SampleError("Trajectory: index", "the number of a sample", part, fix)
            k = range(len(self))[int(part)]
            part = slice(k, k + 1)
        if not isinstance(part, slice) or not _whole(part):
            raise NumberError(
                "Trajectory: index",
                "a slice over samples, such as trajectory[100:200]",
                quote(part),
                "use .select(...) to choose among the starts of a batch",
            )
        whole = slice(None)
        arrays = {
            name: getattr(self, name)[(..., part, *[whole] * self._after_time(name))]
            for name in self._along
        }
        return replace(self, t=self.t[part], **arrays)

    def select(self, *index: int | slice) -> Trajectory:
        """Return the motion of one start of a batch, or of some."""
        if len(index) > len(self.lead):
            where = "Trajectory.select: argument 'index'"
            fix = f"the leading shape is {self.lead}"
            raise NumberError(where, f"at most {len(self.lead)} numbers", len(index), fix)
        where, fix = "Trajectory.select: argument 'index'", f"the leading shape is {self.lead}"
        for one in index:
            number = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
            if not number and not (isinstance(one, slice) and _whole(one)):
                raise NumberError(where, "the number of a start, or a slice", quote(one), fix)
        try:
            return replace(self, **{name: getattr(self, name)[index] for name in self._along})
        except IndexError as error:
            got = f"{quote(index)} ({error})"
            raise NumberError(where, "the number of a start", got, fix) from None

    def at(self, times: ArrayLike) -> Trajectory:
        """Return the motion at other times within its span, by cubic curves between samples.

        Positions follow their velocities and velocities their accelerations at the samples;
        quaternions stay of unit length.  Joint forces, accelerations, states of the controller and
        contacts are interpolated linearly, energies are recomputed.
        """
        wanted = checked_array("Trajectory.at", "times", Argument(times, (), "times [s]"))
        if wanted.size > MAX_SAMPLES:
            fix = "ask for parts of the motion"
            raise TooLargeError("Trajectory.at", f"{wanted.size} times", fix)
        wanted = _floats(wanted)
        if wanted.ndim != 1:
            fix = "pass a list of times"
            raise ShapeError("Trajectory.at", "times", "(n,)", wanted.shape, fix)
        if not len(self):
            fix = "simulate first"
            raise StateError("Trajectory.at", "a motion with samples", "none", fix)
        slack = 1e-12 * max(1.0, float(np.abs(self.t).max(initial=0.0)))
        outside = ~((wanted >= self.t[0] - slack) & (wanted <= self.t[-1] + slack))
        if outside.any():
            raise StateError(
                "Trajectory.at: argument 'times'",
                f"times from {self.t[0]:.9g} to {self.t[-1]:.9g} s",
                wanted[outside][0],
                "simulate longer, or ask for less",
            )
        wanted = np.clip(wanted, self.t[0], self.t[-1])
        q, v = between(self.model, self.t, self.q, self.v, self.a, wanted)
        arrays: dict[str, Any] = {
            name: _lines(self.t, getattr(self, name), wanted, self._after_time(name))
            for name in self._along
            if name not in ("q", "v", "kinetic", "potential")
        }
        arrays |= {"t": wanted, "q": q, "v": v, "kinetic": kinetic_energy(self.model, q, v)}
        return replace(self, **arrays, potential=potential_energy(self.model, q))

    def resample(self, dt: float) -> Trajectory:
        """Return the motion at even times, dt [s] apart, from the first sample on."""
        dt = real_number("Trajectory.resample", "dt", dt, "a time > 0", lambda x: x > 0)
        if not self.duration / dt < MAX_SAMPLES:
            words = f"a time of at least {self.duration / MAX_SAMPLES:.1g} s for this motion"
            raise OptionError("Trajectory.resample", "dt", words, dt)
        count = int(np.floor(self.duration / dt + 1e-9)) + 1
        return self.at(np.minimum(self.t[0] + dt * np.arange(count), self.t[-1]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the motion in the format of the suffix.

        Args:
            path: `.npz` for everything, the model included, as plain arrays (`load` reads it);
                `.csv` or `.parquet` (needs pyarrow) for a table with one row for each sample;
                `.mcap` (needs mcap) for messages that Foxglove and ROS 2 play, of one start, as
                `McapLog` writes them.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model | None = None) -> Trajectory:
        """Read what `save` wrote.

        Args:
            path: an `.npz` file.
            model: the robot; needed only if it has joints of the user's own classes.
        """
        return cls(**files.load(path, model))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a table with one row for each sample (and start); needs pyarrow."""
        files.to_parquet(self, path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table as text: a line of names, then one for each sample (and start)."""
        files.to_csv(self, path)

    def to_xarray(self) -> Any:
        """Return a Dataset with axes start, time, and coordinates by joint name; needs xarray."""
        return files.to_xarray(self)

    def animate(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float = 30.0,
        speed: float = 1.0,
        size: tuple[int, int] = (640, 480),
    ) -> Path:
        """Write a film of the motion; return its path.

        Of a batch the first motion is shown.  Meshes are thinned out.

        Args:
            path: `.gif`, or `.mp4`, which needs ffmpeg: `pip install 'sixfold[animate]'` has one.
            fps: frames a second; a GIF keeps times in hundredths of a second, 50 at most.
            speed: seconds of the motion in a second of the film.
            size: width and height [pixels], even numbers.

        Raises:
            OptionError: if an option makes no sense.
            NotApplicableError: if matplotlib, or ffmpeg for `.mp4`, is not installed.
            OutputFileError: if the file cannot be written.

        Example:
            >>> run = sf.simulate(sf.load("pendulum"), [1.0], None, 0.2, dt=0.01)
            >>> run.animate("swing.gif", fps=10).name
            'swing.gif'
        """
        # pictures lie above simulation in the layers
        draw = import_module("sixfold.display.report.animation").animate
        found: Path = draw(self, path, fps, speed, size)
        return found

    def summary(self) -> list[str]:
        """Return what happened, line by line."""
        span = f"{self.t[0]:g} to {self.t[-1]:g} s, " if len(self) else ""
        many = "" if not self.lead else f"{int(np.prod(self.lead))} starts {self.lead}, "
        lines = [
            f"motion of '{self.model.name}': {many}{span}{len(self)} samples"
            + (f", {self.integrator} with dt = {self.dt:g} s" if self.integrator else "")
        ]
        if len(self):
            energy = self.total
            first = f"{energy.flat[0]:.6g} J at the start, " if not self.lead else ""
            lines.append(f"energy: {first}largest change {self.energy_drift:.3g} J")
        lines += [f"event '{event.name}' at t = {event.t:.9g} s" for event in self.events[:4]]
        if len(self.events) > 4:
            lines.append(f"and {len(self.events) - 4} more events")
        lines += [f"note: {note}" for note in self.notes]
        return [visible(line) for line in lines]

    def __repr__(self) -> str:
        """Print the summary."""
        first, *rest = self.summary()
        return "\n".join([f"<{first}", *(f"  {line}" for line in rest)]) + ">"

    def _repr_html_(self) -> str:
        """Return the summary and plots over time, of the first motion of a batch."""
        return shown_motion(self)


def _floats(times: Array) -> Array:
    """Return times as floats, or say that they are symbols."""
    try:
        return times.astype(float)
    except (TypeError, ValueError):
        where = "Trajectory.at: argument 'times'"
        raise NumberError(
            where, "plain numbers", "symbols", "substitute numbers for the symbols"
        ) from None


def _whole(part: slice) -> bool:
    """Return whether a slice has whole numbers, or none, as its ends and a step that moves."""
    ends = (part.start, part.stop, part.step)
    whole = all(x is None or isinstance(x, (int, np.integer)) for x in ends)
    return whole and (part.step is None or part.step != 0)


def _lines(t: Array, x: Array, times: Array, axes: int = 1) -> Array:
    """Return x, interpolated linearly in time; `axes` axes follow that of time."""
    if axes > 1:
        flat = x.reshape((*x.shape[:-axes], -1))
        there = _lines(t, flat, times)
        return there.reshape((*there.shape[:-1], *x.shape[-axes:]))
    k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
    after = np.minimum(k + 1, len(t) - 1)
    h = t[after] - t[k]
    s = np.divide(times - t[k], h, out=np.zeros_like(times), where=h > 0)[:, None]
    straight: Any = x[..., k, :] * (1.0 - s) + x[..., after, :] * s
    return straight
