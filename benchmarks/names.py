"""Public names by themselves."""

import types

import sixfold as sf


def find_public(name):
    """Return a public function by its name, from sixfold or the submodule that has it."""
    if name in sf.__all__:
        return getattr(sf, name)
    modules = (getattr(sf, each) for each in sf.__all__)
    found = (m for m in modules if isinstance(m, types.ModuleType) and name in m.__all__)
    return getattr(next(found), name)
