"""Count the multiplications and additions of each algorithm on chains of growing length.

    python -m tests.surveys.operation_counts [--longest N]

The algorithms run on numbers that count.  Sums and products with exact zeros, and products with
one, are free: sparsity that is known beforehand costs nothing.  A table shows, for chains of
revolute joints in general position, the operations and how they grow when the chain doubles.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.factorization import ltdl, solve_ltdl
from sixfold.dynamics.book.newton_euler import newton_euler
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.fast import articulated
from sixfold.dynamics.fast.aba import aba
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import RULES, Op, Zero, plain, register


class Count(NamedTuple):
    """Operations carried out."""

    multiplications: int
    additions: int

    @property
    def total(self) -> int:
        """Multiplications (divisions among them) and additions together."""
        return self.multiplications + self.additions

    def __sub__(self, other: Count) -> Count:
        return Count(*(a - b for a, b in zip(self, other, strict=True)))


class Counted:
    """A float that counts what is done to it."""

    __slots__ = ("value",)
    multiplications = additions = 0

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Zero):
            return self
        Counted.additions += 1
        return Counted(self.value + _value(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Zero):
            return self
        Counted.additions += 1
        return Counted(self.value - _value(other))

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, Zero):
            return -self
        Counted.additions += 1
        return Counted(_value(other) - self.value)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Zero):
            return other
        if isinstance(other, (int, float)) and abs(other) == 1:
            return self if other == 1 else -self
        Counted.multiplications += 1
        return Counted(self.value * _value(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        Counted.multiplications += 1
        return Counted(self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Any:
        Counted.multiplications += 1
        return Counted(_value(other) / self.value)

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == _value(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __float__(self) -> float:
        return self.value


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Counted) else plain(x)


def _apply(op: Op, *arguments: Any) -> Counted:
    return Counted(RULES[op].value(*map(_value, arguments)))


register(Counted, 5, _apply)


def count(work: Callable[[], Any]) -> Count:
    """Return the operations that a piece of work takes."""
    before = Counted.multiplications, Counted.additions
    work()
    return Count(Counted.multiplications - before[0], Counted.additions - before[1])


class Chain(NamedTuple):
    """A chain at a state, in counting numbers."""

    tree: Tree
    q: Table
    qd: Table
    qdd: Table
    f_ext: Table


def chain(n: int) -> Chain:
    """Return n bodies in a row on revolute joints, axes and frames in general position."""
    model = sf.random_tree(n, 1, joints=[sf.Revolute], branching=0.0)
    tree = model.map(lambda x: x if x == 1 else Counted(x))
    q, v = sf.random_state(model, 2, seed=n)
    state = model.positions(_counted(q[0])), model.velocities(_counted(v[0]))
    return Chain(tree, *state, model.velocities(_counted(v[1])), no_forces(tree))


def _counted(values: Any) -> list[Counted]:
    return [Counted(x) for x in values]


def mass_matrix_steps(n: int) -> dict[str, Count]:
    """Return the operations of each step of the mass-matrix procedure of Concurrent Dynamics.

    Step 1 is J = Psi_D G, step 2 is Q = M J; the last step is J^T Q as printed, or G^T (Psi_D^T Q).
    """
    c = chain(n)
    s = inertial(c.tree, c.q, c.qd, c.f_ext)
    J = equations.jacobian_columns(s)
    first = count(lambda: equations.jacobian_columns(s))
    second = count(lambda: [{i: s.M[i] @ column[i] for i in c.tree.bodies} for column in J])
    return {
        "1. J = Psi_D G": first,
        "2. Q = M J": second,
        "3. J^T Q (as printed)": count(lambda: equations.mass_matrix_as_printed(s))
        - first
        - second,
        "3. G^T (Psi_D^T Q)": count(lambda: equations.mass_matrix(s)) - first - second,
    }


def algorithms(n: int) -> dict[str, Count]:
    """Return the operations of whole algorithms."""
    c = chain(n)
    tree, q, qd, qdd, f_ext = c

    def by_crba() -> Any:
        L, D = ltdl(dense(tree, crba(tree, q)), tree.dof_parent)
        return solve_ltdl(L, D, tree.dof_parent, [x for i in tree.bodies for x in qdd[i]])

    def frame() -> equations.System:
        return equations.body_frame(tree, q, qd, f_ext)

    return {
        "inverse dynamics: RNEA": count(lambda: rnea(*c)),
        "inverse dynamics: Newton-Euler, three-vectors": count(lambda: newton_euler(*c)),
        "inverse dynamics: operators (15), (18a)": count(
            lambda: equations.joint_forces(frame(), qdd)
        ),
        "mass matrix: CRBA": count(lambda: crba(tree, q)),
        "inverse mass matrix": count(lambda: articulated.inverse_mass_matrix(tree, q)),
        "mass matrix: CRBA, factorised and solved": count(by_crba),
        "forward dynamics: ABA": count(lambda: aba(*c)),
        "forward dynamics: operators, O(N) (19b)": count(
            lambda: equations.solve_factorised(frame(), qdd)
        ),
        "forward dynamics: operators, O(N^3) (19a)": count(
            lambda: equations.solve_dense(frame(), qdd)
        ),
    }


def table(title: str, sizes: list[int], measure: Callable[[int], dict[str, Count]]) -> str:
    """Return a table of operations and of the growth over the last doubling."""
    counts = [measure(n) for n in sizes]
    width = max(map(len, counts[0]))
    head = "".join(f"{f'N = {n}':>22}" for n in sizes)
    lines = [title, f"{'':<{width}}{head}{'last doubling':>16}"]
    for name in counts[0]:
        cells = "".join(
            f"{f'{c[name].multiplications} x {c[name].additions} +':>22}" for c in counts
        )
        growth = counts[-1][name].multiplications / counts[-2][name].multiplications
        lines.append(f"{name:<{width}}{cells}{f'x {growth:.2f}':>16}")
    return "\n".join(lines)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=int, default=80, help="bodies of the longest chain")
    longest = parser.parse_args().longest
    sizes = [n for n in (longest // 8, longest // 4, longest // 2, longest) if n >= 2]
    print(table("Steps of the mass-matrix procedure, inertial axes", sizes, mass_matrix_steps))
    print()
    print(table("Whole algorithms, body axes", sizes, algorithms))


if __name__ == "__main__":
    main()
