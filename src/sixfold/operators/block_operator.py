"""Block operators, and how they are shown as text, HTML and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators.operators import BlockMatrix, Stack
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    ShapeError,
    visible,
    whole_number,
)
from sixfold.model import Model
from sixfold.runtime import Argument, checked_array, enough_memory
from sixfold.scalar import Scalar
from sixfold.spatial import Column, Force, Motion, to_array
from sixfold.spatial.vectors import number_text

Numbers = list[Any]


@dataclass(frozen=True)
class Space:
    """A space of stacked vectors: what a matrix of blocks takes or gives."""

    name: str  #: As in messages.
    kind: type[Motion] | type[Force] | type[Column]

    def shape(self, model: Model) -> Shape:
        """Return the shape of the array of one state."""
        return (model.nv,) if self.kind is Column else (model.nb, 6)

    def stack(self, model: Model, x: Any, where: str) -> tuple[Stack, Shape]:
        """Return one value for each body, and the leading axes."""
        shape = self.shape(model)
        words = "nv numbers" if self.kind is Column else "(nb, 6): one vector for each body"
        array = checked_array(where, "x", Argument(x, shape, words))
        lead = array.shape[: array.ndim - len(shape)]
        numbers = numbers_of(array, shape)
        if self.kind is Column:
            flat = dict(enumerate(numbers))
            slices = model.tree.velocity_slices
            parts = {i: range(slices[i].start, slices[i].stop) for i in model.tree.bodies}
            return {i: Column(flat[k] for k in part) for i, part in parts.items()}, lead
        kind: Any = self.kind
        six = {i: numbers[6 * i - 6 : 6 * i] for i in model.tree.bodies}
        return {i: kind.of(part) for i, part in six.items()}, lead

    def array(self, model: Model, stack: Stack, lead: Shape) -> Array:
        """Return a stack as an array with these leading axes."""
        flat: list[Scalar] = []
        for i in model.tree.bodies:
            part = stack[i]
            flat += part if self.kind is Column else (*part.ang, *part.lin)
        return reshape_numbers(flat, lead, self.shape(model))


MOTIONS = Space("motions", Motion)
FORCES = Space("forces", Force)
JOINTS = Space("numbers, one for each degree of freedom,", Column)


def numbers_of(array: Array, shape: Shape) -> Numbers:
    """Return the numbers of one state, each of which holds the batch."""
    lead = array.shape[: array.ndim - len(shape)]
    flat = array.reshape((*lead, prod(shape)))
    if lead:
        return [flat[..., k] for k in range(flat.shape[-1])]
    return flat.tolist() if flat.dtype != object else list(flat)


def reshape_numbers(numbers: list[Scalar], lead: Shape, shape: Shape) -> Array:
    """Return numbers that each hold a batch as an array (..., shape)."""
    flat = to_array(numbers)
    found = flat.reshape((*flat.shape[:-1], *shape))
    return np.array(np.broadcast_to(found, (*lead, *shape)))


def is_stack(x: Any) -> bool:
    """Return whether something is one value for each body."""
    return isinstance(x, Mapping)


MAX_COLUMNS = 96  #: Characters of a line of labels; longer ones show the pattern alone.
MAX_LATEX_BLOCKS = 24  #: Block rows that are set as a matrix.
_GREEK = {"b": "\\beta"}
_PLAIN = {"b": "\u03b2"}
_WORDS = {"Phi": "\u03a6", "Psi": "\u03a8", "beta": "\u03b2"}
_CELL = "padding:2px 6px"


def grid_text(matrix: BlockMatrix) -> str:
    """Return the blocks by their letters, or their pattern where letters do not fit a line."""
    lines = str(matrix).splitlines()
    if not lines or max(map(len, lines)) <= MAX_COLUMNS:
        return "\n".join(lines)
    rows = (
        "".join(" #" if (i, j) in matrix.blocks else " ." for j in matrix.columns)
        for i in matrix.rows
    )
    return "\n".join(f"[{row} ]" for row in rows)


def grid_html(matrix: BlockMatrix, title: str) -> str:
    """Return the blocks as a table; the numbers of a block are shown when one points at it."""
    body = []
    for i in matrix.rows:
        cells = [f"<th>{i}</th>"]
        for j in matrix.columns:
            if (i, j) not in matrix.blocks:
                cells.append(f'<td style="{_CELL};color:#999">0</td>')
                continue
            label = _html(matrix.labels.get((i, j), ""))
            told = escape(_numbers(matrix, i, j), quote=True)
            style = f"{_CELL};background:#4a90d930"
            cells.append(f'<td style="{style}" title="{told}">{label}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{j}</th>" for j in matrix.columns)
    style = 'style="border-collapse:collapse;text-align:center;font-style:italic"'
    return (
        f'<table class="operator" {style}><caption>{title}</caption>'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def grid_latex(matrix: BlockMatrix) -> str | None:
    """Return the blocks by their letters as a LaTeX matrix; None for one that is too wide."""
    if max(len(matrix.rows), len(matrix.columns)) > MAX_LATEX_BLOCKS:
        return None
    lines = (
        " & ".join(_latex(matrix.labels.get((i, j), "0")) for j in matrix.columns)
        for i in matrix.rows
    )
    form, body = "c" * len(matrix.columns), " \\\\ ".join(lines)
    return f"\\left[\\begin{{array}}{{{form}}} {body} \\end{{array}}\\right]"


def formula_html(text: str) -> str:
    """Return a formula in letters of the keyboard, such as Psi_b^T Phi^T K x, as HTML."""
    marked = re.sub(r"\^(-?\w+)", r"<sup>\1</sup>", escape(text, quote=False))
    marked = re.sub(r"_b\b", "<sub>\u03b2</sub>", marked)
    marked = re.sub(r"_(\w+?)(?=\b|<)", r"<sub>\1</sub>", marked)
    return re.sub(r"\b(Phi|Psi|beta)", lambda m: _WORDS[m[1]], marked)


def _numbers(matrix: BlockMatrix, i: int, j: int) -> str:
    rows = matrix.blocks[i, j]
    if any(getattr(x, "ndim", 0) for row in rows for x in row):
        return f"{len(rows)} x {len(rows[0])}, of several states"
    return "\n".join(" ".join(number_text(x) for x in row) for row in rows)


def _latex(label: str) -> str:
    """Return a label such as D3D1 or (D2)' as LaTeX."""
    named = re.sub(r"([A-Za-z]+)(\d+)", lambda m: f"{_GREEK.get(m[1], m[1])}_{{{m[2]}}}", label)
    return re.sub(r"\(([^()]*)\)'", r"(\1)^T", named)


def _html(label: str) -> str:
    named = re.sub(
        r"([A-Za-z]+)(\d+)", lambda m: f"{_PLAIN.get(m[1], m[1])}<sub>{m[2]}</sub>", label
    )
    return re.sub(r"\(((?:[^()])*)\)'", r"(\1)<sup>T</sup>", named)


MAX_POWER = 10_000


@dataclass(frozen=True, eq=False)
class BlockOperator:
    """A matrix of blocks, one block row and one block column for each body.

    It is applied without being spread out: `operator @ x` takes a stacked vector and sweeps over
    the bodies in O(N).  `operator @ other` is a product, `+`, `-` and `**` work as for matrices,
    `operator.T` is the transpose, `operator.dense()` and `np.asarray(operator)` are all numbers.

    A stacked vector is an array: motions and forces (..., nb, 6), joint quantities (..., nv).
    A dictionary {body: Motion, Force or Column} gives a dictionary.
    """

    name: str  #: As the source writes it, in letters of the keyboard.
    latex: str  #: The same in LaTeX.
    model: Model
    takes: Space
    gives: Space
    lead: Shape  #: Leading axes of the state.
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
            return self._apply(other)

    def _apply(self, x: Any) -> Array:
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
        left, right = _bracket(self.name), _bracket(other.name)
        return BlockOperator(
            f"{left} {right}",
            f"{_bracket(self.latex)} {_bracket(other.latex)}",
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
            raise NotApplicableError(
                where, what, "make both from one sf.operators.influence_operators(model, q)"
            )

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
        minus = other.name if sign > 0 else _bracket(other.name)
        return BlockOperator(
            f"{self.name} {mark} {minus}",
            f"{self.latex} {mark} {other.latex if sign > 0 else _bracket(other.latex)}",
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
        power = whole_number(f"{self.name} ** n", "n", power, 1, MAX_POWER)
        if self.takes is not self.gives:
            where = f"'{self.name}', which takes {self.takes.name} and gives {self.gives.name}"
            raise NotApplicableError("a power", where, "multiply it with an operator that fits")
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
            f"{_bracket(self.name)}^{power}",
            f"{{{_bracket(self.latex)}}}^{{{power}}}",
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
        return reshape_numbers([x for row in matrix.blocks[i, j] for x in row], self.lead, size)

    def pattern(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which blocks are not zero, shape (nb, nb)."""
        matrix = self.spread()
        return np.array([[(i, j) in matrix.blocks for j in matrix.columns] for i in matrix.rows])

    def dense(self) -> Array:
        """Return all numbers, shape (..., rows, columns); motions and forces have 6 nb of them."""
        rows = self.spread().dense()
        return reshape_numbers([x for row in rows for x in row], self.lead, self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all numbers."""
        if copy is False:
            raise ValueError("an operator is no array: one has to be made")
        return self.dense() if dtype is None else self.dense().astype(dtype)

    def __reduce__(self) -> Any:
        """Refuse to be pickled: it is made of functions."""
        fix = "pickle the object of sf.operators.influence_operators, or operator.dense()"
        raise NotApplicableError("pickle", f"the operator {self.name}", fix)

    def __repr__(self) -> str:
        """Describe it in one line."""
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


def _bracket(name: str) -> str:
    """Return a name that may stand in a product."""
    return f"({name})" if " + " in name or " - " in name else name
