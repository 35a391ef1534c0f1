"""What a person reads who assigns to a model: that it stays as it is, and what makes a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, TypeVar

T = TypeVar("T")
NEW = "make a new one with sixfold.ModelBuilder, or with dataclasses.replace"


def immutable(title: str, ways: Mapping[str, str]) -> Callable[[type[T]], type[T]]:
    """Return a decorator of frozen dataclasses: an assignment says what makes a changed copy.

    Args:
        title: what the object is called, such as "a Model".
        ways: what makes a new one, by the name of the field.
    """

    def refuse(self: Any, name: str, *_: Any) -> None:
        way = ways.get(name, ways.get("", NEW))
        text = f"{title} is immutable: '{name}' cannot be assigned; {way}"
        raise FrozenInstanceError(text)

    def decorate(kind: type[T]) -> type[T]:
        # a frozen dataclass refuses methods of these names in its own body
        kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[method-assign]
        return kind

    return decorate
