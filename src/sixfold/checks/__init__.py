"""What is wrong with a model: the doctor, and every formulation compared with a reference."""

from sixfold.lazy import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)
