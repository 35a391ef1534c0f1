"""The same robot in another library: worst differences of its results from Sixfold's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.choices import Backend, Library
from sixfold.dynamics.passive import passive_forces
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    SingularPivotWarning,
    StateError,
    UnknownNameError,
    one_of,
    visible,
    yes_or_no,
)
from sixfold.formats import load
from sixfold.formats.files import is_json, read
from sixfold.formats.xml import parse
from sixfold.interop.coordinates import LIBRARIES, Converter, convert
from sixfold.interop.mujoco import MuJoCo, mujoco_from_mjcf, mujoco_from_urdf, to_mujoco
from sixfold.interop.pinocchio import Pinocchio, pinocchio_package, to_pinocchio
from sixfold.loops import assemble
from sixfold.model import Model
from sixfold.quantities import (
    bias_force,
    body_poses,
    constraint_jacobian,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    project,
    random_state,
)
from sixfold.runtime import BACKENDS, singular_joints
from sixfold.show import block, plain, table
from sixfold.spatial import Transform

TOLERANCE = 1e-12
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Difference:
    """The worst difference of one quantity over all states, relative to its size."""

    quantity: str  #: Such as "mass matrix".
    worst: float  #: The worst difference, relative to the size of the quantity; no units.
    #: What is allowed at the state where the difference is worst for its tolerance; no units.
    tolerance: float
    state: int  #: Number of that state among the random ones, from 0.
    numpy: Difference | None = None  #: The same for the NumPy backend, next to the default call.

    @property
    def agrees(self) -> bool:
        """True when the difference is within its tolerance, by NumPy too."""
        return self.worst <= self.tolerance and (self.numpy is None or self.numpy.agrees)


def differences(
    model: Model, engine: Any, samples: int, seed: int, backend: Backend | None = None
) -> tuple[Difference, ...]:
    """Return the worst differences of a model's results from an engine's.

    Both the default call and the NumPy backend are compared, unless a backend is named.
    """
    # random states, and forces as large as those that act anyway
    c = convert(model, engine.robot)
    rng = np.random.default_rng(seed)
    q, v = random_state(model, samples, seed=rng)
    a, push = rng.standard_normal((2, samples, model.nv))
    bare = model.without(damping=True, friction=True, springs=True)
    tau = push * strength(bare, q, v)
    # the other library is asked once, Sixfold by each backend
    there: dict[str, Array] = {}
    found = []
    for each in (None, "numpy") if backend is None else (backend,):
        here = _ours(model, engine, q, v, a, tau, each)
        there = there or _theirs(engine, c, q, v, a, tau, solve="forward dynamics" in here)
        found.append(
            [
                _difference(quantity, ours, there[quantity], bare, q, here)
                for quantity, ours in here.items()
                if quantity in there and ours.size
            ]
        )
    first, *others = found
    if not others:
        return tuple(first)
    return tuple(replace(d, numpy=n) for d, n in zip(first, others[0], strict=True))


def strength(model: Model, q: Array, v: Array) -> Array:
    """Return forces as large as gravity and speed make them, for joints of the same inertia.

    Weaker ones would only show how well large forces cancel.
    """
    # sqrt(M_ii) times the same number gives joints of any inertia the same weight
    weight = np.sqrt(np.einsum("...ii->...i", mass_matrix(model, q, backend="numpy")))
    with np.errstate(all="ignore"):
        bias = np.where(weight > 0, np.abs(bias_force(model, q, v, backend="numpy")) / weight, 0.0)
    strength: Array = weight * np.maximum(1.0, bias.max(-1, initial=0.0))[..., None]
    return strength


def _ours(
    model: Model, engine: Any, q: Array, v: Array, a: Array, tau: Array, backend: Backend | None
) -> dict[str, Array]:
    """Return Sixfold's results for each state; the default call takes nothing but the arrays."""
    options: dict[str, Any] = {} if backend is None else {"backend": backend}
    # engines have no damping, friction and springs in these results
    bare = model.without(damping=True, friction=True, springs=True)
    moving = bare if engine.counts_rotors else bare.without(armature=True)
    here = {"inverse dynamics": inverse_dynamics(bare, q, v, a, **options)}
    if not singular_joints(bare):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularPivotWarning)
            here["forward dynamics"] = forward_dynamics(bare, q, v, tau, **options)
    return here | {
        "mass matrix": mass_matrix(bare, q, **options),
        "kinetic energy": kinetic_energy(moving, q, v, **options),
        "potential energy": potential_energy(bare, q, **options),
        "poses": _poses(model, engine.frames, q, options),
        "springs and damping": _passive(model, q, v),
    }


def _poses(model: Model, names: Iterable[str], q: Array, options: dict[str, Any]) -> Array:
    """Return world-from-frame matrices of those frames that the model has."""
    # frames by name, bodies as frames at their own origin
    places = {frame.name: (frame.body, frame.placement) for frame in model.frames}
    places |= {name: (k, Transform.identity()) for k, name in enumerate(model.body_names)}
    bodies = body_poses(model, q, **options)
    found = []
    for k, X in (places[name] for name in names if name in places):
        inside = np.array(X.pose(), float)
        found.append(bodies[:, k] @ inside if k >= 0 else np.broadcast_to(inside, (len(q), 4, 4)))
    return np.stack(found, 1) if found else np.zeros((len(q), 0, 4, 4))


def _passive(model: Model, q: Array, v: Array) -> Array:
    """Return the joint forces of springs and damping alone."""
    tree = model.without(friction=True).tree
    columns = model.positions(list(q.T)), model.velocities(list(v.T))
    forces = model.gather(passive_forces(tree, *columns))
    out = np.zeros((len(q), model.nv))
    for k, force in enumerate(forces):
        out[:, k] = np.asarray(force, float)
    return out


def _theirs(
    engine: Any, c: Converter, q: Array, v: Array, a: Array, tau: Array, *, solve: bool
) -> dict[str, Array]:
    """Return the other library's results for each state, in Sixfold's coordinates."""
    # one state after the other, then back to Sixfold's coordinates
    at, speed = c.q_to(q), c.v_to(q, v)
    states = zip(at, speed, c.a_to(q, v, a), c.tau_to(q, tau), strict=True)
    rows = [engine.results(*state) for state in states]
    there = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    M, bias = there["mass matrix"], there.pop("bias")
    for key in {"inverse dynamics", "springs and damping"} & there.keys():
        there[key] = c.tau_from(at, there[key])
    there["mass matrix"] = c.mass_matrix_from(at, M)
    # joints that follow others are free there: solve the reduced equations instead
    if c.model.couplings and solve:
        there["forward dynamics"] = c.solve_from(q, v, M, bias, tau)
    else:
        there["forward dynamics"] = c.a_from(at, speed, there["forward dynamics"])
    known = {*c.model.frame_names, *c.model.body_names}
    there["poses"] = there["poses"][:, [name in known for name in engine.frames]]
    return there


def _difference(
    quantity: str, ours: Array, theirs: Array, bare: Model, q: Array, here: dict[str, Array]
) -> Difference:
    axes = tuple(range(1, ours.ndim))
    if quantity == "forward dynamics":
        # metres and radians, heavy and light joints count alike: weigh by the root of M's diagonal
        weight = np.sqrt(np.einsum("...ii->...i", here["mass matrix"]))
        ours, theirs = ours * weight, theirs * weight
    # largest difference, relative to the largest element of the state
    error = np.abs(ours - theirs).max(axes)
    size = np.maximum(np.abs(theirs), np.abs(ours)).max(axes)
    if quantity == "potential energy":
        size = np.maximum(size, _potential_size(bare, q))
    with np.errstate(all="ignore"):
        relative = np.where(error == 0, 0.0, error / size)
    allowed = np.full(len(relative), TOLERANCE)
    if quantity == "forward dynamics":
        # states where a joint has no inertia behind it have no acceleration
        relative = np.where(np.isnan(ours).any(-1), 0.0, relative)
        allowed = 100 * EPS * _condition(here["mass matrix"])
    state = int(np.argmax(relative / allowed))
    return Difference(quantity, float(relative[state]), float(allowed[state]), state)


def _condition(M: Array) -> Array:
    """Return the condition number of the mass matrix scaled to a unit diagonal."""
    scale = 1 / np.sqrt(np.einsum("...ii->...i", M))
    condition: Array = np.linalg.cond(M * scale[..., :, None] * scale[..., None, :])
    return condition


def _potential_size(model: Model, q: Array) -> Array:
    """Return the sum of the bodies' potential energies without their signs."""
    poses = body_poses(model, q, backend="numpy")
    total: Array = np.zeros(len(q))
    for k, body in enumerate(model.bodies):
        h = np.array([float(x) for x in body.inertia.h])
        moment = poses[:, k, :3, :3] @ h + float(body.inertia.m) * poses[:, k, :3, 3]
        total += np.abs(moment * model.gravity).sum(-1)
    return total


#: Of accelerations, relative to the largest, weighed by the roots of M's diagonal.
CONSTRAINED_TOLERANCE = 1e-9
#: Sizes of steps from an assembled configuration [rad or m]; the first from which all close.
SPREADS = (0.5, 0.1, 0.0)
QUANTITY = "constrained dynamics"


def constrained_difference(
    model: Model, engine: Any, c: Converter, samples: int, seed: int, backend: Backend | None
) -> tuple[Difference | None, str]:
    """Return the worst difference of constrained accelerations, or why it is missing."""
    several = len(model.constraints) > 1
    count = f"{len(model.constraints)} constraint{'s' * several}"
    tree = f"the tree without {'them' if several else 'it'} is compared"
    if not hasattr(engine, "constrained_dynamics"):
        return None, f"{count}: soft in {engine.name}, {tree}"
    if model.couplings:
        return None, f"{count}: coupled joints are free in {engine.name}, {tree}"
    try:
        solve = engine.constrained_dynamics(model)
        q, v, tau = _closed_states(model, samples, seed)
    except (NotApplicableError, StateError) as error:
        reason = str(error).partition("\n")[0]
        return None, f"{count}: {reason}; {tree}"
    at, speed, push = c.q_to(q), c.v_to(q, v), c.tau_to(q, tau)
    there = np.array([solve(*state) for state in zip(at, speed, push, strict=True)])
    theirs = c.a_from(at, speed, there)
    first, *others = (
        _worst_acceleration(model, _constrained_accelerations(model, q, v, tau, each), theirs, q)
        for each in ((None, "numpy") if backend is None else (backend,))
    )
    if others:
        first = replace(first, numpy=others[0])
    return first, f"{count}: left out of all but {QUANTITY}, at states that satisfy them"


def _closed_states(model: Model, samples: int, seed: int) -> tuple[Array, Array, Array]:
    """Return random states that satisfy the constraints, and joint forces."""
    rng = np.random.default_rng(seed)
    # a step along the constraints from an assembled configuration, then back onto them
    start = assemble(model)
    _, v = random_state(model, samples, seed=rng)
    step, push = rng.standard_normal((2, samples, model.nv))
    _, s, Vt = np.linalg.svd(constraint_jacobian(model, start))
    free = Vt[int((s > 1e-9 * s.max(initial=1e-300)).sum()) :]
    along = step @ free.T @ free
    for spread in SPREADS:
        try:
            q = assemble(model, integrate(model, start, spread * along))
            break
        except StateError:
            if not spread:
                raise
    q, v = project(model, q, v)
    return q, v, push * strength(_bare(model), q, v)


def _bare(model: Model) -> Model:
    return model.without(damping=True, friction=True, springs=True)


def _constrained_accelerations(
    model: Model, q: Array, v: Array, tau: Array, backend: Backend | None
) -> Array:
    options: dict[str, Any] = {} if backend is None else {"backend": backend}
    return np.asarray(forward_dynamics(_bare(model), q, v, tau, **options))


def _worst_acceleration(model: Model, ours: Array, theirs: Array, q: Array) -> Difference:
    weight = np.sqrt(np.einsum("...ii->...i", mass_matrix(model, q, backend="numpy")))
    error = np.abs((ours - theirs) * weight).max(-1)
    size = np.maximum(np.abs(ours * weight), np.abs(theirs * weight)).max(-1)
    with np.errstate(all="ignore"):
        relative = np.where(error == 0, 0.0, error / size)
    state = int(np.argmax(relative))
    return Difference(QUANTITY, float(relative[state]), CONSTRAINED_TOLERANCE, state)


@dataclass(frozen=True)
class Comparison:
    """A robot in two libraries; print it for a table."""

    robot: str  #: Name of the robot.
    library: str  #: Either "pinocchio" or "mujoco".
    version: str  #: Version of that library.
    samples: int  #: Number of random states.
    seed: int  #: Seed of the states.
    differences: tuple[Difference, ...]  #: The worst difference of each quantity.
    #: What the other library does not have, and was switched off here for the comparison.
    left_out: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """True when every quantity agrees."""
        return all(difference.agrees for difference in self.differences)

    def worst(self, quantity: str) -> float:
        """Return the worst difference of one quantity."""
        found = {d.quantity: d.worst for d in self.differences}
        if not isinstance(quantity, str) or quantity not in found:
            raise UnknownNameError("quantity", quantity, found, where="Comparison.worst")
        return found[quantity]

    def __repr__(self) -> str:
        """Say it in a line; print it for a table."""
        verdict = "agrees" if self.agrees else "DIFFERS"
        worst = max((d.worst for d in self.differences), default=0.0)
        robot = f"'{visible(self.robot)}' with {self.library} {self.version}"
        return f"<comparison of {robot}: {verdict}, worst difference {worst:.1e}>"

    def _repr_html_(self) -> str:
        """Return a table, for notebooks."""
        rows = [
            (
                d.quantity,
                f"{d.worst:.1e}",
                f"{d.tolerance:.1e}",
                f"{d.numpy.worst:.1e}" if d.numpy else "",
                "" if d.agrees else f"differs at state {d.state}",
            )
            for d in self.differences
        ]
        notes = "".join(f"<p>{plain(text)}</p>" for text in self.left_out)
        head = ("quantity", "worst", "allowed", "by NumPy", "")
        return block(table(head, rows, repr(self)[1:-1]), notes)

    def __str__(self) -> str:
        """Return the table."""
        name, samples = visible(self.robot), f"{self.samples} random states"
        head = f"{name} with {self.library} {self.version}: {samples}"
        by_numpy = any(d.numpy for d in self.differences)
        title = f"{'quantity':<22} {'worst':>9} {'allowed':>9}"
        lines = [head, "", f"{title} {'by NumPy':>9}" if by_numpy else title]
        for d in self.differences:
            numpy = f" {d.numpy.worst:>9.1e}" if d.numpy else ""
            mark = "" if d.agrees else f"   differs (state {d.state})"
            lines.append(f"{d.quantity:<22} {d.worst:>9.1e} {d.tolerance:>9.1e}{numpy}{mark}")
        lines += ["", *(f"- {text}" for text in self.left_out)] if self.left_out else []
        return "\n".join(lines)


def compare_with(
    library: Library,
    robot: Model | str | os.PathLike[str],
    *,
    samples: int = 100,
    seed: int = 0,
    floating_base: bool = False,
    package_dirs: Iterable[str | os.PathLike[str]] = (),
    backend: Backend | None = None,
) -> Comparison:
    """Compare the dynamics of a robot with another library's, over random states.

    A file is read by both libraries, each with its own reader; Pinocchio gets MJCF files, and both
    get models, from Sixfold.  Damping, friction and springs are switched off here, and constraints,
    actuators and passive forces there; MuJoCo's springs and dampers are compared on their own.
    Constraints of the model are set aside as well; with Pinocchio the constrained accelerations are
    compared on their own, if all constraints are points, hinges or welds.

    Args:
        library: "pinocchio" or "mujoco"; it has to be installed.
        robot: a model, a file, or a name that `sixfold.load` knows.
        samples: number of random states.
        seed: same seed, same states.
        floating_base: as in `sixfold.load`, for files.
        package_dirs: as in `sixfold.load`, for files.
        backend: one backend to compare; by default both the default call, which is what users run,
            and NumPy.  "numpy" alone needs no compilation.

    Returns:
        A `Comparison` with the worst differences, no units: of the largest element, relative to
        the largest element of that state.  The potential energy is taken relative to the sum of its
        parts' sizes, accelerations are weighed by the roots of the mass matrix's diagonal.
        Allowed are 1e-12, and for forward dynamics 100 eps x the condition number of the mass
        matrix scaled to a unit diagonal, for constrained dynamics 1e-9.

    Raises:
        NotApplicableError: if the library is missing or cannot take the robot.

    Example:
        >>> import sixfold as sf
        >>> how = {"samples": 10, "backend": "numpy"}
        >>> found = sf.interop.compare_with("pinocchio", "double_pendulum", **how)
        >>> found.agrees, found.worst("mass matrix") < 1e-12
        (True, True)
        >>> [d.quantity for d in found.differences][:3]
        ['inverse dynamics', 'forward dynamics', 'mass matrix']
    """
    one_of("compare_with", "library", LIBRARIES, library)
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise OptionError("compare_with", "samples", "a whole number >= 1", samples)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise OptionError("compare_with", "seed", "a whole number from 0 to 2**64 - 1", seed)
    if backend is not None:
        one_of("compare_with", "backend", BACKENDS, backend)
    yes_or_no("compare_with", floating_base=floating_base)
    named = not isinstance(package_dirs, (tuple, list)) or len(package_dirs) > 0
    if isinstance(robot, Model) and (floating_base or named):
        what = "compare_with: options 'floating_base' and 'package_dirs'"
        raise NotApplicableError(what, "a Model", "pass them to sixfold.load instead")
    if isinstance(robot, Model):
        model = robot
        engine = _from_model(library, model)
    elif isinstance(robot, (str, os.PathLike)):
        model = load(robot, floating_base=floating_base, package_dirs=package_dirs)
        engine = _from_file(library, model, floating_base)
    else:
        fix = "pass a model, or the path of a robot file"
        raise ArgumentError("compare_with: argument 'robot'", "a Model or a path", robot, fix)
    return compare(model, engine, samples=samples, seed=seed, backend=backend)


def compare(
    model: Model, engine: Any, *, samples: int = 100, seed: int = 0, backend: Backend | None = None
) -> Comparison:
    """Compare a model with an engine that already holds the same robot."""
    # the tree alone, then the constrained accelerations
    tree = model.without(constraints=True)
    found = differences(tree, engine, samples, seed, backend)
    remarks = list(_left_out(tree, engine))
    if model.constraints:
        c = convert(model, engine.robot)
        one, remark = constrained_difference(model, engine, c, samples, seed, backend)
        found = found if one is None else (*found, one)
        remarks.append(remark)
    return Comparison(
        robot=model.name,
        library=engine.name,
        version=engine.version,
        samples=samples,
        seed=seed,
        differences=found,
        left_out=tuple(remarks),
    )


def _from_model(library: str, model: Model) -> Any:
    tree = model.without(constraints=True)
    return Pinocchio(to_pinocchio(tree)) if library == "pinocchio" else MuJoCo(to_mujoco(tree))


def _from_file(library: str, model: Model, floating_base: bool) -> Any:
    """Return the engine with the model's file as the other library reads it, where it can."""
    # the file itself where the library reads its format
    path = Path(model.origin.file) if model.origin else Path("")
    suffix = _root(path)
    if library == "pinocchio" and suffix == "robot":
        pin = pinocchio_package()
        base = (pin.JointModelFreeFlyer(), model.joint_names[0]) if floating_base else ()
        return Pinocchio(pin.buildModelFromUrdf(str(path), *base))
    if library == "mujoco" and suffix == "robot":
        return MuJoCo(mujoco_from_urdf(path, model.joint_names[0] if floating_base else None))
    if library == "mujoco" and suffix == "mujoco" and not floating_base:
        return MuJoCo(mujoco_from_mjcf(path))
    return _from_model(library, model)


def _root(path: Path) -> str:
    """Return the tag of a file's root element, nothing where there is no such file or element."""
    if not path.is_file() or is_json(read(path)):
        return ""
    return parse(read(path), str(path), lambda root: False).tag


def _left_out(model: Model, engine: Any) -> Iterator[str]:
    """Say what was left out of the comparison, on either side."""
    # effects of the model that the other library does not have
    effects = {
        "damping": ("damping",),
        "dry friction": ("friction", "friction_negative"),
        "springs": ("stiffness",),
    }
    for effect, fields in effects.items():
        count = sum(any(any(getattr(body, name)) for name in fields) for body in model.bodies)
        if count and (engine.name == "pinocchio" or effect == "dry friction"):
            yield f"{effect} of {count} joints: not in {engine.name}, switched off here"
    if singular_joints(model.without(damping=True)):
        yield "forward dynamics: some joint has no inertia behind it"
    if model.couplings:
        count = len(model.couplings)
        yield f"{count} coupled joints: free in {engine.name}, moved here as they are coupled"
    yield from engine.remarks()
