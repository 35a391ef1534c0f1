"""Sines and cosines of the angles in tiles, in double precision: three vectors at a time."""

from __future__ import annotations

from sixfold.llvm.text.instructions import Text
from sixfold.llvm.text.sincos import Begun, Reduced, any_lane, as_mask, begin, finished, reduce
from sixfold.llvm.text.writer import types


class _Tabled(Text):
    """Text whose constants lie in memory as whole vectors, where instructions take them from.

    Left to itself, LLVM holds them in registers, which it then has too few of.
    """

    def __init__(self, W: int) -> None:
        super().__init__(W)
        self.table: dict[str, int] = {}

    def splat(self, x: float) -> str:
        """Return a constant in every lane."""
        if self.W == 1:
            return super().splat(x)
        n = self.table.setdefault(super().splat(x), len(self.table))
        where = self.emit(f"getelementptr {self.real}, ptr @sincos_table_{self.W}, i64 {n}")
        return self.emit(f"load {self.real}, ptr {where}, align {8 * self.W}")

    def constants(self) -> str:
        """Return the table."""
        if not self.table:
            return ""
        listed = ", ".join(f"{self.real} {text}" for text in self.table)
        kind = f"[{len(self.table)} x {self.real}]"
        return f"@sincos_table_{self.W} = internal constant {kind} [{listed}]\n"


def stored(W: int) -> str:
    """Return @sincos_to_W: sines and cosines of n vectors in each of several tiles, side by side.

    Three are on their way: one is finished while the polynomials of the next begin and the one
    after is reduced, since each alone would leave the processor waiting.  Past the last vector,
    that one is read again.  Where any turns out huge, all are worked out once more.
    """
    real, _ = types(W)
    pair, one = f"{{{real}, {real}}}", 8 * W
    t = _Tabled(W)

    def taken() -> list[str]:
        lines, t.lines = t.lines, []
        return lines

    first, huge0 = reduce(t, "%x0")
    begun = begin(t, first.r)
    second, huge1 = reduce(t, "%x1")
    start = t.integer("or", as_mask(t, huge0), as_mask(t, huge1))
    before = taken()
    after = Reduced(*(f"%after_{x}" for x in Reduced._fields))
    now = Reduced(*(f"%now_{x}" for x in Reduced._fields))
    s, c = finished(t, now, Begun(*(f"%now_{x}" for x in Begun._fields)))
    finish = [*taken(), *_put(real, one, s, c, "%pairs_now")]
    begun_after = begin(t, after.r)
    middle = taken()
    later, huge = reduce(t, "%x")
    found = t.integer("or", "%huge", as_mask(t, huge))
    reducing = taken()
    kinds = dict(zip(Reduced._fields, (t.real, t.real, t.whole), strict=True))
    carried = [("huge", t.whole, start, found)]
    for k, (name, kind) in enumerate(kinds.items()):
        carried.append((f"after_{name}", kind, second[k], later[k]))
        carried.append((f"now_{name}", kind, first[k], after[k]))
    for k, name in enumerate(Begun._fields):
        carried.append((f"now_{name}", t.real, begun[k], begun_after[k]))
    lines = [
        f"define internal void @sincos_to_{W}"
        "(ptr %angles, ptr %pairs, i64 %n, i64 %tiles, i64 %size) noinline {",
        "entry:",
        "  %all = mul i64 %n, %tiles",
        "  %others = sub i64 %n, 1",
        # from the last vector of a tile to the first of the next
        f"  %row = mul i64 %others, {one}",
        "  %jump = sub i64 %size, %row",
        "  %jump_pairs = sub i64 %jump, %row",
        *_following(one, "0", "%n", "%angles", "%pairs", "%all"),
        f"  %x0 = load {real}, ptr %angles, align {one}",
        f"  %x1 = load {real}, ptr %angles_next0, align {one}",
        *before,
        "  br label %each",
        "each:",
        "  %left = phi i64 [%left_next0, %entry], [%left_next, %each]",
        "  %count = phi i64 [%all, %entry], [%count_next, %each]",
        "  %k = phi i64 [%k_next0, %entry], [%k_next, %each]",
        "  %angles_now = phi ptr [%angles_next0, %entry], [%angles_next, %each]",
        "  %pairs_after = phi ptr [%pairs_next0, %entry], [%pairs_next, %each]",
        "  %pairs_now = phi ptr [%pairs, %entry], [%pairs_after, %each]",
        *(f"  %{x} = phi {kind} [{a}, %entry], [{b}, %each]" for x, kind, a, b in carried),
        *_following(one, "", "%k", "%angles_now", "%pairs_after", "%left"),
        f"  %x = load {real}, ptr %angles_next, align {one}",
        *_alike(finish, middle, reducing),
        "  %count_next = sub i64 %count, 1",
        "  %more = icmp sgt i64 %count_next, 0",
        "  br i1 %more, label %each, label %all_done",
        "all_done:",
        *any_lane(t, found, "%some"),
        "  br i1 %some, label %slow, label %end",
        # one of them is huge: all of them once more, by the way that takes every number
        "slow:",
        "  %left2 = phi i64 [%all, %all_done], [%left_next2, %slow]",
        "  %k2 = phi i64 [%n, %all_done], [%k_next2, %slow]",
        "  %angles2 = phi ptr [%angles, %all_done], [%angles_next2, %slow]",
        "  %pairs2 = phi ptr [%pairs, %all_done], [%pairs_next2, %slow]",
        *_following(one, "2", "%k2", "%angles2", "%pairs2", "%left2"),
        f"  %x2 = load {real}, ptr %angles2, align {one}",
        f"  %both = call {pair} @sincos_{W}({real} %x2)",
        f"  %s2 = extractvalue {pair} %both, 0",
        f"  %c2 = extractvalue {pair} %both, 1",
        *_put(real, one, "%s2", "%c2", "%pairs2"),
        "  %more2 = icmp sgt i64 %left2, 1",
        "  br i1 %more2, label %slow, label %end",
        "end:",
        "  ret void",
        "}\n",
    ]
    return "\n".join(lines) + t.constants()


def _alike(*parts: list[str]) -> list[str]:
    """Return the lines of several parts in turns, so that all end together."""
    longest = max(map(len, parts))
    placed = [
        (k * longest / len(part), n) for n, part in enumerate(parts) for k in range(len(part))
    ]
    left = [iter(part) for part in parts]
    return [next(left[n]) for _, n in sorted(placed)]


def _put(real: str, one: int, s: str, c: str, where: str) -> list[str]:
    """Return instructions that write sine and cosine side by side."""
    return [
        f"  store {real} {s}, ptr {where}, align {one}",
        f"  {where}_c = getelementptr i8, ptr {where}, i64 {one}",
        f"  store {real} {c}, ptr {where}_c, align {one}",
    ]


def _following(one: int, tag: str, k: str, angles: str, pairs: str, left: str) -> list[str]:
    """Return instructions that set the next place: in this tile, in the next, or here at the end.

    k vectors are left in the tile and `left` in all tiles, this one included.
    """
    return [
        f"  %left_next{tag} = sub i64 {left}, 1",
        f"  %last{tag} = icmp slt i64 %left_next{tag}, 1",
        f"  %k_less{tag} = sub i64 {k}, 1",
        f"  %full{tag} = icmp eq i64 %k_less{tag}, 0",
        f"  %k_next{tag} = select i1 %full{tag}, i64 %n, i64 %k_less{tag}",
        f"  %step{tag} = select i1 %full{tag}, i64 %jump, i64 {one}",
        f"  %step_pairs{tag} = select i1 %full{tag}, i64 %jump_pairs, i64 {2 * one}",
        f"  %on{tag} = select i1 %last{tag}, i64 0, i64 %step{tag}",
        f"  %on_pairs{tag} = select i1 %last{tag}, i64 0, i64 %step_pairs{tag}",
        f"  %angles_next{tag} = getelementptr i8, ptr {angles}, i64 %on{tag}",
        f"  %pairs_next{tag} = getelementptr i8, ptr {pairs}, i64 %on_pairs{tag}",
    ]
