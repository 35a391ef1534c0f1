"""Writes LLVM text for a function that works on W rows, one in each lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sixfold.compiler.graph.program import CONST, COPY, INPUT, Argument
from sixfold.compiler.llvm.text.instructions import Instructions, types
from sixfold.scalar import BY_NAME

SUPPORTED = frozenset({INPUT, CONST, *BY_NAME})
Value = Callable[[], str]  #: Writes what yields a value, and returns its name.
#: Names of the functions of sine and cosine, before the number of lanes.
SINCOS = {"double": "sincos", "float": "sincos_single"}
#: Slots of a window: an instruction on vectors of 64 bytes has one byte for an offset from -128 to
#: 127 of them, or four bytes.
WINDOW = 256
#: Slots from here on are not in the tile: they follow where a routine returns its results to.
RETURNED = 1 << 40


class Block(Instructions):
    """Writes the function that evaluates W rows.

    A whole block has a row for every lane; another may have fewer.
    """

    prefix = "v"

    def __init__(self, W: int, scalar: str = "double", whole: bool = False) -> None:
        super().__init__(W, scalar)
        #: What comes before all lines, in a function without a label at its start.
        self.head: list[str] = []
        self.tile, self.returned = "%tile", "%returned"
        #: Windows of the tile that have a pointer so far, if slots are found by such pointers.
        self.windows: set[int] | None = None
        self.whole = whole or W == 1
        self.pairs: dict[str, tuple[str, str]] = {}
        self.item = self.width // 8
        self.side = side(W)
        self.few, _ = types(self.side, scalar)

    def rows(self, argument: int) -> list[str]:
        """Return a pointer to each lane's row of an array; lanes past the last row repeat it."""
        base = self.emit(f"load ptr, ptr {self.at('%args', argument)}")
        step = self.emit(f"load i64, ptr {self.at('%steps', argument)}")
        return self.lanes(base, step, self.emit(f"mul i64 %row, {step}"))

    def lanes(self, base: str, step: str, offset: str) -> list[str]:
        """Return a pointer for each lane, a step apart; lanes past the last row repeat it."""
        pointers = [self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")]
        for lane in range(1, self.W):
            more = step
            if not self.whole:
                there = self.emit(f"icmp sgt i64 %valid, {lane}")
                more = self.emit(f"select i1 {there}, i64 {step}, i64 0")
            pointers.append(self.emit(f"getelementptr i8, ptr {pointers[-1]}, i64 {more}"))
        return pointers

    def slot(self, k: int) -> str:
        """Return a pointer to a slot of the tile, or to one where results are returned to."""
        if k >= RETURNED:
            return self.emit(f"getelementptr {self.real}, ptr {self.returned}, i64 {k - RETURNED}")
        if self.windows is None:
            return self.emit(f"getelementptr {self.real}, ptr {self.tile}, i64 {k}")
        number, within = divmod(k, WINDOW)
        middle, window = (f"%{self.prefix}_{name}{number}" for name in ("middle", "window"))
        if number not in self.windows:
            # To LLVM the pointer comes from assembly code, which is empty: knowing where it points,
            # LLVM would count from the start of the tile again.
            slots = number * WINDOW + WINDOW // 2
            self.head += [
                f"  {middle} = getelementptr {self.real}, ptr {self.tile}, i64 {slots}",
                f'  {window} = call ptr asm "", "=r,0"(ptr {middle})',
            ]
            self.windows.add(number)
        return self.emit(f"getelementptr {self.real}, ptr {window}, i64 {within - WINDOW // 2}")

    def read(self, k: int) -> str:
        """Return the value in a slot."""
        return self.load(self.slot(k))

    def load(self, pointer: str) -> str:
        """Return the vector at an address, which is a multiple of its size."""
        return self.emit(f"load {self.real}, ptr {pointer}, align {self.item * self.W}")

    def write(self, k: int, value: str) -> None:
        """Put a value in a slot."""
        where = self.slot(k)
        self.lines.append(f"  store {self.real} {value}, ptr {where}, align {self.item * self.W}")

    def at(self, array: str, index: int | str) -> str:
        """Return a pointer to an element of an array of 64-bit words."""
        return self.emit(f"getelementptr i64, ptr {array}, i64 {index}")

    def place(self, pointer: str, k: int) -> str:
        """Return a pointer to element k of a row."""
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {k * self.item}") if k else pointer

    def columns(
        self, pointers: list[str], size: int, wanted: set[int]
    ) -> Iterator[tuple[int, str]]:
        """Yield the elements of W rows as one vector for each wanted column, with its number.

        A generator, so that at most four vectors are live at once.
        """
        if self.W == 1:
            for k in sorted(wanted):
                where = self.place(pointers[0], k)
                yield k, self.emit(f"load {self.scalar}, ptr {where}, align {self.item}")
            return
        # squares of side x side numbers are transposed; columns left over are read one by one
        found: set[int] = set()
        for start in _groups(size, self.side):
            group = range(start, start + self.side)
            if wanted.isdisjoint(group) or all(k in found for k in group):
                continue
            halves = [
                self.transpose(
                    [
                        self.emit(f"load {self.few}, ptr {self.place(p, start)}, align {self.item}")
                        for p in pointers[lane : lane + self.side]
                    ]
                )
                for lane in range(0, self.W, self.side)
            ]
            for j, k in enumerate(group):
                if k in wanted and k not in found:
                    found.add(k)
                    yield k, self.join_parts([half[j] for half in halves])
        for k in sorted(wanted - found):
            vector = "undef"
            for lane, pointer in enumerate(pointers):
                x = self.emit(
                    f"load {self.scalar}, ptr {self.place(pointer, k)}, align {self.item}"
                )
                vector = self.emit(
                    f"insertelement {self.real} {vector}, {self.scalar} {x}, i32 {lane}"
                )
            yield k, vector

    def shuffle(self, a: str, b: str, mask: Sequence[int]) -> str:
        """Return some lanes of two vectors as long as the side of a square."""
        listed = ", ".join(f"i32 {m}" for m in mask)
        kind = f"<{len(mask)} x i32>"
        return self.emit(f"shufflevector {self.few} {a}, {self.few} {b}, {kind} <{listed}>")

    def transpose(self, rows: Sequence[str]) -> list[str]:
        """Return the columns of a square block."""
        shuffle = self.shuffle
        if len(rows) == 2:
            a, b = rows
            return [shuffle(a, b, (0, 2)), shuffle(a, b, (1, 3))]
        a, b, c, d = rows
        low, low2 = shuffle(a, b, (0, 4, 2, 6)), shuffle(c, d, (0, 4, 2, 6))
        high, high2 = shuffle(a, b, (1, 5, 3, 7)), shuffle(c, d, (1, 5, 3, 7))
        return [
            shuffle(low, low2, (0, 1, 4, 5)),
            shuffle(high, high2, (0, 1, 4, 5)),
            shuffle(low, low2, (2, 3, 6, 7)),
            shuffle(high, high2, (2, 3, 6, 7)),
        ]

    def join_parts(self, parts: list[str]) -> str:
        """Return one vector of all lanes, or two of half of them, as one."""
        if len(parts) == 1:
            return parts[0]
        mask = ", ".join(f"i32 {m}" for m in range(self.W))
        return self.emit(
            f"shufflevector {self.few} {parts[0]}, {self.few} {parts[1]}, <{self.W} x i32> <{mask}>"
        )

    def store(self, pointers: list[str], values: Sequence[Value]) -> None:
        """Write one vector for each column to W rows; each is read when its turn comes."""
        if self.W == 1:
            for k, value in enumerate(values):
                self.lines.append(
                    f"  store {self.real} {value()}, ptr {self.place(pointers[0], k)}, "
                    f"align {self.item}"
                )
            return
        # squares first, then single columns
        size, done = len(values), 0
        for start in _groups(size, self.side):
            for lane in range(0, self.W, self.side):
                square = [self.part(value(), lane) for value in values[start : start + self.side]]
                for pointer, row in zip(
                    pointers[lane : lane + self.side], self.transpose(square), strict=True
                ):
                    where = self.place(pointer, start)
                    self.lines.append(f"  store {self.few} {row}, ptr {where}, align {self.item}")
            done = start + self.side
        for k in range(done, size):
            column = values[k]()
            for lane, pointer in enumerate(pointers):
                x = self.emit(f"extractelement {self.real} {column}, i32 {lane}")
                where = self.place(pointer, k)
                self.lines.append(f"  store {self.scalar} {x}, ptr {where}, align {self.item}")

    def put(self, groups: Sequence[tuple[list[str], Sequence[Value]]]) -> None:
        """Write columns to the rows of several arrays and return; the last block may be short.

        Each group has a pointer to each lane's row, and one vector for each column.
        """
        if not self.whole:
            self.lines.append(f"  %whole = icmp eq i64 %valid, {self.W}")
            self.lines.append("  br i1 %whole, label %all, label %some")
            self.lines.append("all:")
        for pointers, values in groups:
            self.store(pointers, values)
        self.lines.append("  ret void")
        if self.whole:
            return
        self.lines.append("some:")
        for lane in range(self.W - 1):
            for pointers, values in groups:
                for k, value in enumerate(values):
                    x = self.emit(f"extractelement {self.real} {value()}, i32 {lane}")
                    where = self.place(pointers[lane], k)
                    self.lines.append(f"  store {self.scalar} {x}, ptr {where}, align {self.item}")
            self.lines.append(f"  %more{lane} = icmp sgt i64 %valid, {lane + 1}")
            self.lines.append(f"  br i1 %more{lane}, label %lane{lane + 1}, label %done")
            self.lines.append(f"lane{lane + 1}:")
        self.lines += ["  br label %done", "done:", "  ret void"]

    def part(self, value: str, lane: int) -> str:
        """Return as many lanes of a vector as the side of a square has."""
        if self.side == self.W:
            return value
        mask = ", ".join(f"i32 {lane + m}" for m in range(self.side))
        kind = f"<{self.side} x i32>"
        return self.emit(f"shufflevector {self.real} {value}, {self.real} undef, {kind} <{mask}>")

    def widen(self, value: str) -> str:
        """Return a value in double precision, in which other functions are computed."""
        wide, _ = types(self.W)
        return value if wide == self.real else self.emit(f"fpext {self.real} {value} to {wide}")

    def narrow(self, value: str) -> str:
        """Return a double-precision value in the block's own precision."""
        wide, _ = types(self.W)
        return value if wide == self.real else self.emit(f"fptrunc {wide} {value} to {self.real}")

    def sincos(self, x: str) -> tuple[str, str]:
        """Write sine and cosine of a value."""
        pair, name = f"{{{self.real}, {self.real}}}", SINCOS[self.scalar]
        both = self.emit(f"call {pair} @{name}_{self.W}({self.real} {x})")
        s, c = (self.emit(f"extractvalue {pair} {both}, {k}") for k in (0, 1))
        return s, c

    def function(self, head: str, ends: bool = True) -> str:
        """Return the lines as a function; what it spills lies aligned, within cache lines."""
        last = ["  ret void"] if ends else []
        stack = f"alignstack({max(16, self.item * self.W)})"
        head = f"define internal void @{head} noinline {stack} {{"
        return "\n".join([head, *self.head, *self.lines, *last, "}\n"])

    def operation(self, op: Any, x: list[str]) -> str:
        """Write one operation of the graph; sine and cosine of one angle are computed once."""
        if op == COPY or isinstance(op, Argument):
            return x[0]
        if op in ("sin", "cos"):
            if x[0] not in self.pairs:
                self.pairs[x[0]] = self.sincos(x[0])
            return self.pairs[x[0]][int(op == "cos")]
        text, r = BY_NAME[op].llvm, self.real
        if text.startswith("@"):  # a function of `llvm.text`, in double precision
            wide, _ = types(self.W)
            arguments = ", ".join(f"{wide} {self.widen(a)}" for a in x)
            return self.narrow(self.emit(f"call {wide} {text}_{self.W}({arguments})"))
        if text.startswith("llvm."):
            arguments = ", ".join(f"{r} {a}" for a in x)
            return self.emit(f"call {r} @{text}.{self.suffix}({arguments})")
        if text.isalpha():
            return self.emit(f"{text} {r} {', '.join(x)}")
        return self.instructions(text, x)

    def instructions(self, text: str, x: list[str]) -> str:
        """Write the instructions of a row of the table of operations; return the last value."""
        # names that the row of the table may use
        words = {"r": self.real, "s": self.suffix}
        words["bit"] = "i1" if self.W == 1 else f"<{self.W} x i1>"
        if "{zero}" in text:
            for name, number in (("zero", 0.0), ("one", 1.0), ("minus_one", -1.0)):
                words[name] = self.splat(number)
        value = ""
        for line in text.splitlines():
            name, _, instruction = line.rpartition(" := ")
            value = words[name] = self.emit(instruction.format(*x, **words))
        return value


def side(W: int) -> int:
    """Return rows and columns of the square blocks by which rows become columns, and back."""
    return min(W, 4)


def _groups(size: int, side: int) -> list[int]:
    """Return starts of groups of `side` columns that cover a row; the last may overlap."""
    starts = list(range(0, size - side + 1, side))
    if size % side and size > side:
        starts.append(size - side)
    return starts


def table(name: str, words: Sequence[int]) -> str:
    """Return a table of 64-bit words."""
    listed = ", ".join(f"i64 {word}" for word in words or [0])
    return f"@{name} = internal constant [{max(1, len(words))} x i64] [{listed}]"
