"""A digest of the library's own source, so that code made by another version is never used."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return a hash of every source file of the package."""
    root = Path(__file__).parent.parent.parent
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(root.rglob("*.py")):
        total.update(str(path.relative_to(root)).encode())
        total.update(path.read_bytes())
    return total.hexdigest()
