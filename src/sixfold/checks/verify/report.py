"""What a comparison of formulations found, as data and as a table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from sixfold.errors import DisagreementError, visible
from sixfold.show import block, table

WIDTH = 80  #: Columns of the table.


@dataclass(frozen=True)
class Finding:
    """One formulation of one quantity: its worst error, at which state, or why it was left out."""

    quantity: str  #: Such as "mass matrix".
    formulation: str  #: Such as "crba".
    #: The worst error, relative to the size of the quantity; None if it was left out.
    error: float | None
    #: Number of the state where the error is worst, from 0; None if it was left out.
    state: int | None
    limit: float  #: The largest error that is allowed.
    note: str = ""  #: Why it was left out; empty otherwise.

    @property
    def bad(self) -> bool:
        """True when the error is above the limit or is not a number."""
        return self.error is not None and not self.error <= self.limit


@dataclass(frozen=True)
class Report:
    """What `check` found."""

    model: str  #: Name of the model.
    samples: int  #: Number of random states.
    findings: tuple[Finding, ...]  #: One for each formulation of each quantity.
    statement: str = ""  #: What an exact comparison proves; empty for one on doubles.

    @property
    def agrees(self) -> bool:
        """True when no formulation disagrees."""
        return not any(finding.bad for finding in self.findings)

    def raise_if_bad(self) -> Report:
        """Raise DisagreementError naming the worst formulation; return the report otherwise."""
        bad = [finding for finding in self.findings if finding.bad]
        if bad:
            lines = "\n".join(
                f"  {f.quantity} by {f.formulation}: {f.error:.2e} at state {f.state}"
                f" (limit {f.limit:.0e})"
                for f in bad
            )
            raise DisagreementError(
                f"model '{visible(self.model)}': {len(bad)} formulations disagree\n{lines}\n"
                f"  fix: examine the model (massless links, extreme ratios) or report a bug"
            )
        return self

    def __repr__(self) -> str:
        """Return one line; print the object for a table."""
        errors = [f.error for f in self.findings if f.error is not None]
        bad = sum(f.bad for f in self.findings)
        verdict = f"{bad} DISAGREE" if bad else "all agree"
        worst = f", worst error {max(errors):.1e}" if errors else ""
        compared = f"{len(errors)} formulations at {self.samples} states"
        return f"<check of '{visible(self.model)}': {compared}{worst}: {verdict}>"

    def _repr_html_(self) -> str:
        """Return a table, for notebooks."""
        rows = [
            (
                f.quantity,
                f.formulation,
                "" if f.error is None else f"{f.error:.1e}",
                "" if f.state is None else f.state,
                "DISAGREES" if f.bad else f.note,
            )
            for f in self.findings
        ]
        head = ("quantity", "formulation", "worst error", "state", "")
        return block(table(head, rows, repr(self)[1:-1]))

    def __str__(self) -> str:
        """Print as a table."""
        states = "rational states" if self.statement else "random states"
        lines = [f"{visible(self.model)}: {self.samples} {states}", ""]
        lines.append(f"{'quantity':<18} {'formulation':<26} {'worst error':>12}  {'state':>5}")
        for f in self.findings:
            error = f"{f.error:12.1e}" if f.error is not None else f"{'-':>12}"
            state = f"{f.state:5d}" if f.state is not None else f"{'':>5}"
            named = f"{f.quantity:<18} {f.formulation:<26} "
            verdict = "DISAGREES" if f.bad else f.note
            # a formulation that was left out: the reason instead of figures
            if f.error is None and len(named) + 2 + len(f.note) <= WIDTH:
                lines.append(f"{named}  {f.note}".rstrip())
                continue
            line = f"{named}{error}  {state}  {verdict}".rstrip()
            fits = len(line) <= WIDTH
            lines += [line] if fits else [f"{named}{error}  {state}".rstrip(), f"    {verdict}"]
        if self.statement:
            lines += ["", *textwrap.wrap(self.statement, WIDTH)]
        return "\n".join(lines)
