"""What a file says and a model has no counterpart for: told once of each kind, with its line."""

from __future__ import annotations


class Notes:
    """Collects remarks; the same remark on other lines only counts up."""

    def __init__(self) -> None:
        """Begin with none."""
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}

    def add(self, what: str, line: int) -> None:
        """Remark that something is left out."""
        self.say(f"{what} has no counterpart and is left out", line)

    def say(self, what: str, line: int) -> None:
        """Remark anything."""
        self._first.setdefault(what, line)
        self._count[what] = self._count.get(what, 0) + 1

    def lines(self) -> tuple[str, ...]:
        """Return the remarks in the order of their first lines."""
        return tuple(
            f"line {line}: {what}" + (f" ({n} times)" if (n := self._count[what]) > 1 else "")
            for what, line in sorted(self._first.items(), key=lambda item: item[1])
        )
