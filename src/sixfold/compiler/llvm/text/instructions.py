"""Writes LLVM instructions on vectors of W numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ctypes import c_float


def hexadecimal(x: float) -> str:
    """Return a double as LLVM writes it without rounding."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"


BITS = {"double": 64, "float": 32}  #: Of LLVM's types of numbers.


def types(W: int, scalar: str = "double") -> tuple[str, str]:
    """Return the LLVM type of W numbers and its suffix in intrinsic names."""
    short = f"f{BITS[scalar]}"
    return (scalar, short) if W == 1 else (f"<{W} x {scalar}>", f"v{W}{short}")


class Instructions:
    """Collects instructions and names their values."""

    prefix = "t"  #: Begins the names.

    def __init__(self, W: int, scalar: str = "double") -> None:
        self.W, self.lines, self.count = W, [], 0  # type: ignore[var-annotated]
        self.scalar, self.width = scalar, BITS[scalar]
        self.real, self.suffix = types(W, scalar)

    def emit(self, text: str) -> str:
        """Write an instruction and return the name of its value."""
        self.count += 1
        name = f"%{self.prefix}{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def splat(self, x: float) -> str:
        """Return a constant in every lane."""
        one = hexadecimal(x if self.scalar == "double" else c_float(x).value)
        return one if self.W == 1 else "<" + ", ".join([f"{self.scalar} {one}"] * self.W) + ">"


class Text(Instructions):
    """Instructions on one vector type."""

    def __init__(self, W: int, scalar: str = "double") -> None:
        super().__init__(W, scalar)
        self.whole, self.bit = (
            kind if W == 1 else f"<{W} x {kind}>" for kind in (f"i{self.width}", "i1")
        )

    def whole_splat(self, x: int) -> str:
        """Return a whole constant in every lane."""
        one = f"i{self.width} {x}"
        return str(x) if self.W == 1 else "<" + ", ".join([one] * self.W) + ">"

    def op(self, name: str, a: str, b: str) -> str:
        """Write an operation on two values."""
        return self.emit(f"{name} {self.real} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Write a b + c with one rounding."""
        r = self.real
        return self.emit(f"call {r} @llvm.fma.{self.suffix}({r} {a}, {r} {b}, {r} {c})")

    def neg(self, a: str) -> str:
        """Write -a."""
        return self.emit(f"fneg {self.real} {a}")

    def select(self, test: str, a: str, b: str) -> str:
        """Write a where the test holds, b elsewhere."""
        return self.emit(f"select {self.bit} {test}, {self.real} {a}, {self.real} {b}")

    def compare(self, how: str, a: str, b: str) -> str:
        """Write a comparison of two values."""
        return self.emit(f"fcmp {how} {self.real} {a}, {b}")

    def bits(self, a: str) -> str:
        """Write the bits of a value as whole numbers."""
        return self.emit(f"bitcast {self.real} {a} to {self.whole}")

    def value(self, bits: str) -> str:
        """Write the value of bits."""
        return self.emit(f"bitcast {self.whole} {bits} to {self.real}")

    def integer(self, name: str, a: str, b: str) -> str:
        """Write an operation on whole numbers."""
        return self.emit(f"{name} {self.whole} {a}, {b}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Write a polynomial, lowest coefficient first."""
        total = self.splat(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(x, total, self.splat(c))
        return total


def all_true(name: str, tests: Sequence[str]) -> list[str]:
    """Return instructions that set a name to whether all tests are true."""
    lines, known = [], "true"
    for n, test in enumerate(tests):
        result = name if n == len(tests) - 1 else f"{name}_{n}"
        lines.append(f"  {result} = and i1 {known}, {test}")
        known = result
    return lines
