"""The architecture page names every package, every setting, and nothing that is not there."""

import re
from pathlib import Path

import sixfold as sf
from tests.docs.blocks import DOCS

SOURCE = Path(sf.__file__).parent
TEXT = (DOCS / "architecture.md").read_text(encoding="utf-8")


def section(title):
    return TEXT.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_package_has_its_layer():
    layers = "".join(line for line in section("Layers").splitlines() if "|" in line)
    packages = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    modules = {p.stem for p in SOURCE.glob("*.py") if not p.stem.startswith("_")}
    assert packages | modules == set(re.findall(r"`(\w+)`", layers))


def test_every_environment_variable_is_explained():
    pattern = re.compile(r"SIXFOLD_[A-Z_]+")
    used = {name for p in SOURCE.rglob("*.py") for name in pattern.findall(p.read_text("utf-8"))}
    told = set(pattern.findall(section("Environment variables")))
    assert told == used | {"SIXFOLD_LAWS"}


def test_every_threshold_is_in_a_file_that_exists():
    rows = [
        line.split("|")
        for line in section("Thresholds, and why they have their values").splitlines()
        if line.startswith("|") and "`" in line
    ]
    assert len(rows) >= 12
    for row in rows:
        for name in re.findall(r"`([\w/]+)`", row[2]):
            assert (SOURCE / name).with_suffix(".py").is_file(), name


def test_the_files_to_start_with_exist():
    rows = [line for line in section("Where to start reading").splitlines() if "`" in line]
    assert len(rows) > 20
    for row in rows:
        if not row.startswith("|"):
            continue
        for name in re.findall(r"`([\w/]+)`", row.split("|")[3]):
            place = SOURCE / name
            assert place.with_suffix(".py").is_file(), name
