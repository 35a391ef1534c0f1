"""A motion as checked arrays, from a trajectory, the log of another tool or plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.display.scene.surfaces import Array
from sixfold.errors import NumberError, ShapeError, StateError
from sixfold.model import Model
from sixfold.quantities.configurations import difference, integrate
from sixfold.runtime import in_order

RATE = 60.0  #: Rows a second of a motion that comes without times.
NAMES = {
    "kinetic": ("kinetic_energy", "kinetic"),
    "potential": ("potential_energy", "potential"),
    "total": ("total_energy", "energy", "total"),
}

SETTINGS = ("integrator", "dt", "steps", "elapsed")  #: What a trajectory tells of how it was made.


#: What a trajectory tells of each contact over time, with its shape.
CONTACTS = {
    "contact_forces": (3,),
    "contact_points": (3,),
    "contact_normals": (3,),
    "contact_gaps": (),
}


class Contacts(NamedTuple):
    """The contacts of a moment, open and closed."""

    forces: Array  #: In world axes [N], shape (nc, 3).
    points: Array  #: Where they act, in world coordinates [m], shape (nc, 3).
    gaps: Array  #: Distances of the surfaces [m], shape (nc,).
    normals: Array | None = None  #: Towards the body that a force acts on, shape (nc, 3).
    friction: Array | None = None  #: Coulomb's coefficients, shape (nc,).

    @property
    def sizes(self) -> Array:
        """Norms of the forces [N], shape (nc,)."""
        return np.linalg.norm(self.forces, axis=-1)

    @property
    def touches(self) -> Array:
        """Which of them touch or push, shape (nc,)."""
        return np.asarray((self.gaps <= 0.0) | (self.sizes > 0.0))

    @property
    def use(self) -> Array | None:
        """Tangential over the most that friction bears, shape (nc,); None if that is unknown.

        Zero where nothing pushes, or where there is no friction.
        """
        if self.normals is None or self.friction is None:
            return None
        # use = |f_t| / (mu f_n)
        n = self.normals / np.maximum(np.linalg.norm(self.normals, axis=-1), 1e-300)[:, None]
        push = (self.forces * n).sum(axis=-1)
        across = np.linalg.norm(self.forces - push[:, None] * n, axis=-1)
        bears = self.friction * push
        return np.divide(across, bears, out=np.zeros_like(across), where=bears > 0)


TOUCHING = 1e-3  #: Gap [m] at which a contact counts as closed.


@dataclass(frozen=True, eq=False)
class Record:
    """One motion of a robot, or a batch of motions over the same times."""

    model: Model
    t: Array  #: Times [s], shape (T,).
    q: Array  #: Configurations, shape (N, T, nq).
    #: What else came of the first motion, by name: v, a, tau (T, nv), energies (T,), and contacts
    #: (T, nc, 3) or (T, nc), with their coefficients of friction (nc,).
    given: Mapping[str, Array] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  #: How the motion was made, by name.
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Seconds from first to last row."""
        return float(self.t[-1] - self.t[0])

    def rows(self, most: int) -> Array:
        """Return at most `most` row numbers, evenly spread, the last included."""
        return np.unique(
            np.linspace(0, len(self.t) - 1, min(most, len(self.t))).round().astype(int)
        )

    def positions(self, time: float) -> Array:
        """Return the configurations at a time, (N, nq), between rows along the joints."""
        k, share = self._place(time)
        if share == 0.0:
            return self.q[:, k]
        # between rows along the joints: quaternions have no mean of elements
        step = difference(self.model, self.q[:, k], self.q[:, k + 1])
        return integrate(self.model, self.q[:, k], step * share)

    def velocity(self, time: float) -> Array:
        """Return the velocity of the first motion at a time, (nv,)."""
        k, share = self._place(time)
        return _between(self.given["v"], k, share) if "v" in self.given else self._slope(k)

    def acceleration(self, time: float) -> Array:
        """Return the acceleration of the first motion at a time, (nv,)."""
        k, share = self._place(time)
        if "a" in self.given:
            return _between(self.given["a"], k, share)
        low, high = max(k - 1, 0), min(k + 1, len(self.t) - 1)
        if low == high:
            return np.zeros(self.model.nv)
        # the slope of the velocities about the row
        ends = [self.given["v"][i] if "v" in self.given else self._slope(i) for i in (low, high)]
        return (ends[1] - ends[0]) / (self.t[high] - self.t[low])

    def force(self, time: float) -> Array | None:
        """Return the joint forces of the first motion at a time, (nv,), None if unknown."""
        tau = self.given.get("tau")
        return None if tau is None else _between(tau, *self._place(time))

    @property
    def has_contacts(self) -> bool:
        """Whether there are contacts, with forces, points and gaps."""
        names = ("contact_forces", "contact_points", "contact_gaps")
        return all(name in self.given for name in names)

    def contacts(self, time: float) -> Contacts | None:
        """Return the contacts of the first motion at a time, or None without any."""
        if not self.has_contacts:
            return None
        place = self._place(time)
        found = {
            name.removeprefix("contact_"): _between(self.given[name], *place)
            for name in CONTACTS
            if name in self.given
        }
        return Contacts(**found, friction=self.given.get("contact_friction"))

    def touch_points(self) -> Array | None:
        """Return the points (n, 3) where the first motion touches; None if nothing is known."""
        if not {"contact_points", "contact_gaps"} <= self.given.keys():
            return None
        near = self.given["contact_gaps"] <= TOUCHING
        return np.asarray(self.given["contact_points"][near])

    def _place(self, time: float) -> tuple[int, float]:
        """Return the row before a time and how far to the next it is."""
        # before the first row and after the last one: those rows
        k = int(np.clip(np.searchsorted(self.t, time, side="right") - 1, 0, len(self.t) - 1))
        if k == len(self.t) - 1 or time <= self.t[k]:
            return k, 0.0
        return k, float((time - self.t[k]) / (self.t[k + 1] - self.t[k]))

    def _slope(self, k: int) -> Array:
        """Return the mean velocity between the rows about row k."""
        low, high = max(k - 1, 0), min(k + 1, len(self.t) - 1)
        if low == high:
            return np.zeros(self.model.nv)
        step = difference(self.model, self.q[0, low], self.q[0, high])
        return step / (self.t[high] - self.t[low])


def record(function: str, model: Model, source: Any, t: ArrayLike | None = None) -> Record:
    """Return a motion as checked arrays.

    Args:
        function: name for error messages.
        model: the robot.
        source: an object or mapping with q (T, nq), t (T,) and, if it likes, v, a, tau, energies,
            contacts and notes; or q itself.  A batch of motions has q (N, T, nq).
        t: times [s], shape (T,); those of the source, or 60 rows a second, by default.

    Raises:
        ShapeError: if a shape does not fit the model or the times.
        NumberError: if an array does not hold numbers.
        StateError: if an element is not finite, times do not grow, or a quaternion is zero.
    """
    names = model.coordinates.q_names, model.coordinates.v_names
    given_q = in_order(function, "q", _get(source, "q", default=source), [names[0]])
    q = finite(function, "q", given_q, f"(T, {model.nq})")
    if q.ndim < 2 or q.shape[-1] != model.nq or not q.size:
        fix = f"pass configurations of '{model.name}', one row for each time"
        raise ShapeError(function, "q", f"(T, {model.nq}) or (N, T, {model.nq})", q.shape, fix)
    # a batch is drawn as ghosts; what else is known is that of the first motion
    lead = q.shape[:-1]
    q = q.reshape(-1, *q.shape[-2:])
    check_quaternions(function, model, q)
    # times: of the argument, of the source, or sixty rows a second
    times = _get(source, "t", default=None) if t is None else t
    times = np.arange(lead[-1]) / RATE if times is None else times
    given = {}
    for name in ("v", "a", "tau"):
        values = _get(source, name, default=None)
        if values is not None:
            values = in_order(function, name, values, [names[1]])
            given[name] = _column(function, name, values, lead, (model.nv,))
    for name, others in NAMES.items():
        # other tools call energies otherwise; a method of that name is no array
        found = (_get(source, other, default=None) for other in others)
        values = next((x for x in found if x is not None and not callable(x)), None)
        if values is not None:
            given[name] = _column(function, name, values, lead, ())
    given |= _contacts(function, source, lead)
    return Record(model, _times(function, times, lead[-1]), q, given, *_settings_and_notes(source))


def check_quaternions(function: str, model: Model, q: Array) -> None:
    """Refuse a quaternion of length zero, which is no rotation."""
    for joint, part in model.coordinates.quaternions:
        norms = np.linalg.norm(q[..., part], axis=-1)
        if np.any(norms < 1e-9):
            row = int(np.argwhere(norms.reshape(-1) < 1e-9)[0, 0])
            raise StateError(
                f"{function}: argument 'q', joint '{joint}', row {row}",
                "a quaternion (x, y, z, w) of length 1",
                "length 0",
                "start from sixfold.neutral(model)",
            )


def finite(function: str, name: str, value: Any, shape: str) -> Array:
    """Return numbers as floats, or say what is not a finite number."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO" or value is None:
            raise TypeError(f"dtype {array.dtype}")
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        where = f"{function}: argument '{name}' does not hold numbers"
        raise NumberError(where, f"an array {shape}", error, "pass an array of floats") from None
    # the first place that is not finite, as an index
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        raise StateError(
            f"{function}: argument '{name}' is not finite at {place}",
            "finite numbers",
            array[place],
            "cut the motion before that row, or find what made it so",
        )
    return array


def _column(
    function: str, name: str, value: Any, lead: tuple[int, ...], tail: tuple[int, ...]
) -> Array:
    """Return the rows of the first motion of an array next to q."""
    array = finite(function, name, value, "one row for each time")
    if array.shape not in ((*lead, *tail), (lead[-1], *tail)):
        shown = ", ".join(str(n) for n in (lead[-1], *tail))
        raise ShapeError(function, name, f"({shown})", array.shape, "give as many rows as q has")
    return array.reshape(-1, lead[-1], *tail)[0]


def _contacts(function: str, source: Any, lead: tuple[int, ...]) -> dict[str, Array]:
    """Return the arrays of contacts, as far as there are some."""
    values = {name: _get(source, name, default=None) for name in CONTACTS}
    values = {name: value for name, value in values.items() if value is not None}
    friction = _get(source, "contact_friction", default=None)
    if not values:
        return {}
    first = next(iter(values))
    shape = finite(function, first, values[first], "one row for each time").shape
    # the axis of contacts: the last one, but for vectors
    axis = len(shape) - 1 - len(CONTACTS[first])
    count = shape[axis] if axis >= 0 else 0
    given = {
        name: _column(function, name, value, lead, (count, *CONTACTS[name]))
        for name, value in values.items()
    }
    if friction is not None:
        mu = finite(function, "contact_friction", friction, f"({count},)")
        if mu.shape != (count,):
            fix = "give one coefficient for each contact"
            raise ShapeError(function, "contact_friction", f"({count},)", mu.shape, fix)
        given["contact_friction"] = mu
    return given if count else {}


def _times(function: str, value: Any, count: int) -> Array:
    t = finite(function, "t", value, f"({count},)")
    if t.shape != (count,):
        fix = "give one time for each row of q"
        raise ShapeError(function, "t", f"({count},)", t.shape, fix)
    back = np.flatnonzero(np.diff(t) <= 0)
    if len(back):
        k = int(back[0])
        raise StateError(
            f"{function}: argument 't' does not grow at row {k + 1}",
            f"more than {t[k]}",
            t[k + 1],
            "sort the rows by time and leave out repeated ones",
        )
    return t


def _settings_and_notes(source: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what a motion says of itself: settings by name, and notes."""
    # notes are lines, or more settings by name
    settings = {name: _get(source, name, default=None) for name in SETTINGS}
    notes = _get(source, "notes", default=None)
    if isinstance(notes, Mapping):
        settings |= notes
    lines = tuple(map(str, notes)) if isinstance(notes, (list, tuple)) else ()
    return {name: value for name, value in settings.items() if value}, lines


def _get(source: Any, name: str, default: Any) -> Any:
    if isinstance(source, Mapping):
        return source.get(name, default)
    if isinstance(source, np.ndarray):
        return default
    return getattr(source, name, default)


def _between(rows: Array, k: int, share: float) -> Array:
    return rows[k] if share == 0.0 else rows[k] + share * (rows[k + 1] - rows[k])
