"""What a log shows besides numbers: what is wrong with it, with the way out, and friction laws."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sixfold.errors import visible
from sixfold.show import Severity


@cache
def fixes() -> dict[str, str]:
    """Return the way out of each kind of finding."""
    table = Path(__file__).with_name("fixes.toml")
    return tomllib.loads(table.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class DataFinding:
    """One thing to know about a log."""

    severity: Severity  #: One of "error", "warning" and "note".
    code: str  #: Short name of its kind, such as "lag".
    what: str  #: What was found, in words.
    values: Mapping[str, Any] = field(default_factory=dict)  #: The numbers behind it.

    @property
    def fix(self) -> str:
        """The way out."""
        return fixes()[self.code]

    def __str__(self) -> str:
        """Print in two lines."""
        return f"{self.severity}: {visible(self.what)} [{self.code}]\n    fix: {self.fix}"


@dataclass(frozen=True)
class FrictionLaw:
    """How the dry friction of a joint depends on its speed."""

    joint: str
    speed: float  #: v_s of f tanh(v / v_s) [rad/s or m/s]; 0 for f sign(v).
    loaded: float  #: v_s in the loaded model.
    residual: float  #: Held-out residual of the joint with that speed [N m or N].
    loaded_residual: float  #: The same with the speed of the loaded model.
    sign_residual: float  #: The same with sign(v).
    #: The same with friction that builds up after each reversal in addition.
    hysteresis_residual: float

    @property
    def words(self) -> str:
        """The law, as in 'tanh(v / 0.05)'."""
        return f"tanh(v / {self.speed:.3g})" if self.speed else "sign(v)"


def join_names(names: list[str], most: int = 4) -> str:
    """Return names one after the other, the rest counted."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
