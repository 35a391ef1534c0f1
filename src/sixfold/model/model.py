"""The model: a kinematic tree with names, frames, limits and joint properties, as frozen data."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import ArgumentError, ModelError, OptionError, UnknownNameError, visible
from sixfold.forks import lazily
from sixfold.model.body import JOINT_PROPERTIES, Body, Coupling, Frame, Numbers, immutable
from sixfold.model.constraint import Constraint, check_discs
from sixfold.model.coordinates import Coordinates
from sixfold.model.joint import Joint
from sixfold.model.standard_joints import Fixed
from sixfold.model.tree import COLUMNS, Tree
from sixfold.model.validate import check_bodies, check_names_and_indices, numbers_of, tuple_of
from sixfold.scalar import Scalar, Zero, exact, is_plain, items_of
from sixfold.spatial import ZERO3, Column, Force, Inertia, Motion, Transform, Vector3

if TYPE_CHECKING:
    from sixfold.model.geometry import Geometry, SourceInfo


@immutable(
    "a Model",
    {
        "gravity": "model.with_gravity((x, y, z)) returns a new one",
        "name": "dataclasses.replace(model, name=...) returns a new one",
        "bodies": "sixfold.replace_inertias, add_payload, attach and lock_joints return new ones",
        "frames": "build a new one with ModelBuilder.add_frame",
    },
)
@dataclass(frozen=True, eq=False)
class Model:
    """A robot.  Frozen, equal and hashable by content, picklable.

    Row k of every per-body array is `body_names[k]`; `parent[k]` is -1 for the base.  Make one with
    `sixfold.load`, `sixfold.ModelBuilder` or `sixfold.from_dh`.
    """

    name: str
    bodies: tuple[Body, ...]
    gravity: Numbers = (0.0, 0.0, -9.81)
    frames: tuple[Frame, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    base_name: str = "world"
    geometries: tuple[Geometry, ...] = ()  #: What the bodies look like; no algorithm reads it.
    #: Constraints in addition to the joints of the tree: loops, rods, gears, rolling.
    constraints: tuple[Constraint, ...] = ()
    #: The file it came from; not part of the content.
    origin: SourceInfo | None = field(default=None, repr=False)
    tree: Tree = field(init=False, repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        """Validate the parts, build the tree for algorithms, compute the digest of the content."""
        for name, kind in (("bodies", Body), ("frames", Frame), ("couplings", Coupling)):
            object.__setattr__(self, name, tuple_of("Model", name, getattr(self, name), kind))
        object.__setattr__(
            self, "constraints", tuple_of("Model", "constraints", self.constraints, Constraint)
        )
        # validated once, here: functions rely on it
        check_bodies(self.bodies)
        check_names_and_indices(self)
        check_discs(self.bodies, self.constraints)
        self._check_extra_fields()
        # derived once, because every call needs them
        object.__setattr__(self, "tree", _tree(self))
        object.__setattr__(self, "digest", digest_of(self))

    def _check_extra_fields(self) -> None:
        """Refuse geometries and a source file of another type."""
        # shapes and places in files; imported here because most calls need neither
        from sixfold.model.geometry import Geometry, SourceInfo

        object.__setattr__(
            self, "geometries", tuple_of("Model", "geometries", self.geometries, Geometry)
        )
        if self.origin is not None and not isinstance(self.origin, SourceInfo):
            fix = "leave it out"
            raise ArgumentError("Model: field 'origin'", "a SourceInfo or None", self.origin, fix)

    def refuse_changed_joints(self, caller: str) -> None:
        """Refuse a model whose joints no longer compute what they did when it was built.

        Joints made of the user's own code may read what changes: globals, lists, other modules.

        Args:
            caller: the public function, for messages.
        """
        if self.has_code and digest_of(self) != self.digest:
            what = "a joint of the user's own computes something else than when the model was built"
            fix = "build the model again after changing what its joints read"
            raise ModelError(f"{caller}: model '{visible(self.name)}'", what, fix)

    @cached_property
    def has_code(self) -> bool:
        """Whether a joint or a constraint is made of the user's own code."""
        joints = [body.joint for body in self.bodies]
        joints += [
            x for each in self.constraints for x in vars(each).values() if isinstance(x, Joint)
        ]
        return any(joint.is_code for joint in joints)

    def __eq__(self, other: object) -> bool:
        """Equal when all content is equal."""
        return isinstance(other, Model) and self.digest == other.digest

    def __hash__(self) -> int:
        """Hash of the content."""
        return hash(self.digest)

    def __repr__(self) -> str:
        """Return one line; print the model for the tree."""
        n = len(self.constraints)
        loops = f", {n} constraint{'s' if n > 1 else ''}" if n else ""
        mass = sum(float(body.inertia.m) for body in self.bodies)
        sizes = f"nb={self.nb}, nq={self.nq}, nv={self.nv}{loops}"
        return f"<Model '{visible(self.name)}': {sizes}, {mass:.4g} kg>"

    def __str__(self) -> str:
        """Return the tree with the names and types of joints, in 80 columns."""
        from sixfold.model.tree_text import MAX_BODIES, WIDTH, cut, tree_lines

        return "\n".join([cut(repr(self), WIDTH), *tree_lines(self, most=MAX_BODIES)])

    def _repr_html_(self) -> str:
        """Return the tree and a table of the bodies, for notebooks."""
        from sixfold.show import robot

        return robot(self)

    # -- sizes and names

    @cached_property
    def nb(self) -> int:
        """Number of moving bodies."""
        return len(self.bodies)

    @cached_property
    def coordinates(self) -> Coordinates:
        """The joints with coordinates of their own, their places and names, and the couplings."""
        return Coordinates.of(self.name, self.bodies, self.couplings)

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates."""
        return self.coordinates.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocity coordinates."""
        return self.coordinates.nv

    @cached_property
    def nc(self) -> int:
        """Number of rows of the constraints in addition to the tree's joints."""
        return sum(each.rows for each in self.constraints)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the moving bodies."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints; joint k carries body k."""
        return tuple(body.joint_name for body in self.bodies)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames that are not bodies."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def parent(self) -> tuple[int, ...]:
        """Index of each body's parent, -1 for the base."""
        return tuple(body.parent for body in self.bodies)

    def q_slice(self, joint_name: str) -> slice:
        """Return where a joint's coordinates lie in q."""
        return self.coordinates.q_slice(joint_name)

    def v_slice(self, joint_name: str) -> slice:
        """Return where a joint's coordinates lie in v, a and tau."""
        return self.coordinates.v_slice(joint_name)

    @cached_property
    def constraint_rows(self) -> tuple[str, ...]:
        """A name for each row of the constraints: the constraint's, with a number if several."""
        named = ((each.name, each.rows) for each in self.constraints)
        return tuple(
            name if rows == 1 else f"{name}.{k}" for name, rows in named for k in range(rows)
        )

    # -- topology, by name

    def body_index(self, name: str) -> int:
        """Return the row of a body."""
        if not isinstance(name, str) or name not in self.body_names:
            where = f"model '{self.name}'"
            raise UnknownNameError("body", name, self.body_names, where=where)
        return self.body_names.index(name)

    def locate(self, name: str) -> tuple[int, Transform]:
        """Return body index (-1 for the base) and placement of a body or frame."""
        if isinstance(name, str):
            # bodies, then frames, then the base
            for k, body in enumerate(self.bodies):
                if body.name == name:
                    return k, Transform.identity()
            for frame in self.frames:
                if frame.name == name:
                    return frame.body, frame.placement
            if name == self.base_name:
                return -1, Transform.identity()
        known = (*self.body_names, *self.frame_names, self.base_name)
        raise UnknownNameError("body or frame", name, known, where=f"model '{self.name}'")

    def support(self, name: str) -> tuple[str, ...]:
        """Return kappa: the bodies whose joints support this one, base end first, itself last."""
        return self._names(self.tree.support(self.body_index(name) + 1))

    def subtree(self, name: str) -> tuple[str, ...]:
        """Return nu: this body and every body it carries."""
        return self._names(self.tree.subtree(self.body_index(name) + 1))

    def children(self, name: str) -> tuple[str, ...]:
        """Return mu: the bodies whose parent is this body (or the base)."""
        base = isinstance(name, str) and name == self.base_name
        i = 0 if base else self.body_index(name) + 1
        return self._names(self.tree.children(i))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the bodies between this one and the base, nearest first."""
        return self._names(self.tree.ancestors(self.body_index(name) + 1))

    def _names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.bodies[i - 1].name for i in numbers)

    # -- limits

    @property
    def lower_position(self) -> NDArray[np.float64]:
        """Lower position limits, shape (nq,); -inf where there is none."""
        return self._stack("lower")

    @property
    def upper_position(self) -> NDArray[np.float64]:
        """Upper position limits, shape (nq,); inf where there is none."""
        return self._stack("upper")

    @property
    def velocity_limit(self) -> NDArray[np.float64]:
        """Speed limits, shape (nv,)."""
        return self._stack("velocity_limit")

    @property
    def effort_limit(self) -> NDArray[np.float64]:
        """Joint force limits, shape (nv,)."""
        return self._stack("effort_limit")

    def _stack(self, name: str) -> NDArray[np.float64]:
        rows = (getattr(self.bodies[joint.body], name) for joint in self.coordinates.free)
        found = np.array([x for row in rows for x in row], float)
        found.flags.writeable = False  # writing to it would not change the model
        return found

    # -- from stacked vectors to one column for each body, and back

    def positions(self, q: Sequence[Scalar]) -> dict[int, Column]:
        """Split q into one column for each body, followers included."""
        fix = f"give the nq = {self.nq} coordinates"
        listed = items_of("Model.positions", "q", q, self.nq, f"{self.nq} numbers", fix)
        return self.coordinates.positions(listed)

    def velocities(self, v: Sequence[Scalar]) -> dict[int, Column]:
        """Split v, a or any velocity-space vector into one column for each body."""
        fix = f"give the nv = {self.nv} coordinates"
        listed = items_of("Model.velocities", "v", v, self.nv, f"{self.nv} numbers", fix)
        return self.coordinates.velocities(listed)

    def wrenches(self, f: Sequence[Scalar]) -> dict[int, Force]:
        """Split forces on all bodies, six numbers each."""
        fix = "give six numbers for each body"
        n = 6 * self.nb
        listed = items_of("Model.wrenches", "f", f, n, f"{n} numbers", fix)
        return {k + 1: Force.of(listed[6 * k : 6 * k + 6]) for k in range(self.nb)}

    def gather(self, forces: Mapping[int, Sequence[Scalar]]) -> list[Scalar]:
        """Stack one column of forces for each body; a follower's force works on its masters."""
        try:
            # one column for each body, by its number in the tree
            listed = {i: list(forces[i]) for i in self.tree.bodies}
        except Exception:
            fix = f"give {{1: forces of the first body, ..., {self.nb}: of the last}}"
            where, expected = "Model.gather: argument 'forces'", "a column for each body by number"
            raise ArgumentError(where, expected, forces, fix) from None
        return self.coordinates.gather(listed)

    # -- variants

    def without(
        self,
        *,
        damping: bool = False,
        friction: bool = False,
        springs: bool = False,
        armature: bool = False,
        gravity: bool = False,
        constraints: bool = False,
    ) -> Model:
        """Return the model with the named effects removed."""
        chosen = (damping, friction, springs, armature, gravity, constraints)
        names = ("damping", "friction", "springs", "armature", "gravity", "constraints")
        for name, value in zip(names, chosen, strict=True):
            if not isinstance(value, (bool, np.bool_)):
                raise OptionError("Model.without", name, "True or False", value)

        fields = ["damping"] * damping + ["friction", "friction_negative"] * friction
        fields += ["stiffness"] * springs + ["armature"] * armature

        def bare(body: Body) -> Body:
            none: dict[str, Any] = dict.fromkeys(fields, (0.0,) * body.joint.nv)
            return replace(body, **none)

        return replace(
            self,
            bodies=tuple(bare(body) for body in self.bodies),
            gravity=(0.0, 0.0, 0.0) if gravity else self.gravity,
            constraints=() if constraints else self.constraints,
        )

    def with_gravity(self, gravity: Sequence[float]) -> Model:
        """Return the model under another gravity [m/s^2]."""
        return replace(self, gravity=numbers_of(f"model '{self.name}'", "gravity", gravity, 3))

    def with_friction_speed(self, speed: float) -> Model:
        """Return the model whose dry friction rises as tanh(v / speed) in all joints.

        Args:
            speed: [rad/s or m/s]; 0 for friction that jumps at rest.
        """

        def with_speed(body: Body) -> Body:
            return replace(body, friction_speed=(speed,) * body.joint.nv)

        return replace(self, bodies=tuple(map(with_speed, self.bodies)))

    def map(self, convert: Callable[[Scalar], Scalar]) -> Tree:
        """Return the tree with its constants in another kind of number (MPFR, SymPy...)."""
        return self.tree.map(convert)


def _tree(model: Model) -> Tree:
    bodies = model.bodies

    made: dict[Numbers, Column] = {}

    def column(values: Numbers) -> Column:
        # most bodies share the same few values
        if values not in made:
            made[values] = Column(exact(x) for x in values)
        return made[values]

    def columns(name: str) -> tuple[Column, ...]:
        return (Column.zero(0), *(column(getattr(body, name)) for body in bodies))

    properties: dict[str, Any] = {name: columns(name) for name in COLUMNS}
    # entry 0 is the base, a placeholder that does not move
    return Tree(
        parent=(0, *(body.parent + 1 for body in bodies)),
        joint=(Fixed(), *(body.joint for body in bodies)),
        Xtree=(Transform.identity(), *(_exact_transform(body.placement) for body in bodies)),
        inertia=(Inertia.zero(), *(_exact_inertia(body.inertia) for body in bodies)),
        gravity=Motion(ZERO3, Vector3.of(model.gravity)),
        **properties,
    )


def _exact_transform(X: Transform) -> Transform:
    E = X.E
    return X.map(exact) if _has_plain_zero((*E.a, *E.b, *E.c, *X.r)) else X


def _exact_inertia(inertia: Inertia) -> Inertia:
    return inertia.map(exact) if _has_plain_zero(inertia.parameters()) else inertia


def _has_plain_zero(values: Iterable[Scalar]) -> bool:
    return any(not isinstance(x, Zero) and x == 0 for x in values)


def digest_of(model: Any) -> str:
    """Return a hash of a Model's content; all kinds of zero count alike."""
    texts: list[Any] = ["sixfold model 3", model.name, model.base_name]
    numbers: list[Any] = [*model.gravity]
    seen: dict[int, tuple[list[Any], list[Any]]] = {}
    # words and numbers apart: numbers are hashed by their bits, with one kind of zero
    for body in model.bodies:
        texts += (body.name, body.joint_name, body.parent)
        if id(body.joint) not in seen:
            seen[id(body.joint)] = ([], [])
            _sort_out(body.joint.constants(), *seen[id(body.joint)])
        words, values = seen[id(body.joint)]
        texts += words
        numbers += values
        numbers += _placement(body.placement)
        numbers += body.inertia.parameters()
        for name in JOINT_PROPERTIES:
            numbers += getattr(body, name)
    for frame in model.frames:
        texts += ("frame", frame.name, frame.body)
        numbers += _placement(frame.placement)
    for coupling in model.couplings:
        texts += ("coupling", coupling.follower, [master for master, _ in coupling.terms])
        numbers += (coupling.offset, *(ratio for _, ratio in coupling.terms))
    # fields by their kind
    for each in model.constraints:
        texts += ("constraint", type(each).__name__)
        for value in vars(each).values():
            if isinstance(value, Transform):
                numbers += _placement(value)
            elif isinstance(value, Joint):
                _sort_out(value.constants(), texts, numbers)
            else:
                _sort_out((value,), texts, numbers)
    # shapes count too: contact depends on them
    for geometry in model.geometries:
        shape, color = geometry.shape, geometry.color
        texts += ("geometry", type(shape).__name__, geometry.body, geometry.collides, color is None)
        texts += (geometry.name, geometry.link, geometry.material)
        _sort_out(vars(shape).values(), texts, numbers)
        numbers += color or ()
        numbers += _placement(geometry.placement)
        if geometry.contact is not None:
            texts.append("contact")
            numbers += geometry.contact.numbers()
    text = repr(texts).encode("utf-8", "surrogatepass")
    digest = lazily("hashlib").blake2b(text, digest_size=20)
    # adding zero takes the sign from zeros
    digest.update((np.frombuffer(array("d", numbers)) + 0.0).tobytes())
    return str(digest.hexdigest())


def _placement(X: Transform) -> tuple[Any, ...]:
    return (*X.E.a, *X.E.b, *X.E.c, *X.r)


def _sort_out(values: Iterable[Any], texts: list[Any], numbers: list[Any]) -> None:
    """Append numbers, those inside tuples too, to one list and the rest to the other."""
    # lengths keep (1, (2,)) and ((1, 2),) apart
    for value in values:
        if is_plain(value):
            numbers.append(value)
        elif isinstance(value, tuple):
            texts.append(len(value))
            _sort_out(value, texts, numbers)
        else:
            texts.append(value)


def require_model(function: str, model: Any, argument: str = "first argument") -> Model:
    """Return the model; refuse anything else, and a model whose own joints have changed."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"{function}: the {argument} must be a Model",
            "a sixfold.Model",
            model,
            "load one with sixfold.load(...)",
        )
    model.refuse_changed_joints(function)
    return model
