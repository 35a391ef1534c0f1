"""From a solution to words: estimates, residuals, what is not shown, and the new model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import gravity_force, inverse_dynamics
from sixfold.identification.findings import DataFinding, Severity, listed
from sixfold.identification.fit.columns import NOT_NEGATIVE, Problem, model_with_speeds
from sixfold.identification.fit.least_squares import Sums
from sixfold.identification.fit.probe import Probe
from sixfold.identification.fit.solve import Fit, load_rms, residual_rms
from sixfold.identification.identification import Estimate, JointResidual
from sixfold.model import Model
from sixfold.spatial import Inertia

SLOW = 3.0
"""Inertial forces in standard deviations of the noise below which a motion is too slow."""
NOTICED = 0.02
"""Share of a joint's force from which on a parameter matters."""
UNCERTAIN = 0.05
"""Standard error of a gain, relative to the gain, above which it is not to be relied on."""
SIGNIFICANT = 3.0
"""Standard errors below zero from which on a negative number is no accident."""
USELESS = 0.5
"""Relative error of a gain above which nothing is known about it."""
FIELDS = {
    "viscous": ("damping",),
    "dry": ("friction", "friction_negative"),
    "dry+": ("friction",),
    "dry-": ("friction_negative",),
    "rotor": ("armature",),
    "spring": ("stiffness",),
}
"""Where a model keeps the numbers of its joints."""


def estimates(problem: Problem, sums: Sums, fit: Fit, physical: Array) -> tuple[Estimate, ...]:
    """Return the base parameters with their errors and sizes.

    The size that an error is compared with is the value itself, a third of what is usual for its
    kind, or, of a joint's own numbers, what makes a fiftieth of its force, or of the noise's size.
    """
    least = _noticed(problem, sums, fit.sigma)
    loaded = problem.base @ problem.start
    kinds = np.array([u.scale for u in problem.base_unknowns])
    usual = np.maximum(np.abs(loaded), np.abs(np.where(np.isfinite(fit.errors), fit.beta, 0.0)))
    found = []
    for c, u in enumerate(problem.base_unknowns):
        alike = usual[kinds == kinds[c]]
        size = max(abs(float(fit.beta[c])), float(np.sqrt(np.mean(alike**2))) / 3, float(least[c]))
        words = u.words
        others = int((np.abs(problem.base[c]) > 1e-8).sum()) - 1
        if others:
            words += f" (with {others} other{'s' * (others > 1)})"
        numbers = (float(fit.beta[c]), float(fit.errors[c]), float(loaded[c]), float(physical[c]))
        found.append(Estimate(u.name, words, *numbers, size, problem.formula(c)))
    return tuple(found)


def _noticed(problem: Problem, sums: Sums, sigma: Array) -> Array:
    """Return the value of a joint's own number that makes a fiftieth of its force, or its noise."""
    found = np.full(problem.n, np.inf)
    for columns, G, n, noise in zip(problem.rows, sums.G, sums.counts, sigma, strict=True):
        sizes = np.sqrt(np.maximum(np.diag(G), 0.0))
        enough = max(NOTICED * sizes[-1], noise * np.sqrt(max(n, 1.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            found[columns] = np.fmin(found[columns], enough / sizes[:-1])
    # bodies have a size of their own
    own = np.array([not u.of_body for u in problem.base_unknowns])
    return np.where(own & np.isfinite(found) & (found > 0), found, 1e-12)


def residuals_of(
    problem: Problem, sums: Sums, hold_out: Array, free: Array, physical: Array
) -> tuple[JointResidual, ...]:
    """Return residuals by joint: of the new model, held out, and of free parameters."""
    loads = load_rms(problem, sums)
    fit, own = residual_rms(problem, sums, physical), residual_rms(problem, sums, free)
    names = problem.model.coordinates.v_names
    rows = zip(names, loads, fit, hold_out, own, strict=True)
    return tuple(JointResidual(name, *map(float, numbers)) for name, *numbers in rows)


def described(
    problem: Problem, fit: Fit, probe: Probe, parameters: tuple[Estimate, ...]
) -> list[DataFinding]:
    """Return what the motion does not show."""
    model, found = problem.model, []
    q, v, a = probe.chunk[:3]
    bare = model.without(damping=True, friction=True, springs=True, armature=True)
    inertial = inverse_dynamics(bare, q, v, a) - gravity_force(bare, q)
    strength = np.sqrt(np.mean(inertial**2, axis=0)) / fit.sigma
    if problem.choice.bodies and np.all(strength < SLOW):
        what = "the motion is too slow: inertial forces are at most "
        what += f"{strength.max():.2g} times the noise, so that moments of inertia do not show"
        found.append(DataFinding("warning", "too-slow", what, {"strength": float(strength.max())}))
    hidden = [p.words for p in parameters if p.seen == "not"]
    if hidden:
        plural = len(hidden) > 1
        what = f"{len(hidden)} base parameter{'s' * plural} {'are' if plural else 'is'} not shown: "
        found.append(DataFinding("note", "unseen", what + listed(hidden)))
    return found


def held_at_zero(problem: Problem, fit: Fit, p: Array) -> list[DataFinding]:
    """Return a finding if the data ask for negative friction, rotors or springs.

    They are zero in the new model, and everything else was fitted with that.
    """
    found, grave = {}, False
    for c, k in enumerate(problem.keep):
        u, value, error = problem.unknowns[k], float(fit.beta[c]), float(fit.errors[c])
        if u.kind in NOT_NEGATIVE and p[k] == 0 and value < -error:
            found[u.words] = value
            grave |= value < -SIGNIFICANT * error
    if not found:
        return []
    words = [f"{name} ({value:.3g})" for name, value in found.items()]
    what = f"the data ask for negative numbers, which are held at zero: {', '.join(words[:4])}"
    what += f" and {len(words) - 4} more" if len(words) > 4 else ""
    return [DataFinding("warning" if grave else "note", "held-at-zero", what, {"free": found})]


def uncertain_gains(problem: Problem, fit: Fit, physical: Array) -> list[DataFinding]:
    """Return a finding if gains of currents are not determined by the data.

    A gain is as uncertain as its standard error says, or as far as physical bodies move it.
    """
    shares = {}
    for u, value, error, moved in zip(
        problem.base_unknowns, fit.beta, fit.errors, physical, strict=True
    ):
        share = max(error, abs(moved - value)) / max(abs(value), 1e-300)
        if u.kind == "gain" and not share <= UNCERTAIN:
            shares[u.owner] = float(share)
    if not shares:
        return []
    worst, names = max(shares.values()), listed(list(shares))
    if worst > USELESS:
        what = f"the data do not show the gains of currents: {names}"
    else:
        what = f"gains of currents are uncertain by up to {worst:.0%}: {names}"
    severity: Severity = "error" if worst > USELESS else "warning"
    return [DataFinding(severity, "uncertain-gain", what, {"relative_errors": shares})]


def not_shown(problem: Problem, parameters: tuple[Estimate, ...]) -> tuple[str, ...]:
    """Return in words what the data do not show, and what no data could."""
    lines = [
        f"{p.words}: the data do not show it"
        + ("" if np.isinf(p.error) else f" ({p.value:.3g} +- {p.error:.2g})")
        for p in parameters
        if p.seen == "not"
    ]
    for k in problem.without_effect:
        lines.append(f"{problem.unknowns[k].words}: no joint force depends on it")
    kept = set(problem.keep.tolist()) | set(problem.without_effect)
    for k, u in enumerate(problem.unknowns):
        if k not in kept:
            places = np.flatnonzero(np.abs(problem.base[:, k]) > 1e-8)
            into = [problem.base_unknowns[c].words for c in places[:3]]
            more = "" if len(places) <= 3 else f" and {len(places) - 3} more"
            lines.append(f"{u.words}: acts only together with {', '.join(into)}{more}")
    return tuple(lines)


def model_of(problem: Problem, p: Array) -> tuple[Model, Array, Array]:
    """Return the model with its new numbers, the offsets and the gains."""
    model = problem.model
    bodies = list(model.bodies)
    for n, k in enumerate(problem.choice.bodies):
        ten = p[10 * n : 10 * n + 10]
        bodies[k] = replace(bodies[k], inertia=Inertia.from_parameters(ten.tolist()))
    offsets, gains = np.zeros(model.nv), np.array(problem.choice.gains)
    owners = model.coordinates.v_joints
    for u, value in zip(problem.unknowns, p, strict=True):
        if u.of_body:
            continue
        if u.kind == "offset":
            offsets[u.index] = value
        elif u.kind == "gain":
            gains[u.index] = value
        else:
            joint = owners[u.index]
            place = u.index - joint.v.start
            for name in FIELDS[u.kind]:
                numbers = list(getattr(bodies[joint.body], name))
                numbers[place] = float(value)
                changed: dict[str, Any] = {name: tuple(numbers)}
                bodies[joint.body] = replace(bodies[joint.body], **changed)
    new = replace(model, bodies=tuple(bodies))
    if problem.speeds is not None:
        new = model_with_speeds(new, problem.speeds)
    return new, offsets, gains
