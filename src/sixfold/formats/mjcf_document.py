"""The XML of an MJCF file as MuJoCo's compiler gets it, with the place of each line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import quoteattr

from sixfold.errors import RobotFileError
from sixfold.formats.files import read
from sixfold.formats.xml import Element, Notes, excerpt, parse

#: Sections with no counterpart, and what that means.
SECTIONS = {
    "actuator": "motors push nothing here: pass joint forces as tau",
    "contact": "contact needs a ground: pairs are read by sixfold.contact.Ground.from_mjcf",
    "custom": "data of the user",
    "deformable": "bodies are rigid here",
    "extension": "plugins",
    "keyframe": "stored states",
    "sensor": "sensors",
    "tendon": "tendons pull nothing here",
}
PICTURE = frozenset({"visual", "statistic", "size"})  #: Sections that say nothing about motion.
#: Elements that only a picture needs.
LOOKS = frozenset({"camera", "light", "texture", "hfield", "skin", "layer"})
#: What is kept of a class of defaults.
DEFAULTS = frozenset({"default", "equality", "geom", "joint", "material", "mesh", "site"})
#: Equality constraints that become loops and gears.
EQUALITIES = frozenset({"connect", "weld", "joint"})
FLAGS = frozenset(
    {"constraint", "equality", "gravity", "passive", "spring", "damper", "frictionloss"}
)
OPTIONS = frozenset({"gravity", "timestep", "density", "viscosity", "wind", "impratio"})
#: Attributes of a geom that only contact needs, and how many numbers each has at most.
CONTACT = {
    **{"friction": 3, "solref": 2, "solimp": 5, "solmix": 1},
    **{"gap": 1, "priority": 1, "condim": 1, "margin": 1},
}
#: Elements and sections whose attributes are remembered with their first places.
WATCHED = frozenset({"option", "body", "joint", "tendon", "actuator"})
COMPILER_SKIPPED = frozenset(
    {"fusestatic", "discardvisual", "usethread", "meshdir", "texturedir", "assetdir", "strippath"}
)
_NUMBERS = """
pos quat axisangle xyaxes zaxis euler axis fromto size mass density diaginertia fullinertia
range ref springref springdamper stiffness damping armature frictionloss gravity timestep
viscosity wind gravcomp scale refpos refquat vertex rgba offset count settotalmass boundmass
boundinertia fitscale margin group actuatorfrcrange inertiagrouprange params anchor
relpose torquescale polycoef impratio
"""
#: Attributes whose value is a list of finite numbers, wherever they stand.
NUMBERS = frozenset(_NUMBERS.split())


WHOLE = re.compile(r"[+-]?\d{1,9}\Z", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)


def check_attributes(element: Element, file: str, notes: Notes) -> dict[str, str]:
    """Return the attributes, without those that are empty.

    A colour or number of contact that is wrong is left out too: neither stops a file.

    Raises:
        RobotFileError: at the place of the element, for numbers that are not finite or no numbers.
    """
    kept: dict[str, str] = {}
    # numbers are tested here: MuJoCo would take NaN and text after a number
    for name, value in element.attributes.items():
        contact = element.tag == "geom" and name in CONTACT
        if name == "user":
            continue
        if element.tag != "flag" and (contact or name in NUMBERS):
            what = _wrong(name, value) or (_wrong_contact(name, value) if contact else "")
            if what:
                error = _error(element, file, name, what)
                if not contact and name != "rgba" and value.strip():
                    raise error
                left = "the colour is left out" if name == "rgba" else "the default is used"
                notes.blemish(error, left)
            elif name == "mass" and any(float(word) < 0 for word in value.split()):
                # MuJoCo itself takes it for zero where the body does not move
                raise _error(element, file, name, "the mass is negative")
            if what:
                continue
        kept[name] = value
    return kept


def _wrong(name: str, value: str) -> str:
    """Return what is wrong with a list of numbers, an empty text if nothing is."""
    words = value.split()
    if not words:
        return f"attribute '{name}' is empty"
    if not all(NUMBER.match(word) and math.isfinite(float(word)) for word in words):
        return f"attribute '{name}' is not a finite number"
    if name == "rgba" and len(words) != 4:
        return "attribute 'rgba' has the wrong number of numbers"
    return ""


def _wrong_contact(name: str, value: str) -> str:
    """Return what is wrong with finite numbers of contact."""
    words = value.split()
    if len(words) > CONTACT[name]:
        return f"attribute '{name}' has too many numbers"
    if name in ("condim", "priority") and not WHOLE.match(words[0]):
        return f"attribute '{name}' is not a whole number"
    if name == "condim" and int(words[0]) not in (1, 3, 4, 6):
        return "attribute 'condim' is not 1, 3, 4 or 6"
    return ""


def _error(element: Element, file: str, name: str, what: str) -> RobotFileError:
    return RobotFileError(
        what,
        file=file,
        line=element.line,
        element=f"<{excerpt(element.tag)}>",
        expected="numbers such as 1.5 or -2e-3, separated by spaces",
        got=f'{name}="{excerpt(element.attributes[name])}"',
        fix="correct the number",
    )


MAX_DEPTH = 400  #: MuJoCo's own parser goes 500 deep.
MAX_ELEMENTS = 20_000  #: Counted after includes and replication.
MAX_COPIES = 4_000  #: Elements that `<replicate>` may make.
MAX_INCLUDES = 100


@dataclass(frozen=True)
class Place:
    """A file and a line in it; `root_line` is the line of the main file that led there."""

    file: str
    line: int
    root_line: int


@dataclass(frozen=True)
class MeshFile:
    """A mesh asset that lies in a file."""

    file: str
    place: Place


@dataclass(frozen=True)
class Attachment:
    """An `<attach>`: a body of another file, or all of it, at a frame of this one."""

    frame: str  #: Name of the frame that stands for it in the text.
    model: str
    body: str | None
    prefix: str
    place: Place


@dataclass
class Document:
    """The text that MuJoCo's compiler gets, and the elements that it does not get."""

    path: Path
    notes: Notes  #: What is wrong in the file but does not stop it from being read.
    #: Under which files may be read, in addition to the file's own folder and the one above.
    folders: tuple[Path, ...] = ()
    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)  #: Where each line of the text came from.
    bodies: list[Place] = field(default_factory=list)
    #: Place of each explicit inertia, by the number of its body.
    inertias: dict[int, Place] = field(default_factory=dict)
    joints: list[Place] = field(default_factory=list)
    equalities: list[Place] = field(default_factory=list)
    planes: list[Place] = field(default_factory=list)
    #: Attributes of pairs of shapes that may touch; they are taken out, as all of <contact>.
    pairs: list[tuple[dict[str, str], Place]] = field(default_factory=list)
    generated: bool = False  #: True where elements make more bodies than the file names one by one.
    meshes: dict[str, MeshFile] = field(default_factory=dict)
    #: Other files that parts are attached from, by the name of their `<model>`.
    models: dict[str, Document] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)
    #: What was taken out: a place for each element.
    left: dict[str, list[Place]] = field(default_factory=dict)
    #: Where an attribute stands first, by "element.attribute".
    first: dict[str, Place] = field(default_factory=dict)
    compiler: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)  #: Warnings of MuJoCo's compiler.
    elements: int = 0
    copies: float = 0
    includes: set[Path] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The whole as one string."""
        return "\n".join(self.lines)

    def leave(self, key: str, place: Place) -> None:
        """Remember something that is taken out."""
        self.left.setdefault(key, []).append(place)

    def watch(self, tag: str, attributes: Iterable[str], place: Place) -> None:
        """Remember the first place of each attribute."""
        for name in attributes:
            self.first.setdefault(f"{tag}.{name}", place)


@dataclass(frozen=True)
class _Open:
    """An element to write, or the end of one."""

    element: Element
    file: str
    root_line: int  #: 0 in the main file.
    inside: str  #: Tag of the element around it.
    top: str  #: Section it stands in.
    copies: float = 1
    body: int = 0
    end: bool = False

    @property
    def place(self) -> Place:
        line = self.element.line
        return Place(self.file, line, self.root_line or line)


def read_document(path: Path, folders: Iterable[Path] = (), *, strict: bool = False) -> Document:
    """Read an MJCF file, those it includes and those it attaches parts of.

    Raises:
        RobotFileError: if a file cannot be read, is no MJCF, or passes a limit; when strict, also
            for what could be read all the same.
    """
    notes = Notes(str(path), strict)
    return _read_into(Document(path, notes, tuple(Path(folder) for folder in folders)), read(path))


def _read_into(document: Document, data: bytes) -> Document:
    """Read the content of a document's file."""
    path, notes = document.path, document.notes
    root = parse(data, str(path), max_depth=MAX_DEPTH, forgive=notes.blemish)
    if root.tag != "mujoco":
        raise RobotFileError(
            f"the root element is <{excerpt(root.tag)}>",
            file=path,
            line=root.line,
            expected="<mujoco>",
            fix="give an MJCF file",
        )
    document.includes.add(path.resolve())
    # depth first without recursion: files may be nested deep
    todo = [_Open(root, str(path), 0, "", "")]
    while todo:
        item = todo.pop()
        if item.end:
            _write(document, item, f"</{item.element.tag}>")
            continue
        children = list(_begin(document, item))
        todo.extend(reversed(children))
    return document


def read_reference(path: Path, place: Place, called: str) -> bytes:
    """Return the content of a file that the document names; errors speak of that place."""
    try:
        return read(path)
    except RobotFileError as error:
        raise RobotFileError(
            f"{called}: {error.what}",
            file=place.file,
            line=place.line,
            fix="correct the name, or put the file there",
        ) from None


def resolve_inside(document: Document, name: str, place: Place, role: str) -> Path:
    """Return the path of a file named by the document: in its own folder or the one above.

    A name in an included file is relative to that file, or to the main file if there is none.
    """
    folder = document.path.resolve().parent
    try:
        path = (Path(place.file).resolve().parent / name).resolve()
        if not path.exists():
            path = (folder / name).resolve()
        roots = (folder, folder.parent, *(more.resolve() for more in document.folders))
        allowed = any(path.is_relative_to(root) for root in roots)
    except (OSError, ValueError, RuntimeError):
        allowed = False
    if not allowed:
        raise RobotFileError(
            f"{role} '{excerpt(name)}' lies outside the folders that may be read",
            file=place.file,
            line=place.line,
            expected=f"a file under '{folder.parent}'",
            fix="copy it into the folder of the robot file, or name its folder in package_dirs",
        )
    return path


def _begin(document: Document, item: _Open) -> Iterator[_Open]:
    """Write the start of an element, unless it is taken out, and yield what comes inside."""
    element, tag = item.element, item.element.tag
    if tag == "include":
        yield from _include(document, item)
        return
    if _is_taken_out(document, item):
        return
    if tag == "model" and item.top == "asset":
        _read_model(document, item)
        return
    if tag == "attach":
        _attach(document, item)
        return
    # the element itself, with the attributes that stay
    attributes = _attributes(document, item)
    copies = item.copies * _copies(item)
    _count(document, item, copies)
    body = _remember(document, item)
    text = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    if not element.children:
        _write(document, item, f"<{tag}{text}/>")
        return
    _write(document, item, f"<{tag}{text}>")
    top = tag if item.inside == "mujoco" else item.top
    for child in element.children:
        yield _Open(child, item.file, item.root_line, tag, top, copies, body)
    yield _Open(element, item.file, item.root_line, item.inside, item.top, end=True)


def _count(document: Document, item: _Open, copies: float) -> None:
    """Refuse a model that becomes too large before MuJoCo makes it."""
    document.elements += 1
    document.copies += copies - 1
    for number, limit, what in (
        (document.elements, MAX_ELEMENTS, "elements"),
        (document.copies, MAX_COPIES, "replicated elements"),
    ):
        if number > limit:
            raise RobotFileError(
                f"more than {limit:,} {what}",
                file=item.place.file,
                line=item.place.line,
                element=f"<{excerpt(item.element.tag)}>",
                fix="make the model smaller",
            )


def _is_taken_out(document: Document, item: _Open) -> bool:
    """Tell whether an element is left out of the text, and remember it."""
    tag, place = item.element.tag, item.place
    # sections without a counterpart: remember each element
    if item.inside == "mujoco" and tag in SECTIONS:
        for child in item.element.children:
            line = child.line
            inside = Place(place.file, line, item.root_line or line)
            document.leave(tag, inside)
            if child.tag == "pair":
                document.pairs.append((dict(child.attributes), inside))
            document.watch(tag, child.attributes, inside)
        return True
    # defaults of elements that stay
    if item.top == "default":
        if tag in WATCHED:
            document.watch(tag, item.element.attributes, place)
        return tag not in DEFAULTS
    if item.inside == "mujoco" and tag in PICTURE:
        return True
    if tag == "flag":
        return False
    if tag in LOOKS or tag == "lengthrange":
        return True
    # tendon and flex constraints
    if item.inside == "equality" and tag not in EQUALITIES:
        document.leave("equality", place)
        return True
    if tag in ("plugin", "flexcomp"):
        document.leave(tag, place)
        return True
    return False


def _attributes(document: Document, item: _Open) -> dict[str, str]:
    """Return the attributes that stay."""
    tag = item.element.tag
    given = check_attributes(item.element, item.place.file, document.notes)
    if tag in WATCHED and item.inside != "equality":
        document.watch(tag, given, item.place)
    if tag == "geom" and item.top != "default":
        document.first.setdefault("geom", item.place)
    # files are found and read here, on one thread
    if tag == "compiler":
        document.compiler |= {k: v for k, v in given.items() if k in COMPILER_SKIPPED}
        given = {k: v for k, v in given.items() if k not in COMPILER_SKIPPED}
        return {**given, "usethread": "false"}
    if tag == "option":
        return {name: value for name, value in given.items() if name in OPTIONS}
    if tag == "flag":
        return {name: value for name, value in given.items() if name in FLAGS}
    if "equality" in (tag, item.inside):
        return {name: value for name, value in given.items() if name not in CONTACT}
    if tag == "material":
        given.pop("texture", None)
    if tag == "mesh" and item.top == "asset":
        return _mesh(document, item, given)
    return given


def _mesh(document: Document, item: _Open, given: dict[str, str]) -> dict[str, str]:
    """Take the file's name out of a mesh asset; the reader decides whether it is needed."""
    place = item.place
    # a built-in mesh of a few numbers can have millions of vertices
    if "params" in given:
        sizes = [abs(float(x)) for x in given["params"].split()]
        if math.prod(max(x, 1.0) for x in sizes) > 4096:
            raise RobotFileError(
                f"a built-in mesh with params '{excerpt(given['params'])}'",
                file=place.file,
                line=place.line,
                element="<mesh>",
                expected="numbers whose product is at most 4096",
                fix="make the mesh coarser",
            )
    file = given.pop("file", None)
    given.pop("content_type", None)
    if file is not None:
        given.setdefault("name", PurePosixPath(file.replace("\\", "/")).stem)
        document.meshes[given["name"]] = MeshFile(file, place)
    return given


def _copies(item: _Open) -> float:
    """Return how many times the content of an element is made."""
    if item.element.tag not in ("replicate", "composite"):
        return 1
    counts = item.element.attributes.get("count", "1").split()
    return math.prod(max(1.0, float(count)) for count in counts)


def _remember(document: Document, item: _Open) -> int:
    """Note the places of bodies, inertias and joints; return the number of the body."""
    tag, place = item.element.tag, item.place
    if item.inside == "equality":
        document.equalities.append(place)
    if item.element.attributes.get("type") == "plane" and item.top == "worldbody":
        document.planes.append(place)
    if item.top != "worldbody":
        return item.body
    # MuJoCo numbers bodies and joints in the order of the file
    if tag in ("replicate", "composite"):
        document.generated = True
    elif tag == "body":
        document.bodies.append(place)
        return len(document.bodies)
    elif tag == "inertial":
        document.inertias[item.body] = place
    elif tag in ("joint", "freejoint"):
        document.joints.append(place)
    return item.body


def _refusal(item: _Open, what: str, fix: str) -> RobotFileError:
    place, element = item.place, f"<{item.element.tag}>"
    return RobotFileError(what, file=place.file, line=place.line, element=element, fix=fix)


def _read_model(document: Document, item: _Open) -> None:
    """Read a file that parts are attached from; limits hold for all files together."""
    place, name = item.place, item.element.attributes.get("file")
    if not name:
        raise _refusal(item, "no attribute 'file'", "name the file of the model")
    path = resolve_inside(document, name, place, "model file")
    if path in document.includes:
        raise _refusal(item, f"'{excerpt(name)}' contains itself", "attach other files only")
    if len(document.includes) > MAX_INCLUDES:
        raise _refusal(item, f"more than {MAX_INCLUDES} files are read", "join the files")
    # the part counts towards the limits of the whole
    data = read_reference(path, place, f"model file '{excerpt(name)}'")
    part = Document(path, document.notes, document.folders)
    part.elements, part.copies = document.elements, document.copies
    part.includes = {*document.includes, path}
    _read_into(part, data)
    document.elements, document.copies = part.elements, part.copies
    document.models[item.element.attributes.get("name", path.stem)] = part
    # what is left out of the part is left out of the whole
    for key, places in part.left.items():
        for each in places:
            document.leave(key, Place(each.file, each.line, place.root_line))


def _attach(document: Document, item: _Open) -> None:
    """Put a frame where a part of another model file belongs."""
    given = item.element.attributes
    frame = f"sixfold attachment {len(document.attachments)}"
    document.attachments.append(
        Attachment(
            frame, given.get("model", ""), given.get("body"), given.get("prefix", ""), item.place
        )
    )
    document.generated = True
    _count(document, item, item.copies)
    _write(document, item, f"<frame name={quoteattr(frame)}/>")


def _include(document: Document, item: _Open) -> Iterator[_Open]:
    """Yield the elements of an included file instead of the include."""
    place = item.place
    name = item.element.attributes.get("file")
    if not name:
        raise _refusal(item, "no attribute 'file'", "name the file to include")
    path = resolve_inside(document, name, place, "included file")
    if path in document.includes:
        raise _refusal(item, f"'{excerpt(name)}' is included twice", "include each file once")
    if len(document.includes) > MAX_INCLUDES:
        raise _refusal(item, f"more than {MAX_INCLUDES} files are included", "join the files")
    document.includes.add(path)
    data = read_reference(path, place, f"included file '{excerpt(name)}'")
    root = parse(data, str(path), max_depth=MAX_DEPTH, forgive=document.notes.blemish)
    for child in root.children:
        yield _Open(
            child, str(path), place.root_line, item.inside, item.top, item.copies, item.body
        )


def _write(document: Document, item: _Open, line: str) -> None:
    document.lines.append(line)
    document.places.append(item.place)
