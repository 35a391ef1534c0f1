"""Do all formulations agree?  Evaluate them on random states and report the differences."""

from __future__ import annotations

from sixfold.checks.verify.report import Finding, Report
from sixfold.errors import OptionError, yes_or_no
from sixfold.model import Model
from sixfold.model.validate import generator_of
from sixfold.quantities import random_state
from sixfold.runtime import require_model


def check(
    model: Model, samples: int | None = None, *, seed: int = 0, exact: bool = False
) -> Report:
    """Evaluate every formulation that applies on random states and report the differences.

    Formulations are those of trees: constraints are set aside, and the report says so.

    Args:
        model: the robot.
        samples: number of random states; 100 by default, 3 with `exact`.
        seed: same seed, same states.
        exact: compute with rational numbers, without rounding: formulations agree with zero error
            or they differ.  `Report.statement` says what that proves.  Kernels, which compute with
            doubles, are left out, and so are models with joints whose angle and its sine are not
            both rational (helical and custom ones).

    Returns:
        A `Report`: for each formulation its worst error relative to the reference (the largest
        difference with `exact`), and the state where it is.  Print it for a table; `.agrees` is
        the verdict.

    Raises:
        OptionError: if samples makes no sense.
        NotApplicableError: if `exact` is not possible for some joint.

    Example:
        >>> import sixfold as sf
        >>> report = sf.check(sf.load("pendulum"), 10)
        >>> report.agrees
        True
        >>> sorted({f.quantity for f in report.findings})
        ['forward dynamics', 'inverse dynamics', 'inverse mass', 'mass matrix']
        >>> proof = sf.check(sf.load("pendulum"), exact=True)
        >>> {f.error for f in proof.findings if f.error is not None}
        {0.0}
    """
    require_model("check", model)
    yes_or_no("check", exact=exact)
    samples = (3 if exact else 100) if samples is None else samples
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
        raise OptionError("check", "samples", "a whole number >= 1", samples)
    rng = generator_of("check", seed)
    tree_alone = model.without(constraints=True)
    statement = ""
    if exact:
        from sixfold.checks.verify.exact import exact_findings

        found, statement = exact_findings(tree_alone, samples, rng)
    else:
        from sixfold.checks.verify.formulations import findings

        q, v = random_state(model, samples, seed=rng)
        a, tau = rng.standard_normal((2, samples, model.nv))
        found = findings(tree_alone, q, v, a, tau)
    if model.constraints:
        note = "set aside: every formulation is of the tree alone"
        count = f"{len(model.constraints)} with {model.nc} rows"
        found.append(Finding("constraints", count, None, None, 0.0, note))
    return Report(model.name, samples, tuple(found), statement)


def formulations(model: Model) -> dict[str, dict[str, str]]:
    """Return, for each quantity, each formulation with why it is left out (or an empty text)."""
    from sixfold.checks.verify.formulations import applicable

    return applicable(model)
