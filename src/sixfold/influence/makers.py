"""How the operators of the source are made of blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sixfold.arrays import Shape
from sixfold.dynamics.book.operators.operators import (
    BlockMatrix,
    Influence,
    Propagation,
    Stack,
    spread,
)
from sixfold.influence.block_operator import BlockOperator
from sixfold.influence.stacks import FORCES, FREEDOMS, MOTIONS, Space
from sixfold.model import Model
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Column

Run = Callable[[Stack], Stack]
Later = Callable[[], BlockOperator]
DUAL = {MOTIONS: FORCES, FORCES: MOTIONS, FREEDOMS: FREEDOMS}
"""Where the transpose of an operator acts."""


@dataclass(frozen=True)
class Maker:
    """Makes operators for a model at a state with leading axes."""

    model: Model
    lead: Shape

    def __call__(
        self, name: str, latex: str, takes: Space, gives: Space, *how: Any, **more: Any
    ) -> BlockOperator:
        """Make an operator from what it does, its blocks and its transpose."""
        return BlockOperator(name, latex, self.model, takes, gives, self.lead, *how, **more)

    def identity(self, space: Space) -> BlockOperator:
        """Return e."""
        tree = self.model.tree
        sizes = {i: tree.joint[i].nv if space is FREEDOMS else 6 for i in tree.bodies}

        def whole() -> BlockMatrix:
            ones = {(i, i): units(n) for i, n in sizes.items()}
            return BlockMatrix(sizes, sizes, ones, dict.fromkeys(ones, "e"))

        def itself() -> BlockOperator:
            return made

        def back() -> BlockOperator:
            return self.identity(DUAL[space])

        made = self("e", "e", space, space, dict, whole, back, itself, identity=self.identity)
        return made

    def influence(self, A: Stack, letter: str, latex: str) -> BlockOperator:
        """Return Phi_A, which knows Psi_A."""
        phi = Influence(self.model.tree, A, letter)

        def psi() -> BlockOperator:
            return self.propagation(A, letter, latex)

        back: BlockOperator
        name, symbol = f"Phi_{letter}", f"\\Phi_{{{latex}}}"
        forth = self(
            *(name, symbol, MOTIONS, MOTIONS, phi.__matmul__, phi.blocks, lambda: back),
            resolvent=psi,
        )
        back = self(
            *(f"{name}^T", f"{symbol}^T", FORCES, FORCES, phi.T.__matmul__, phi.T.blocks),
            lambda: forth,
            resolvent=lambda: psi().T,
        )
        return forth

    def propagation(self, A: Stack, letter: str, latex: str) -> BlockOperator:
        """Return Psi_A, whose inverse is e - Phi_A."""
        psi = Propagation(self.model.tree, A, letter)

        def inverse() -> BlockOperator:
            return self.identity(MOTIONS) - self.influence(A, letter, latex)

        back: BlockOperator
        name, symbol = f"Psi_{letter}", f"\\Psi_{{{latex}}}"
        forth = self(
            *(name, symbol, MOTIONS, MOTIONS, psi.__matmul__, psi.blocks, lambda: back),
            inverse,
        )
        back = self(
            *(f"{name}^T", f"{symbol}^T", FORCES, FORCES, psi.T.__matmul__, psi.T.blocks),
            lambda: forth,
            lambda: inverse().T,
        )
        return forth

    def diagonal(self, name: str, takes: Space, gives: Space, blocks: Stack) -> BlockOperator:
        """Return a block diagonal, for example of joint maps (6 x n_i)."""

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: blocks[i] for i in self.model.tree.bodies}, name)

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] for i in x}

        def run_back(x: Stack) -> Stack:
            return {i: blocks[i].T @ x[i] for i in x}

        back: BlockOperator
        forth = self(name, name, takes, gives, run, whole, lambda: back)
        more = (run_back, lambda: whole().T, lambda: forth)
        back = self(f"{name}^T", f"{name}^T", DUAL[gives], DUAL[takes], *more)
        return forth

    def inertias(self, name: str, blocks: Stack) -> BlockOperator:
        """Return a block diagonal of symmetric matrices from motions to forces."""

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: blocks[i] for i in self.model.tree.bodies}, name)

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] for i in x}

        made: BlockOperator
        made = self(name, name, MOTIONS, FORCES, run, whole, lambda: made)
        return made

    def joint_matrices(self, R: Stack) -> BlockOperator:
        """Return a block diagonal of joint matrices, which knows its inverse."""
        bodies = self.model.tree.bodies

        def run(x: Stack) -> Stack:
            return {i: Column(_dot(row, x[i]) for row in R[i].rows) for i in x}

        def solve(x: Stack) -> Stack:
            return {i: x[i] / R[i] for i in x}

        def whole() -> BlockMatrix:
            return BlockMatrix.diagonal({i: R[i].rows for i in bodies}, "R")

        def inverses() -> BlockMatrix:
            ones = {i: units(len(R[i].rows)) for i in bodies}
            rows = {i: tuple(tuple(R[i].solve(unit)) for unit in ones[i]) for i in bodies}
            return BlockMatrix.diagonal(rows, "1/R")

        def forth() -> BlockOperator:
            return made

        def inverse() -> BlockOperator:
            return other

        made = self("R", "R", FREEDOMS, FREEDOMS, run, whole, forth, inverse)
        other = self("R^-1", "R^{-1}", FREEDOMS, FREEDOMS, solve, inverses, inverse, forth)
        return made

    def shifts(
        self, name: str, letter: str, latex: str, blocks: Mapping[int, Any]
    ) -> BlockOperator:
        """Return a block diagonal of shifts; bodies on the base have none (D_1 = 0)."""
        tree = self.model.tree
        inner = [i for i in tree.bodies if tree.parent[i]]

        def whole() -> BlockMatrix:
            found = {(i, i): spread(blocks[i]) for i in inner}
            return BlockMatrix.square(tree, found, {at: f"{letter}{at[0]}" for at in found})

        def run(x: Stack) -> Stack:
            return {i: blocks[i] @ x[i] if tree.parent[i] else x[i] * ZERO for i in x}

        def run_back(x: Stack) -> Stack:
            return {i: blocks[i].T @ x[i] if tree.parent[i] else x[i] * ZERO for i in x}

        back: BlockOperator
        forth = self(name, latex, MOTIONS, MOTIONS, run, whole, lambda: back)
        more = (run_back, lambda: whole().T, lambda: forth)
        back = self(f"{name}^T", f"{latex}^T", FORCES, FORCES, *more)
        return forth


def units(n: int) -> tuple[tuple[Scalar, ...], ...]:
    """Return the rows of an identity."""
    return tuple(tuple(1.0 if r == c else ZERO for c in range(n)) for r in range(n))


def _dot(row: tuple[Scalar, ...], x: Column) -> Scalar:
    total: Scalar = ZERO
    for a, b in zip(row, x, strict=True):
        total = total + a * b
    return total
