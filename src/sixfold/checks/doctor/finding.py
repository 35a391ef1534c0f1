"""Findings as data and as text; `codes.toml` has what the doctor can find."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from sixfold.errors import visible, whole_number
from sixfold.show import SEVERITIES, Severity, block, fill_text, plain, table

TABLE = Path(__file__).with_name("codes.toml")


@dataclass(frozen=True)
class Code:
    """One kind of finding."""

    severities: tuple[Severity, ...]
    title: str
    explanation: str
    fix: str


CODES = {
    name: Code(**row | {"severities": tuple(row["severities"])})
    for name, row in tomllib.loads(TABLE.read_text(encoding="utf-8")).items()
}


@dataclass(frozen=True)
class Finding:
    """One thing to know about a model: what, where in the file, why it matters, how to fix it."""

    severity: Severity  #: One of "error", "warning" and "note".
    code: str  #: Short name of its kind, such as "inertia-triangle".
    #: The link, body or joint, as "link 'hand'"; the model's name where it is about the whole.
    where: str
    file: str  #: The file of the model; empty for a model that comes from no file.
    line: int  #: Line of the file, from 1; 0 where there is none.
    what: str  #: What was found, with its numbers.
    explanation: str  #: Why it matters.
    fix: str  #: The way out.
    values: Mapping[str, Any] = field(default_factory=dict)  #: The numbers behind it, in SI units.

    @property
    def place(self) -> str:
        """File and line as editors read them; empty where there is no file."""
        file = visible(self.file)
        return f"{file}:{self.line}" if file and self.line else file

    def __str__(self) -> str:
        """Print as compilers do: file:line: severity: what [code]."""
        place = f"{self.place}: " if self.file else ""
        return f"{place}{self.severity}: {self.where}: {self.what} [{self.code}]"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON."""
        return {**vars(self), "values": _plain(dict(self.values))}


@dataclass(frozen=True)
class Diagnosis:
    """All findings of `diagnose`, the most severe first."""

    model: str  #: Name of the model.
    file: str  #: The file that it comes from; empty if there is none.
    samples: int  #: How many random states were examined.
    findings: tuple[Finding, ...]  #: The findings, the most severe first.
    #: Numbers by name: "bodies", "freedoms", "mass" [kg], of the mass matrix over the sampled
    #: "states" its "condition" (scaled) and "smallest_eigenvalue", and of loops the "mobility".
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What is wrong."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is probably wrong."""
        return self._of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What is worth knowing."""
        return self._of("note")

    @property
    def ok(self) -> bool:
        """True when there is no error."""
        return not self.errors

    def _of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON."""
        return {
            "model": self.model,
            "file": self.file,
            "samples": self.samples,
            "ok": self.ok,
            "counts": {name: len(self._of(name)) for name in SEVERITIES},
            "figures": _plain(dict(self.figures)),
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def to_json(self, indent: int | None = 1) -> str:
        """Return JSON text."""
        if indent is not None:
            whole_number("Diagnosis.to_json", "indent", indent, 0, 100)
        return json_text(self.to_dict(), indent)

    def __str__(self) -> str:
        """Print as a report."""
        return self.text()

    def __repr__(self) -> str:
        """Return the number of findings; print the object for a report."""
        return f"<diagnosis of {self.summary()}>"

    def _repr_html_(self) -> str:
        """Return a table of the findings, for notebooks."""
        rows = [
            (f.severity, f"{f.place} {f.where}".strip(), f.what, f.fix, f.code)
            for f in self.findings
        ]
        figures = "".join(f"<p>{plain(line)}</p>" for line in _figures(self))
        head = ("", "where", "what", "fix", "code")
        return block(figures, table(head, rows) if rows else f"<p>{plain(self.summary())}</p>")

    def text(self, width: int = 100, most: int = 10) -> str:
        """Return the report: each kind of finding with its places, its reason and its fix.

        Args:
            width: columns to fill.
            most: places shown for each kind; the rest is counted.
        """
        whole_number("Diagnosis.text", "width", width, 20, 100_000)
        whole_number("Diagnosis.text", "most", most, 1, 10**9)
        return "\n".join(self._lines(width, most))

    def _lines(self, width: int, most: int) -> Iterator[str]:
        yield from (fill_text(line, width, "", "    ") for line in _figures(self))
        for severity in SEVERITIES:
            # places of one kind together, under one heading
            of_kind = sorted(self._of(severity), key=lambda finding: _order(finding.code))
            for code, group in groupby(of_kind, key=lambda finding: finding.code):
                yield ""
                yield fill_text(f"{severity}: {CODES[code].title} [{code}]", width, "", "    ")
                yield from _places(list(group), width, most)
        yield ""
        yield self.summary()

    def summary(self) -> str:
        """Return one line: how many of each severity."""
        if not self.findings:
            return f"{visible(self.model)}: nothing to remark"
        counts = Counter(finding.severity for finding in self.findings)
        listed = [f"{n} {name}{'s' * (n > 1)}" for name in SEVERITIES if (n := counts[name])]
        return f"{visible(self.model)}: {', '.join(listed)}"


def json_text(data: Mapping[str, Any], indent: int | None = 1) -> str:
    """Return JSON without any character that a terminal obeys; json itself lets DEL through."""
    return json.dumps(data, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")


def _places(found: list[Finding], width: int, most: int) -> Iterator[str]:
    """Yield the places of one kind of finding, file and line first, then its reason and fix."""
    for finding in found[:most]:
        place = f"{finding.place}: " if finding.place else ""
        yield fill_text(f"{finding.where}: {finding.what}", width, place, "      ")
    if len(found) > most:
        yield f"    ... and {len(found) - most} more"
    # the reason and the way out stand once for all places
    yield fill_text(found[0].explanation, width, "    ", "    ")
    yield fill_text(f"fix: {found[0].fix}", width, "    ", "    ")


def _figures(diagnosis: Diagnosis) -> Iterator[str]:
    f = diagnosis.figures
    if not f:
        return
    name = visible(diagnosis.model)
    yield f"{name}: {f['bodies']} bodies, {f['freedoms']} degrees of freedom, {f['mass']:.6g} kg"
    if "condition" in f:
        yield (
            f"mass matrix over {f['states']} states: condition {f['condition']:.2g} (scaled), "
            f"smallest eigenvalue {f['smallest_eigenvalue']:.2g}"
        )


def _order(code: str) -> int:
    return list(CODES).index(code)


def _plain(x: Any) -> Any:
    """Return plain data; numbers that JSON cannot hold become None."""
    if isinstance(x, Mapping):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [_plain(value) for value in x]
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return x
