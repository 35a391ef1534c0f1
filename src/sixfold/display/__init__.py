"""Pictures, windows, reports and pages of models and motions."""

from sixfold.lazy import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)
