"""The planar skeleton: dynamics of a chain of bodies in the plane, on plain arrays."""

from sixfold.dynamics.book.planar import (
    PlanarChain,
    skeleton,
    skeleton_bias,
    skeleton_fd,
    skeleton_id,
    skeleton_inertia,
    skeleton_jacobian,
)

__all__ = [
    "PlanarChain",
    "skeleton",
    "skeleton_bias",
    "skeleton_fd",
    "skeleton_id",
    "skeleton_inertia",
    "skeleton_jacobian",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
