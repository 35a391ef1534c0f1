"""What `identify` found: a model, parameters with standard errors, and how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, visible, whole_number
from sixfold.identification.findings import DataFinding, FrictionLaw, join_names
from sixfold.identification.fit import Fit, Sums, load_rms, residual_rms
from sixfold.identification.log import Chunk
from sixfold.identification.problem import (
    NOT_NEGATIVE,
    IdentificationProblem,
    model_with_speeds,
    positive,
    set_joint_number,
)
from sixfold.identification.samples import LogInput, source_of
from sixfold.model import Model
from sixfold.quantities.dynamics import gravity_force, inverse_dynamics
from sixfold.show import SEVERITIES, Severity, block, fill_text, fold, plain
from sixfold.spatial import Inertia

# standard error relative to the size of a parameter up to which its identifiability is good, weak
GOOD, WEAK = 0.05, 0.3


@dataclass(frozen=True)
class Estimate:
    """One base parameter."""

    #: The parameter that it is named after, as 'm link3'; others may act together with it.
    name: str
    words: str  #: The parameter in words, and how many others act together with it.
    #: As fitted to the data: [kg], [kg m] or [kg m^2] for bodies, and the units of friction,
    #: rotors, offsets, springs or gains for others.
    value: float
    error: float  #: Standard error, in the units of the value; infinite if the data do not show it.
    loaded: float  #: Value in the loaded model.
    model: float  #: Value in the new model, where bodies are physical.
    #: What the error is compared with, in the units of the value: its own size, or that of others
    #: of its kind.
    size: float
    formula: str  #: Which parameters act together in it.

    @property
    def identifiability(self) -> str:
        """How well the data show it: 'good', 'weak' or 'none'."""
        share = self.error / self.size if self.size else np.inf
        return "good" if share <= GOOD else "weak" if share <= WEAK else "none"


@dataclass(frozen=True)
class JointResidual:
    """What is left of a joint's measured forces."""

    name: str  #: Of the coordinate, as in `model.coordinates.v_names`.
    load: float  #: Root mean square of the measured forces (known parts taken off) [N m or N].
    fit: float  #: Root mean square residual of the new model on all samples [N m or N].
    #: The same on every fifth block of samples, of a model fitted to the others [N m or N]; NaN if
    #: there were too few.
    hold_out: float
    free: float  #: The same of the base parameters, which need not be physical [N m or N].

    @property
    def share(self) -> float:
        """Residual relative to the forces, on the held-out samples if there are some."""
        left = self.fit if np.isnan(self.hold_out) else self.hold_out
        return left / self.load if self.load else 0.0


@dataclass(frozen=True)
class HoldOut:
    """Relative residuals on samples that took no part in the fit, in two norms.

    The norms weigh joints differently, and one fit need not have the least of both: weights by the
    noise favour the first, equal weights the second.
    """

    #: Mean over the joints of residual / force (root mean squares): small joints count as large.
    mean_of_joints: float
    #: Norm of all residuals / norm of all forces: the strongest joints decide.
    all_joints: float
    plain_mean_of_joints: float  #: The first of plain least squares: equal weights, free inertias.
    plain_all_joints: float  #: The second of plain least squares.


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """A model fitted to a log."""

    #: The robot with new inertias, friction, rotors and springs; save it with `sixfold.save`.
    model: Model
    loaded: Model  #: The robot before.
    parameters: tuple[Estimate, ...]  #: The base parameters.
    joints: tuple[JointResidual, ...]  #: Residuals by coordinate, nv of them.
    #: Relative residuals of all joints on held-out samples, and those of plain least squares.
    hold_out: HoldOut
    #: The law of dry friction of each joint whose friction was fitted, and how others fit.
    friction: tuple[FrictionLaw, ...]
    condition: float  #: Of the scaled problem; up to some hundreds is good.
    #: What is wrong with the log or remarkable about it, the gravest first.
    findings: tuple[DataFinding, ...]
    not_shown: tuple[str, ...]  #: In words: parameters that the data, or no data at all, can show.
    #: Constant force of each joint [N m or N], shape (nv,), which a model has no place for.
    offsets: Array
    gains: Array  #: Force for each unit of tau, shape (nv,): 1, or [N m/A or N/A] of currents.
    samples: int  #: How many samples were used, those that were held out included.
    lag: float  #: By how much torques were taken to be late [s].
    filter: float | None  #: Cut-off frequency of the filter [Hz], if one was used.
    consistent: bool  #: Whether all bodies are physical.
    elapsed: float  #: Seconds that it took.
    #: Samples for plots, one row for each: "q", "v", "tau" [N m or N], the "model" joint forces,
    #: their number "row", and "t" [s] if times are known.
    record: Mapping[str, Array] = field(default_factory=dict)
    problem: IdentificationProblem | None = None  #: The columns behind it.

    @property
    def ok(self) -> bool:
        """True when no finding is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def predict(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None
    ) -> Array:
        """Return the joint forces of the new model, offsets included, shape (..., nv)."""
        return inverse_dynamics(self.model, q, v, a, f_ext) + self.offsets

    def evaluate(
        self,
        log: LogInput,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        *,
        t: ArrayLike | None = None,
        f_ext: ArrayLike | None = None,
        filter: float | None = None,
    ) -> Array:
        """Return the root mean square residual of each joint on another log, shape (nv,).

        Torques are taken to be late by the `lag` of the fit, if the log has times.

        Args:
            log: as in `identify`.
            v: velocities.
            a: accelerations.
            tau: measured joint forces, or currents if gains were given.
            t: times.
            f_ext: external forces.
            filter: cut-off frequency [Hz]; by default that of the fit, if the log has times.
        """
        if filter is not None:
            where = "Identification.evaluate"
            filter = positive(where, "filter", filter, "a frequency > 0 [Hz]")
        arrays = {"v": v, "a": a, "tau": tau, "t": t, "f_ext": f_ext}
        # filtered and shifted in time as the samples of the fit were
        source = source_of(self.model, log, arrays, filter, None, usual=self.filter)
        if self.lag and source.logs and source.dt is not None:
            source = source.shift_motion(self.lag)
        total, count = np.zeros(self.model.nv), 0
        for q, v_, a_, tau_, *rest in source.chunks():
            left = tau_ * self.gains - self.predict(q, v_, a_, rest[0] if rest else None)
            total += (left**2).sum(axis=0)
            count += len(q)
        return np.sqrt(total / count)

    def added_inertia(self, body: str) -> Inertia:
        """Return what a body gained against the loaded model: the payload that it carries.

        It is in coordinates of the body (of the frame, for the name of a frame).
        """
        k, X = self.model.locate(body)
        if k < 0:
            fix = "name a body or frame that moves"
            raise NotApplicableError("Identification.added_inertia", f"the base '{body}'", fix)
        # inertias about one origin add up, so that the payload is their difference
        new, old = (m.bodies[k].inertia.array() for m in (self.model, self.loaded))
        change = Inertia.from_parameters((new - old).tolist())
        back = X.inverse()
        return change if body in self.model.body_names else back.T @ change @ back

    # -- as text

    def text(self, width: int = 80) -> str:
        """Return a summary that a person can act on.

        Args:
            width: columns to fill.
        """
        whole_number("Identification.text", "width", width, 20, 100_000)
        lines = [self._headline(), ""]
        names = max([len(visible(j.name)) for j in self.joints] + [5])
        laws = {law.joint: law.words for law in self.friction}
        # a row for each joint
        head = "  dry friction" if laws else ""
        lines.append(f"  {'joint':<{names}}  torque rms  residual  hold-out  relative{head}")
        for j in self.joints:
            held = "       -" if np.isnan(j.hold_out) else f"{j.hold_out:8.3g}"
            numbers = f"{j.load:10.4g}  {j.fit:8.3g}  {held}  {j.share:8.1%}"
            law = laws.get(j.name, "")
            lines.append(f"  {visible(j.name):<{names}}  {numbers}  {law}".rstrip())
        if not np.isnan(self.hold_out.all_joints):
            h = self.hold_out
            lines += ["", "hold-out residual relative to the torque (plain least squares):"]
            lines.append(f"  mean of joints {h.mean_of_joints:.2%} ({h.plain_mean_of_joints:.2%})")
            lines.append(f"  all joints in one norm {h.all_joints:.2%} ({h.plain_all_joints:.2%})")
        counts = {word: sum(p.identifiability == word for p in self.parameters) for word in _WORDS}
        known = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
        count = len(self.parameters)
        lines += [
            "",
            f"base parameters: {count} (identifiability: {known}), condition {self.condition:.3g}",
        ]
        # the parameters that the data do not show, the first six by name
        weak = [p for p in self.parameters if p.identifiability == "none"]
        for p in weak[:6]:
            error = "not shown at all" if np.isinf(p.error) else f"{p.value:.3g} +- {p.error:.2g}"
            lines.append(f"  not seen: {visible(p.words)} ({error})")
        if len(weak) > 6:
            lines.append(f"  ... and {len(weak) - 6} more")
        for finding in self.findings:
            lines.append("")
            what = f"{finding.severity}: {visible(finding.what)} [{finding.code}]"
            lines.append(fill_text(what, width, "", "  "))
            lines.append(fill_text(f"fix: {finding.fix}", width, "  ", "      "))
        return "\n".join(lines)

    def _headline(self) -> str:
        seconds = f" in {self.elapsed:.2g} s"
        return f"{visible(self.model.name)}: fitted to {self.samples:,} samples{seconds}"

    def __repr__(self) -> str:
        """Say it in a few lines."""
        worst = max(self.joints, key=lambda j: j.share)
        well = sum(p.identifiability == "good" for p in self.parameters)
        kinds = {w: sum(f.severity == w for f in self.findings) for w in SEVERITIES}
        remarks = ", ".join(f"{n} {w}{'s' * (n > 1)}" for w, n in kinds.items() if n) or "none"
        return (
            f"<identification of '{visible(self.model.name)}': {self.samples:,} samples\n"
            f"  residual at most {worst.share:.1%} of the torque ('{visible(worst.name)}')\n"
            f"  {well} of {len(self.parameters)} base parameters identified well, condition "
            f"{self.condition:.3g}\n"
            f"  findings: {remarks}>"
        )

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        listed = fold(f"{len(self.parameters)} base parameters", parameters_table(self))
        head = f"<p>{plain(self._headline())}</p>"
        return block(head, joints_table(self), findings_list(self), listed)


_WORDS = ("good", "weak", "none")


def joints_table(result: Identification) -> str:
    """Return residuals by joint as an HTML table."""
    rows = "".join(
        f"<tr><th>{escape(visible(j.name))}</th><td>{j.load:.4g}</td><td>{j.fit:.3g}</td>"
        f"<td>{'' if np.isnan(j.hold_out) else f'{j.hold_out:.3g}'}</td><td>{j.share:.1%}</td></tr>"
        for j in result.joints
    )
    head = "<th>joint</th><th>torque rms</th><th>residual</th><th>hold-out</th><th>relative</th>"
    return f'<table class="figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def findings_list(result: Identification) -> str:
    """Return findings as an HTML list."""
    if not result.findings:
        return ""
    items = "".join(
        f'<li class="{f.severity}"><b>{f.severity}</b>: {escape(visible(f.what))}'
        f"<br/><small>{escape(f.fix)} [{f.code}]</small></li>"
        for f in result.findings
    )
    return f'<ul class="findings">{items}</ul>'


def parameters_table(result: Identification) -> str:
    """Return base parameters as an HTML table."""
    rows = "".join(
        f'<tr class="{p.identifiability}"><th title="{escape(visible(p.formula))}">'
        f"{escape(visible(p.words))}</th>"
        f"<td>{p.value:.5g}</td><td>{'-' if np.isinf(p.error) else f'{p.error:.2g}'}</td>"
        f"<td>{p.loaded:.5g}</td><td>{p.identifiability}</td></tr>"
        for p in result.parameters
    )
    head = "<th>base parameter</th><th>value</th><th>error</th><th>loaded</th><th>seen</th>"
    return f'<table class="figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


SLOW = 3.0  # inertial forces in standard deviations of the noise below which a motion is too slow
NOTICED = 0.02  # share of a joint's force from which on a parameter matters
# standard error of a gain, relative to the gain, above which it is not to be relied on
UNCERTAIN = 0.05
SIGNIFICANT = 3.0  # standard errors below zero from which on a negative number is no accident
USELESS = 0.5  # relative error of a gain above which nothing is known about it


def estimates(
    problem: IdentificationProblem, sums: Sums, fit: Fit, physical: Array
) -> tuple[Estimate, ...]:
    """Return the base parameters with their errors and sizes.

    The size that an error is compared with is the value itself, a third of what is usual for its
    kind, or, of a joint's own numbers, what makes a fiftieth of its force, or of the noise's size.
    """
    least = _noticeable_values(problem, sums, fit.sigma)
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


def _noticeable_values(problem: IdentificationProblem, sums: Sums, sigma: Array) -> Array:
    """Return the value of a joint's own number that makes a fiftieth of its force, or its noise."""
    found = np.full(problem.n, np.inf)
    for columns, G, n, noise in zip(problem.rows, sums.G, sums.counts, sigma, strict=True):
        sizes = np.sqrt(np.maximum(np.diag(G), 0.0))
        # compare the column's size with that of the force and of the noise
        enough = max(NOTICED * sizes[-1], noise * np.sqrt(max(n, 1.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            found[columns] = np.fmin(found[columns], enough / sizes[:-1])
    # bodies have a size of their own
    own = np.array([not u.of_body for u in problem.base_unknowns])
    return np.where(own & np.isfinite(found) & (found > 0), found, 1e-12)


def residuals_of(
    problem: IdentificationProblem, sums: Sums, hold_out: Array, free: Array, physical: Array
) -> tuple[JointResidual, ...]:
    """Return residuals by joint: of the new model, held out, and of free parameters."""
    loads = load_rms(problem, sums)
    fit, own = residual_rms(problem, sums, physical), residual_rms(problem, sums, free)
    names = problem.model.coordinates.v_names
    rows = zip(names, loads, fit, hold_out, own, strict=True)
    return tuple(JointResidual(name, *map(float, numbers)) for name, *numbers in rows)


def hold_out_norms(problem: IdentificationProblem, held: Sums, own: Array, plain: Array) -> HoldOut:
    """Return two norms of held-out residuals, of the fit and of plain least squares.

    Args:
        problem: the columns.
        held: sums over the held-out samples.
        own: root mean square residual of each joint, shape (nv,).
        plain: the same of plain least squares.
    """
    loads = load_rms(problem, held)
    moved = loads > 0
    if not moved.any():
        return HoldOut(*[float("nan")] * 4)

    def norms(left: Array) -> tuple[float, float]:
        return (
            float(np.mean(left[moved] / loads[moved])),
            float(np.linalg.norm(left) / np.linalg.norm(loads)),
        )

    return HoldOut(*norms(own), *norms(plain))


def motion_findings(
    problem: IdentificationProblem, fit: Fit, chunk: Chunk, parameters: tuple[Estimate, ...]
) -> list[DataFinding]:
    """Return what the motion does not show."""
    model, found = problem.model, []
    q, v, a = chunk[:3]
    # inertial forces: all forces of the bare bodies less gravity
    bare = model.without(damping=True, friction=True, springs=True, armature=True)
    inertial = inverse_dynamics(bare, q, v, a) - gravity_force(bare, q)
    strength = np.sqrt(np.mean(inertial**2, axis=0)) / fit.sigma
    if problem.choice.bodies and np.all(strength < SLOW):
        what = "the motion is too slow: inertial forces are at most "
        what += f"{strength.max():.2g} times the noise, so that moments of inertia do not show"
        found.append(DataFinding("warning", "too-slow", what, {"strength": float(strength.max())}))
    hidden = [p.words for p in parameters if p.identifiability == "none"]
    if hidden:
        plural = len(hidden) > 1
        what = f"{len(hidden)} base parameter{'s' * plural} {'are' if plural else 'is'} not shown: "
        found.append(DataFinding("note", "unseen", what + join_names(hidden)))
    return found


def bound_findings(problem: IdentificationProblem, fit: Fit, p: Array) -> list[DataFinding]:
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


def gain_findings(problem: IdentificationProblem, fit: Fit, physical: Array) -> list[DataFinding]:
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
    worst, names = max(shares.values()), join_names(list(shares))
    if worst > USELESS:
        what = f"the data do not show the gains of currents: {names}"
    else:
        what = f"gains of currents are uncertain by up to {worst:.0%}: {names}"
    severity: Severity = "error" if worst > USELESS else "warning"
    return [DataFinding(severity, "uncertain-gain", what, {"relative_errors": shares})]


def hidden_parameters(
    problem: IdentificationProblem, parameters: tuple[Estimate, ...]
) -> tuple[str, ...]:
    """Return in words what the data do not show, and what no data could."""
    lines = [
        f"{p.words}: the data do not show it"
        + ("" if np.isinf(p.error) else f" ({p.value:.3g} +- {p.error:.2g})")
        for p in parameters
        if p.identifiability == "none"
    ]
    for k in problem.without_effect:
        lines.append(f"{problem.unknowns[k].words}: no joint force depends on it")
    # the others act through base parameters only
    kept = set(problem.keep.tolist()) | set(problem.without_effect)
    for k, u in enumerate(problem.unknowns):
        if k not in kept:
            places = np.flatnonzero(np.abs(problem.base[:, k]) > 1e-8)
            into = [problem.base_unknowns[c].words for c in places[:3]]
            more = "" if len(places) <= 3 else f" and {len(places) - 3} more"
            lines.append(f"{u.words}: acts only together with {', '.join(into)}{more}")
    return tuple(lines)


def model_of(problem: IdentificationProblem, p: Array) -> tuple[Model, Array, Array]:
    """Return the model with its new numbers, the offsets and the gains."""
    model = problem.model
    bodies = list(model.bodies)
    for n, k in enumerate(problem.choice.bodies):
        # ten parameters of a body in the order of the regressor's columns
        ten = p[10 * n : 10 * n + 10]
        bodies[k] = replace(bodies[k], inertia=Inertia.from_parameters(ten.tolist()))
    offsets, gains = np.zeros(model.nv), np.array(problem.choice.gains)
    for u, value in zip(problem.unknowns, p, strict=True):
        if u.kind == "offset":
            offsets[u.index] = value
        elif u.kind == "gain":
            gains[u.index] = value
        elif not u.of_body:
            set_joint_number(model, bodies, u.kind, u.index, float(value))
    new = replace(model, bodies=tuple(bodies))
    if problem.speeds is not None:
        new = model_with_speeds(new, problem.speeds)
    return new, offsets, gains
