"""The pages for newcomers tell the truth about what can be installed and where it runs."""

import re
import tomllib

from tests.docs.blocks import DOCS

PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = (DOCS / "start" / "install.md").read_text(encoding="utf-8")


def rows(title):
    """Return the rows of the table in a section of the page."""
    section = INSTALL.split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [line.strip("| ").split(" | ") for line in lines]


def test_every_extra_has_its_row():
    named = [name for row in rows("Extras") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(named) == sorted(PROJECT["optional-dependencies"])


def test_the_extra_of_all_extras_names_them():
    (row,) = [row for row in rows("Extras") if row[0] == "`all`"]
    (all_of_them,) = PROJECT["optional-dependencies"]["all"]
    wanted = re.search(r"\[(.+)\]", all_of_them).group(1).split(",")
    assert sorted(re.findall(r"`(\w+)`", row[1])) == sorted(wanted)


def test_the_page_names_what_the_library_needs():
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or newer" in INSTALL
    for needed in PROJECT["dependencies"]:
        assert re.split(r"[>=<]", needed)[0] in INSTALL.lower()


def test_every_platform_is_tested_or_expected():
    platforms = rows("Platforms")
    assert len(platforms) >= 4
    for row in platforms:
        assert re.search(r"\btested\b|\bexpected\b|\bwork\b", row[1]), row
