"""From a log to a model: `identify`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Friction, Gains
from sixfold.errors import NotApplicableError, OptionError, StateError, one_of, yes_or_no
from sixfold.identification.findings import DataFinding, FrictionLaw, join_names
from sixfold.identification.fit import (
    MAX_CONDITION,
    Fit,
    Sums,
    accumulate,
    fit_consistent,
    fit_with_bounds,
    residual_rms,
    solve,
)
from sixfold.identification.friction import (
    OUTLIER_SHARE,
    Keeper,
    Probe,
    describe_laws,
    find_friction,
    find_lag,
    huber,
    inflation,
    near_rest,
    robust_sigma,
    speeds_of,
)
from sixfold.identification.identification import (
    HoldOut,
    Identification,
    bound_findings,
    estimates,
    gain_findings,
    hidden_parameters,
    hold_out_norms,
    model_of,
    motion_findings,
    residuals_of,
)
from sixfold.identification.log import Columns, Log
from sixfold.identification.problem import IdentificationProblem, choice_of, positive, problem_for
from sixfold.identification.samples import LogInput, Source, source_of, standing_still
from sixfold.identification.suspects import (
    UNEXPLAINED,
    find_suspect,
    relative_residuals,
    torque_scale_findings,
)
from sixfold.model import Model
from sixfold.quantities.dynamics import inverse_dynamics
from sixfold.runtime import require_model
from sixfold.show import SEVERITIES

REWEIGHTINGS = 3  # passes over the samples in which outliers are weighed down
UNPHYSICAL = 2.0  # ratio of residuals, physical to free, from which on the data contradict physics
MIN_SAMPLES = 3  # samples for each unknown, at least
# called with the samples done and the number of samples, if it is known
Progress = Callable[[int, int | None], object]


def identify(
    model: Model,
    log: LogInput,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    t: ArrayLike | None = None,
    f_ext: ArrayLike | None = None,
    friction: Friction = True,
    rotors: bool = False,
    offsets: bool = False,
    springs: bool = False,
    gains: Gains | None = None,
    bodies: str | Iterable[str] | None = None,
    consistent: bool = True,
    prior: float = 1.0,
    weights: Literal["noise", "equal"] = "noise",
    filter: float | None = None,
    lag: float | Literal["search"] = 0.0,
    robust: bool | None = None,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> Identification:
    """Fit inertias, friction and other numbers of a robot to what it measured.

    Args:
        model: the robot as it is known: kinematics, gravity, and inertias as a first guess.
        log: positions (samples, nq) [rad or m], or everything at once: a `Log`, a `Trajectory`, the
            path of an .npz, .csv or .parquet file, or an iterable of chunks, each a Log, a mapping
            or a tuple (q, v, a, tau).  Arrays that are read when sliced (Dask, HDF5) are read in
            parts if v, a and tau are given.
        v: velocities [rad/s or m/s], shape (samples, nv); by default made from positions.
        a: accelerations [rad/s^2 or m/s^2], shape (samples, nv); made from velocities or positions
            by default.
        tau: measured joint forces [N m or N], shape (samples, nv), or motor currents with `gains`.
            A floating base has none: its six columns are zeros or left out.
        t: times [s], shape (samples,), or the time between two samples.
        f_ext: measured external forces on each body (n; f) [N m; N] in world axes about the world
            origin, shape (samples, nb, 6), such as the ground's on the feet.
        friction: True (viscous and dry), "viscous", "dry", "direction" (dry friction that differs
            by direction, and viscous), or False: as in the model.
        rotors: whether rotor inertias (armature) are unknown.
        offsets: whether each joint's torque has an unknown constant.
        springs: whether stiffnesses are unknown; rest positions are the model's.
        gains: force for each unit of tau, one number for each joint or {joint: number}; None or NaN
            where unknown.  tau then holds currents.
        bodies: names of the bodies or frames whose inertia is unknown, None for all; the one that
            carries a payload, for example, with friction=False.
        consistent: whether every body has to be physical: positive mass and density.
        prior: weight of the loaded model where the data show nothing.
        weights: "noise" weighs each joint by its residual, so that small joints are predicted as
            well as large ones; "equal" minimises the squares of all torques together.
        filter: cut-off frequency [Hz] of a low-pass filter without delay.  10 where velocities or
            accelerations are made, none otherwise.
        lag: by how much torques were recorded late [s], or "search".
        robust: whether samples far from the fit count less; by default if there are some.
        columns: names of columns in a file, as in `Log.read`.
        progress: called with samples done and their number (None if unknown).

    Returns:
        An `Identification`: the new model, base parameters with standard errors, residuals of each
        joint, what the data do not show, and what is wrong with them.

    Raises:
        StateError: if there are too few usable samples.
        NotApplicableError: if an option does not apply, or the model has closed loops.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> real = sf.add_payload(arm, "tip", mass=0.5)
        >>> w, t = np.array([2.0, 3.0]), np.arange(0.0, 5.0, 0.01)[:, None]
        >>> q, v, a = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
        >>> tau = sf.inverse_dynamics(real, q, v, a)  # what a robot would have measured
        >>> found = sf.identification.identify(arm, q, v, a, tau, friction=False)
        >>> found.ok, found.samples, np.allclose(found.predict(q, v, a), tau)
        (True, 500, True)
        >>> for p in found.parameters:
        ...     if abs(p.value - p.loaded) > 1e-3:
        ...         print(f"{p.name}: {p.loaded:.3f} becomes {p.value:.3f}")
        hz upper: -1.500 becomes -2.000
        Iyy upper: 1.333 becomes 1.833
        hz lower: -1.000 becomes -2.000
        Iyy lower: 1.330 becomes 3.330

    Reference: Atkeson, An and Hollerbach, 1986; Gautier and Khalil, 1990; Rucker and Wensing, 2022.
    """
    began = time.perf_counter()
    model = require_model("identify", model)
    yes_or_no("identify", consistent=consistent)
    if robust is not None:
        yes_or_no("identify", robust=robust)
    prior = positive("identify", "prior", prior, "a number > 0")
    one_of("identify", "weights", ("noise", "equal"), weights)
    if filter is not None:
        filter = positive("identify", "filter", filter, "a frequency > 0 [Hz]")
    if progress is not None and not callable(progress):
        raise OptionError("identify", "progress", "a function of (done, total)", progress)
    unknown = dict(friction=friction, rotors=rotors, offsets=offsets, springs=springs)
    options: dict[str, Any] = unknown | {"gains": gains, "bodies": bodies}
    choice_of(model, **options, forces=False)  # options first: a log may take long to read
    _check_lag(lag)
    # the samples, cleaned, with velocities and accelerations; then the columns of the problem
    arrays = {"v": v, "a": a, "tau": tau, "t": t, "f_ext": f_ext}
    source = source_of(model, log, arrays, filter, columns)
    choice = choice_of(model, **options, forces=source.forces)
    problem = problem_for(model, choice)
    if weights == "equal":
        problem = problem.with_equal_weights()
    if not problem.n:
        fix = "let friction or the inertia of some body be unknown"
        raise NotApplicableError("identify", "a model with nothing unknown", fix)
    # the delay first: all later fits use torques without it
    source, used, late = _with_lag(problem, source, lag)
    data = _sum_samples(problem, source, robust, progress)
    problem, probe = data.problem, data.probe
    # the fit, and what is remarkable about the log
    fit, p, hold_out, norms = _fit(data, prior, consistent)
    beta = problem.base @ p
    findings = [*source.findings, *late, *data.findings, *bound_findings(problem, fit, p)]
    if not source.logs:
        q, tau_kept = probe.chunk[0], probe.chunk[3]
        findings += standing_still(model, Log(q, tau=tau_kept))
    # without gains nothing can be said about torques that do not fit
    suspect = gain_findings(problem, fit, beta)
    if not suspect:
        suspect = _suspect_findings(problem, probe, data.whole, fit, beta, prior)
    findings += suspect
    # residuals of what is returned, on the samples as they are
    joints = residuals_of(problem, data.plain, hold_out, fit.beta, beta)
    parameters = estimates(problem, data.whole, fit, beta)
    if not any(f.severity == "error" for f in suspect):
        findings += torque_scale_findings(problem, probe)
        findings += motion_findings(problem, fit, probe.chunk, parameters)
    if np.isnan([j.hold_out for j in joints]).all():
        what = "too few samples to hold some out: residuals are those of the fit itself"
        findings.append(DataFinding("note", "no-hold-out", what))
    # the new model, and what a model has no place for
    new, shift, factors = model_of(problem, p)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Identification(
        model=new,
        loaded=model,
        parameters=parameters,
        joints=joints,
        hold_out=norms,
        friction=data.laws,
        condition=fit.condition,
        findings=tuple(findings),
        not_shown=hidden_parameters(problem, parameters),
        offsets=shift,
        gains=factors,
        samples=data.count,
        lag=used,
        filter=source.filtered,
        consistent=bool(consistent),
        elapsed=time.perf_counter() - began,
        record=_record(problem, source, probe, new, shift, factors),
        problem=problem,
    )


def _check_lag(lag: Any) -> None:
    number = isinstance(lag, (int, float, np.floating)) and not isinstance(lag, bool)
    if not (isinstance(lag, str) and lag == "search") and not (number and abs(lag) < 10):
        raise OptionError("identify", "lag", "seconds, or 'search'", lag)


def _with_lag(
    problem: IdentificationProblem, source: Source, lag: float | str
) -> tuple[Source, float, list[DataFinding]]:
    """Return samples with the delay taken off, the delay, and a finding if one is not taken."""
    if isinstance(lag, str) and (not source.logs or source.dt is None):
        source.shift_motion(0.0)  # says that it does not apply
    if not isinstance(lag, str) and lag:
        return source.shift_motion(float(lag)), float(lag), []
    if not source.logs or source.dt is None or max(map(len, source.logs)) < 200:
        return source, 0.0, []
    # a delay is searched in any case, and taken off if that was asked for
    found = find_lag(problem, source.logs, source.dt, lambda c: problem_for(problem.model, c))
    if not found.seconds or isinstance(lag, str):
        return (source.shift_motion(found.seconds) if found.seconds else source), found.seconds, []
    late = "late" if found.seconds > 0 else "early"
    what = (
        f"torques seem to be recorded {abs(found.seconds) * 1e3:.3g} ms too {late}: held-out "
        f"residuals would fall by {1 - found.ratio:.0%}, and friction does not explain it"
    )
    return source, 0.0, [DataFinding("warning", "lag", what, {"seconds": found.seconds})]


@dataclass(frozen=True, eq=False)
class _Samples:
    """What the fits need to know of all samples."""

    problem: IdentificationProblem  # the columns, with the friction speeds that were found
    laws: tuple[FrictionLaw, ...]
    train: Sums  # over four blocks of five, weighted if there are outliers
    whole: Sums  # over all of them, weighted as well
    plain: Sums  # over all of them as they are
    plain_train: Sums  # over four blocks of five, as they are
    plain_held: Sums  # over every fifth block, as it is
    exact: bool
    probe: Probe
    findings: list[DataFinding]
    count: int


def _sum_samples(
    problem: IdentificationProblem, source: Source, robust: bool | None, progress: Progress | None
) -> _Samples:
    """Return sums over the samples, with weights if there are outliers, and friction laws."""
    keeper, findings, exact = Keeper(), [], False

    def watch(seen: int, block: Any) -> None:
        keeper(seen, block)
        if progress is not None:
            progress(seen, source.total)

    # one pass over the samples: sums for the fit, and some blocks kept for a closer look
    sums, held = accumulate(problem, source.chunks(), watch=watch)
    count = int(sums.counts.max() + held.counts.max())
    if count < MIN_SAMPLES * problem.n / len(problem.rows) + 2:
        fix = "record longer, or let fewer numbers be unknown"
        got = f"{count} samples for {problem.n} unknown numbers"
        raise StateError("identify", "enough samples", got, fix)
    probe = keeper.probe()
    # friction laws; another speed changes columns, so the sums are made again
    friction = find_friction(problem, probe)
    laws, far = friction.laws, friction.far
    findings += describe_laws(laws, source.again)
    if source.again and any(law.speed != law.loaded for law in laws):
        problem = problem.with_speeds(speeds_of(problem, laws))
        sums, held = accumulate(problem, source.chunks())
    fit = solve(problem, sums + held)
    if fit.condition > MAX_CONDITION and source.again:
        exact = True
        sums, held = accumulate(problem, source.chunks(), exact=True)
        fit = solve(problem, sums + held, exact=True)
    elif fit.condition > MAX_CONDITION:
        what = f"the condition is {fit.condition:.1e} and the samples cannot be read again"
        findings.append(DataFinding("warning", "hard-problem", f"{what} for a closer look"))
    train, whole, plain = sums, sums + held, (sums + held, sums, held)
    left = probe.residuals(problem, fit.beta)[1]
    shares = far.mean(axis=0)
    if robust is True and not source.again:
        fix = "give a log that can be read twice, such as a list of chunks"
        raise NotApplicableError("identify: option 'robust'", "samples that are read once", fix)
    # Huber weights: residuals, weights and sums in turn
    if robust or (robust is None and (shares > OUTLIER_SHARE).any() and source.again):
        for _ in range(REWEIGHTINGS):
            sigma = np.maximum(robust_sigma(left), 1e-3 * fit.sigma)
            weigh = huber(problem, fit.beta, sigma)
            train, held = accumulate(problem, source.chunks(), exact=exact, weigh=weigh)
            whole = train + held
            fit = solve(problem, whole, exact=exact)
            left = probe.residuals(problem, fit.beta)[1]
    # where a joint turns round, the sign of its friction is noise: nothing to worry about
    shares = (far & ~near_rest(probe.chunk[1])).mean(axis=0)
    if (shares > OUTLIER_SHARE).any():
        names = problem.model.coordinates.v_names
        where = join_names([names[j] for j in np.flatnonzero(shares > OUTLIER_SHARE)])
        what = f"{shares.max():.1%} of the residuals of {where} are far from the others"
        findings.append(DataFinding("note", "outliers", what))
    return _Samples(problem, laws, train, whole, *plain, exact, probe, findings, count)


def _fit(data: _Samples, prior: float, consistent: bool) -> tuple[Fit, Array, Array, HoldOut]:
    """Return the free fit, all unknowns of the new model, and the held-out residuals in two ways.

    What is held out is judged by a fit to the other samples; the new model is fitted to all.
    """
    problem, exact = data.problem, data.exact
    left = data.probe.residuals(problem, solve(problem, data.whole, exact=exact).beta)[1]
    fit = solve(problem, data.whole, exact=exact, inflation=inflation(data.probe, left))
    # the same kind of fit to four blocks of five, judged on the fifth
    hold_out = plain = np.full(len(problem.rows), np.nan)
    first = None
    if data.plain_held.counts.any():
        part = solve(problem, data.train, exact=exact)
        if consistent:
            first = fit_consistent(problem, part, prior)
        p = fit_with_bounds(problem, part) if first is None else first.p
        hold_out = residual_rms(problem, data.plain_held, problem.base @ p)
        # what the weights, the bounds and the loaded model cost or gain
        simple = solve(problem.with_equal_weights(), data.plain_train, exact=exact)
        plain = residual_rms(problem, data.plain_held, simple.beta)
    norms = hold_out_norms(problem, data.plain_held, hold_out, plain)
    if consistent:
        return fit, fit_consistent(problem, fit, prior, first).p, hold_out, norms
    return fit, fit_with_bounds(problem, fit), hold_out, norms


def _suspect_findings(
    problem: IdentificationProblem, probe: Probe, sums: Sums, fit: Fit, beta: Array, prior: float
) -> list[DataFinding]:
    """Return what is wrong with data that do not fit, or contradict physics."""
    # only logs that do not fit are examined more closely: the search costs many fits
    shares = relative_residuals(problem, sums, beta)
    worst, free = float(shares.max()), float(relative_residuals(problem, sums, fit.beta).max())
    if worst <= UNEXPLAINED and not (worst > 0.05 and worst > UNPHYSICAL * free):
        return []
    found = find_suspect(problem, probe, prior)
    if found is not None:
        return [found]
    if worst <= UNEXPLAINED:
        return []
    names = problem.model.coordinates.v_names
    j = int(np.argmax(shares))
    what = f"{worst:.0%} of the torque of '{names[j]}' is not explained by any robot of this shape"
    return [DataFinding("error", "unexplained", what, {"relative_residual": worst})]


def _record(
    problem: IdentificationProblem,
    source: Source,
    probe: Probe,
    model: Model,
    offsets: Array,
    gains: Array,
) -> dict[str, Array]:
    """Return the kept samples with the new model's forces next to the measured ones."""
    q, v, a, tau, *rest = probe.chunk
    made = inverse_dynamics(model, q, v, a, rest[0] if rest else None) + offsets
    found = {"row": probe.rows, "q": q, "v": v, "tau": tau * gains, "model": made}
    if source.logs and all(log.times is not None for log in source.logs):
        times = np.concatenate([log.times for log in source.logs])
        found["t"] = times[probe.rows]
    return found
