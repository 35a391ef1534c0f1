"""Some rows of a study, with what varied: for plots of one against the other."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.sweeps.rows import rows_of
from sixfold.sweeps.study import study_of
from sixfold.sweeps.study_file import StudyFile

RUNS = 50
"""Places of a study that rows are taken from."""


def sample_rows(described: StudyFile, count: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return inputs and results of some runs of rows, spread over the study, by name."""
    source = rows_of(described.rows)
    study = study_of(described.function, source, described.seed or 0, described.draw or {})
    size = max(1, count // RUNS)
    starts = np.unique(np.linspace(0, len(source) - size, -(-count // size)).astype(int))
    parts = [
        (int(start), int(start) + size, source.values(start, start + size)) for start in starts
    ]
    found = [[make(*part) for part in parts] for make in (study.inputs, study.results)]
    inputs, results = (
        {name: np.concatenate([each[name] for each in runs]) for name in runs[0]} for runs in found
    )
    return inputs, results
