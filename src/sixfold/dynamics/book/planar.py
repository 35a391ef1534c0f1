"""The planar skeleton: a chain of links in the x-y plane as plain arrays.

q are relative joint angles, theta_k = q_1 + ... + q_k absolute link angles.  A link of length l
has its centre of mass at `com` in link axes.  Follows the planar-skeleton notes on forward
dynamics; what the notes leave open is fixed here: h_xkj = x_j - x_(j-1) for j < k, x_Gk - x_(k-1)
for j = k and 0 for j > k (the same for y), and gravity, which their text names and their formula
lacks, is that of the chain, or an argument.

q, qd, qdd and tau are n numbers of any kind, or arrays (..., n) of many states; then results are
arrays too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.book.planar_chain import Numbers, PlanarChain, Point, checked
from sixfold.scalar import ZERO, Scalar, cos, sin
from sixfold.spatial import Column, ldl, ldl_solve

__all__ = [
    "PlanarChain",
    "Skeleton",
    "skeleton",
    "skeleton_bias",
    "skeleton_fd",
    "skeleton_id",
    "skeleton_inertia",
    "skeleton_jacobian",
]


class Skeleton(NamedTuple):
    """Joint positions (x_0 .. x_n) and centres of mass (x_G1 .. x_Gn) at a configuration."""

    joints: list[Point]
    centers: list[Point]
    theta: list[Scalar]


@checked
def skeleton(chain: PlanarChain, q: Numbers) -> Skeleton:
    """Return where joints and centres of mass are.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).

    Returns:
        Positions of the joints (x_0 .. x_n) and of the centres of mass [m], and absolute angles
        [rad]: lists, or arrays (..., n + 1, 2), (..., n, 2) and (..., n).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> joints, centers, angles = sf.skeleton(chain, [0.0, np.pi / 2])
        >>> np.array(joints, float).round(3).tolist()
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    """
    joints: list[Point] = [(ZERO, ZERO)]
    centers: list[Point] = []
    theta: list[Scalar] = []
    angle: Scalar = ZERO
    for k in range(chain.n):
        angle = angle + q[k]
        c, s = cos(angle), sin(angle)
        (x, y), (u, w) = joints[-1], chain.centers[k]
        joints.append((x + chain.l[k] * c, y + chain.l[k] * s))
        centers.append((x + u * c - w * s, y + u * s + w * c))
        theta.append(angle)
    return Skeleton(joints, centers, theta)


@checked
def skeleton_inertia(chain: PlanarChain, q: Numbers) -> list[list[Scalar]]:
    """Return H: h_ij = sum over k >= max(i, j) of m_k r_ik . r_jk + I_k, r_ik from joint to G_k.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).

    Returns:
        The inertia matrix [kg m^2]: n rows, or an array (..., n, n).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> H = sf.skeleton_inertia(chain, [0.3, 0.5])
        >>> np.allclose(H, sf.mass_matrix(chain.to_model(), [0.3, 0.5]))
        True
    """
    x = skeleton(chain, q)
    n = range(chain.n)

    def element(i: int, j: int) -> Scalar:
        total: Scalar = ZERO
        for k in range(max(i, j), chain.n):
            (gx, gy), (ix, iy), (jx, jy) = x.centers[k], x.joints[i], x.joints[j]
            total = (
                total + chain.m[k] * ((gx - ix) * (gx - jx) + (gy - iy) * (gy - jy)) + chain.I[k]
            )
        return total

    return [[element(i, j) for j in n] for i in n]


@checked
def skeleton_bias(
    chain: PlanarChain, q: Numbers, qd: Numbers, *, gravity: Point | None = None
) -> list[Scalar]:
    """Return b: the notes' velocity terms, and - sum over k >= i of m_k r_ik x gravity.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        qd: their rates [rad/s], n numbers or (..., n).
        gravity: (x, y) [m/s^2] in place of the chain's own.

    Returns:
        Joint torques [N m], n numbers or (..., n).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0], gravity=9.81)
        >>> b = sf.skeleton_bias(chain, [0.3, 0.5], [1.0, -2.0])
        >>> np.allclose(b, sf.bias_force(chain.to_model(), [0.3, 0.5], [1.0, -2.0]))
        True
    """
    x = skeleton(chain, q)
    gravity = chain.gravity if gravity is None else gravity
    rates = [sum(qd[1 : k + 1], start=qd[0]) for k in range(chain.n)]
    b: list[Scalar] = []
    for i in range(chain.n):
        total: Scalar = ZERO
        for k in range(i, chain.n):
            rx, ry = x.centers[k][0] - x.joints[i][0], x.centers[k][1] - x.joints[i][1]
            for j in range(k + 1):
                end = x.joints[j + 1] if j < k else x.centers[k]
                hx, hy = end[0] - x.joints[j][0], end[1] - x.joints[j][1]
                total = total + chain.m[k] * (ry * hx - rx * hy) * (rates[j] * rates[j])
            total = total - chain.m[k] * (rx * gravity[1] - ry * gravity[0])
        b.append(total)
    return b


@checked
def skeleton_jacobian(
    chain: PlanarChain, q: Numbers, link: int = -1, point: Point | None = None
) -> list[list[Scalar]]:
    """Return J_E (2 x n) of a point given in the axes of a link; the link's end when left out.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        link: number of the link from 0, or from the end if negative.
        point: (along, across) in link axes [m].

    Returns:
        Two rows [m], or an array (..., 2, n): the velocity (x, y) of the point is J_E qd.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> np.array(sf.skeleton_jacobian(chain, [0.0, np.pi / 2]), float).round(3)
        array([[-1., -1.],
               [ 1.,  0.]])
    """
    x = skeleton(chain, q)
    k = link % chain.n
    u, w = (chain.l[k], ZERO) if point is None else point
    c, s = cos(x.theta[k]), sin(x.theta[k])
    ex, ey = x.joints[k][0] + u * c - w * s, x.joints[k][1] + u * s + w * c
    inside = range(k + 1)
    return [
        [-(ey - x.joints[i][1]) if i in inside else ZERO for i in range(chain.n)],
        [ex - x.joints[i][0] if i in inside else ZERO for i in range(chain.n)],
    ]


@checked
def skeleton_id(
    chain: PlanarChain,
    q: Numbers,
    qd: Numbers,
    qdd: Numbers,
    *,
    f_E: Point | None = None,
    link: int = -1,
    point: Point | None = None,
    gravity: Point | None = None,
) -> Column:
    """Return tau = H qdd + b - J_E^T f_E: inverse dynamics of the notes.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        qd: their rates [rad/s].
        qdd: their accelerations [rad/s^2].
        f_E: external force (x, y) [N]; none when left out.
        link: the link that it acts on, from 0, or from the end if negative.
        point: where, in link axes [m]; the end of the link when left out.
        gravity: (x, y) [m/s^2] in place of the chain's own.

    Returns:
        Joint torques [N m]: n numbers, or an array (..., n) when an argument is an array of many
        states.

    Example:
        >>> import sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0], I=[0.0], l=[2.0], gravity=9.81)
        >>> tuple(sf.skeleton_id(chain, [0.0], [0.0], [0.0]))
        (9.81,)
    """
    H, b = skeleton_inertia(chain, q), skeleton_bias(chain, q, qd, gravity=gravity)
    pushed = _pushed(chain, q, f_E, link, point)
    inertial = [_dot(row, qdd) for row in H]
    return Column(inertial) + b - pushed


@checked
def skeleton_fd(
    chain: PlanarChain,
    q: Numbers,
    qd: Numbers,
    tau: Numbers,
    *,
    f_E: Point | None = None,
    link: int = -1,
    point: Point | None = None,
    gravity: Point | None = None,
) -> Column:
    """Return qdd from H qdd = tau - b + J_E^T f_E, by symmetric elimination on any numbers.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        qd: their rates [rad/s].
        tau: joint torques [N m].
        f_E: external force (x, y) [N]; none when left out.
        link: the link that it acts on, from 0, or from the end if negative.
        point: where, in link axes [m]; the end of the link when left out.
        gravity: (x, y) [m/s^2] in place of the chain's own.

    Returns:
        Accelerations [rad/s^2]: n numbers, or an array (..., n) when an argument is an array of
        many states.

    Example:
        >>> import sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0], I=[0.0], l=[2.0], gravity=9.81)
        >>> tuple(sf.skeleton_fd(chain, [0.0], [0.0], [0.0]))
        (-9.81,)
    """
    b = skeleton_bias(chain, q, qd, gravity=gravity)
    rhs = Column(tau) - b + _pushed(chain, q, f_E, link, point)
    return ldl_solve(*ldl(skeleton_inertia(chain, q)), rhs)


def _pushed(
    chain: PlanarChain, q: Numbers, f_E: Point | None, link: int, point: Point | None
) -> Column:
    if f_E is None:
        return Column.zero(chain.n)
    jx, jy = skeleton_jacobian(chain, q, link, point)
    return Column(a * f_E[0] + b * f_E[1] for a, b in zip(jx, jy, strict=True))


def _dot(a: Sequence[Scalar], b: Numbers) -> Scalar:
    total: Scalar = ZERO
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total
