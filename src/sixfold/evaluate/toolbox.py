"""What commands need of the compiler: its cache on disk, and the machine it compiles for."""

from sixfold.native import cache, host, lanes

__all__ = ["cache", "host", "lanes"]
