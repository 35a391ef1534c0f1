"""What a page allows the compiler to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sixfold.scalar import Scalar

Numbers = Sequence[Scalar]
P = TypeVar("P", bound=Callable[..., Any])


def page(*, joint_space: bool = False, rolls: bool = False) -> Callable[[P], P]:
    """Say what a page allows the compiler to do.

    Args:
        joint_space: its result is the same whichever of two bodies an inertia is counted with, so
            that kernels may take the reduced tree.
        rolls: it goes over the bodies only, so that it has a rolled form; matrices loop over
            ancestors and stay unrolled.
    """

    def mark(function: P) -> P:
        function.joint_space, function.rolls = joint_space, rolls  # type: ignore[attr-defined]
        return function

    return mark
