"""Many rows of one function: Monte Carlo, grids, domain randomisation, on one machine or many."""

from sixfold.sweeps import draws, reducers
from sixfold.sweeps.run_sweep import Sweep, sweep
from sixfold.sweeps.study import Grid

__all__ = ["Grid", "Sweep", "draws", "reducers", "sweep"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
