"""Pages of the book beside the pages that run, and small trees of each joint to compare them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.dynamics.book import lagrange
from sixfold.dynamics.book.aba import aba as book_aba
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.regressor import regressor as book_regressor
from sixfold.dynamics.book.rnea import rnea
from sixfold.dynamics.derivatives import inverse_dynamics as about_points
from sixfold.dynamics.derivatives import spatial
from sixfold.dynamics.fast.aba import aba as fast_aba
from sixfold.dynamics.fast.articulated import inverse_mass_matrix
from sixfold.dynamics.fast.coriolis import coriolis
from sixfold.dynamics.fast.inverse_dynamics import joint_forces
from sixfold.dynamics.regressor import regressor
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.spatial import Matrix3, Subspace, Vector3, rotation

Page = Callable[[Tree, Table, Table, Table, Table], list[Any]]
EX, EY, EZ = Vector3.of((1.0, 0.0, 0.0)), Vector3.of((0.0, 1.0, 0.0)), Vector3.of((0.0, 0.0, 1.0))


def _rows(page: Callable[..., Any]) -> Page:
    """Return a page whose result is one column for each body."""

    def numbers(tree: Tree, q: Table, qd: Table, x: Table, f_ext: Table) -> list[Any]:
        found = page(tree, q, qd, x, f_ext)
        return [n for i in tree.bodies for n in found[i]]

    return numbers


def _forces(page: Callable[..., Any]) -> Page:
    """Return a page of inverse dynamics: joint forces, then the force through each joint."""

    def numbers(tree: Tree, q: Table, qd: Table, x: Table, f_ext: Table) -> list[Any]:
        tau, f = page(tree, q, qd, x, f_ext)
        through = [n for i in tree.bodies for n in (*f[i].ang, *f[i].lin)]
        return [n for i in tree.bodies for n in tau[i]] + through

    return numbers


def _matrix(page: Callable[[Tree, Table, Table], Any]) -> Page:
    """Return a page whose result is a matrix."""

    def numbers(tree: Tree, q: Table, qd: Table, x: Table, f_ext: Table) -> list[Any]:
        return [n for row in page(tree, q, qd) for n in row]

    return numbers


def _matrices(page: Callable[..., Any]) -> Page:
    """Return a page whose result is several matrices."""

    def numbers(tree: Tree, q: Table, qd: Table, x: Table, f_ext: Table) -> list[Any]:
        return [n for matrix in page(tree, q, qd, x, f_ext) for row in matrix for n in row]

    return numbers


def _by_operators(tree: Tree, q: Table, qd: Table) -> Any:
    none = {i: sf.spatial.Force.zero() for i in tree.bodies}
    return equations.inverse_mass_matrix(equations.body_frame(tree, q, qd, none))


PAGES: dict[str, tuple[Page, Page]] = {
    "inverse dynamics": (_forces(rnea), _forces(joint_forces)),
    "forward dynamics": (_rows(book_aba), _rows(fast_aba)),
    "inverse mass matrix": (
        _matrix(_by_operators),
        _matrix(lambda tree, q, qd: inverse_mass_matrix(tree, q)),
    ),
    "Coriolis matrix": (_matrix(lagrange.coriolis_matrix), _matrix(coriolis)),
    "derivatives of inverse dynamics": (
        _matrices(spatial.first_order),
        _matrices(about_points.first_order),
    ),
    "regressor": (
        _matrices(lambda tree, q, qd, x, f_ext: (book_regressor(tree, q, qd, x),)),
        _matrices(lambda tree, q, qd, x, f_ext: (regressor(tree, q, qd, x),)),
    ),
}
"""Each quantity as the book has it and as it runs."""


def bent_track(q: Any) -> sf.Transform:
    """Slide along a parabola and turn on the way: a custom joint of one freedom."""
    E = rotation(EY, sf.math.cos(q[0]), sf.math.sin(q[0]))
    return sf.Transform(E, Vector3(q[0], q[0] * q[0], q[0] * 0.5))


def pan_tilt(q: Any) -> sf.Transform:
    """Turn about two axes a lever apart: a custom joint of two freedoms."""
    tilt = sf.Transform(rotation(EX, sf.math.cos(q[1]), sf.math.sin(q[1])), Vector3(0.25, 0.0, 0.5))
    return tilt @ sf.Transform(
        rotation(EZ, sf.math.cos(q[0]), sf.math.sin(q[0])), Vector3(0.0, 0.0, 0.0)
    )


def slide_subspace(q: Any) -> Subspace:
    """Return the subspace of a slide along z."""
    return Subspace(sf.spatial.Motion(Vector3(0.0, 0.0, 0.0), EZ))


def slide(q: Any) -> sf.Transform:
    """Slide along z: a custom joint with a subspace of its own."""
    return sf.Transform.identity() @ sf.Transform(
        Matrix3(EX, EY, EZ), Vector3(q[0] * 0.0, q[0] * 0.0, q[0])
    )


JOINTS: dict[str, sf.Joint] = {
    "revolute": sf.Revolute("x"),
    "prismatic": sf.Prismatic("y"),
    "helical": sf.Helical("z", pitch=0.25),
    "cylindrical": sf.Cylindrical("y"),
    "planar": sf.Planar(),
    "universal": sf.Universal(),
    "spherical": sf.Spherical(),
    "translational": sf.Translational(),
    "free": sf.Free(),
    "custom, one freedom": sf.CustomJoint(bent_track, 1),
    "custom, two freedoms": sf.CustomJoint(pan_tilt, 2),
    "custom, with its subspace": sf.CustomJoint(slide, 1, subspace=slide_subspace),
}
"""One of each kind, with numbers that binary fractions hold exactly."""

BODY = (
    sf.Inertia.from_mass(2.0, (0.125, -0.25, 0.5), (0.5, 0.75, 0.625)),
    sf.Inertia.from_mass(1.0, (-0.25, 0.125, 0.25), (0.375, 0.25, 0.5)),
    sf.Inertia.from_mass(3.0, (0.25, 0.25, -0.125), (1.0, 0.875, 1.25)),
)
TURNED = sf.Transform(Matrix3(EY, EZ, EX), Vector3.of((0.25, 0.5, -0.125)))


def between_hinges(joint: sf.Joint) -> Model:
    """Return a tree with the joint behind one hinge and before another, and a slide beside it."""
    b = sf.ModelBuilder("between hinges", gravity=(1.0, -2.0, -9.75))
    b.add_body("a", joint=sf.Revolute("z"), inertia=BODY[0], armature=0.125)
    rotors = [0.25 + k / 8 for k in range(joint.nv)]
    b.add_body("b", parent="a", joint=joint, inertia=BODY[1], placement=TURNED, armature=rotors)
    b.add_body("c", parent="b", joint=sf.Revolute("y"), inertia=BODY[2], placement=TURNED)
    b.add_body("d", parent="a", joint=sf.Prismatic("x"), inertia=BODY[1], placement=TURNED)
    return b.build()


def alone(joint: sf.Joint) -> Model:
    """Return one body on the joint."""
    b = sf.ModelBuilder("alone", gravity=(1.0, -2.0, -9.75))
    b.add_body("b", joint=joint, inertia=BODY[1], placement=TURNED, armature=[0.25] * joint.nv)
    return b.build()


def under_a_free_base(joint: sf.Joint) -> Model:
    """Return a floating base that carries the joint."""
    b = sf.ModelBuilder("under a free base", gravity=(1.0, -2.0, -9.75))
    b.add_body("hull", joint=sf.Free(), inertia=BODY[2])
    rotors = [0.5] * joint.nv
    b.add_body("b", parent="hull", joint=joint, inertia=BODY[1], placement=TURNED, armature=rotors)
    return b.build()


MODELS: dict[str, Model] = {
    **{name: between_hinges(joint) for name, joint in JOINTS.items()},
    "floating base, universal": under_a_free_base(sf.Universal()),
    "floating base, custom": under_a_free_base(sf.CustomJoint(pan_tilt, 2)),
}


def numbers_of(model: Model, seed: int = 0) -> tuple[list[float], ...]:
    """Return increments of positions, velocities, inputs and forces as short binary fractions."""
    rng = np.random.default_rng([11, seed])
    sizes = (model.nv, model.nv, model.nv, 6 * model.nb)
    return tuple((rng.integers(-40, 40, n) / 32.0).tolist() for n in sizes)


def tables_of(model: Model, tree: Tree, dq: Any, qd: Any, x: Any, f: Any) -> tuple[Table, ...]:
    """Return the arguments of a page; positions are reached from neutral by dq."""
    q = {
        i: tree.joint[i].step(tree.joint[i].neutral(), dq[tree.velocity_slices[i]])
        for i in tree.bodies
    }
    return q, model.velocities(qd), model.velocities(x), model.wrenches(f)
