"""Public names by themselves: `find("lqr")` is `sf.control.lqr`."""

import types
from functools import cache

import sixfold as sf


@cache
def places():
    """Return every public function, class and value by its name, with the path to it."""
    found = {}
    for name in sf.__all__:
        value = getattr(sf, name)
        if isinstance(value, types.ModuleType):
            # names that serve the algorithms of the algebra are in `__all__` too, not in `PUBLIC`
            for inner in getattr(value, "PUBLIC", value.__all__):
                found.setdefault(inner, (f"{name}.{inner}", getattr(value, inner)))
        else:
            found[name] = (name, value)
    return found


def find(name):
    """Return what a public name stands for, wherever it is."""
    value = sf
    for part in path(name).split("."):
        value = getattr(value, part)
    return value


def path(name):
    """Return the path of a public name from sixfold: `control.lqr`."""
    return places()[name][0]
