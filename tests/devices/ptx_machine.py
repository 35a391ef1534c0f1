"""Runs PTX on this processor, one instruction after the other: what a card would compute.

Registers hold bits.  Each instruction that kernels use does what Nvidia's manual says (PTX ISA
8.0); any other is an error.  Arithmetic of floats is that of this processor.
"""

from __future__ import annotations

import ctypes
import re
import struct
from functools import lru_cache

from sixfold.compiler.llvm.runtime import jit

LOCAL_BYTES = 4096
PARAMETER_BYTES = 4096
_BITS = {
    "pred": 1,
    "b8": 8,
    "b32": 32,
    "u32": 32,
    "s32": 32,
    "f32": 32,
    "b64": 64,
    "u64": 64,
    "s64": 64,
}
_BITS["f64"] = 64


@lru_cache(maxsize=1)
def arithmetic():
    """Return the operations on floats, by name and kind."""
    lines, kinds = [], {"f32": ("float", ctypes.c_float), "f64": ("double", ctypes.c_double)}
    infix = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
    for kind, (real, _) in kinds.items():
        lines.append(f"declare {real} @llvm.fma.{kind}({real}, {real}, {real})")
        for name, op in infix.items():
            lines.append(f"define {real} @{name}_{kind}({real} %a, {real} %b) {{")
            lines += [f"  %r = {op} {real} %a, %b", f"  ret {real} %r", "}"]
        lines.append(f"define {real} @fma_{kind}({real} %a, {real} %b, {real} %c) {{")
        lines.append(f"  %r = call {real} @llvm.fma.{kind}({real} %a, {real} %b, {real} %c)")
        lines += [f"  ret {real} %r", "}"]
        lines.append(f"declare {real} @llvm.sqrt.{kind}({real})")
        lines.append(f"define {real} @sqrt_{kind}({real} %a) {{")
        lines.append(f"  %r = call {real} @llvm.sqrt.{kind}({real} %a)")
        lines += [f"  ret {real} %r", "}"]
    loaded = jit.Loaded(jit.object_code("\n".join(lines)))
    found = {"loaded": loaded}
    for kind, (_, real) in kinds.items():
        for name in (*infix, "fma", "sqrt"):
            function = ctypes.CFUNCTYPE(real, *[real] * {"fma": 3, "sqrt": 1}.get(name, 2))
            found[name, kind] = function(loaded.address(f"{name}_{kind}"))
    return found


def bits_of(x, kind):
    """Return the bits of a float."""
    letter, whole = ("f", "I") if kind == "f32" else ("d", "Q")
    return struct.unpack(whole, struct.pack(letter, x))[0]


def float_of(bits, kind):
    """Return the float of bits."""
    letter, whole = ("f", "I") if kind == "f32" else ("d", "Q")
    return struct.unpack(letter, struct.pack(whole, bits & (2 ** _BITS[kind] - 1)))[0]


def signed(bits, n):
    """Return bits as a whole number with a sign."""
    bits &= 2**n - 1
    return bits - 2**n if bits >> (n - 1) else bits


class Machine:
    """A module of PTX."""

    def __init__(self, text):
        """Read the text; raises ValueError for what is none."""
        self.globals, self.functions, self.arrays = {}, {}, {}
        for name, size, values in re.findall(
            r"^\.global \.align \d+ \.b8 (\w+)\[(\d+)\] = \{([^}]*)\}", text, re.M
        ):
            given = [int(x) for x in values.split(",")]
            self.globals[name] = (ctypes.c_uint8 * int(size))(*given)
        head = r"^(?:\.visible )?\.(?:func|entry)\s+(?:\([^)]*\)\s*)?(\w+)\(([^)]*)\)\s*^\{(.*?)^\}"
        for name, given, body in re.findall(head, text, re.M | re.S):
            parameters = [part.split()[-1] for part in given.split(",")]
            self.functions[name] = (parameters, *_parsed(body))
            self.arrays[name] = given.count(".ptr")  # which come first
        if ".version" not in text or not self.functions:
            raise ValueError("no PTX")

    def run(self, name, values, blocks, threads):
        """Run all threads of all blocks of a kernel."""
        for block in range(blocks):
            for thread in range(threads):
                numbers = {"%tid.x": thread, "%ctaid.x": block, "%ntid.x": threads}
                given = dict(zip(self.functions[name][0], values, strict=True))
                _Frame(self, numbers).run(
                    name, {k: v.to_bytes(8, "little") for k, v in given.items()}
                )


def _parsed(body):
    """Return the instructions of a function, and where its labels are."""
    labels, code = {}, []
    for line in body.splitlines():
        text = " ".join(line.partition("//")[0].split())
        if text.endswith(":"):
            labels[text[:-1]] = len(code)
        elif text and text not in "{}" and not text.startswith("."):
            code.append(_instruction(text.rstrip(";")))
    return code, labels


def _instruction(text):
    """Return the predicate, the words of the operation and the operands."""
    when = ""
    if text.startswith("@"):
        when, _, text = text[1:].partition(" ")
    op, _, rest = text.partition(" ")
    operands = re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s]+", rest)
    return when, op.split("."), operands


class _Frame:
    """One call of a function by one thread."""

    def __init__(self, machine, numbers):
        self.machine, self.numbers = machine, numbers
        self.registers, self.parameters, self.carry = {}, {}, 0
        self.local = (ctypes.c_uint8 * LOCAL_BYTES)()

    def run(self, name, given):
        """Run a function; return its parameters, the result among them."""
        _, code, labels = self.machine.functions[name]
        self.parameters = {k: bytearray(v.ljust(PARAMETER_BYTES, b"\0")) for k, v in given.items()}
        at = 0
        while at < len(code):
            when, op, operands = code[at]
            at += 1
            if when and bool(self.registers[when.lstrip("!")]) == when.startswith("!"):
                continue
            if op[0] == "bra":
                at = labels[operands[0]]
            elif op[0] == "ret":
                break
            else:
                self.do(op, operands)
        return self.parameters

    def read(self, text):
        """Return the bits of an operand."""
        if text.startswith("%"):
            return self.numbers[text] if text in self.numbers else self.registers[text]
        if text.startswith(("0f", "0d")):
            return int(text[2:], 16)
        if text.startswith("__local_depot"):
            return ctypes.addressof(self.local)
        if text in self.machine.globals:
            return ctypes.addressof(self.machine.globals[text])
        return int(text)

    def do(self, op, operands):
        """Do one instruction that is no jump."""
        if op[0] == "call":
            result, name, given = (x.strip("()") for x in operands)
            inner = _Frame(self.machine, self.numbers)
            names = self.machine.functions[name][0]
            passed = zip(names, given.split(", "), strict=True)
            found = inner.run(name, {k: bytes(self.parameters[v]) for k, v in passed})
            self.parameters[result] = found["func_retval0"]
        elif op[0] in ("ld", "st"):
            self.move(op, *operands)
        elif op[0] == "mov" and operands[0].startswith("{"):
            low, high = _listed(operands[0])
            bits = self.read(operands[1])
            self.registers[low], self.registers[high] = bits & (2**32 - 1), bits >> 32
        elif op[0] == "mov" and operands[1].startswith("{"):
            low, high = map(self.read, _listed(operands[1]))
            self.registers[operands[0]] = (low & (2**32 - 1)) | (high << 32)
        elif op[0] == "setp":
            a, b = (self.read(x) for x in operands[1:])
            self.registers[operands[0]] = _compared(op[1], op[2], a, b)
        else:
            found = self.value(op, [self.read(x) for x in operands[1:]])
            kind = op[-2] if op[0] == "cvt" else "b64" if "wide" in op else op[-1]
            self.registers[operands[0]] = found & (2 ** _BITS[kind] - 1)

    def move(self, op, *operands):
        """Load or store one or more numbers."""
        load, n = op[0] == "ld", _BITS[op[-1]] // 8
        value, place = operands if load else operands[::-1]
        names = _listed(value) if value.startswith("{") else [value]
        base, _, offset = place.strip("[]").partition("+")
        for k, name in enumerate(names):
            if op[1] == "param":
                memory = self.parameters.setdefault(base, bytearray(PARAMETER_BYTES))
                start = int(offset or 0) + k * n
                there = memoryview(memory)[start : start + n]
                assert len(there) == n, place
            else:
                address = self.read(base) + int(offset or 0) + k * n
                there = memoryview((ctypes.c_uint8 * n).from_address(address)).cast("B")
            if load:
                self.registers[name] = int.from_bytes(there, "little")
            else:
                there[:] = (self.read(name) & (2 ** (8 * n) - 1)).to_bytes(n, "little")

    def value(self, op, x):
        """Return the bits that an operation gives."""
        name, kind = op[0], op[-1]
        n = _BITS[kind]
        if kind.startswith("f") and name in ("add", "sub", "mul", "div", "fma"):
            assert op[1:-1] == ["rn"], op
            return bits_of(arithmetic()[name, kind](*(float_of(a, kind) for a in x)), kind)
        if name == "rcp":
            assert op[1:-1] == ["rn"], op
            return bits_of(arithmetic()["div", kind](1.0, float_of(x[0], kind)), kind)
        if name == "sqrt":
            assert op[1:-1] == ["rn"], op
            return bits_of(arithmetic()["sqrt", kind](float_of(x[0], kind)), kind)
        if name in ("abs", "neg") and kind.startswith("f"):
            sign = 1 << (n - 1)
            return x[0] & ~sign if name == "abs" else x[0] ^ sign
        if name == "cvt":
            return _converted(op[-2], kind, x[0])
        if op[1] == "cc" or name in ("addc", "subc"):
            return self.carried(name, x)
        return _WHOLE[name](op, n, x)

    def carried(self, name, x):
        """Add or subtract words of 64 bits with a carry."""
        a, b = (y & (2**64 - 1) for y in x)
        before = self.carry if name in ("addc", "subc") else 0
        total = a + b + before if name.startswith("add") else a - b - before
        self.carry = int(not 0 <= total < 2**64)
        return total


def _high(op, n, x):
    a, b = ((signed(y, n) if op[-1][0] == "s" else y & (2**n - 1)) for y in x)
    return (a * b) >> n


def _times(op, n, x):
    if op[1] == "hi":
        return _high(op, n, x)
    if op[1] == "wide":
        a, b = ((signed(y, n) if op[-1][0] == "s" else y & (2**n - 1)) for y in x)
        return a * b
    return x[0] * x[1]


def _shifted_right(op, n, x):
    a = signed(x[0], n) if op[-1][0] == "s" else x[0] & (2**n - 1)
    return a >> min(x[1] & (2**32 - 1), n)


def _funnel(op, n, x):
    assert op[1:3] == ["l", "wrap"], op
    both = ((x[1] & (2**32 - 1)) << 32) | (x[0] & (2**32 - 1))
    return (both << (x[2] & 31)) >> 32


_WHOLE = {
    "mov": lambda op, n, x: x[0],
    "cvta": lambda op, n, x: x[0],
    "add": lambda op, n, x: x[0] + x[1],
    "sub": lambda op, n, x: x[0] - x[1],
    "neg": lambda op, n, x: -x[0],
    "mul": _times,
    "div": lambda op, n, x: (x[0] & (2**n - 1)) // (x[1] & (2**n - 1)),
    "mad": lambda op, n, x: x[0] * x[1] + x[2],
    "and": lambda op, n, x: x[0] & x[1],
    "or": lambda op, n, x: x[0] | x[1],
    "xor": lambda op, n, x: x[0] ^ x[1],
    "not": lambda op, n, x: ~x[0],
    "shl": lambda op, n, x: x[0] << min(x[1] & (2**32 - 1), n),
    "shr": _shifted_right,
    "shf": _funnel,
    "bfe": lambda op, n, x: (x[0] >> x[1]) & (2 ** x[2] - 1),
    "clz": lambda op, n, x: n - (x[0] & (2**n - 1)).bit_length(),
    "selp": lambda op, n, x: x[0] if x[2] else x[1],
}
"""Operations on whole numbers: words of the operation, bits, operands."""


def _listed(text):
    return [x.strip() for x in text.strip("{}").split(",")]


def _compared(how, kind, a, b):
    n = _BITS[kind]
    if kind.startswith("f"):
        a, b = float_of(a, kind), float_of(b, kind)
        if a != a or b != b:
            return how in ("equ", "neu", "ltu", "leu", "gtu", "geu", "nan")
        how = how.removesuffix("u") if how not in ("num", "nan") else how
    elif kind.startswith("s"):
        a, b = signed(a, n), signed(b, n)
    else:
        a, b = a & (2**n - 1), b & (2**n - 1)
    tests = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return {**tests, "num": True, "nan": False}[how]


def _converted(to, kind, x):
    """Return a number of one kind as one of another, to the nearest where it does not fit."""
    if to.startswith("f") and kind.startswith("f"):
        value = float_of(x, kind)
        return bits_of(ctypes.c_float(value).value if to == "f32" else value, to)
    whole = signed(x, _BITS[kind]) if kind.startswith("s") else x & (2 ** _BITS[kind] - 1)
    if to.startswith("f"):
        return bits_of(float(whole), to)
    return whole & (2 ** _BITS[to] - 1)
