"""Do all formulations agree?  Evaluate them on random states and report the differences."""

from __future__ import annotations

from sixfold.checks.verify.report import Finding, Report
from sixfold.errors import OptionError
from sixfold.model import Model
from sixfold.model.validate import generator_of
from sixfold.quantities import random_state
from sixfold.runtime import require_model


def check(model: Model, samples: int = 100, *, seed: int = 0) -> Report:
    """Evaluate every formulation that applies on random states and report the differences.

    Formulations are those of trees: constraints are set aside, and the report says so.

    Args:
        model: the robot.
        samples: number of random states.
        seed: same seed, same states.

    Returns:
        A `Report`: for each formulation its worst error relative to the reference, no units, and
        the state where it is.  Print it for a table; `.agrees` is the verdict.

    Raises:
        OptionError: if samples makes no sense.

    Example:
        >>> import sixfold as sf
        >>> report = sf.check(sf.load("pendulum"), 10)
        >>> report.agrees
        True
        >>> sorted({f.quantity for f in report.findings})
        ['forward dynamics', 'inverse dynamics', 'inverse mass', 'mass matrix']
    """
    require_model("check", model)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
        raise OptionError("check", "samples", "a whole number >= 1", samples)
    from sixfold.checks.verify.formulations import findings

    rng = generator_of("check", seed)
    q, v = random_state(model, samples, seed=rng)
    a, tau = rng.standard_normal((2, samples, model.nv))
    found = findings(model.without(constraints=True), q, v, a, tau)
    if model.constraints:
        note = "set aside: every formulation is of the tree alone"
        count = f"{len(model.constraints)} with {model.nc} rows"
        found.append(Finding("constraints", count, None, None, 0.0, note))
    return Report(model.name, samples, tuple(found))


def formulations(model: Model) -> dict[str, dict[str, str]]:
    """Return, for each quantity, each formulation with why it is left out (or an empty text)."""
    from sixfold.checks.verify.formulations import applicable

    return applicable(model)
