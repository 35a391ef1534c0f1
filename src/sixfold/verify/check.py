"""Does every formulation agree?  Evaluate them all on random states and report the differences."""

from __future__ import annotations

from sixfold.errors import OptionError
from sixfold.evaluate import model_checked, random_state
from sixfold.model import Model
from sixfold.model.values import generator_of
from sixfold.verify.findings import Report


def check(model: Model, samples: int = 100, *, seed: int = 0) -> Report:
    """Evaluate every formulation that applies on random states and report the differences.

    Args:
        model: the robot.
        samples: number of random states.
        seed: same seed, same states.
    """
    model_checked("check", model)
    if not isinstance(samples, int) or isinstance(samples, bool) or samples < 1:
        raise OptionError("check", "samples", "a whole number >= 1", samples)
    from sixfold.verify.formulations import findings

    rng = generator_of("check", seed)
    q, v = random_state(model, samples, seed=rng)
    a, tau = rng.standard_normal((2, samples, model.nv))
    return Report(model.name, samples, tuple(findings(model, q, v, a, tau)))


def formulations(model: Model) -> dict[str, dict[str, str]]:
    """Return, for each quantity, each formulation with why it is left out (or an empty text)."""
    from sixfold.verify.formulations import applicable

    return applicable(model)
