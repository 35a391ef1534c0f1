"""Robots by name: samples, the package example-robot-data, and what is neither."""

import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.formats import bundled
from sixfold.formats.bundled import SAMPLES
from tests.formats.small_robots import ARM

installed = pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package of three robots and nothing else."""
    root = tmp_path / "site" / bundled.INSIDE
    for path in (
        "one_description/urdf/same.urdf",
        "two_description/urdf/same.urdf",
        "arms/urdf/Big-Arm.v2.urdf",
    ):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(ARM)
    (root / "arms" / "LICENSE").write_text("Apache License\nVersion 2.0")
    (root / "one_description" / "package.xml").write_text("<license>MIT</license>")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    return root


def test_names_come_from_files_and_never_clash(package):
    assert sorted(bundled.robots()) == [
        "big_arm_v2",
        "one_description_same",
        "two_description_same",
    ]
    assert sf.load("big_arm_v2").name == "arm"


def test_licences_are_read_from_the_family(package):
    robots = bundled.robots()
    assert bundled.licence(robots["big_arm_v2"]) == "Apache-2.0"
    assert bundled.licence(robots["one_description_same"]) == "MIT"
    assert bundled.licence(robots["two_description_same"]) == "see package"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Permission is hereby granted, free of charge", "MIT"),
        (
            "Redistribution and use in source and binary forms. Neither the name of X",
            "BSD-3-Clause",
        ),
        ("Redistribution and use in source and binary forms", "BSD-2-Clause"),
        ("anything else", "see package"),
    ],
)
def test_usual_licences_are_recognised(package, text, name):
    (package / "two_description" / "COPYING").write_text(text)
    assert bundled.licence(bundled.robots()["two_description_same"]) == name


def test_a_name_of_nothing_lists_near_names(package):
    with pytest.raises(sf.errors.UnknownNameError, match=r"did you mean 'big_arm_v2'"):
        sf.load("big_arm")


def test_without_the_package_the_way_to_get_it_is_told(monkeypatch):
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(sf.errors.UnknownNameError, match="pip install example-robot-data"):
        sf.load("panda")
    with pytest.raises(sf.errors.UnknownNameError) as caught:
        sf.load("pumma560")
    assert "pip" not in str(caught.value)


def test_a_bare_word_is_a_name_first_and_a_path_when_it_looks_like_one(
    package, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    other = ARM.replace('name="arm"', 'name="mine"')
    (tmp_path / "big_arm_v2").write_text(other)
    (tmp_path / "plain").write_text(other)
    assert sf.load("big_arm_v2").name == "arm"
    assert sf.load("./big_arm_v2").name == "mine"
    assert sf.load(tmp_path / "big_arm_v2").name == "mine"
    assert sf.load("plain").name == "mine"
    with pytest.raises(sf.errors.RobotFileError, match="there is no such file"):
        sf.load("nothing.urdf")


def test_samples_come_before_anything_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum").write_text(ARM)
    assert sf.load("pendulum").name == "pendulum"
    assert sf.load("planar_chain:5").nv == 5


def test_the_command_lists_robots_with_path_and_licence(package):
    result = CliRunner().invoke(main, ["robots"])
    assert result.exit_code == 0
    assert all(name in result.output for name in SAMPLES)
    line = next(line for line in result.output.splitlines() if "big_arm_v2" in line)
    assert line.split() == ["big_arm_v2", "Apache-2.0", "arms/urdf/Big-Arm.v2.urdf"]


def test_the_command_tells_how_to_get_more(monkeypatch):
    monkeypatch.setattr("sys.path", [])
    assert "pip install example-robot-data" in CliRunner().invoke(main, ["robots"]).output


@installed
def test_every_file_of_the_collection_has_a_name_and_loads():
    robots = bundled.robots()
    assert len(robots) == len(set(robots.values())) >= 69
    assert not robots.keys() & SAMPLES.keys()
    assert {"panda", "ur5", "g1_29dof", "talos_reduced", "anymal_b", "anymal_c"} <= robots.keys()
    for name, path in robots.items():
        if name == "ur3_empty":
            with pytest.raises(sf.errors.RobotFileError, match=r"has no <link>"):
                sf.load(name)
            continue
        for floating in (False, True):
            model = sf.load(name, floating_base=floating)
            assert model.origin.file == str(path)
            assert len(model.origin.links) == len(model.bodies) + len(model.frames) + 1 - floating


@pytest.mark.parametrize(
    ("text", "suffix"), [("<robot name='a'>" + "x" * 5000, "urdf"), ('\n{"format": 1}', "json")]
)
def test_the_text_of_a_file_instead_of_its_path_is_refused_in_a_few_words(text, suffix):
    with pytest.raises(
        sf.errors.SixfoldError, match=rf"what a file holds(.|\n)*robot\.{suffix}"
    ) as e:
        sf.load(text)
    assert len(str(e.value)) < 400


@pytest.mark.parametrize("source", ["", b"<robot/>", 3])
def test_what_is_no_path_is_refused_with_the_argument(source):
    with pytest.raises(sf.errors.ArgumentError, match="load: argument 'source'"):
        sf.load(source)
