"""Writes LLVM instructions on vectors of W doubles."""

from __future__ import annotations

import struct
from collections.abc import Sequence


def hexadecimal(x: float) -> str:
    """Return a double as LLVM writes it without rounding."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', x))[0]:016X}"


class Text:
    """Collects instructions on one vector type."""

    def __init__(self, W: int) -> None:
        self.W, self.lines, self.count = W, [], 0  # type: ignore[var-annotated]
        self.real = "double" if W == 1 else f"<{W} x double>"
        self.whole = "i64" if W == 1 else f"<{W} x i64>"
        self.bit = "i1" if W == 1 else f"<{W} x i1>"
        self.suffix = "f64" if W == 1 else f"v{W}f64"

    def emit(self, text: str) -> str:
        """Write an instruction and return the name of its value."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def splat(self, x: float) -> str:
        """Return a constant in every lane."""
        one = f"double {hexadecimal(x)}"
        return hexadecimal(x) if self.W == 1 else "<" + ", ".join([one] * self.W) + ">"

    def whole_splat(self, x: int) -> str:
        """Return a whole constant in every lane."""
        return str(x) if self.W == 1 else "<" + ", ".join([f"i64 {x}"] * self.W) + ">"

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
