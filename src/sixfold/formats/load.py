"""A robot from its file or by its name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

from sixfold.choices import Mimic
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    NumberError,
    RobotFileError,
    RobotFileWarning,
    UnknownNameError,
    near_names,
    one_of,
    visible,
    yes_or_no,
)
from sixfold.files import path_of
from sixfold.formats import bundled, files, xml
from sixfold.formats.bundled import SAMPLES, sample
from sixfold.formats.json_model import read_json, read_side_file
from sixfold.formats.urdf import UrdfReader
from sixfold.model import Model, lock_joints

Locks = Iterable[str] | Mapping[str, float | Sequence[float]]
SUFFIXES = {".urdf", ".xml", ".mjcf", ".json", ".xacro", ".sdf"}


def load(
    source: str | os.PathLike[str],
    *,
    floating_base: bool = False,
    package_dirs: Iterable[str | os.PathLike[str]] = (),
    lock: Locks = (),
    mimic: Mimic = "couple",
    constraints: str | os.PathLike[str] | None = None,
    strict: bool = False,
) -> Model:
    """Return the robot of a file or of a name.

    Args:
        source: path of a URDF, MJCF or JSON file, recognised by its content; or the name of a
            sample ("puma560", "planar_chain:5") or of a robot of the package example-robot-data
            ("panda"), as `sixfold robots` lists them.  A bare word is a name first: write
            "./panda" for a file of that name.
        floating_base: put a free joint "floating_base" between the world and the root link of a
            URDF; otherwise the root link is fixed.
        package_dirs: folders under which the meshes of `package://` names may be found; nothing
            is read from them here.
        lock: joints to fix: names (at their neutral position) or a mapping from names to positions.
        mimic: "couple" lets mimic joints follow their masters exactly, with fewer degrees of
            freedom; "free" gives each a freedom of its own, as most other libraries do.
        constraints: path of a JSON file with loops, rods, gears and rolling wheels between the
            robot's links and joints, which URDF has no words for; they are added to the model's own
            ("Loops next to a URDF" in docs/robots.md has the form).
        strict: refuse a file that would be read with a warning.  Otherwise what concerns pictures
            and contact never stops a file, and what is wrong but has one sensible reading is read
            so; each fault is a RobotFileWarning with its line, listed in `model.origin.blemishes`.

    Returns:
        A Model.  That of a file keeps in `model.origin` where its links and joints stand there, and
        notes of the reader; for samples it is None.

    Raises:
        RobotFileError: if the file cannot be read; it carries `.file` and `.line`.
        UnknownNameError: if there is neither a file nor a robot of that name.

    Example:
        >>> import sixfold as sf
        >>> sf.load("puma560")
        <Model 'puma560': nb=6, nq=6, nv=6, 23.45 kg>
        >>> sf.save(sf.load("double_pendulum"), "two.urdf")
        >>> sf.load("two.urdf", lock={"elbow": 0.5})
        <Model 'double_pendulum': nb=1, nq=1, nv=1, 2 kg>
    """
    one_of("load", "mimic", get_args(Mimic), mimic)
    yes_or_no("load", floating_base=floating_base, strict=strict)
    try:
        text = os.fspath(source)
    except Exception:  # no path, or an object whose own path fails
        text = ""
    if not isinstance(text, str) or not isinstance(source, (str, os.PathLike)) or not text:
        fix = "pass a path, or a name that `sixfold robots` lists"
        where = "load: argument 'source'"
        raise ArgumentError(where, "a path or the name of a robot", source, fix)
    _refuse_content(text)
    # options are read before the file, so that a mistake costs nothing
    folders = _folder_names(package_dirs)
    side_file = None if constraints is None else path_of("load", constraints, "loops.json")
    # a name of a sample; anything else is a file
    path = _path(source, text)
    if path is None:
        _only_urdf(floating_base, f"sample '{text}'")
        _without_mimics(mimic, f"sample '{text}'")
        if folders:
            fix = "leave it out: samples have no meshes"
            raise NotApplicableError("load: option 'package_dirs'", f"sample '{text}'", fix)
        model = sample(text)
    else:
        model = _from_file(path, floating_base, folders, mimic, strict)
        _warn(model)
    if side_file is not None:
        model = read_side_file(files.read(side_file), str(side_file), model)
    return _lock(model, lock)


def _refuse_content(text: str) -> None:
    """Refuse the text of a robot file, which is no path."""
    begin = text.lstrip("\ufeff \t\r\n")[:60]
    if begin.startswith(("<", "{")):
        got = f"a text of {len(text):,} characters that begins with {begin[:40]!r}"
        suffix = "urdf" if begin.startswith("<") else "json"
        fix = f"write it to a file first: pathlib.Path('robot.{suffix}').write_text(text)"
        where = "load: argument 'source' is what a file holds"
        raise NumberError(where, "the path of a file, or the name of a robot", got, fix)


def _warn(model: Model) -> None:
    """Warn of faults of the file, each with its line."""
    origin = model.origin
    if origin is None:
        return
    for blemish in origin.blemishes:
        # "line 7: what" of the file itself; other files are named in the text
        line, colon, what = blemish.removeprefix("line ").partition(": ")
        place = f"{origin.file}:{line}: {what}" if line.isdigit() and colon else blemish
        warnings.warn(visible(place), RobotFileWarning, stacklevel=3)


def _path(source: str | os.PathLike[str], text: str) -> Path | None:
    """Return the file that is meant, None for a sample."""
    # anything with a separator is a path
    if not isinstance(source, str) or "/" in text or os.sep in text:
        return Path(text)
    if text.split(":")[0] in SAMPLES:
        return None
    # then installed robots, then files
    robots = bundled.robots()
    if text in robots:
        return robots[text]
    path = Path(text)
    if path.suffix.lower() in SUFFIXES or _exists(path):
        return path
    raise _unknown(text, robots)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _unknown(text: str, robots: Mapping[str, Path]) -> UnknownNameError:
    names = [*SAMPLES, *robots]
    error = UnknownNameError("robot or file", text, names, where="sixfold.load")
    if not robots and not near_names(text, names, cutoff=0.8):
        more = "more robots: pip install example-robot-data"
        error.args = (f"{error.args[0]}; {more}",)
    return error


def _from_file(
    path: Path, floating_base: bool, folders: tuple[str, ...], mimic: str, strict: bool
) -> Model:
    data = files.read(path)
    # the content decides, not the suffix
    if files.is_json(data):
        _only_urdf(floating_base, f"'{path}', a JSON file")
        _without_mimics(mimic, f"'{path}', a JSON file")
        return read_json(data, str(path), folders)
    reader = _urdf_reader(data, path, strict)
    if reader is not None:
        return reader.model(
            floating_base=floating_base, free_mimics=mimic == "free", package_dirs=folders
        )
    from sixfold.formats.mjcf import load_mjcf

    _without_mimics(mimic, f"'{path}', an MJCF file")
    return load_mjcf(path, floating_base=floating_base, package_dirs=folders, strict=strict)


def _urdf_reader(data: bytes, path: Path, strict: bool) -> UrdfReader | None:
    """Return the reader of a URDF, None for MJCF."""
    faults: list[tuple[RobotFileError, str]] = []
    # only the root element is read where it is not <robot>
    root = xml.parse(
        data,
        str(path),
        lambda root: root.tag == "robot",
        forgive=lambda *fault: faults.append(fault),
    )
    if root.tag == "mujoco":
        return None
    if root.tag != "robot":
        raise _not_a_robot(path, root)
    reader = UrdfReader(root, str(path), path.stem or "robot", strict=strict)
    for error, reading in faults:
        reader.notes.blemish(error, reading)
    return reader


def _not_a_robot(path: Path, root: xml.Element) -> RobotFileError:
    advice = {
        "sdf": "convert SDF to URDF first; sixfold reads URDF, MJCF and its own JSON",
        "mujocoinclude": "load the file that includes this one",
        "COLLADA": "this is a mesh: load the URDF that names it",
    }
    return RobotFileError(
        f"the root element is <{xml.excerpt(root.tag)}>",
        file=path,
        line=root.line,
        expected="<robot> (URDF) or <mujoco> (MJCF)",
        got=f"<{xml.excerpt(root.tag)}>",
        fix=advice.get(root.tag, "give a URDF or MJCF file"),
    )


def _only_urdf(floating_base: bool, where: str) -> None:
    if floating_base:
        raise NotApplicableError(
            "floating_base=True", where, "leave it out: the model says itself how its base moves"
        )


def _without_mimics(mimic: str, where: str) -> None:
    if mimic != "couple":
        fix = "leave it out: mimic joints are an element of URDF files"
        raise NotApplicableError(f"load: option mimic={mimic!r}", where, fix)


def _folder_names(folders: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return the folders; a single one need not be in a list."""
    try:
        if isinstance(folders, (str, os.PathLike)):
            return (os.fspath(folders),)
        # read at most 10,000 entries of an endless iterable
        return tuple(os.fspath(folder) for folder in islice(folders, 10_000))
    except Exception:  # no paths, or objects whose own paths fail
        fix = 'pass a list of folders such as ["~/ros/src"]'
        raise ArgumentError("load: option 'package_dirs'", "paths", folders, fix) from None


def _lock(model: Model, lock: Locks) -> Model:
    """Return the model with joints fixed; a single name need not be in a list."""
    if isinstance(lock, (str, tuple, list, Mapping)) and not lock:
        return model
    return lock_joints(model, [lock] if isinstance(lock, str) else lock)
