"""Results from a tile to rows that lie one after the other, by stores that cross no cache line.

Rows of an odd length begin anywhere in a line, and a store across lines takes several times as long
as another.  So each row is written in chunks of four numbers that begin at multiples of 32 bytes:
the columns of a chunk are others in each row.  Four columns become four rows by two steps, of pairs
and of pairs of pairs, and since rows 0 and 2 take the same pairs, and rows 1 and 3, this costs no
more than a transpose of a square.  Where one row ends and the next begins, a chunk is put together
number by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sixfold.llvm.text.writer import Block

SIDE = 4
"""Numbers of a chunk, and rows that are made of the same columns."""

MIN_COLUMNS = 16
"""Columns from which an output is written by chunks; shorter rows are mostly ends."""

MAX_STRAIGHT_COLUMNS = 64
"""Columns up to which all groups are written by straight-line code, zeros or not."""

PHASES = (0, 2)
"""Numbers between a multiple of 32 bytes and the first row, as NumPy allocates arrays."""

_BYTES = 8
_BEFORE = 3
"""Columns before the first that the table of places has, and behind the last."""


def possible(columns: int, item: int, W: int) -> bool:
    """Return whether rows of numbers of so many bytes are written by chunks."""
    return W >= SIDE and item == _BYTES and columns >= MIN_COLUMNS


def places(slots: Sequence[int], W: int) -> list[int]:
    """Return the table of places: bytes from the start of a tile to each column."""
    padded = [*[slots[0]] * _BEFORE, *slots, *[slots[-1]] * (_BEFORE + 1)]
    return [slot * W * _BYTES for slot in padded]


def groups(zero: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Return where groups of columns start: those with values that vary, and those of zeros.

    The chunks of a group begin up to three columns before it.
    """
    starts = range(SIDE, len(zero) - SIDE + 1, SIDE)
    some = [k for k in starts if not all(zero[k - _BEFORE : k + SIDE])]
    return some, sorted(set(starts) - set(some))


def function_name(columns: int, phase: int, W: int) -> str:
    """Return the name of the function for rows of so many columns."""
    return f"rows_{columns}_from{phase}_{W}"


def functions(columns: int, W: int) -> str:
    """Return @rows_N_fromP_W(rows, tile, places, some, some_end, none, none_end) for each phase.

    It writes W rows.  Tables have the places of columns and where groups start, in bytes.
    """
    return "\n".join(_function(columns, phase, W) for phase in PHASES)


def _function(columns: int, phase: int, W: int) -> str:
    """Return the function for rows of which the first begins so many numbers after a chunk."""
    block = Block(W, "double", True)
    before = [(phase + s * columns) % SIDE for s in range(W)]
    loops = columns > MAX_STRAIGHT_COLUMNS

    # the first group and the last, where some rows have no chunk; all groups if they are few
    found = Columns(block, _places(block, "%places"))
    for k in (0, columns - columns % SIDE) if loops else range(0, columns, SIDE):
        for s in range(W):
            if 0 <= k - before[s] <= columns - SIDE:
                chunk = found.chunk(k - before[s], s)
                _store(block, chunk, "%rows", s * columns + k - before[s])

    # chunks of two rows, and what is before the first chunk of all and after the last
    for s in range(W - 1):
        if tail := before[s + 1]:
            ends = [*((columns - tail + n, s) for n in range(tail))]
            ends += [(n, s + 1) for n in range(SIDE - tail)]
            chunk = "undef"
            for n, (c, row) in enumerate(ends):
                x = found.number(c, row)
                chunk = block.emit(f"insertelement {block.few} {chunk}, double {x}, i32 {n}")
            _store(block, chunk, "%rows", (s + 1) * columns - tail)
    last = (before[-1] + columns) % SIDE
    outer = [(n, 0) for n in range(-before[0] % SIDE)]
    outer += [(columns - last + n, W - 1) for n in range(last)]
    for c, s in outer:
        far = block.emit(f"getelementptr i8, ptr %rows, i64 {(s * columns + c) * _BYTES}")
        block.lines.append(f"  store double {found.number(c, s)}, ptr {far}, align {_BYTES}")

    if loops:
        _loops(block, columns, before)
    tables = ", ".join(f"ptr %{x}" for x in ("places", "some", "some_end", "none", "none_end"))
    text = block.function(f"{function_name(columns, phase, W)}(ptr %rows, ptr %tile, {tables})")
    return text.replace("{\n", "{\nentry:\n", 1)


def _loops(block: Block, columns: int, before: Sequence[int]) -> None:
    """Write the groups that tables name, in two loops: those of values that vary, and of zeros."""
    block.lines.append("  br label %some_first")
    along = _begin(block, "some")
    start = block.emit(f"getelementptr i8, ptr %rows, i64 {along}")
    found = Columns(
        block, _places(block, block.emit(f"getelementptr i8, ptr %places, i64 {along}"))
    )
    for s, skipped in enumerate(before):
        _store(block, found.chunk(-skipped, s), start, s * columns - skipped)
    block.lines += ["  br label %some_first", "some_done:", "  br label %none_first"]
    along = _begin(block, "none")
    start = block.emit(f"getelementptr i8, ptr %rows, i64 {along}")
    for s, skipped in enumerate(before):
        _store(block, "zeroinitializer", start, s * columns - skipped)
    block.lines += ["  br label %none_first", "none_done:"]


def _begin(block: Block, name: str) -> str:
    """Begin a loop over the words of a table, and return the word."""
    came = "entry" if name == "some" else "some_done"
    block.lines += [
        f"{name}_first:",
        f"  %{name}_at = phi ptr [%{name}, %{came}], [%{name}_next, %{name}_go]",
        f"  %{name}_more = icmp ne ptr %{name}_at, %{name}_end",
        f"  br i1 %{name}_more, label %{name}_go, label %{name}_done",
        f"{name}_go:",
        f"  %{name}_next = getelementptr i64, ptr %{name}_at, i64 1",
    ]
    return block.emit(f"load i64, ptr %{name}_at")


def _places(block: Block, places: str) -> Callable[[int], str]:
    """Return what finds a column of a tile by a table of places, which may begin in the middle."""

    def found(c: int) -> str:
        word = block.emit(f"getelementptr i64, ptr {places}, i64 {c + _BEFORE}")
        return block.emit(f"getelementptr i8, ptr %tile, i64 {block.emit(f'load i64, ptr {word}')}")

    return found


class Columns:
    """Columns of a tile as chunks of rows; four columns become four rows in two steps."""

    def __init__(self, block: Block, address: Callable[[int], str]) -> None:
        """Take what writes the address of a column."""
        self.block, self.address = block, address
        self.starts: dict[int, str] = {}
        self.halves: dict[tuple[int, int], str] = {}
        self.pairs: dict[tuple[int, int, int], str] = {}

    def column(self, c: int) -> str:
        """Return the address of a column."""
        if c not in self.starts:
            self.starts[c] = self.address(c)
        return self.starts[c]

    def number(self, c: int, s: int) -> str:
        """Return column c of row s."""
        where = self.block.emit(f"getelementptr i8, ptr {self.column(c)}, i64 {s * _BYTES}")
        return self.block.emit(f"load double, ptr {where}, align {_BYTES}")

    def half(self, c: int, lane: int) -> str:
        """Return four rows of a column."""
        if (c, lane) not in self.halves:
            emit, few = self.block.emit, self.block.few
            where = emit(f"getelementptr i8, ptr {self.column(c)}, i64 {lane * _BYTES}")
            self.halves[c, lane] = emit(f"load {few}, ptr {where}, align {SIDE * _BYTES}")
        return self.halves[c, lane]

    def pair(self, c: int, lane: int, odd: int) -> str:
        """Return two columns of the even rows of four, or of the odd ones."""
        key = c, lane, odd
        if key not in self.pairs:
            mask = (1, 5, 3, 7) if odd else (0, 4, 2, 6)
            halves = self.half(c, lane), self.half(c + 1, lane)
            self.pairs[key] = self.block.shuffle(*halves, mask)
        return self.pairs[key]

    def chunk(self, c: int, s: int) -> str:
        """Return four columns of row s, from column c on."""
        lane, mask = s - s % SIDE, (2, 3, 6, 7) if s % SIDE > 1 else (0, 1, 4, 5)
        return self.block.shuffle(self.pair(c, lane, s % 2), self.pair(c + 2, lane, s % 2), mask)


def _store(block: Block, chunk: str, start: str, numbers: int) -> None:
    """Store a chunk so many numbers after an address.

    LLVM would store the halves of some by themselves if it were not volatile.
    """
    where = block.emit(f"getelementptr i8, ptr {start}, i64 {numbers * _BYTES}")
    block.lines.append(f"  store volatile {block.few} {chunk}, ptr {where}, align {SIDE * _BYTES}")
