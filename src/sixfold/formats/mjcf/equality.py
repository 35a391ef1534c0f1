"""Equality constraints of MuJoCo as loops and gears: connect, weld and joint.

MuJoCo's are soft (`solref`, `solimp`); a model's constraints hold exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

from sixfold.formats.mjcf.shapes import Names, clean_pose
from sixfold.model import Fixed, ModelBuilder, Spherical
from sixfold.spatial import Transform

CONNECT, WELD, JOINT = range(3)
"""Numbers of `mjtEq`."""
SITE = 6
"""Number of `mjtObj`."""
KINDS = {CONNECT: "connect", WELD: "weld", JOINT: "joint", 3: "tendon", 7: "distance"}


def add_equalities(builder: ModelBuilder, m: Any, names: Names, floating: int = 0) -> None:
    """Close the loops of a compiled MuJoCo model; those of `left_out` are not made."""
    skipped = {k for k, _, _ in left_out(m, floating)}
    for k in range(m.neq):
        if k not in skipped:
            name = names.equalities[k]
            if int(m.eq_type[k]) == JOINT:
                _gear(builder, m, k, name, names)
            else:
                _loop(builder, m, k, name, names)


def left_out(m: Any, floating: int = 0) -> Iterator[tuple[int, str, str]]:
    """Yield number, kind and reason of each equality constraint that a model has no place for."""
    for k in range(m.neq):
        kind = int(m.eq_type[k])
        label = f"equality {KINDS.get(kind, 'flex')}"
        if kind not in (CONNECT, WELD, JOINT):
            yield k, label, "no loop is made from it"
        elif not m.eq_active0[k]:
            yield k, f"inactive {label}", "it is off when the simulation starts"
        elif kind != JOINT:
            a, b = (_carrier(m, body, floating) for body in _bodies(m, k))
            if a == b:
                yield k, label, "its bodies cannot move against each other"


def _bodies(m: Any, k: int) -> tuple[int, int]:
    """Return the numbers of the two bodies."""
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    if int(m.eq_objtype[k]) == SITE:
        return int(m.site_bodyid[first]), int(m.site_bodyid[second])
    return first, second


def _carrier(m: Any, body: int, floating: int) -> int:
    """Return the body that a body is fixed to, itself if it has joints."""
    while body and body != floating and not m.body_jntnum[body]:
        body = int(m.body_parentid[body])
    return body


def _loop(builder: ModelBuilder, m: Any, k: int, name: str, names: Names) -> None:
    a, b = (names.bodies[body] for body in _bodies(m, k))
    data = [float(x) for x in m.eq_data[k]]
    weld = int(m.eq_type[k]) == WELD
    # without its torque a weld holds a point only
    joint = Fixed() if weld and data[10] else Spherical()
    if int(m.eq_objtype[k]) == SITE:
        sites = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        XA, XB = (clean_pose(m.site_pos[s], m.site_quat[s]) for s in sites)
    elif weld:
        # the point of body 1, and how body 2 is turned there; then the anchor in body 2
        XA, XB = clean_pose(data[3:6], data[6:10]), Transform.translation(data[0:3])
    else:
        XA, XB = (Transform.translation(point) for point in (data[0:3], data[3:6]))
    builder.close(a, b, joint, XA, XB, name=name)


def _gear(builder: ModelBuilder, m: Any, k: int, name: str, names: Names) -> None:
    """q1 - ref1 = c0 + c1 (q2 - ref2) + c2 (q2 - ref2)^2 + ..., in powers of q2 itself."""
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    c = [float(x) for x in m.eq_data[k][:5]]
    offset = c[0] + float(m.qpos0[int(m.jnt_qposadr[first])])
    leaders: list[tuple[str, tuple[float, ...]]] = []
    if second >= 0:
        ref = float(m.qpos0[int(m.jnt_qposadr[second])])
        powers = [
            sum(c[n] * comb(n, p) * (-ref) ** (n - p) for n in range(max(p, 1), 5))
            for p in range(5)
        ]
        offset += powers[0]
        while powers and not powers[-1]:
            powers.pop()
        leaders = [(names.joints[second], tuple(powers[1:]))] if len(powers) > 1 else []
    builder.add_gear(names.joints[first], *leaders, offset=offset, name=name)
