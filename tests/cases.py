"""Cases of parametrised tests that `make test-long` runs and `make test` leaves out."""

import pytest


def some(cases, keep):
    """Return all cases, of which `keep`, spread evenly, run in `make test`; the others are long.

    Args:
        cases: values, or tuples of values for several arguments.
        keep: how many stay.
    """
    listed = list(cases)
    kept = {round(k * (len(listed) - 1) / max(1, keep - 1)) for k in range(keep)}
    return [
        case
        if k in kept
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for k, case in enumerate(listed)
    ]
