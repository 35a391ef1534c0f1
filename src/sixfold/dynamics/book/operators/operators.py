"""Influence operators of a tree: Phi_A, Psi_A and their transposes (Concurrent Dynamics, 2017).

Phi_A hands a value from each body's parent through A_i; Psi_A = (1 - Phi_A)^-1 sweeps outward from
base to tips, and its transpose inward.  They are objects: apply them in O(N) to a stack of one
vector for each body, print them, or spread them out as block matrices and multiply those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sixfold.errors import ShapeError
from sixfold.model import Tree
from sixfold.scalar import ZERO, Scalar, plain
from sixfold.spatial import Force, Motion, Vector3

Stack = Mapping[int, Any]
Block = tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True)
class _Operator:
    """A tree, the factor A_i of each body, and the letter that the factors are printed with."""

    tree: Tree
    A: Stack
    letter: str = "A"

    @property
    def T(self) -> Any:
        """The transpose."""
        raise NotImplementedError

    def blocks(self) -> BlockMatrix:
        """Spread out as a block matrix."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Print as a block matrix."""
        return str(self.blocks())


class Influence(_Operator):
    """Phi_A: block (i, parent of i) is A_i, all others are zero (Def. 1).

    Args:
        tree: connectivity, `model.tree`.
        A: for each body a factor that acts on motions, such as a `Transform`.
        letter: what blocks are called when printed.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> A = {i: arm.tree.Xtree[i] for i in arm.tree.bodies}
        >>> print(sf.book.Influence(arm.tree, A))
        [  0  0 ]
        [ A2  0 ]
    """

    def __matmul__(self, x: Stack) -> dict[int, Any]:
        """Return z_i = A_i x_parent: parent to child (P1)."""
        parent = self.tree.parent
        return {
            i: self.A[i] @ x[parent[i]] if parent[i] else Motion.zero() for i in self.tree.bodies
        }

    @property
    def T(self) -> BackInfluence:
        """Phi_A^T (Def. 2)."""
        return BackInfluence(self.tree, self.A, self.letter)

    def blocks(self) -> BlockMatrix:
        """Spread out as a block matrix."""
        inner = [i for i in self.tree.bodies if self.tree.parent[i]]
        return BlockMatrix.square(
            self.tree,
            {(i, self.tree.parent[i]): spread(self.A[i]) for i in inner},
            {(i, self.tree.parent[i]): f"{self.letter}{i}" for i in inner},
        )

    @property
    def nilpotency(self) -> int:
        """The least m with Phi^m = 0: the number of bodies on the longest path."""
        depth = {0: 0}
        for i in self.tree.bodies:
            depth[i] = depth[self.tree.parent[i]] + 1
        return max(depth.values())


class BackInfluence(_Operator):
    """Phi_A^T: block (parent of j, j) is A_j^T."""

    def __matmul__(self, x: Stack) -> dict[int, Any]:
        """Return z_i = sum over children j of A_j^T x_j: child to parent (P2)."""
        z: dict[int, Any] = {i: Force.zero() for i in self.tree.bodies}
        for j in self.tree.bodies:
            p = self.tree.parent[j]
            if p:
                z[p] = z[p] + self.A[j].T @ x[j]
        return z

    @property
    def T(self) -> Influence:
        """Phi_A."""
        return Influence(self.tree, self.A, self.letter)

    def blocks(self) -> BlockMatrix:
        """Spread out as a block matrix."""
        return self.T.blocks().T


class Propagation(_Operator):
    """Psi_A = (1 - Phi_A)^-1: the outward sweep.

    Args:
        tree: connectivity, `model.tree`.
        A: for each body a factor that acts on motions, such as a `Transform`.
        letter: what blocks are called when printed.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> A = {i: arm.tree.Xtree[i] for i in arm.tree.bodies}
        >>> print(sf.book.Propagation(arm.tree, A))
        [  e  0 ]
        [ A2  e ]
    """

    def __matmul__(self, x: Stack) -> dict[int, Any]:
        """Return z with z_i = A_i z_parent + x_i, base to tips, in O(N)."""
        z: dict[int, Any] = {}
        for i in self.tree.bodies:
            p = self.tree.parent[i]
            z[i] = self.A[i] @ z[p] + x[i] if p else x[i]
        return z

    @property
    def T(self) -> BackPropagation:
        """Psi_A^T."""
        return BackPropagation(self.tree, self.A, self.letter)

    def blocks(self) -> BlockMatrix:
        """Spread out through the series 1 + Phi + Phi^2 + ... (P3)."""
        phi = Influence(self.tree, self.A, self.letter)
        total = power = BlockMatrix.identity(self.tree)
        for _ in range(phi.nilpotency - 1):
            power = phi.blocks() @ power
            total = total + power
        return total


class BackPropagation(_Operator):
    """Psi_A^T = (1 - Phi_A^T)^-1: the inward sweep."""

    def __matmul__(self, x: Stack) -> dict[int, Any]:
        """Return z with z_parent += A_i^T z_i, tips to base, in O(N)."""
        z = {i: x[i] for i in self.tree.bodies}
        for i in reversed(self.tree.bodies):
            p = self.tree.parent[i]
            if p:
                z[p] = z[p] + self.A[i].T @ z[i]
        return z

    @property
    def T(self) -> Propagation:
        """Psi_A."""
        return Propagation(self.tree, self.A, self.letter)

    def blocks(self) -> BlockMatrix:
        """Spread out as a block matrix (P4)."""
        return self.T.blocks().T


@dataclass(frozen=True)
class BlockMatrix:
    """A matrix of blocks whose sizes may differ; absent blocks are zero.

    Args:
        rows: size of each block row, by its number.
        columns: size of each block column.
        blocks: the blocks, by (row, column), as tuples of rows.
        labels: their letters, for printing.

    Example:
        >>> import sixfold as sf
        >>> one = sf.book.BlockMatrix({1: 1, 2: 1}, {1: 1}, {(2, 1): ((3.0,),)}, {(2, 1): "a"})
        >>> (one.T @ one).dense()
        [[9.0]]
    """

    rows: Mapping[int, int]  # size of each block row
    columns: Mapping[int, int]  # size of each block column
    blocks: Mapping[tuple[int, int], Block]
    labels: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def square(
        cls, tree: Tree, blocks: Mapping[tuple[int, int], Block], labels: Mapping[Any, str]
    ) -> BlockMatrix:
        """Make a matrix of 6x6 blocks for the bodies of a tree."""
        sizes = dict.fromkeys(tree.bodies, 6)
        return cls(sizes, sizes, blocks, labels)

    @classmethod
    def identity(cls, tree: Tree) -> BlockMatrix:
        """Return the identity."""
        one = tuple(tuple(1.0 if r == c else ZERO for c in range(6)) for r in range(6))
        diagonal = [(i, i) for i in tree.bodies]
        return cls.square(tree, dict.fromkeys(diagonal, one), dict.fromkeys(diagonal, "e"))

    @classmethod
    def diagonal(cls, blocks: Mapping[int, Any], letter: str = "") -> BlockMatrix:
        """Make a block-diagonal matrix, for example of joint maps G_i (6 x n_i)."""
        spreads = {i: spread(block) for i, block in sorted(blocks.items())}
        return cls(
            {i: len(block) for i, block in spreads.items()},
            {i: len(block[0]) for i, block in spreads.items()},
            {(i, i): block for i, block in spreads.items()},
            {(i, i): f"{letter}{i}" for i in spreads},
        )

    @property
    def T(self) -> BlockMatrix:
        """Transpose."""
        return BlockMatrix(
            self.columns,
            self.rows,
            {(j, i): tuple(zip(*b, strict=True)) for (i, j), b in self.blocks.items()},
            {(j, i): _transposed(label) for (i, j), label in self.labels.items()},
        )

    def __matmul__(self, other: BlockMatrix) -> BlockMatrix:
        """Multiply block by block, skipping zeros."""
        if self.columns != other.rows:
            raise ShapeError(
                "BlockMatrix",
                "other",
                f"block rows {dict(self.columns)}",
                dict(other.rows),
                "the block columns of the left must be the block rows of the right",
            )
        blocks: dict[tuple[int, int], Block] = {}
        labels: dict[tuple[int, int], str] = {}
        for (i, k), left in self.blocks.items():
            for (m, j), right in other.blocks.items():
                if k == m:
                    term = _multiply(left, right)
                    blocks[i, j] = _add(blocks[i, j], term) if (i, j) in blocks else term
                    label = _joined(self.labels.get((i, k), "?"), other.labels.get((m, j), "?"))
                    labels[i, j] = f"{labels[i, j]} + {label}" if (i, j) in labels else label
        return BlockMatrix(self.rows, other.columns, blocks, labels)

    def __add__(self, other: BlockMatrix) -> BlockMatrix:
        """Add."""
        blocks = dict(self.blocks)
        labels = dict(self.labels)
        for key, block in other.blocks.items():
            blocks[key] = _add(blocks[key], block) if key in blocks else block
            label = other.labels.get(key, "?")
            labels[key] = _summed(labels[key], label) if key in labels else label
        return BlockMatrix(self.rows, self.columns, blocks, labels)

    def __neg__(self) -> BlockMatrix:
        """Change every sign."""
        return BlockMatrix(
            self.rows,
            self.columns,
            {at: tuple(tuple(-x for x in row) for row in b) for at, b in self.blocks.items()},
            {at: _negative(label) for at, label in self.labels.items()},
        )

    def __sub__(self, other: BlockMatrix) -> BlockMatrix:
        """Subtract."""
        return self + -other

    def dense(self) -> list[list[Scalar]]:
        """Return all numbers."""
        return [
            [
                x
                for j, width in self.columns.items()
                for x in self.blocks.get((i, j), ((ZERO,) * width,) * height)[r]
            ]
            for i, height in self.rows.items()
            for r in range(height)
        ]

    def __str__(self) -> str:
        """Print the pattern of blocks by their letters."""
        cells = [[self.labels.get((i, j), "0") for j in self.columns] for i in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "[ " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) + " ]"
            for row in cells
        )


def spread(block: Any) -> Block:
    """Return the rows of anything that acts on motions or is a set of columns.

    Args:
        block: a Transform, an inertia, a subspace, or rows as a tuple.

    Returns:
        The matrix as a tuple of rows.

    Example:
        >>> import sixfold as sf
        >>> rows = sf.book.spread(sf.Transform.translation((1.0, 0.0, 0.0)))
        >>> len(rows), len(rows[0])
        (6, 6)
    """
    if type(block) is tuple:  # rows already; transforms and inertias are tuples of their own kind
        return block
    columns = getattr(block, "columns", None)
    if columns is None:
        columns = [block @ Motion(Vector3(*u[:3]), Vector3(*u[3:])) for u in _UNITS]
    return tuple(zip(*((*c.ang, *c.lin) for c in columns), strict=True))


_UNITS = [tuple(1.0 if r == c else ZERO for c in range(6)) for r in range(6)]


def _multiply(a: Block, b: Block) -> Block:
    columns = tuple(zip(*b, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in a)


def _dot(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    total: Scalar = ZERO
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return plain(total)


def _add(a: Block, b: Block) -> Block:
    return tuple(tuple(x + y for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True))


def _joined(a: str, b: str) -> str:
    """Return the label of a product."""
    minus = a.startswith("-") is not b.startswith("-")
    a, b = (f"({x})" if " " in x else x for x in (a.removeprefix("-"), b.removeprefix("-")))
    product = b if a == "e" else a if b == "e" else f"{a}{b}"
    return f"-{product}" if minus else product


def _summed(a: str, b: str) -> str:
    return f"{a} - {b[1:]}" if b.startswith("-") else f"{a} + {b}"


def _negative(label: str) -> str:
    return f"-({label})" if " " in label else label[1:] if label[0] == "-" else f"-{label}"


def _transposed(label: str) -> str:
    return label if label == "e" else f"({label})'"
