"""Rigid-body dynamics: textbook algorithms, and compiled versions tested to agree with them.

Models, kinematics, dynamics, simulation and output are here; all else is in submodules: `book`,
`derivatives`, `loops`, `contact`, `control`, `identification`, `learn`, `sweeps`, `interop`,
`devices`, `operators`, `planar`, `spatial`, `math` and `errors`.  Names are imported at their first
use; `__init__.pyi` lists them.
"""

from sixfold.lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __all__ = lazy_names(__name__, __file__)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
