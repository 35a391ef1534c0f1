"""What a robot measured: positions, velocities, accelerations and joint forces over time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NumberError, ShapeError
from sixfold.evaluate import last_labels
from sixfold.identification.data.files import read_log
from sixfold.model import Model

Chunk = tuple[Array, ...]
"""q, v, a, tau and f_ext (if measured), one row for each sample."""
Columns = Mapping[str, str | int | Sequence[str | int]]


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A record of a motion: one row for each sample.  What was not measured is None.

    Args:
        q: positions [rad or m], shape (samples, nq).
        v: velocities [rad/s or m/s], shape (samples, nv).
        a: accelerations [rad/s^2 or m/s^2], shape (samples, nv).
        tau: joint forces [N m or N], or motor currents [A], shape (samples, nv).
        t: times [s], shape (samples,), or the time between two samples.
        f_ext: measured external forces on each body (n; f) [N m; N], world axes, about the world
            origin, shape (samples, nb, 6).

    Raises:
        ShapeError: if an array has another number of axes or of samples.
        NumberError, ArgumentError: if an array does not hold numbers.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> t = np.arange(100) * 0.01
        >>> log = sf.Log(np.sin(t)[:, None], tau=np.cos(t)[:, None], t=0.01)
        >>> log, log.times[-1].round(2).item()
        (<log of 100 samples: q, tau, t>, 0.99)
        >>> np.savez("swing.npz", t=log.times, q=log.q, tau=log.tau)
        >>> sf.Log.read("swing.npz", sf.load("pendulum"))
        <log of 100 samples: q, tau, t>
    """

    q: Array
    """Positions [rad or m], shape (samples, nq)."""
    v: Array | None = None
    """Velocities [rad/s or m/s], shape (samples, nv); made from q if left out."""
    a: Array | None = None
    """Accelerations [rad/s^2 or m/s^2], shape (samples, nv); made from v or q if left out."""
    tau: Array | None = None
    """Joint forces [N m or N], or motor currents [A], shape (samples, nv); for a floating base also
    those of the joints alone."""
    t: Array | float | None = None
    """Times [s], shape (samples,), or the time between two samples."""
    f_ext: Array | None = None
    """Measured external forces on each body (n; f) [N m; N] in world axes about the world origin,
    shape (samples, nb, 6)."""

    def __post_init__(self) -> None:
        """Check that all arrays hold numbers and are equally long."""
        for one in fields(self):
            given = getattr(self, one.name)
            if given is not None:
                object.__setattr__(self, one.name, _array(one.name, given))
        if self.q.ndim != 2:
            fix = "give one row for each sample"
            raise ShapeError("Log", "q", "(samples, nq)", self.q.shape, fix)
        for name, axes in (("q", 2), ("v", 2), ("a", 2), ("tau", 2), ("f_ext", 3)):
            array = getattr(self, name)
            if array is None:
                continue
            size = ("samples, n", "samples, nb, 6")[axes == 3]
            if array.ndim != axes or len(array) != len(self.q):
                expected = f"({size}) with samples = {len(self.q)}, as q"
                fix = "give one row for each sample"
                raise ShapeError("Log", name, expected, array.shape, fix)
        if self.t is not None and np.shape(self.t) not in ((), (len(self.q),)):
            fix = "give one time for each sample, or the time between two"
            raise ShapeError("Log", "t", f"({len(self.q)},) or one number", np.shape(self.t), fix)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.q)

    def __repr__(self) -> str:
        """Say what there is."""
        there = [one.name for one in fields(self) if getattr(self, one.name) is not None]
        return f"<log of {len(self)} samples: {', '.join(there)}>"

    @property
    def times(self) -> Array | None:
        """One time for each sample [s], if there are some."""
        if self.t is None:
            return None
        t = np.asarray(self.t, float)
        return t if t.ndim else float(t) * np.arange(len(self))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], model: Model, *, columns: Columns | None = None
    ) -> Log:
        """Read a log from an `.npz`, `.csv`, `.tsv`, `.txt` or `.parquet` file.

        Arrays of an `.npz` file are named t, q, v, a, tau and f_ext, one row for each sample.  A
        table has one column for each number, as `Trajectory.save` writes it: t and q[joint],
        tau[joint]...; also understood are q_joint, q.joint, joint_position, and q1 to qn or q0 to
        qn-1 in the order of the model's coordinates, with the names position, velocity,
        acceleration and torque or effort as well.  A table of text has commas, semicolons, tabs or
        spaces between its columns and names in its first line, or in a comment above the numbers;
        without names columns are given by number.

        Args:
            path: the file.
            model: the robot, for the names and the order of its joints.
            columns: names of columns or arrays that are called otherwise, or numbers of columns,
                counted from 0, such as {"t": "stamp", "tau": ["m1", "m2"]} or {"t": 0, "q":
                range(1, 3)}: for a table one for each coordinate.

        Raises:
            TrajectoryFileError: if the file cannot be read or has no positions or joint forces.
        """
        return cls(**read_log(path, model, columns))


def _array(name: str, given: Any) -> Array:
    """Return an argument as floats; what can be sliced lazily is read here."""
    labels = last_labels(given) if name in ("q", "v", "a", "tau") else None
    if labels is not None:
        got = f"columns {', '.join(map(str, labels[:8]))}, and a Log has no model to order them by"
        fix = "pass the tables to identify itself, or x.to_numpy() to take them by position"
        raise ShapeError("Log", name, "columns without names", got, fix)
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {array.dtype}")
        array = np.asarray(array, float)
    except (TypeError, ValueError) as error:
        fix = "give an array of numbers"
        raise NumberError(f"Log: argument '{name}'", "real numbers", str(error), fix) from None
    except Exception as error:  # an object that makes its own arrays, and fails
        where, fix = f"Log: argument '{name}'", f"give an array ({error})"
        raise ArgumentError(where, "an array of numbers", given, fix) from None
    array = array.view()
    array.flags.writeable = False
    return array
