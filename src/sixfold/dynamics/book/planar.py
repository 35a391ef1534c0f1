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

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from sixfold.errors import ArgumentError, ModelError, ShapeError, quote
from sixfold.model import Model, Revolute
from sixfold.scalar import ZERO, Scalar, cos, exact, is_number, several_numbers, sin, together
from sixfold.spatial import Column, Inertia, ldl, ldl_solve, to_array

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

Point = tuple[Scalar, Scalar]
Numbers = Sequence[Scalar] | np.ndarray[Any, Any]  #: n numbers, or an array of many states.
NO_GRAVITY: Point = (ZERO, ZERO)
P = ParamSpec("P")
R = TypeVar("R")
VECTORS = ("q", "qd", "qdd", "tau")
PAIRS = ("point", "f_E", "gravity")


@dataclass(frozen=True)
class PlanarChain:
    """A chain of links in the x-y plane.

    The notes count gravity to the bias force b and print a formula without it: `gravity` is that of
    the chain, and enters b of all `skeleton_` functions.

    Args:
        m: masses of the links [kg].
        I: rotational inertias about the centres of mass [kg m^2].
        l: lengths [m].
        com: centre of mass (along, across) in link axes for each link [m]; half the length when
            left out.
        gravity: acceleration (x, y) [m/s^2], or one number g for (0, -g); none by default.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0, 1.0], I=[0.1, 0.1], l=[1.0, 1.0], gravity=9.81)
        >>> many = np.zeros((5, 2))
        >>> sf.planar.skeleton_fd(chain, many, many, many).shape
        (5, 2)
        >>> sf.simulate(chain.to_model(), [0.1, 0.2], [0.0, 0.0], 0.1).q.shape
        (101, 2)
    """

    m: Sequence[Scalar]
    I: Sequence[Scalar]
    l: Sequence[Scalar]
    com: Sequence[Point] | None = None
    gravity: Point | Scalar = NO_GRAVITY

    def __post_init__(self) -> None:
        """Check that every link has every number."""
        where, fix = "PlanarChain", "give one number for each link"
        for name in ("m", "I", "l"):
            given = getattr(self, name)
            several = isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) > 0
            if not several:
                raise ArgumentError(f"{where}: argument '{name}'", "a list of numbers", given, fix)
        com = () if self.com is None else self.com
        if not isinstance(com, (list, tuple)) and getattr(com, "ndim", 0) < 2:
            expected = "a list of pairs (along, across)"
            raise ArgumentError(f"{where}: argument 'com'", expected, com, "give one for each link")
        sizes = {len(self.m), len(self.I), len(self.l)} | ({len(com)} if len(com) else set())
        if len(sizes) != 1 or not len(self.m):
            what = f"m, I, l and com have lengths {sorted(sizes)}"
            raise ModelError(where, what, "one for each link")
        for name in ("m", "I", "l"):
            several_numbers(where, name, getattr(self, name), self.n, fix)
        for pair in com:
            several_numbers(where, "com", pair, 2, "give (along, across) for each link")
        down: Any = self.gravity
        pull = (ZERO, -down) if is_number(down) and not np.ndim(down) else down
        x, y = several_numbers(where, "gravity", pull, 2, "give (x, y), or g for (0, -g)")
        object.__setattr__(self, "gravity", (exact(x), exact(y)))

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.m)

    @property
    def centers(self) -> Sequence[Point]:
        """Centre of mass of each link in link axes."""
        return self.com if self.com is not None else [(length / 2, ZERO) for length in self.l]

    def to_model(self, name: str = "planar_chain") -> Model:
        """Return the chain as a model: hinges about z, for simulation and everything else.

        Args:
            name: name of the model.

        Returns:
            A Model with bodies link1..linkN, joints joint1..jointN and the frame `end` at the end
            of the last link.  Its gravity is the chain's.  Moments of inertia about x and y, which
            a planar motion never feels, are those about z.

        Raises:
            ModelError: if a number is a symbol or an array.
        """
        from sixfold.model import ModelBuilder

        try:
            numbers = [[float(x) for x in row] for row in (self.m, self.I, self.l)]
            centers = [(float(x), float(y)) for x, y in self.centers]
            x, y = (float(part) for part in self.gravity)
        except (TypeError, ValueError):
            fix = "a model holds floats: give the chain numbers"
            raise ModelError("PlanarChain.to_model", "a number is no float", fix) from None
        builder = ModelBuilder(name, gravity=(x, y, 0.0))
        before = 0.0
        for k, (m, I, length) in enumerate(zip(*numbers, strict=True), 1):
            builder.add_body(
                f"link{k}",
                parent=f"link{k - 1}" if k > 1 else None,
                joint=Revolute("z"),
                joint_name=f"joint{k}",
                placement=(before, 0.0, 0.0),
                inertia=Inertia.from_mass(m, (*centers[k - 1], 0.0), (I, I, I)),
            )
            before = length
        return builder.add_frame("end", f"link{self.n}", (before, 0.0, 0.0)).build()


def _check_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return an equation of the skeleton that checks its arguments, by their names, first.

    Arrays of two axes or more are many states: the last axis is that of one state, the result is an
    array with the same leading axes.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with together(function.__name__):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            lead = _take_apart(bound.arguments)
            _check(**bound.arguments)
            found = function(*bound.args, **bound.kwargs)
            return found if lead is None else _join(found, lead)

    return call


def _take_apart(given: dict[str, Any]) -> tuple[int, ...] | None:
    """Turn arrays of many states into numbers that hold the batch; return the leading axes."""
    leads = []
    for name, value in given.items():
        n = 2 if name in PAIRS else getattr(given["chain"], "n", 0) if name in VECTORS else None
        if n is None or not isinstance(value, np.ndarray) or value.ndim < 2:
            continue
        if value.shape[-1] != n:
            fix = "give states along the leading axes"
            raise ShapeError("skeleton", name, f"(..., {n})", value.shape, fix)
        leads.append(value.shape[:-1])
        given[name] = tuple(value[..., k] for k in range(n))
    return np.broadcast_shapes(*leads) if leads else None


def _join(found: Any, lead: tuple[int, ...]) -> Any:
    """Return numbers that hold a batch as an array, or several of them."""
    if hasattr(found, "_fields"):
        return type(found)(*(_join(part, lead) for part in found))
    array = to_array(found)
    shape = array.shape[array.ndim - _axes(found) :]
    return np.array(np.broadcast_to(array, (*lead, *shape)))


def _axes(nested: Any) -> int:
    """Return how many axes the numbers of one state have."""
    return 1 + _axes(nested[0]) if isinstance(nested, (list, tuple)) else 0


def _check(chain: PlanarChain, **given: Any) -> None:
    if not isinstance(chain, PlanarChain):
        fix = "make one with PlanarChain(m, I, l)"
        raise ArgumentError("skeleton: argument 'chain'", "a PlanarChain", chain, fix)
    for name in VECTORS:
        if name in given:
            fix = "give one number for each link"
            several_numbers("skeleton", name, given[name], chain.n, fix)
    for name in PAIRS:
        if given.get(name) is not None:
            several_numbers("skeleton", name, given[name], 2, "give (x, y)")
    if "link" in given:
        _check_link(chain, given["link"])
    nowhere = given.get("link", -1) == -1 and given.get("point") is None
    if "f_E" in given and given["f_E"] is None and not nowhere:
        what = "link and point say where a force acts, and there is none"
        raise ModelError("planar skeleton", what, "pass f_E, or leave them out")


def _check_link(chain: PlanarChain, link: Any) -> None:
    whole = isinstance(link, int) and not isinstance(link, bool)
    if not whole or not -chain.n <= link < chain.n:
        what = f"there is no link {quote(link)}"
        raise ModelError("planar skeleton", what, f"use 0 to {chain.n - 1}")


class Skeleton(NamedTuple):
    """Joint positions (x_0 .. x_n), centres of mass (x_G1 .. x_Gn) and arms at a configuration."""

    joints: list[Point]
    centers: list[Point]
    theta: list[Scalar]
    h_x: list[list[Scalar]]  #: h_xkj, the arm along link j on the way to the centre of link k.
    h_y: list[list[Scalar]]  #: h_ykj.


@_check_arguments
def skeleton(chain: PlanarChain, q: Numbers) -> Skeleton:
    """Return where joints and centres of mass are.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).

    Returns:
        Positions of the joints (x_0 .. x_n) and of the centres of mass [m], absolute angles [rad],
        and the arms h_xkj and h_ykj [m]: lists, or arrays (..., n + 1, 2), (..., n, 2), (..., n)
        and twice (..., n, n).  The velocity of centre k is sum over j of (-h_ykj, h_xkj) dtheta_j.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> found = sf.planar.skeleton(chain, [0.0, np.pi / 2])
        >>> np.array(found.joints, float).round(3).tolist()
        [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
        >>> np.array(found.h_x, float).round(3).tolist()
        [[0.5, 0.0], [1.0, 0.0]]
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

    # h_kj: along link j from joint to joint, for j = k to the centre of mass, none beyond
    n = range(chain.n)
    ends = [[joints[j + 1] if j < k else centers[k] for j in range(k + 1)] for k in n]
    h_x, h_y = (
        [[ends[k][j][c] - joints[j][c] if j <= k else ZERO for j in n] for k in n] for c in (0, 1)
    )
    return Skeleton(joints, centers, theta, h_x, h_y)


@_check_arguments
def skeleton_inertia(chain: PlanarChain, q: Numbers) -> list[list[Scalar]]:
    """Return H: h_ij = sum over k >= max(i, j) of m_k r_ik . r_jk + I_k, r_ik from joint to G_k.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).

    Returns:
        The inertia matrix [kg m^2]: n rows, or an array (..., n, n).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> H = sf.planar.skeleton_inertia(chain, [0.3, 0.5])
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


@_check_arguments
def skeleton_bias(
    chain: PlanarChain, q: Numbers, qd: Numbers, *, gravity: Point | None = None
) -> list[Scalar]:
    """Return b: the notes' velocity terms, and - sum over k >= i of m_k r_ik x gravity.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        qd: their rates [rad/s], n numbers or (..., n).
        gravity: (x, y) [m/s^2] instead of the chain's own.

    Returns:
        Joint torques [N m], n numbers or (..., n).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0], gravity=9.81)
        >>> b = sf.planar.skeleton_bias(chain, [0.3, 0.5], [1.0, -2.0])
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
                lever = ry * x.h_x[k][j] - rx * x.h_y[k][j]
                total = total + chain.m[k] * lever * (rates[j] * rates[j])
            total = total - chain.m[k] * (rx * gravity[1] - ry * gravity[0])
        b.append(total)
    return b


@_check_arguments
def skeleton_jacobian(
    chain: PlanarChain, q: Numbers, link: int = -1, point: Point | None = None
) -> list[list[Scalar]]:
    """Return J_E (2 x n) of a point given in the axes of a link; the link's end by default.

    Args:
        chain: the links.
        q: relative joint angles [rad], n numbers or (..., n).
        link: number of the link from 0, or from the end if negative.
        point: (along, across) in link axes [m].

    Returns:
        Two rows [m], or an array (..., 2, n): the velocity (x, y) of the point is J_E qd.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0, 1.0], I=[0.0, 0.0], l=[1.0, 1.0])
        >>> np.array(sf.planar.skeleton_jacobian(chain, [0.0, np.pi / 2]), float).round(3)
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


@_check_arguments
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
        f_E: external force (x, y) [N]; none by default.
        link: the link that it acts on, from 0, or from the end if negative.
        point: where, in link axes [m]; the end of the link by default.
        gravity: (x, y) [m/s^2] instead of the chain's own.

    Returns:
        Joint torques [N m]: n numbers, or an array (..., n) when an argument is an array of many
        states.

    Example:
        >>> import sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0], I=[0.0], l=[2.0], gravity=9.81)
        >>> tuple(sf.planar.skeleton_id(chain, [0.0], [0.0], [0.0]))
        (9.81,)
    """
    H, b = skeleton_inertia(chain, q), skeleton_bias(chain, q, qd, gravity=gravity)
    pushed = _external_torque(chain, q, f_E, link, point)
    inertial = [_dot(row, qdd) for row in H]
    return Column(inertial) + b - pushed


@_check_arguments
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
        f_E: external force (x, y) [N]; none by default.
        link: the link that it acts on, from 0, or from the end if negative.
        point: where, in link axes [m]; the end of the link by default.
        gravity: (x, y) [m/s^2] instead of the chain's own.

    Returns:
        Accelerations [rad/s^2]: n numbers, or an array (..., n) when an argument is an array of
        many states.

    Example:
        >>> import sixfold as sf
        >>> chain = sf.planar.PlanarChain(m=[1.0], I=[0.0], l=[2.0], gravity=9.81)
        >>> tuple(sf.planar.skeleton_fd(chain, [0.0], [0.0], [0.0]))
        (-9.81,)
    """
    b = skeleton_bias(chain, q, qd, gravity=gravity)
    rhs = Column(tau) - b + _external_torque(chain, q, f_E, link, point)
    return ldl_solve(*ldl(skeleton_inertia(chain, q)), rhs)


def _external_torque(
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
