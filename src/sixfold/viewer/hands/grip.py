"""The mouse on the surfaces of a live robot: where it takes hold, and the arrow of its pull."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixfold.scene.colors import FORCE
from sixfold.scene.triangles import Array
from sixfold.viewer.hands.frame_drag import FARTHEST
from sixfold.viewer.hands.live import LivePlayer
from sixfold.viewer.hands.pull import grab
from sixfold.viewer.overlays import State


class Grip:
    """Surfaces that the mouse can take hold of, and an arrow while it does."""

    def __init__(self, scene: Any, player: LivePlayer, size: float) -> None:
        """Add the arrow, hidden.

        Args:
            scene: of viser.
            player: the simulation that is pulled.
            size: of the robot [m]: the stretch beyond which the spring pulls no harder.
        """
        self.player, self.size = player, size
        thin = 0.006 * size
        self.arrow = scene.add_arrows(
            "/pull",
            np.zeros((1, 2, 3), np.float32),
            FORCE,
            shaft_radius=thin,
            head_radius=2.6 * thin,
            head_length=6 * thin,
            visible=False,
        )

    def attach(self, surfaces: Sequence[Any], bodies: Sequence[int]) -> None:
        """Let the left button drag surfaces of bodies; those of the base stay where they are."""
        for surface, body in zip(surfaces, bodies, strict=True):
            if body >= 0:
                surface.on_drag("left")(self._dragged(body))

    def _dragged(self, body: int) -> Any:
        # viser awaits these one after the other, so that phases come in order
        async def dragged(event: Any) -> None:
            self.drag(body, event.phase, event.start_position, event.end_position)

        return dragged

    def drag(self, body: int, phase: str, start: Any, end: Any) -> None:
        """Take hold of a body, move the pointer, or let go.

        Args:
            body: number of the body.
            phase: "start", "update" or "end".
            start: the point of the body under the pointer when it was pressed [m].
            end: where the pointer is now [m].
        """
        player, pointer = self.player, _place(end)
        if phase == "end" or pointer is None:
            player.grabbed(None)
            return
        pull = player.pull
        if phase == "start" or pull is None:
            at = _place(start)
            if at is None:
                return
            pull = grab(player.model, player.q, body, at, self.size)
        pull.pointer = pointer
        player.grabbed(pull)

    def draw(self, state: State) -> None:
        """Draw the pull from the point to the pointer."""
        pull = self.player.pull
        self.arrow.visible = pull is not None
        if pull is not None:
            _, at = pull.force(state.q, state.v)
            self.arrow.points = np.array([[at, pull.pointer]], np.float32)


def _place(numbers: Any) -> Array | None:
    """Return a place that a page sent; None if it is none."""
    place = np.asarray(numbers, float)
    return place if place.shape == (3,) and np.abs(place).max() < FARTHEST else None
