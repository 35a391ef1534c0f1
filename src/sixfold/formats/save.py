"""A model to a file, whole and exact, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sixfold.errors import NotApplicableError, OptionError, RobotFileError
from sixfold.files import path_of, write_files
from sixfold.formats import xml
from sixfold.formats.json_model import plain_side_file, read_json, read_side_file, text_of, to_json
from sixfold.formats.urdf import UrdfReader
from sixfold.formats.urdf_write import to_urdf
from sixfold.model import Model, require_model


def save(
    model: Model, path: str | os.PathLike[str], *, constraints: str | os.PathLike[str] | None = None
) -> None:
    """Write a model to a `.urdf` or `.json` file; `load` gives back an equal model, bit for bit.

    What URDF has no words for (springs, armature, gravity, friction that differs by direction...)
    goes into `<sixfold>` elements, which other readers skip.  JSON holds every joint but those of
    the user's own making.  The file appears at once or not at all.

    Args:
        model: the robot.
        path: of the file; its suffix chooses the format.
        constraints: path of a second JSON file, next to a URDF, for the loops, rods, gears and
            rolling wheels of the model, which URDF has no words for; pass it to `load` as well.

    Raises:
        NotApplicableError: if the format has no counterpart for a joint, a name or a constraint.
        OutputFileError: if the file cannot be written.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("cart_pendulum")
        >>> sf.save(model, "cart.urdf")
        >>> sf.load("cart.urdf") == model
        True
        >>> sf.save(model, "cart.json")
        >>> sf.load("cart.json") == model
        True
    """
    require_model("save", model)
    target = path_of("save", path, "robot.urdf")
    ways: dict[str, tuple[Callable[[Model], str], Callable[[bytes], Model]]] = {
        ".urdf": (to_urdf, _urdf),
        ".json": (to_json, _json),
    }
    if target.suffix.lower() not in ways:
        raise OptionError("save", "path", (f"*{suffix}" for suffix in ways), str(path))
    suffix = target.suffix.lower()
    write, read = ways[suffix]
    side_file = _side_file_of(model, suffix, constraints)
    # read everything back before anything is written
    alone = model if side_file is None else model.without(constraints=True)
    data = _encode(write(alone), model)
    _check(alone, data, read, suffix)
    contents = {target: data}
    if side_file is not None:
        loops = _encode(text_of(plain_side_file(model)), model)
        _check(model, loops, lambda found: read_side_file(found, "saved", alone), ".json")
        contents[side_file] = loops
    write_files(contents)


def _side_file_of(
    model: Model, suffix: str, constraints: str | os.PathLike[str] | None
) -> Path | None:
    """Return the file for constraints next to a URDF; refuse to lose them."""
    if constraints is not None:
        side_file = path_of("save", constraints, "loops.json")
        if suffix != ".urdf":
            fix = "leave it out: the file holds the constraints itself"
            raise NotApplicableError("save: option 'constraints'", f"a {suffix} file", fix)
        if side_file.suffix.lower() != ".json":
            raise OptionError("save", "constraints", ("*.json",), str(constraints))
        return side_file
    if suffix == ".urdf" and model.constraints:
        first = model.constraints[0]
        where = f"model '{model.name}' with constraint '{first.name}' ({first.kind})"
        fix = 'name a second file, constraints="loops.json", or save the model as JSON'
        raise NotApplicableError("URDF", where, fix)
    return None


def _urdf(data: bytes) -> Model:
    return UrdfReader(xml.parse(data, "saved"), "saved", strict=True).model()


def _json(data: bytes) -> Model:
    return read_json(data, "saved")


def _encode(text: str, model: Model) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        fix = "rename what has half a character in its name"
        raise NotApplicableError("UTF-8", f"a name in model '{model.name}'", fix) from None


def _check(model: Model, data: bytes, read: Callable[[bytes], Model], suffix: str) -> None:
    """Read the file back before it is written: a model that would change is refused."""
    # what a reader says first, without its place
    reason = "it would read back as another model"
    try:
        if read(data) == model:
            return
    except RobotFileError as error:
        reason = ": ".join(part for part in (error.element, error.what) if part)
    fix = 'save it as JSON: sixfold.save(model, "robot.json")'
    raise NotApplicableError(
        f"a {suffix} file",
        f"model '{model.name}': {reason}",
        fix if suffix == ".urdf" else "rebuild the model with ModelBuilder",
    )
