"""Small robots with one thing wrong, as a file would give them."""

from dataclasses import replace

import sixfold as sf
from sixfold.model import Box, Geometry, Link, SourceInfo

ROD = sf.Inertia.from_mass(2.0, (0.0, 0.0, 0.15), (0.016, 0.016, 0.001))


def chain(*inertias, step=0.3, joint="y", **properties):
    """Return links a, b, c... one above the other."""
    builder = sf.ModelBuilder("arm")
    before = None
    for k, inertia in enumerate(inertias):
        name = "abcdefgh"[k]
        builder.add_body(
            name,
            parent=before,
            joint=sf.Revolute(joint),
            joint_name=f"j{name}",
            placement=(0, 0, step) if k else None,
            inertia=inertia,
            **properties,
        )
        before = name
    return builder


def with_lines(model, **changes):
    """Return the model as if arm.urdf had given it: body k on line 10 k + 1, joint on 100 + k."""
    links = tuple(
        Link(body.name, k, sf.Transform.identity(), body.inertia, 10 * k + 1, 10 * k + 2)
        for k, body in enumerate(model.bodies)
    )
    lines = {name: 100 + k for k, name in enumerate(model.joint_names)}
    return replace(model, origin=SourceInfo("arm.urdf", links, lines), **changes)


def box_on(k, size, at=(0.0, 0.0, 0.0), link=""):
    return Geometry(k, sf.Transform.translation(at), Box(size), link=link)


def codes(model, **options):
    return [(f.code, f.severity) for f in sf.diagnose(model, **options).findings]


def only(model, code):
    """Return the one finding of a code."""
    (found,) = [f for f in sf.diagnose(model).findings if f.code == code]
    return found
