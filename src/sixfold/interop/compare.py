"""The same robot in another library: worst differences of its results from Sixfold's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sixfold.choices import Backend, Library
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    UnknownNameError,
    one_of,
    visible,
    yes_or_no,
)
from sixfold.evaluate import BACKENDS, singular_joints
from sixfold.formats import load
from sixfold.formats.files import is_json, read
from sixfold.formats.xml import parse
from sixfold.interop.closed import constrained_difference
from sixfold.interop.differences import Difference, differences
from sixfold.interop.matching import LIBRARIES, convert
from sixfold.interop.mujoco import MuJoCo
from sixfold.interop.pinocchio import Pinocchio
from sixfold.interop.to_mujoco import mujoco_from_mjcf, mujoco_from_urdf, to_mujoco
from sixfold.interop.to_pinocchio import pinocchio_package, to_pinocchio
from sixfold.model import Model
from sixfold.show import block, plain, table


@dataclass(frozen=True)
class Comparison:
    """A robot in two libraries; print it for a table."""

    robot: str
    """Name of the robot."""
    library: str
    """Either "pinocchio" or "mujoco"."""
    version: str
    """Version of that library."""
    samples: int
    """Number of random states."""
    seed: int
    """Seed of the states."""
    differences: tuple[Difference, ...]
    """The worst difference of each quantity."""
    left_out: tuple[str, ...]
    """What the other library does not have, and was switched off here for the comparison."""

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
        beside = any(d.numpy for d in self.differences)
        title = f"{'quantity':<22} {'worst':>9} {'allowed':>9}"
        lines = [head, "", f"{title} {'by NumPy':>9}" if beside else title]
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
        backend: one backend to compare; if left out, the default call, which is what users run,
            with the NumPy reading beside it.  "numpy" alone needs no compilation.

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
        >>> found = sf.compare_with("pinocchio", "double_pendulum", samples=10, backend="numpy")
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
    model: Model,
    engine: Any,
    *,
    samples: int = 100,
    seed: int = 0,
    backend: Backend | None = None,
) -> Comparison:
    """Compare a model with an engine that already holds the same robot."""
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
