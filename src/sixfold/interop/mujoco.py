"""Models to and from MuJoCo, and its own results for the states of a comparison."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NotApplicableError
from sixfold.formats.files import read
from sixfold.formats.mjcf import collect_warnings, disabled_effects, mujoco_package
from sixfold.formats.mjcf_arrays import model_from_arrays, model_name, names_of
from sixfold.formats.xml import Element, parse
from sixfold.interop.model_parts import floats, refusal, rotational_inertia, split_loop
from sixfold.model import (
    Body,
    Cylindrical,
    Free,
    Gear,
    Joint,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.model.validate import check_name
from sixfold.runtime import require_model
from sixfold.spatial import Inertia, Transform
from sixfold.spatial.rotations import matrices_to_quaternions

Results = dict[str, Array]

_SWITCHED_OFF = ("CONSTRAINT", "ACTUATION", "SPRING", "DAMPER", "PASSIVE")


def from_mujoco(m: Any, name: str | None = None) -> Model:
    """Return the tree of a compiled `mujoco.MjModel`.

    The result equals that of `sixfold.load` on its file, without line numbers and notes.  Elements
    without a counterpart are skipped silently, because the model may have been changed since it
    was compiled.

    Args:
        m: the `mujoco.MjModel`.
        name: name of the model; by default MuJoCo's.

    Returns:
        The robot as a `Model`.

    Raises:
        NotApplicableError: if MuJoCo is not installed.
        ArgumentError: if `m` is not a `mujoco.MjModel`.

    Example:
        >>> import mujoco, sixfold as sf
        >>> robot = "<mujoco><worldbody><body name='rod'><joint name='hinge' axis='0 1 0'/>"
        >>> robot += "<geom size='0.1 0.5' type='capsule' mass='1'/></body></worldbody></mujoco>"
        >>> sf.interop.from_mujoco(mujoco.MjModel.from_xml_string(robot), "pendulum")
        <Model 'pendulum': nb=1, nq=1, nv=1, 1 kg>
    """
    mujoco = mujoco_package()
    if not isinstance(m, mujoco.MjModel):
        where, fix = "from_mujoco: argument 'm'", "compile one with mujoco.MjModel.from_xml_path"
        raise ArgumentError(where, "a mujoco.MjModel", m, fix)
    if name is not None:
        check_name("from_mujoco: argument 'name'", name)
    return model_from_arrays(m, name or model_name(m), off=disabled_effects(mujoco, m))


class MuJoCo:
    """One compiled model with everything switched off that is not rigid-body dynamics."""

    name = "mujoco"
    counts_rotors = True  #: Its kinetic energy has armature in it.

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
        # a body moves if its joint or its parent does
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


X, Y, Z = np.eye(3)
HINGE, SLIDE = "mjJNT_HINGE", "mjJNT_SLIDE"


def to_mujoco(model: Model) -> Any:
    """Return the robot as a `mujoco.MjModel` without shapes.

    Joints with several degrees of freedom become several joints of MuJoCo: `name.0`, `name.1`...
    Damping, dry friction, springs, armature and limits go with them.  Joints that follow others
    become free.  Points, hinges (two points on the axis), welds and gears with one leader become
    equality constraints, which are soft there (`solref`, `solimp` of MuJoCo's defaults).

    Args:
        model: the robot.

    Returns:
        A compiled `mujoco.MjModel`.

    Raises:
        NotApplicableError: if MuJoCo is not installed, if it has no counterpart (helical and
            user-defined joints, free joints that do not start at the world, other constraints), or
            if it refuses the model; its message is quoted.
        ArgumentError: if `model` is not a `Model`.

    Example:
        >>> import sixfold as sf
        >>> robot = sf.load("quadruped")
        >>> there = sf.interop.to_mujoco(robot)
        >>> (there.nq, there.nv) == (robot.nq, robot.nv)
        True
        >>> back = sf.interop.from_mujoco(there)
        >>> back.joint_names == robot.joint_names
        True
    """
    mujoco = mujoco_package()
    require_model("to_mujoco", model)
    spec, bodies = robot_spec(mujoco, model)
    add_equalities(mujoco, spec, model, bodies)
    return compile_spec(mujoco, spec, model)


def robot_spec(mujoco: Any, model: Model) -> tuple[Any, list[Any]]:
    """Return the robot as a `mujoco.MjSpec`, and its bodies there."""
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.option.gravity = list(model.gravity)
    spec.compiler.degree = False
    bodies: list[Any] = []
    for body in model.bodies:
        parent = spec.worldbody if body.parent < 0 else bodies[body.parent]
        bodies.append(_add_body(mujoco, parent, body))
    for frame in model.frames:
        carrier = spec.worldbody if frame.body < 0 else bodies[frame.body]
        position, wxyz = _pose(frame.placement)
        carrier.add_site(name=frame.name, pos=position, quat=wxyz)
    return spec, bodies


def compile_spec(mujoco: Any, spec: Any, model: Model) -> Any:
    """Return the `mujoco.MjModel` of what `robot_spec` made.

    Raises:
        NotApplicableError: if MuJoCo refuses it, with its words.
    """
    with _quote_refusal(mujoco, "to_mujoco", f"model '{model.name}'"):
        compiled = spec.compile()
    _set_rests(compiled, model)
    return compiled


@contextmanager
def _quote_refusal(mujoco: Any, where: str, what: str) -> Iterator[None]:
    """Raise what MuJoCo refuses as an error of the library; warnings are dropped."""
    try:
        with collect_warnings(mujoco, []):
            yield
    except ValueError as error:
        words = " ".join(str(error).split())
        fix = "change this in the model or its file; Sixfold alone may accept it"
        raise NotApplicableError(where, f"{what}: MuJoCo says: {words}", fix) from None


def _add_body(mujoco: Any, parent: Any, body: Body) -> Any:
    position, wxyz = _pose(body.placement)
    added = parent.add_body(name=body.name, pos=position, quat=wxyz)
    if isinstance(body.joint, Free):
        _check_free(body)
    _set_inertia(added, body.inertia)
    # several joints of MuJoCo where one has several degrees of freedom
    parts = _parts(body.joint, body.joint_name)
    for i, (kind, axis) in enumerate(parts):
        label = body.joint_name if len(parts) == 1 else f"{body.joint_name}.{i}"
        joint = added.add_joint(name=label, type=getattr(mujoco.mjtJoint, kind))
        joint.frictionloss = _level(body, "friction", i, len(parts))
        joint.armature = _level(body, "armature", i, len(parts))
        for effect in ("damping", "stiffness"):
            _assign(joint, effect, _level(body, effect, i, len(parts)))
        if kind in (HINGE, SLIDE):
            joint.axis, joint.springref = axis, body.rest[i]
            if np.isfinite(body.lower[i]) and np.isfinite(body.upper[i]):
                joint.range = [body.lower[i], body.upper[i]]
    return added


def _assign(joint: Any, name: str, number: float) -> None:
    """Write a number that newer versions keep with its nonlinear terms."""
    if np.ndim(getattr(joint, name)):
        getattr(joint, name)[0] = number
    else:
        setattr(joint, name, number)


def _parts(joint: Joint, name: str) -> list[tuple[str, Any]]:
    """Return the joints of MuJoCo that make one joint."""
    match joint:
        case Revolute():
            return [(HINGE, floats(joint.axis))]
        case Prismatic():
            return [(SLIDE, floats(joint.axis))]
        case Cylindrical():
            return [(HINGE, floats(joint.axis)), (SLIDE, floats(joint.axis))]
        case Planar():
            return [(SLIDE, X), (SLIDE, Y), (HINGE, Z)]
        case Universal():
            return [(HINGE, X), (HINGE, Y)]
        case Translational():
            return [(SLIDE, X), (SLIDE, Y), (SLIDE, Z)]
        case Spherical():
            return [("mjJNT_BALL", None)]
        case Free():
            return [("mjJNT_FREE", None)]
        case _:
            raise NotApplicableError(
                "to_mujoco", f"joint '{name}' of kind {joint.kind}", "lock the joint first"
            )


#: Options of `Model.without` that remove an effect.
_EFFECTS = {
    "armature": "armature",
    "damping": "damping",
    "friction": "friction",
    "stiffness": "springs",
}


def _level(body: Body, effect: str, i: int, parts: int) -> float:
    """Return one number of what a joint does by itself."""
    numbers = getattr(body, effect)
    if parts > 1 or len(numbers) == 1:
        return float(numbers[i])
    if len(set(numbers)) > 1:
        raise NotApplicableError(
            "to_mujoco",
            f"joint '{body.joint_name}', whose {effect} differs by axis",
            f"use model.without({_EFFECTS[effect]}=True)",
        )
    return float(numbers[0])


def _check_free(body: Body) -> None:
    identity = body.placement == Transform.identity()
    if body.parent >= 0 or not identity:
        where = f"free joint '{body.joint_name}', which does not start at the world's origin"
        raise NotApplicableError("to_mujoco", where, "place the joint at the world's origin")
    # along the body's axes here, along the world's there
    for effect in ("armature", "stiffness", "friction"):
        if any(getattr(body, effect)):
            where = f"free joint '{body.joint_name}' with {effect}"
            raise NotApplicableError(
                "to_mujoco", where, f"use model.without({_EFFECTS[effect]}=True)"
            )


def _set_inertia(body: Any, inertia: Inertia) -> None:
    """Write mass, centre and principal moments; MuJoCo's own diagonalisation has fewer digits."""
    matrix = rotational_inertia(inertia)
    moments, axes = np.linalg.eigh(matrix)
    if not any(matrix[np.triu_indices(3, 1)]):  # already along the axes of the body
        moments, axes = np.diag(matrix), np.eye(3)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    body.mass = float(inertia.m)
    body.ipos = [float(x) for x in inertia.center]
    body.inertia = moments
    body.iquat = np.roll(matrices_to_quaternions(axes), 1)
    body.explicitinertial = True


def _set_rests(compiled: Any, model: Model) -> None:
    """Write the rest positions of ball springs, which a file cannot name."""
    for body in model.bodies:
        if isinstance(body.joint, Spherical) and any(body.stiffness):
            start = int(compiled.joint(body.joint_name).qposadr[0])
            rest = np.array(body.rest)
            compiled.qpos_spring[start : start + 4] = np.roll(rest / np.linalg.norm(rest), 1)


def _pose(X: Transform) -> tuple[Any, Any]:
    return [float(x) for x in X.r], np.roll(matrices_to_quaternions(floats(X.E.T)), 1)


# -- files as MuJoCo reads them


def mujoco_from_mjcf(path: Path) -> Any:
    """Return the robot of an MJCF file as MuJoCo reads it, all of it.

    Raises:
        NotApplicableError: if MuJoCo refuses the file, with its words.
    """
    mujoco = mujoco_package()
    with _quote_refusal(mujoco, "compare_with", f"file '{path}'"):
        return mujoco.MjModel.from_xml_path(str(path))


def mujoco_from_urdf(path: Path, floating_base: str | None = None) -> Any:
    """Return the robot of a URDF file as MuJoCo's own reader understands it, without shapes.

    Shapes and meshes are taken out of a copy in memory; links keep their own inertias.  A link
    called "world", which MuJoCo would take for its own, gets another name.

    Args:
        path: the file.
        floating_base: name of a free joint for the root link, if it is to have one.

    Raises:
        NotApplicableError: if MuJoCo refuses the file, with its words.
    """
    mujoco = mujoco_package()
    root = parse(read(path), str(path))
    text = _without_shapes(root)
    with _quote_refusal(mujoco, "compare_with", f"file '{path}'"):
        spec = mujoco.MjSpec.from_string(text)
        if floating_base is not None:
            root_body = spec.worldbody.first_body()
            root_body.add_joint(name=floating_base, type=mujoco.mjtJoint.mjJNT_FREE)
        return spec.compile()


def _without_shapes(root: Element) -> str:
    """Return a URDF as text, without shapes and extensions, its static links kept apart."""
    keep = '<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco>'
    lines: list[str] = []
    # depth first with a stack: files may nest deeply
    todo: list[Element | str] = [root]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        if item.tag in ("visual", "collision", "gazebo", "transmission", "mujoco", "material"):
            continue
        given = dict(item.attributes)
        for key in ("name", "link"):
            if item.tag in ("link", "parent", "child") and given.get(key) == "world":
                given[key] = "urdf_world"
        text = "".join(f" {name}={quoteattr(value)}" for name, value in given.items())
        lines.append(f"<{item.tag}{text}>")
        if item is root:
            lines.append(keep)
        todo.append(f"</{item.tag}>")
        todo.extend(reversed(item.children))
    return "\n".join(lines)


MAX_POWER = 4  #: Highest power of MuJoCo's equality between joints.


def add_equalities(mujoco: Any, spec: Any, model: Model, bodies: list[Any]) -> None:
    """Add equality constraints to a specification, between sites of their own."""
    taken = {frame.name for frame in model.frames}
    for each in model.constraints:
        if isinstance(each, Gear):
            _add_gear(mujoco, spec, model, each)
            continue
        for pair in split_loop("to_mujoco", each):
            kind = mujoco.mjtEq.mjEQ_WELD if pair.weld else mujoco.mjtEq.mjEQ_CONNECT
            added = spec.add_equality(name=pair.name, type=kind)
            added.objtype = mujoco.mjtObj.mjOBJ_SITE
            ends = (pair.body_a, pair.at_a), (pair.body_b, pair.at_b)
            added.name1, added.name2 = (
                _site(spec, bodies, body, X, _fresh(f"{pair.name}.{side}", taken))
                for side, (body, X) in zip("ab", ends, strict=True)
            )


def _site(spec: Any, bodies: list[Any], body: int, X: Transform, name: str) -> str:
    carrier = spec.worldbody if body < 0 else bodies[body]
    position, wxyz = _pose(X)
    carrier.add_site(name=name, pos=position, quat=wxyz)
    return name


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _add_gear(mujoco: Any, spec: Any, model: Model, gear: Gear) -> None:
    if len(gear.terms) > 1:
        raise refusal("to_mujoco", gear, "MuJoCo's follow one joint at most")
    powers = gear.terms[0][1] if gear.terms else ()
    if any(powers[MAX_POWER:]):
        raise refusal("to_mujoco", gear, f"MuJoCo's polynomials end at power {MAX_POWER}")
    added = spec.add_equality(name=gear.name, type=mujoco.mjtEq.mjEQ_JOINT)
    added.objtype = mujoco.mjtObj.mjOBJ_JOINT
    added.name1 = model.joint_names[gear.follower]
    if gear.terms:
        added.name2 = model.joint_names[gear.terms[0][0]]
    # q_follower = offset + sum of powers of the leader
    numbers = [gear.offset, *powers[:MAX_POWER]]
    data = np.zeros(len(added.data))
    data[: len(numbers)] = numbers
    added.data = data
