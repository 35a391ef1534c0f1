"""Quantities on numbers, by name: `readings.mass_matrix(model, tree, q)`.

Each takes the model, a tree and one flat list of numbers for each array, and returns one flat list.
The names are those of the public functions, and a few that have no public function.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sixfold.runtime.quantity import QUANTITIES, page

_OTHERS = {
    "METHODS": "sixfold.quantities.dynamics",
    "contact_dynamics": "sixfold.quantities.contact",
    "contact_forces": "sixfold.quantities.contact",
    "flat_response": "sixfold.quantities.contact",
    "inverse_masses": "sixfold.quantities.contact",
    "pivots": "sixfold.runtime.singular",
}

__all__ = ["page"]


def __getattr__(name: str) -> Any:
    """Return the function of a name."""
    if name in QUANTITIES:
        return QUANTITIES[name].reading
    if name in _OTHERS:
        return getattr(import_module(_OTHERS[name]), name)
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
