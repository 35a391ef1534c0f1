"""Examine a model and say what is wrong with it, where, and how to fix it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.checks.doctor.finding import Diagnosis, Finding
from sixfold.errors import whole_number
from sixfold.model import Model
from sixfold.quantities.configurations import random_state
from sixfold.runtime import require_model

if TYPE_CHECKING:
    from sixfold.checks.doctor.case import Case

MANY = 300  #: Degrees of freedom above which only a few random states are drawn.


def diagnose(model: Model, *, samples: int = 100, seed: int = 0) -> Diagnosis:
    """Examine a model: inertias, masses, units, joints, limits, symmetry, mass matrix, loops.

    The links are judged as the model's file gives them, each with its line; a model from no file,
    and a body that was edited since, is judged body by body.

    Args:
        model: the robot.
        samples: number of random states at which the mass matrix is examined; 0 for none.
        seed: same seed, same states.

    Returns:
        A Diagnosis; print it, or read its `findings`.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("pendulum")
        >>> sf.diagnose(model)
        <diagnosis of pendulum: nothing to remark>
        >>> flat = sf.Inertia.from_mass(1.0, rotational=(1, 1, 3))
        >>> for finding in sf.diagnose(sf.replace_inertias(model, {"bob": flat})).findings:
        ...     print(finding)
        error: body 'bob': principal moments 1, 1, 3 kg m^2: the last exceeds the sum of the others
        by 1 kg m^2 (0.33 of it) [inertia-triangle]
    """
    require_model("diagnose", model)
    for name, value in (("samples", samples), ("seed", seed)):
        whole_number("diagnose", name, value, 0)
    from sixfold.checks.doctor.case import Case

    # few states of large models: their mass matrices take long
    count = samples if model.nv <= MANY else min(samples, 4)
    case = Case(model, random_state(model, count, seed=seed)[0])
    figures: dict[str, Any] = {"bodies": model.nb, "freedoms": model.nv, "mass": case.mass}
    with np.errstate(all="ignore"):
        found = tuple(_findings(case, figures))
    # errors first; within a severity in the order of the checks
    ordered = sorted(found, key=lambda f: ("error", "warning", "note").index(f.severity))
    file = model.origin.file if model.origin else ""
    return Diagnosis(model.name, file, count, tuple(ordered), figures)


def _findings(case: Case, figures: dict[str, Any]) -> Iterator[Finding]:
    from sixfold.checks.doctor.motion_checks import idle, joints, loops, matrix, meshes, pivots
    from sixfold.checks.doctor.part_checks import inertias, masses, sizes, symmetry, units

    for check in (inertias, masses, units, sizes, symmetry, joints, idle, pivots):
        yield from check(case)
    yield from matrix(case, figures)
    yield from loops(case, figures)
    yield from meshes(case)
    yield from _left_out(case)


def _left_out(case: Case) -> Iterator[Finding]:
    """Repeat what the reader of the file remarked: faults, and what is not part of the model."""
    origin = case.model.origin
    if origin is None:
        return
    said = [("blemish", text) for text in origin.blemishes]
    said += [("not-in-model", text) for text in origin.notes]
    for code, text in said:
        # readers put the line first
        read = re.match(r"line (\d+): (.*)", text, re.DOTALL)
        line, what = (int(read[1]), read[2]) if read else (0, text)
        yield case.about_model(code, what, {}, line)
