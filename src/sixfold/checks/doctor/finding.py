"""What the doctor can find (one row for each code), and findings as data and as text."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import fill
from typing import Any, Literal

from sixfold.errors import OptionError, visible
from sixfold.show import block, plain, table

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Code:
    """One kind of finding."""

    severities: tuple[Severity, ...]
    title: str
    explanation: str
    fix: str


CODES: dict[str, Code] = {
    "mass-negative": Code(
        ("error",),
        "negative mass",
        "No body has a mass below zero; forces may then accelerate the robot the wrong way.",
        "give the mass of the link [kg]",
    ),
    "inertia-not-positive": Code(
        ("error",),
        "inertia that is not positive semidefinite",
        "A principal moment about the centre of mass is negative: turning about that axis would "
        "release energy. Usual causes: a product of inertia with the wrong sign or unit, or a "
        "tensor that is about another point than the centre of mass.",
        "export the tensor about the centre of mass again, and check the signs of Ixy, Ixz, Iyz",
    ),
    "inertia-triangle": Code(
        ("error", "warning", "note"),
        "moments of inertia that no body can have",
        "For any distribution of mass each principal moment is at most the sum of the other two. "
        "An error above 10 % of the largest moment; a warning below, which measuring or lost "
        "digits may explain; a note if the radius of gyration is below 1 micrometre (a point "
        "mass with rounding error).",
        "export the tensor again; for a stand-in use the moments of a box or sphere of that mass",
    ),
    "joint-without-inertia": Code(
        ("error",),
        "joint with no inertia behind it",
        "Nothing resists this joint at any configuration, so forward dynamics has no solution; "
        "inverse dynamics and the mass matrix still work.",
        "give the body (or one behind it) mass and moments, add armature, or make the joint fixed",
    ),
    "matrix-not-positive": Code(
        ("error",),
        "mass matrix that is not positive definite",
        "At some sampled states a motion has no or negative kinetic energy, so forward dynamics "
        "has no meaning there.",
        "fix the inertias reported above; a massless joint may need armature",
    ),
    "matrix-overflow": Code(
        ("error",),
        "mass matrix beyond the range of numbers",
        "The mass matrix is not finite at some sampled states.",
        "check masses and lengths: one is far too large",
    ),
    "mass-zero": Code(
        ("note", "warning"),
        "link whose mass is given as zero",
        "Harmless on a link that is fixed to others with mass. A warning when the link moves and "
        "nothing fixed to it has inertia: then all depends on what hangs behind it.",
        "leave the inertia of a mere frame out; otherwise give mass and moments",
    ),
    "inertia-absent": Code(
        ("warning",),
        "moving body with no inertia",
        "No inertia is given for this body nor for anything fixed to it, so its joint is "
        "resisted only by what hangs behind it.",
        "give the body mass and moments, or make its joint fixed",
    ),
    "inertia-point": Code(
        ("note",),
        "mass without moments of inertia",
        "The link counts as a point mass. That is fine as a simplification; a joint whose axis "
        "passes through the point has nothing to turn.",
        "give the moments of inertia about the centre of mass",
    ),
    "inertia-massless": Code(
        ("warning",),
        "moments of inertia without mass",
        "A body cannot have rotational inertia without mass.",
        "give the mass, or use armature for the inertia of a rotor",
    ),
    "mass-tiny": Code(
        ("warning",),
        "moving body of nearly no mass",
        "The body has less than a millionth of the robot's mass: often a stand-in for a "
        "simulator. Small forces give it huge accelerations, and simulation needs tiny steps.",
        "make its joint fixed, give the true mass, or zero if it is only a frame",
    ),
    "mass-huge": Code(
        ("warning",),
        "link that outweighs the rest a thousand times",
        "Often a mass in grams among masses in kilograms.",
        "give the mass in kilograms",
    ),
    "units-grams": Code(
        ("warning",),
        "masses that look like grams",
        "For their lengths the links are far heavier than solid metal.",
        "give masses in kilograms and moments in kg m^2",
    ),
    "units-millimetres": Code(
        ("warning",),
        "lengths that look like millimetres",
        "Lengths are in metres; this one is about a thousand times what fits the rest.",
        "divide by 1000 (a mesh file: use scale)",
    ),
    "units-inertia": Code(
        ("warning",),
        "moments of inertia in the wrong unit",
        "The radius of gyration is a hundred times the size of the link or more: kg mm^2 or g m^2 "
        "taken for kg m^2.",
        "give kg m^2: divide kg mm^2 by 1e6, g mm^2 by 1e9",
    ),
    "center-outside": Code(
        ("warning",),
        "centre of mass far outside the link",
        "The centre of mass lies far from the shapes, joints and frames of the link. Usual causes: "
        "coordinates of another frame, a wrong sign, a wrong unit.",
        "give the centre of mass in the coordinates of the link",
    ),
    "gyration-large": Code(
        ("warning", "note"),
        "moments of inertia too large for the link",
        "The radius of gyration sqrt(I / m) about the centre of mass is larger than the link. "
        "Usual causes: a tensor about another point, a wrong unit, or a stand-in (a note when the "
        "link has less than a thousandth of the robot's mass).",
        "give the tensor about the centre of mass [kg m^2]",
    ),
    "joint-loses-inertia": Code(
        ("warning",),
        "joint that has no inertia behind it at some states",
        "At some sampled states the pivot of this joint is lost in rounding; forward dynamics "
        "gives NaN there.",
        "give the bodies behind the joint moments of inertia, or add armature",
    ),
    "matrix-ill-conditioned": Code(
        ("warning",),
        "mass matrix close to singular",
        "With rows and columns scaled to a unit diagonal its condition is still beyond 1e10: "
        "solving with it loses ten digits, and simulation is stiff.",
        "look for bodies of nearly no inertia at the end of chains; add armature",
    ),
    "asymmetric": Code(
        ("warning", "note"),
        "left and right differ",
        "Two links named as a pair have different masses (a warning), or their moments or centres "
        "of mass are not mirror images of each other (a note). Often one side was edited alone.",
        "mirror one side: same mass and moments, the centre of mass and products reflected",
    ),
    "limit-no-range": Code(
        ("warning",),
        "joint whose limits leave no range",
        "Lower and upper limit are equal, so the joint cannot move.",
        "give the true range, or make the joint fixed",
    ),
    "limit-zero": Code(
        ("note",),
        "limit of zero",
        "A speed or force limit of zero says that the joint cannot be moved or driven. It is "
        "often a place holder. Dynamics here does not use these limits.",
        "give the true limit, or leave the attribute out",
    ),
    "limit-excludes-zero": Code(
        ("note",),
        "limits that exclude the zero position",
        "The neutral configuration is out of reach, so programs that start there start outside "
        "the limits. Common for elbows and knees.",
        "start from a configuration within the limits",
    ),
    "limit-degrees": Code(
        ("warning",),
        "limits that look like degrees",
        "Angles are in radians. A limit that is a multiple of 5 beyond two turns, such as 90 or "
        "180, is usually meant in degrees; simulations and controllers then let the joint turn "
        "many times.",
        "give radians: 90 degrees are 1.5708",
    ),
    "mesh-missing": Code(
        ("warning", "note"),
        "mesh file that is not there",
        "The picture lacks the shape (a note), or contact and collision do (a warning). Dynamics "
        "does not read meshes.",
        "correct the name, or pass the folder of the package as package_dirs to load",
    ),
    "density-high": Code(
        ("warning",),
        "link denser than any metal",
        "The link is heavier than osmium of its size. Usual causes: a mass in grams, a slipped "
        "decimal point, or the mass of the whole robot on one link.",
        "give the mass of the link in kilograms",
    ),
    "coupling-constant": Code(
        ("warning",),
        "joint that follows nothing",
        "The joint is coupled to others with a ratio of zero, so it cannot move.",
        "give the ratio, or make the joint fixed",
    ),
    "loop-open": Code(
        ("error",),
        "constraint that cannot be satisfied",
        "From the neutral configuration, and from others near it, no motion of the joints closes "
        "this constraint, so there is no state to start from. Usual causes: lengths that do not "
        "reach, placements in the wrong frame, an axis out of the plane.",
        "check lengths and placements; if it closes elsewhere, start sf.loops.assemble there",
    ),
    "constraints-contradict": Code(
        ("error",),
        "constraints that cannot all be satisfied",
        "Each closes by itself, but not together with the others, from the neutral configuration "
        "and from others near it: where their violations are least, these lie outside of what any "
        "motion of the joints changes.",
        "take one away, or give it more degrees of freedom (a ball for a hinge); if all close "
        "elsewhere, start sixfold.loops.assemble there",
    ),
    "constraint-idle": Code(
        ("warning",),
        "constraint that forbids nothing",
        "Its bodies cannot move against each other in the ways that it forbids: their joints see "
        "to that already. The force in it is not determined.",
        "remove it, or name the bodies that it should hold",
    ),
    "constraint-redundant": Code(
        ("note",),
        "constraint rows that follow from others",
        "The motion is determined, but not how redundant rows share their force: the forces of "
        "least norm are taken. A planar linkage closed by a hinge has three such rows.",
        "nothing to do for motions; for forces close loops with joints of more degrees of freedom",
    ),
    "mechanism-rigid": Code(
        ("warning",),
        "constraints that leave no freedom",
        "There are as many independent constraint rows as degrees of freedom, so nothing can move.",
        "check the kinds of joints that close the loops: one of them has too few degrees of "
        "freedom",
    ),
    "body-idle": Code(
        ("note",),
        "moving body without any part",
        "The body has no inertia, no shape, no frame, and carries nothing: nothing depends on "
        "its joint.",
        "remove the joint and its body, or give the body what it stands for",
    ),
    "blemish": Code(
        ("warning",),
        "fault of the file that does not stop it from being read",
        "It has one sensible reading, which is taken, or concerns only pictures and limits. Other "
        "programs may refuse the file; `sixfold.load(..., strict=True)` does.",
        "correct the file at this line",
    ),
    "not-in-model": Code(
        ("note",),
        "part of the file that dynamics has no counterpart for",
        "It is left out, and results are those of the robot without it.",
        "nothing to do, unless the results should depend on it",
    ),
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
    samples: int  #: How many random states were looked at.
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
            _whole("to_json", "indent", indent, 0, 100)
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
        _whole("text", "width", width, 20, 100_000)
        _whole("text", "most", most, 1, 10**9)
        return "\n".join(self._lines(width, most))

    def _lines(self, width: int, most: int) -> Iterator[str]:
        yield from (_fill(line, width, "", "    ") for line in _figures(self))
        for severity in SEVERITIES:
            of_kind = sorted(self._of(severity), key=lambda finding: _order(finding.code))
            for code, group in groupby(of_kind, key=lambda finding: finding.code):
                yield ""
                yield _fill(f"{severity}: {CODES[code].title} [{code}]", width, "", "    ")
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


def _whole(function: str, option: str, value: Any, least: int, most: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        words = f"a whole number from {least} to {most:,}"
        raise OptionError(f"Diagnosis.{function}", option, words, value)


def _places(found: list[Finding], width: int, most: int) -> Iterator[str]:
    """Yield the places of one kind of finding, file and line first, then its reason and fix."""
    for finding in found[:most]:
        place = f"{finding.place}: " if finding.place else ""
        yield _fill(f"{finding.where}: {finding.what}", width, place, "      ")
    if len(found) > most:
        yield f"    ... and {len(found) - most} more"
    yield _fill(found[0].explanation, width, "    ", "    ")
    yield _fill(f"fix: {found[0].fix}", width, "    ", "    ")


def _fill(text: str, width: int, first: str, then: str) -> str:
    return fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _figures(diagnosis: Diagnosis) -> Iterator[str]:
    f = diagnosis.figures
    if not f:
        return
    name = visible(diagnosis.model)
    yield f"{name}: {f['bodies']} bodies, {f['freedoms']} freedoms, {f['mass']:.6g} kg"
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
