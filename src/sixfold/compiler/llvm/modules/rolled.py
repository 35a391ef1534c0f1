"""A rolled program as LLVM text: one function for each kind and sweep, and loops over all items.

The text knows the kinds but not the items: their number, constants and places are data, so that a
chain of a hundred links and one of ten thousand run the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sixfold.compiler.graph.program import CONST, INPUT
from sixfold.compiler.graph.rolled import (
    ARRAYS,
    COLUMNS,
    KEPT,
    KIND,
    WORDS_BEFORE,
    WORDS_EACH,
    Part,
    Rolled,
    Source,
    output_of,
    words,
)
from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.layout.gather_scatter import head, nan_without_scratch
from sixfold.compiler.llvm.layout.inner_loop import copies, tiled_loop
from sixfold.compiler.llvm.layout.pieces import library
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.text.writer import Block


def module(rolled: Rolled, layout: Layout, W: int, triple: str = "") -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc."""
    # operations of all kinds and sweeps
    programs = [part.program for sweep in rolled.parts for part in sweep] + [rolled.last.program]
    used = {op for program in programs for op, *_ in program.nodes}
    parts = [scratch.DECLARATIONS]
    for width in (1,) if W == 1 else (1, W):
        parts.append(library(layout, width, used))
        for s, sweep in enumerate(rolled.parts):
            parts += [_item(rolled, layout, s, k, part, width) for k, part in enumerate(sweep)]
        parts.append(_last(rolled, layout, width))
        parts.append(_rows(rolled, layout, width))
    parts.append(copies(layout.scalar))
    parts.append(tiled_loop(layout, W, triple))
    return "\n".join(parts)


class _Item(Block):
    """Writes what a sweep does to an item; places are counted from the words of its record."""

    def __init__(self, W: int, layout: Layout) -> None:
        super().__init__(W, layout.scalar)
        self.layout, self.found = layout, {}  # type: ignore[var-annotated]

    def once(self, text: str) -> str:
        """Write an instruction unless it was written before."""
        if text not in self.found:
            self.found[text] = self.emit(text)
        return str(self.found[text])

    def word(self, k: int) -> str:
        """Return a word of the record."""
        where = self.once(f"getelementptr i32, ptr %record, i64 {k}")
        return self.once(f"sext i32 {self.once(f'load i32, ptr {where}')} to i64")

    def vector(self, start: str, place: int) -> str:
        """Return a pointer to a vector of scratch."""
        base = self.once(f"getelementptr {self.real}, ptr %scratch, i64 {start}")
        return self.once(f"getelementptr {self.real}, ptr {base}, i64 {place}")

    def load(self, where: str) -> str:
        """Return a vector of scratch."""
        return self.emit(f"load {self.real}, ptr {where}, align {self.item * self.W}")

    def keep(self, value: str, where: str) -> None:
        """Put a vector in scratch."""
        self.lines.append(f"  store {self.real} {value}, ptr {where}, align {self.item * self.W}")

    def element(self, array: int, lane: int, start: str, component: int) -> str:
        """Return a pointer to an element of a lane's row."""
        slot = self.once(f"getelementptr ptr, ptr %lanes, i64 {array * self.W + lane}")
        row = self.once(f"load ptr, ptr {slot}")
        first = self.once(f"getelementptr {self.scalar}, ptr {row}, i64 {start}")
        return self.place(first, component)

    def rows_of(self, array: int, start: str, component: int) -> str:
        """Return an element of each lane's row."""
        vector = "undef"
        for lane in range(self.W):
            where = self.element(array, lane, start, component)
            x = self.emit(f"load {self.scalar}, ptr {where}, align {self.item}")
            if self.W == 1:
                return x
            vector = self.emit(f"insertelement {self.real} {vector}, {self.scalar} {x}, i32 {lane}")
        return vector

    def to_rows(self, array: int, start: str, component: int, value: str) -> None:
        """Put a value's lanes in an element of each lane's row; lanes past the last repeat it."""
        for lane in range(self.W):
            x = value
            if self.W > 1:
                x = self.emit(f"extractelement {self.real} {value}, i32 {lane}")
            where = self.element(array, lane, start, component)
            self.lines.append(f"  store {self.scalar} {x}, ptr {where}, align {self.item}")

    def column(self, place: int) -> str:
        """Return a constant of the item in every lane."""
        where = self.once(f"getelementptr double, ptr %columns, i64 {place}")
        x = self.once(f"load double, ptr {where}, align 8")
        if self.scalar != "double":
            x = self.once(f"fptrunc double {x} to {self.scalar}")
        return self.broadcast(x)

    def broadcast(self, x: str) -> str:
        """Return a number in every lane."""
        if self.W == 1:
            return x
        first = self.once(f"insertelement {self.real} undef, {self.scalar} {x}, i32 0")
        zeros = f"<{self.W} x i32> zeroinitializer"
        return self.once(f"shufflevector {self.real} {first}, {self.real} undef, {zeros}")


Read = Mapping[str, Callable[..., str]]
Sink = Callable[[Source, str], None]


def _write(block: _Item, part: Part, read: Read, sink: Sink) -> None:
    """Write the operations of a part; `read` gives the sources, `sink` takes the results."""
    values: dict[int, str] = {}
    nodes = part.program.nodes
    # results by node: they are stored as soon as they are computed
    wanted: dict[int, list[int]] = {}
    for k, node in enumerate(part.program.outputs):
        wanted.setdefault(node, []).append(k)

    def value(k: int) -> str:
        if k not in values:
            op, x, *_ = nodes[k]
            if op == CONST:
                values[k] = block.splat(x)
            else:
                kind, *place = part.sources[x]
                values[k] = read[kind](*place)
        return values[k]

    for k, (op, *arguments) in enumerate(nodes):
        if op not in (CONST, INPUT):
            values[k] = block.operation(op, [value(a) for a in arguments])
        for result in wanted.get(k, ()):
            sink(part.sinks[result], value(k))


def _item(rolled: Rolled, layout: Layout, s: int, k: int, part: Part, W: int) -> str:
    """Return @item_s_k_W: what sweep s does to an item of kind k."""
    block = _Item(W, layout)
    # the last three words of a record: slots of this sweep
    first = ARRAYS + rolled.arrays + rolled.outputs

    def sink(to: Source, value: str) -> None:
        kind, place, *_ = to
        if kind == "out":
            n = rolled.arrays + output_of(to)
            block.to_rows(n, block.word(ARRAYS + n), place, value)
        elif kind == "keep":
            block.keep(value, block.vector(block.word(KEPT), place))
        elif kind == "publish":
            block.keep(value, block.vector(block.word(first), place))
        else:
            if not rolled.single:
                old = block.load(block.vector(block.word(first + 1), place))
                value = block.emit(f"fadd {block.real} {old}, {value}")
            block.keep(value, block.vector(block.word(first + 2), place))

    read: Read = {
        "array": lambda a, c: block.rows_of(a, block.word(ARRAYS + a), c),
        "column": block.column,
        "kept": lambda place: block.load(block.vector(block.word(KEPT), place)),
        "parent": lambda place: block.load(block.vector(block.word(first + 1), place)),
        "sum": lambda place: block.load(block.vector(block.word(first), place)),
    }
    _write(block, part, read, sink)
    return block.function(f"item_{s}_{k}_{W}(ptr %record, ptr %columns, ptr %lanes, ptr %scratch)")


def _last(rolled: Rolled, layout: Layout, W: int) -> str:
    """Return @last_W: what is done once, with the sums at the root."""
    block = _Item(W, layout)

    def total(sweep: int, place: int) -> str:
        where = block.once(
            f"getelementptr i64, ptr %data, i64 {WORDS_BEFORE + WORDS_EACH * sweep + 2}"
        )
        return block.load(block.vector(block.once(f"load i64, ptr {where}"), place))

    def sink(to: Source, value: str) -> None:
        block.to_rows(rolled.arrays + output_of(to), "0", to[1], value)

    _write(block, rolled.last, {"sum": total}, sink)
    return block.function(f"last_{W}(ptr %data, ptr %lanes, ptr %scratch)")


def _rows(rolled: Rolled, layout: Layout, W: int) -> str:
    """Return @rows_W: all rows from row to stop, in blocks of W, each through all sweeps."""
    block = _Item(W, layout)
    arrays = rolled.arrays + rolled.outputs
    size = W * layout.item
    lines = [
        head("rows", W, ""),
        "entry:",
        "  %n = load i64, ptr %data",
        "  %wp = getelementptr i64, ptr %data, i64 1",
        "  %vectors = load i64, ptr %wp",
        f"  %bytes = mul i64 %vectors, {size}",
        "  %scratch = call ptr @scratch_alloc(i64 %bytes)",
        f"  %lanes = alloca ptr, i64 {arrays * W}",
        *nan_without_scratch(layout, "%scratch", "%start"),
        "start:",
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %start], [%next, %ends]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %block, label %done",
        "block:",
    ]
    block.lines = lines
    # a pointer to each lane's row of each array; lanes past the last row repeat it
    last = block.emit("sub i64 %stop, 1")
    for a in range(arrays):
        base = block.emit(f"load ptr, ptr {block.emit(f'getelementptr ptr, ptr %args, i64 {a}')}")
        step = block.emit(f"load i64, ptr {block.emit(f'getelementptr i64, ptr %steps, i64 {a}')}")
        for lane in range(W):
            row = block.emit(f"add i64 %at, {lane}")
            past = block.emit(f"icmp sgt i64 {row}, {last}")
            row = block.emit(f"select i1 {past}, i64 {last}, i64 {row}")
            where = block.emit(
                f"getelementptr i8, ptr {base}, i64 {block.emit(f'mul i64 {row}, {step}')}"
            )
            slot = block.emit(f"getelementptr ptr, ptr %lanes, i64 {a * W + lane}")
            lines.append(f"  store ptr {where}, ptr {slot}")
    lines.append("  br label %sweep0")
    for s in range(len(rolled.outward)):
        _sweep(block, rolled, s)
    ends = len(rolled.outward)
    lines += [
        f"sweep{ends}:",
        f"  call void @last_{W}(ptr %data, ptr %lanes, ptr %scratch)",
        "  br label %ends",
        "ends:",
        f"  %next = add i64 %at, {W}",
        "  br label %group",
        "done:",
        "  call void @scratch_free(ptr %scratch)",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _sweep(block: _Item, rolled: Rolled, s: int) -> None:
    """Write the loop of one sweep over all items."""
    lines, W = block.lines, block.W
    each, kinds = rolled.passed[s], len(rolled.items)
    outward = rolled.outward[s]
    lines.append(f"sweep{s}:")
    block.found = {}

    def header(k: int) -> str:
        where = block.emit(f"getelementptr i64, ptr %data, i64 {WORDS_BEFORE + WORDS_EACH * s + k}")
        return block.emit(f"load i64, ptr {where}")

    # where the records and constants of this sweep are, and its slots of the root
    records = block.emit(f"getelementptr i8, ptr %data, i64 {header(0)}")
    columns = block.emit(f"getelementptr i8, ptr %data, i64 {header(1)}")
    root, area = header(2), header(3)
    # the root's values for its children, or zeros for items without children
    first = 8 * (WORDS_BEFORE + WORDS_EACH * len(rolled.outward)) + 8 * sum(rolled.passed[:s])
    for k in range(each):
        value = block.splat(0.0)
        if outward:
            where = block.emit(f"getelementptr i8, ptr %data, i64 {first + 8 * k}")
            x = block.emit(f"load double, ptr {where}")
            if block.scalar != "double":
                x = block.emit(f"fptrunc double {x} to {block.scalar}")
            value = block.broadcast(x)
        start = root if outward else area
        base = block.emit(f"getelementptr {block.real}, ptr %scratch, i64 {start}")
        block.keep(value, block.emit(f"getelementptr {block.real}, ptr {base}, i64 {k}"))
    # parents before children, or children before parents
    begin = "0" if outward else block.emit("sub i64 %n, 1")
    lines += [
        f"  br label %head{s}",
        f"head{s}:",
        f"  %i{s} = phi i64 [{begin}, %sweep{s}], [%j{s}, %tail{s}]",
        f"  %in{s} = icmp ult i64 %i{s}, %n",
        f"  br i1 %in{s}, label %body{s}, label %sweep{s + 1}",
        f"body{s}:",
        f"  %o{s} = mul i64 %i{s}, {4 * words(rolled)}",
        f"  %r{s} = getelementptr i8, ptr {records}, i64 %o{s}",
        f"  %cp{s} = getelementptr i32, ptr %r{s}, i64 {COLUMNS}",
        f"  %cw{s} = load i32, ptr %cp{s}",
        f"  %cx{s} = sext i32 %cw{s} to i64",
        f"  %c{s} = getelementptr double, ptr {columns}, i64 %cx{s}",
    ]
    arguments = f"(ptr %r{s}, ptr %c{s}, ptr %lanes, ptr %scratch)"
    # the function of the item's kind
    if kinds == 1:
        lines += [f"  call void @item_{s}_0_{W}{arguments}", f"  br label %tail{s}"]
    else:
        cases = " ".join(f"i32 {k}, label %kind{s}_{k}" for k in range(1, kinds))
        lines += [
            f"  %kp{s} = getelementptr i32, ptr %r{s}, i64 {KIND}",
            f"  %k{s} = load i32, ptr %kp{s}",
            f"  switch i32 %k{s}, label %kind{s}_0 [{cases}]",
        ]
        for k in range(kinds):
            lines += [
                f"kind{s}_{k}:",
                f"  call void @item_{s}_{k}_{W}{arguments}",
                f"  br label %tail{s}",
            ]
    step = 1 if outward else -1
    lines += [f"tail{s}:", f"  %j{s} = add i64 %i{s}, {step}", f"  br label %head{s}"]
