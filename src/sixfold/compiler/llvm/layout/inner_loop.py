"""The inner loop that NumPy calls, and copies of rows whose elements are not side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sixfold.compiler.llvm.layout import scratch
from sixfold.compiler.llvm.layout.signature import Layout, dense_strides, tag
from sixfold.compiler.llvm.text import environment
from sixfold.compiler.llvm.text.instructions import hexadecimal


def copies(scalar: str, names: Sequence[str] = ("pack", "unpack", "fill_nan")) -> str:
    """Return @pack and @unpack: rows x (n2, n0, n1) elements of any strides, to and from a tile.

    @fill_nan writes NaN to such rows.  Only those that are named are returned.
    """
    texts = []
    copy = "%x = load {0}, ptr %{1}, align 1\n  store {0} %x, ptr %{2}, align 1"
    moves = {
        "pack": copy.format(scalar, "far", "near"),
        "unpack": copy.format(scalar, "near", "far"),
        "fill_nan": f"store {scalar} {hexadecimal(math.nan)}, ptr %far, align 1",
    }
    for name in names:
        move = moves[name]
        texts.append(f"""
define internal void @{name}(ptr %tile, ptr %array, i64 %rows, i64 %step,
                             i64 %n2, i64 %s2, i64 %n0, i64 %s0, i64 %n1, i64 %s1) {{
entry:
  br label %row
row:
  %i = phi i64 [0, %entry], [%i2, %row_end]
  %k0 = phi i64 [0, %entry], [%kp, %row_end]
  %more = icmp slt i64 %i, %rows
  br i1 %more, label %plane, label %done
plane:
  %p = phi i64 [0, %row], [%p2, %plane_end]
  %kp = phi i64 [%k0, %row], [%k1, %plane_end]
  %next = icmp slt i64 %p, %n2
  br i1 %next, label %outer, label %row_end
outer:
  %a = phi i64 [0, %plane], [%a2, %outer_end]
  %k1 = phi i64 [%kp, %plane], [%k2, %outer_end]
  %go = icmp slt i64 %a, %n0
  br i1 %go, label %inner, label %plane_end
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
  %o6 = mul i64 %p, %s2
  %o7 = add i64 %o5, %o6
  %far = getelementptr i8, ptr %array, i64 %o7
  %near = getelementptr {scalar}, ptr %tile, i64 %k2
  {move}
  %b2 = add i64 %b, 1
  %k = add i64 %k2, 1
  br label %inner
outer_end:
  %a2 = add i64 %a, 1
  br label %outer
plane_end:
  %p2 = add i64 %p, 1
  br label %plane
row_end:
  %i2 = add i64 %i, 1
  br label %row
done:
  ret void
}}""")
    return "\n".join(texts)


class _Head:
    """Writes the start of an inner loop: number of states, strides, and which arrays are dense.

    An array is dense if the numbers of one state lie side by side, in C order.
    """

    def __init__(self, layout: Layout, triple: str) -> None:
        self.count = 0
        self.lines = ["define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) {", "entry:"]
        self.lines.append(environment.enter(triple))
        # NumPy's order: states, then the steps of arrays, then the strides of core axes
        self.states = self.number("%dims", 0)
        self.dense: list[str] = []
        self.strides: list[list[str]] = []
        k = len(layout.shapes)
        for shape in layout.shapes:
            own, dense = [], "true"
            for size, expected in zip(shape, dense_strides(shape, layout.item), strict=True):
                stride = self.number("%steps", k)
                own.append(stride)
                if size > 1:
                    same = self.emit(f"icmp eq i64 {stride}, {expected}")
                    dense = same if dense == "true" else self.emit(f"and i1 {dense}, {same}")
                k += 1
            self.strides.append(own)
            self.dense.append(dense)

    def emit(self, text: str) -> str:
        """Write an instruction and return the name of its value."""
        self.count += 1
        self.lines.append(f"  %s{self.count} = {text}")
        return f"%s{self.count}"

    def number(self, array: str, k: int) -> str:
        """Return a number of an array."""
        return self.emit(f"load i64, ptr {self.emit(f'getelementptr i64, ptr {array}, i64 {k}')}")


def _few(W: int, n: str, arguments: str) -> list[str]:
    """Return the branch by which one or two states take scalar code."""
    return [
        f"  %one = icmp sle i64 {n}, {min(2, W - 1)}",
        "  br i1 %one, label %few, label %blocks",
        "few:",
        f"  call void @rows_1(ptr %args, ptr %steps, i64 0, i64 {n}, ptr %data{arguments})",
        "  br label %end",
        "blocks:",
    ]


def direct_loop(layout: Layout, W: int, triple: str, scalar: bool) -> str:
    """Return @loop(args, dims, steps, data), the inner loop that NumPy calls, for any strides.

    Bit n of %strided tells that array n is not dense.  Where there is scalar code, one or two
    states in dense arrays take it, if they do not fill the lanes.
    """
    head = _Head(layout, triple)
    lines, n = head.lines, head.states
    # a bit for each array that is not dense
    strided = "0"
    for a, dense in enumerate(head.dense):
        if dense != "true":
            bit = head.emit(f"select i1 {dense}, i64 0, i64 {array_bit(a)}")
            strided = bit if strided == "0" else head.emit(f"or i64 {strided}, {bit}")
    results = sum(array_bit(a) for a in range(len(layout.inputs), len(layout.shapes)))
    call = f"(ptr %args, ptr %steps, i64 0, i64 {n}, ptr %data, i64 {strided})"
    lines += [
        f"  %none = icmp eq i64 {strided}, 0",
        "  br i1 %none, label %straight, label %strided",
        "straight:",
        *(_few(W, n, ", i64 0") if scalar and W > 1 else ()),
        f"  call void @rows_{W}(ptr %args, ptr %steps, i64 0, i64 {n}, ptr %data, i64 0)",
        "  br label %end",
        "end:",
        environment.leave(triple),
        "  ret void",
        "strided:",
        f"  %of_results = and i64 {strided}, {results}",
        "  %rows_dense = icmp eq i64 %of_results, 0",
        "  br i1 %rows_dense, label %dense, label %columns",
        "dense:",
        f"  call void @rows_{W}{call}",
        "  br label %end",
        "columns:",
        f"  call void @strided_{W}{call}",
        "  br label %end",
        "}\n",
    ]
    return environment.declarations(triple) + "\n".join(lines)


def array_bit(array: int) -> int:
    """Return the bit of an array in %strided, as a signed number of 64 bits."""
    return 1 << array if array < 63 else -1 << 63


def tiled_loop(layout: Layout, W: int, triple: str) -> str:
    """Return @loop(args, dims, steps, data), where rows that are not dense are copied to tiles.

    One or two states take scalar code, if they do not fill the lanes.
    """
    head = _Head(layout, triple)
    lines, n, strides = head.lines, head.states, head.strides
    n_args = len(layout.shapes)
    straight = "true"
    for dense in head.dense:
        straight = head.emit(f"and i1 {straight}, {dense}")
    # dense rows go to the kernel as they are; others through a tile of W rows
    pointers = [
        head.emit(f"load ptr, ptr {head.emit(f'getelementptr ptr, ptr %args, i64 {a}')}")
        for a in range(n_args)
    ]
    lines.append(f"  br i1 {straight}, label %straight, label %tiles")
    lines.append("straight:")
    if W > 1:
        lines += _few(W, n, "")
    lines += [
        f"  call void @rows_{W}(ptr %args, ptr %steps, i64 0, i64 {n}, ptr %data)",
        "  br label %end",
    ]
    lines += ["end:", environment.leave(triple), "  ret void", "tiles:"]
    lines.append(f"  %tile_args = alloca ptr, i64 {n_args}")
    lines.append(f"  %tile_steps = alloca i64, i64 {n_args}")
    sizes = [max(size, 1) * W * layout.item for size in layout.sizes]
    sizes = [-(-size // 64) * 64 for size in sizes]
    lines += scratch.alloc("%scratch", sum(sizes))
    for a, size in enumerate(layout.sizes):
        lines.append(f"  %tile{a} = getelementptr i8, ptr %scratch, i64 {sum(sizes[:a])}")
        lines.append(f"  %pa{a} = getelementptr ptr, ptr %tile_args, i64 {a}")
        lines.append(f"  store ptr %tile{a}, ptr %pa{a}")
        lines.append(f"  %ps{a} = getelementptr i64, ptr %tile_steps, i64 {a}")
        lines.append(f"  store i64 {size * layout.item}, ptr %ps{a}")
    lines.append("  %none = icmp eq ptr %scratch, null")
    lines += ["  br i1 %none, label %no_scratch, label %tile", "no_scratch:"]
    inputs = len(layout.inputs)
    # without scratch all results become NaN
    for o, shape in enumerate(layout.outputs):
        a = inputs + o
        lines += [
            f"  %sp{tag(o)} = getelementptr i64, ptr %steps, i64 {a}",
            f"  %sq{tag(o)} = load i64, ptr %sp{tag(o)}",
            f"  call void @fill_nan(ptr null, ptr {pointers[a]}, i64 {n}, i64 %sq{tag(o)}, "
            f"{extents(shape, strides[a])})",
        ]
    lines += [
        "  br label %end",
        "tile:",
        "  %i = phi i64 [0, %tiles], [%i2, %tile_go]",
        f"  %go = icmp slt i64 %i, {n}",
        "  br i1 %go, label %tile_go, label %tiles_end",
        "tile_go:",
        f"  %left = sub i64 {n}, %i",
        f"  %short = icmp slt i64 %left, {W}",
        f"  %count = select i1 %short, i64 %left, i64 {W}",
    ]
    for a, shape in enumerate(layout.shapes):
        lines.append(f"  %st{a} = getelementptr i64, ptr %steps, i64 {a}")
        lines.append(f"  %sv{a} = load i64, ptr %st{a}")
        lines.append(f"  %so{a} = mul i64 %i, %sv{a}")
        lines.append(f"  %b{a} = getelementptr i8, ptr {pointers[a]}, i64 %so{a}")
        arguments = (
            f"(ptr %tile{a}, ptr %b{a}, i64 %count, i64 %sv{a}, {extents(shape, strides[a])})"
        )
        if a == inputs:
            lines.append(
                f"  call void @rows_{W}"
                f"(ptr %tile_args, ptr %tile_steps, i64 0, i64 %count, ptr %data)"
            )
        lines.append(f"  call void @{'pack' if a < inputs else 'unpack'}{arguments}")
    lines += [f"  %i2 = add i64 %i, {W}", "  br label %tile"]
    lines += ["tiles_end:", *scratch.free("%scratch", sum(sizes)), "  br label %end", "}\n"]
    return environment.declarations(triple) + "\n".join(lines)


def extents(shape: tuple[int, ...], strides: list[str]) -> str:
    """Return sizes and strides of three core axes for @pack and its like; missing ones are 1."""
    # missing axes are in front: size 1, stride 0
    n2, n0, n1 = (*(1,) * (3 - len(shape)), *shape)
    s2, s0, s1 = (*("0",) * (3 - len(shape)), *strides)
    return f"i64 {n2}, i64 {s2}, i64 {n0}, i64 {s0}, i64 {n1}, i64 {s1}"


def straight(layout: Layout, array: int) -> str:
    """Return the extents of an array whose elements lie side by side."""
    shape = layout.shapes[array]
    return extents(shape, [str(x) for x in dense_strides(shape, layout.item)])


def strided_extents(layout: Layout, array: int) -> str:
    """Return the extents of an array by the strides that `loaded_strides` loads."""
    shape = layout.shapes[array]
    return extents(shape, [f"%stride{array}_{axis}" for axis in range(len(shape))])


def loaded_strides(layout: Layout, array: int) -> list[str]:
    """Return instructions that load the strides of an array's core axes as %stride{array}_{axis}.

    NumPy puts them after the steps of all arrays.
    """
    first = len(layout.shapes) + sum(map(len, layout.shapes[:array]))
    lines = []
    for axis in range(len(layout.shapes[array])):
        name = f"stride{array}_{axis}"
        lines.append(f"  %{name}_p = getelementptr i64, ptr %steps, i64 {first + axis}")
        lines.append(f"  %{name} = load i64, ptr %{name}_p")
    return lines
