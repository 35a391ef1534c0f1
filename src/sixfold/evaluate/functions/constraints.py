"""Models with constraints beside the joints of their tree: loops, rods, gears, rolling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame
from sixfold.errors import NotApplicableError
from sixfold.evaluate.public import quantity
from sixfold.evaluate.quantities import FORCE_FRAMES, PagesLater
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions import constraints as pages
else:
    pages = PagesLater("constraints")

_FORCES = {"f_ext_frame": FORCE_FRAMES}
_AS_FRAME = {"f_ext_frame": "frame"}


def _refuse_trees(function: str, model: Model, _: Mapping[str, Any]) -> None:
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints beside its joints"
        fix = "close loops with ModelBuilder.close, or take the function for trees"
        raise NotApplicableError(function, where, fix)


@quantity(
    pages.constrained_dynamics,
    "nv",
    "nc",
    options=_FORCES,
    keywords=_AS_FRAME,
    solves=True,
    refuses=_refuse_trees,
)
def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    f_ext_frame: ForceFrame = "world",
    inertias: ArrayLike | None = None,
    out: tuple[Array, Array] | None = None,
    backend: Backend | None = None,
) -> tuple[Array, Array]:
    """Return accelerations and constraint forces (a, forces) of a model with constraints.

    M a + C = tau + J^T forces with J a + gamma = 0.  `forward_dynamics` returns the same
    accelerations.

    Args:
        model: a robot with loops, rods, gears or rolling wheels (`model.constraints`).
        q: configuration [rad or m], shape (..., nq); gaps that it leaves open are not closed
            (see `assemble` and `project`).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Accelerations [rad/s^2 or m/s^2], shape (..., nv), and the force of each row, shape
        (..., nc), in the order of `model.constraint_rows`: forces and moments [N or N m] that act
        on body B of a constraint, along its rows.  Redundant rows share their
        force: it is the one of least norm.

    Raises:
        NotApplicableError: if the model has no constraints.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Reference: Delassus matrix of the sparse factor (Featherstone, RBDA, chapter 8) with proximal
    steps (Carpentier, Budhiraja, Mansard, RSS 2021).

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> a, forces = sf.constrained_dynamics(model, [0.6, 0.8], [0, 0], [0, 0])
        >>> print(a.round(3), forces.round(3))  # the rod is pressed
        [ 4.709 -3.532] [7.848]
    """
    raise NotImplementedError


@quantity(pages.constraint_gaps, "nc", refuses=_refuse_trees)
def constraint_gaps(
    model: Model, q: ArrayLike, *, out: Array | None = None, backend: Backend | None = None
) -> Array:
    """Return how far each constraint row gapes [m or rad], shape (..., nc); zero where it holds.

    Rows are named by `model.constraint_rows`.  Those of a loop are along the constraint forces of
    its joint, in the closing frame on body B; of turns it is 2 tan(angle / 2).

    Args:
        model: a robot with constraints.
        q: configuration [rad or m], shape (..., nq).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Gaps [m or rad], shape (..., nc), in the order of `model.constraint_rows`.

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> print(sf.constraint_gaps(model, [[0.6, 0.8], [0.6, 0.9]]).round(3))
        [[0.   ]
         [0.082]]
    """
    raise NotImplementedError


@quantity(pages.constraint_jacobian, "nc nv", refuses=_refuse_trees)
def constraint_jacobian(
    model: Model, q: ArrayLike, *, out: Array | None = None, backend: Backend | None = None
) -> Array:
    """Return J, shape (..., nc, nv): constraints hold J v = 0.

    Args:
        model: a robot with constraints.
        q: configuration [rad or m], shape (..., nq).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        J, shape (..., nc, nv): row k times v is how fast row k opens or slips
        [m/s or rad/s].

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> print(sf.constraint_jacobian(model, [0.6, 0.8]).round(3))
        [[0.6 0.8]]
    """
    raise NotImplementedError


@quantity(pages.constraint_bias, "nc", refuses=_refuse_trees)
def constraint_bias(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return gamma, shape (..., nc): constraints hold J a + gamma = 0, gamma = (dJ/dt) v.

    Args:
        model: a robot with constraints.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Gamma [m/s^2 or rad/s^2], shape (..., nc).

    Example:
        >>> import sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v = [0.6, 0.8], [0.8, -0.6]  # J v = 0
        >>> print(sf.constraint_bias(model, q, v).round(3))  # the rod turns with 1 rad/s
        [1.]
    """
    raise NotImplementedError


@quantity(pages.constraint_wrenches, "nb 6", refuses=_refuse_trees)
def constraint_wrenches(
    model: Model,
    q: ArrayLike,
    forces: ArrayLike,
    *,
    out: Array | None = None,
    backend: Backend | None = None,
) -> Array:
    """Return what constraint forces do to each body (n; f), shape (..., nb, 6).

    They are in world axes about the world origin, as `f_ext` is: with them as external forces the
    tree moves as the constrained model does, and `constraint_forces` gives the reactions in all of
    its joints.  A gear works on joints, by its row of `constraint_jacobian`, and does nothing here.

    Args:
        model: a robot with constraints.
        q: configuration [rad or m], shape (..., nq).
        forces: of each row [N or N m], shape (..., nc), as `constrained_dynamics` returns them.
        out: array for the result, of its shape and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Wrenches (n; f) [N m; N], shape (..., nb, 6), in world axes about the world origin.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v, tau = [0.6, 0.8], [0, 0], [0, 0]
        >>> a, forces = sf.constrained_dynamics(model, q, v, tau)
        >>> f_ext = sf.constraint_wrenches(model, q, forces)
        >>> tree = model.without(constraints=True)
        >>> np.allclose(sf.forward_dynamics(tree, q, v, tau, f_ext), a)
        True
    """
    raise NotImplementedError


@quantity(pages.project, "nq", "nv", solves=True, refuses=_refuse_trees)
def project(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    inertias: ArrayLike | None = None,
    out: tuple[Array, Array] | None = None,
    backend: Backend | None = None,
) -> tuple[Array, Array]:
    """Return the nearest state (q, v) that satisfies the constraints.

    For states that are nearly right: two Gauss-Newton steps close the gaps, and velocities lose
    what would open them, both by the metric of the mass matrix.  Use `assemble` from afar.

    Args:
        model: a robot with constraints.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10); see `inverse_dynamics`.
        out: two arrays for the results, of their shapes and dtype.
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        Configurations [rad or m], shape (..., nq), and velocities [rad/s or m/s], shape (..., nv).

    Example:
        >>> import numpy as np, sixfold as sf
        >>> builder = sf.ModelBuilder("ladder", gravity=(0, -9.81, 0))
        >>> ball = sf.Inertia.from_mass(1.0)
        >>> _ = builder.add_body("foot", joint=sf.Prismatic("x"), inertia=ball)
        >>> _ = builder.add_body("head", joint=sf.Prismatic("y"), inertia=ball)
        >>> model = builder.add_rod("foot", "head", 1.0).build()
        >>> q, v = sf.project(model, [0.6, 0.81], [1.0, 0.0])
        >>> J = sf.constraint_jacobian(model, q)
        >>> np.allclose(sf.constraint_gaps(model, q), 0), np.allclose(J @ v, 0)
        (True, True)
    """
    raise NotImplementedError


if TYPE_CHECKING:  # they take only listed names of a package for public ones
    __all__ = [
        "constrained_dynamics",
        "constraint_bias",
        "constraint_gaps",
        "constraint_jacobian",
        "constraint_wrenches",
        "project",
    ]
