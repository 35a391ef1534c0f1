"""Models as the compiler's rolled form sees them: one symbolic body for each kind of joint.

Algorithms loop over `tree.bodies` and keep values in `tree.table()`.  Here the
loops yield one body a kind, and the model's constants are columns over all bodies of the kind; what
the algorithm does to it becomes the code for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.forks import lazily
from sixfold.model import STANDARD_JOINTS, Joint, Model, Tree
from sixfold.runtime.arrays import Array, PerItem
from sixfold.runtime.kernels.kernel_cache import per_model
from sixfold.scalar import Zero
from sixfold.spatial import Column, Force

if TYPE_CHECKING:
    from sixfold.compiler.graph.rolled import Item, Recorder, Rolled, Table

MAX_KINDS = 8  #: Kinds of joints told apart by their axes; with more, by their type alone.


@dataclass(frozen=True)
class InputArray:
    """An argument of a core: one column of numbers for each body."""

    number: int


class _ByItem:
    """One constant a body, indexed by symbolic bodies."""

    def __init__(self, kinds: Kinds, name: str) -> None:
        self.kinds, self.name = kinds, name
        self._made: dict[Item, Any] = {}

    def __getitem__(self, item: Item) -> Any:
        """Return the constant of a kind: a number where all bodies agree, a column elsewhere."""
        if item not in self._made:
            self._made[item] = self.kinds.together(self.name, item.kind, item.graph.number)
        return self._made[item]


class Kinds:
    """Bodies by kind of joint, and their constants as columns."""

    def __init__(self, tree: Tree) -> None:
        """Sort the bodies of a tree."""
        self.tree, self.members = tree, _kinds(tree)
        self._columns: dict[tuple[str, int], Array | None] = {}

    def columns(self, name: str, kind: int) -> Array | None:
        """Return the numbers of a kind's bodies, a column each, or None if all are the same."""
        key = (name, kind)
        if key not in self._columns:
            values = getattr(self.tree, name)
            members = [values[i] for i in self.members[kind]]
            same = all(value == members[0] for value in members)
            self._columns[key] = None if same else _numbers(members)
        return self._columns[key]

    def together(self, name: str, kind: int, number: Callable[[Array], Any] = np.asarray) -> Any:
        """Return a constant of all bodies of a kind at once.

        Args:
            name: which constant: joint, Xtree, inertia...
            kind: of the bodies.
            number: makes one number of an array with an element for each body.
        """
        over = lazily("sixfold.compiler.graph.rolled").over
        first = getattr(self.tree, name)[self.members[kind][0]]
        found = self.columns(name, kind)
        if found is None:
            return first
        columns = iter(found)
        return over(first, lambda _: number(next(columns)))


@per_model(32)
def kinds_of(model: Model) -> Kinds:
    """Return the bodies of a model by kind of joint."""
    return Kinds(model.tree)


def _numbers(members: Sequence[Any]) -> Array:
    leaves = lazily("sixfold.compiler.graph.rolled").leaves
    plain = [m.constants()[1] if isinstance(m, Joint) else m for m in members]
    return np.array([list(map(float, leaves(m))) for m in plain]).T.copy()


class RolledTree:
    """The tree of a rolled form: what `Tree` has, for symbolic bodies."""

    def __init__(self, kinds: Kinds, recorder: Recorder) -> None:
        """Take the bodies of each kind."""
        self.kinds, self.recorder = kinds, recorder
        self.bodies = lazily("sixfold.compiler.graph.rolled").Items(recorder)
        self.gravity = kinds.tree.gravity

    @property
    def parent(self) -> _Parents:
        """The parent of each body."""
        return _Parents()

    def __getattr__(self, name: str) -> _ByItem:
        """Return a constant of each body: its joint, placement, inertia..."""
        if not hasattr(self.kinds.tree, name):
            raise AttributeError(name)
        found = _ByItem(self.kinds, name)
        setattr(self, name, found)
        return found

    def table(self, base: Any = None) -> Table:
        """Return an empty store of one value for each body."""
        return lazily("sixfold.compiler.graph.rolled").Table(self.recorder, base)

    total = Tree.total
    zero_velocity = Tree.zero_velocity
    zero_velocities = Tree.zero_velocities

    def rows(self, function: Callable[[Item], Iterable[Any]]) -> PerItem:
        """Return what a function says of each body."""
        return PerItem({item: list(function(item)) for item in self.bodies})


class _Parents:
    def __getitem__(self, item: Item) -> Any:
        """Return the parent of the body a loop is at."""
        return lazily("sixfold.compiler.graph.rolled").Parent(item)


class RolledModel:
    """What cores ask of a model, for symbolic bodies."""

    couplings = ()
    constraints = ()

    def __init__(self, model: Model, recorder: Recorder, joints: Sequence[Joint]) -> None:
        """Take the model for its sizes, and one joint of each kind."""
        self.recorder, self.joints = recorder, joints
        self.nv, self.nb = model.nv, model.nb

    def positions(self, q: Any) -> dict[Item, Column]:
        """Return the positions of each body's joint."""
        return self._split(q, [joint.nq for joint in self.joints])

    def velocities(self, v: Any) -> dict[Item, Column]:
        """Return the velocities of each body's joint."""
        return self._split(v, [joint.nv for joint in self.joints])

    def wrenches(self, f: Any) -> dict[Item, Force]:
        """Return the force on each body."""
        return {item: Force.of(x) for item, x in self._split(f, [6] * len(self.joints)).items()}

    def gather(self, forces: Mapping[Item, Sequence[Any]]) -> PerItem:
        """Return one column for each body."""
        return PerItem({item: list(forces[item]) for item in self.recorder.items})

    def locate(self, name: str) -> Any:
        """Refuse a named body: loops over kinds of joints know no single one."""
        raise lazily("sixfold.compiler.graph.rolled").NotRolled(f"body or frame '{name}' is named")

    def _split(self, x: Any, sizes: Sequence[int]) -> dict[Item, Column]:
        if isinstance(x, InputArray):
            return {
                item: Column(
                    item.graph.source("array", x.number, c) for c in range(sizes[item.kind])
                )
                for item in self.recorder.items
            }
        assert all(isinstance(value, Zero) for value in x)
        return {item: Column.zero(sizes[item.kind]) for item in self.recorder.items}


def trace_loops(
    core: Callable[..., Any], model: Model, inputs: Sequence[str], outputs: int = 1
) -> tuple[Rolled, bytes]:
    """Return a core for a model as a rolled program with its data.

    Args:
        core: function of (model, tree, one list for each input).
        model: the robot, without couplings.
        inputs: names of the arrays: q, v, a, tau or f_ext.
        outputs: how many results the core returns; with more than one it returns a tuple of them.

    Raises:
        NotRolled: if the core or a joint cannot be traced in rolled form.
    """
    loops = lazily("sixfold.compiler.graph.rolled")
    kinds = kinds_of(model)
    tree, members = kinds.tree, kinds.members
    counts = [len(bodies) for bodies in members]

    def run(adding: dict[int, int] | None) -> tuple[Recorder, Any]:
        recorder = loops.Recorder(counts, adding)
        face = RolledModel(model, recorder, [tree.joint[bodies[0]] for bodies in members])
        arrays = [InputArray(a) for a in range(len(inputs))]
        return recorder, core(face, RolledTree(kinds, recorder), *arrays)

    first, _ = run(None)
    recorder, result = run(first.found)
    outs: list[list[list[int]]] = [[[] for _ in range(outputs)] for _ in members]
    ends: list[list[int]] = [[] for _ in range(outputs)]
    for o, values in enumerate(result if outputs > 1 else (result,)):
        if isinstance(values, PerItem):
            for item in recorder.items:
                nodes = [item.graph.lift(x) for x in values.values[item]]
                if not item.witness:
                    outs[item.kind][o] = nodes
        else:
            ends[o] = [recorder.outside.lift(x) for x in values]
    recorder.finish()
    parent = tree.parent[1:]
    single = len(set(parent)) == len(parent)
    rolled, storage = loops.sweeps(recorder, outs, ends, arrays=len(inputs), single=single)
    kind = np.zeros(len(parent), int)
    for k, bodies in enumerate(members):
        kind[np.array(bodies) - 1] = k
    sizes = {"q": [j.nq for j in tree.joint[1:]], "f_ext": [6] * len(parent)}
    widths = [sizes.get(name, [j.nv for j in tree.joint[1:]]) for name in inputs]
    widths += [[len(outs[k][o]) for k in kind] for o in range(outputs)]
    starts = [np.concatenate([[0], np.cumsum(width)[:-1]]).astype(int) for width in widths]
    return rolled, loops.pack(rolled, storage, loops.Shape(parent, list(kind), starts))


def _kinds(tree: Tree) -> list[list[int]]:
    """Return the bodies of each kind of joint; dry friction by sign and by tanh are two kinds."""
    for rule in (_by_axis, _by_type):
        groups: dict[Any, list[int]] = {}
        for i in tree.bodies:
            smooth = tuple(not isinstance(x, Zero) for x in tree.friction_speed[i])
            groups.setdefault((rule(tree.joint[i]), smooth), []).append(i)
        if len(groups) <= MAX_KINDS:
            break
    return list(groups.values())


def _by_axis(joint: Joint) -> Any:
    axis = getattr(joint, "axis", None)
    if axis is None:
        return _by_type(joint)
    return type(joint), tuple(float(x) if float(x) in (0.0, 1.0, -1.0) else None for x in axis)


def _by_type(joint: Joint) -> Any:
    return type(joint) if type(joint) in STANDARD_JOINTS else joint
