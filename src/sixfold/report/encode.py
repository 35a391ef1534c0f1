"""Arrays as text inside a page: little-endian bytes in base64, whole numbers where they will do."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from sixfold.scene.triangles import Array

STEPS = 65535
"""Largest whole number of two bytes."""


def base64_of(values: Array, kind: str) -> str:
    """Return the bytes of an array as text; kind is a little-endian NumPy type such as '<f4'."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def ranges(values: Array) -> tuple[Array, Array]:
    """Return the lowest value of each of the last axis' columns, and a step that spans it."""
    flat = values.reshape(-1, values.shape[-1])
    low = flat.min(axis=0)
    return low, np.maximum(flat.max(axis=0) - low, 1e-12) / STEPS


def whole(values: Array, low: Array, step: Array) -> Array:
    """Return values as whole numbers of steps above low."""
    return np.clip(np.round((values - low) / step), 0, STEPS)


def json_text(data: Any) -> str:
    """Return data as JSON that may stand inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
