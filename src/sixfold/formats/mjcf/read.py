"""MJCF files, compiled by the mujoco package (`pip install mujoco`) and read from its arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sixfold.errors import (
    ModelError,
    NotApplicableError,
    RobotFileError,
    RobotFileWarning,
    UnknownNameError,
    visible,
)
from sixfold.formats.mjcf.arrays import Lines, Off, model_from_arrays
from sixfold.formats.mjcf.compile import compiled, mesh_paths
from sixfold.formats.mjcf.notes import notes_on
from sixfold.formats.mjcf.shapes import model_name
from sixfold.formats.mjcf.xml import Document, read_document
from sixfold.model import Model, lock_joints
from sixfold.optional import optional

OLDEST = (3, 3, 4)


def load_mjcf(
    path: Path,
    *,
    floating_base: bool = False,
    lock: Iterable[str] | Mapping[str, Any] = (),
    name: str | None = None,
    package_dirs: Iterable[str | Path] = (),
    strict: bool = False,
) -> Model:
    """Return the robot of an MJCF file.

    MuJoCo's compiler resolves defaults, includes, frames, angle units and inertias from shapes.
    Files that the robot file names are read only under its folder or the folder above, and meshes
    only where an inertia is computed from them.  Equality constraints (connect, weld, joint) become
    loops and gears.  What has no counterpart (contacts, actuators, tendons...) is listed in
    `model.origin.notes` and in one warning.

    Args:
        path: the file.
        floating_base: give the only body of the world a free joint, if it has no joint.
        lock: joints to lock: names, or names with positions.
        name: of the model; the file's own when left out.
        package_dirs: further folders under which included files and meshes may lie.
        strict: refuse a file that would be read with a warning.

    Raises:
        RobotFileError: with file and line, if the file cannot become a model.
        NotApplicableError: if the mujoco package is missing.
    """
    path = Path(path)
    mujoco = mujoco_package()
    document = read_document(path, map(Path, package_dirs), strict=strict)
    m = compiled(mujoco, document)
    off = switched_off(mujoco, m)
    floating = _floating(m, document) if floating_base else 0
    notes, forces = notes_on(m, document, off, floating)
    if forces and strict:
        raise _left_out(forces, document)
    try:
        model = model_from_arrays(
            m,
            name or model_name_of(m, path),
            off=off,
            floating=floating,
            file=str(path),
            lines=_lines(m, document),
            notes=notes,
            blemishes=document.notes.blemishes(),
            meshes=mesh_paths(document),
        )
        locked = lock_joints(model, lock) if lock else model
    except UnknownNameError:
        raise
    except ModelError as error:
        raise _refused(error, m, document) from None
    if forces:
        listed = "; ".join(forces)
        text = visible(f"{path}: left out: {listed} (see model.origin.notes)")
        warnings.warn(text, RobotFileWarning, stacklevel=4)
    return locked


def mujoco_package() -> Any:
    """Return the mujoco package, imported on first use."""
    mujoco = optional("mujoco", "MJCF")
    version = tuple(int(x) for x in mujoco.__version__.split(".")[:3])
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise NotApplicableError(
            "MJCF", f"mujoco {mujoco.__version__}", f"pip install --upgrade 'mujoco>={oldest}'"
        )
    return mujoco


def model_name_of(m: Any, path: Path) -> str:
    """Return the model's own name, or the file's where it has MuJoCo's default name."""
    given = model_name(m)
    return path.stem if given in ("", "MuJoCo Model") else given


def switched_off(mujoco: Any, m: Any) -> Off:
    """Return what the options of the model switch off."""
    bits, flags = mujoco.mjtDisableBit, int(m.opt.disableflags)

    def off(*names: str) -> bool:
        return any(flags & int(getattr(bits, f"mjDSBL_{name}", 0)) for name in names)

    # springs and dampers had one bit together before they had one each
    return Off(
        gravity=off("GRAVITY"),
        springs=off("SPRING", "PASSIVE"),
        damping=off("DAMPER", "PASSIVE"),
        friction=off("FRICTIONLOSS", "CONSTRAINT"),
        equality=off("EQUALITY", "CONSTRAINT"),
    )


def _floating(m: Any, document: Document) -> int:
    """Return the number of the one body that a floating base sets free."""
    roots = [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
    still = [b for b in roots if not m.body_jntnum[b] and m.body_mocapid[b] < 0]
    if len(roots) == 1 and len(still) == 1:
        return still[0]
    if len(roots) == 1:
        what, fix = "its base has joints already", "leave floating_base out"
    else:
        what = f"{len(roots)} bodies lie in the world"
        fix = "give the base a <freejoint/> in the file"
    raise RobotFileError(f"floating_base=True: {what}", file=document.path, line=1, fix=fix)


def _lines(m: Any, document: Document) -> Lines:
    """Return lines by MuJoCo's numbers: bodies are numbered as they stand in the file."""
    if document.generated or len(document.bodies) != m.nbody - 1:
        return Lines()
    joints = document.joints if len(document.joints) == m.njnt else []
    return Lines(
        body={b + 1: place.root_line for b, place in enumerate(document.bodies)},
        inertia={b: place.root_line for b, place in document.inertias.items()},
        joint={j: place.root_line for j, place in enumerate(joints)},
    )


def _left_out(forces: list[str], document: Document) -> RobotFileError:
    line = re.search(r"\(line (\d+)\)", forces[0])
    return RobotFileError(
        f"has what a model has no counterpart for: {'; '.join(forces)}",
        file=document.path,
        line=int(line[1]) if line else 1,
        fix="remove it from the file, or load it without strict=True",
    )


def _refused(error: ModelError, m: Any, document: Document) -> RobotFileError:
    """Say in which file a model was refused, and at which body's line."""
    what, _, fix = str(error).partition("\n  fix: ")
    line = 1
    for label, place in zip(range(1, m.nbody), document.bodies, strict=False):
        if f"'{m.body(label).name}'" in what:
            line = place.root_line
    return RobotFileError(what, file=document.path, line=line, fix=fix)
