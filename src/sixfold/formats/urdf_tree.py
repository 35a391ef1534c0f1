"""Do the links and joints of a file make one tree?  And do mimic joints follow real ones?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sixfold.errors import RobotFileError, near_names
from sixfold.formats.notes import Notes
from sixfold.formats.urdf_joint import Mimic, UrdfJoint
from sixfold.formats.xml import shown


def root_of(file: str, links: Mapping[str, Any], joints: Mapping[str, UrdfJoint]) -> str:
    """Return the one link that no joint carries.

    Raises:
        RobotFileError: if a joint names an unknown link, a link has two parents, there is no root
            or a second one, or joints close a loop.
    """
    carried: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                near = near_names(name, links)
                joint.fail(
                    f"its {end} link '{shown(name)}' does not exist",
                    f"did you mean {', '.join(map(repr, near))}?" if near else "write the <link>",
                )
        if joint.parent == joint.child:
            joint.fail(
                f"link '{shown(joint.child)}' is its parent and its child",
                "name another link as parent",
            )
        if joint.child in carried:
            other = carried[joint.child]
            joint.fail(
                f"link '{shown(joint.child)}' already has a parent, "
                f"by joint '{shown(other.name)}' on line {other.line}",
                "remove one of the two joints: the links must make a tree",
            )
        carried[joint.child] = joint
    roots = [name for name in links if name not in carried]
    if len(roots) > 1:
        raise RobotFileError(
            f"is a second root beside link '{shown(roots[0])}': no joint carries it",
            file=file,
            line=links[roots[1]].line,
            element=f"link '{shown(roots[1])}'",
            expected="one link that is no joint's child",
            got=f"{len(roots)}: {', '.join(map(shown, roots[:5]))}",
            fix=f"write a joint with it as child, or with '{shown(roots[0])}' as child",
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
                    f"joints close a loop through links {', '.join(map(shown, loop[:5]))}"
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
        RobotFileError: at the line of a <mimic> that follows a joint of several freedoms, itself,
            or others in a ring.
    """
    laws: dict[str, Mimic] = {}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        masters = [master for master, _ in joint.mimic.terms]
        still = [
            master for master in masters if master not in joints or not joints[master].joint.nv
        ]
        if still:
            why = "is fixed" if still[0] in joints else "does not exist"
            what = f"follows joint '{shown(still[0])}', which {why}"
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
        what = f"follows joint '{shown(master.name)}', which is {master.joint.kind}"
        _fail(joint, what, "name a joint of one freedom, or make this one fixed")


def _fail(joint: UrdfJoint, what: str, fix: str) -> None:
    assert joint.mimic is not None
    joint.fail(what, fix, line=joint.mimic.line)
