"""The algorithms as their sources print them, with arrays, symbols or MPFR numbers.

The functions below take a model and arrays, for one state or for many along the leading axes, and
run the textbook version itself: no kernel, no passive forces, the tree alone.  `source(name)`
shows it.  For work on many states use the functions of `sf`, which the same models take and which
are compiled.

`operator_equations` and `inertial_axes` are the equations of Concurrent Dynamics on a tree;
`Influence`, `Propagation` and `BlockMatrix` are their operators for any block-diagonal A.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.dynamics.book import factorization
from sixfold.dynamics.book import lagrange as energies
from sixfold.dynamics.book.aba import aba as aba_on_tree
from sixfold.dynamics.book.crba import crba as crba_on_tree
from sixfold.dynamics.book.crba import dense
from sixfold.dynamics.book.newton_euler import newton_euler as newton_euler_on_tree
from sixfold.dynamics.book.operators import equations as operator_equations
from sixfold.dynamics.book.operators import inertial_axes
from sixfold.dynamics.book.operators.operators import BlockMatrix, Influence, Propagation, spread
from sixfold.dynamics.book.rnea import rnea as rnea_on_tree
from sixfold.dynamics.energy import composite_inertias as composite_on_tree
from sixfold.dynamics.kinematics import no_forces
from sixfold.errors import ArgumentError, NotApplicableError, OptionError, ShapeError
from sixfold.model import Model
from sixfold.model.tree import Table
from sixfold.runtime import join_numbers, require_model
from sixfold.runtime.quantity import flat_numbers
from sixfold.scalar import Scalar, plain, several_numbers, together
from sixfold.scalar import differentiate as differentiate_on_duals

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "BlockMatrix",
    "CenterTerms",
    "Craig",
    "Influence",
    "JointMap",
    "Lagrange",
    "Propagation",
    "aba",
    "center_terms",
    "center_velocities",
    "christoffel",
    "composite_inertias",
    "craig",
    "crba",
    "differentiate",
    "inertial_axes",
    "joint_maps",
    "lagrange",
    "ltdl",
    "ltl",
    "newton_euler",
    "operator_equations",
    "rnea",
    "solve_ltdl",
    "solve_ltl",
    "source",
    "spread",
    "yielding_inertias",
]

#: What the reference lists; operators and systems of equations serve the chapters of the book.
PUBLIC = (
    *("aba", "center_terms", "center_velocities", "christoffel", "yielding_inertias"),
    *("composite_inertias", "craig", "crba", "differentiate", "joint_maps", "lagrange", "ltdl"),
    *("ltl", "newton_euler", "rnea", "solve_ltdl", "solve_ltl", "source"),
)


class Lagrange(NamedTuple):
    """The terms of M qdd + V + G = tau."""

    M: Array  #: Mass matrix, shape (..., nv, nv).
    V: Array  #: Centrifugal and Coriolis forces, shape (..., nv).
    G: Array  #: Gravity forces, shape (..., nv).


class Craig(NamedTuple):
    """The split V = B [qd_i qd_j, i < j] + C [qd_i^2]."""

    B: Array  #: Coriolis coefficients, one column for each pair, shape (..., nv, nv (nv - 1) / 2).
    C: Array  #: Centrifugal coefficients, shape (..., nv, nv).


class CenterTerms(NamedTuple):
    """Terms of Concurrent Dynamics about the centres of mass, in world axes, for each body."""

    S: Array  #: Shift from the joint to the centre of mass (1), shape (..., nb, 6, 6).
    M_bar: Array  #: Mass matrix about the centre of mass (11), shape (..., nb, 6, 6).
    A_bar: Array  #: (0; w x (w x s)) (2), shape (..., nb, 6).
    B_bar: Array  #: (w x I w; 0) (11), shape (..., nb, 6).


class JointMap(NamedTuple):
    """Transform and motion subspace of a joint, in the coordinates of its body."""

    X: Array  #: X_J, from the fixed side of the joint to the body: (..., 6, 6), acts on motions.
    S: Array  #: Motion subspace, one column for each degree of freedom, shape (..., 6, n).


#: Texts of the arguments that the functions below have in common.
ARGUMENTS = {
    "model": "the robot; its passive forces and constraints are not part of printed algorithms.",
    "q": "configuration [rad or m], shape (..., nq), numbers of any kind.",
    "v": "joint velocity [rad/s or m/s], shape (..., nv).",
    "a": "joint acceleration [rad/s^2 or m/s^2], shape (..., nv).",
    "tau": "joint forces [N m or N], shape (..., nv).",
    "f_ext": "external force on each body (n; f) in body coordinates, shape (..., nb, 6).",
}


def _printed(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function of arrays from one of the numbers of one state.

    The body gets lists of numbers, each of which may hold a batch, and returns nested lists.
    """
    name, signature = function.__name__, inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with together(f"book.{name}"):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            model: Any = bound.arguments["model"]
            require_model(name, model)
            if model.couplings:
                fix = "use the functions of sf, or a model without couplings"
                raise NotApplicableError(f"book.{name}", "a model with couplings", fix)
            sizes = {"q": model.nq, "f_ext": 6 * model.nb}
            leads = []
            for argument, value in bound.arguments.items():
                if argument != "model" and value is not None:
                    numbers, lead = _split(name, argument, value, sizes.get(argument, model.nv))
                    bound.arguments[argument] = numbers
                    leads.append(lead)
            found = function(*bound.args, **bound.kwargs)
            return _join(found, np.broadcast_shapes(*leads))

    entries = [f"        {n}: {ARGUMENTS[n]}\n" for n in signature.parameters]
    if call.__doc__:
        before, title, after = call.__doc__.partition("    Returns:\n")
        call.__doc__ = f"{before}    Args:\n{''.join(entries)}\n{title}{after}"
    return call


def _split(
    function: str, argument: str, value: Any, size: int
) -> tuple[list[Scalar], tuple[int, ...]]:
    """Return the numbers of one state, each with the batch inside, and the leading axes."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged rows
        array = np.empty((0, 0))
    axes = 2 if argument == "f_ext" else 1
    shape = array.shape[max(0, array.ndim - axes) :]
    if array.ndim < axes or int(np.prod(shape)) != size:
        expected = f"(..., {size // 6}, 6)" if axes == 2 else f"(..., {size})"
        fix = "give the numbers of one state along the last axes"
        raise ShapeError(f"book.{function}", argument, expected, np.shape(array), fix)
    if array.dtype.kind not in "fiuO":
        where = f"book.{function}: argument '{argument}'"
        raise ArgumentError(where, "real numbers", value, "give numbers or symbols")
    lead = array.shape[: array.ndim - axes]
    flat = array.reshape(*lead, size)
    return [flat[..., k] for k in range(size)] if lead else flat.tolist(), lead


def _join(found: Any, lead: tuple[int, ...]) -> Any:
    """Return nested lists of numbers as an array with the leading axes of the batch."""
    if hasattr(found, "_fields"):
        return type(found)(*(_join(part, lead) for part in found))
    if isinstance(found, list) and found and hasattr(found[0], "_fields"):
        return [_join(part, lead) for part in found]
    shape, inner = [], found
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    numbers = flat_numbers(found)
    symbols = any(np.asarray(plain(x)).dtype == object for x in numbers)
    return join_numbers(numbers, lead, tuple(shape), object if symbols else float)


def _rows(quantity: Any) -> list[list[Scalar]]:
    """Return a transform, an inertia or a subspace as the rows of its matrix."""
    return [list(row) for row in spread(quantity)]


def _forces(model: Model, f_ext: Any) -> Table:
    return no_forces(model.tree) if f_ext is None else model.wrenches(f_ext)


@_printed
def rnea(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """Return joint forces by the recursive Newton-Euler algorithm.

    Returns:
        Joint forces [N m or N], shape (..., nv).

    Reference: Featherstone, Summer Screws 2024, part 3; Carius (30) to (38).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("ma23")
        >>> q, v = sf.random_state(arm, 5, seed=1)
        >>> tau = sf.book.rnea(arm, q, v, 0 * v)
        >>> np.allclose(tau, sf.inverse_dynamics(arm, q, v, 0 * v))
        True
        >>> import sympy
        >>> g = sf.book.rnea(sf.load("pendulum"), [sympy.Symbol("q")], [0], [0])
        >>> g.shape, g[0].free_symbols
        ((1,), {q})
    """
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    tau, _ = rnea_on_tree(model.tree, x, xd, xdd, _forces(model, f_ext))
    return model.gather(tau)


@_printed
def aba(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """Return joint accelerations by the articulated-body algorithm.

    Returns:
        Joint accelerations [rad/s^2 or m/s^2], shape (..., nv).

    Reference: Featherstone, RBDA, table 7.1.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("ma23")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.book.rnea(arm, q, v, sf.book.aba(arm, q, v, np.ones(6))), 1)
        True
    """
    x, xd, forces = model.positions(q), model.velocities(v), model.velocities(tau)
    return model.gather(aba_on_tree(model.tree, x, xd, forces, _forces(model, f_ext)))


@_printed
def crba(model: Model, q: ArrayLike) -> Array:
    """Return the joint-space inertia matrix H by the composite-rigid-body algorithm.

    Returns:
        Symmetric matrices [kg m^2, kg m or kg], shape (..., nv, nv), zero between branches.

    Reference: Featherstone, Summer Screws 2024, part 3, eqs. (1) to (8); RBDA, table 6.2.

    Example:
        >>> import sixfold as sf
        >>> print(sf.book.crba(sf.load("cart_pendulum"), [0.0, 0.0]).round(3))
        [[2.5  0.2 ]
         [0.2  0.09]]
    """
    return dense(model.tree, crba_on_tree(model.tree, model.positions(q)))


@_printed
def newton_euler(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None = None
) -> Array:
    """Return joint forces by Newton-Euler with 3-vectors: outward and inward iterations.

    Returns:
        Joint forces [N m or N], shape (..., nv).

    Raises:
        NotApplicableError: if a joint has several axes.

    Reference: Khatib, Stanford lecture on dynamics.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> np.allclose(sf.book.newton_euler(arm, q, v, v), sf.book.rnea(arm, q, v, v))
        True
    """
    x, xd, xdd = model.positions(q), model.velocities(v), model.velocities(a)
    forces = _forces(model, f_ext)
    return model.gather(newton_euler_on_tree(model.tree, x, xd, xdd, forces))


@_printed
def lagrange(model: Model, q: ArrayLike, v: ArrayLike) -> Lagrange:
    """Return the terms of Lagrange's explicit form from the energies alone.

    M is that of the kinetic energy, V comes from its derivatives, G from the potential energy
    (springs included).

    Returns:
        M, V and G, with M a + V + G the joint forces that produce accelerations a.

    Reference: Khatib, Stanford lecture on dynamics.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("ma23")
        >>> q, v = sf.random_state(arm, seed=1)
        >>> M, V, G = sf.book.lagrange(arm, q, v)
        >>> np.allclose(M @ v + V + G, sf.book.rnea(arm, q, v, v))
        True
    """
    tree, x, xd = model.tree, model.positions(q), model.velocities(v)
    V, G = energies.velocity_force(tree, x, xd), energies.gravity_force(tree, x)
    return Lagrange(energies.mass_matrix(tree, x), V, G)


@_printed
def christoffel(model: Model, q: ArrayLike) -> Array:
    """Return the Christoffel symbols c[k, i, j] of the first kind: V_k = sum c_kij qd_i qd_j.

    Returns:
        Symbols, shape (..., nv, nv, nv), symmetric in i and j where velocities are rates of
        coordinates; spherical and free joints add the brackets of their directions.

    Reference: Khatib, Stanford lecture on dynamics.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> c = sf.book.christoffel(arm, [0.3, 0.5])
        >>> v = np.array([1.0, -2.0])
        >>> np.allclose(np.einsum("kij,i,j", c, v, v), sf.book.lagrange(arm, [0.3, 0.5], v).V)
        True
    """
    return energies.christoffel(model.tree, model.positions(q))


@_printed
def craig(model: Model, q: ArrayLike) -> Craig:
    """Return Craig's B(q) and C(q): V = B [qd_1 qd_2, qd_1 qd_3, ...] + C [qd_1^2, qd_2^2, ...].

    Returns:
        B, one column for each pair (1, 2), (1, 3), ..., (2, 3), ..., and C.

    Raises:
        NotApplicableError: if a velocity is not the rate of a coordinate (spherical, free).

    Reference: Khatib, Stanford lecture on dynamics.

    Example:
        >>> import sixfold as sf
        >>> B, C = sf.book.craig(sf.load("double_pendulum"), [0.3, 0.5])
        >>> B.shape, C.shape
        ((2, 1), (2, 2))
    """
    return Craig(*energies.craig_split(model.tree, model.positions(q)))


@_printed
def composite_inertias(model: Model, q: ArrayLike) -> Array:
    """Return the inertia of each subtree as one rigid body: I_i^c of CRBA.

    Returns:
        Spatial inertia matrices, shape (..., nb + 1, 6, 6): entry 0 is the whole tree in world
        coordinates, entry i the subtree of body i (numbered from 1) in coordinates of body i.

    Reference: Featherstone, Summer Screws 2024, part 3.

    Example:
        >>> import sixfold as sf
        >>> arm = sf.load("tree6")
        >>> whole = sf.book.composite_inertias(arm, [0.0] * 6)[0]
        >>> bool(abs(whole[3, 3] - sum(b.inertia.m for b in arm.bodies)) < 1e-12)
        True
    """
    Ic = composite_on_tree(model.tree, model.positions(q))
    return [_rows(Ic[i]) for i in range(model.nb + 1)]


@_printed
def joint_maps(model: Model, q: ArrayLike) -> list[JointMap]:
    """Return the transform X_J and the motion subspace S of each joint.

    `sf.spatial.constraint_basis` makes T with T^T S = 0 of S.

    Returns:
        One `JointMap` for each body.

    Reference: Featherstone, Summer Screws 2024, part 3.

    Example:
        >>> import sixfold as sf
        >>> slide, hinge = sf.book.joint_maps(sf.load("cart_pendulum"), [0.2, 0.0])
        >>> slide.S.ravel().tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    tree, x = model.tree, model.positions(q)
    calculated = [tree.joint[i].calc(x[i], tree.zero_velocity(i)) for i in tree.bodies]
    # a fixed joint has six rows of no columns
    return [JointMap(_rows(j.XJ), _rows(j.S) if j.S.columns else [[]] * 6) for j in calculated]


@_printed
def center_velocities(model: Model, q: ArrayLike, v: ArrayLike) -> Array:
    """Return the velocity of each body's centre of mass: rdot_i = etadot_i + w_i x s_i.

    Returns:
        Velocities in world axes [m/s], shape (..., nb, 3).

    Raises:
        NotApplicableError: if a joint has several axes.

    Reference: Concurrent Dynamics (1).

    Example:
        >>> import sixfold as sf
        >>> sf.book.center_velocities(sf.load("pendulum"), [0.0], [2.0]).round(3).tolist()
        [[1.0, 0.0, 0.0]]
    """
    x, xd = model.positions(q), model.velocities(v)
    rdot = inertial_axes.center_velocities(model.tree, x, xd)
    return [list(rdot[i]) for i in model.tree.bodies]


@_printed
def center_terms(model: Model, q: ArrayLike, v: ArrayLike) -> CenterTerms:
    """Return S, M-bar, A-bar and B-bar: the equations of each body about its centre of mass.

    Returns:
        A `CenterTerms`, with M_i = S_i^T M-bar_i S_i (16) and B_i = S_i^T M-bar_i A-bar_i + B-bar_i
        (17).

    Raises:
        NotApplicableError: if a joint has several axes.

    Reference: Concurrent Dynamics (1), (2), (11).

    Example:
        >>> import sixfold as sf
        >>> S, M_bar, A_bar, B_bar = sf.book.center_terms(sf.load("pendulum"), [0.0], [2.0])
        >>> (A_bar[0].round(3) + 0.0).tolist()  # towards the hinge
        [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]
    """
    found = inertial_axes.center_terms(model.tree, model.positions(q), model.velocities(v))
    matrices = ([_rows(table[i]) for i in model.tree.bodies] for table in (found.S, found.M_bar))
    pairs = (
        [[*table[i].ang, *table[i].lin] for i in model.tree.bodies]
        for table in (found.A_bar, found.B_bar)
    )
    return CenterTerms(*matrices, *pairs)


@_printed
def yielding_inertias(model: Model, q: ArrayLike) -> Array:
    """Return J-hat_i = J_i - J_i G_i R_i^-1 G_i^T J_i of the articulated inertias J_i.

    Returns:
        What the branch of each body still resists once its joint yields, in body coordinates, shape
        (..., nb, 6, 6); J-hat_i G_i = 0 where a joint has no rotor.

    Reference: Concurrent Dynamics (19b).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("tree6")
        >>> J_hat = sf.book.yielding_inertias(arm, np.zeros(6))
        >>> G = [joint.S for joint in sf.book.joint_maps(arm, np.zeros(6))]
        >>> bool(np.abs(J_hat[3] @ G[3]).max() < 1e-12)
        True
    """
    tree = model.tree
    at_rest = operator_equations.body_frame(tree, model.positions(q), tree.zero_velocities())
    J_hat = operator_equations.yielding_inertias(at_rest)
    return [_rows(J_hat[i]) for i in tree.bodies]


def _chain(function: str, H: Any, parent: Sequence[int] | None) -> tuple[Any, list[int]]:
    """Return a square matrix as lists, and the parent of each row; a full matrix by default."""
    array = np.asarray(H)
    n = len(array) if array.ndim else 0
    if array.ndim != 2 or array.shape != (n, n):
        raise ShapeError(f"book.{function}", "H", "(n, n)", array.shape, "give one matrix")
    parents = list(range(-1, n - 1)) if parent is None else list(parent)
    if len(parents) != n or any(not -1 <= p < k for k, p in enumerate(parents)):
        expected = f"{n} whole numbers, the k-th below k, -1 at the base"
        fix = "pass model.tree.dof_parent"
        raise ArgumentError(f"book.{function}: argument 'parent'", expected, parent, fix)
    return array.tolist(), parents


def _array(numbers: Any) -> Array:
    return _join(numbers, ())


def ltl(H: ArrayLike, parent: Sequence[int] | None = None) -> Array:
    """Return lower triangular L with L^T L = H, which has the zeros of H.

    Args:
        H: symmetric positive definite matrix, shape (n, n), numbers of any kind.
        parent: for each row the one before it on the way to the base, -1 at the base:
            `model.tree.dof_parent`.  By default each row is supported by all rows before it.

    Returns:
        L, shape (n, n).

    Reference: Featherstone, Summer Screws 2024, part 3; RBDA, table 6.3.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("tree6")
        >>> H = sf.mass_matrix(arm, np.zeros(6))
        >>> L = sf.book.ltl(H, arm.tree.dof_parent)
        >>> np.allclose(L.T @ L, H) and bool(np.all((L != 0) <= (H != 0)))
        True
    """
    with together("book.ltl"):
        return _array(factorization.ltl(*_chain("ltl", H, parent)))


def ltdl(H: ArrayLike, parent: Sequence[int] | None = None) -> tuple[Array, Array]:
    """Return unit lower triangular L and pivots D with L^T diag(D) L = H.

    Args:
        H: symmetric positive definite matrix, shape (n, n), numbers of any kind.
        parent: as in `ltl`.

    Returns:
        L of shape (n, n), and D of shape (n,).

    Reference: Featherstone, Summer Screws 2024, part 3; RBDA, table 6.3.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> L, D = sf.book.ltdl([[4.0, 2.0], [2.0, 5.0]])
        >>> np.allclose(L.T @ np.diag(D) @ L, [[4.0, 2.0], [2.0, 5.0]])
        True
    """
    with together("book.ltdl"):
        L, D = factorization.ltdl(*_chain("ltdl", H, parent))
        return _array(L), _array(D)


def solve_ltl(L: ArrayLike, b: ArrayLike, parent: Sequence[int] | None = None) -> Array:
    """Return x with L^T L x = b.

    Args:
        L: from `ltl`.
        b: right side, shape (n,).
        parent: as in `ltl`.

    Returns:
        x, shape (n,).

    Example:
        >>> import sixfold as sf
        >>> print(sf.book.solve_ltl(sf.book.ltl([[4.0, 2.0], [2.0, 5.0]]), [6.0, 7.0]))
        [1. 1.]
    """
    with together("book.solve_ltl"):
        rows, parents = _chain("solve_ltl", L, parent)
        right = several_numbers("book.solve_ltl", "b", b, len(rows), "give one for each row")
        return _array(factorization.solve_ltl(rows, parents, right))


def solve_ltdl(
    L: ArrayLike, D: ArrayLike, b: ArrayLike, parent: Sequence[int] | None = None
) -> Array:
    """Return x with L^T diag(D) L x = b.

    Args:
        L: from `ltdl`.
        D: from `ltdl`.
        b: right side, shape (n,).
        parent: as in `ltl`.

    Returns:
        x, shape (n,).

    Example:
        >>> import sixfold as sf
        >>> L, D = sf.book.ltdl([[4.0, 2.0], [2.0, 5.0]])
        >>> print(sf.book.solve_ltdl(L, D, [6.0, 7.0]))
        [1. 1.]
    """
    with together("book.solve_ltdl"):
        rows, parents = _chain("solve_ltdl", L, parent)
        pivots, right = (
            several_numbers("book.solve_ltdl", name, x, len(rows), "give one for each row")
            for name, x in (("D", D), ("b", b))
        )
        return _array(factorization.solve_ltdl(rows, pivots, parents, right))


def differentiate(
    function: Callable[[tuple[Scalar, ...]], Sequence[Scalar]],
    at: Sequence[Scalar],
    along: Sequence[Scalar],
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Return the values of a function of several numbers and their rates along a direction.

    Args:
        function: takes a tuple of numbers, returns a sequence of numbers; it may use `sf.math`.
        at: the numbers where it is evaluated.
        along: the direction, one number for each.

    Returns:
        Two tuples: values, and their exact rates (by dual numbers, not by differences).

    Example:
        >>> import sixfold as sf
        >>> value, rate = sf.book.differentiate(lambda x: (x[0] * x[0] * x[1],), (3.0, 2.0), (1, 0))
        >>> value, rate
        ((18.0,), (12.0,))
    """
    where = "book.differentiate"
    if not callable(function):
        fix = "pass a function of a tuple of numbers"
        raise ArgumentError(f"{where}: argument 'function'", "a function", function, fix)
    with together(where):
        n = len(at)
        start = several_numbers(where, "at", at, n, "give numbers")
        direction = several_numbers(where, "along", along, n, "give one for each number of at")
        return differentiate_on_duals(function, start, direction)


#: The functions on trees, by the names of the public ones.
SOURCES: dict[str, Callable[..., Any]] = {
    "aba": aba_on_tree,
    "christoffel": energies.christoffel,
    "composite_inertias": composite_on_tree,
    "craig": energies.craig_split,
    "crba": crba_on_tree,
    "lagrange": energies.lagrange,
    "ltdl": factorization.ltdl,
    "ltl": factorization.ltl,
    "newton_euler": newton_euler_on_tree,
    "rnea": rnea_on_tree,
    "solve_ltdl": factorization.solve_ltdl,
    "solve_ltl": factorization.solve_ltl,
}


def source(algorithm: str) -> str:
    """Return the text of a printed algorithm, as it runs.

    Args:
        algorithm: the name of a function of this module, such as "rnea".

    Returns:
        The source of the function on a tree that does the work.

    Raises:
        OptionError: if there is no such algorithm.

    Example:
        >>> import sixfold as sf
        >>> print(sf.book.source("ltl").splitlines()[0])
        def ltl(H: Rows, parent: Sequence[int]) -> list[list[Scalar]]:
    """
    if not isinstance(algorithm, str) or algorithm not in SOURCES:
        raise OptionError("book.source", "algorithm", SOURCES, algorithm)
    return inspect.getsource(SOURCES[algorithm])


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
