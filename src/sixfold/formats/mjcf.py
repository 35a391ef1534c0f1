"""MJCF files, compiled by the mujoco package (`pip install mujoco`) and read from its arrays."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from sixfold.errors import (
    ModelError,
    NotApplicableError,
    RobotFileError,
    RobotFileWarning,
    UnknownNameError,
    visible,
)
from sixfold.formats.mjcf_arrays import (
    BALL,
    HINGE,
    SLIDE,
    DisabledEffects,
    Lines,
    clean_pose,
    contact_options,
    inertial_offset,
    model_from_arrays,
    model_name,
    names_of,
    skipped_equalities,
)
from sixfold.formats.mjcf_document import (
    SECTIONS,
    Attachment,
    Document,
    MeshFile,
    Place,
    read_document,
    read_reference,
    resolve_inside,
)
from sixfold.formats.xml import excerpt, reason
from sixfold.lazy import optional
from sixfold.model import ContactOptions, Model, lock_joints
from sixfold.spatial import Vector3

#: The corners of a cube, used instead of a mesh that nothing is computed from.
STAND_IN = [float(c) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1) for c in (x, y, z)]
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


def compile_document(mujoco: Any, document: Document) -> Any:
    """Return the `MjModel` of a document; no file is opened by MuJoCo itself.

    Raises:
        RobotFileError: with MuJoCo's own words and the line of the element they speak of.
    """
    with collect_warnings(mujoco, document.remarks):
        try:
            assets: dict[str, bytes] = {}
            # one specification with all attached parts, then one compilation
            spec = _spec(mujoco, document, assets)
            spec.assets = assets
            return spec.compile()
        except RobotFileError:
            raise
        except Exception as error:
            raise _compile_error(str(error), document) from None


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
        what = f"no <model> has the name '{excerpt(each.model)}'"
        raise refuse(what, "name a <model> of the <asset> section")
    # the part is built on its own, then copied to the frame
    part, frame = _spec(mujoco, document.models[each.model], assets), spec.frame(each.frame)
    if each.body is None:
        spec.attach(part, prefix=each.prefix, frame=frame)
        return
    body = part.body(each.body)
    if body is None:
        what = f"model '{excerpt(each.model)}' has no body '{excerpt(each.body)}'"
        raise refuse(what, "name one of its bodies")
    frame.attach_body(body, each.prefix, "")


@contextmanager
def collect_warnings(mujoco: Any, remarks: list[str]) -> Iterator[None]:
    """Keep MuJoCo's warnings in a list instead of a log file and the terminal."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(remarks.append)
    # Python's warnings and MuJoCo's own
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
    needed = _required_meshes(mujoco, spec)
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


def _required_meshes(mujoco: Any, spec: Any) -> dict[str, str]:
    """Return the meshes that an inertia or the size of a shape comes from, and a body of each."""
    always = int(spec.compiler.inertiafromgeom) == int(
        mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    )
    needed: dict[str, str] = {}
    # primitives fitted to a mesh need it, too
    for geom in spec.geoms:
        if not geom.meshname:
            continue
        body = geom.parent
        inferred = body.name != "world" and (always or not body.explicitinertial)
        if inferred or geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            needed.setdefault(
                geom.meshname, f"body '{excerpt(body.name)}'" if body.name else "a body"
            )
    return needed


def mesh_paths(document: Document) -> dict[str, str]:
    """Return the path of each mesh by its name, those of attached parts with their prefixes."""
    found = {name: mesh_path(document, mesh.file) for name, mesh in document.meshes.items()}
    folder = document.path.resolve().parent
    # attached parts name their meshes from their own folder
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
        return read_reference(path, source.place, f"mesh file '{excerpt(name)}'")
    except RobotFileError as error:
        raise RobotFileError(
            f"{error.what}, and the inertia of {body} is computed from it",
            file=source.place.file,
            line=source.place.line,
            element="<mesh>",
            fix="put the mesh there, or give the body an <inertial>",
        ) from None


def _compile_error(message: str, document: Document) -> RobotFileError:
    """Turn a message of MuJoCo, which speaks of the text it got, to one about the file."""
    # its line numbers are those of the text it got: map them back
    found = _LINE.findall(message)
    place = _place_of_name(message, document)
    if found and 1 <= int(found[-1]) <= len(document.places):
        place = document.places[int(found[-1]) - 1]
    flat = " ".join(_LINE.sub("", message).split())
    what = (
        flat.removeprefix("XML Error: ").removeprefix("Error: ")
        or "the model cannot be compile_document"
    )
    fix = next((fix for part, fix in _FIXES.items() if part in what), "correct this element")
    return RobotFileError(
        f"MuJoCo's compiler says: {what[:300]}", file=place.file, line=place.line, fix=fix
    )


def _place_of_name(message: str, document: Document) -> Place:
    """Return the last place of the element that a message names, or the start of the file."""
    found = Place(str(document.path), 1, 1)
    name = _NAME.search(message)
    if name:
        wanted = f'name="{name.group(1) or name.group(2)}"'
        for line, place in zip(document.lines, document.places, strict=True):
            found = place if wanted in line else found
    return found


MEANING = {
    **SECTIONS,
    "equality": "only connect, weld and joint become loops and gears here",
    "plugin": "plugins make no forces here",
    "flexcomp": "bodies are rigid here, its mass is missing",
    "field": "height and distance fields are not shapes here",
}
#: Left out without changing how the robot moves.
DATA_ONLY = frozenset({"custom", "keyframe", "sensor", "extension"})


def notes_on(
    m: Any, document: Document, off: DisabledEffects, floating: int = 0
) -> tuple[list[str], list[str]]:
    """Return all notes, and in short those on forces that the model does not have."""
    notes: list[str] = [f"option timestep = {float(m.opt.timestep)!r} s"]
    notes += [f"MuJoCo's compiler says: {' '.join(remark.split())}" for remark in document.remarks]
    short: list[str] = []

    def add(what: str, meaning: str, place: Place | None = None, force: bool = True) -> None:
        where = "" if place is None else f" (first at {place.file}:{place.line})"
        notes.append(visible(f"left out: {what}: {meaning}{where}"))
        if force:
            short.append(what if place is None else f"{what} ({_line(place, document)})")

    # elements that were taken out, with their first place
    for key, places in document.left.items():
        add(f"{len(places)} x {key}", MEANING[key], places[0], key not in DATA_ONLY)
    # contacts belong to a ground, not to a model
    colliding = int(np.count_nonzero((m.geom_contype != 0) | (m.geom_conaffinity != 0)))
    if colliding > 1:
        geom = document.first.get("geom")
        meaning = "a model alone touches nothing; sf.contact.Ground.from_mjcf reads them"
        add(f"contacts of {colliding} geoms", meaning, geom)
    for what, meaning, *keys in (*_effects(m), *_armatures(document)):
        add(what, meaning, next((p for k in keys if (p := document.first.get(k))), None))
    # constraints without a counterpart
    known = document.equalities if len(document.equalities) == m.neq else []
    skipped = list(skipped_equalities(m, floating)) if not off.equality else []
    for k, what, meaning in skipped:
        place = known[k] if known else None
        add(what, meaning, place, not what.startswith("inactive"))
    if off.equality and m.neq:
        notes.append(f"equality constraints ({m.neq}) are switched off by the option flags")
    elif len(skipped) < m.neq:
        count = m.neq - len(skipped)
        verb = "s hold" if count > 1 else " holds"
        notes.append(f"{count} equality constraint{verb} exactly here; MuJoCo's are soft")
    for what, meaning, body in _small_offsets(m):
        places = document.bodies
        add(what, meaning, places[body - 1] if len(places) == m.nbody - 1 else None)
    return notes, short


def _line(place: Place, document: Document) -> str:
    """Return where something stands, in short."""
    same = place.file == str(document.path)
    return f"line {place.line}" if same else f"{Path(place.file).name}:{place.line}"


def _armatures(document: Document) -> Iterator[tuple[str, ...]]:
    """Yield what follows from the inertia of tendons and motors, which is not in the model."""
    found = [kind for kind in ("tendon", "actuator") if f"{kind}.armature" in document.first]
    for kind in found:
        yield f"armature of {kind}s", "the mass matrix is without it", f"{kind}.armature"
    if found and "joint.springdamper" in document.first:
        what = f"armature of {found[0]}s in springdamper"
        meaning = f"stiffness and damping are computed without the armature of {found[0]}s"
        yield what, meaning, "joint.springdamper"


def _small_offsets(m: Any) -> Iterator[tuple[str, str, int]]:
    """Yield the inertial frames that MuJoCo takes for the body's, though they differ a little."""
    bodies = [b for b in range(1, m.nbody) if inertial_offset(m, b)]
    if bodies:
        what = f"offset of {len(bodies)} inertial frame{'s' * (len(bodies) > 1)}"
        meaning = "below 1e-6, MuJoCo takes it for zero, and so does the model"
        yield what, meaning, bodies[0]


def _effects(m: Any) -> list[tuple[str, ...]]:
    """Return effects that only the compiled arrays show, and attributes that may have them."""
    found: list[tuple[str, ...]] = []
    limited = np.flatnonzero(m.jnt_limited[: m.njnt])
    hinged = [j for j in limited if int(m.jnt_type[j]) in (HINGE, SLIDE)]
    balls = [j for j in limited if int(m.jnt_type[j]) == BALL]
    if hinged:
        found.append(
            (f"forces of {len(hinged)} joint limits", "limits are kept as data only", "joint.range")
        )
    if balls:
        found.append(
            (f"limits of {len(balls)} ball joints", "a cone has no counterpart", "joint.range")
        )
    # forces that MuJoCo adds and models here do not have
    if m.opt.density or m.opt.viscosity:
        fluid = ("fluid forces", "density and viscosity of the medium")
        found.append((*fluid, "option.density", "option.viscosity"))
    if np.any(m.body_gravcomp):
        count = np.count_nonzero(m.body_gravcomp)
        found.append((f"gravcomp of {count} bodies", "no compensation", "body.gravcomp"))
    if m.nmocap:
        found.append(
            (f"{m.nmocap} mocap bodies", "they rest where the file places them", "body.mocap")
        )
    for array, what in (
        ("jnt_stiffnesspoly", "nonlinear springs"),
        ("dof_dampingpoly", "nonlinear damping"),
        ("jnt_springyield", "yielding springs"),
    ):
        numbers = np.asarray(getattr(m, array, 0.0), float)
        if np.any(np.isfinite(numbers) & (numbers != 0)):
            found.append((what, "only the linear part is kept"))
    if m.ntendon:
        found.append((f"{m.ntendon} tendons of composites", "no loops are made from them"))
    return found


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
        name: of the model; the file's own by default.
        package_dirs: further folders under which included files and meshes may lie.
        strict: refuse a file that would be read with a warning.

    Raises:
        RobotFileError: with file and line, if the file cannot become a model.
        NotApplicableError: if the mujoco package is missing.
    """
    path = Path(path)
    mujoco = mujoco_package()
    document = read_document(path, map(Path, package_dirs), strict=strict)
    m = compile_document(mujoco, document)
    off = disabled_effects(mujoco, m)
    floating = _floating(m, document) if floating_base else 0
    notes, forces = notes_on(m, document, off, floating)
    if forces and strict:
        raise _left_out(forces, document)
    # names and lines of the file for what the builder refuses
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
        raise _model_error(error, m, document) from None
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


def disabled_effects(mujoco: Any, m: Any) -> DisabledEffects:
    """Return what the options of the model switch off."""
    # a bit that this version of MuJoCo does not know is off
    bits, flags = mujoco.mjtDisableBit, int(m.opt.disableflags)

    def off(*names: str) -> bool:
        return any(flags & int(getattr(bits, f"mjDSBL_{name}", 0)) for name in names)

    # springs and dampers had one bit together before they had one each
    return DisabledEffects(
        gravity=off("GRAVITY"),
        springs=off("SPRING", "PASSIVE"),
        damping=off("DAMPER", "PASSIVE"),
        friction=off("FRICTIONLOSS", "CONSTRAINT"),
        equality=off("EQUALITY", "CONSTRAINT"),
    )


def _floating(m: Any, document: Document) -> int:
    """Return the number of the one body that a floating base sets free."""
    # only a single body without joints can be set free
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


def _model_error(error: ModelError, m: Any, document: Document) -> RobotFileError:
    """Say in which file a model was refused, and at which body's line."""
    what, fix = reason(error)
    line = 1
    for label, place in zip(range(1, m.nbody), document.bodies, strict=False):
        if f"'{m.body(label).name}'" in what:
            line = place.root_line
    return RobotFileError(what, file=document.path, line=line, fix=fix)


PLANE = 0


class Plane(NamedTuple):
    """A plane of the world."""

    name: str
    normal: tuple[float, ...]
    height: float  #: Along the normal [m].
    contact: ContactOptions
    place: Place | None


class Pair(NamedTuple):
    """Two shapes by name, and what the file says of their contact: numbers by attribute."""

    geoms: tuple[str, str]
    numbers: dict[str, tuple[float, ...]]
    other: tuple[str, ...]  #: Attributes that are no numbers.
    place: Place


class JointSoftness(NamedTuple):
    """How soft the limits and the dry friction of a joint are."""

    joint: str
    #: Solref and solimp of the limits, then those of dry friction.
    laws: tuple[tuple[float, ...], ...]
    margin: float


class Contacts(NamedTuple):
    """What an MJCF file says of contacts, except for its shapes."""

    planes: list[Plane]
    pairs: list[Pair]
    impratio: float
    moving: int  #: Planes that are not fixed to the world itself.
    joints: list[JointSoftness]
    #: Mean inverse mass that contacts of each body of the file feel [1/kg].
    weights: tuple[tuple[str, float], ...]
    document: Document


def read_contacts(path: Path, package_dirs: Iterable[str | Path] = ()) -> Contacts:
    """Return planes and pairs of a file.

    Raises:
        RobotFileError: with file and line, if the file cannot be read.
        NotApplicableError: if the mujoco package is missing.
    """
    mujoco = mujoco_package()
    document = read_document(Path(path), map(Path, package_dirs))
    m = compile_document(mujoco, document)
    known = names_of(m)
    names = known.geoms
    # planes of the world; moving planes are counted only
    planes = [g for g in range(m.ngeom) if int(m.geom_type[g]) == PLANE]
    fixed = [g for g in planes if int(m.geom_bodyid[g]) == 0]
    places = document.planes if len(document.planes) == len(fixed) else []
    found = []
    for k, g in enumerate(fixed):
        options = contact_options(m, g)
        if options is not None:
            found.append(_plane(m, g, names[g], options, places[k] if places else None))
    pairs = [_pair(attributes, place) for attributes, place in document.pairs]
    named = enumerate(known.bodies)
    weights = tuple((name, float(m.body_invweight0[b, 0])) for b, name in named if b)
    return Contacts(
        found,
        pairs,
        float(m.opt.impratio),
        len(planes) - len(fixed),
        [_softness(m, j, name) for j, name in enumerate(known.joints)],
        weights,
        document,
    )


def _softness(m: Any, j: int, name: str) -> JointSoftness:
    dof = int(m.jnt_dofadr[j])
    rows = m.jnt_solref[j], m.jnt_solimp[j], m.dof_solref[dof], m.dof_solimp[dof]
    laws = tuple(tuple(float(x) for x in row) for row in rows)
    return JointSoftness(name, laws, float(m.jnt_margin[j]))


def _plane(m: Any, g: int, name: str, options: ContactOptions, place: Place | None) -> Plane:
    pose = clean_pose(m.geom_pos[g], m.geom_quat[g])
    # the plane's z axis, and the distance of the plane from the origin
    normal = pose.E.T @ Vector3(0.0, 0.0, 1.0)
    height = sum(float(n) * float(x) for n, x in zip(normal, m.geom_pos[g], strict=True))
    return Plane(name, tuple(float(x) for x in normal), height, options, place)


def _pair(attributes: dict[str, str], place: Place) -> Pair:
    numbers, other = {}, []
    # attributes with numbers, and the names of others
    for name, text in attributes.items():
        if name in ("geom1", "geom2", "name"):
            continue
        try:
            numbers[name] = tuple(float(x) for x in text.split())
        except ValueError:
            other.append(name)
    geoms = attributes.get("geom1", ""), attributes.get("geom2", "")
    return Pair(geoms, numbers, tuple(other), place)
