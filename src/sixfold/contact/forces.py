"""`sf.contact_forces`: accelerations and forces of a model that touches the ground."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Backend, ForceFrame
from sixfold.contact.ground import Ground
from sixfold.contact.places import scene_of
from sixfold.errors import NotApplicableError
from sixfold.evaluate import evaluate_with_scene, model_checked
from sixfold.model import Model
from sixfold.show import fields_line


class ContactForces(NamedTuple):
    """What `contact_forces` returns; nc contacts: those with the ground, then the pairs."""

    a: Array
    """Joint accelerations, shape (..., nv)."""
    forces: Array
    """Force on each body that touches, on the first one of a pair, in world axes [N],
    shape (..., nc, 3)."""
    points: Array
    """Where it acts, halfway between the surfaces, in world coordinates [m], shape (..., nc, 3)."""
    gaps: Array
    """Distance of the surfaces, negative inside [m], shape (..., nc)."""
    joint_forces: Array
    """What limits and dry friction add to the joint forces [N m or N], shape (..., nv)."""
    residual: Array
    """Relative residual of the solver, about the relative error of `a`, shape (...)."""

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def contact_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    contacts: Ground,
    dt: float | None = None,
    f_ext_frame: ForceFrame = "world",
    backend: Backend | None = None,
) -> ContactForces:
    """Return the accelerations of a model that touches the ground, and the contact forces.

    Args:
        model: the robot.
        q: configuration [rad or m], shape (..., nq).
        v: joint velocity [rad/s or m/s], shape (..., nv).
        tau: joint forces [N m or N], shape (..., nv).
        f_ext: external force on each body (n; f) [N m; N], shape (..., nb, 6).
        contacts: the ground and what may touch it.
        dt: length of a step [s], for a rigid ground, whose forces are those of a step.
        f_ext_frame: "world" (world axes about the world origin) or "body" (body axes and origin).
        backend: "numpy" for the reference reading; machine code where there is some if left out.

    Returns:
        A tuple (a, forces, points, gaps, joint_forces, residual): joint accelerations, shape
        (..., nv); forces on the body of each point, in world axes [N], and where they act [m],
        shapes (..., nc, 3); gaps [m], negative inside, shape (..., nc); what limits and dry
        friction add to tau, shape (..., nv); the relative residual of the solver, shape (...).

    Raises:
        ShapeError: if a last axis is not nq or nv.
        ArgumentError, NotApplicableError: if `contacts` is no ground, or does not suit the model.
        SingularModelError: if some joint has no inertia behind it at every configuration.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> ground = sf.Ground(friction=0.3, points=[sf.ContactPoint("ball", radius=0.1)])
        >>> q, v, tau = [0, 0, 0.0999, 0, 0, 0, 1], [0, 0, 0, 1.0, 0, 0], np.zeros(6)
        >>> found = sf.contact_forces(model, q, v, tau, contacts=ground)
        >>> x, y, z = found.forces[0]
        >>> bool(z > 0), bool(np.isclose(x, -0.3 * z))  # the ball slides: Coulomb's friction
        (True, True)

    Reference: Todorov, Convex and analytically-invertible dynamics with contacts and constraints,
    ICRA 2014; MuJoCo documentation, chapter Computation.
    """
    scene = scene_of("contact_forces", model_checked("contact_forces", model), contacts)
    if scene.rigid != (dt is not None):
        where = "a rigid ground" if scene.rigid else "a soft ground"
        fix = "pass the length of a step, dt" if scene.rigid else "leave dt out"
        what = "contact_forces without dt" if scene.rigid else "contact_forces: option 'dt'"
        raise NotApplicableError(what, where, fix)
    values: tuple[Any, ...] = (q, v, tau, *((dt,) if scene.rigid else ()), f_ext)
    results = evaluate_with_scene(model, scene, values, f_ext_frame, backend)
    return ContactForces(*results)
