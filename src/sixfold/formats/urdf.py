"""URDF files: links and joints into a Model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from sixfold.errors import ModelError, RobotFileError, UnknownNameError, near_names
from sixfold.formats.urdf_elements import (
    AT_REST,
    Color,
    Mimic,
    Picture,
    UrdfJoint,
    add_color,
    inertia,
    pictures,
    read_joint,
)
from sixfold.formats.xml import LARGEST, Element, Fields, Notes, excerpt, reason
from sixfold.model import Fixed, Free, Geometry, Link, Model, ModelBuilder, SourceInfo
from sixfold.scalar import exact
from sixfold.spatial import ZERO3, Inertia, Transform, Vector3
from sixfold.spatial.rotations import rotation_from_matrix


def root_of(file: str, links: Mapping[str, Any], joints: Mapping[str, UrdfJoint]) -> str:
    """Return the one link that no joint carries.

    Raises:
        RobotFileError: if a joint names an unknown link, a link has two parents, there is no root
            or a second one, or joints close a loop.
    """
    # each link has one joint that carries it, except the root
    carried: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                near = near_names(name, links)
                joint.fail(
                    f"its {end} link '{excerpt(name)}' does not exist",
                    f"did you mean {', '.join(map(repr, near))}?" if near else "write the <link>",
                )
        if joint.parent == joint.child:
            joint.fail(
                f"link '{excerpt(joint.child)}' is its parent and its child",
                "name another link as parent",
            )
        if joint.child in carried:
            other = carried[joint.child]
            joint.fail(
                f"link '{excerpt(joint.child)}' already has a parent, "
                f"by joint '{excerpt(other.name)}' on line {other.line}",
                "remove one of the two joints: the links must make a tree",
            )
        carried[joint.child] = joint
    # exactly one link hangs from no joint
    roots = [name for name in links if name not in carried]
    if len(roots) > 1:
        raise RobotFileError(
            f"is a second root, next to link '{excerpt(roots[0])}': no joint carries it",
            file=file,
            line=links[roots[1]].line,
            element=f"link '{excerpt(roots[1])}'",
            expected="one link that is no joint's child",
            got=f"{len(roots)}: {', '.join(map(excerpt, roots[:5]))}",
            fix=f"write a joint with it as child, or with '{excerpt(roots[0])}' as child",
        )
    _refuse_loops(links, carried)
    return roots[0]


def _refuse_loops(links: Mapping[str, Any], carried: Mapping[str, UrdfJoint]) -> None:
    """Walk from each link towards the root; whoever meets its own path is in a loop."""
    done: set[str] = set()
    for start in links:
        path: dict[str, None] = {}
        name = start
        while name in carried and name not in done:
            if name in path:
                loop = [*path][[*path].index(name) :]
                carried[name].fail(
                    f"joints close a loop through links {', '.join(map(excerpt, loop[:5]))}"
                    + (", ..." if len(loop) > 5 else ""),
                    "remove one joint of the loop: the links must make a tree",
                )
            path[name] = None
            name = carried[name].parent
        done.update(path)


def followers(joints: Mapping[str, UrdfJoint], notes: Notes) -> dict[str, Mimic]:
    """Return the law of each joint that follows others.

    A joint whose master does not exist or does not move stays free: real files have such joints.

    Raises:
        RobotFileError: at the line of a <mimic> that follows a joint of several degrees of freedom,
            itself, or others in a ring.
    """
    laws: dict[str, Mimic] = {}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        # a joint whose master does not exist or does not move stays free
        masters = [master for master, _ in joint.mimic.terms]
        still = [
            master for master in masters if master not in joints or not joints[master].joint.nv
        ]
        if still:
            why = "is fixed" if still[0] in joints else "does not exist"
            what = f"follows joint '{excerpt(still[0])}', which {why}"
            fix = "name a joint that moves, or remove the <mimic>"
            notes.blemish(joint.error(what, fix, line=joint.mimic.line), "it stays free")
            continue
        for master in masters:
            _check_master(joint, joints[master])
        laws[joint.name] = joint.mimic
    _refuse_rings(laws, joints)
    return laws


def _refuse_rings(laws: Mapping[str, Mimic], joints: Mapping[str, UrdfJoint]) -> None:
    # chains of one master each; the builder finds rings of several
    checked: set[str] = set()
    for start in laws:
        path: set[str] = set()
        name = start
        while name in laws and len(laws[name].terms) == 1 and name not in checked:
            if name in path:
                _fail(joints[name], "follows itself by way of others", "name a free joint")
            path.add(name)
            name = laws[name].terms[0][0]
        checked.update(path)


def _check_master(joint: UrdfJoint, master: UrdfJoint) -> None:
    if master is joint:
        _fail(joint, "follows itself", "name another joint")
    if master.joint.nv != 1:
        what = f"follows joint '{excerpt(master.name)}', which is {master.joint.kind}"
        _fail(joint, what, "name a joint of one freedom, or make this one fixed")


def _fail(joint: UrdfJoint, what: str, fix: str) -> None:
    assert joint.mimic is not None
    joint.fail(what, fix, line=joint.mimic.line)


GRAVITY = (0.0, 0.0, -9.81)
ROBOT, SETTINGS = frozenset({"name", "version"}), frozenset({"gravity", "friction_speed"})
LINK, INERTIAL = frozenset({"name"}), frozenset({"inertial"})
PICTURES = frozenset({"visual", "collision"})
#: Body (-1 for the base) and placement on it of each link.
Attachments = Mapping[str, tuple[int, Transform]]


class UrdfLink(NamedTuple):
    """A link as the file gives it."""

    name: str
    inertia: Inertia | None
    inertia_line: int
    pictures: tuple[Picture, ...]
    line: int


class UrdfReader:
    """Reads the children of a <robot>; `model` makes the tree of them."""

    def __init__(
        self, root: Element, file: str, stem: str = "robot", *, strict: bool = False
    ) -> None:
        """Keep the root element; `stem` is the model's name when the element has none."""
        self.robot = Fields(file, root, "<robot>")
        self.notes = Notes(file, strict)
        self.name = root.attributes.get("name", "")
        if not self.name:
            self.name = stem
            error = self.robot.error("has no name", 'write <robot name="...">')
            self.notes.blemish(error, f"'{excerpt(stem)}' is read")
        self.links: dict[str, UrdfLink] = {}
        self.joints: dict[str, UrdfJoint] = {}
        self.colors: dict[str, Color] = {}
        self.settings: Fields | None = None

    def _read(self, element: Element) -> None:
        """Read one child of the root."""
        fields = Fields(self.robot.file, element, element.tag, self.robot)
        if element.tag.lower() in ("link", "joint") and element.tag.lower() != element.tag:
            error = fields.error("is in capitals", "write it in lower case")
            element.tag = element.tag.lower()
            self.notes.blemish(error, f"it is read as <{element.tag}>")
        # each kind of child has its reader; others are remarked
        if element.tag == "link":
            self._link(fields)
        elif element.tag == "joint":
            joint = read_joint(fields, self.notes)
            if joint.name in self.joints:
                first = self.joints[joint.name].line
                fields.fail(f"the name is taken by the joint on line {first}", "rename one of them")
            self.joints[joint.name] = joint
        elif element.tag == "material":
            add_color(fields, self.colors, self.notes)
        elif element.tag == "sixfold":
            if self.settings:
                fields.fail(f"stands twice, first on line {self.settings.line}", "keep one of them")
            fields.open(self.notes, SETTINGS)
            self.settings = fields
        elif element.tag in ("xacro:property", "xacro:arg"):
            error = fields.error("is left over from xacro", "remove it")
            self.notes.blemish(error, "it is left out")
        elif element.tag.startswith("xacro:") or element.tag == "macro":
            fields.fail(
                "is a macro of xacro, which has not been run",
                "expand the file first: xacro robot.urdf.xacro > robot.urdf",
            )
        else:
            self.notes.add(f"<{excerpt(element.tag)}> in <robot>", element.line)

    def _link(self, link: Fields) -> None:
        name = link.read_name("link")
        if name in self.links:
            first = self.links[name].line
            link.fail(f"the name is taken by the link on line {first}", "rename one of them")
        inertial = link.open(self.notes, LINK, INERTIAL, PICTURES).get("inertial")
        self.links[name] = UrdfLink(
            name=name,
            inertia=None if inertial is None else inertia(inertial, self.notes),
            inertia_line=(inertial or link).line,
            pictures=tuple(pictures(link, self.notes)),
            line=link.line,
        )

    def model(
        self,
        *,
        floating_base: bool = False,
        free_mimics: bool = False,
        package_dirs: tuple[str, ...] = (),
    ) -> Model:
        """Return the model of all that was read.

        Args:
            floating_base: put a free joint between the world and the root link.
            free_mimics: leave joints free that the file lets follow others.
            package_dirs: folders for meshes, only kept.
        """
        robot, notes, links, joints = self.robot, self.notes, self.links, self.joints
        # children in the order of the file, so that errors name the first
        for element in robot.element.children:
            self._read(element)
        robot.element.children = []  # each has been checked: what is left is the root's own
        robot.open(notes, ROBOT)
        if not links:
            robot.fail("has no <link>", 'write at least one <link name="..."/>')
        # the tree first: the builder needs its root
        base = root_of(robot.file, links, joints)
        laws = {} if free_mimics else followers(joints, notes)
        # bodies in the order of the joints; the builder sorts them parent first
        builder = self._builder(base, floating_base)
        for joint in joints.values():
            _add(builder, joint, links)
        for follower, law in laws.items():
            builder.couple(follower, *law.terms, offset=law.offset)

        def extra_fields(attachments: Attachments) -> dict[str, Any]:
            return {
                "geometries": _geometries(links.values(), attachments, self.colors, notes),
                "origin": SourceInfo(
                    file=robot.file,
                    links=tuple(
                        Link(name, *attachments[name], link.inertia, link.line, link.inertia_line)
                        for name, link in links.items()
                    ),
                    joint_lines={joint.name: joint.line for joint in joints.values()},
                    package_dirs=package_dirs,
                    notes=notes.lines(),
                    blemishes=notes.blemishes(),
                ),
            }

        return _build_model(builder, extra_fields, robot, joints)

    def _builder(self, base: str, floating: bool) -> ModelBuilder:
        """Return a builder with the root link as base, or on a free joint above the world."""
        # a free joint of the file's own serves as the base
        first = [joint for joint in self.joints.values() if joint.parent == base]
        if floating and len(first) == 1 and isinstance(first[0].joint, Free):
            text = "the file's own floating joint serves as the floating base"
            self.notes.say(text, first[0].line)
            floating = False
        ours = self.settings
        builder = ModelBuilder(
            self.name,
            base_name=_free_name(("world", "universe", "world_"), self.links) if floating else base,
            gravity=ours.numbers("gravity", 3, GRAVITY) if ours else GRAVITY,
            friction_speed=_friction_speed(ours),
        )
        if floating:
            names = ("floating_base", "root_joint", "floating_base_")
            name = _free_name(names, self.joints)
            mass = self.links[base].inertia
            builder.add_body(base, joint=Free(), joint_name=name, inertia=mass)
        return builder


def _friction_speed(ours: Fields | None) -> float:
    speed = ours.number("friction_speed", 0.0) if ours else 0.0
    if ours and speed < 0:
        ours.fail("friction_speed is negative", "give a number >= 0", got=repr(speed))
    return speed


def _free_name(wanted: Iterable[str], taken: Iterable[str]) -> str:
    """Return the first name that is not taken."""
    names = set(taken)
    *listed, stem = wanted
    counted = (f"{stem}{k}" for k in range(len(names) + 1))
    return next(name for name in (*listed, *counted) if name not in names)


def _add(builder: ModelBuilder, joint: UrdfJoint, links: dict[str, UrdfLink]) -> None:
    """Add the child link of a joint to the model."""
    parent, placement = joint.parent, joint.placement
    turned = None if joint.normal is None else _plane(joint.normal)
    try:
        if turned is not None:
            # the body keeps the plane's axes; the link is a frame that is turned back
            plane = _free_name((f"{joint.child}_plane", f"{joint.child}_plane_"), links)
            builder.add_body(
                plane,
                parent=parent,
                joint=joint.joint,
                joint_name=joint.name,
                placement=turned @ placement,
                **joint.properties,
            )
            builder.add_body(
                joint.child,
                parent=plane,
                joint=Fixed(),
                joint_name=f"{joint.name} (turned back)",
                placement=turned.inverse(),
                inertia=links[joint.child].inertia,
            )
            return
        builder.add_body(
            joint.child,
            parent=parent,
            joint=joint.joint,
            joint_name=joint.name,
            placement=placement,
            inertia=links[joint.child].inertia,
            **joint.properties,
        )
    except ModelError as error:
        what, fix = reason(error)
        joint.fail(what.split("': ", 1)[-1], fix)


def _plane(normal: Vector3) -> Transform | None:
    """Return the least turn that takes the z axis to a normal, None when there is none to take."""
    x, y, z = map(float, normal)
    if x == 0 and y == 0 and z > 0:
        return None
    if x == 0 and y == 0:
        return Transform(
            rotation_from_matrix((1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)), ZERO3
        )
    # R = 1 + [w] + [w]^2 / (1 + z) with w = e_z x normal; 1 + z without cancellation below
    h = 1 / (1 + z) if z > -0.5 else (1 - z) / (x * x + y * y)
    R = (1 - x * x * h, -x * y * h, x, -x * y * h, 1 - y * y * h, y, -x, -y, z)
    return Transform(rotation_from_matrix(R), ZERO3)


def _build_model(
    builder: ModelBuilder,
    extra_fields: Callable[[Attachments], dict[str, Any]],
    robot: Fields,
    joints: dict[str, UrdfJoint],
) -> Model:
    try:
        model = builder.build(extra_fields)
    except (ModelError, UnknownNameError) as error:
        what, fix = reason(error)
        robot.fail(what.split("': ", 1)[-1], fix)
    # products of ratios along a chain may overflow
    for coupling in model.couplings:
        numbers = (coupling.offset, *(ratio for _, ratio in coupling.terms))
        if not all(abs(x) <= LARGEST for x in numbers):
            joint = joints[model.joint_names[coupling.follower]]
            joint.fail(
                "its chain of <mimic> multiplies up to a number that is too large",
                "correct multiplier and offset",
                expected=f"at most {LARGEST:g} in size",
            )
    return model


def _geometries(
    links: Iterable[UrdfLink], attachments: Attachments, named: Mapping[str, Color], notes: Notes
) -> tuple[Geometry, ...]:
    """Return the shapes by body, in the order of the file."""
    shown_by = [(link, picture) for link in links for picture in link.pictures]
    # a colour given with one shape may be meant by name with another
    colors = {p.material: p.color for _, p in reversed(shown_by) if not p.by_reference}
    colors |= named
    # shapes of links that the builder merged lie on the body that carries them
    found: list[tuple[float, Geometry]] = []
    for link, picture in shown_by:
        body, X = attachments[link.name]
        if picture.by_reference and picture.material not in colors:
            notes.say(f"material '{excerpt(picture.material)}' has no colour", picture.line)
        shape = Geometry(
            body=body,
            placement=picture.placement if _at_rest(X) else (picture.placement @ X).map(exact),
            shape=picture.shape,
            color=colors.get(picture.material) if picture.by_reference else picture.color,
            material=picture.material,
            name=picture.name,
            link=link.name if picture.link is None else picture.link,
            collides=picture.collides,
            contact=picture.contact,
        )
        found.append((picture.order, shape))
    found.sort(key=lambda pair: (pair[0], pair[1].body))
    return tuple(shape for _, shape in found)


def _at_rest(X: Transform) -> bool:
    return X.E is AT_REST.E and X.r is AT_REST.r
