"""The kinematic tree as text: `print(model)` and the command `inspect`."""

from __future__ import annotations

from typing import Any

from sixfold.errors import visible
from sixfold.model.joint import Joint

WIDTH = 80  #: Columns that every line fits in.
MAX_INDENT = 36  #: Columns of indentation; deeper bodies show their depth as a number.


MAX_BODIES = 60  #: Bodies that `print(model)` shows.


def tree_lines(model: Any, width: int = WIDTH, most: int | None = None) -> list[str]:
    """Return the kinematic tree as indented lines, children under their parent.

    Args:
        model: the robot.
        width: columns of a line.
        most: bodies to show; the rest is counted.
    """
    lines = [cut(visible(model.base_name), width)]
    children = _children(model)
    # depth first, without recursion: a chain may have thousands of bodies
    stack = [(k, "") for k in reversed(children[-1])]
    shown = 0
    while stack:
        if shown == most:
            return [*lines, f"... and {model.nb - shown} more bodies"]
        k, indent = stack.pop()
        shown += 1
        body = model.bodies[k]
        last = k == children[body.parent][-1]
        branch = "└─ " if last else "├─ "
        name, joint = visible(body.name), visible(body.joint_name)
        # deep trees: the depth as a number instead of ever wider indentation
        before = indent if len(indent) <= MAX_INDENT else f"({len(indent) // 3 + 1}) "
        lines += _wrap_branch(before + branch, name, f"[{joint}: {joint_text(body.joint)}]", width)
        deeper = indent + ("   " if last else "│  ")
        stack += [(child, deeper) for child in reversed(children[k])]
    return lines


def cut(text: str, width: int) -> str:
    """Cut a text to a width in columns."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _wrap_branch(before: str, name: str, joint: str, width: int) -> list[str]:
    """Return a body and its joint in one line, or in two where they do not fit."""
    if len(before) + len(name) + 2 + len(joint) <= width:
        return [f"{before}{name}  {joint}"]
    under = "".join(x if x in "│ " else " " for x in before)
    return [cut(before + name, width), cut(f"{under}   {joint}", width)]


def joint_text(joint: Joint) -> str:
    """Return the kind of a joint and its axis, if it has one."""
    axis = getattr(joint, "axis", None)
    if axis is None:
        return joint.kind
    shown = " ".join(f"{float(x):.4g}" for x in axis)
    return (
        f"{joint.kind} about ({shown})" if joint.kind != "prismatic" else f"slide along ({shown})"
    )


def _children(model: Any) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {k: [] for k in range(-1, model.nb)}
    for k, parent in enumerate(model.parent):
        children[parent].append(k)
    return children
