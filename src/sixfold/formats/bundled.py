"""Robots by name: the samples, and those of the package example-robot-data if installed."""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

from sixfold.errors import ModelError, UnknownNameError
from sixfold.formats.json_model import model_of_json
from sixfold.model import Model, samples
from sixfold.model.validate import body_count

#: Each sample with its description; at the neutral configuration all loops are closed.
SAMPLES = {
    "pendulum": "Concurrent Dynamics example 1: axis z, gravity along -y, hanging at q = 0.",
    "cart_pendulum": "Concurrent Dynamics example 2: a pendulum on a cart that slides along x.",
    "double_pendulum": (
        "Two links of 1 kg that swing about y, hanging along -z at q = 0; second angle relative."
    ),
    "planar_chain": (
        "N equal uniform rods of 1 kg and 1 m in the x-y plane, axis z, gravity along -y."
    ),
    "tree6": "Featherstone's example: lambda = [0, 1, 2, 1, 4, 4], joints R, P, P, R, R, R.",
    "tree10": "Fig. 2 of Concurrent Dynamics: ten bodies, nilpotency 5.",
    "star": (
        "Fig. 3 of Concurrent Dynamics: every other body is a child of the first, nilpotency 2."
    ),
    "puma560": (
        "Puma 560 by standard DH (Corke and Armstrong-Helouvry 1994), with motors and friction."
    ),
    "ma23": (
        "Khatib's six-axis MA23, rebuilt from its printed coefficients; the numbers are our own."
    ),
    "rolling_ball": (
        "Carius' planar ball as one user-defined joint; its motion subspace turns with the body."
    ),
    "floating_link": "Carius 6.2: a free base with one revolute link.",
    "random_tree": "Random tree of n bodies with every joint type, masses between 0.1 and 10 kg.",
    "four_bar_leg": (
        "A pelvis on a floating base with one leg, whose knee is driven by a crank and a rod."
    ),
    "delta": "A Delta robot: three arms, each with two rods between ball joints, carry a platform.",
    "gripper": "A gripper on a lift and a wrist; parallelograms keep both of its fingers upright.",
    "stewart": (
        "A Stewart platform: six legs that slide, universal joints below and ball joints above."
    ),
    "quadruped": (
        "A walking robot of 12 kg: a trunk on a floating base, four legs of three "
        "joints, ball feet."
    ),
}
#: Samples made by code, each with how many numbers may follow its name.
_FAMILIES = {
    "planar_chain": (samples.planar_chain, 1),
    "tree6": (samples.tree6, 0),
    "tree10": (samples.tree10, 0),
    "star": (samples.star, 1),
    "rolling_ball": (samples.rolling_ball, 0),
    "random_tree": (samples.random_tree, 2),
}


def sample(name: str) -> Model:
    """Return a sample robot by name, such as 'puma560', 'planar_chain:5' or 'random_tree:20:1'."""
    # "random_tree:20:1" is a family with its numbers
    kind, *numbers = name.split(":")
    if kind not in SAMPLES:
        raise UnknownNameError("sample robot", name, SAMPLES, where="sixfold.load")
    make, wanted = _FAMILIES.get(kind, (None, 0))
    if len(numbers) > wanted or not all(t.isdecimal() and len(t) < 10 for t in numbers):
        form = ":".join([kind, "N", "SEED"][: wanted + 1])
        raise ModelError(f"sample '{name}'", "does not read as a sample name", f"write {form}")
    values = [int(text) for text in numbers]
    if values and values[0] < 1:
        raise ModelError(f"sample '{name}'", "has no bodies", "ask for at least one body")
    if values:
        body_count(f"sample '{name}'", "N", values[0])
    if make is not None:
        return make(*values)
    # the other samples are files of our own format
    file = files("sixfold.model") / "robots" / f"{kind}.json"
    return model_of_json(file.read_bytes(), str(file))


INSIDE = "cmeel.prefix/share/example-robot-data/robots"
#: Names of files whose own names are long; the others go by their own.
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
#: Names of files that share theirs with another file or a sample.
IN_FAMILY = {
    ("anymal_b_simple_description", "anymal"): "anymal_b",
    ("anymal_c_simple_description", "anymal"): "anymal_c",
    ("double_pendulum_description", "double_pendulum"): "double_pendulum_urdf",
    ("quadruped_description", "quadruped"): "quadruped_urdf",
    ("ur_description", "ur3"): "ur3_empty",
}
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
    # names that several families share get the family's name in front
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
    # a licence file of the family, or the entry in its manifest
    for file in sorted(family.glob("*")):
        if re.match(r"(?i)licen[sc]e|copying", file.name) and file.is_file():
            return _license_name(file.read_text("utf-8", "replace"))
    manifest = family / "package.xml"
    if manifest.is_file():
        found = re.search(r"<license>([^<]{1,60})</license>", manifest.read_text("utf-8"))
        if found:
            return found[1].strip()
    return "see package"


def _license_name(text: str) -> str:
    if "Redistribution and use in source and binary forms" in text:
        third = re.search(r"Neither the names? of", text)
        return "BSD-3-Clause" if third else "BSD-2-Clause"
    return next((name for words, name in LICENCES if words in text), "see package")
