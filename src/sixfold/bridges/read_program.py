"""Straight-line programs, carried out operation by operation on arrays of some library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sixfold.evaluate import Program

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "fma": lambda x, y, z: x * y + z,
    "fms": lambda x, y, z: x * y - z,
    "fnma": lambda x, y, z: z - x * y,
    "abs": abs,
    "copy": lambda x: x,
}
_FUNCTIONS = ("sqrt", "sin", "cos", "exp", "log", "tanh")


class Reader:
    """A program and where each of its values is needed for the last time."""

    def __init__(self, program: Program) -> None:
        """Take a program without repetitions."""
        self._program = program
        last: dict[int, int] = {}
        for k, (op, *arguments) in enumerate(program.nodes):
            if op not in ("input", "const"):
                last.update(dict.fromkeys(arguments, k))
        kept = set(program.outputs)
        self._ends: list[list[int]] = [[] for _ in program.nodes]
        for value, k in last.items():
            if value not in kept:
                self._ends[k].append(value)

    def run(self, xp: Any, numbers: Sequence[Any], array: Callable[[float], Any]) -> list[Any]:
        """Return the results of the program.

        Args:
            xp: the functions of the library.
            numbers: the inputs, arrays whose shapes broadcast.
            array: returns a constant as an array, for functions that take no Python numbers.

        Returns:
            Arrays, and floats for results that are constant.
        """
        functions = _functions_of(xp, array)
        value: list[Any] = [None] * len(self._program.nodes)
        for k, (op, *arguments) in enumerate(self._program.nodes):
            if op == "input":
                value[k] = numbers[arguments[0]]
            elif op == "const":
                value[k] = float(arguments[0])
            else:
                value[k] = functions[op](*(value[a] for a in arguments))
            for a in self._ends[k]:
                value[a] = None  # its memory can be used again
        return [value[k] for k in self._program.outputs]


def _functions_of(xp: Any, array: Callable[[float], Any]) -> dict[str, Callable[..., Any]]:
    """Return what a library does for each operation."""
    atan2 = xp.atan2 if hasattr(xp, "atan2") else xp.arctan2

    def arrays(*numbers: Any) -> list[Any]:
        return [array(x) if isinstance(x, float) else x for x in numbers]

    def sign(x: Any) -> Any:
        return if_positive(x, 1.0, xp.where(x < 0, array(-1.0), x * 0.0))

    def if_positive(x: Any, then: Any, otherwise: Any) -> Any:
        then, otherwise = arrays(then, otherwise)
        return xp.where(x > 0, then, xp.where(x <= 0, otherwise, x))

    return {
        **_ARITHMETIC,
        **{name: getattr(xp, name) for name in _FUNCTIONS},
        "atan2": lambda y, x: atan2(*arrays(y, x)),
        "sign": sign,
        "if_positive": if_positive,
    }
