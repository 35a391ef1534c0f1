"""What a page allows the compiler to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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


def of_inertias(page: Callable[..., Any]) -> Callable[..., Any]:
    """Return a page that takes the inertial parameters of all bodies as one more, last list.

    It runs on the model's own tree: moving inertias to other bodies or frames, as for the reduced
    tree, costs more than it saves where they are inputs.
    """
    if isinstance(page, partial):
        return partial(of_inertias(page.func), *page.args, **page.keywords)
    made: Callable[..., Any] | None = getattr(page, "of_inertias", None)
    if made is None:

        def made(model: Any, tree: Any, *lists: Numbers, **options: Any) -> Any:
            return page(model, tree.with_inertias(lists[-1]), *lists[:-1], **options)

        page.of_inertias = made  # type: ignore[attr-defined]
    return made
