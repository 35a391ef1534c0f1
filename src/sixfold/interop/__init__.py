"""Other libraries: the same robot in Pinocchio and MuJoCo;
functions of JAX arrays and torch tensors.
"""

from sixfold.lazy import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
