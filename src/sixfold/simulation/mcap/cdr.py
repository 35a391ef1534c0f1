"""Messages in CDR, the encoding of ROS 2: written once, then filled with times and numbers.

Numbers are little-endian and aligned to their size, counted from behind a header of four bytes.
A text is its length with the final zero, then its bytes.  (OMG, DDS-RTPS 2.2, section 10.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sixfold.arrays import Array

_HEADER = b"\x00\x01\x00\x00"
NANO = 10**9


class Template:
    """A message whose texts and lengths are fixed; times and numbers are filled in."""

    def __init__(self) -> None:
        """Begin with nothing but the header."""
        self._data = bytearray(_HEADER)
        self._stamps: list[int] = []
        self._numbers: list[tuple[int, int]] = []

    def _align(self, size: int) -> None:
        self._data += bytes(-(len(self._data) - len(_HEADER)) % size)

    def count(self, n: int) -> Template:
        """Write how many elements follow."""
        self._align(4)
        self._data += struct.pack("<I", n)
        return self

    def text(self, word: str) -> Template:
        """Write a text."""
        encoded = word.encode() + b"\0"
        self.count(len(encoded))
        self._data += encoded
        return self

    def texts(self, words: Sequence[str]) -> Template:
        """Write a sequence of texts."""
        self.count(len(words))
        for word in words:
            self.text(word)
        return self

    def stamp(self) -> Template:
        """Leave room for the time: seconds and nanoseconds."""
        self._align(4)
        self._stamps.append(len(self._data))
        self._data += bytes(8)
        return self

    def doubles(self, n: int) -> Template:
        """Leave room for numbers."""
        if n:
            self._align(8)
            self._numbers.append((len(self._data), 8 * n))
            self._data += bytes(8 * n)
        return self

    def sequence(self, n: int) -> Template:
        """Leave room for a sequence of numbers, behind its length."""
        return self.count(n).doubles(n)

    def filled(self, nanoseconds: int, numbers: Array) -> bytes:
        """Return the message of a time with all of its numbers, in their order."""
        for place in self._stamps:
            struct.pack_into("<iI", self._data, place, *divmod(nanoseconds, NANO))
        raw, start = numbers.astype("<f8", copy=False).tobytes(), 0
        for place, size in self._numbers:
            self._data[place : place + size] = raw[start : start + size]
            start += size
        return bytes(self._data)
