"""Results without the numbers that are zero for every state: `sparse=True`.

Freedoms on different branches do not meet, so matrices over the freedoms have zeros in fixed
places.  They are where the page itself finds an exact zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import OptionError
from sixfold.evaluate.arrays import model_checked
from sixfold.evaluate.call import general
from sixfold.evaluate.kernels.kernel_cache import per_model
from sixfold.evaluate.kernels.kernel_tree import kernel_tree
from sixfold.evaluate.quantities import QUANTITIES, Quantity
from sixfold.evaluate.scalar_functions import page
from sixfold.evaluate.states import random_state
from sixfold.model import Model
from sixfold.scalar import Zero


class Nonzeros(NamedTuple):
    """A matrix for each state by the numbers that are not zero for every state."""

    values: Array
    """Shape (..., n)."""
    rows: Array
    """Row of each, shape (n,); the same for all states of a model."""
    columns: Array
    """Column of each."""


def sparse_call(
    row: Quantity,
    model: Any,
    values: Sequence[Any],
    options: Sequence[Any],
    out: Any,
    backend: Any,
    sparse: Any,
) -> Nonzeros | tuple[Nonzeros, ...]:
    """Evaluate a quantity whose results are matrices, without their zeros.

    Args:
        row: the quantity.
        model: the first argument.
        values: the array arguments, as in `general`.
        options: values of the row's choices.
        out: arrays for the values, or None.
        backend: as in `general`.
        sparse: what the caller passed.
    """
    if sparse is not True:
        raise OptionError(row.name, "sparse", (False, True), sparse)
    model_checked(row.name, model)
    row.options(model, values, options)  # says what is wrong with one
    absent = tuple(n for n, x in zip(row.arrays, values, strict=True) if x is None)
    reduced, places = _reduced(model, row.name, tuple(options), absent)
    found: Any = None
    if backend is None:
        found = _prepared(reduced, model, values, options, out)
    if found is None:
        found = general(reduced, model, values, options, out, backend)
    if len(places) == 1:
        return Nonzeros(found, *places[0])
    return tuple(Nonzeros(x, *at) for x, at in zip(found, places, strict=True))


def _prepared(
    row: Quantity, model: Model, values: Sequence[Any], options: Sequence[Any], out: Any
) -> Any:
    """Return the result of a call that was made before with arrays of this kind, or None."""
    absent = (x is None for n, x in zip(row.arrays, values, strict=True) if n in row.optional)
    ready = row.prepared.get((id(model), *options, *absent))
    several = len(row.outputs) > 1
    if ready is None or (several and out is not None and type(out) is not tuple):
        return None
    targets = out if several and out is not None else [out] * len(row.outputs)
    if len(targets) != len(row.outputs):
        return None
    given = [x for x in values if x is not None]
    found = ready[0](*given, *targets)
    return ready[1](*given, *targets) if found is None else found


@per_model()
def _reduced(
    model: Model, name: str, options: tuple[Any, ...], absent: tuple[str, ...]
) -> tuple[Quantity, list[tuple[Array, Array]]]:
    """Return a row of the nonzeros alone, and the places of each result."""
    row = QUANTITIES[name]
    given = [None if n in absent else 0.0 for n in row.arrays]
    keywords = row.options(model, given, options)
    rng = np.random.default_rng(0)
    lists = []
    for n in row.arrays:
        size = prod(row.argument(model, n, None).shape)
        numbers = random_state(model, seed=0)[0] if n == "q" else rng.standard_normal(size)
        lists += [] if n in absent else [numbers.tolist()]
    core = row.core(set(row.arrays) - set(absent), keywords)
    numbers = core(model, kernel_tree(core, model), *lists)
    kept = [k for k, x in enumerate(numbers) if not isinstance(x, Zero)]

    @page(joint_space=getattr(row.page, "joint_space", False))
    def nonzeros(*arguments: Any, **more: Any) -> list[Any]:
        found = row.page(*arguments, **more)
        return [found[k] for k in kept]

    places, sizes, start = [], [], 0
    for shape in row.shapes(model):
        here = [k - start for k in kept if start <= k < start + prod(shape)]
        rows, columns = np.unravel_index(np.array(here, int), shape)
        places.append((rows, columns))
        sizes.append(str(len(here)))
        start += prod(shape)
    return replace(row, source=nonzeros, outputs=tuple(sizes), prepared={}), places
