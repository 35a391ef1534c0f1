"""`sixfold sweep STUDY`: what a file may say, the page, and what is refused."""

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.sweeps.study_file import read_study

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
    draw = {"q": sf.draws.configuration(model), "v": sf.draws.normal(np.zeros(2), [0.5, 0.1])}

    def work(q, v):
        return {"inverse_dynamics": sf.inverse_dynamics(model, q, v, np.zeros(2))}

    options = {"seed": 3, "reduce": "mean", "engine": "serial"}
    one = sf.sweep(read.function, read.rows, draw=read.draw, **options)
    other = sf.sweep(work, 600, draw=draw, **options)
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
        done = run(tmp_path, text, "--write", folder, "--workers", "1", "--out", f"{folder}.html")
        assert done.exit_code == 0, done.output
        assert ("6 of them from" in done.output) == reused
    assert "grid of 3 values" in (tmp_path / "rows.html").read_text()
    again = run(tmp_path, text, "--engine", "processes", "--workers", "1")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("rows = 600", "rows = 'many'"), "a number of rows"),
        (("rows = 600", ""), "either rows = NUMBER or a [grid]"),
        (("rows = 600", "row = 600"), "did you mean 'rows'"),
        (("quantity = ", "function = "), "file.py:name"),
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
