"""Quantities on numbers, by name: `scalar_functions.mass_matrix(model, tree, q)`.

Each takes the model, a tree and one flat list of numbers for each array, and returns one flat list.
The names are those of the public functions, and a few that have no public function.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sixfold.evaluate.quantity import QUANTITIES, page

_OTHERS = {
    "METHODS": "quantities.dynamics",
    "contact_dynamics": "quantities.contact",
    "contact_forces": "quantities.contact",
    "flat_response": "quantities.contact",
    "inverse_masses": "quantities.contact",
    "pivots": "singular",
}

__all__ = ["page"]


def __getattr__(name: str) -> Any:
    """Return the function of a name."""
    if name in QUANTITIES:
        return QUANTITIES[name].reading
    if name in _OTHERS:
        return getattr(import_module(f"sixfold.evaluate.{_OTHERS[name]}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
