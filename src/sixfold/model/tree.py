"""The kinematic tree as algorithms see it: body 0 is the fixed base, bodies are numbered from 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sixfold.model.joint import Joint
from sixfold.scalar import Scalar, Zero, exact, is_plain
from sixfold.spatial import Column, Inertia, Motion, Transform

Table = dict[int, Any]
#: Properties of joints that trees hold as one column for each body.
COLUMNS = (
    *("armature", "damping", "friction", "friction_negative", "friction_speed"),
    *("stiffness", "rest"),
)


@dataclass(frozen=True)
class Tree:
    """Connectivity, joints, geometry and inertias, over any kind of number.

    Entry 0 of each tuple belongs to the base and is a placeholder.  `parent[i] < i` for every body.
    """

    parent: tuple[int, ...]
    joint: tuple[Joint, ...]
    Xtree: tuple[Transform, ...]
    inertia: tuple[Inertia, ...]
    gravity: Motion  #: Acceleration of free fall as a spatial vector at the base.
    armature: tuple[Column, ...]
    damping: tuple[Column, ...]
    friction: tuple[Column, ...]
    friction_negative: tuple[Column, ...]
    friction_speed: tuple[Column, ...]
    stiffness: tuple[Column, ...]
    rest: tuple[Column, ...]
    #: Where frames were moved: from this tree's frame of each body to that of the model's own.
    back: tuple[Transform, ...] = ()

    def __repr__(self) -> str:
        """Return the connectivity."""
        parents = self.parent[1:]
        shown = f"{parents}" if len(parents) <= 12 else f"{parents[:12]}..."
        return f"<Tree of {len(parents)} bodies, parents {shown}>"

    @property
    def bodies(self) -> range:
        """The moving bodies, parents before children."""
        return range(1, len(self.parent))

    def table(self, base: Any = None) -> Table:
        """Return an empty store of one value for each body, with the base's value if it has one."""
        return {} if base is None else {0: base}

    def total(self, each: Table, nothing: Any) -> Any:
        """Return the sum of a table over all bodies, handed from the tips to the base."""
        sums = self.table(nothing)
        for i in self.bodies:
            sums[i] = each[i]
        # tips to base
        for i in reversed(self.bodies):
            sums[self.parent[i]] = sums[self.parent[i]] + sums[i]
        return sums[0]

    def rows(self, function: Callable[[int], Iterable[Scalar]]) -> list[Scalar]:
        """Return what a function says of each body, one body after the other."""
        return [x for i in self.bodies for x in function(i)]

    def zero_velocity(self, i: int) -> Column:
        """Return velocities of a joint that are exactly zero."""
        return Column.zero(self.joint[i].nv)

    def zero_velocities(self) -> Table:
        """Return velocities, or accelerations, of all joints that are exactly zero."""
        return {i: self.zero_velocity(i) for i in self.bodies}

    def placement(self, i: int, X: Transform) -> Transform:
        """Return a placement on body i, given against the model's own frame, against the tree's."""
        return (X @ self.back[i]).map(exact) if self.back else X

    def ancestors(self, i: int) -> Iterator[int]:
        """Yield the bodies between body i and the base, nearest first, without i itself."""
        i = self.parent[i]
        while i:
            yield i
            i = self.parent[i]

    def support(self, i: int) -> tuple[int, ...]:
        """Return kappa(i): the joints between body i and the base, i included, base end first."""
        return (*reversed(tuple(self.ancestors(i))), i)

    def subtree(self, i: int) -> tuple[int, ...]:
        """Return nu(i): the bodies that joint i supports, i included."""
        inside = {i}
        for j in range(i + 1, len(self.parent)):
            if self.parent[j] in inside:
                inside.add(j)
        return tuple(sorted(inside))

    def is_numeric(self) -> bool:
        """Return whether placements and inertias are numbers, not symbols or arrays."""
        values = [x for I in self.inertia for x in I.parameters()]
        values += [x for X in self.Xtree for x in (*X.r, *X.E.a, *X.E.b, *X.E.c)]
        return is_plain(*values)

    def children(self, i: int) -> tuple[int, ...]:
        """Return mu(i): the bodies whose parent is i."""
        return tuple(j for j in self.bodies if self.parent[j] == i)

    @cached_property
    def velocity_slices(self) -> tuple[slice, ...]:
        """Rows of each body's velocities in vectors over all joints, the base first."""
        slices, start = [slice(0, 0)], 0
        for i in self.bodies:
            slices.append(slice(start, start + self.joint[i].nv))
            start += self.joint[i].nv
        return tuple(slices)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom of the whole tree."""
        return self.velocity_slices[-1].stop

    @cached_property
    def dof_parent(self) -> tuple[int, ...]:
        """For each degree of freedom the one before it on the way to the base, -1 at the base."""
        last = [-1] * len(self.parent)
        parents: list[int] = []
        # degrees of freedom of one joint hang from each other in a row
        for i in self.bodies:
            before = last[self.parent[i]]
            for k in range(self.velocity_slices[i].start, self.velocity_slices[i].stop):
                parents.append(before)
                before = k
            last[i] = before
        return tuple(parents)

    def with_inertias(self, numbers: Sequence[Scalar]) -> Tree:
        """Return the tree with other inertias, ten numbers for each body."""
        each = [Inertia.from_parameters(numbers[k : k + 10]) for k in range(0, len(numbers), 10)]
        return replace(self, inertia=(self.inertia[0], *each))

    def massless(self) -> Tree:
        """Return the tree with inertias that are exactly zero."""
        return replace(self, inertia=(Inertia.zero(),) * len(self.parent))

    def map(self, convert: Callable[[Scalar], Scalar], *, zeros: bool = False) -> Tree:
        """Return the tree with its constants in another kind of number; exact zeros may stay."""

        def keep(x: Scalar) -> Scalar:
            return x if isinstance(x, Zero) and not zeros else convert(x)

        def columns(each: tuple[Column, ...]) -> tuple[Column, ...]:
            return tuple(Column(map(keep, column)) for column in each)

        properties: dict[str, Any] = {name: columns(getattr(self, name)) for name in COLUMNS}
        return replace(
            self,
            joint=tuple(joint.map(keep) for joint in self.joint),
            Xtree=tuple(X.map(keep) for X in self.Xtree),
            inertia=tuple(inertia.map(keep) for inertia in self.inertia),
            gravity=self.gravity.map(keep),
            **properties,
        )
