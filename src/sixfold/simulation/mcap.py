"""`sf.McapLog`: a motion as ROS 2 messages in an MCAP file, for Foxglove and ROS 2."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OutputFileError,
    ShapeError,
    real_number,
    whole_number,
)
from sixfold.files import new_file, path_of, write_error
from sixfold.formats.urdf_write import to_urdf
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.quantities.kinematics import body_poses
from sixfold.runtime import Argument, checked_array, plain_argument, require_model
from sixfold.spatial import Matrix3, Vector3
from sixfold.spatial.rotations import rotation_to_quaternion

_HEADER = b"\x00\x01\x00\x00"
NANO = 10**9


class Template:
    """A message whose texts and lengths are fixed; times and numbers are filled in."""

    def __init__(self) -> None:
        """Begin with nothing but the header."""
        self._data = bytearray(_HEADER)
        self._stamps: list[int] = []
        self._numbers: list[tuple[int, int]] = []

    def _align(self, size: int) -> None:
        self._data += bytes(-(len(self._data) - len(_HEADER)) % size)

    def count(self, n: int) -> Template:
        """Write how many elements follow."""
        self._align(4)
        self._data += struct.pack("<I", n)
        return self

    def text(self, word: str) -> Template:
        """Write a text."""
        encoded = word.encode() + b"\0"
        self.count(len(encoded))
        self._data += encoded
        return self

    def texts(self, words: Sequence[str]) -> Template:
        """Write a sequence of texts."""
        self.count(len(words))
        for word in words:
            self.text(word)
        return self

    def stamp(self) -> Template:
        """Append a field for the time: seconds and nanoseconds."""
        self._align(4)
        self._stamps.append(len(self._data))
        self._data += bytes(8)
        return self

    def doubles(self, n: int) -> Template:
        """Append fields for numbers."""
        if n:
            self._align(8)
            self._numbers.append((len(self._data), 8 * n))
            self._data += bytes(8 * n)
        return self

    def sequence(self, n: int) -> Template:
        """Append the length of a sequence, then fields for its numbers."""
        return self.count(n).doubles(n)

    def fill(self, nanoseconds: int, numbers: Array) -> bytes:
        """Return the message of a time with all of its numbers, in their order."""
        for place in self._stamps:
            struct.pack_into("<iI", self._data, place, *divmod(nanoseconds, NANO))
        raw, start = numbers.astype("<f8", copy=False).tobytes(), 0
        for place, size in self._numbers:
            self._data[place : place + size] = raw[start : start + size]
            start += size
        return bytes(self._data)


_FIELDS = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
}
_STAMPED = ("std_msgs/Header", "builtin_interfaces/Time")
_MOVED = ("geometry_msgs/Transform", "geometry_msgs/Vector3", "geometry_msgs/Quaternion")


def _schema(fields: str, *parts: str) -> str:
    """Return a definition, followed by those that it is made of."""
    rule = "\n" + "=" * 80 + "\n"
    return rule.join([fields, *(f"MSG: {name}\n{_FIELDS[name]}" for name in parts)])


TRANSFORMS = "tf2_msgs/msg/TFMessage"
JOINTS = "sensor_msgs/msg/JointState"
TEXT = "std_msgs/msg/String"
#: Definitions of the messages, in the form of ROS 2's own files.
SCHEMAS = {
    TRANSFORMS: _schema(
        "geometry_msgs/TransformStamped[] transforms",
        "geometry_msgs/TransformStamped",
        *(*_STAMPED, *_MOVED),
    ),
    JOINTS: _schema(
        "std_msgs/Header header\n"
        "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
        *_STAMPED,
    ),
    TEXT: "string data",
}


def transforms(pairs: Sequence[tuple[str, str]]) -> Template:
    """Return the message of poses, seven numbers each, of children in their parents."""
    message = Template().count(len(pairs))
    for parent, child in pairs:
        message.stamp().text(parent).text(child).doubles(7)
    return message


def joint_states(names: Sequence[str], position: bool, velocity: bool, effort: bool) -> Template:
    """Return the message of joints by name; an array that is not given is empty."""
    message = Template().stamp().text("").texts(names)
    for there in (position, velocity, effort):
        message.sequence(len(names) if there else 0)
    return message


def text(data: str) -> bytes:
    """Return the message of a text."""
    return Template().text(data).fill(0, np.zeros(0))


def relative_poses(model: Model, q: Array) -> Array:
    """Return position and quaternion (x, y, z, w) of each body in its parent, (..., nb, 7)."""
    # bodies at the root hang on the base, whose pose is the identity
    world = body_poses(model, q)
    base = np.broadcast_to(np.eye(4), (*world.shape[:-3], 1, 4, 4))
    parents = np.concatenate([base, world], axis=-3)[..., np.array(model.parent, int) + 1, :, :]
    Rt = np.swapaxes(parents[..., :3, :3], -1, -2)
    moved = world[..., :3, 3] - parents[..., :3, 3]
    return _numbers(Rt @ world[..., :3, :3], (Rt @ moved[..., None])[..., 0])


def frame_poses(model: Model) -> Array:
    """Return position and quaternion of each frame on its body, (frames, 7)."""
    found = np.array([frame.placement.pose() for frame in model.frames], float).reshape(-1, 4, 4)
    return _numbers(found[:, :3, :3], found[:, :3, 3])


def _numbers(R: Array, p: Array) -> Array:
    # rows of E, which takes parent coordinates to the body's, are columns of R
    E = Matrix3(*(Vector3(*(R[..., i, j] for i in range(3))) for j in range(3)))
    quaternion = np.stack([np.asarray(x, float) for x in rotation_to_quaternion(E)], axis=-1)
    return np.concatenate([p, quaternion], axis=-1)


MAX_TIME = 2**31 - 1  #: Seconds of a time stamp.


class Stepping(Protocol):
    """What has a state: `sixfold.Stepper`, or an object of yours."""

    model: Model
    rows: int

    @property
    def t(self) -> Array:
        """Time [s], shape (rows,) or ()."""

    @property
    def q(self) -> Array:
        """Configurations, shape (rows, nq) or (nq,)."""

    @property
    def v(self) -> Array:
        """Velocities, shape (rows, nv) or (nv,)."""


class McapLog:
    """A file of messages that Foxglove and `ros2 bag` play: poses, joints and the robot itself.

    Topics are `/tf` (the pose of each body in its parent), `/tf_static` (frames on bodies),
    `/joint_states` (joints of one coordinate), `/robot_description` (the robot as URDF, if it can
    be written so), and for a model with other joints `/coordinates` (all of q) and `/velocities`
    (all of v and tau) with names as in `model.coordinates`.  Messages are those of ROS 2, in CDR.

    Use it in a `with` statement, or call `close`.  Until then the messages are in a file
    `run.mcap.*.part` in the same folder, and an older `run.mcap` stays as it was.  If the disk is
    full or the process is killed, that part remains: readers of MCAP streams, and `mcap recover`,
    find in it all chunks (of about 1 MiB) that were written.  Needs the package mcap.

    Args:
        path: of the file, `run.mcap` for example; one that is there is replaced at `close`.
        model: the robot.
        start: time stamp of t = 0 [s], for example `time.time()`.

    Raises:
        NotApplicableError: if mcap is not installed.
        OutputFileError: if the file cannot be written.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> stepper = sf.Stepper(arm, dt=1e-3)
        >>> with sf.McapLog("run.mcap", arm) as log:
        ...     for _ in range(100):
        ...         _ = stepper.step([0.0, 0.1])
        ...         log.record(stepper, [0.0, 0.1])
        >>> log
        <McapLog of 'double_pendulum' in run.mcap: 100 states, closed>
    """

    _keeps_part = True  #: Whether what was written stays on disk when the rest cannot be.

    def __init__(self, path: str | os.PathLike[str], model: Model, *, start: float = 0.0) -> None:
        self._file: Any = None
        self.model = require_model("McapLog", model)
        self.path = path_of("McapLog", path, "run.mcap")
        self._start = _time("start", start)
        self.samples = 0  #: How many states were written.
        writer = optional("mcap.writer", "McapLog")
        self._new = new_file(self.path)
        try:
            self._file = self._new.part.open("xb")
        except OSError as error:
            raise write_error(self.path, error) from None
        self._writer = writer.Writer(self._file)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._templates: dict[tuple[Any, ...], Template] = {}
        base = model.base_name
        names = model.body_names
        parents = [names[k] if k >= 0 else base for k in model.parent]
        self._poses = transforms(list(zip(parents, names, strict=True)))
        free = model.coordinates.free
        self._single = [j for j in free if j.q.stop - j.q.start == 1 == j.v.stop - j.v.start]
        self._all_single = len(self._single) == len(free)
        with self._writing():
            self._writer.start(profile="ros2", library="sixfold")
            self._describe()

    def _describe(self) -> None:
        """Write what stays as it is: the robot and the frames on its bodies."""
        model, at = self.model, self._nanoseconds(0.0)
        with suppress(NotApplicableError):  # joints that URDF has no words for
            self._put("/robot_description", TEXT, at, text(to_urdf(model)))
        if model.frames:
            bodies = [
                model.body_names[f.body] if f.body >= 0 else model.base_name for f in model.frames
            ]
            pairs = list(zip(bodies, model.frame_names, strict=True))
            message = transforms(pairs).fill(at, frame_poses(model))
            self._put("/tf_static", TRANSFORMS, at, message)

    def write(
        self, t: ArrayLike, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None
    ) -> None:
        """Write one state, or one after the other.

        Args:
            t: time [s], a number or shape (n,).
            q: configuration, shape (nq,) or (n, nq).
            v: velocity, shape (nv,) or (n, nv); by default messages have no velocities.
            tau: joint forces, likewise.

        Raises:
            ShapeError, NumberError, OptionError: if an argument makes no sense.
            NotApplicableError: if the log is closed.
            OutputFileError: if the disk is full; then the log is closed.
        """
        if self._file is None:
            fix = "write to it before close, inside of its with statement"
            raise NotApplicableError("McapLog.write", "a log that is closed", fix)
        model = self.model
        sizes = {"t": (), "q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
        given = {"t": t}
        for name, x, size in (("q", q, "nq"), ("v", v, "nv"), ("tau", tau, "nv")):
            given[name] = plain_argument("McapLog.write", name, x, model, size)
        arrays = {
            name: np.asarray(
                checked_array("McapLog.write", name, Argument(x, sizes[name], name)), float
            )
            for name, x in given.items()
            if x is not None
        }
        lead = arrays["t"].shape
        for name, x in arrays.items():
            wanted = (*lead, *sizes[name])
            if len(lead) > 1 or x.shape not in (wanted, sizes[name]):
                expected = (
                    f"{wanted}, as many as there are times" if len(lead) < 2 else "(n,) times"
                )
                fix = "pass one state for each time"
                raise ShapeError("McapLog.write", name, expected, x.shape, fix)
        # one message of poses and up to three of joints for each state
        stamps = [self._nanoseconds(_time("t", x)) for x in arrays["t"].reshape(-1).tolist()]
        rows = {
            name: np.broadcast_to(x, (*lead, *sizes[name])).reshape(len(stamps), -1)
            for name, x in arrays.items()
            if name != "t"
        }
        poses = relative_poses(model, rows["q"])
        with self._writing():
            for k, at in enumerate(stamps):
                self._put("/tf", TRANSFORMS, at, self._poses.fill(at, poses[k]))
                self._joints(at, {name: x[k] for name, x in rows.items()})
                self.samples += 1

    def record(self, stepper: Stepping, tau: ArrayLike | None = None, *, row: int = 0) -> None:
        """Write the state that a stepper is in.

        Args:
            stepper: of the same model.
            tau: joint forces of the last step, shape (nv,).
            row: which of its robots.
        """
        model = getattr(stepper, "model", None)
        if not isinstance(model, Model) or model.digest != self.model.digest:
            where = "McapLog.record: argument 'stepper'"
            fix = "pass a stepper of the model that the log was made with"
            raise ArgumentError(where, f"a Stepper of '{self.model.name}'", stepper, fix)
        row = whole_number("McapLog.record", "row", row, 0, stepper.rows - 1)
        t, q, v = (np.asarray(x) for x in (stepper.t, stepper.q, stepper.v))
        if q.ndim > 1:
            t, q, v = t[row], q[row], v[row]
        self.write(float(t), q, v, tau)

    def close(self) -> None:
        """Finish the file and give it its name; a second time does nothing.

        Raises:
            OutputFileError: if the disk is full.
        """
        if self._file is not None:
            with self._writing():
                self._writer.finish()
                self._file.close()
                self._new.finish()
            self._file = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Close the log where the disk is full, and say where what was written is."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                self._file.close()
            self._file = None
            failed = write_error(self.path, error)
            if not self._keeps_part:
                self._new.discard()
                raise failed from None
            kept = f"what was recorded before is in {self._new.part}, for mcap recover"
            raise OutputFileError(self.path, failed.what, f"{failed.fix}; {kept}") from None

    def __enter__(self) -> McapLog:
        """Return the log."""
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the file."""
        self.close()

    def __repr__(self) -> str:
        """Print the model, the path and the number of states."""
        state = "open" if self._file is not None else "closed"
        return f"<McapLog of '{self.model.name}' in {self.path}: {self.samples} states, {state}>"

    def _joints(self, at: int, state: dict[str, Array]) -> None:
        """Write positions, velocities and forces by name."""
        v, tau = state.get("v"), state.get("tau")
        coordinates = self.model.coordinates
        if self._single:
            q_places = [j.q.start for j in self._single]
            places = [j.v.start for j in self._single]
            parts = [state["q"][q_places], *(x[places] for x in (v, tau) if x is not None)]
            names = tuple(j.name for j in self._single)
            self._joint_states(
                "/joint_states", at, names, (True, v is not None, tau is not None), parts
            )
        if not self._all_single:
            self._joint_states(
                "/coordinates", at, coordinates.q_names, (True, False, False), [state["q"]]
            )
            parts = [x for x in (v, tau) if x is not None]
            if parts:
                there = (False, v is not None, tau is not None)
                self._joint_states("/velocities", at, coordinates.v_names, there, parts)

    def _joint_states(
        self,
        topic: str,
        at: int,
        names: tuple[str, ...],
        there: tuple[bool, ...],
        parts: list[Array],
    ) -> None:
        key = (topic, there)
        if key not in self._templates:
            self._templates[key] = joint_states(names, *there)
        message = self._templates[key].fill(at, np.concatenate(parts))
        self._put(topic, JOINTS, at, message)

    def _put(self, topic: str, kind: str, at: int, data: bytes) -> None:
        if kind not in self._schemas:
            text = SCHEMAS[kind].encode()
            self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", text)
        if topic not in self._channels:
            schema = self._schemas[kind]
            self._channels[topic] = self._writer.register_channel(
                topic, "cdr", schema, _KEPT if topic in _LATCHED else {}
            )
        self._writer.add_message(self._channels[topic], at, data, at)

    def _nanoseconds(self, t: float) -> int:
        return round(self._start * NANO) + round(t * NANO)


_LATCHED = ("/tf_static", "/robot_description")
#: Subscribers that come later get the last message too, as ROS 2 has it for these topics.
_KEPT = {
    "offered_qos_profiles": "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"
    "  deadline: {sec: 9223372036, nsec: 854775807}\n"
    "  lifespan: {sec: 9223372036, nsec: 854775807}\n  liveliness: 1\n"
    "  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}\n"
    "  avoid_ros_namespace_conventions: false\n"
}


def _time(name: str, t: Any) -> float:
    return real_number("McapLog", name, t, "a time >= 0 [s]", lambda x: 0 <= x < MAX_TIME)
