"""Checks of joints, of the mass matrix over sampled states, of loops and of mesh files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.checks.doctor.case import EPS, Array, Case
from sixfold.checks.doctor.finding import Finding
from sixfold.errors import RobotFileError, StateError, quote
from sixfold.formats.files import mesh_path
from sixfold.loops import CLOSED, mobility, nearest, size_of
from sixfold.model import Body, Gear, Mesh, Model
from sixfold.model.validate import degree_limits
from sixfold.quantities.constraints import constraint_jacobian
from sixfold.quantities.dynamics import mass_matrix
from sixfold.runtime import lost_pivots, possibly_singular_joints, singular_joints

LARGEST = 150  #: Maximum degrees of freedom for which mass matrices are formed.
PIVOTED = 300  #: Maximum degrees of freedom for which pivots are followed over all sampled states.
ILL = 1e10  #: Condition of the scaled mass matrix above which it is reported.


def joints(case: Case) -> Iterator[Finding]:
    """Find joints with nothing to move, and limits that do not let a joint move."""
    model = case.model
    for k, body in enumerate(model.bodies):
        for index, (low, high) in enumerate(zip(body.lower, body.upper, strict=True)):
            yield from _range(case, k, index, low, high)
        # limits far beyond two turns, in round numbers of degrees
        for index, low, high in degree_limits(body):
            labels = body.joint.position_labels()
            of = f" of {labels[index]}" if len(labels) > 1 else ""
            what = f"limits{of} {low:g} to {high:g} rad are {max(-low, high) / 6.283:.3g} turns"
            yield case.about_joint("limit-degrees", k, what, {"lower": low, "upper": high})
        for name, limits in (("speed", body.velocity_limit), ("force", body.effort_limit)):
            if 0.0 in limits:
                yield case.about_joint("limit-zero", k, f"the {name} limit is 0", {"limit": name})
    for coupling in model.couplings:
        # a follower without a leader is a fixed joint
        if not any(ratio for _, ratio in coupling.terms):
            what = f"is coupled with ratio 0 and stays at {coupling.offset:g}"
            values = {"position": coupling.offset}
            yield case.about_joint("coupling-constant", coupling.follower, what, values)


def idle(case: Case) -> Iterator[Finding]:
    """Find bodies at the end of a chain that have nothing at all."""
    model = case.model
    # bodies that carry, show or hold something
    busy = {body.parent for body in model.bodies}
    busy |= {frame.body for frame in model.frames} | {g.body for g in model.geometries}
    for each in model.constraints:
        busy |= {each.follower} if isinstance(each, Gear) else {each.body_a, each.body_b}
    for k, body in enumerate(model.bodies):
        if k not in busy and not body.inertia.array().any():
            what = f"moves '{body.name}', which has no inertia, shape, frame or child"
            yield case.about_joint("body-idle", k, what, {})


def pivots(case: Case) -> Iterator[Finding]:
    """Find joints with no inertia behind them, always or at some sampled states."""
    model = case.model
    if not model.nv:
        return
    # proved singular for every state first; others are looked for among the samples
    always, unproved = _singular(model)
    for k in always:
        what = f"nothing that it moves resists it ('{model.bodies[k].name}' and beyond)"
        yield case.about_joint("joint-without-inertia", k, what, {})
    if always or not unproved or not len(case.q) or model.nv > PIVOTED:
        return
    with np.errstate(all="ignore"):
        # follow the pivots D of the articulated-body algorithm over all samples
        bad, owner = lost_pivots(model, case.q)
    for k in sorted(set(owner)):
        of_joint = bad[:, [n for n, body in enumerate(owner) if body == k]].any(axis=1)
        if of_joint.any():
            n, total = int(of_joint.sum()), len(case.q)
            values = {"states": n, "of": total, "first": case.q[int(of_joint.argmax())].tolist()}
            what = f"at {n} of {total} sampled states nothing resists it"
            yield case.about_joint("joint-loses-inertia", k, what, values)


def matrix(case: Case, figures: dict[str, Any]) -> Iterator[Finding]:
    """Judge the mass matrix over the sampled states, and record its figures."""
    model = case.model
    if not model.nv or not len(case.q) or model.nv > LARGEST:
        return
    with np.errstate(all="ignore"):
        # by NumPy: compiling a kernel for one use would take longer
        M = mass_matrix(model, case.q, backend="numpy")
    figures["states"] = len(M)
    finite = np.isfinite(M).all(axis=(1, 2))
    if not finite.all():
        n = int((~finite).sum())
        what = f"not finite at {n} of {len(M)} sampled states"
        yield case.about_model("matrix-overflow", what, {"states": n, "of": len(M)})
        return
    with np.errstate(all="ignore"):
        # scale to a unit diagonal: units do not count
        diagonal = np.sqrt(np.abs(np.einsum("...ii->...i", M)))
        diagonal[diagonal == 0] = 1.0
        scaled = M / diagonal[:, :, None] / diagonal[:, None, :]
    if not np.isfinite(scaled).all():
        return
    # eigenvalues of the scaled matrix at each state; the worst state counts
    values = np.linalg.eigvalsh(scaled)
    low, high = values[:, 0], values[:, -1]
    worst = int(np.argmin(low / high))
    ratio = float(low[worst] / high[worst])
    figures["condition"] = 1 / ratio if ratio > 0 else math.inf
    figures["smallest_eigenvalue"] = float(np.linalg.eigvalsh(M)[:, 0].min())
    about = {
        "states": len(M),
        "state": case.q[worst].tolist(),
        "scaled_condition": figures["condition"],
        "smallest_eigenvalue": figures["smallest_eigenvalue"],
    }
    # below rounding: some motion has negative kinetic energy
    if ratio <= -model.nv * EPS:
        n = int((low < -model.nv * EPS * high).sum())
        what = (
            f"not positive definite at {n} of {len(M)} sampled states "
            f"(smallest eigenvalue {figures['smallest_eigenvalue']:.3g})"
        )
        yield case.about_model("matrix-not-positive", what, about)
    elif ratio * ILL < 1 and not _singular(model)[0]:
        what = f"condition {figures['condition']:.2g} (scaled) at the worst of {len(M)} states"
        yield case.about_model("matrix-ill-conditioned", what, about)


def _singular(model: Model) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the bodies whose joint has no inertia behind it, and those for which it may vanish."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return singular_joints(model), possibly_singular_joints(model)
        except OverflowError:
            return (), ()  # lengths that have no square: the mass matrix is reported instead


def _range(case: Case, k: int, index: int, low: float, high: float) -> Iterator[Finding]:
    body = case.model.bodies[k]
    values = {"lower": low, "upper": high}
    labels = body.joint.position_labels()
    of = f" of {labels[index]}" if len(labels) > 1 else ""
    if low == high:
        what = f"lower and upper limit{of} are both {low:g}{_unit(body)}"
        yield case.about_joint("limit-no-range", k, what, values)
    elif not low <= body.joint.neutral()[index] <= high:
        what = f"limits{of} {low:.4g} to {high:.4g}{_unit(body)} exclude zero"
        yield case.about_joint("limit-excludes-zero", k, what, values)


def _unit(body: Body) -> str:
    return {"revolute": " rad", "helical": " rad", "prismatic": " m"}.get(body.joint.kind, "")


STILL = 1e-12  #: Largest element of J, of the size of the model, in rows that forbid nothing.
ALONE = 24  #: Constraints that are tried one by one, at most.


def loops(case: Case, figures: dict[str, Any]) -> Iterator[Finding]:
    """Find loops that do not close, rows that say nothing new, and mechanisms that cannot move."""
    model = case.model
    if not model.constraints or not model.nv:
        return
    with np.errstate(all="ignore"):
        # loops that do not close come first: nothing else about them means anything
        q, gaps = nearest(model)
    if not np.abs(gaps).max() <= CLOSED * size_of(model):
        yield from _open(case, q, gaps)
        return
    yield from _idle(case, constraint_jacobian(model, q))
    try:
        # mobility = degrees of freedom - rank of the constraint rows
        left = mobility(model, q)
    except StateError:
        return  # near this configuration the loops open
    figures["mobility"] = left.mobility
    values = {"freedoms": left.freedoms, "rows": left.rows, "rank": left.rank}
    if left.redundant:
        what = f"{left.redundant} of {left.rows} constraint rows follow from the others"
        yield case.about_model("constraint-redundant", what, values)
    if not left.mobility:
        what = (
            f"{left.rank} independent rows for {left.freedoms} degrees of freedom: nothing can move"
        )
        yield case.about_model("mechanism-rigid", what, values)


def _open(case: Case, q: Array, gaps: Array) -> Iterator[Finding]:
    """Say which constraints do not close: one alone, or several only together."""
    model = case.model
    closed = CLOSED * size_of(model)
    alone = {}
    # try each constraint alone: one that does not close is reported by itself
    for k, rows in enumerate(_rows(model)[:ALONE]):
        with np.errstate(all="ignore"):
            left = float(np.abs(nearest(model, rows)[1]).max())
        if not left <= closed:
            alone[k] = left
    for k, left in alone.items():
        what = f"{left:.3g} m or rad is left of it, at best"
        yield case.about_constraint("loop-open", k, what, {"left": left})
    if alone:
        return
    # gaps outside the range of J cannot be closed by any motion
    J = constraint_jacobian(model, q)
    rank, with_gaps = (int(np.linalg.matrix_rank(x)) for x in (J, np.c_[J, gaps]))
    size = np.abs(gaps)
    # constraints with a share of the violation that is worth naming
    among = [k for k, rows in enumerate(_rows(model)) if (size * rows).max() > 0.01 * size.max()]
    names = ", ".join(f"'{model.constraints[k].name}'" for k in among)
    values = {"left": float(size.max()), "rank": rank, "rank_with_gaps": with_gaps}
    what = f"{names}: {size.max():.3g} m or rad is left of them together, at best"
    yield case.about_model("constraints-contradict", what, values)


def _idle(case: Case, J: Array) -> Iterator[Finding]:
    """Find constraints that forbid what the joints of the tree forbid already."""
    for k, rows in enumerate(_rows(case.model)):
        if np.abs(J * rows[:, None]).max() <= STILL * size_of(case.model):
            what = "none of its rows forbids a motion that the joints between its bodies allow"
            yield case.about_constraint("constraint-idle", k, what, {})


def _rows(model: Model) -> list[Array]:
    """Return a mask of its rows for each constraint."""
    # rows of the constraints stand one after the other
    ends = np.cumsum([0, *(each.rows for each in model.constraints)])
    numbers = np.arange(model.nc)
    return [((a <= numbers) & (numbers < b)).astype(float) for a, b in pairwise(ends)]


#: Bytes of a robot file that is searched for the line of a mesh, at most.
LARGEST_FILE = 50_000_000


def meshes(case: Case) -> Iterator[Finding]:
    """Find meshes that are not there, each named once."""
    model, origin = case.model, case.model.origin
    if origin is None or not origin.file:
        return
    # each mesh once, with the first link that shows it, and whether contact needs it
    links = {link.name: link.line for link in origin.links}
    collide: dict[str, bool] = {}
    owner: dict[str, str] = {}
    for geometry in model.geometries:
        if isinstance(geometry.shape, Mesh):
            name = geometry.shape.file
            collide[name] = collide.get(name, False) or geometry.collides
            owner.setdefault(name, geometry.link)
    lines: list[str] | None = None
    for name, needed in collide.items():
        try:
            mesh_path(model, name)
        except RobotFileError as error:
            lines = _lines(origin.file) if lines is None else lines
            line = _line(lines, name, links.get(owner[name], 0))
            what = f"link '{owner[name]}': {error.what}"
            values = {"mesh": quote(name), "collides": needed}
            severity = "warning" if needed else "note"
            yield case.about_model("mesh-missing", what, values, line, severity=severity)


def _lines(file: str) -> list[str]:
    """Return the lines of a robot file, none where it cannot be read any more."""
    try:
        path = Path(file)
        if not path.is_file() or path.stat().st_size > LARGEST_FILE:
            return []
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _line(lines: list[str], name: str, otherwise: int) -> int:
    """Return the first line that names a mesh, from that of its link on."""
    # the name may also stand in the part of an earlier link
    start = max(otherwise - 1, 0)
    found = (k for k, text in enumerate(lines[start:], start + 1) if name in text)
    return next(found, otherwise)
