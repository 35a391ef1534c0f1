"""The words for arrays that all floors share."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]
