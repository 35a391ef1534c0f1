"""Stacked vectors as arrays and as one value for each body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.book.operators.operators import Stack
from sixfold.evaluate import Argument, checked
from sixfold.model import Model
from sixfold.scalar import Scalar
from sixfold.spatial import Column, Force, Motion, to_array

Numbers = list[Any]


@dataclass(frozen=True)
class Space:
    """A space of stacked vectors: what a matrix of blocks takes or gives."""

    name: str
    """As in messages."""
    kind: type[Motion] | type[Force] | type[Column]

    def shape(self, model: Model) -> Shape:
        """Return the shape of the array of one state."""
        return (model.nv,) if self.kind is Column else (model.nb, 6)

    def stack(self, model: Model, x: Any, where: str) -> tuple[Stack, Shape]:
        """Return one value for each body, and the leading axes."""
        shape = self.shape(model)
        words = "nv numbers" if self.kind is Column else "(nb, 6): one vector for each body"
        array = checked(where, "x", Argument(x, shape, words))
        lead = array.shape[: array.ndim - len(shape)]
        numbers = numbers_of(array, shape)
        if self.kind is Column:
            flat = dict(enumerate(numbers))
            slices = model.tree.velocity_slices
            parts = {i: range(slices[i].start, slices[i].stop) for i in model.tree.bodies}
            return {i: Column(flat[k] for k in part) for i, part in parts.items()}, lead
        kind: Any = self.kind
        six = {i: numbers[6 * i - 6 : 6 * i] for i in model.tree.bodies}
        return {i: kind.of(part) for i, part in six.items()}, lead

    def array(self, model: Model, stack: Stack, lead: Shape) -> Array:
        """Return a stack as an array with these leading axes."""
        flat: list[Scalar] = []
        for i in model.tree.bodies:
            part = stack[i]
            flat += part if self.kind is Column else (*part.ang, *part.lin)
        return shaped(flat, lead, self.shape(model))


MOTIONS = Space("motions", Motion)
FORCES = Space("forces", Force)
FREEDOMS = Space("numbers, one for each freedom,", Column)


def numbers_of(array: Array, shape: Shape) -> Numbers:
    """Return the numbers of one state, each of which holds the batch."""
    lead = array.shape[: array.ndim - len(shape)]
    flat = array.reshape((*lead, prod(shape)))
    if lead:
        return [flat[..., k] for k in range(flat.shape[-1])]
    return flat.tolist() if flat.dtype != object else list(flat)


def shaped(numbers: list[Scalar], lead: Shape, shape: Shape) -> Array:
    """Return numbers that each hold a batch as an array (..., shape)."""
    flat = to_array(numbers)
    found = flat.reshape((*flat.shape[:-1], *shape))
    return np.array(np.broadcast_to(found, (*lead, *shape)))


def is_stack(x: Any) -> bool:
    """Return whether something is one value for each body."""
    return isinstance(x, Mapping)
