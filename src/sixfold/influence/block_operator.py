"""Matrices of blocks that act in O(N): applied, multiplied, added, spread out and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators.operators import BlockMatrix, Stack
from sixfold.errors import ArgumentError, NotApplicableError, OptionError, ShapeError, visible
from sixfold.evaluate import enough_memory
from sixfold.influence.show import formula_html, grid_html, grid_latex, grid_text
from sixfold.influence.stacks import Space, is_stack, shaped
from sixfold.model import Model

MAX_POWER = 10_000


@dataclass(frozen=True, eq=False)
class BlockOperator:
    """A matrix of blocks, one block row and one block column for each body.

    It is applied without being spread out: `operator @ x` takes a stacked vector and sweeps over
    the bodies in O(N).  `operator @ other` is a product, `+`, `-` and `**` work as for matrices,
    `operator.T` is the transpose, `operator.dense()` and `np.asarray(operator)` are all numbers.

    A stacked vector is an array: motions and forces (..., nb, 6), numbers for the freedoms
    (..., nv).  A dictionary {body: Motion, Force or Column} gives a dictionary.
    """

    name: str
    """As the source writes it, in letters of the keyboard."""
    latex: str
    """The same in LaTeX."""
    model: Model
    takes: Space
    gives: Space
    lead: Shape
    """Leading axes of the state."""
    run: Callable[[Stack], Stack] = field(repr=False)
    spread: Callable[[], BlockMatrix] = field(repr=False)
    transposed: Callable[[], BlockOperator] = field(repr=False)
    inverted: Callable[[], BlockOperator] | None = field(default=None, repr=False)
    # (e - this)^-1, where a sweep computes it
    resolvent: Callable[[], BlockOperator] | None = field(default=None, repr=False)
    # what makes an identity on another space, where this is one
    identity: Callable[[Space], BlockOperator] | None = field(default=None, repr=False)

    __array_ufunc__ = None

    def __matmul__(self, other: Any) -> Any:
        """Apply to a stacked vector, or multiply two operators."""
        if isinstance(other, BlockOperator):
            return self._product(other)
        if is_stack(other):
            return self.run(self._whole(other))
        with enough_memory(f"{self.name} @ x", "the product"):
            return self._applied(other)

    def _applied(self, x: Any) -> Array:
        stack, lead = self.takes.stack(self.model, x, f"{self.name} @ x")
        try:
            whole = np.broadcast_shapes(self.lead, lead)
        except ValueError:
            expected = f"leading axes that fit {self.lead}, those of the state"
            fix = "give one vector for each state, or one for all"
            raise ShapeError(f"{self.name} @ x", "x", expected, lead, fix) from None
        return self.gives.array(self.model, self.run(stack), whole)

    def _whole(self, x: Any) -> Stack:
        missing = [i for i in self.model.tree.bodies if i not in x]
        wrong = [i for i in self.model.tree.bodies if i in x and not isinstance(x[i], self._kind)]
        if missing or wrong:
            where = f"{self.name} @ x: body {(missing or wrong)[0]}"
            got = None if missing else x[wrong[0]]
            fix = "give one for each body, numbered from 1"
            raise ArgumentError(where, f"a {self.takes.kind.__name__}", got, fix)
        return {i: x[i] for i in self.model.tree.bodies}

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return self.identity is not None

    @property
    def _kind(self) -> Any:
        return self.takes.kind

    def _product(self, other: BlockOperator) -> BlockOperator:
        self._same_model(other)
        if self.is_identity or other.is_identity:  # an identity has the size it is asked for
            return other if self.is_identity else self
        if self.takes is not other.gives:
            where = f"{self.name} @ {other.name}: {other.name} gives {other.gives.name}"
            fix = "multiply .blocks() to ignore what the vectors mean"
            raise ShapeError(
                where, "other", f"{self.takes.name} in the middle", other.gives.name, fix
            )
        left, right = _bracketed(self.name), _bracketed(other.name)
        return BlockOperator(
            f"{left} {right}",
            f"{_bracketed(self.latex)} {_bracketed(other.latex)}",
            self.model,
            other.takes,
            self.gives,
            np.broadcast_shapes(self.lead, other.lead),
            lambda x: self.run(other.run(x)),
            lambda: self.spread() @ other.spread(),
            lambda: other.T @ self.T,
            None
            if self.inverted is None or other.inverted is None
            else lambda: other.inverse() @ self.inverse(),
        )

    def _same_model(self, other: BlockOperator) -> None:
        if other.model is not self.model:
            where = f"{self.name} and {other.name}: operators of two models"
            what = f"operators of model '{self.model.name}'"
            raise NotApplicableError(where, what, "make both from one sf.operators(model, q)")

    def _sum(self, other: Any, sign: int) -> BlockOperator:
        if not isinstance(other, BlockOperator):
            return NotImplemented
        self._same_model(other)
        mark = "+" if sign > 0 else "-"
        if self.identity is not None and other.takes is other.gives:
            self = self.identity(other.takes)
        if (self.takes, self.gives) != (other.takes, other.gives):
            where = f"{self.name} {mark} {other.name}"
            expected = f"an operator from {self.takes.name} to {self.gives.name}"
            got = f"one from {other.takes.name} to {other.gives.name}"
            raise ShapeError(where, "other", expected, got, "add operators of one kind")

        def run(x: Stack) -> Stack:
            a, b = self.run(x), other.run(x)
            return {i: a[i] + b[i] if sign > 0 else a[i] - b[i] for i in a}

        def spread() -> BlockMatrix:
            a, b = self.spread(), other.spread()
            return a + b if sign > 0 else a - b

        # e - Phi, whose inverse is Psi
        known = self.is_identity and sign < 0
        minus = other.name if sign > 0 else _bracketed(other.name)
        return BlockOperator(
            f"{self.name} {mark} {minus}",
            f"{self.latex} {mark} {other.latex if sign > 0 else _bracketed(other.latex)}",
            self.model,
            self.takes,
            self.gives,
            np.broadcast_shapes(self.lead, other.lead),
            run,
            spread,
            lambda: self.T._sum(other.T, sign),
            other.resolvent if known else None,
        )

    def __add__(self, other: Any) -> BlockOperator:
        """Add two operators."""
        return self._sum(other, 1)

    def __sub__(self, other: Any) -> BlockOperator:
        """Subtract."""
        return self._sum(other, -1)

    def __pow__(self, power: Any) -> BlockOperator:
        """Multiply with itself; Phi ** nilpotency is zero."""
        whole = isinstance(power, int) and not isinstance(power, bool)
        if not whole or not 1 <= power <= MAX_POWER or self.takes is not self.gives:
            raise OptionError(
                f"{self.name} ** n", "n", f"a whole number from 1 to {MAX_POWER}", power
            )
        if power == 1 or self.is_identity:
            return self

        def run(x: Stack) -> Stack:
            for _ in range(power):
                x = self.run(x)
            return x

        def spread() -> BlockMatrix:
            one = total = self.spread()
            for _ in range(power - 1):
                total = one @ total
                if not total.blocks:
                    break
            return total

        return BlockOperator(
            f"{_bracketed(self.name)}^{power}",
            f"{{{_bracketed(self.latex)}}}^{{{power}}}",
            self.model,
            self.takes,
            self.gives,
            self.lead,
            run,
            spread,
            lambda: self.T**power,
        )

    @property
    def T(self) -> BlockOperator:
        """The transpose; motions and forces change places."""
        return self.transposed()

    def inverse(self) -> BlockOperator:
        """Return the inverse where it is one of the source's operators: (e - Phi)^-1 = Psi.

        Returns:
            Another BlockOperator.

        Raises:
            NotApplicableError: if no sweep computes it; `np.linalg.inv(operator.dense())` may.
        """
        if self.inverted is None:
            fix = "use numpy.linalg.inv(operator.dense())"
            raise NotApplicableError(f"{self.name}.inverse()", "an operator without a sweep", fix)
        return self.inverted()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers in a column and in a row of one state's matrix."""
        sizes = (space.shape(self.model) for space in (self.gives, self.takes))
        rows, columns = (int(np.prod(size)) for size in sizes)
        return rows, columns

    def blocks(self) -> BlockMatrix:
        """Return the matrix of blocks itself: blocks by (row, column), with their letters.

        Returns:
            A BlockMatrix, whose numbers may hold a batch; it multiplies and adds with others.
        """
        return self.spread()

    def block(self, i: int, j: int) -> Array:
        """Return one block as an array.

        Args:
            i: body of the block row, from 1.
            j: body of the block column, from 1.

        Returns:
            An array (..., rows, columns); zeros where there is no block.
        """
        matrix = self.spread()
        for name, at, sizes in (("i", i, matrix.rows), ("j", j, matrix.columns)):
            if isinstance(at, bool) or not isinstance(at, int) or at not in sizes:
                raise OptionError("BlockOperator.block", name, f"a body from 1 to {len(sizes)}", at)
        size = (matrix.rows[i], matrix.columns[j])
        if (i, j) not in matrix.blocks:
            return np.zeros((*self.lead, *size))
        return shaped([x for row in matrix.blocks[i, j] for x in row], self.lead, size)

    def pattern(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which blocks are not zero, shape (nb, nb)."""
        matrix = self.spread()
        return np.array([[(i, j) in matrix.blocks for j in matrix.columns] for i in matrix.rows])

    def dense(self) -> Array:
        """Return all numbers, shape (..., rows, columns); motions and forces have 6 nb of them."""
        rows = self.spread().dense()
        return shaped([x for row in rows for x in row], self.lead, self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all numbers."""
        if copy is False:
            raise ValueError("an operator is no array: one has to be made")
        return self.dense() if dtype is None else self.dense().astype(dtype)

    def __reduce__(self) -> Any:
        """Refuse to be pickled: it is made of functions."""
        fix = "pickle the object of sf.operators, or operator.dense()"
        raise NotApplicableError("pickle", f"the operator {self.name}", fix)

    def __repr__(self) -> str:
        """Say what it is in one line."""
        n, found = self.model.nb, len(self.spread().blocks)
        rows, columns = self.shape
        return f"<{self.name}: {n} x {n} blocks, {found} not zero, {rows} x {columns} numbers>"

    def __str__(self) -> str:
        """Print as a matrix of blocks."""
        return f"{self.name} =\n{grid_text(self.spread())}"

    def _repr_html_(self) -> str:
        """Return a table of blocks for notebooks."""
        of = f" of '{escape(visible(self.model.name), quote=False)}'"
        return grid_html(self.spread(), formula_html(self.name) + of)

    def _repr_latex_(self) -> str | None:
        """Return a matrix of blocks for notebooks."""
        found = grid_latex(self.spread())
        return None if found is None else f"${self.latex} = {found}$"


def _bracketed(name: str) -> str:
    """Return a name that may stand in a product."""
    return f"({name})" if " + " in name or " - " in name else name
