"""Results from tiles to rows in whole cache lines, for vectors that hold one line.

Eight columns of a block are transposed: one vector for each row.  A row starts anywhere in a cache
line, so a line takes the end of one vector and the beginning of the next, which is one permutation
of two vectors.  The first line of a row begins with the end of the row before.

All lines of a block are written at its end.  Where rows begin with a line, pieces may do it earlier
(`piece_lines`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.compiler.llvm.layout.gather_scatter import Store, prefetch
from sixfold.compiler.llvm.layout.piece_lines import store_remaining_lines
from sixfold.compiler.llvm.layout.pieces import every_block, tile_size
from sixfold.compiler.llvm.layout.plan import LANES, Plan
from sixfold.compiler.llvm.layout.signature import LINE_BYTES, Layout
from sixfold.compiler.llvm.text.instructions import Instructions, all_true
from sixfold.compiler.llvm.text.writer import table

#: Columns from which results are written by lines. For 65,536 states, ur5's derivatives take 0.5,
#: panda's mass matrix 0.8 of the time of rows that are staged or scattered.
MIN_COLUMNS = 16

_LINE = f"<{LANES} x double>"
_HALF = f"<{LANES // 2} x double>"
_INDEX = f"<{LANES} x i64>"
_PERMUTE = "@llvm.x86.avx512.vpermi2var.pd.512"
DECLARATIONS = f"declare {_LINE} {_PERMUTE}({_LINE}, {_INDEX}, {_LINE})\n"

# a writer in memory, by the byte: a vector of the end of each row of the last block, permutations,
# what is before the first row, and words
_ENDS, _INDICES, _DUMMY = 0, LANES * LINE_BYTES, 2 * LANES * LINE_BYTES
_LINES = _DUMMY + LINE_BYTES
_FIRST, _TAILS = (_LINES + 8 * (LANES + n) for n in range(2))
WRITER_BYTES = -(-(_TAILS + 8) // LINE_BYTES) * LINE_BYTES


def supports(layout: Layout, W: int, permutes: bool) -> bool:
    """Return whether results are written by lines; the processor must permute two vectors."""
    lines = W == LANES and layout.item * LANES == LINE_BYTES
    return permutes and lines and min(layout.output_sizes) >= MIN_COLUMNS


class Stream(Store):
    """Store strategy for whole blocks of dense rows, by whole lines.

    Lines go into the caches, and are prefetched meanwhile; or past them, and those of arrays that
    begin with a line are written by the pieces if these can, the others at the end of a block.
    """

    def __init__(self, layout: Layout, cut: Plan, W: int, T: int, past: bool) -> None:
        self.layout, self.cut, self.W, self.past = layout, cut, W, past
        self.by_pieces = past and cut.lines is not None
        self.size = tile_size(layout, cut, W)
        self.tiles = T * self.size
        self.scratch_bytes = len(layout.outputs) * WRITER_BYTES

    def begin(self) -> list[str]:
        """Return what sets up a writer for each output."""
        # a writer for each output, and whether its rows begin with a line
        lines, wholes = [], []
        for o, numbers in enumerate(self.layout.output_sizes):
            row, n = numbers * self.layout.item, len(self.layout.inputs) + o
            lines += [
                f"  %writer{o} = getelementptr i8, ptr %tiles, i64 {self.tiles + o * WRITER_BYTES}",
                f"  %out_p{o} = getelementptr ptr, ptr %args, i64 {n}",
                f"  %out{o} = load ptr, ptr %out_p{o}",
                f"  %skipped{o} = mul i64 %row, {row}",
                f"  %begin{o} = getelementptr i8, ptr %out{o}, i64 %skipped{o}",
                f"  call void @lines_begin(ptr %writer{o}, ptr %begin{o}, i64 {row})",
                f"  %number{o} = ptrtoint ptr %begin{o} to i64",
                f"  %within{o} = and i64 %number{o}, {LINE_BYTES - 1}",
                f"  %whole{o} = icmp eq i64 %within{o}, 0",
            ]
            wholes.append(f"%whole{o}")
        if self.by_pieces:
            lines += all_true("%by_pieces", wholes)
        return lines

    def begin_group(self) -> list[str]:
        """Return what tells the pieces where the rows of a block are."""
        lines: list[str] = []
        if self.cut.lines is None or not self.by_pieces:
            return lines
        slot = self.cut.lines.targets * self.W * self.layout.item
        for o, numbers in enumerate(self.layout.output_sizes):
            lines += [
                f"  %along{o} = mul i64 %at, {numbers * self.layout.item}",
                f"  %rows{o} = getelementptr i8, ptr %out{o}, i64 %along{o}",
                f"  %target{o} = select i1 %by_pieces, ptr %rows{o}, ptr null",
                f"  %target_p{o} = getelementptr i8, ptr %tiles, i64 {slot + 8 * o}",
                f"  store ptr %target{o}, ptr %target_p{o}",
            ]
        return lines

    def before_piece(self, p: int, name: str) -> list[str]:
        """Return what is done for a block before piece p."""
        return [] if self.past else prefetch(self.layout, self.W, p, len(self.cut.pieces), name)

    def end_of_group(self, after: str) -> list[str]:
        """Return what writes the lines of a group; it goes to the label %group_end."""
        outputs = range(len(self.layout.outputs))
        name = "lines_past" if self.past else "lines"
        write = [f"  call void @{name}_{o}(ptr %writer{o}, ptr %tile_last)" for o in outputs]
        last = every_block("last", after, write, "group_end", self.size)
        if not self.by_pieces:
            return ["  br label %last", *last]
        return [
            "  br i1 %by_pieces, label %rest, label %last",
            "rest:",
            f"  call void @store_remaining_lines_{self.W}(ptr %tiles)",
            "  br label %group_end",
            *last,
        ]

    def finish(self) -> list[str]:
        """Return what writes the incomplete lines before the first row and after the last."""
        lines = []
        for o, numbers in enumerate(self.layout.output_sizes):
            lines += [
                f"  %until{o} = mul i64 %at, {numbers * self.layout.item}",
                f"  %end{o} = getelementptr i8, ptr %out{o}, i64 %until{o}",
                f"  call void @lines_end(ptr %writer{o}, ptr %begin{o}, ptr %end{o})",
            ]
        return [*lines, "  fence seq_cst"]  # non-temporal stores are visible before anything later


class _Text(Instructions):
    """Writes a function that stores lines, past the caches or not."""

    prefix = "v"

    def __init__(self, past: bool) -> None:
        super().__init__(LANES)
        self.past = past

    def word(self, place: int, kind: str = "i64") -> str:
        """Return a word of the writer."""
        return self.emit(f"load {kind}, ptr {self.at('%writer', place)}")

    def put(self, place: int, value: str, kind: str = "i64") -> None:
        """Set a word of the writer."""
        self.lines.append(f"  store {kind} {value}, ptr {self.at('%writer', place)}")

    def vectors(self, place: int, kind: str = _LINE) -> list[str]:
        """Return a vector of the writer for each row."""
        places = range(place, place + LANES * LINE_BYTES, LINE_BYTES)
        return [
            self.emit(f"load {kind}, ptr {self.at('%writer', p)}, align {LINE_BYTES}")
            for p in places
        ]

    def put_vectors(self, place: int, values: Sequence[str]) -> None:
        """Set a vector of the writer for each row."""
        for n, value in enumerate(values):
            where = self.at("%writer", place + n * LINE_BYTES)
            self.lines.append(f"  store {_LINE} {value}, ptr {where}, align {LINE_BYTES}")

    def at(self, base: str, offset: int | str) -> str:
        """Return an address, offset in bytes."""
        return self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")

    def shuffle(self, a: str, b: str, mask: Sequence[int], kind: str = _LINE) -> str:
        """Return some numbers of two vectors."""
        listed = ", ".join(f"i32 {m}" for m in mask)
        return self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{len(mask)} x i32> <{listed}>")

    def transpose(self, places: str, group: str) -> list[str]:
        """Return eight columns of the tile as a vector for each row; a table has their places.

        Halves of columns are joined as they are loaded, which leaves two steps of three.
        """
        first = self.emit(f"getelementptr [{LANES} x i64], ptr {places}, i64 {group}")
        columns = [
            self.at("%tile", self.emit(f"load i64, ptr {self.at(first, 8 * j)}"))
            for j in range(LANES)
        ]
        # first step: pairs of columns as halves, then interleaved numbers
        rows: list[str] = []
        for half in (0, LINE_BYTES // 2):
            parts = [
                self.emit(f"load {_HALF}, ptr {self.at(column, half)}, align {LINE_BYTES // 2}")
                for column in columns
            ]
            joined = [
                self.shuffle(parts[j], parts[j + 2], range(LANES), _HALF) for j in (0, 1, 4, 5)
            ]
            a, b, c, d = joined
            for odd in (0, 1):
                pairs = [odd, odd + 8, odd + 2, odd + 10, odd + 4, odd + 12, odd + 6, odd + 14]
                rows += [self.shuffle(a, b, pairs), self.shuffle(c, d, pairs)]
        # second step: four numbers of each half make a row
        found: list[str] = []
        for x, y, u, v in (rows[:4], rows[4:]):
            low, high = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)
            found += [self.shuffle(x, y, low), self.shuffle(u, v, low)]
            found += [self.shuffle(x, y, high), self.shuffle(u, v, high)]
        return found

    def permute(self, a: str, index: str, b: str) -> str:
        """Return the numbers of two vectors that make a line."""
        return self.emit(f"call {_LINE} {_PERMUTE}({_LINE} {a}, {_INDEX} {index}, {_LINE} {b})")

    def line(self, value: str, where: str) -> None:
        """Store a line."""
        past = ", !nontemporal !{i32 1}" if self.past else ""
        self.lines.append(f"  store {_LINE} {value}, ptr {where}, align {LINE_BYTES}{past}")


def functions(layout: Layout, cut: Plan, W: int) -> str:
    """Return @lines_o and @lines_past_o(writer, tile) for each output, @lines_begin and @lines_end.

    The first write the rows of a block but for what the next begins with, the second of them past
    the caches; the others set up a writer, and write the incomplete lines before the first row and
    after the last.  If pieces write lines, @store_remaining_lines_W writes what they leave.
    """
    texts = [DECLARATIONS, _BEGIN, _END]
    if cut.lines:
        texts.append(store_remaining_lines(layout, cut, W))
    start = 0
    for o, size in enumerate(layout.output_sizes):
        slots = cut.results[start : start + size]
        columns = (*range(size - size % LANES), *range(size - LANES, size))
        texts.append(table(f"line_columns{o}", [slots[k] * LINE_BYTES for k in columns]))
        texts += [_block(o, size, past) for past in (True, False)]
        start += size
    return "\n".join(texts)


def _block(output: int, size: int, past: bool) -> str:
    """Return @lines_o(writer, tile): the rows of a block, whose results are in slots of a tile."""
    name, columns = f"lines_past_{output}" if past else f"lines_{output}", f"line_columns{output}"
    groups, rest = divmod(size, LANES)
    text = _Text(past)
    text.lines += [f"define internal void @{name}(ptr %writer, ptr %tile) noinline {{", "entry:"]
    # the end of each row is needed for the beginning of the next
    ends = text.transpose(f"@{columns}", str(groups))
    before = [*text.vectors(_ENDS)[-1:], *ends[:-1]]
    text.put_vectors(_ENDS, ends)
    index = text.vectors(_INDICES, _INDEX)
    # the very first line may be incomplete: it goes to a dummy
    apart, usual = text.word(_FIRST, "ptr"), text.word(_LINES, "ptr")
    whole = text.emit(f"icmp eq ptr {apart}, null")
    first = text.emit(f"select i1 {whole}, ptr {usual}, ptr {apart}")
    text.put(_FIRST, "null", "ptr")
    text.lines += ["  br label %group", "group:"]
    phis = len(text.lines)
    text.lines.append(f"  %bytes = mul i64 %at, {LINE_BYTES}")
    # a line is the end of the vector before and the beginning of this one
    rows = text.transpose(f"@{columns}", "%at")
    for s, row in enumerate(rows):
        to = text.at(text.word(_LINES + 8 * s, "ptr"), "%bytes") if s else "%to"
        text.line(text.permute(f"%before{s}", index[s], row), to)
    text.lines.append("  %next = add i64 %at, 1")
    following = text.at("%to", LINE_BYTES)
    second = text.at(usual, LINE_BYTES)
    text.lines += [
        "  %begins = icmp eq i64 %at, 0",
        f"  %to_next = select i1 %begins, ptr {second}, ptr {following}",
        f"  %more = icmp slt i64 %next, {groups}",
        "  br i1 %more, label %group, label %tails",
        "tails:",
    ]
    text.lines[phis:phis] = [
        "  %at = phi i64 [0, %entry], [%next, %group]",
        f"  %to = phi ptr [{first}, %entry], [%to_next, %group]",
        *(
            f"  %before{s} = phi {_LINE} [{x}, %entry], [{row}, %group]"
            for s, (x, row) in enumerate(zip(before, rows, strict=True))
        ),
    ]
    if rest:
        _tails(text, rows, index, rest, groups * LINE_BYTES)
    for s in range(LANES):
        now = text.word(_LINES + 8 * s, "ptr")
        text.put(_LINES + 8 * s, text.at(now, size * LINE_BYTES), "ptr")
    text.lines += ["  ret void", "}\n"]
    return "\n".join(text.lines)


def _tails(text: _Text, rows: Sequence[str], index: Sequence[str], rest: int, offset: int) -> None:
    """Write the last line of rows that have one more than groups."""
    mask, ends = text.word(_TAILS), text.vectors(_ENDS)
    for s, row in enumerate(rows):
        bit = text.emit(f"and i64 {mask}, {1 << s}")
        some = text.emit(f"icmp ne i64 {bit}, 0")
        after = f"after{s}" if s < LANES - 1 else "row_end"
        text.lines += [f"  br i1 {some}, label %tail{s}, label %{after}", f"tail{s}:"]
        turned = [(LANES - rest + n) % LANES for n in range(LANES)]
        line = text.permute(row, index[s], text.shuffle(ends[s], ends[s], turned))
        text.line(line, text.at(text.word(_LINES + 8 * s, "ptr"), offset))
        text.lines += [f"  br label %{after}", f"{after}:"]


_BEGIN = f"""
define internal void @lines_begin(ptr %writer, ptr %row, i64 %bytes) noinline {{
entry:
  %over = and i64 %bytes, {LINE_BYTES - 1}
  br label %each
each:
  %s = phi i64 [0, %entry], [%next, %each]
  %tails = phi i64 [0, %entry], [%tails2, %each]
  %there = phi ptr [%row, %entry], [%there2, %each]
  %number = ptrtoint ptr %there to i64
  %phase = and i64 %number, {LINE_BYTES - 1}
  %back = sub i64 0, %phase
  %line = getelementptr i8, ptr %there, i64 %back
  %word = mul i64 %s, 8
  %place = add i64 %word, {_LINES}
  %line_p = getelementptr i8, ptr %writer, i64 %place
  store ptr %line, ptr %line_p
  %numbers = udiv i64 %phase, 8
  %from = sub i64 {LANES}, %numbers
  %one = insertelement {_INDEX} undef, i64 %from, i32 0
  %all = shufflevector {_INDEX} %one, {_INDEX} undef, <{LANES} x i32> zeroinitializer
  %index = add {_INDEX} %all, <{", ".join(f"i64 {n}" for n in range(LANES))}>
  %vector = mul i64 %s, {LINE_BYTES}
  %index_o = add i64 %vector, {_INDICES}
  %index_p = getelementptr i8, ptr %writer, i64 %index_o
  store {_INDEX} %index, ptr %index_p, align {LINE_BYTES}
  %ending = add i64 %phase, %over
  %longer = icmp sge i64 %ending, {LINE_BYTES}
  %bit = shl i64 1, %s
  %with = or i64 %tails, %bit
  %tails2 = select i1 %longer, i64 %with, i64 %tails
  %there2 = getelementptr i8, ptr %there, i64 %bytes
  %next = add i64 %s, 1
  %on = icmp slt i64 %next, {LANES}
  br i1 %on, label %each, label %done
done:
  %tails_p = getelementptr i8, ptr %writer, i64 {_TAILS}
  store i64 %tails2, ptr %tails_p
  %start = ptrtoint ptr %row to i64
  %odd = and i64 %start, {LINE_BYTES - 1}
  %whole = icmp eq i64 %odd, 0
  %dummy = getelementptr i8, ptr %writer, i64 {_DUMMY}
  %first = select i1 %whole, ptr null, ptr %dummy
  %first_p = getelementptr i8, ptr %writer, i64 {_FIRST}
  store ptr %first, ptr %first_p
  ret void
}}
"""
_END = f"""
define internal void @lines_end(ptr %writer, ptr %row, ptr %stop) noinline {{
  %number = ptrtoint ptr %row to i64
  %phase = and i64 %number, {LINE_BYTES - 1}
  %full = sub i64 {LINE_BYTES}, %phase
  %whole = icmp eq i64 %phase, 0
  %bytes = select i1 %whole, i64 0, i64 %full
  %first_o = add i64 %phase, {_DUMMY}
  %first = getelementptr i8, ptr %writer, i64 %first_o
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %first, i64 %bytes, i1 false)
  %last_o = add i64 %full, {_ENDS + (LANES - 1) * LINE_BYTES}
  %last = getelementptr i8, ptr %writer, i64 %last_o
  %back = sub i64 0, %phase
  %to = getelementptr i8, ptr %stop, i64 %back
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %last, i64 %phase, i1 false)
  ret void
}}
"""
