"""Files about the project say the same: versions, licence, dependencies, commands."""

import re
import tomllib
from pathlib import Path

import pytest

import sixfold as sf

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def read(path):
    """Return the content of a YAML file."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cited():
    return read(ROOT / "CITATION.cff")


@pytest.fixture(scope="module")
def recipe():
    return read(ROOT / "conda" / "meta.yaml")


def test_citation_has_what_the_format_asks_for(cited):
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert all("name" in author or "family-names" in author for author in cited["authors"])


def test_versions_and_licences_agree(cited, recipe):
    assert str(cited["version"]) == str(recipe["package"]["version"]) == sf.__version__
    assert cited["license"] == recipe["about"]["license"] == PROJECT["license"] == "MIT"
    assert cited["authors"] == [{"name": PROJECT["authors"][0]["name"]}]


def test_conda_recipe_asks_for_what_the_wheel_asks_for(recipe):
    assert recipe["package"]["name"] == PROJECT["name"] and recipe["build"]["noarch"] == "python"
    asked = {text.replace(" ", "") for text in recipe["requirements"]["run"]}
    python = f"python{PROJECT['requires-python']}"
    assert asked == {*(text.replace(" ", "") for text in PROJECT["dependencies"]), python}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert {*recipe["requirements"]["host"]} == {
        *build["requires"],
        "pip",
        f"python {PROJECT['requires-python']}",
    }
    assert recipe["build"]["entry_points"] == ["sixfold = sixfold_command:main"]
    assert PROJECT["scripts"] == {"sixfold": "sixfold_command:main"}


def test_workflow_runs_everywhere_and_on_every_python_that_is_named():
    jobs = read(WORKFLOW)["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert [name.split("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == PYTHONS
    marks = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: 3." in text}
    assert marks <= set(matrix["python"])
    assert {job for job in jobs if "timeout-minutes" in jobs[job]} == jobs.keys()


def test_windows_runs_the_commands_of_the_makefile():
    steps = read(WORKFLOW)["jobs"]["test"]["steps"]
    windows = next(step["run"] for step in steps if "== 'Windows'" in step.get("if", ""))
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    lint = made.split("\nlint:")[1].split("\n\n")[0]
    tools = re.findall(r"\$\(BIN\)/(ruff [^\n]*|mypy|lint-imports)", lint)
    assert len(tools) == 4
    for tool in tools:
        assert f"/{tool}\n" in windows or f"-m {tool}\n" in windows
    assert "pytest -n 2 --dist worksteal" in windows
    assert "pytest -n $(PROCESSES) --dist worksteal" in made and "PROCESSES ?= 2" in made


def test_targets_that_the_workflow_makes_exist():
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    wanted = set(re.findall(r"make ([a-z]+) PYTHON", WORKFLOW.read_text(encoding="utf-8")))
    assert wanted == {"test", "docs", "dist"}
    assert all(re.search(rf"^{name}:", made, re.M) for name in wanted)


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_issue_forms_have_a_name_a_description_and_fields(name):
    form = read(ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml")
    assert form["name"] and form["description"]
    fields = [field for field in form["body"] if field["type"] in ("textarea", "input")]
    assert len({field["id"] for field in fields}) == len(form["body"]) > 1
    assert all(field["attributes"]["label"] for field in fields)


def test_manners_are_written_down_and_refer_to_each_other():
    conduct = (ROOT / "CODE_OF_CONDUCT.md").read_text(encoding="utf-8")
    assert "(SECURITY.md)" in conduct and (ROOT / "SECURITY.md").exists()
    assert "(CODE_OF_CONDUCT.md)" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_release_notes_are_by_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.M)
    assert heads and all(re.fullmatch(r"Unreleased|\d+\.\d+\.\d+( .*)?", head) for head in heads)


def test_workflows_use_actions_by_digest_and_may_only_read():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        uses = re.findall(r"uses: *(\S+)(.*)", text)
        assert uses and "permissions:\n  contents: read\n" in text
        for action, after in uses:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", after), action
        assert text.count("write") == 0


def test_the_map_from_packages_to_tests_names_what_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.split("| changed | run |")[1].split("\n\n")[0].splitlines()[2:]
    assert len(rows) > 15
    for row in rows:
        changed, run = row.strip("| ").split(" | ")
        for name in re.findall(r"`([\w/.]+)`", changed):
            assert (ROOT / "src" / "sixfold" / name).exists() or name == "benchmarks", name
        for name in re.findall(r"`([\w/.]+)`", run):
            assert (ROOT / "tests" / name).exists(), name


def test_make_quick_names_tests_that_exist():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = text.split("QUICK := ")[1].split("\nquick:")[0].replace("\\\n", " ").split()
    assert len(listed) > 5 and all((ROOT / name).exists() for name in listed)
