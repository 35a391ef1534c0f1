"""Where a model came from: its file, and the links of that file before fixed joints merged them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sixfold.spatial import Inertia, Transform


@dataclass(frozen=True)
class Link:
    """One link as its file gives it."""

    name: str
    body: int
    """Index of the body that it became or joined, -1 for the base."""
    placement: Transform
    """Body coordinates to link coordinates."""
    inertia: Inertia | None
    """In link coordinates, as the file gives it; None when the file gives none."""
    line: int
    inertia_line: int
    """Line of the inertia, or of the link when it has none."""


@dataclass(frozen=True)
class SourceInfo:
    """The file of a model.  It is not part of the model's content: equal models may differ in it.

    Only what the file says is kept, so that a finding can name its place; after editing a model the
    origin still speaks of the file.
    """

    file: str
    links: tuple[Link, ...] = ()
    joint_lines: Mapping[str, int] = field(default_factory=dict)
    """Line of each joint, fixed ones included."""
    package_dirs: tuple[str, ...] = ()
    """Folders under which meshes may be looked for."""
    notes: tuple[str, ...] = ()
    """What the file says and the model has no counterpart for, each with its line."""
    blemishes: tuple[str, ...] = ()
    """What is wrong in the file but does not stop it from being read, each with its line: these are
    the warnings of `load`."""
