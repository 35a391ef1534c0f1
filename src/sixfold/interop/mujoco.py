"""Models from MuJoCo, and MuJoCo's own results for the states of a comparison."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.formats.mjcf import disabled_effects, mujoco_package
from sixfold.formats.mjcf_arrays import model_from_arrays, model_name, names_of
from sixfold.model import Model

Array = NDArray[np.float64]
Results = dict[str, Array]

_SWITCHED_OFF = ("CONSTRAINT", "ACTUATION", "SPRING", "DAMPER", "PASSIVE")


def from_mujoco(m: Any, name: str | None = None) -> Model:
    """Return the tree of a compiled `mujoco.MjModel`.

    The same as loading its file, but for lines and notes: what has no counterpart is left out
    without a word, as the model may have been changed since it was compiled.
    """
    mujoco = mujoco_package()
    return model_from_arrays(m, name or model_name(m), off=disabled_effects(mujoco, m))


class MuJoCo:
    """One compiled model with everything switched off that is not rigid-body dynamics."""

    name = "mujoco"
    counts_rotors = True
    """Its kinetic energy has armature in it."""

    def __init__(self, m: Any) -> None:
        """Take a copy of the model and switch off constraints, actuators and passive forces."""
        self.mujoco = mujoco_package()
        self.version = self.mujoco.__version__
        self.robot = self.m = _plain(self.mujoco, m)
        self.d = self.mujoco.MjData(self.m)
        self.passive = _with_passive(self.mujoco, self.m)
        # the world itself is nothing to compare
        self.frames = ["", *names_of(self.m).bodies[1:]]

    def results(self, q: Array, v: Array, a: Array, tau: Array) -> Results:
        """Return MuJoCo's results at one state, in its own coordinates."""
        mj, m, d = self.mujoco, self.m, self.d
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = q, v, tau
        mj.mj_forward(m, d)
        found = {"forward dynamics": d.qacc_smooth.copy(), "poses": self._poses()}
        found["bias"] = d.qfrc_bias.copy()
        found["kinetic energy"] = np.array(d.energy[1])
        found["potential energy"] = np.array(d.energy[0] - self._still_energy())
        columns = [self._column(x) for x in np.eye(m.nv)]
        found["mass matrix"] = np.reshape(columns, (m.nv, m.nv)).T
        d.qacc[:] = a
        force = np.zeros(m.nv)
        mj.mj_rne(m, d, 1, force)
        # the recursion leaves the rotors out, as mj_inverse adds them later
        found["inverse dynamics"] = force + m.dof_armature * a
        mj.mj_fwdPosition(self.passive, d)
        mj.mj_fwdVelocity(self.passive, d)
        found["springs and damping"] = -d.qfrc_passive.copy()
        return found

    def _column(self, unit: Array) -> Array:
        out = np.zeros(self.m.nv)
        self.mujoco.mj_mulM(self.m, self.d, out, unit)
        return out

    def _poses(self) -> Array:
        m, d = self.m, self.d
        T = np.zeros((m.nbody, 4, 4))
        T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = d.xmat.reshape(-1, 3, 3), d.xpos, 1.0
        return T

    def _still_energy(self) -> float:
        """Return the potential energy of bodies that never move, which Sixfold does not count."""
        m, d = self.m, self.d
        if int(m.opt.disableflags) & int(self.mujoco.mjtDisableBit.mjDSBL_GRAVITY):
            return 0.0
        moves = np.zeros(m.nbody, bool)
        for b in range(1, m.nbody):
            moves[b] = moves[m.body_parentid[b]] or m.body_dofnum[b]
        still = np.flatnonzero(~moves)
        return float(-(m.body_mass[still, None] * d.xipos[still] * m.opt.gravity).sum())

    def remarks(self) -> Iterator[str]:
        """Yield what was switched off in MuJoCo for the comparison."""
        yield "constraints (contacts, limits, equality, frictionloss) and actuators switched off"


def _plain(mujoco: Any, m: Any) -> Any:
    """Return a copy with only rigid-body dynamics, gravity and rotors."""
    plain = copy.copy(m)
    bits = mujoco.mjtDisableBit
    for name in _SWITCHED_OFF:
        plain.opt.disableflags |= int(getattr(bits, f"mjDSBL_{name}", 0))
    plain.opt.enableflags = int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    plain.opt.density = plain.opt.viscosity = 0.0
    plain.body_gravcomp[:] = 0.0
    for name in ("tendon_armature", "actuator_armature", "jnt_stiffnesspoly", "dof_dampingpoly"):
        if hasattr(plain, name):
            getattr(plain, name)[:] = 0.0
    return plain


def _with_passive(mujoco: Any, plain: Any) -> Any:
    """Return a copy with springs and dampers of joints, and no other passive force."""
    passive = copy.copy(plain)
    bits = mujoco.mjtDisableBit
    for name in ("SPRING", "DAMPER", "PASSIVE"):
        passive.opt.disableflags &= ~int(getattr(bits, f"mjDSBL_{name}", 0))
    for name in ("tendon_stiffness", "tendon_damping", "tendon_dampingpoly", "actuator_damping"):
        if hasattr(passive, name):
            getattr(passive, name)[:] = 0.0
    return passive
