"""The letters of the sources, each with its meaning and its value for a model at a state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sixfold import quantities as sf
from sixfold.arrays import Array
from sixfold.dynamics.energy import composite_inertias
from sixfold.errors import NotApplicableError
from sixfold.model import Model
from sixfold.operators import Operators, influence_operators
from sixfold.spatial import to_array


@dataclass(frozen=True, eq=False)
class State:
    """A model at a state, and what the letters are made of."""

    model: Model
    q: Any = None  #: Arrays, or None.
    v: Any = None
    a: Any = None

    @cached_property
    def rigid(self) -> Model:
        """The tree without passive forces, as the sources have it."""
        return self.model.without(damping=True, friction=True, springs=True, constraints=True)

    @cached_property
    def in_bodies(self) -> Operators:
        """Influence operators in the axes of the bodies; gravity accelerates the base."""
        return influence_operators(self.rigid, self.q, self.v)

    @cached_property
    def operators(self) -> Operators:
        """Influence operators in the source's axes, in those of the bodies for other joints."""
        try:
            return influence_operators(self.rigid, self.q, self.v, axes="inertial")
        except NotApplicableError:
            return self.in_bodies

    def composite_inertias(self) -> Array:
        """Return I_i^c of each body, in its axes."""
        tree = self.model.tree
        Ic = composite_inertias(tree, self.model.positions(self.q.tolist()))
        return np.array([to_array(Ic[i].matrix()) for i in tree.bodies], float)

    def inertias(self) -> Array:
        """Return I_i of each body."""
        return np.array([to_array(body.inertia.matrix()) for body in self.model.bodies], float)

    def sets(self, members: Callable[[int], Any]) -> dict[int, Any]:
        """Return a set of numbers for each body."""
        return {i: members(i) for i in self.model.tree.bodies}


class Letter(NamedTuple):
    """What a letter means, the arguments that it needs and its value at a state."""

    meaning: str
    needs: str  #: Letters of the arguments: "", "q", "qv" or "qva".
    value: Callable[[State], Any]


def _operator(name: str, meaning: str, axes: str = "operators") -> Letter:
    return Letter(meaning, "q", lambda s: getattr(getattr(s, axes), name).dense())


def _net_forces(s: State) -> Array:
    """Return f_B = f_J less the forces handed to the children."""
    op = s.in_bodies
    return np.asarray((op.e - op.Phi).T @ op.interbody_forces(s.a))


GIVEN = {
    "q": Letter("positions", "q", lambda s: s.q),
    "q-dot": Letter("joint velocities", "qv", lambda s: s.v),
    "q-ddot": Letter("joint accelerations", "qva", lambda s: s.a),
    "τ": Letter("joint forces", "qva", lambda s: sf.inverse_dynamics(s.rigid, s.q, s.v, s.a)),
}
MATRICES = {
    "H": Letter("joint-space inertia matrix", "q", lambda s: sf.mass_matrix(s.model, s.q)),
    "C": Letter("bias force", "qv", lambda s: sf.bias_force(s.rigid, s.q, s.v)),
    "T": Letter("kinetic energy [J]", "qv", lambda s: sf.kinetic_energy(s.model, s.q, s.v)),
}
SETS = {
    "λ": Letter("parent of each body, 0 the base", "", lambda s: s.model.tree.parent[1:]),
    "κ": Letter("joints below each body", "", lambda s: s.sets(s.model.tree.support)),
    "ν": Letter("bodies on each joint", "", lambda s: s.sets(s.model.tree.subtree)),  # noqa: RUF001
    "μ": Letter("children of each body", "", lambda s: s.sets(s.model.tree.children)),
}
BODIES = {
    "I_i": Letter("inertia of each body", "", State.inertias),
    "I_i^c": Letter("composite inertia of each body, in its axes", "q", State.composite_inertias),
    "s_i": _operator("G", "joint axes in body axes, block diagonal", "in_bodies"),
    "i_X_λ": _operator("D", "transforms from parents, 0 from the base", "in_bodies"),
    "v_i": Letter(
        "velocities", "qv", lambda s: sf.body_velocities(s.model, s.q, s.v, frame="body")
    ),
    "a_i": Letter("accelerations less gravity", "qva", lambda s: s.in_bodies.accelerations(s.a)),
    "a_g": Letter("free fall", "", lambda s: np.array(to_array(s.model.tree.gravity), float)),
    "f_Bi": Letter("net forces on the bodies", "qva", _net_forces),
    "f_Ji": Letter("forces of parents", "qva", lambda s: s.in_bodies.interbody_forces(s.a)),
}
FEATHERSTONE = GIVEN | MATRICES | SETS | BODIES
CONCURRENT = {
    "Φ_D": _operator("Phi", "influence of the shifts D"),
    "Ψ_D": _operator("Psi", "(e - Φ_D)^-1"),
    "Ψ_β": _operator("Psi_beta", "(e - Φ_β)^-1"),
    "D": _operator("D", "shifts from the parents' joints"),
    "β": _operator("beta", "shifts that the joints yield to"),
    "G": _operator("G", "joint maps"),
    "M_i": _operator("M", "mass matrices of the bodies"),
    "J": _operator("J", "branch inertias"),
    "K": _operator("K", "gains J G R^-1"),
    "R": _operator("R", "G^T J G"),
    "A": Letter("accelerations without q-ddot", "qv", lambda s: s.operators.A),
    "B": Letter("nonlinear forces", "qv", lambda s: s.operators.B),
    "Y^T F-bar": Letter("external forces at the joints", "q", lambda s: s.operators.YF),
    "C": Letter("bias force", "qv", lambda s: s.operators.C),
    "M": Letter("system mass matrix", "q", lambda s: s.operators.mass_matrix()),
    "v-dot": Letter("accelerations", "qva", lambda s: s.operators.accelerations(s.a)),
    "F": Letter("forces through the joints", "qva", lambda s: s.operators.interbody_forces(s.a)),
    "f": Letter("net joint forces", "qva", lambda s: s.operators.joint_forces(s.a)),
}
KHATIB = {
    "M": MATRICES["H"]._replace(meaning="mass matrix"),
    "V": Letter("velocity forces", "qv", lambda s: sf.coriolis_matrix(s.model, s.q, s.v) @ s.v),
    "G": Letter("gravity forces", "q", lambda s: sf.gravity_force(s.model, s.q)),
    "K": MATRICES["T"],
    "U": Letter("potential energy [J]", "q", lambda s: sf.potential_energy(s.model, s.q)),
}
LETTERS: dict[str, dict[str, Letter]] = {
    "Featherstone": FEATHERSTONE,
    "Carius": FEATHERSTONE | {"S_i": BODIES["s_i"], "f_i^net": BODIES["f_Bi"]},
    "Concurrent Dynamics": GIVEN | CONCURRENT,
    "Khatib": GIVEN | KHATIB,
    "Planar skeleton": GIVEN | {"H": MATRICES["H"], "b": MATRICES["C"]},
}
