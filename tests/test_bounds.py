"""The bounds of the dependencies are versions that the tests were run with."""

import re
import tomllib
from pathlib import Path

from sixfold.formats.mjcf import OLDEST

ROOT = Path(__file__).parent.parent


def number(text):
    """Return a version as whole numbers, without zeros at the end."""
    parts = [int(part) for part in text.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def pinned(name):
    """Return the versions that a file of constraints names."""
    lines = (ROOT / name).read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {package: number(version) for package, version in pairs}


def lower_bounds():
    """Return the lowest versions that pyproject.toml admits, core and extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in (text for group in groups for text in group):
        for version in re.findall(r">=\s*([0-9.]+)", requirement):
            yield re.match(r"[\w-]+", requirement)[0], number(version)


def test_lower_bounds_are_the_versions_of_the_lowest_environment():
    bounds = list(lower_bounds())
    assert {name for name, _ in bounds} >= {"numpy", "llvmlite", "click"}
    lowest = pinned("constraints-lowest.txt")
    assert dict(bounds) == lowest
    assert all(version == lowest[name] for name, version in bounds)


def test_the_usual_environment_is_not_below_the_bounds():
    usual = pinned("constraints.txt")
    for name, version in lower_bounds():
        assert usual[name] >= version


def test_the_oldest_mujoco_that_is_used_is_the_bound():
    assert list(OLDEST) == dict(lower_bounds())["mujoco"]
