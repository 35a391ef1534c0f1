"""Contact forces as a quantity of a model and of a scene, made of its row when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sixfold.dynamics.contact.scene import Scene
from sixfold.evaluate import scalar_functions as pages
from sixfold.evaluate.arrays import Results
from sixfold.evaluate.call import general
from sixfold.evaluate.quantities import FORCE_FRAMES, Quantity
from sixfold.model import Model


@dataclass(frozen=True)
class _SceneQuantity(Quantity):
    """A quantity whose page takes a scene."""

    scene: Scene | None = None

    def options(self, model: Model, arrays: Sequence[Any], values: Sequence[Any]) -> dict[str, Any]:
        """Return the page's keywords, the scene among them."""
        return {**super().options(model, arrays, values), "scene": self.scene}


@lru_cache(maxsize=64)
def _row(scene: Scene) -> Quantity:
    n = len(scene.touches)
    return _SceneQuantity(
        "contact_forces",
        pages.contact_forces,
        ("nv", f"{n} 3", f"{n} 3", f"{n}", "nv", ""),
        ("q", "v", "tau", *(("dt",) if scene.rigid else ()), "f_ext"),
        frozenset({"f_ext"}),
        {"f_ext_frame": FORCE_FRAMES},
        {"f_ext_frame": "frame"},
        frozenset(),
        None,
        solves=True,
        scene=scene,
    )


def evaluate_with_scene(
    model: Model, scene: Scene, values: Sequence[Any], frame: Any, backend: Any
) -> Results:
    """Return accelerations, forces, points, gaps, joint forces and the residual.

    Args:
        model: the robot.
        scene: what may touch.
        values: q, v, tau, dt if the scene is rigid, and f_ext, which may be None.
        frame: of the external forces.
        backend: as in all quantities.
    """
    found = general(_row(scene), model, values, (frame,), None, backend)
    assert isinstance(found, tuple)
    return found
