"""A program as LLVM text: W states at a time, one in each lane, with a scalar twin.

No fast-math flag is set and LLVM's middle end is not run, so the sequence of roundings is that of
the graph for every W.  Rows are read and written through 4x4 transposes of their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from sixfold.native import sincos
from sixfold.native.chunks import Plan, plan
from sixfold.native.graph import CONST, FMA, FMS, FNMA, INPUT, NEG, Program
from sixfold.native.sincos import hexadecimal

ITEM = 8  # bytes of a double

SUPPORTED = frozenset(
    {INPUT, CONST, NEG, FMA, FMS, FNMA}
    | {"add", "sub", "mul", "div", "sqrt", "sin", "cos", "abs", "sign", "if_positive"}
)
_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


@dataclass(frozen=True)
class Layout:
    """The arrays around a program: core shape of each input array and of the one output array."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Elements of a state in each array, the output last."""
        return (*(prod(shape) for shape in self.inputs), prod(self.output))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Core shapes, the output last."""
        return (*self.inputs, self.output)

    @property
    def signature(self) -> str:
        """The NumPy signature with the sizes in it."""
        texts = ["(" + ",".join(map(str, shape)) + ")" for shape in self.shapes]
        return ",".join(texts[:-1]) + "->" + texts[-1]


def supported(program: Program) -> bool:
    """Return whether every operation of a program has machine code."""
    return all(op in SUPPORTED for op, *_ in program.nodes)


def module(program: Program, layout: Layout, W: int, triple: str = "") -> str:
    """Return the text of a module with the inner loop @loop of a NumPy gufunc.

    On processors it knows by their triple, the loop leaves the floating-point flags as it found
    them: a state that is not finite is an answer, not a reason for a warning.
    """
    cut = plan(program)
    parts = [sincos.shared()]
    for width in (1,) if W == 1 else (1, W):
        real, suffix = _types(width)
        three = ", ".join([real] * 3)
        parts.append(f"declare {real} @llvm.fma.{suffix}({three})\n")
        parts.append(f"declare {real} @llvm.sqrt.{suffix}({real})\n")
        parts.append(f"declare {real} @llvm.fabs.{suffix}({real})\n")
        parts.append(sincos.library(width))
        parts.append(_gather(program, layout, cut, width))
        parts += [_piece(program, cut, p, width) for p in range(len(cut.pieces))]
        parts.append(_scatter(program, layout, cut, width))
        parts.append(_rows(cut, width))
    parts.append(_copies())
    parts.append(_loop(layout, W, _FLAGS.get(triple.partition("-")[0])))
    return "\n".join(parts)


def _types(W: int) -> tuple[str, str]:
    return ("double", "f64") if W == 1 else (f"<{W} x double>", f"v{W}f64")


class _Block:
    """Writes the function that evaluates W rows."""

    def __init__(self, W: int) -> None:
        self.W, self.lines, self.count = W, [], 0  # type: ignore[var-annotated]
        self.real, self.suffix = _types(W)

    def emit(self, text: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, x: float) -> str:
        one = hexadecimal(x)
        return one if self.W == 1 else "<" + ", ".join([f"double {one}"] * self.W) + ">"

    def rows(self, argument: int) -> list[str]:
        """Return a pointer to each lane's row of an array; lanes past the last row repeat it."""
        base = self.emit(f"load ptr, ptr {self.at('%args', argument)}")
        step = self.emit(f"load i64, ptr {self.at('%steps', argument)}")
        offset = self.emit(f"mul i64 %row, {step}")
        pointers = [self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")]
        for lane in range(1, self.W):
            there = self.emit(f"icmp sgt i64 %valid, {lane}")
            more = self.emit(f"select i1 {there}, i64 {step}, i64 0")
            pointers.append(self.emit(f"getelementptr i8, ptr {pointers[-1]}, i64 {more}"))
        return pointers

    def slot(self, k: int) -> str:
        """Return a pointer to a slot of the tile."""
        return self.emit(f"getelementptr {self.real}, ptr %tile, i64 {k}")

    def read(self, k: int) -> str:
        """Return the value in a slot."""
        return self.emit(f"load {self.real}, ptr {self.slot(k)}, align {ITEM * self.W}")

    def write(self, k: int, value: str) -> None:
        """Put a value in a slot."""
        where = self.slot(k)
        self.lines.append(f"  store {self.real} {value}, ptr {where}, align {ITEM * self.W}")

    def at(self, array: str, index: int) -> str:
        return self.emit(f"getelementptr i64, ptr {array}, i64 {index}")

    def place(self, pointer: str, k: int) -> str:
        return self.emit(f"getelementptr i8, ptr {pointer}, i64 {k * ITEM}") if k else pointer

    def columns(self, pointers: list[str], size: int, wanted: set[int]) -> dict[int, str]:
        """Return the elements of W rows as one vector for each wanted column."""
        if self.W == 1:
            return {
                k: self.emit(f"load double, ptr {self.place(pointers[0], k)}, align 8")
                for k in sorted(wanted)
            }
        found: dict[int, str] = {}
        for start in _quads(size):
            group = range(start, start + 4)
            if wanted.isdisjoint(group) or all(k in found for k in group):
                continue
            halves = [
                self.transposed(
                    [
                        self.emit(f"load <4 x double>, ptr {self.place(p, start)}, align 8")
                        for p in pointers[lane : lane + 4]
                    ]
                )
                for lane in range(0, self.W, 4)
            ]
            for j, k in enumerate(group):
                if k in wanted and k not in found:
                    found[k] = self.joined([half[j] for half in halves])
        for k in sorted(wanted - found.keys()):
            vector = "undef"
            for lane, pointer in enumerate(pointers):
                x = self.emit(f"load double, ptr {self.place(pointer, k)}, align 8")
                vector = self.emit(f"insertelement {self.real} {vector}, double {x}, i32 {lane}")
            found[k] = vector
        return found

    def transposed(self, rows: Sequence[str]) -> list[str]:
        """Return the columns of a 4x4 block of doubles."""

        def shuffle(a: str, b: str, mask: Sequence[int]) -> str:
            listed = ", ".join(f"i32 {m}" for m in mask)
            return self.emit(
                f"shufflevector <4 x double> {a}, <4 x double> {b}, <4 x i32> <{listed}>"
            )

        a, b, c, d = rows
        low, low2 = shuffle(a, b, (0, 4, 2, 6)), shuffle(c, d, (0, 4, 2, 6))
        high, high2 = shuffle(a, b, (1, 5, 3, 7)), shuffle(c, d, (1, 5, 3, 7))
        return [
            shuffle(low, low2, (0, 1, 4, 5)),
            shuffle(high, high2, (0, 1, 4, 5)),
            shuffle(low, low2, (2, 3, 6, 7)),
            shuffle(high, high2, (2, 3, 6, 7)),
        ]

    def joined(self, parts: list[str]) -> str:
        """Return four-lane vectors side by side."""
        if len(parts) == 1:
            return parts[0]
        mask = ", ".join(f"i32 {m}" for m in range(self.W))
        return self.emit(
            f"shufflevector <4 x double> {parts[0]}, <4 x double> {parts[1]}, "
            f"<{self.W} x i32> <{mask}>"
        )

    def store(self, pointers: list[str], values: list[str]) -> None:
        """Write one vector for each column to W rows."""
        if self.W == 1:
            for k, value in enumerate(values):
                self.lines.append(
                    f"  store double {value}, ptr {self.place(pointers[0], k)}, align 8"
                )
            return
        size, done = len(values), 0
        for start in _quads(size):
            for lane in range(0, self.W, 4):
                quad = [self.four(value, lane) for value in values[start : start + 4]]
                for pointer, row in zip(
                    pointers[lane : lane + 4], self.transposed(quad), strict=True
                ):
                    where = self.place(pointer, start)
                    self.lines.append(f"  store <4 x double> {row}, ptr {where}, align 8")
            done = start + 4
        for k in range(done, size):
            for lane, pointer in enumerate(pointers):
                x = self.emit(f"extractelement {self.real} {values[k]}, i32 {lane}")
                where = self.place(pointer, k)
                self.lines.append(f"  store double {x}, ptr {where}, align 8")

    def four(self, value: str, lane: int) -> str:
        if self.W == 4:
            return value
        mask = ", ".join(f"i32 {lane + m}" for m in range(4))
        return self.emit(
            f"shufflevector {self.real} {value}, {self.real} undef, <4 x i32> <{mask}>"
        )

    def function(self, head: str, ends: bool = True) -> str:
        """Return the lines as a function."""
        last = ["  ret void"] if ends else []
        return "\n".join([f"define internal void @{head} noinline {{", *self.lines, *last, "}\n"])

    def operation(self, op: str, x: list[str]) -> str:
        r, s = self.real, self.suffix
        if op in _BINARY:
            return self.emit(f"{_BINARY[op]} {r} {x[0]}, {x[1]}")
        if op == NEG:
            return self.emit(f"fneg {r} {x[0]}")
        if op in (FMA, FMS, FNMA):
            a, b, c = x
            if op == FMS:
                c = self.emit(f"fneg {r} {c}")
            if op == FNMA:
                a = self.emit(f"fneg {r} {a}")
            return self.emit(f"call {r} @llvm.fma.{s}({r} {a}, {r} {b}, {r} {c})")
        if op in ("sqrt", "abs"):
            name = {"sqrt": "sqrt", "abs": "fabs"}[op]
            return self.emit(f"call {r} @llvm.{name}.{s}({r} {x[0]})")
        zero = self.constant(0.0)
        positive = self.emit(f"fcmp ogt {r} {x[0]}, {zero}")
        bit = "i1" if self.W == 1 else f"<{self.W} x i1>"
        if op == "sign":
            negative = self.emit(f"fcmp olt {r} {x[0]}, {zero}")
            neither = self.emit(f"fmul {r} {x[0]}, {zero}")
            below = self.emit(f"select {bit} {negative}, {r} {self.constant(-1.0)}, {r} {neither}")
            return self.emit(f"select {bit} {positive}, {r} {self.constant(1.0)}, {r} {below}")
        if op == "if_positive":
            other = self.emit(f"fcmp ole {r} {x[0]}, {zero}")
            rest = self.emit(f"select {bit} {other}, {r} {x[2]}, {r} {x[0]}")
            return self.emit(f"select {bit} {positive}, {r} {x[1]}, {r} {rest}")
        raise AssertionError(f"no machine code for {op}")


def _quads(size: int) -> list[int]:
    """Return starts of groups of four columns that cover a row; the last may overlap."""
    starts = list(range(0, size - 3, 4))
    if size % 4 and size > 4:
        starts.append(size - 4)
    return starts


def _gather(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @gather_W: rows of the input arrays to slots, with sines and cosines of angles."""
    block = _Block(W)
    number = {node[1]: k for k, node in enumerate(program.nodes) if node[0] == INPUT}
    values: dict[int, str] = {}
    start = 0
    for a, size in enumerate(layout.sizes[:-1]):
        wanted = {k - start for k in number if start <= k < start + size}
        if wanted:
            for k, name in block.columns(block.rows(a), size, wanted).items():
                values[number[start + k]] = name
        start += size
    for k, name in values.items():
        block.write(cut.slot[k], name)
    for i in range(0, len(cut.angles), 2):
        pair = cut.angles[i : i + 2]
        sines = ", ".join(f"ptr {block.slot(cut.early[k][0])}" for k in pair)
        angles = ", ".join(f"{block.real} {values[k]}" for k in pair)
        block.lines.append(f"  call void @sincos{len(pair)}_{W}({angles}, {sines})")
    return block.function(f"gather_{W}(ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile)")


def _piece(program: Program, cut: Plan, p: int, W: int) -> str:
    """Return @piece_p_W: one piece of the program on one tile."""
    block = _Block(W)
    values: dict[int, str] = {}
    table: dict[float, int] = {}

    def value(k: int) -> str:
        if k not in values:
            op, *arguments = program.nodes[k]
            if op == CONST and W > 1:
                n = table.setdefault(arguments[0], len(table))
                where = block.emit(f"getelementptr {block.real}, ptr @constants_{p}_{W}, i64 {n}")
                values[k] = block.emit(f"load {block.real}, ptr {where}, align {ITEM * W}")
            elif op == CONST:
                values[k] = block.constant(arguments[0])
            else:
                values[k] = block.read(cut.slot[k])
        return values[k]

    pairs: dict[int, str] = {}
    pair = f"{{{block.real}, {block.real}}}"
    for k in cut.pieces[p]:
        op, *arguments = program.nodes[k]
        x = [value(a) for a in arguments]
        if op in ("sin", "cos"):
            (angle,) = arguments
            if angle not in pairs:
                pairs[angle] = block.emit(f"call {pair} @sincos_{W}({block.real} {x[0]})")
            values[k] = block.emit(f"extractvalue {pair} {pairs[angle]}, {int(op == 'cos')}")
        else:
            values[k] = block.operation(op, x)
        if k in cut.slot:
            block.write(cut.slot[k], values[k])
    text = block.function(f"piece_{p}_{W}(ptr %tile)")
    if table:
        listed = ", ".join(f"{block.real} {block.constant(x)}" for x in table)
        text += f"@constants_{p}_{W} = internal constant [{len(table)} x {block.real}] [{listed}]\n"
    return text


def _scatter(program: Program, layout: Layout, cut: Plan, W: int) -> str:
    """Return @scatter_W: results from slots to rows of the output array; the last may be short."""
    block = _Block(W)
    pointers = block.rows(len(layout.inputs))
    values = [
        block.constant(program.nodes[k][1]) if program.nodes[k][0] == CONST else block.read(slot)
        for k, slot in zip(program.outputs, cut.results, strict=True)
    ]
    if W > 1:
        block.lines.append(f"  %whole = icmp eq i64 %valid, {W}")
        block.lines.append("  br i1 %whole, label %all, label %some")
        block.lines.append("all:")
    block.store(pointers, values)
    block.lines.append("  ret void")
    if W > 1:
        block.lines.append("some:")
        for lane, pointer in enumerate(pointers[:-1]):
            for k, value in enumerate(values):
                x = block.emit(f"extractelement {block.real} {value}, i32 {lane}")
                where = block.place(pointer, k)
                block.lines.append(f"  store double {x}, ptr {where}, align 8")
            more = f"%more{lane}"
            block.lines.append(f"  {more} = icmp sgt i64 %valid, {lane + 1}")
            block.lines.append(f"  br i1 {more}, label %lane{lane + 1}, label %done")
            block.lines.append(f"lane{lane + 1}:")
        block.lines.append("  br label %done")
        block.lines.append("done:")
        block.lines.append("  ret void")
    name = f"scatter_{W}(ptr %args, ptr %steps, i64 %row, i64 %valid, ptr %tile)"
    return block.function(name, ends=False)


TILE_BYTES = 49_152
"""Room for the tiles of the blocks that go through the pieces together."""


def together(cut: Plan, W: int) -> int:
    """Return how many blocks go through the pieces together."""
    if len(cut.pieces) == 1 or W == 1:
        return 1
    return max(1, min(8, TILE_BYTES // (cut.slots * W * ITEM)))


def _rows(cut: Plan, W: int) -> str:
    """Return @rows_W(args, steps, row, stop): all rows from row to stop, in blocks of W."""
    T = together(cut, W)
    size = max(cut.slots, 1) * W * ITEM
    lines = [
        f"define internal void @rows_{W}(ptr %args, ptr %steps, i64 %row, i64 %stop) noinline {{",
        "entry:",
        f"  %tiles = alloca i8, i64 {size * T}, align 64",
        "  br label %group",
        "group:",
        "  %at = phi i64 [%row, %entry], [%next, %group_end]",
        "  %go = icmp slt i64 %at, %stop",
        "  br i1 %go, label %blocks, label %done",
        "blocks:",
        "  %left = sub i64 %stop, %at",
        f"  %up = add i64 %left, {W - 1}",
        f"  %wide = sdiv i64 %up, {W}",
        f"  %few = icmp slt i64 %wide, {T}",
        f"  %count = select i1 %few, i64 %wide, i64 {T}",
        "  br label %stage0",
    ]

    def stage(n: int, body: list[str], after: str) -> None:
        lines.extend(
            [
                f"stage{n}:",
                f"  %b{n} = phi i64 [0, %{'blocks' if n == 0 else f'stage{n - 1}'}], "
                f"[%b{n}n, %stage{n}_go]",
                f"  %c{n} = icmp slt i64 %b{n}, %count",
                f"  br i1 %c{n}, label %stage{n}_go, label %{after}",
                f"stage{n}_go:",
                f"  %o{n} = mul i64 %b{n}, {size}",
                f"  %tile{n} = getelementptr i8, ptr %tiles, i64 %o{n}",
                *body,
                f"  %b{n}n = add i64 %b{n}, 1",
                f"  br label %stage{n}",
            ]
        )

    def ends(n: int, function: str) -> list[str]:
        return [
            f"  %s{n} = mul i64 %b{n}, {W}",
            f"  %r{n} = add i64 %at, %s{n}",
            f"  %l{n} = sub i64 %stop, %r{n}",
            f"  %f{n} = icmp slt i64 %l{n}, {W}",
            f"  %v{n} = select i1 %f{n}, i64 %l{n}, i64 {W}",
            f"  call void @{function}_{W}"
            f"(ptr %args, ptr %steps, i64 %r{n}, i64 %v{n}, ptr %tile{n})",
        ]

    pieces = len(cut.pieces)
    stage(0, ends(0, "gather"), "stage1")
    for p in range(pieces):
        call = f"  call void @piece_{p}_{W}(ptr %tile{p + 1})"
        stage(p + 1, [call], f"stage{p + 2}")
    stage(pieces + 1, ends(pieces + 1, "scatter"), "group_end")
    lines += [
        "group_end:",
        f"  %next = add i64 %at, {T * W}",
        "  br label %group",
        "done:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines)


def _copies() -> str:
    """Return @pack and @unpack: rows x (n0, n1) elements with any strides, to and from a tile."""
    texts = []
    for name, load_from, store_to in (("pack", "far", "near"), ("unpack", "near", "far")):
        texts.append(f"""
define internal void @{name}(ptr %tile, ptr %array, i64 %rows, i64 %step,
                             i64 %n0, i64 %s0, i64 %n1, i64 %s1) {{
entry:
  br label %row
row:
  %i = phi i64 [0, %entry], [%i2, %row_end]
  %k0 = phi i64 [0, %entry], [%k3, %row_end]
  %more = icmp slt i64 %i, %rows
  br i1 %more, label %outer, label %done
outer:
  %a = phi i64 [0, %row], [%a2, %outer_end]
  %k1 = phi i64 [%k0, %row], [%k2, %outer_end]
  %go = icmp slt i64 %a, %n0
  br i1 %go, label %inner, label %row_end
inner:
  %b = phi i64 [0, %outer], [%b2, %body]
  %k2 = phi i64 [%k1, %outer], [%k, %body]
  %on = icmp slt i64 %b, %n1
  br i1 %on, label %body, label %outer_end
body:
  %o1 = mul i64 %i, %step
  %o2 = mul i64 %a, %s0
  %o3 = mul i64 %b, %s1
  %o4 = add i64 %o1, %o2
  %o5 = add i64 %o4, %o3
  %far = getelementptr i8, ptr %array, i64 %o5
  %near = getelementptr double, ptr %tile, i64 %k2
  %x = load double, ptr %{load_from}, align 1
  store double %x, ptr %{store_to}, align 1
  %b2 = add i64 %b, 1
  %k = add i64 %k2, 1
  br label %inner
outer_end:
  %a2 = add i64 %a, 1
  br label %outer
row_end:
  %k3 = phi i64 [%k1, %outer]
  %i2 = add i64 %i, 1
  br label %row
done:
  ret void
}}""")
    return "\n".join(texts)


@dataclass(frozen=True)
class _Flags:
    """How to keep and bring back the floating-point flags of a processor."""

    declarations: str
    keep: tuple[str, ...]
    bring_back: tuple[str, ...]


_FLAGS = {
    "x86_64": _Flags(
        "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
        ("%flags = alloca i32", "call void @llvm.x86.sse.stmxcsr(ptr %flags)"),
        ("call void @llvm.x86.sse.ldmxcsr(ptr %flags)",),
    ),
    "aarch64": _Flags(
        "",
        ('%flags = call i64 asm sideeffect "mrs $0, fpsr", "=r"()',),
        ('call void asm sideeffect "msr fpsr, $0", "r"(i64 %flags)',),
    ),
}
_FLAGS["arm64"] = _FLAGS["aarch64"]


def _loop(layout: Layout, W: int, flags: _Flags | None) -> str:
    """Return @loop(args, dims, steps, data), the inner loop that NumPy calls."""
    n_args = len(layout.shapes)
    lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:"]
    lines += [f"  {line}" for line in flags.keep] if flags else []
    count = 0

    def emit(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"  %s{count} = {text}")
        return f"%s{count}"

    def number(array: str, k: int) -> str:
        return emit(f"load i64, ptr {emit(f'getelementptr i64, ptr {array}, i64 {k}')}")

    n = number("%dims", 0)
    # are the elements of a row next to each other, and rows aligned?
    straight = "true"
    k = n_args
    strides: list[list[str]] = []
    for shape in layout.shapes:
        expected, own = ITEM * prod(shape), []
        for size in shape:
            expected //= max(size, 1)
            stride = number("%steps", k)
            own.append(stride)
            if size > 1:
                same = emit(f"icmp eq i64 {stride}, {expected}")
                straight = emit(f"and i1 {straight}, {same}")
            k += 1
        strides.append(own)
    pointers = []
    for a in range(n_args):
        pointer = emit(f"load ptr, ptr {emit(f'getelementptr ptr, ptr %args, i64 {a}')}")
        pointers.append(pointer)
    lines.append(f"  br i1 {straight}, label %straight, label %tiles")
    # one or two states take the scalar twin
    lines += ["straight:", f"  %one = icmp sle i64 {n}, {2 if W > 2 else 0}"]
    lines.append("  br i1 %one, label %few, label %blocks")
    lines += [
        "blocks:",
        f"  call void @rows_{W}(ptr %args, ptr %steps, i64 0, i64 {n})",
        "  br label %end",
        "few:",
        f"  call void @rows_1(ptr %args, ptr %steps, i64 0, i64 {n})",
        "  br label %end",
    ]
    back = [f"  {line}" for line in flags.bring_back] if flags else []
    lines += ["end:", *back, "  ret void", "tiles:"]
    lines.append(f"  %tile_args = alloca ptr, i64 {n_args}")
    lines.append(f"  %tile_steps = alloca i64, i64 {n_args}")
    for a, size in enumerate(layout.sizes):
        lines.append(f"  %tile{a} = alloca double, i64 {max(size, 1) * W}, align 64")
        lines.append(f"  %pa{a} = getelementptr ptr, ptr %tile_args, i64 {a}")
        lines.append(f"  store ptr %tile{a}, ptr %pa{a}")
        lines.append(f"  %ps{a} = getelementptr i64, ptr %tile_steps, i64 {a}")
        lines.append(f"  store i64 {size * ITEM}, ptr %ps{a}")
    lines += [
        "  br label %tile",
        "tile:",
        "  %i = phi i64 [0, %tiles], [%i2, %tile_go]",
        f"  %go = icmp slt i64 %i, {n}",
        "  br i1 %go, label %tile_go, label %end",
        "tile_go:",
        f"  %left = sub i64 {n}, %i",
        f"  %short = icmp slt i64 %left, {W}",
        f"  %count = select i1 %short, i64 %left, i64 {W}",
    ]
    for a, shape in enumerate(layout.shapes):
        n0, n1 = (1, prod(shape)) if len(shape) < 2 else (shape[0], prod(shape[1:]))
        s0 = "0" if len(shape) < 2 else strides[a][0]
        s1 = strides[a][-1] if shape else "0"
        lines.append(f"  %st{a} = getelementptr i64, ptr %steps, i64 {a}")
        lines.append(f"  %sv{a} = load i64, ptr %st{a}")
        lines.append(f"  %so{a} = mul i64 %i, %sv{a}")
        lines.append(f"  %b{a} = getelementptr i8, ptr {pointers[a]}, i64 %so{a}")
        arguments = (
            f"(ptr %tile{a}, ptr %b{a}, i64 %count, i64 %sv{a}, "
            f"i64 {n0}, i64 {s0}, i64 {n1}, i64 {s1})"
        )
        if a < n_args - 1:
            lines.append(f"  call void @pack{arguments}")
        else:
            lines.append(
                f"  call void @rows_{W}(ptr %tile_args, ptr %tile_steps, i64 0, i64 %count)"
            )
            lines.append(f"  call void @unpack{arguments}")
    lines += [f"  %i2 = add i64 %i, {W}", "  br label %tile", "}\n"]
    return (flags.declarations if flags else "") + "\n".join(lines)
