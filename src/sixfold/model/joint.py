"""What a joint is: the only place that knows how bodies may move against each other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, wraps
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ArgumentError, ModelError, SixfoldError, TooLargeError, kind_of
from sixfold.scalar import ZERO, Scalar, is_plain, plain, several_numbers, sqrt
from sixfold.scalar.record import digest_of_result, recorded_inputs
from sixfold.spatial import (
    ZERO3,
    Column,
    ForceSubspace,
    Motion,
    Subspace,
    Symmetric3,
    Transform,
    Vector3,
    constraint_basis,
    deviation,
    ldl,
    ldl_solve,
)

Values = Sequence[Scalar]


class JointState(NamedTuple):
    """What algorithms need to know of a joint at one state."""

    XJ: Transform  #: Transform across the joint: parent side to body side.
    S: Subspace  #: Motion subspace in body coordinates.
    vJ: Motion  #: Joint velocity S qd.
    cJ: Motion  #: Componentwise derivative of S, times qd; zero when S is constant in the body.


class TransferableInertia(NamedTuple):
    """The inertias that can move to the parent: the joint neither works on them nor turns them.

    An inertia J is one of them when J S = 0 and X_J^T J X_J = J at every q.
    """

    mass: bool = False  #: A mass at the origin.
    first: tuple[Vector3, ...] = ()  #: Directions of first moments.
    #: Second moments, integrals of r r^T, one for each direction of their space.
    second: tuple[Symmetric3, ...] = ()


#: Gauss-Newton steps to the position of a joint that has no closed form; they are quadratic.
NEAREST_ROUNDS = 8

#: The arguments of methods that take coordinates, and how many each has.
COORDINATES = {
    "calc": (("q", "nq"), ("qd", "nv")),
    "step": (("q", "nq"), ("dq", "nv")),
    "advance": (("q", "nq"), ("qd", "nv"), ("qdd", "nv")),
    "axes_rate": (("qd", "nv"),),
    "difference": (("q0", "nq"), ("q1", "nq")),
    "rate": (("q", "nq"), ("qd", "nv")),
    "bracket": (("a", "nv"), ("b", "nv")),
    "constraint_force_basis": (("q", "nq"),),
}

PROMISES = ("velocity_is_rate", "fixed_axis", "constant_subspace", "orthonormal_subspace")


def _explain_bad_arguments(method: Any) -> Any:
    """Return a method of a joint that looks at its arguments once it has failed on them."""

    @wraps(method)
    def call(self: Joint, *columns: Any, **named: Any) -> Any:
        try:
            return method(self, *columns, **named)
        except SixfoldError:
            raise
        except MemoryError as error:
            where = f"{type(self).__name__}.{method.__name__}"
            raise TooLargeError(where, f"{error}", "pass fewer states at a time") from None
        except Exception:
            # look at the arguments only once the method has failed
            where, sizes = f"{type(self).__name__}.{method.__name__}", COORDINATES[method.__name__]
            given = dict(zip((name for name, _ in sizes), columns, strict=False)) | named
            for name, size in sizes:
                if name in given:
                    n = getattr(self, size)
                    several_numbers(where, name, given[name], n, f"give {n} numbers ({size})")
            raise

    return call


def _take_transform(method: Any) -> Any:
    """Return a method of a joint that takes a transform, and refuses anything else."""

    @wraps(method)
    def call(self: Joint, X: Any) -> Any:
        if not isinstance(X, Transform):
            where = f"{type(self).__name__}.{method.__name__}: argument 'X'"
            raise ArgumentError(where, "a Transform", X, "pass what calc returns as XJ")
        return method(self, X)

    return call


def of_the_library(kind: type) -> bool:
    """Return whether a class is one of this library."""
    return kind.__module__.partition(".")[0] == "sixfold"


def _numbers(n: int) -> tuple[str, ...]:
    return tuple(map(str, range(n)))


class Joint(ABC):
    """A joint of nq position and nv velocity coordinates.

    `qd` is the velocity in the coordinates of S.  It equals dq/dt for every joint whose
    `velocity_is_rate` is true; spherical and free joints use body velocities instead.

    Example:
        >>> import sixfold as sf
        >>> joint = sf.Free()
        >>> isinstance(joint, sf.Joint), joint.nq, joint.nv, joint.velocity_is_rate
        (True, 7, 6, False)
        >>> joint.position_labels()
        ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')
        >>> print(sf.Helical("z", pitch=0.1).calc((0.5,), (2.0,)).vJ)
        Motion(w=(0, 0, 2), v=(0, 0, 0.2))
    """

    nq: ClassVar[int]
    nv: ClassVar[int]
    #: Made by the user's own code, which no version of the library identifies.
    is_code: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the methods that take coordinates so that they explain bad ones."""
        super().__init_subclass__(**options)
        if not of_the_library(cls):
            cls.is_code = True
        # methods that take coordinates explain bad ones
        for name in COORDINATES.keys() & vars(cls).keys():
            setattr(cls, name, _explain_bad_arguments(vars(cls)[name]))
        if "nearest" in vars(cls):
            cls.nearest = _take_transform(vars(cls)["nearest"])  # type: ignore[method-assign]

    velocity_is_rate: ClassVar[bool] = True
    #: One degree of freedom, along or about an axis that rests in the body and in its parent.
    fixed_axis: ClassVar[bool] = False
    constant_subspace: ClassVar[bool] = True  #: S does not depend on q in body coordinates.
    orthonormal_subspace: ClassVar[bool] = True  #: The columns of S are orthonormal at every q.
    #: A short name for each position, if the joint has several; numbers from 0 where left out.
    q_labels: ClassVar[tuple[str, ...]] = ()
    #: A short name for each velocity; those of the positions where left out.
    v_labels: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def calc(self, q: Values, qd: Values) -> JointState:
        """Return transform, motion subspace, joint velocity and bias at a state."""

    @_explain_bad_arguments
    def step(self, q: Values, dq: Values) -> Column:
        """Return the position reached from q by the velocity-space increment dq."""
        return Column(q) + dq

    @_explain_bad_arguments
    def advance(self, q: Values, qd: Values, qdd: Values, h: Scalar) -> tuple[Values, Values]:
        """Return q and qd after a step of semi-implicit Euler: faster first, then moved."""
        faster = [x + a * h for x, a in zip(qd, qdd, strict=True)]
        return self.step(q, Column([x * h for x in faster])), faster

    @_explain_bad_arguments
    def axes_rate(self, qd: Values) -> Vector3:
        """Return what the rate of the linear velocity has in fixed axes beyond that in its own."""
        return ZERO3

    @_explain_bad_arguments
    def difference(self, q0: Values, q1: Values) -> Column:
        """Return the increment dq with step(q0, dq) = q1."""
        return Column(q1) - q0

    @_explain_bad_arguments
    def rate(self, q: Values, qd: Values) -> Column:
        """Return dq/dt."""
        return Column(qd)

    @_explain_bad_arguments
    def bracket(self, a: Values, b: Values) -> Column:
        """Return the Lie bracket of two constant velocity fields; zero where qd = dq/dt."""
        return Column.zero(self.nv)

    def position_labels(self) -> tuple[str, ...]:
        """Return a short name for each position coordinate: 'x', 'qw', or its number."""
        return self.q_labels if len(self.q_labels) == self.nq else _numbers(self.nq)

    def velocity_labels(self) -> tuple[str, ...]:
        """Return a short name for each velocity coordinate: 'wx', or that of its position."""
        labels = self.v_labels or self.q_labels
        return labels if len(labels) == self.nv else _numbers(self.nv)

    def neutral(self) -> tuple[float, ...]:
        """Return the zero position."""
        return (0.0,) * self.nq

    def sampling_range(self) -> tuple[float, ...]:
        """Return half-widths of the default sampling interval: pi rad, or 1 m."""
        return (float(np.pi),) * self.nq

    def random(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Return a random position: angles over a full turn, lengths within a metre.

        Quaternions cover all rotations evenly.
        """
        if not isinstance(rng, np.random.Generator):
            where, fix = f"{type(self).__name__}.random: argument 'rng'", "numpy.random.default_rng"
            raise ArgumentError(where, "a NumPy generator", rng, f"make one with {fix}(seed)")
        # uniform within the sampling range
        far = np.array(self.sampling_range())
        part = self.quaternion()
        if part is None:
            return tuple(rng.uniform(-far, far).tolist())
        q = np.empty(self.nq)
        along = np.delete(np.arange(self.nq), part)
        # lengths and angles from an interval, a quaternion uniformly over all rotations
        q[along] = rng.uniform(-far[along], far[along])
        x, y, z, w = turn = rng.standard_normal(4)
        q[part] = turn / math.sqrt(x * x + y * y + z * z + w * w)  # no BLAS: bits of its own
        return tuple(q.tolist())

    def quaternion(self) -> slice | None:
        """Return where in q a quaternion lies, if any."""
        return None

    def map(self, convert: Callable[[Scalar], Scalar]) -> Self:
        """Return the joint with its constants in another kind of number."""
        # vectors by their own map, numbers directly, everything else as it is
        changes = {
            field.name: value.map(convert)
            if hasattr(value, "map")
            else convert(value)
            if isinstance(value, float)
            else value
            for field in fields(self)  # type: ignore[arg-type]
            for value in [getattr(self, field.name)]
        }
        return replace(self, **changes)  # type: ignore[type-var]

    def transferable_inertia(self) -> TransferableInertia | None:
        """Return the inertias that can move to the parent; None if only a trial can tell."""
        return None

    def constraint_basis(self, q: Sequence[float] | None = None) -> ForceSubspace:
        """Return T with S^T T = 0: the forces the joint bears without working."""
        at: Values = self.neutral()
        if q is not None:
            fix = f"give the {self.nq} coordinates of the joint"
            at = several_numbers(f"{type(self).__name__}.constraint_basis", "q", q, self.nq, fix)
        return constraint_basis(self.calc(at, (0.0,) * self.nv).S)

    @_take_transform
    def nearest(self, X: Transform) -> Column:
        """Return the position whose transform XJ is X, or close to X if the joint cannot be there.

        By Gauss-Newton from the neutral position; joints with a closed form have their own.
        """
        q: Values = self.neutral()
        for _ in range(NEAREST_ROUNDS):
            XJ, S, _, _ = self.calc(q, (ZERO,) * self.nv)
            error = deviation(X @ XJ.inverse())
            # 2 sin(angle / 2) instead of 2 tan(angle / 2): a step that never overshoots a turn
            turn = error.ang / sqrt(1.0 + 0.25 * error.ang.dot(error.ang))
            # Gauss-Newton: (S^T S) dq = S^T error
            gram = [[a.ang.dot(b.ang) + a.lin.dot(b.lin) for b in S.columns] for a in S.columns]
            along = [c.ang.dot(turn) + c.lin.dot(error.lin) for c in S.columns]
            q = self.step(q, ldl_solve(*ldl(gram), along))
        return Column(q)

    @_explain_bad_arguments
    def constraint_force_basis(self, q: Values) -> ForceSubspace | None:
        """Return T of `constraint_basis` over any kind of number, where a joint has its own form.

        None leaves it to `model.constraint`, which takes T of the neutral position.
        """
        return None

    def constants(self) -> tuple[Any, ...]:
        """Return what identifies the joint: its kind and numbers, and what a user's code computes.

        The version of the library identifies the code of its own joints.
        """
        kind = type(self)
        if not is_dataclass(kind):
            fix = "put @dataclass(frozen=True) above the class, and its numbers into fields"
            raise ModelError(f"joint {kind.__name__}", "its class is no dataclass", fix)
        # joints of the library: kind and numbers; joints of users: also what their code computes
        values = tuple(getattr(self, field.name) for field in fields(self))
        if not self.is_code:
            return (kind.__name__, values)
        known = tuple(x if is_plain(x) else type(x).__name__ for x in values)
        programs = tuple(
            identity_of(
                f"joint {kind.__name__}: {name}",
                partial(self._call_with_coordinates, name),
                [(argument, getattr(self, size)) for argument, size in sizes],
                self,
            )
            for name, sizes in COORDINATES.items()
        )
        about = (self.nq, self.nv, self.neutral(), self.sampling_range(), repr(self.quaternion()))
        labels = (self.position_labels(), self.velocity_labels())
        flags = tuple(getattr(self, name) for name in PROMISES)
        return (kind.__name__, known, programs, about, labels, flags)

    def _call_with_coordinates(self, name: str, *columns: Values) -> Any:
        """Call a method of COORDINATES; a step has the length of half a second."""
        return getattr(self, name)(*columns, *((0.5,) if name == "advance" else ()))

    @property
    def kind(self) -> str:
        """The name of the joint type in lower case."""
        return type(self).__name__.lower()


#: Random coordinates at which a function is evaluated that cannot be recorded.
IDENTITY_SAMPLES = 8

#: Functions known by identity; kept, so that no other object gets their id.
_KEPT_FUNCTIONS: dict[int, Any] = {}


def identity_of(
    where: str, function: Callable[..., Any], arguments: Sequence[tuple[str, int]], owner: Any
) -> str:
    """Return a hash of what a function of coordinates does.

    Args:
        where: the joint and its function, for messages.
        function: takes one tuple of numbers for each argument.
        arguments: names and sizes.
        owner: what the function is known by if it cannot be recorded.

    Raises:
        ModelError: if a second call does something else.
    """
    given = [recorded_inputs(name, size) for name, size in arguments]
    try:
        # two recordings: a function with a memory differs
        first, second = (digest_of_result(function(*given)) for _ in range(2))
    except Exception:  # it chooses by value, or is not defined for all kinds of numbers
        first, second = (_sampled_values(function, arguments) for _ in range(2))
        first, second = (
            f"{id(_KEPT_FUNCTIONS.setdefault(id(owner), owner))} {x}" for x in (first, second)
        )
    if first != second:
        what = "a second call with the same arguments does something else"
        fix = "write a function without a memory, a clock and random numbers"
        raise ModelError(where, what, fix)
    return first


def _sampled_values(function: Callable[..., Any], arguments: Sequence[tuple[str, int]]) -> str:
    """Return a hash of a function's values at random coordinates."""
    rng = np.random.default_rng(0)
    found: list[Any] = []
    # results at random coordinates stand for a function that cannot be recorded
    for _ in range(IDENTITY_SAMPLES):
        given = [tuple(rng.uniform(-1.0, 1.0, size).tolist()) for _, size in arguments]
        try:
            found.append(digest_of_result(function(*given)))
        except Exception as error:  # not defined there
            found.append(type(error).__name__)
    return " ".join(found)


PROMISE_TOLERANCE = 1e-9  #: Relative difference up to which a promise holds.


def check_promises(where: str, joint: Joint) -> None:
    """Refuse a joint of the user's own class that is not what the class says.

    A wrong promise gives wrong results or hides singular states.  It is tried at three random
    positions, where `calc` is defined and gives numbers there.
    """
    rng = np.random.default_rng(0)
    qd = tuple(rng.uniform(0.5, 1.0, joint.nv).tolist())
    try:
        found = [(q, joint.calc(q, qd)) for q in (joint.random(rng) for _ in range(3))]
    except SixfoldError:
        raise
    except (ArithmeticError, ValueError):  # not defined everywhere
        return
    # S, cJ and rates as numbers
    states = [_check_state(where, joint, state) for _, state in found]
    try:
        S = np.array([[_floats(*column) for column in state.S.columns] for state in states])
        cJ = np.array([_floats(*state.cJ) for state in states])
        rates = [_floats(joint.rate(q, qd)) for q, _ in found]
    except (TypeError, ValueError):  # symbols
        return
    if not np.isfinite(S).all() or not S.size:
        return
    # compare S, cJ and rate at three positions with what the class promises
    near = PROMISE_TOLERANCE * np.abs(S).max()
    constant = max(np.abs(S - S[0]).max(), np.abs(cJ).max()) <= near
    products = S @ S.swapaxes(1, 2)
    broken = {
        "constant_subspace": not constant and "S changes with q, or cJ is not zero",
        "orthonormal_subspace": not np.abs(products - np.eye(joint.nv)).max() <= near
        and "S^T S is not the unit matrix",
        "velocity_is_rate": any(len(x) != joint.nv or not np.allclose(x, qd) for x in rates)
        and "rate(q, qd) is not qd",
        "fixed_axis": joint.fixed_axis
        and not (constant and _has_fixed_axis(joint, S[0], states))
        and "the joint has no single axis that rests in the body and in its parent",
    }
    # a promise that is not made cannot be broken
    for promise, what in broken.items():
        if what and getattr(joint, promise):
            kind = type(joint).__name__
            fix = f"set {promise} = False in class {kind}"
            raise ModelError(where, f"{kind}.{promise} is True, but {what}", fix)


def _has_fixed_axis(joint: Joint, S: NDArray[np.float64], states: list[JointState]) -> bool:
    """Return whether S and the transforms keep one axis, that of the joint's field if it has it."""
    if joint.nv != 1:
        return False
    turn, slide = S[0, :3], S[0, 3:]
    # S, the displacement and the rotation must all keep the axis
    along = _floats(joint.axis) if hasattr(joint, "axis") else turn if turn.any() else slide
    along = along / np.linalg.norm(along)
    others = [turn, slide, *(_floats(state.XJ.r) for state in states)]
    turned = [np.array([_floats(row) for row in state.XJ.E]) @ along for state in states]
    return all(
        np.allclose(np.cross(x, along), 0.0, atol=PROMISE_TOLERANCE) for x in others
    ) and all(np.allclose(x, along, atol=PROMISE_TOLERANCE) for x in turned)


def _check_state(where: str, joint: Joint, state: Any) -> JointState:
    """Return what `calc` gave if its subspace fits the joint."""
    kind = type(joint).__name__
    if not isinstance(state, JointState):
        what = f"{kind}.calc returned {kind_of(state)}"
        raise ModelError(where, what, "return JointState(XJ, S, vJ, cJ)")
    if not isinstance(state.S, Subspace) or len(state.S.columns) != joint.nv:
        what = f"S of {kind}.calc is not a Subspace of nv = {joint.nv} columns"
        raise ModelError(where, what, "give Subspace one motion for each velocity")
    return state


def _floats(*vectors: Any) -> NDArray[np.float64]:
    return np.array([plain(x) for vector in vectors for x in vector], dtype=float)
