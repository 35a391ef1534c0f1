"""Robots of the package example-robot-data, where it is installed, by short names."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

INSIDE = "cmeel.prefix/share/example-robot-data/robots"
NAMES = {
    "alexander_v1.lowerBodyOnly": "alexander_lower_body",
    "TwoDofs": "asr_twodof",
    "g1_29dof_rev_1_0": "g1_29dof",
    "g1_29dof_with_hand_rev_1_0": "g1_29dof_with_hand",
    "quadrotor_base": "hector",
    "hyq_no_sensors": "hyq",
    "anymal-kinova": "anymal_b_kinova",
    "talos_full_v2": "talos_full",
    "talos_full_v2_box": "talos_full_box",
    "ur3_robot": "ur3",
    "ur5_robot": "ur5",
    "ur10_robot": "ur10",
    "ur3_joint_limited_robot": "ur3_limited",
    "ur5_joint_limited_robot": "ur5_limited",
    "ur10_joint_limited_robot": "ur10_limited",
}
"""Names of files whose own names are long; the others go by their own."""
IN_FAMILY = {
    ("anymal_b_simple_description", "anymal"): "anymal_b",
    ("anymal_c_simple_description", "anymal"): "anymal_c",
    ("double_pendulum_description", "double_pendulum"): "double_pendulum_urdf",
    ("quadruped_description", "quadruped"): "quadruped_urdf",
    ("ur_description", "ur3"): "ur3_empty",
}
"""Names of files that share theirs with another file or a sample."""
LICENCES = (
    ("Apache License", "Apache-2.0"),
    ("Mozilla Public License", "MPL-2.0"),
    ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"),
    ("Creative Commons", "Creative Commons"),
    ("Permission is hereby granted, free of charge", "MIT"),
)


def folder() -> Path | None:
    """Return the folder of the package's robots, None when it is not installed."""
    found = (Path(place) / INSIDE for place in sys.path)
    return next((path for path in found if path.is_dir()), None)


def robots() -> dict[str, Path]:
    """Return the file of each robot by its short name."""
    root = folder()
    if root is None:
        return {}
    paths = sorted(root.glob("*/*/*.urdf"))
    named = [_name(path.relative_to(root).parts[0], path.stem) for path in paths]
    count = Counter(named)
    return {
        name if count[name] == 1 else f"{path.relative_to(root).parts[0]}_{name}": path
        for name, path in sorted(zip(named, paths, strict=True))
    }


def _name(family: str, stem: str) -> str:
    given = IN_FAMILY.get((family, stem)) or NAMES.get(stem)
    return given or re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")


def licence(path: Path) -> str:
    """Return the licence of a robot as a file in its family's folder gives it."""
    root = folder()
    if root is None:
        return "see package"
    family = root / path.relative_to(root).parts[0]
    for file in sorted(family.glob("*")):
        if re.match(r"(?i)licen[sc]e|copying", file.name) and file.is_file():
            return _recognised(file.read_text("utf-8", "replace"))
    manifest = family / "package.xml"
    if manifest.is_file():
        found = re.search(r"<license>([^<]{1,60})</license>", manifest.read_text("utf-8"))
        if found:
            return found[1].strip()
    return "see package"


def _recognised(text: str) -> str:
    if "Redistribution and use in source and binary forms" in text:
        third = re.search(r"Neither the names? of", text)
        return "BSD-3-Clause" if third else "BSD-2-Clause"
    return next((name for words, name in LICENCES if words in text), "see package")
