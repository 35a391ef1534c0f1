"""The arrays around a program: how many elements of each, and the signature NumPy sees."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from sixfold.errors import ShapeError

MOST_AXES = 3


@dataclass(frozen=True)
class Layout:
    """The arrays around a program: core shape of each input array and of the one output array."""

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    dtype: str = "float64"

    def __post_init__(self) -> None:
        """Refuse arrays of more core axes than the inner loop can walk."""
        if any(len(shape) > MOST_AXES for shape in self.shapes):
            raise ShapeError(
                "kernel",
                "arrays",
                f"at most {MOST_AXES} axes for one state",
                self.shapes,
                "reshape the arrays of one state to fewer axes",
            )

    @property
    def scalar(self) -> str:
        """LLVM's name of one element."""
        return {"float64": "double", "float32": "float"}[self.dtype]

    @property
    def item(self) -> int:
        """Bytes of one element."""
        return {"float64": 8, "float32": 4}[self.dtype]

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
