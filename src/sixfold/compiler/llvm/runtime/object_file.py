"""Object code as LLVM writes it for Linux on x86-64: sections, symbols, relocations.

Kernels need little of the format: code and constants, no data that is written to, a few functions
of the interpreter.  Anything else raises NotPlaceable; LLVM's own loader is used then.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.int64]

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    {
        "names": ["name", "info", "section", "value"],
        "formats": ["<u4", "u1", "<u2", "<u8"],
        "offsets": [0, 4, 6, 8],
        "itemsize": 24,
    }
)
_RELOCATION = np.dtype([("at", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])

_BITS, _SYMBOLS, _RELOCATIONS, _UNWIND = 1, 2, 4, 0x70000001  # types of sections
_WRITE, _ALLOC = 1, 2  # flags of sections
_TEMPLATE, _MACHINE = 1, 62  # a relocatable file, for x86-64
_ABS64, _PC32, _PLT32 = 1, 2, 4
_GOT = np.isin(np.arange(64), (9, 41, 42))  # distance of the symbol's GOT entry

_NOWHERE = np.int64(-1)  # offset of a symbol that is not in the block
_WORD, _STUB = 8, 8
_JUMP = b"\xff\x25"  # jmp [rip + offset]


class NotPlaceable(Exception):
    """The object uses something that this loader does not support."""


class _Section(NamedTuple):
    kind: int
    flags: int
    data: bytes
    link: int
    info: int
    align: int


class ObjectFile:
    """Object code, laid out in one block: sections, then GOT entries and jumps to other symbols.

    `size` is that of the block, `symbols` the offsets of global functions in it, `unwind` the
    offset of the unwind table.
    """

    def __init__(self, code: bytes) -> None:
        """Read object code."""
        try:
            self._read(code)
        except (struct.error, IndexError, ValueError) as error:
            raise NotPlaceable(f"not an object file: {error}") from None

    def _read(self, code: bytes) -> None:
        head = _HEADER.unpack_from(code)
        if head[0][:6] != b"\x7fELF\x02\x01" or head[1:3] != (_TEMPLATE, _MACHINE):
            raise NotPlaceable("not an object file for x86-64")
        self._sections = []
        for k in range(head[12]):
            _, kind, flags, _, at, size, link, info, align, _ = _SECTION.unpack_from(
                code, head[6] + k * head[11]
            )
            self._sections.append(
                _Section(kind, flags, code[at : at + size], link, info, max(align, 1))
            )
        self._lay_out()
        self._find_symbols()
        self._relocations = [
            (self._offsets[section.info], np.frombuffer(section.data, _RELOCATION))
            for section in self._sections
            if section.kind == _RELOCATIONS and section.info in self._offsets
        ]
        wanted = set(self._elsewhere)
        for _, found in self._relocations:
            wanted.update(found["symbol"][_GOT[found["kind"] & 63]].tolist())
        self._slots = {k: n for n, k in enumerate(sorted(wanted))}
        self._jumps = self._words + _WORD * len(self._slots)
        self.size = self._jumps + _STUB * len(self._elsewhere)

    def _lay_out(self) -> None:
        """Assign an offset in the block to each section that is needed at run time."""
        self._offsets: dict[int, int] = {}
        self.unwind: int | None = None
        end = 0
        for k, section in enumerate(self._sections):
            if not section.flags & _ALLOC or not section.data:
                continue
            if section.kind not in (_BITS, _UNWIND) or section.flags & _WRITE:
                raise NotPlaceable(f"section {k} is of kind {section.kind}, flags {section.flags}")
            end = -(-end // section.align) * section.align
            self._offsets[k] = end
            if section.kind == _UNWIND:
                self.unwind = end
                end += 8  # zeros: the end of the table
            end += len(section.data)
        self._words = -(-end // _WORD) * _WORD

    def _find_symbols(self) -> None:
        table = next(section for section in self._sections if section.kind == _SYMBOLS)
        names = self._sections[table.link].data
        symbols = np.frombuffer(table.data, _SYMBOL)
        self.symbols: dict[str, int] = {}
        self._elsewhere: dict[int, str] = {}
        self._values = np.full(len(symbols), _NOWHERE)
        for k, (start, info, section, value) in enumerate(symbols.tolist()):
            if k == 0 or (section and section not in self._offsets):
                continue
            name = names[start : names.index(b"\0", start)].decode()
            if section == 0:
                self._elsewhere[k] = name
                continue
            self._values[k] = self._offsets[section] + value
            if info >> 4:  # not local
                self.symbols[name] = self._offsets[section] + value

    def image(self, base: int, resolve: Callable[[str], int]) -> bytes:
        """Return the block for an address.

        Args:
            base: address of the block.
            resolve: returns the address of an external symbol, 0 if there is none.
        """
        block = np.zeros(self.size, np.uint8)
        for k, place in self._offsets.items():
            data = self._sections[k].data
            block[place : place + len(data)] = np.frombuffer(data, np.uint8)
        values = self._values.copy()
        values[list(self._elsewhere)] = _NOWHERE
        words, calls = values.copy(), values.copy()
        for k, n in self._slots.items():
            words[k] = self._words + _WORD * n
        for n, k in enumerate(self._elsewhere):
            calls[k] = self._jumps + _STUB * n
            jump = _JUMP + int(words[k] - calls[k] - 6).to_bytes(4, "little", signed=True)
            block[calls[k] : calls[k] + 6] = np.frombuffer(jump, np.uint8)
        for k in self._slots:
            name = self._elsewhere.get(k)
            address = base + int(values[k]) if name is None else resolve(name)
            if not address:
                raise NotPlaceable(f"no symbol '{name}'")
            _put(block, words[[k]], np.array([address]), _WORD)
        for start, found in self._relocations:
            at = found["at"].astype(np.int64) + start
            kind, symbol = found["kind"], found["symbol"]
            far, call, got = kind == _ABS64, kind == _PLT32, _GOT[kind & 63]
            target = np.select([call, got], [calls[symbol], words[symbol]], values[symbol])
            known = (far | call | got | (kind == _PC32)) & (kind < 64) & (target != _NOWHERE)
            if not known.all():
                raise NotPlaceable(f"relocations of kinds {np.unique(kind[~known]).tolist()}")
            target = target + found["addend"]
            _put(block, at[~far], (target - at)[~far], 4)
            _put(block, at[far], (target + base)[far], 8)
        return block.tobytes()


def _put(block: Bytes, at: Words, values: Words, size: int) -> None:
    """Write integers of so many bytes at offsets of a block."""
    if size == 4 and (values != values.astype(np.int32)).any():
        raise NotPlaceable("a distance of more than 2 GB")
    parts = values.astype(f"<i{size}").view(np.uint8).reshape(-1, size)
    block[at[:, None] + np.arange(size)] = parts
