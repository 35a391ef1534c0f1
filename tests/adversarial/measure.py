"""Errors of public calls on one sample, against 256-bit arithmetic and beside the plain reading.

The reference takes the model's constants and the states as they are, rounded numbers, and works in
MPFR.  A call is held to

    error <= BOUND + TERMS x size + FACTOR x (error of the same call by NumPy)

with BOUND 1e-12 (4,500 eps) for forces and matrices, normwise: max|x - x_ref| / max|x_ref| for one
state.  The size is that of the terms, max (sum of |terms|) / max|x_ref|, of the plain reading of
the book (`tests.adversarial.sizes`); TERMS is 16 eps.  Where terms of 1e10 cancel to 1e-10 no way
of adding up the rounded constants keeps twelve digits; NumPy, which evaluates the plain reading
operation by operation on the model as it is given, shows what can be kept.

Accelerations are weighed by the roots of the mass matrix's diagonal, so that radians and metres,
light and heavy joints count alike, and held to two bounds.  The error may be 100 eps times the
condition number of the mass matrix scaled in the same way, and what TERMS of the velocity and
gravity forces become by its inverse.  That allows much where the matrix is nearly singular, so the
backward error counts too: how far joint forces would have to move for the
accelerations to be exact, max|tau - ID(a)| / (||H|| max|a| + max|C| + max|tau|), also weighed, with
the residual in 256 bits.  In single precision eps is that of single precision, and the reference
takes the rounded states.

States at which a pivot is lost (D <= 4 eps H_ii) are NaN, and models whose joints have nothing
behind them are refused; both have to be true in 256 bits, but for rounding: D <= 1e-12 H_ii.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gmpy2
import numpy as np

import sixfold as sf
from sixfold.model import Model, Tree
from sixfold.quantities import readings
from sixfold.scalar import Zero, plain
from tests.adversarial.models import Sample
from tests.adversarial.sizes import Sized, size_of
from tests.public_names import find

BITS = 256
EPS = {"float64": float(np.finfo(np.float64).eps), "float32": float(np.finfo(np.float32).eps)}
BOUND = 4500.0
"""In eps: 1e-12 in double precision."""
TERMS = 16.0
"""In eps, of the size of the terms."""
FACTOR = 10.0
NOTHING = 1e-30
"""Results this small, relative to their terms, are zero but for the rounded constants."""
LOST = 1e-12
"""Pivots this small, relative to the diagonal of the mass matrix, may be called lost."""

ID, FD = "inverse_dynamics", "forward_dynamics"
PLAIN: dict[str, tuple[str, int]] = {
    ID: ("qva", 1),
    "bias_force": ("qv", 1),
    "gravity_force": ("q", 1),
    "mass_matrix": ("q", 2),
    "coriolis_matrix": ("qv", 2),
    "kinetic_energy": ("qv", 0),
}
"""Arguments of each function, and axes of its result."""


class Call(NamedTuple):
    """A public function with the backend and precision it is called with."""

    function: str
    backend: str | None = None
    dtype: str = "float64"

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.function} {self.backend or 'default'} {self.dtype}"


class Measured(NamedTuple):
    """The error of a call at its worst state, in units of its bound there (1 is the bound)."""

    call: Call
    what: str
    """"error", "backward error" or "lost" (a pivot that was called lost and is not)."""
    error: float
    numpy: float
    share: float
    model: str

    @property
    def missed(self) -> bool:
        """Whether it is beyond the bound or not a number."""
        return not self.share <= 1


class Reference:
    """What one sample gives in 256 bits, worked out when asked for."""

    def __init__(self, sample: Sample) -> None:
        """Take the model's constants as they are."""
        self.sample, self.model = sample, sample.model
        with gmpy2.context(precision=BITS):
            self.tree: Tree = self.model.map(gmpy2.mpfr)
            self.dense: Tree = self.model.tree.map(_mpfr, zeros=True)

    def pivots(self, q: np.ndarray) -> np.ndarray:
        """Return the smallest share of a pivot in the mass matrix's diagonal, for each state.

        A pivot that is an exact zero divides to NaN further down the tree; it counts as zero.
        """
        with gmpy2.context(precision=BITS):
            rows = [readings.pivots(self.model, self.dense, _precise(row)) for row in q]
        D, H = np.split(np.array(rows, float), 2, axis=1)
        share: np.ndarray = np.nan_to_num(D / H, nan=0.0).min(axis=1)
        return share

    def of(self, core: Callable[..., Any], *states: np.ndarray) -> np.ndarray:
        """Return a core of each state, as an array of MPFR numbers."""
        with gmpy2.context(precision=BITS):
            rows = [
                [_mpfr(x) for x in core(self.model, self.tree, *map(_precise, row))]
                for row in zip(*states, strict=True)
            ]
        return np.array(rows, object)


def measure(sample: Sample, call: Call) -> Iterator[Measured]:
    """Yield the errors of one call on a sample."""
    rounded = sample._replace(
        **{x: getattr(sample, x).astype(call.dtype) for x in ("q", "v", "a", "push")}
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if call.function == FD:
            yield from _accelerations(rounded, call)
        else:
            yield _forces(rounded, call)


def _forces(s: Sample, call: Call) -> Measured:
    letters, axes = PLAIN[call.function]
    given = [{"q": s.q, "v": s.v, "a": s.a}[x] for x in letters]
    core = getattr(readings, call.function)
    exact = Reference(s).of(core, *given)
    lead = exact.shape[:1]
    sizes = _sizes(s.model, core, *given).max(axis=1)
    # forces that cancel altogether are compared with their terms
    scale = np.maximum(np.abs(exact.astype(float)).max(axis=1), NOTHING * sizes)

    def error(backend: str | None) -> np.ndarray:
        x = find(call.function)(s.model, *given, backend=backend)
        assert x.dtype == call.dtype
        assert x.ndim == 1 + axes
        return _error(x.reshape((*lead, -1)), exact, scale)

    relative = np.divide(sizes, scale, out=np.zeros_like(sizes), where=scale > 0)
    bound = EPS[call.dtype] * (BOUND + TERMS * relative)
    return _worst(s, call, "error", error(call.backend), error("numpy"), bound)


def _accelerations(s: Sample, call: Call) -> Iterator[Measured]:
    ref = Reference(s)
    share = ref.pivots(s.q)
    try:
        M = ref.of(readings.mass_matrix, s.q).astype(float)
        M = M.reshape((-1, s.model.nv, s.model.nv))
        weight = np.sqrt(np.abs(np.einsum("...ii->...i", M)))
        C = ref.of(readings.bias_force, s.q, s.v).astype(float)
        scaled = M / weight[:, :, None] / weight[:, None, :]
        tau = (s.push * weight * np.maximum(1, np.abs(C / weight).max(1))[:, None]).astype(
            call.dtype
        )
        found, plainly = (
            sf.forward_dynamics(s.model, s.q, s.v, tau, backend=backend)
            for backend in (call.backend, "numpy")
        )
    except sf.errors.SingularModelError:
        yield _lost(s, call, share.max())
        return
    lost = np.isnan(found).any(axis=1)
    if call.dtype == "float64":
        yield _lost(s, call, share[lost].max(initial=0.0))
    kept = np.flatnonzero(~lost & np.isfinite(plainly).all(axis=1) & (share > 0))
    if not kept.size:
        return
    given = [x[kept] for x in (s.q, s.v, tau)]
    found, plainly, weight = found[kept], plainly[kept], weight[kept]
    part = s._replace(q=given[0])
    exact = ref.of(readings.forward_dynamics, *given)
    eps = EPS[call.dtype]
    terms = (_sizes(s.model, readings.bias_force, *given[:2]) / weight).max(axis=1)
    # what an error of the forces becomes, relative to the accelerations
    largest = np.abs((exact * weight).astype(float)).max(axis=1)
    carried = np.abs(np.linalg.inv(scaled[kept])).sum(axis=2).max(axis=1) / largest
    allowed = eps * (100 * np.linalg.cond(scaled[kept]) + TERMS * terms * carried)
    errors = [_error(x * weight, exact * weight) for x in (found, plainly)]
    yield _worst(part, call, "error", *errors, allowed)

    norm = np.abs(scaled[kept]).sum(axis=2).max(axis=1)
    bias = (np.abs(C[kept]) / weight).max(axis=1)

    size = norm * largest + bias + np.abs(given[2] / weight).max(axis=1)

    def backward(acc: np.ndarray) -> np.ndarray:
        forces = ref.of(readings.inverse_dynamics, given[0], given[1], acc)
        residual = np.abs((given[2].astype(float) - forces).astype(float) / weight)
        return residual.max(axis=1) / size

    both = backward(found), backward(plainly)
    yield _worst(part, call, "backward error", *both, eps * (BOUND + TERMS * terms / size))


def _sizes(model: Model, core: Callable[..., Any], *given: np.ndarray) -> np.ndarray:
    """Return the sizes of the terms that each number of a result is the sum of, for each state."""
    tree = model.map(Sized)
    rows = zip(*given, strict=True)
    return np.array(
        [
            [size_of(x) for x in core(model, tree, *([Sized(x) for x in part] for part in row))]
            for row in rows
        ]
    )


def _error(x: np.ndarray, exact: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """Return max|x - x_ref| / max|x_ref| of each state; no error where both are zero."""
    off = np.abs((x - exact).astype(float)).max(axis=1)
    size = np.abs(exact.astype(float)).max(axis=1) if scale is None else scale
    return np.where(off == 0, 0.0, off / size)


def _worst(
    s: Sample, call: Call, what: str, error: np.ndarray, plainly: np.ndarray, bound: Any
) -> Measured:
    """Return the state that is nearest to its bound; where NumPy overflows, nothing is asked."""
    asked = np.isfinite(plainly) & (error != 0)
    share = np.where(asked, error / (bound + FACTOR * plainly), 0.0)
    k = int(np.argmax(np.where(np.isnan(share), np.inf, share)))
    return Measured(call, what, float(error[k]), float(plainly[k]), float(share[k]), s.model.name)


def _lost(s: Sample, call: Call, pivot: float) -> Measured:
    return Measured(call, "lost", float(pivot), 0.0, float(pivot) / LOST, s.model.name)


def _precise(values: np.ndarray) -> list[Any]:
    return [gmpy2.mpfr(float(x)) if not isinstance(x, gmpy2.mpfr) else x for x in values]


def _mpfr(x: Any) -> Any:
    return gmpy2.mpfr(0) if isinstance(x, Zero) else gmpy2.mpfr(plain(x))


def calls(k: int) -> list[Call]:
    """Return the calls that model number k is tried with: default calls, and one other in turn."""
    others = [
        Call(ID, "rolled"),
        Call(ID, dtype="float32"),
        Call(FD, "rolled"),
        Call("coriolis_matrix"),
        Call("mass_matrix", dtype="float32"),
        Call(ID, "unrolled"),
        Call("bias_force"),
        Call(FD, dtype="float32"),
        Call("kinetic_energy"),
        Call("gravity_force"),
        Call(FD, "unrolled"),
        Call(ID, "rolled", "float32"),
    ]
    return [Call(ID), Call(FD), Call("mass_matrix"), others[k % len(others)]]


def applies(call: Call, model: Model) -> bool:
    """Return whether a form exists for a model: loops over bodies know no couplings."""
    return not (call.backend == "rolled" and model.couplings)
