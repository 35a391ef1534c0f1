"""Environments for learning: tasks, and many of them stepped in one kernel.

Names are imported at their first use, so that gymnasium is needed for environments only.
"""

from sixfold.lazy import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
