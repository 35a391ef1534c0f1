"""Carriers: the six rows of a body through which its many points act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sixfold.dynamics.contact.constraints import Reduce, Row, State
from sixfold.dynamics.contact.matrices import Matrix
from sixfold.dynamics.contact.rows import Places
from sixfold.dynamics.contact.scene import Scene
from sixfold.scalar import ZERO, Scalar


def carriers_of(scene: Scene, places: Places, reduce: Reduce) -> dict[int, list[list[Scalar]]]:
    """Return the rows of the bodies with more rows of contact than six; none without Newton."""
    if not scene.newton:
        return {}
    rows: Counter[int] = Counter()
    for touch, size in zip(scene.touches, scene.sizes, strict=False):
        if touch.other is None:
            rows[touch.ball.body] += size
    many = [body for body, n in rows.items() if n > 6]
    return {body: [reduce(row) for row in places.spatial(body)] for body in many}


def carried_rows(
    scene: Scene, at: State, rows: Sequence[Row]
) -> tuple[list[list[Scalar]], Matrix | None]:
    """Return rows of Jacobians that carry all constraints, and each constraint by its carriers.

    Without Newton's method each row is its own carrier.  With it, rows of a body with many points
    go by the six of the body.
    """
    if not scene.newton:
        return [row.J for row in rows], None
    found: list[list[Scalar]] = []
    place = {}
    for body, six in at.carriers.items():
        place[body] = len(found)
        found += six
    by: list[dict[int, Scalar]] = []
    for row in rows:
        if row.arm is None or row.body not in place:
            by.append({len(found): row.active})
            found.append(row.J)
        else:
            by.append({place[row.body] + k: x * row.active for k, x in enumerate(row.arm)})
    return found, [[each.get(k, ZERO) for k in range(len(found))] for each in by]
