"""Compile an MJCF document: meshes only where an inertia needs them, errors with file and line."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from sixfold.errors import RobotFileError
from sixfold.formats.mjcf.xml import (
    Attachment,
    Document,
    MeshFile,
    Place,
    read_named,
    resolve_inside,
)
from sixfold.formats.xml.parse import shown

STAND_IN = [float(c) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1) for c in (x, y, z)]
"""The corners of a cube, in place of a mesh that nothing is computed from."""
_LINE = re.compile(r",? ?[Ll]ine(?: number)?[ =](\d+)")
_NAME = re.compile(r"Element name '([^']+)'|'([^']+)'")

_FIXES = {
    "mjMINVAL": "give the body a mass and an inertia, or make it static by removing its joints",
    "A + B >= C": "correct the inertia; compiler balanceinertia='true' makes MuJoCo change it",
    "positive definite": "correct the inertia",
    "repeated name": "give each element its own name",
    "not found": "define the element that is named, or correct the name",
    "invalid keyword": "use one of the words of MuJoCo's XML reference",
    "unrecognized": "correct the name, as in MuJoCo's XML reference",
    "too much data": "give as many numbers as MuJoCo's XML reference says",
    "not have enough data": "give as many numbers as MuJoCo's XML reference says",
}


def compiled(mujoco: Any, document: Document) -> Any:
    """Return the `MjModel` of a document; no file is opened by MuJoCo itself.

    Raises:
        RobotFileError: with MuJoCo's own words and the line of the element they speak of.
    """
    with listening(mujoco, document.remarks):
        try:
            assets: dict[str, bytes] = {}
            spec = _spec(mujoco, document, assets)
            spec.assets = assets
            return spec.compile()
        except RobotFileError:
            raise
        except Exception as error:
            raise _refused(str(error), document) from None


def _spec(mujoco: Any, document: Document, assets: dict[str, bytes]) -> Any:
    """Return the `MjSpec` of a document with its attachments; put its meshes among the assets."""
    spec = mujoco.MjSpec.from_string(document.text)
    _drop_fields(mujoco, spec, document)
    _add_assets(mujoco, spec, document, assets)
    for each in document.attachments:
        _attach(spec, each, mujoco, document, assets)
    return spec


def _attach(
    spec: Any, each: Attachment, mujoco: Any, document: Document, assets: dict[str, bytes]
) -> None:
    """Attach a part of another document; MuJoCo copies it, so that it may be attached again."""

    def refuse(what: str, fix: str) -> RobotFileError:
        place = each.place
        return RobotFileError(what, file=place.file, line=place.line, element="<attach>", fix=fix)

    if each.model not in document.models:
        what = f"no <model> has the name '{shown(each.model)}'"
        raise refuse(what, "name a <model> of the <asset> section")
    part, frame = _spec(mujoco, document.models[each.model], assets), spec.frame(each.frame)
    if each.body is None:
        spec.attach(part, prefix=each.prefix, frame=frame)
        return
    body = part.body(each.body)
    if body is None:
        what = f"model '{shown(each.model)}' has no body '{shown(each.body)}'"
        raise refuse(what, "name one of its bodies")
    frame.attach_body(body, each.prefix, "")


@contextmanager
def listening(mujoco: Any, remarks: list[str]) -> Iterator[None]:
    """Keep MuJoCo's warnings in a list instead of a log file and the terminal."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(remarks.append)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
            remarks.extend(str(warning.message) for warning in caught)
    finally:
        mujoco.set_mju_user_warning(before)


def _drop_fields(mujoco: Any, spec: Any, document: Document) -> None:
    """Take out shapes that are height fields or distance fields: their assets are not read."""
    kinds = {mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_SDF}
    for geom in [geom for geom in spec.geoms if geom.type in kinds]:
        document.leave("field", document.places[0])
        # elements deleted themselves before the whole could do it
        if hasattr(spec, "delete"):
            spec.delete(geom)
        else:
            geom.delete()


def _add_assets(mujoco: Any, spec: Any, document: Document, assets: dict[str, bytes]) -> None:
    """Give each mesh its content: the file's where it is needed, a cube elsewhere."""
    needed = _needed(mujoco, spec)
    for mesh in spec.meshes:
        source = document.meshes.get(mesh.name)
        if source is None:
            continue
        if mesh.name in needed:
            suffix = PurePosixPath(source.file.replace(chr(92), "/")).suffix.lower()
            mesh.file = f"{len(assets)}{suffix}"
            assets[mesh.file] = _mesh_bytes(document, source, needed[mesh.name])
        else:
            mesh.uservert = STAND_IN


def _needed(mujoco: Any, spec: Any) -> dict[str, str]:
    """Return the meshes that an inertia or the size of a shape comes from, and a body of each."""
    always = int(spec.compiler.inertiafromgeom) == int(
        mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    )
    needed: dict[str, str] = {}
    for geom in spec.geoms:
        if not geom.meshname:
            continue
        body = geom.parent
        inferred = body.name != "world" and (always or not body.explicitinertial)
        if inferred or geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            needed.setdefault(
                geom.meshname, f"body '{shown(body.name)}'" if body.name else "a body"
            )
    return needed


def mesh_paths(document: Document) -> dict[str, str]:
    """Return the path of each mesh by its name, those of attached parts with their prefixes."""
    found = {name: mesh_path(document, mesh.file) for name, mesh in document.meshes.items()}
    folder = document.path.resolve().parent
    for each in document.attachments:
        part = document.models.get(each.model)
        if part is not None:
            inside = os.path.relpath(part.path.resolve().parent, folder)
            for name, path in mesh_paths(part).items():
                found[each.prefix + name] = str(PurePosixPath(inside.replace("\\", "/")) / path)
    return found


def mesh_path(document: Document, file: str) -> str:
    """Return a mesh's path from the robot file's folder, after `meshdir` and `strippath`."""
    options = document.compiler
    plain = PurePosixPath(file.replace("\\", "/"))
    if options.get("strippath") == "true":
        plain = PurePosixPath(plain.name)
    folder = options.get("meshdir", options.get("assetdir", ""))
    return str(PurePosixPath(folder.replace("\\", "/")) / plain)


def _mesh_bytes(document: Document, source: MeshFile, body: str) -> bytes:
    name = mesh_path(document, source.file)
    path = resolve_inside(document, name, source.place, "mesh file")
    try:
        return read_named(path, source.place, f"mesh file '{shown(name)}'")
    except RobotFileError as error:
        what = str(error).partition("\n")[0].partition(f":{source.place.line}: ")[2]
        raise RobotFileError(
            f"{what}, and the inertia of {body} is computed from it",
            file=source.place.file,
            line=source.place.line,
            element="<mesh>",
            fix="put the mesh there, or give the body an <inertial>",
        ) from None


def _refused(message: str, document: Document) -> RobotFileError:
    """Turn a message of MuJoCo, which speaks of the text it got, to one about the file."""
    found = _LINE.findall(message)
    place = _named(message, document)
    if found and 1 <= int(found[-1]) <= len(document.places):
        place = document.places[int(found[-1]) - 1]
    flat = " ".join(_LINE.sub("", message).split())
    what = (
        flat.removeprefix("XML Error: ").removeprefix("Error: ") or "the model cannot be compiled"
    )
    fix = next((fix for part, fix in _FIXES.items() if part in what), "correct this element")
    return RobotFileError(
        f"MuJoCo's compiler says: {what[:300]}", file=place.file, line=place.line, fix=fix
    )


def _named(message: str, document: Document) -> Place:
    """Return the last place of the element that a message names, or the start of the file."""
    found = Place(str(document.path), 1, 1)
    name = _NAME.search(message)
    if name:
        wanted = f'name="{name.group(1) or name.group(2)}"'
        for line, place in zip(document.lines, document.places, strict=True):
            found = place if wanted in line else found
    return found
