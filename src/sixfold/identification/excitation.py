"""Exciting trajectories: Fourier series within the limits of a robot, D-optimal.

q_j(t) = q_j0 + sum over l of s_jl sin(l w t) + c_jl cos(l w t) (Swevers et al., 1997), with
sum of l s_jl = 0 and sum of l^2 c_jl = 0: the motion starts and ends at rest, without a jerk.
Among random series the best by log det of the information matrix is improved by random steps, many
at a time in one kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Friction
from sixfold.errors import NotApplicableError, OptionError, whole_number
from sixfold.identification.fit import Fit, Sums, accumulate, standard_errors, weighted_products
from sixfold.identification.identification import Estimate, estimates
from sixfold.identification.problem import (
    IdentificationProblem,
    choice_of,
    numbers,
    positive,
    problem_for,
)
from sixfold.model import Model
from sixfold.model.validate import generator_of
from sixfold.quantities.configurations import random_state
from sixfold.quantities.dynamics import gravity_force as weight
from sixfold.quantities.dynamics import inverse_dynamics
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.runtime import in_order, require_model
from sixfold.simulation.trajectory import Trajectory

SHARE = 0.01  # noise of a joint's torque relative to its limit, where it is not given


def noise_of(where: str, model: Model, noise: Any) -> Array:
    """Return the standard deviation of each joint's measured force, shape (nv,)."""
    if noise is None:
        limits = model.effort_limit
        states = random_state(model, 64, seed=5)[0]
        # joints without a limit: relative to the gravity they bear
        heavy = np.abs(weight(model, states)).max(axis=0)
        usual = max(float(heavy.max(initial=0.0)), 1e-3)
        sizes = np.where(np.isfinite(limits) & (limits > 0), limits, np.maximum(heavy, 0.1 * usual))
        return SHARE * sizes
    found: Array = numbers(where, "noise", noise, model.nv)
    if not (found > 0).all() or not np.isfinite(found).all():
        raise OptionError(where, "noise", f"{model.nv} numbers > 0, or one", noise)
    return found


def expected_errors(
    problem: IdentificationProblem, trajectory: Any, noise: Array
) -> tuple[Estimate, ...]:
    """Return each base parameter with the standard error that a motion would leave.

    Args:
        problem: the columns.
        trajectory: a motion with q, v, a and tau.
        noise: standard deviation of each joint's measured force, shape (nv,).
    """
    chunk = (trajectory.q, trajectory.v, trajectory.a, trajectory.tau)
    sums, _ = accumulate(problem, [chunk], hold_out=False)
    fit = expected_fit(problem, sums, noise)
    return estimates(problem, sums, fit, fit.beta)


def expected_fit(problem: IdentificationProblem, sums: Sums, noise: Array) -> Fit:
    """Return the fit of the loaded model's own forces with this noise."""
    G, _ = weighted_products(problem, sums, noise)
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    values, vectors = np.linalg.eigh(G / np.outer(scale, scale))
    seen = values > 1e-13 * values[-1]
    # the pseudo-inverse of the information matrix
    half = vectors[:, seen] / np.sqrt(values[seen])
    covariance = half @ half.T / np.outer(scale, scale)
    unseen = vectors[:, ~seen]
    errors = standard_errors(covariance, unseen)
    condition = float(np.sqrt(values[-1] / max(values[0], 1e-300)))
    beta = problem.base @ problem.start
    return Fit(beta, covariance, errors, noise, condition, G, G @ beta, unseen, scale)


PERIOD = 10.0  # longest period of the series [s]; longer motions repeat it
SAMPLES = 24  # samples of a period for each harmonic by which a motion is judged
# points for each harmonic at which limits are checked; between them a sine exceeds its samples by
# less than 5 / FINE^2
FINE = 40
FIRST = 256  # random series to begin with
BATCH = 64  # series that are tried at a time
PARENTS = 6  # best series that are improved
# half range [rad or m] and speed of joints without limits, by kind of joint
RANGE = {"prismatic": (0.25, 0.3)}
USUAL_RANGE = (2.0, 1.5)  # the same for all other joints
PENALTY = 100.0  # what exceeding a torque limit by its own size costs in the objective


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """Fourier series of all joints within limits, from any numbers."""

    middle: Array
    half: Array  # half of the range that may be used, shape (nv,)
    speed: Array
    harmonics: int
    period: float

    @property
    def size(self) -> tuple[int, int]:
        """Shape of the numbers that describe a motion: joints, and numbers of each."""
        return len(self.middle), 2 * self.harmonics

    def motion(self, x: Array, t: Array) -> tuple[Array, Array, Array]:
        """Return q, v and a of motions x (..., nv, 2 h) at times t, shape (..., len(t), nv)."""
        h = self.harmonics
        l = np.arange(1, h + 1)
        w = 2 * np.pi / self.period
        # sum s_l l = 0 makes the speed zero at both ends, sum c_l l^2 = 0 the acceleration
        s, c = (_at_rest(x[..., : h - 1], l), _at_rest(x[..., h - 1 : 2 * h - 2], l**2))
        # a fine grid for the range: limits hold between samples too
        fine = np.linspace(0.0, self.period, FINE * h, endpoint=False)
        q, v, _ = _sums(s, c, w * l, fine)
        low, high = q.min(axis=-2), q.max(axis=-2)
        # as large as the range or the speed allows, times a share that is searched too
        swing = np.maximum((high - low) / 2, 1e-12)
        share = 0.4 + 0.6 / (1 + np.exp(-2 * x[..., -1]))
        fastest = np.maximum(np.abs(v).max(axis=-2), 1e-12)
        scale = share * np.minimum(self.half / swing, self.speed / fastest) * (1 - 5 / FINE**2)
        room = self.half - scale * swing
        # the middle of the motion, anywhere that keeps it within the range
        center = self.middle + room * np.tanh(x[..., -2]) - scale * (high + low) / 2
        q, v, a = _sums(s, c, w * l, t)
        scale = scale[..., None, :]
        return center[..., None, :] + scale * q, scale * v, scale * a


def _at_rest(x: Array, weights: Array) -> Array:
    """Return coefficients, falling with the harmonic, whose weighted sum is zero."""
    first = -(x * weights[1:] / np.sqrt(weights[1:])).sum(axis=-1, keepdims=True)
    return np.concatenate([first / weights[0], x / np.sqrt(weights[1:])], axis=-1)


def _sums(s: Array, c: Array, w: Array, t: Array) -> tuple[Array, Array, Array]:
    sin, cos = np.sin(np.outer(w, t)), np.cos(np.outer(w, t))
    q = s @ sin + c @ cos
    v = (s * w) @ cos - (c * w) @ sin
    a = -((s * w**2) @ sin + (c * w**2) @ cos)
    return q.swapaxes(-1, -2), v.swapaxes(-1, -2), a.swapaxes(-1, -2)


def excitation(
    model: Model,
    duration: float = 20.0,
    *,
    dt: float = 1e-3,
    harmonics: int = 5,
    period: float | None = None,
    margin: float = 0.9,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    speed: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    friction: Friction = True,
    rotors: bool = False,
    offsets: bool = False,
    springs: bool = False,
    bodies: str | Iterable[str] | None = None,
    rounds: int = 60,
    seed: int | np.random.Generator = 0,
    progress: Callable[[int, int | None], object] | None = None,
) -> Trajectory:
    """Return a motion that shows the unknown parameters of a robot as well as its limits allow.

    The robot starts and ends at rest at the same place.  Collisions are not checked: view the
    motion, and narrow the range with `lower` and `upper` where the arm would hit something.

    Args:
        model: the robot; its joints have one coordinate for each degree of freedom, none floats.
        duration: how long [s].
        dt: time between samples of the result [s].
        harmonics: how many the Fourier series has, from 2 on.
        period: of the series [s]; the motion repeats it.  By default at most 10 s.
        margin: share of the limits of position, speed and torque that is used.
        lower: lower limits of position [rad or m], shape (nq,), instead of the model's.
        upper: upper limits of position [rad or m], shape (nq,).
        speed: limits of speed [rad/s or m/s], shape (nv,).  Joints without limits move by
            2 rad (0.25 m) to either side of zero with at most 1.5 rad/s (0.3 m/s).
        noise: standard deviation of the measured joint forces [N m or N], a number or shape (nv,);
            1 % of the largest torque by default.
        friction: unknown friction, as in `identify`.
        rotors: whether rotor inertias are unknown.
        offsets: whether constant torques are unknown.
        springs: whether stiffnesses are unknown.
        bodies: bodies whose inertia is unknown, None for all.
        rounds: steps of improvement, 64 motions each.
        seed: same seed, same motion.
        progress: called with the rounds done and their number.

    Returns:
        A `Trajectory` with the model's joint forces.  Its notes say how well each parameter will be
        seen; `sixfold.identification.expected_errors` has all numbers.

    Raises:
        NotApplicableError: if joints have quaternions or the base floats.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> motion = sf.identification.excitation(arm, 4.0, dt=0.01, friction=False, rounds=2)
        >>> motion.q.shape, np.allclose(motion.v[[0, -1]], 0.0)
        ((401, 2), True)
        >>> motion.notes[0]
        'D-optimal among 384 Fourier series of 4 s'
        >>> np.allclose(motion.tau, sf.inverse_dynamics(arm, motion.q, motion.v, motion.a))
        True

    Reference: Swevers, Ganseman, Tukel, De Schutter and Van Brussel, Optimal Robot Excitation and
    Identification, 1997.
    """
    model = require_model("excitation", model)
    where = "excitation"
    duration = positive(where, "duration", duration, "a time > 0 [s]")
    dt = positive(where, "dt", dt, "a time > 0 [s]")
    if duration / dt > 1e7:
        raise OptionError(where, "dt", f"a time of at least {duration / 1e7:.1g} s", dt)
    margin = positive(where, "margin", margin, "a share from 0 to 1")
    if margin > 1:
        raise OptionError(where, "margin", "a share from 0 to 1", margin)
    harmonics = whole_number(where, "harmonics", harmonics, 2, 10_000)
    rounds = whole_number(where, "rounds", rounds, 0, 10_000)
    if progress is not None and not callable(progress):
        raise OptionError(where, "progress", "a function of (done, total)", progress)
    rng = generator_of(where, seed)
    # the series has one period; longer motions repeat it
    span = min(duration, PERIOD)
    if period is not None:
        span = positive(where, "period", period, "a time > 0")
    if len(model.coordinates.additive) != model.nv or not model.nv:
        fix = "record its motions under its own controller; `identify` takes them as they are"
        raise NotApplicableError(where, f"'{model.name}', with a free or spherical joint", fix)
    # what is unknown decides which information counts
    unknown = dict(friction=friction, rotors=rotors, offsets=offsets, springs=springs)
    choice = choice_of(model, **unknown, gains=None, bodies=bodies, forces=False, where=where)
    series = _series(model, margin, lower, upper, speed, harmonics, span)
    problem = problem_for(model, choice)
    t = np.linspace(0.0, span, SAMPLES * harmonics, endpoint=False)
    sigma = noise_of(where, model, noise)
    limits = margin * model.effort_limit

    def score(x: Array) -> Array:
        q, v, a = series.motion(x, t)
        return information(problem, q, v, a, sigma) - _excess(model, q, v, a, limits)

    best, tried = _search(score, series, rounds, rng, progress)
    return _trajectory(model, problem, series, best, duration, dt, sigma, tried)


def information(
    problem: IdentificationProblem, q: Array, v: Array, a: Array, sigma: Array
) -> Array:
    """Return log det of the information matrix of each motion, shape (batch,)."""
    count, samples = q.shape[:2]
    # all motions through the kernel at once
    rows = [x.reshape(count * samples, -1) for x in (q, v, a, np.zeros_like(v))]
    flat = problem.kernel(*rows).reshape(count, samples, -1)
    G = np.zeros((count, problem.n, problem.n))
    for j, (columns, place) in enumerate(zip(problem.rows, problem.places, strict=True)):
        A = flat[:, :, place][:, :, :-1] / sigma[j]
        G[:, columns[:, None], columns] += A.transpose(0, 2, 1) @ A
    # a ridge keeps the determinant of what no motion shows from being zero
    diagonal = np.einsum("kii->ki", G)
    diagonal *= 1 + 1e-9
    signs, values = np.linalg.slogdet(G)
    return np.where(signs > 0, values, -np.inf)


def _excess(model: Model, q: Array, v: Array, a: Array, limits: Array) -> Array:
    """Return what exceeding the torque limits costs."""
    if not np.isfinite(limits).any():
        return np.zeros(len(q))
    tau = np.abs(inverse_dynamics(model, q, v, a)).max(axis=1)
    return PENALTY * np.maximum(tau / limits - 1.0, 0.0).sum(axis=-1)


def _search(
    score: Callable[[Array], Array],
    series: FourierSeries,
    rounds: int,
    rng: np.random.Generator,
    progress: Callable[[int, int | None], object] | None,
) -> tuple[Array, int]:
    """Return the best numbers: random ones first, then steps from the best, shrinking."""
    x = rng.standard_normal((FIRST, *series.size))
    values = score(x)
    order = np.argsort(-values)[:PARENTS]
    x, values = x[order], values[order]
    step = 0.5
    for number in range(rounds):
        # children of the best motions, by random steps
        parents = rng.integers(0, len(x), BATCH)
        moved = rng.standard_normal((BATCH, *series.size)) * step
        # a few joints at a time
        moved *= rng.random((BATCH, series.size[0], 1)) < max(0.3, 2 / series.size[0])
        children = x[parents] + moved
        found = score(children)
        better = bool(found.max() > values[0])
        x, values = np.concatenate([x, children]), np.concatenate([values, found])
        order = np.argsort(-values)[:PARENTS]
        x, values = x[order], values[order]
        step *= 1.1 if better else 0.93
        if progress is not None:
            progress(number + 1, rounds)
    return x[0], FIRST + BATCH * rounds


def _series(
    model: Model, margin: float, lower: Any, upper: Any, speed: Any, harmonics: int, span: float
) -> FourierSeries:
    pairs = model.coordinates.additive
    order = [i for i, _ in sorted(pairs, key=lambda pair: pair[1])]
    q_names, v_names = model.coordinates.q_names, model.coordinates.v_names
    # limits by joint, in the order of velocities
    low = _numbers("lower", lower, model.lower_position, q_names)[order]
    high = _numbers("upper", upper, model.upper_position, q_names)[order]
    fast = _numbers("speed", speed, model.velocity_limit, v_names)
    for j, joint in enumerate(model.coordinates.v_joints):
        half, usual = RANGE.get(joint.joint.kind, USUAL_RANGE)
        if not np.isfinite(low[j]) and not np.isfinite(high[j]):
            low[j], high[j] = -half, half
        low[j] = low[j] if np.isfinite(low[j]) else high[j] - 2 * half
        high[j] = high[j] if np.isfinite(high[j]) else low[j] + 2 * half
        fast[j] = fast[j] if np.isfinite(fast[j]) and fast[j] > 0 else usual
    if not (high > low).all():
        j = int(np.argmin(high - low))
        name = model.coordinates.v_names[j]
        got = f"from {low[j]:g} to {high[j]:g} for '{name}'"
        raise OptionError("excitation", "upper", "limits above the lower ones", got)
    return FourierSeries(
        (low + high) / 2, margin * (high - low) / 2, margin * fast, harmonics, span
    )


def _numbers(name: str, given: Any, usual: Array, names: Sequence[str]) -> Array:
    if given is None:
        return usual.copy()
    return numbers("excitation", name, in_order("excitation", name, given, [names]), len(usual))


def _trajectory(
    model: Model,
    problem: IdentificationProblem,
    series: FourierSeries,
    x: Array,
    duration: float,
    dt: float,
    sigma: Array,
    tried: int,
) -> Trajectory:
    # the best series at all times, with the model's own forces and energies
    t = dt * np.arange(int(np.floor(duration / dt + 1e-9)) + 1)
    q, v, a = series.motion(x, t)
    tau = inverse_dynamics(model, q, v, a)
    energies: dict[str, Any] = {
        "kinetic": kinetic_energy(model, q, v),
        "potential": potential_energy(model, q),
    }
    notes = (f"D-optimal among {tried:,} Fourier series of {series.period:g} s",)
    made = Trajectory(model, t, q, v, a, tau, **energies, dt=dt, notes=notes)
    expected = expected_errors(problem, made, sigma)
    count = Counter(p.identifiability for p in expected)
    counts = ", ".join(f"{count[word]} {word}" for word in ("good", "weak", "none") if count[word])
    lines = [
        f"identifiability of {len(expected)} base parameters with noise of {sigma.max():.2g} N m: "
        + counts
    ]
    weak = sorted(expected, key=lambda p: -p.error / p.size)[:3]
    weak = [p for p in weak if p.identifiability != "good"]
    lines += [f"least identifiable: {p.words}, {p.value:.3g} +- {p.error:.2g}" for p in weak]
    limits = model.effort_limit
    if np.isfinite(limits).any():
        share = np.abs(tau).max(axis=0) / limits
        j = int(np.nanargmax(share))
        name = model.coordinates.v_names[j]
        lines.append(f"largest torque: {share[j]:.0%} of the limit of '{name}'")
    return Trajectory(model, t, q, v, a, tau, **energies, dt=dt, notes=(*notes, *lines))
