"""What runs a quantity: argument checks, prepared calls, kernels, threads.

Names are imported at their first use; `__init__.pyi` lists them.
"""

from sixfold.lazy import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)
