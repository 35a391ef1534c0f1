"""The fields of an object in a line, arrays by their shape."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

import numpy as np

MAX_ELEMENTS = 16
"""Elements of an array that are printed; of larger ones the shape."""
MAX_TUPLE = 4
MAX_TEXT = 60


def fields_line(value: Any) -> str:
    """Return the fields of a dataclass or named tuple in a few lines, whatever they hold.

    Small arrays are printed with four digits.  Large ones give their shape, functions their name.
    Fields of a dataclass that hold their default are left out.
    """
    named = getattr(value, "_fields", None) or [f.name for f in fields(value) if _told(value, f)]
    parts = (f"{name}={_short(getattr(value, name))}" for name in named)
    return f"{type(value).__name__}({', '.join(parts)})"


def _told(value: Any, field: Field[Any]) -> bool:
    held = getattr(value, field.name)
    return field.repr and (held is not field.default and not _same(held, field.default))


def _same(held: Any, default: Any) -> bool:
    """Return whether a field holds its default; arrays never do."""
    return not isinstance(held, np.ndarray) and bool(held == default)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        if value.size > MAX_ELEMENTS:
            return f"array {value.shape}"
        text = np.array2string(value, precision=4, suppress_small=True, separator=", ")
        return " ".join(text.split())
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, tuple) and len(value) > MAX_TUPLE:
        return f"{len(value)} x {type(value[0]).__name__}"
    text = repr(value)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
