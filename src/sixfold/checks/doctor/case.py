"""One examination of a model: its parts, how far each reaches, and findings about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.checks.doctor.finding import CODES, Finding
from sixfold.errors import SixfoldError, visible
from sixfold.formats import files, xml
from sixfold.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Link,
    Model,
    Shape,
    SourceInfo,
    Sphere,
)
from sixfold.show import Severity
from sixfold.spatial import Inertia, Symmetric3, Transform

Array = NDArray[np.float64]
#: Size [m] up to which shapes are taken for stand-ins rather than for the link itself.
STAND_IN = 0.01


@dataclass(frozen=True)
class Extent:
    """A box along the axes of the part that holds all that is known of it."""

    low: Array
    high: Array
    #: Every shape of the part is known: there are some, and none is a mesh or a mere stand-in.
    complete: bool

    @property
    def size(self) -> float:
        """Length of the diagonal [m]."""
        return float(np.hypot.reduce(self.high - self.low))

    def outside(self, point: Array) -> float:
        """Return how far a point lies outside the box, 0 inside [m]."""
        beyond = np.maximum(np.maximum(self.low - point, point - self.high), 0.0)
        return float(np.hypot.reduce(beyond))

    def reach(self, point: Array) -> float:
        """Return the distance from a point to the farthest corner [m]."""
        far = np.maximum(np.abs(self.low - point), np.abs(self.high - point))
        return float(np.hypot.reduce(far))


class Extents:
    """Measures parts of one model; what sits on each body is gathered once."""

    def __init__(self, model: Model) -> None:
        """Sort shapes, joints and frames by the body and link that carry them."""
        self._by_link: dict[str, list[Geometry]] = {}
        self._by_body: dict[int, list[Geometry]] = {}
        self._seats: dict[int, list[Array]] = {}
        for geometry in model.geometries:
            self._by_link.setdefault(geometry.link, []).append(geometry)
            self._by_body.setdefault(geometry.body, []).append(geometry)
        # joints of children and frames sit on a body too
        for child in model.bodies:
            self._seats.setdefault(child.parent, []).append(_numbers(child.placement)[1])
        for frame in model.frames:
            self._seats.setdefault(frame.body, []).append(_numbers(frame.placement)[1])

    def of(self, kind: str, name: str, body: int, placement: Transform) -> Extent:
        """Return the extent of a link or body in its own coordinates."""
        by_link = kind == "link"
        shapes = self._by_link.get(name, []) if by_link else self._by_body.get(body, [])
        on_body = [*self._seats.get(body, []), *(p for g in shapes for p in _corners(g))]
        E, r = _numbers(placement)
        # from body coordinates to those of the part, whose origin belongs to it
        points = [np.zeros(3), *(E @ (p - r) for p in on_body)]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        known = bool(shapes) and all(_half_sizes(g.shape) is not None for g in shapes)
        return Extent(low, high, known and float(np.hypot.reduce(high - low)) > STAND_IN)


def _corners(geometry: Geometry) -> Iterator[Array]:
    """Yield the corners of a box around a shape, in body coordinates; its centre for a mesh."""
    E, r = _numbers(geometry.placement)
    half = _half_sizes(geometry.shape)
    if half is None:
        yield r
        return
    for signs in product((-1, 1), repeat=3):
        # corners of the shape's own box, turned and moved with it
        yield r + E.T @ (np.array(half) * signs)


def _half_sizes(shape: Shape) -> tuple[float, ...] | None:
    match shape:
        case Box(size):
            return tuple(x / 2 for x in size)
        case Sphere(radius):
            return (radius,) * 3
        case Cylinder(radius, length):
            return (radius, radius, length / 2)
        case Capsule(radius, length):
            return (radius, radius, length / 2 + radius)
        case Ellipsoid(radii):
            return tuple(radii)
    return None


def _numbers(X: Transform) -> tuple[Array, Array]:
    E = np.array([[float(x) for x in row] for row in X.E])
    return E, np.array([float(x) for x in X.r])


ELEMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def file_tensors(origin: SourceInfo) -> dict[tuple[str, int], Symmetric3]:
    """Return tensors about the centre of mass by link name and line of the <inertial>.

    A file that is gone, changed or no URDF gives nothing for what no longer reads.
    """
    try:
        # the model keeps inertias about the body's origin; the file has them about the centre
        root = xml.parse(files.read(Path(origin.file)), origin.file)
    except (SixfoldError, OSError, ValueError):
        return {}
    return dict(_tensors(root))


def _tensors(root: xml.Element) -> Iterator[tuple[tuple[str, int], Symmetric3]]:
    for link in root.all("link"):
        for inertial in link.all("inertial"):
            for inertia in inertial.all("inertia"):
                texts = [inertia.attributes.get(name, "") for name in ELEMENTS]
                try:
                    tensor = Symmetric3(*map(float, texts))
                except ValueError:
                    continue
                yield (link.attributes.get("name", ""), inertial.line), tensor


EPS = float(np.finfo(float).eps)
POINT = 1e-6  #: Radius of gyration [m] below which a part is a point, whose moments are dust.


@dataclass(frozen=True)
class Part:
    """A link of the file, or a body."""

    kind: str
    name: str
    body: int
    placement: Transform  #: Body coordinates to those of the part.
    inertia: Inertia | None
    #: About the centre of mass as the file writes it, where that was asked for.
    tensor: Symmetric3 | None
    line: int
    inertia_line: int

    @property
    def where(self) -> str:
        """Kind and name."""
        return f"{self.kind} '{self.name}'"

    @property
    def mass(self) -> float:
        """Mass [kg], 0 when there is no inertia."""
        return 0.0 if self.inertia is None else float(self.inertia.m)

    @cached_property
    def center(self) -> Array:
        """Centre of mass in the coordinates of the part."""
        if self.inertia is None or self.mass == 0:
            return np.zeros(3)
        with np.errstate(all="ignore"):
            return np.array([float(x) for x in self.inertia.h]) / self.mass

    @cached_property
    def moments(self) -> Array:
        """Principal moments about the centre of mass, ascending; NaN beyond the range of floats."""
        if self.inertia is None:
            return np.zeros(3)
        with np.errstate(all="ignore"):
            return principal(self.inertia.about_center if self.tensor is None else self.tensor)

    @cached_property
    def rounding(self) -> float:
        """What moving the tensor from the link's origin to the centre may have cost [kg m^2]."""
        if self.tensor is not None:
            return 0.0
        # moving by c adds and takes away m c^2, with some roundings of it
        return 64 * EPS * abs(self.mass) * min(float(np.hypot.reduce(self.center)), 1e150) ** 2

    @property
    def is_below_rounding(self) -> bool:
        """True for a link whose moments are too small to be distinguished from rounding."""
        point = self.mass > 0 and self.kind == "link" and self.center.any()
        return bool(point and np.abs(self.moments).max() <= POINT**2 * self.mass)

    @property
    def gyration(self) -> float:
        """Largest radius of gyration [m]; 0 for no or negative mass."""
        if not self.mass > 0:
            return 0.0
        with np.errstate(all="ignore"):
            return float(np.sqrt(max(self.moments[2] - self.rounding, 0.0) / self.mass))


@dataclass(frozen=True)
class Case:
    """A model with what the checks ask about it, computed once."""

    model: Model
    q: Array  #: Random configurations, shape (samples, nq).

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Every link or body, those of the base first."""
        links: dict[int, list[Link]] = {}
        for link in self.model.origin.links if self.model.origin else ():
            links.setdefault(link.body, []).append(link)
        # links as the file gives them while they add up to the body; the body itself after an edit
        found = [*map(_of_link, links.get(-1, ()))]
        for k, body in enumerate(self.model.bodies):
            own = links.get(k, [])
            if own and _adds_up(own, body.inertia):
                found += map(_of_link, own)
            else:
                line = next((x.line for x in own if x.name == body.name), 0)
                X = Transform.identity()
                found.append(Part("body", body.name, k, X, body.inertia, None, line, line))
        return self._with_digits(found)

    def _with_digits(self, found: list[Part]) -> tuple[Part, ...]:
        """Read moments from the file where rounding in the model has lost them."""
        origin = self.model.origin
        if origin is None or not any(part.is_below_rounding for part in found):
            return tuple(found)
        written = file_tensors(origin)
        return tuple(
            replace(part, tensor=tensor)
            if part.is_below_rounding
            and (tensor := written.get((part.name, part.inertia_line))) is not None
            and np.abs(principal(tensor)).max() <= POINT**2 * part.mass
            else part
            for part in found
        )

    def part_of(self, k: int) -> Part:
        """Return the part that names body k, or another one on it."""
        own = [part for part in self.parts if part.body == k]
        return next((part for part in own if part.name == self.model.bodies[k].name), own[0])

    @cached_property
    def extents(self) -> Mapping[str, Extent]:
        """How far each part reaches, by its name."""
        measure = Extents(self.model)
        return {p.name: measure.of(p.kind, p.name, p.body, p.placement) for p in self.parts}

    @cached_property
    def mass(self) -> float:
        """Mass of all parts [kg], those of the base too."""
        return float(sum(part.mass for part in self.parts))

    @cached_property
    def length(self) -> float:
        """The usual distance between two joints of a chain [m]; 0 where all coincide."""
        # joints at one place, as in a wrist, have no distance
        steps = [_size(body.placement.r) for body in self.model.bodies if body.parent >= 0]
        steps = [x for x in steps if x > 1e-9]
        return float(np.median(steps)) if steps else 0.0

    def about_part(
        self, code: str, part: Part, what: str, values: Mapping[str, Any], **changes: Any
    ) -> Finding:
        """Return a finding about the inertia of a part."""
        return self._finding(code, part.where, part.inertia_line, what, values, **changes)

    def about_joint(
        self, code: str, k: int, what: str, values: Mapping[str, Any], **changes: Any
    ) -> Finding:
        """Return a finding about the joint of body k."""
        name = self.model.bodies[k].joint_name
        lines = self.model.origin.joint_lines if self.model.origin else {}
        return self._finding(code, f"joint '{name}'", lines.get(name, 0), what, values, **changes)

    def about_constraint(
        self, code: str, k: int, what: str, values: Mapping[str, Any], **changes: Any
    ) -> Finding:
        """Return a finding about a constraint in addition to the tree's joints."""
        name = self.model.constraints[k].name
        return self._finding(code, f"constraint '{name}'", 0, what, values, **changes)

    def about_model(
        self, code: str, what: str, values: Mapping[str, Any], line: int = 0, **changes: Any
    ) -> Finding:
        """Return a finding about the whole robot."""
        return self._finding(code, f"model '{self.model.name}'", line, what, values, **changes)

    def _finding(
        self,
        code: str,
        where: str,
        line: int,
        what: str,
        values: Mapping[str, Any],
        *,
        severity: Severity | None = None,
        fix: str = "",
    ) -> Finding:
        # title, explanation and fix come from the table; a check gives place and numbers
        row = CODES[code]
        chosen = severity or row.severities[0]
        assert chosen in row.severities
        file = self.model.origin.file if self.model.origin else ""
        return Finding(
            severity=chosen,
            code=code,
            where=visible(where),
            file=file,
            line=line,
            what=visible(what),
            explanation=row.explanation,
            fix=visible(fix or row.fix),
            values=values,
        )


def principal(tensor: Symmetric3) -> Array:
    """Return the eigenvalues, ascending; NaN where numbers are too large for them."""
    # huge elements would overflow inside the eigenvalue solver
    rows = np.array([[float(x) for x in row] for row in tensor.matrix()])
    if not np.isfinite(rows).all():
        return np.full(3, np.nan)
    # powers of two scale without rounding
    scale = 2.0 ** np.floor(np.log2(np.abs(rows).max())) if rows.any() else 1.0
    return np.linalg.eigvalsh(rows / scale) * scale


def _of_link(link: Link) -> Part:
    place = (link.body, link.placement)
    return Part("link", link.name, *place, link.inertia, None, link.line, link.inertia_line)


def _adds_up(links: Iterable[Link], whole: Inertia) -> bool:
    """Return true when the links of a body together weigh what the body weighs."""
    with np.errstate(all="ignore"):
        # compare with the sizes of the summands, so that cancellation is no difference
        moved = [
            (X.T @ link.inertia @ X).array()
            for link in links
            if link.inertia is not None
            for X in [link.placement]
        ]
        # inertias of all links about the body's origin
        total = reduce(np.add, moved, np.zeros(10))
        size = reduce(np.add, map(np.abs, moved), np.zeros(10))
        parameters = whole.array()
        # mass, first moments and second moments are compared among their own kind
        scale = np.array([size[0], *[size[1:4].max()] * 3, *[size[4:].max()] * 6])
        return bool((np.abs(total - parameters) <= 1e-9 * scale).all())


def _size(v: Sequence[Any]) -> float:
    return float(np.hypot.reduce([float(x) for x in v]))
