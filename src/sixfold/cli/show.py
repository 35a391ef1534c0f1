"""Plain-text pictures of a model, shared by several commands."""

from __future__ import annotations

from sixfold.errors import visible
from sixfold.model import Joint, Model


def tree_lines(model: Model) -> list[str]:
    """Return the kinematic tree as indented lines, children under their parent."""
    lines = [visible(model.base_name)]
    children = _children(model)
    stack = [(k, "") for k in reversed(children[-1])]
    while stack:
        k, indent = stack.pop()
        body = model.bodies[k]
        last = k == children[body.parent][-1]
        branch = "└─ " if last else "├─ "
        name, joint = visible(body.name), visible(body.joint_name)
        lines.append(f"{indent}{branch}{name}  [{joint}: {joint_text(body.joint)}]")
        deeper = indent + ("   " if last else "│  ")
        stack += [(child, deeper) for child in reversed(children[k])]
    return lines


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
