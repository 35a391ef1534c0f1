"""The moments of inertia as the digits of a URDF give them.

A model holds each inertia about the origin of its link.  Moments below the rounding of that move (a
point mass, or dust left by a CAD program) cannot be got back from it; here the file is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sixfold.errors import SixfoldError
from sixfold.formats import files
from sixfold.formats.xml import parse
from sixfold.model import SourceInfo
from sixfold.spatial import Symmetric3

ELEMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def file_tensors(origin: SourceInfo) -> dict[tuple[str, int], Symmetric3]:
    """Return tensors about the centre of mass by link name and line of the <inertial>.

    A file that is gone, changed or no URDF gives nothing for what no longer reads.
    """
    try:
        root = parse.parse(files.read(Path(origin.file)), origin.file)
    except (SixfoldError, OSError, ValueError):
        return {}
    return dict(_tensors(root))


def _tensors(root: parse.Element) -> Iterator[tuple[tuple[str, int], Symmetric3]]:
    for link in root.all("link"):
        for inertial in link.all("inertial"):
            for inertia in inertial.all("inertia"):
                texts = [inertia.attributes.get(name, "") for name in ELEMENTS]
                try:
                    tensor = Symmetric3(*map(float, texts))
                except ValueError:
                    continue
                yield (link.attributes.get("name", ""), inertial.line), tensor
