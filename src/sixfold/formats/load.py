"""A robot from its file or by its name."""

from __future__ import annotations

from sixfold.model import Model, sample


def load(source: str) -> Model:
    """Return a robot by the name of a sample, such as "puma560" or "planar_chain:5".

    Raises:
        UnknownNameError: if there is no sample of that name; the message lists those there are.
    """
    return sample(str(source))
