"""The linear problem of identification: unknown numbers, their columns, and what can be told apart.

Row j of one sample reads  tau_j = sum of Y_j,c p_c: ten columns for each unknown body, and columns
of each joint for friction, offset, rotor and spring.  Columns that are combinations of others for
every motion are left out; what they stand for moves to the columns that stay, the base parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, OptionError, UnknownNameError, yes_or_no
from sixfold.model import Body, Model
from sixfold.model.grouping import PARAMETERS, movable
from sixfold.quantities.configurations import random_state
from sixfold.quantities.dynamics import inverse_dynamics
from sixfold.quantities.regressors import joint_regressor, regressor
from sixfold.runtime import compile as compile_kernel
from sixfold.spatial import Inertia

# columns that a joint may have in addition to those of the bodies, in words
JOINT_WORDS = {
    "viscous": "viscous friction",
    "dry": "dry friction",
    "dry+": "dry friction forward",
    "dry-": "dry friction backward",
    "offset": "offset",
    "rotor": "rotor inertia",
    "spring": "stiffness",
    "gain": "gain of the current",
}
# the fields of a body in which a model keeps the numbers of its joint
JOINT_FIELDS = {
    "viscous": ("damping",),
    "dry": ("friction", "friction_negative"),
    "dry+": ("friction",),
    "dry-": ("friction_negative",),
    "rotor": ("armature",),
    "spring": ("stiffness",),
}
NOT_NEGATIVE = ("viscous", "dry", "dry+", "dry-", "rotor", "spring")
BODY_WORDS = {
    "m": "mass",
    **{f"h{x}": f"first moment m c{x}" for x in "xyz"},
    **{f"I{x}": f"moment of inertia I{x}" for x in ("xx", "yy", "zz", "xy", "xz", "yz")},
}
PROBES = 64  # random states for each body from which structure is found, at least
# relative size below which a column is zero, or depends on the others
MIN_RELATIVE_COLUMN = 1e-9
WHOLE = 1e-8  # weights that are so near to a whole number are that number


@dataclass(frozen=True)
class Unknown:
    """One number that is looked for."""

    kind: str  # of PARAMETERS for a body, of JOINT_WORDS for a joint
    owner: str  # name of the body or of the joint's coordinate
    index: int  # row of the body, or index in v

    @property
    def of_body(self) -> bool:
        """Whether it is an inertial parameter."""
        return self.kind in PARAMETERS

    @property
    def name(self) -> str:
        """As in 'm panda_link3' or 'dry panda_joint2'."""
        return f"{self.kind} {self.owner}"

    @property
    def words(self) -> str:
        """As in 'mass of panda_link3'."""
        words = BODY_WORDS[self.kind] if self.of_body else JOINT_WORDS[self.kind]
        return f"{words} of {self.owner}"

    @property
    def scale(self) -> str:
        """Its dimension, by which sizes are compared."""
        return self.kind[0] if self.of_body else self.kind.rstrip("+-")


@dataclass(frozen=True)
class Choice:
    """Which numbers are unknown."""

    bodies: tuple[int, ...]
    viscous: bool
    dry: str  # "", "both" (one number) or "direction" (one for each direction)
    offsets: bool
    rotors: bool
    springs: bool
    gains: tuple[float, ...]  # Newton metres for each unit of tau; NaN where unknown
    forces: bool  # whether external forces were measured
    joints: tuple[int, ...]  # indices in v that have friction, offsets, rotors and springs

    @property
    def joint_kinds(self) -> list[str]:
        """The kinds of columns that each of the joints has, in their order."""
        kinds = ["viscous"] if self.viscous else []
        kinds += {"": [], "both": ["dry"], "direction": ["dry+", "dry-"]}[self.dry]
        optional = {"offset": self.offsets, "rotor": self.rotors, "spring": self.springs}
        return kinds + [kind for kind, wanted in optional.items() if wanted]


@dataclass(frozen=True, eq=False)
class IdentificationProblem:
    """The columns of a problem and their base."""

    model: Model
    choice: Choice
    unknowns: tuple[Unknown, ...]
    keep: Array  # numbers of the unknowns whose columns are the base, shape (n,)
    base: Array  # beta = base @ p: base parameters from all unknowns, shape (n, unknowns)
    without_effect: tuple[int, ...]  # unknowns that no joint force depends on
    rows: tuple[Array, ...]  # for each DOF: which base columns are not zero in its row
    start: Array  # the unknowns in the loaded model, shape (unknowns,)
    # v_s of each DOF's dry friction, shape (nv,); None for those of the model
    speeds: Array | None = None
    #: Whether rows of all joints count alike, as in plain least squares, whatever their noise.
    equal_weights: bool = False

    def with_speeds(self, speeds: Array) -> IdentificationProblem:
        """Return the problem with other friction speeds, and with the same kernel if it can be."""
        if self.choice.offsets and self.choice.dry == "direction":
            # by sign, friction of both directions makes an offset; by tanh it does not
            again = problem_for(model_with_speeds(self.model, speeds), self.choice)
            return replace(again, equal_weights=self.equal_weights)
        return self._with_kernel(replace(self, speeds=speeds))

    def with_equal_weights(self) -> IdentificationProblem:
        """Return the problem in which rows of all joints count alike."""
        return self._with_kernel(replace(self, equal_weights=True))

    def _with_kernel(self, other: IdentificationProblem) -> IdentificationProblem:
        """Return another problem with the columns of this one, which need not be made again."""
        other.__dict__["kernel"] = self.kernel
        return other

    def evaluate(self, chunk: Sequence[Array], out: Array | None = None) -> Array:
        """Return columns and targets of samples, as the kernel makes them, shape (samples, width).

        Columns of dry friction are made again where its speeds are not those of the model.
        """
        # the kernel's columns have the model's friction speeds: replace those of others
        flat: Array = self.kernel(*chunk) if out is None else self.kernel(*chunk, out=out)
        if self.speeds is not None:
            for place, u in self.dry_places:
                flat[:, place] = dry_column(u.kind, chunk[1][:, u.index], self.speeds[u.index])
        return flat

    @cached_property
    def dry_places(self) -> tuple[tuple[int, Unknown], ...]:
        """Places of the columns of dry friction among those of the kernel, and the unknowns."""
        return tuple(
            (place.start + n, self.base_unknowns[c])
            for place, columns in zip(self.places, self.rows, strict=True)
            for n, c in enumerate(columns)
            if self.base_unknowns[c].scale == "dry"
        )

    @cached_property
    def kernel(self) -> Any:
        """A kernel: row after row the columns that are not zero, then the target."""
        model, choice, known = self.model, self.choice, known_part(self.model, self.choice)
        keep, unknowns = self.keep, self.unknowns

        def rows(q: Any, v: Any, a: Any, tau: Any) -> Any:
            return flat(q, v, a, tau, None)

        def rows_forces(q: Any, v: Any, a: Any, tau: Any, f_ext: Any) -> Any:
            return flat(q, v, a, tau, f_ext)

        def flat(q: Any, v: Any, a: Any, tau: Any, f_ext: Any) -> Any:
            Y = regressor(model, q, v, a) if any(u.of_body for u in unknowns) else None
            passive = inverse_dynamics(known, q, v, a, f_ext)
            own = _own_columns(model, [unknowns[k] for k in keep], q, v, a, tau)
            numbers: list[Any] = []
            for j, columns in enumerate(self.rows):
                for c in columns:
                    u = unknowns[keep[c]]
                    if u.of_body:
                        assert Y is not None
                        numbers.append(Y[j, 10 * u.index + _place(u)])
                    else:
                        numbers.append(np.asarray(own[u], object).item())
                gain = choice.gains[j]
                numbers.append((0.0 if np.isnan(gain) else tau[j] * gain) - passive[j])
            return np.array(numbers, object)

        return compile_kernel(rows_forces if choice.forces else rows, model)

    @cached_property
    def width(self) -> int:
        """Numbers that the kernel makes of one sample."""
        return sum(len(columns) + 1 for columns in self.rows)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each DOF's columns and target lie among them."""
        edges = np.cumsum([0, *(len(columns) + 1 for columns in self.rows)])
        return tuple(slice(i, j) for i, j in itertools.pairwise(edges))

    @property
    def n(self) -> int:
        """Number of base parameters."""
        return len(self.keep)

    @cached_property
    def base_unknowns(self) -> tuple[Unknown, ...]:
        """The unknown that names each base parameter."""
        return tuple(self.unknowns[k] for k in self.keep)

    def formula(self, c: int) -> str:
        """Return what a base parameter is made of."""
        terms = [(self.base[c, k], u.name) for k, u in enumerate(self.unknowns)]
        terms = [(w, name) for w, name in terms if abs(w) > 1e-8]
        terms.sort(key=lambda term: term[1] != self.base_unknowns[c].name)
        text = " ".join(
            f"{'-' if w < 0 else '+'} {'' if abs(abs(w) - 1) < 1e-9 else f'{abs(w):.4g} '}{name}"
            for w, name in terms
        )
        return text.removeprefix("+ ")


def dry_column(kind: str, v: Array, speed: float) -> Array:
    """Return the column of dry friction, as `sixfold.dynamics.passive` defines it."""
    direction: Array = np.tanh(v / speed) if speed else np.sign(v)
    if kind == "dry":
        return direction
    return np.where((v > 0) == (kind == "dry+"), direction, 0.0)


def model_with_speeds(model: Model, speeds: Array) -> Model:
    """Return the model with other friction speeds, one for each DOF."""
    bodies = list(model.bodies)
    for joint in model.coordinates.free:
        own = tuple(speeds[joint.v].tolist())
        bodies[joint.body] = replace(bodies[joint.body], friction_speed=own)
    return replace(model, bodies=tuple(bodies))


def _place(u: Unknown) -> int:
    return PARAMETERS.index(u.kind) if u.of_body else 0


def _own_columns(
    model: Model, unknowns: Sequence[Unknown], q: Any, v: Any, a: Any, tau: Any
) -> dict[Unknown, Any]:
    """Return the column of each joint's own number in its row, over arrays or symbols."""
    kinds: Any = sorted({u.kind for u in unknowns if not u.of_body and u.kind != "gain"})
    found = {u: -tau[..., u.index] for u in unknowns if u.kind == "gain"}
    if kinds:
        X = joint_regressor(model, q, v, a, columns=kinds)
        own = [u for u in unknowns if u.kind in kinds]
        found |= {u: X[..., u.index, kinds.index(u.kind)] for u in own}
    return found


def known_part(model: Model, choice: Choice) -> Model:
    """Return the model with everything that is unknown set to zero."""
    bodies = list(model.bodies)
    for k in choice.bodies:
        bodies[k] = replace(bodies[k], inertia=Inertia.zero())
    for kind in choice.joint_kinds:
        for j in choice.joints:
            set_joint_number(model, bodies, kind, j, 0.0)
    return replace(model, bodies=tuple(bodies))


def set_joint_number(model: Model, bodies: list[Body], kind: str, j: int, value: float) -> None:
    """Set the number of a kind that belongs to velocity coordinate j, among some bodies."""
    # both fields of dry friction take one number where the directions are alike
    joint = model.coordinates.v_joints[j]
    for name in JOINT_FIELDS.get(kind, ()):
        numbers = list(getattr(bodies[joint.body], name))
        numbers[j - joint.v.start] = value
        changed: dict[str, Any] = {name: tuple(numbers)}
        bodies[joint.body] = replace(bodies[joint.body], **changed)


def unknowns_of(model: Model, choice: Choice) -> tuple[Unknown, ...]:
    """Return all unknown numbers, bodies first."""
    found = [Unknown(p, model.body_names[k], k) for k in choice.bodies for p in PARAMETERS]
    names = model.coordinates.v_names
    found += [Unknown(kind, names[j], j) for kind in choice.joint_kinds for j in choice.joints]
    gains = np.flatnonzero(np.isnan(choice.gains))
    return (*found, *(Unknown("gain", names[j], int(j)) for j in gains))


def start_of(model: Model, choice: Choice, unknowns: Sequence[Unknown]) -> Array:
    """Return the unknowns as the loaded model has them; offsets are zero, gains one."""
    owners = model.coordinates.v_joints
    values = []
    for u in unknowns:
        if u.of_body:
            values.append(float(model.bodies[u.index].inertia.array()[_place(u)]))
        elif u.kind in JOINT_FIELDS:
            joint = owners[u.index]
            numbers = getattr(model.bodies[joint.body], JOINT_FIELDS[u.kind][0])
            values.append(float(numbers[u.index - joint.v.start]))
        else:
            values.append(1.0 if u.kind == "gain" else 0.0)
    return np.array(values)


def matrix(
    model: Model, unknowns: Sequence[Unknown], q: Array, v: Array, a: Array, tau: Array
) -> Array:
    """Return all columns at some states, shape (samples, nv, unknowns)."""
    found = np.zeros((len(q), model.nv, len(unknowns)))
    Y = regressor(model, q, v, a) if any(u.of_body for u in unknowns) else None
    own = _own_columns(model, unknowns, q, v, a, tau)
    for c, u in enumerate(unknowns):
        if u.of_body:
            assert Y is not None
            found[:, :, c] = Y[:, :, 10 * u.index + _place(u)]
        else:
            found[:, u.index, c] = own[u]
    return found


@lru_cache(maxsize=32)
def problem_for(model: Model, choice: Choice) -> IdentificationProblem:
    """Return the problem: its structure is found from the columns at random states."""
    unknowns = unknowns_of(model, choice)
    # columns at random states have the rank that they have for all motions
    count = max(PROBES, 20 * len(unknowns) // max(1, model.nv))
    q, v = random_state(model, count, seed=17)
    rng = np.random.default_rng(18)
    a, tau = rng.standard_normal((2, count, model.nv))
    Y = matrix(model, unknowns, q, v, a, tau)
    order = _order(model, unknowns)
    kept, weights, zero = independent(Y.reshape(count * model.nv, len(unknowns))[:, order])
    # back from the order in which columns were taken to that of the unknowns
    rows_of = np.argsort([order[k] for k in kept])
    keep = [order[kept[n]] for n in rows_of]
    base = np.empty((len(keep), len(unknowns)))
    base[:, order] = weights[rows_of]
    without = tuple(order[k] for k in zero)
    # which columns each row has: joints see only the bodies behind them
    there = np.abs(Y[:, :, keep]).max(axis=0) > 0
    rows = tuple(np.flatnonzero(row) for row in there)
    start = start_of(model, choice, unknowns)
    return IdentificationProblem(
        model, choice, unknowns, np.array(keep, int), base, without, rows, start
    )


def _order(model: Model, unknowns: Sequence[Unknown]) -> list[int]:
    """Return in which order columns are taken: what joints let pass to the parent comes last."""
    passed = {
        (k, PARAMETERS[n])
        for k, body in enumerate(model.bodies)
        for n in movable(body.joint).zeroed
    }

    def late(k: int) -> tuple[bool, bool, int]:
        u = unknowns[k]
        return u.of_body and (u.index, u.kind) in passed, u.kind in ("offset", "rotor"), k

    return sorted(range(len(unknowns)), key=late)


def independent(Y: Array) -> tuple[list[int], Array, list[int]]:
    """Return columns that are independent, how they stand for all, and which ones are zero.

    A column that depends on columns before it acts through those: the first come, first kept.

    Returns:
        Numbers of the columns kept; weights W, shape (kept, columns), with Y = Y[:, kept] W;
        numbers of the zero columns.
    """
    n = Y.shape[1]
    sizes = np.linalg.norm(Y, axis=0)
    none = np.flatnonzero(sizes <= MIN_RELATIVE_COLUMN * sizes.max(initial=0.0)).tolist()
    there = [k for k in range(n) if k not in set(none)]
    scaled = Y[:, there] / sizes[there]
    # a column that depends on those before it leaves nothing on the diagonal of R
    R = np.asarray(np.linalg.qr(scaled, mode="r"))
    diagonal = np.zeros(len(there))
    diagonal[: min(R.shape)] = np.abs(np.diagonal(R))
    kept = [m for m in range(len(there)) if diagonal[m] > MIN_RELATIVE_COLUMN]
    others = [m for m in range(len(there)) if diagonal[m] <= MIN_RELATIVE_COLUMN]
    keep = [there[m] for m in kept]
    W = np.zeros((len(keep), n))
    W[np.arange(len(keep)), keep] = 1.0
    if others:
        # the others as sums of those kept, by least squares on R
        Q, r = np.linalg.qr(R[:, kept])
        found = np.linalg.solve(r, Q.T @ R[:, others])
        found *= sizes[[there[m] for m in others]] / sizes[keep][:, None]
        found[np.abs(found) <= WHOLE] = 0.0
        whole = np.round(found)
        W[:, [there[m] for m in others]] = np.where(np.abs(found - whole) < WHOLE, whole, found)
    return keep, W, none


MAX_NAMES = 100_000  # largest number of names of bodies
MAX_NUMBER = 1e300  # largest number of an option
FRICTION = (True, False, "viscous", "dry", "direction")


def choice_of(
    model: Model,
    *,
    friction: Any,
    rotors: Any,
    offsets: Any,
    springs: Any,
    gains: Any,
    bodies: Any,
    forces: bool,
    where: str = "identify",
) -> Choice:
    """Return which numbers are unknown."""
    yes_or_no(where, rotors=rotors, offsets=offsets, springs=springs)
    word = isinstance(friction, str) and friction in FRICTION
    if not word and friction is not True and friction is not False:
        raise OptionError(where, "friction", FRICTION, friction)
    if model.constraints:
        fix = "remove the loops (model.without(constraints=True)) and give the forces of the tree"
        raise NotApplicableError(where, f"model '{model.name}', which has closed loops", fix)
    joints = tuple(
        j for i, j in model.coordinates.additive if j in model.coordinates.actuated_indices
    )
    dry = "" if friction in (False, "viscous") else "both"
    return Choice(
        bodies=_bodies(model, bodies, where),
        viscous=friction in (True, "viscous", "direction"),
        dry="direction" if friction == "direction" else dry,
        offsets=bool(offsets),
        rotors=bool(rotors),
        springs=bool(springs),
        gains=_gains(model, gains, where),
        forces=forces,
        joints=joints,
    )


def _bodies(model: Model, bodies: Any, where: str) -> tuple[int, ...]:
    if bodies is None:
        return tuple(range(model.nb))
    names = [bodies] if isinstance(bodies, str) else bodies
    words = "names of bodies whose inertia is unknown, or None for all"
    if (
        not isinstance(names, Iterable)
        or isinstance(names, Mapping)
        or not getattr(names, "ndim", 1)
    ):
        raise OptionError(where, "bodies", words, bodies)
    found = set()
    for name in islice(names, MAX_NAMES):
        if isinstance(name, str) and name in model.frame_names:
            k, _ = model.locate(name)
            if k < 0:
                raise OptionError(where, "bodies", words, name)
            found.add(k)
        elif isinstance(name, str) and name in model.body_names:
            found.add(model.body_index(name))
        else:
            known = (*model.body_names, *model.frame_names)
            raise UnknownNameError("body or frame", name, known, where=f"{where}: option 'bodies'")
    return tuple(sorted(found))


def _gains(model: Model, gains: Any, where: str) -> tuple[float, ...]:
    """Return the force of one unit of tau for each DOF; NaN where it is looked for."""
    words = (
        "a number for each joint [N m/A], or {joint: number}; None or NaN where it is unknown, "
        "with at least one that is known"
    )
    names = model.coordinates.v_names
    if gains is None:
        return (1.0,) * model.nv
    if isinstance(gains, Mapping):
        for name in gains:
            if name not in names:
                raise UnknownNameError("joint", name, names, where=f"{where}: option 'gains'")
        gains = [gains.get(name) for name in names]
    try:
        listed = list(islice(gains, model.nv + 1))
        found = np.array([np.nan if x is None else float(x) for x in listed], float)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(where, "gains", words, gains) from None
    if found.shape != (model.nv,) or np.isinf(found).any() or (found == 0).any():
        raise OptionError(where, "gains", words, gains)
    if np.isnan(found).all():
        raise OptionError(where, "gains", words + ": currents alone show only ratios", gains)
    return tuple(float(x) for x in found)


def positive(where: str, option: str, value: Any, words: str, *, zero: bool = False) -> float:
    """Return a positive number."""
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not good or not (0 <= value < MAX_NUMBER if zero else 0 < value < MAX_NUMBER):
        raise OptionError(where, option, words, value)
    return float(value)


def numbers(where: str, option: str, given: Any, count: int) -> Any:
    """Return a number for each place, or one for all, as an array; nothing longer is read."""
    words = f"{count} numbers, or one"
    try:
        # look at the length first: a sequence may be endless or huge
        several = hasattr(given, "__len__") and getattr(given, "ndim", None) != 0
        sized = len(given) if several else 1
        if sized not in (1, count):
            raise ValueError(f"{sized} numbers")
        found = np.array(np.broadcast_to(np.asarray(given, float), (count,)))
    except Exception:  # an object's own complaint
        raise OptionError(where, option, words, given) from None
    if np.isnan(found).any():
        raise OptionError(where, option, words, given)
    return found
