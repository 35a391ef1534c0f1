"""`sixfold sweep STUDY`: what a file may say, the page, and what is refused."""

import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.sweeps.study_file import LONG_KEY, read_study

STUDY = """
title = "Weights & <loads>"
robot = "double_pendulum"
quantity = "inverse_dynamics"
rows = 600
seed = 3

[draw.q]
configuration = true

[draw.v]
normal = [0.0, [0.5, 0.1]]
"""


def run(tmp_path, text, *options):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return CliRunner().invoke(main, ["sweep", str(file), *options])


def test_a_study_gives_a_table_and_a_page(tmp_path):
    done = run(tmp_path, STUDY, "--engine", "serial")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0].startswith("Weights & <loads>: 600 rows in")
    assert all(len(line) <= 80 for line in lines[:-1])
    assert any(line.startswith("shoulder") for line in lines)
    page = (tmp_path / "study.html").read_text()
    assert "Weights &amp; &lt;loads&gt;" in page and "<loads>" not in page
    for words in ("What varied", "What came out", "configurations of double_pendulum", "<svg"):
        assert words in page
    assert "http" not in page.replace("http-equiv", "")


def test_rows_go_to_a_folder_in_the_format_asked_for(tmp_path):
    pytest.importorskip("zarr")
    folder = tmp_path / "rows"
    options = ("--engine", "serial", "--write", str(folder), "--format", "zarr")
    assert run(tmp_path, STUDY, *options).exit_code == 0
    assert {path.suffix for path in folder.iterdir()} == {".json", ".zarr"}


def test_the_numbers_of_a_study_are_those_of_the_call(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    read = read_study(tmp_path / "study.toml")
    model = sf.load("double_pendulum")
    draw = {
        "q": sf.sweeps.draws.configuration(model),
        "v": sf.sweeps.draws.normal(np.zeros(2), [0.5, 0.1]),
    }

    def work(q, v):
        return {"inverse_dynamics": sf.inverse_dynamics(model, q, v, np.zeros(2))}

    options = {"seed": 3, "reduce": "mean", "engine": "serial"}
    one = sf.sweeps.sweep(read.function, read.rows, draw=read.draw, **options)
    other = sf.sweeps.sweep(work, 600, draw=draw, **options)
    name = "inverse_dynamics"
    np.testing.assert_array_equal(one["mean"][name], other["mean"][name])


def test_a_function_of_ones_own_a_grid_and_rows_on_disk(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nimport sixfold as sf\n\n"
        "def swing(model, gain, length):\n"
        "    return {'far': gain * length, 'none': np.full(len(gain), np.nan)}\n"
    )
    text = """
    robot = "pendulum"
    function = "mine.py:swing"
    [grid]
    gain = [1.0, 2.0, 3.0]
    length = [0.5, 1.0]
    """
    folder = str(tmp_path / "rows")
    for reused in (False, True):
        where = ("--write", folder, "--out", f"{folder}.html")
        done = run(tmp_path, text, *where, "--workers", "1", "--allow-code")
        assert done.exit_code == 0, done.output
        assert ("6 of them from" in done.output) == reused
    assert "grid of 3 values" in (tmp_path / "rows.html").read_text()
    again = run(tmp_path, text, "--engine", "processes", "--workers", "1", "--allow-code")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rows = 600", "rows = 'many'"), "a number of rows"),
        (("rows = 600", ""), "either rows = NUMBER or a [grid]"),
        (("rows = 600", "row = 600"), "did you mean 'rows'"),
        (("quantity = ", "function = "), "--allow-code"),
        (("inverse_dynamics", "inverse_dynamic"), "did you mean 'inverse_dynamics'"),
        (('robot = "double_pendulum"', ""), "the name or file of a robot"),
        (("[draw.v]", "[draw.w]"), "no argument named 'w'"),
        (("normal = [0.0,", "normal = [[1.0, 2.0, 3.0],"), "lists of shape (2,)"),
        (("normal", "gaussian"), "one of configuration"),
        (("configuration = true", "configuration = false"), "configuration = true"),
        (("seed = 3", "seed = -3"), "seed"),
        (("[draw.q]", "[draw.q"), "a study in TOML"),
        (("[draw.q]", "[options]\nmethod = 'aba'\n[draw.q]"), "no option named 'method'"),
    ],
)
def test_studies_that_make_no_sense_are_refused(tmp_path, change, words):
    done = run(tmp_path, STUDY.replace(*change), "--engine", "serial")
    assert done.exit_code != 0
    text = done.output + str(done.exception or "")
    assert words in " ".join(text.split()), text


def test_options_without_effect_are_refused(tmp_path):
    for options, words in (
        (("--address", "tcp://127.0.0.1:1"), "--address"),
        (("--engine", "serial", "--workers", "2"), "--workers"),
        (("--engine", "serial", "--format", "zarr"), "--format"),
    ):
        done = run(tmp_path, STUDY, *options)
        assert done.exit_code == 2 and words in done.output
    missing = CliRunner().invoke(main, ["sweep", str(tmp_path / "none.toml")])
    assert missing.exit_code == 2 and "can be read" in missing.output


# -- code that a study names

EVIL = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef f(x):\n    return x\n"
GRID = "[grid]\nx = [1.0, 2.0]\n"


def study(folder, function):
    path = folder / "study.toml"
    path.write_text(f"function = {function!r}\n{GRID}")
    return path


def test_no_code_runs_unless_the_user_allows_it(tmp_path):
    (tmp_path / "mine.py").write_text(EVIL)
    for function in ("mine.py:f", f"{tmp_path}/mine.py:f", "os:getcwd", "antigravity:x"):
        path = study(tmp_path, function)
        with pytest.raises(sf.errors.NotApplicableError, match="--allow-code"):
            read_study(path)
        done = CliRunner().invoke(main, ["sweep", str(path)])
        assert done.exit_code == 2 and "--allow-code" in done.output
    assert not (tmp_path / "ran").exists()


def test_a_file_outside_the_folder_of_the_study_is_never_run(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir(), outside.mkdir()
    (outside / "evil.py").write_text(EVIL)
    (inside / "link.py").symlink_to(outside / "evil.py")
    for function in (f"{outside}/evil.py:f", "../outside/evil.py:f", "link.py:f", "none.py:f"):
        with pytest.raises(sf.errors.OptionError, match="in the folder of the study"):
            read_study(study(inside, function), allow_code=True)
    assert not (outside / "ran").exists()


def test_a_file_of_a_study_takes_the_name_of_no_module(tmp_path):
    (tmp_path / "colorsys.py").write_text(EVIL)
    before = set(sys.modules)
    read = read_study(study(tmp_path, "colorsys.py:f"), allow_code=True)
    assert read.function(3) == 3 and (tmp_path / "ran").exists()
    new = {name for name in set(sys.modules) - before if not name.startswith("sixfold")}
    assert not [name for name in new if name.isidentifier() and name not in ALLOWED]
    import colorsys

    assert hasattr(colorsys, "rgb_to_hls")


ALLOWED = {"cloudpickle", "colorsys"}
"""What may be imported meanwhile: the packer of functions, and the library's own module."""


def test_a_function_of_an_installed_module_is_found_by_its_name(tmp_path):
    read = read_study(study(tmp_path, "numpy:square"), allow_code=True)
    assert read.function is np.square
    for function, words in (
        ("no_such_module:f", "no_such_module"),
        ("numpy:no_such_function", "no function named"),
        ("numpy/../os:x", "package.module:name"),
        (":f", "package.module:name"),
        ("mine", "package.module:name"),
    ):
        with pytest.raises(sf.errors.SixfoldError, match=words):
            read_study(study(tmp_path, function), allow_code=True)


def test_classes_of_a_file_of_a_study_travel_to_other_processes(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Gain:\n    k: float\nTWICE = Gain(2.0)\n"
        "def f(x):\n    return TWICE.k * x\n"
    )
    path = study(tmp_path, "mine.py:f")
    options = ["--allow-code", "--engine", "processes", "--workers", "1"]
    done = CliRunner().invoke(main, ["sweep", str(path), *options])
    assert done.exit_code == 0, done.output


def test_leave_for_code_without_code_is_refused(tmp_path):
    done = run(tmp_path, STUDY, "--allow-code")
    assert done.exit_code == 2 and "allow_code" in done.output


def test_the_search_for_long_keys_takes_time_with_the_size_of_a_file():
    """One part of n characters took time with the square of n: minutes for these."""
    for text in ("x" * 10**6, "\0" * 10**6, "a.b " * 250_000):
        begun = time.process_time()
        assert LONG_KEY.search(text) is None
        assert time.process_time() - begun < 2.0
    assert LONG_KEY.search("x = 1\n" + " . ".join(["ab"] * 40))
