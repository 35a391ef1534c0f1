"""Sample robots by name: fixed ones are JSON files of the package, families are made by code."""

from __future__ import annotations

from importlib.resources import files

from sixfold.errors import ModelError, UnknownNameError
from sixfold.formats.json_model import model_of_json
from sixfold.model import Model, samples
from sixfold.model.validate import body_count

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
"""Each sample with its description; at the neutral configuration all loops are closed."""
_FAMILIES = {
    "planar_chain": (samples.planar_chain, 1),
    "tree6": (samples.tree6, 0),
    "tree10": (samples.tree10, 0),
    "star": (samples.star, 1),
    "rolling_ball": (samples.rolling_ball, 0),
    "random_tree": (samples.random_tree, 2),
}
"""Samples made by code, each with how many numbers may follow its name."""


def sample(name: str) -> Model:
    """Return a sample robot by name, such as 'puma560', 'planar_chain:5' or 'random_tree:20:1'."""
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
    file = files("sixfold.model") / "robots" / f"{kind}.json"
    return model_of_json(file.read_bytes(), str(file))
