"""Plain-text pictures of a model, shared by several commands."""

from __future__ import annotations

from sixfold.errors import visible
from sixfold.model import Joint, Model

WIDTH = 80
"""Columns that every line of a command fits in."""
MAX_INDENT = 36
"""Columns of indentation; deeper bodies show their depth as a number."""


def tree_lines(model: Model, width: int = WIDTH) -> list[str]:
    """Return the kinematic tree as indented lines, children under their parent."""
    lines = [cut(visible(model.base_name), width)]
    children = _children(model)
    stack = [(k, "") for k in reversed(children[-1])]
    while stack:
        k, indent = stack.pop()
        body = model.bodies[k]
        last = k == children[body.parent][-1]
        branch = "└─ " if last else "├─ "
        name, joint = visible(body.name), visible(body.joint_name)
        before = indent if len(indent) <= MAX_INDENT else f"({len(indent) // 3 + 1}) "
        lines += _wrapped(before + branch, name, f"[{joint}: {joint_text(body.joint)}]", width)
        deeper = indent + ("   " if last else "│  ")
        stack += [(child, deeper) for child in reversed(children[k])]
    return lines


def cut(text: str, width: int) -> str:
    """Return a text of at most so many columns."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _wrapped(before: str, name: str, joint: str, width: int) -> list[str]:
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


def _children(model: Model) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {k: [] for k in range(-1, model.nb)}
    for k, parent in enumerate(model.parent):
        children[parent].append(k)
    return children
