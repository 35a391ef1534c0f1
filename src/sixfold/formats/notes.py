"""What a file says and a model has no counterpart for, and what is wrong in it but still read."""

from __future__ import annotations

from sixfold.errors import RobotFileError, visible


class Notes:
    """Collects remarks and blemishes; the same one on other lines only counts up.

    A remark is about something that is well but has no counterpart.  A blemish is wrong and is read
    all the same: it becomes a warning, or an error where the reader is strict.
    """

    def __init__(self, file: str, strict: bool = False) -> None:
        """Begin with none; places in other files than this one are told with their file."""
        self.file, self.strict = file, strict
        self._first: dict[str, int] = {}
        self._count: dict[str, int] = {}
        self._blemishes: dict[tuple[str, str], list[RobotFileError]] = {}

    def add(self, what: str, line: int) -> None:
        """Remark that something is left out."""
        self.say(f"{what} has no counterpart and is left out", line)

    def say(self, what: str, line: int) -> None:
        """Remark anything."""
        self._first.setdefault(what, line)
        self._count[what] = self._count.get(what, 0) + 1

    def blemish(self, error: RobotFileError, reading: str) -> None:
        """Keep an error as a blemish, with how the place is read; raise it when strict."""
        if self.strict:
            raise error
        self._blemishes.setdefault((error.what, reading), []).append(error)

    def lines(self) -> tuple[str, ...]:
        """Return the remarks in the order of their first lines."""
        return tuple(
            f"line {line}: {what}" + (f" ({n} times)" if (n := self._count[what]) > 1 else "")
            for what, line in sorted(self._first.items(), key=lambda item: item[1])
        )

    def blemishes(self) -> tuple[str, ...]:
        """Return the blemishes in the order of their first lines: what is wrong; how it is read."""
        found = []
        for (what, reading), errors in self._blemishes.items():
            first = min(errors, key=lambda error: error.line)
            here = first.file == self.file
            line = f"line {first.line}" if here else f"{visible(first.file)}:{first.line}"
            place = f"{line}: {first.element}" if first.element else line
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            found.append((first.line, f"{place}: {what}; {reading}{more}"))
        return tuple(text for _, text in sorted(found))
