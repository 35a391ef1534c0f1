"""`python -m benchmarks bench`: what it prints, keeps and refuses; speed itself is not tested."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.bench import report, robots, tables
from benchmarks.bench.engines import build_peer, pinocchio
from benchmarks.bench.engines.engines import FUNCTIONS, Way
from benchmarks.bench.sections import threads
from benchmarks.bench.sections.speed import Speed, Timing
from click.testing import CliRunner

import sixfold as sf

SMALL = ("--rounds", "2", "--batch", "32", "--quick")


def run(*arguments):
    return CliRunner().invoke(main, ("bench", *arguments))


@pytest.fixture(autouse=True)
def short_batches(monkeypatch):
    monkeypatch.setattr(threads, "ENOUGH", 1e-5)


@pytest.fixture
def alone(monkeypatch):
    """Make everything absent that is not needed."""
    for name in ("pinocchio", "mujoco", "gmpy2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)


def engine(peer, values=None, engine="pinocchio C++"):
    """Return a stand-in for an engine's ways, right unless values are given."""

    def ways(_, function, states):
        def right(n):
            few = states.first(n).of(function)
            return FUNCTIONS[function](peer.robot, *few, backend="numpy")

        return [Way(engine, "a stand-in", len(states.q), lambda: None, values or right)]

    return ways


@pytest.fixture
def stand_in(monkeypatch):
    """Put an engine of our own in Pinocchio's place and nothing in MuJoCo's."""

    def put(values=None):
        model = robots.bare(sf.load("tree6"))
        peer = build_peer.Peer(SimpleNamespace(), model, tuple(range(model.nv)))
        robot = robots.Robot("tree6", model, pinocchio=peer)
        monkeypatch.setattr(robots, "_robot", lambda _: robot)
        monkeypatch.setattr(pinocchio, "ways", engine(peer, values))

    return put


# -- a whole run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One run with everything that is installed: its output and its JSON file."""
    file = tmp_path_factory.mktemp("bench") / "run.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "ENOUGH", 1e-5)
        patch.setattr(sys, "argv", ["benchmarks", "bench", "tree6"])
        result = run("tree6", *SMALL, "--seed", "3", "--json", str(file))
    assert result.exit_code == 0, result.output
    return result.output, json.loads(file.read_text())


def test_every_section_is_printed_within_100_columns(whole):
    output, _ = whole
    for words in (
        "time for one state of a batch",
        "arithmetic against the measured peak",
        "error against MPFR arithmetic of 256 bits, 8 states",
        "one call with one state from Python",
        "fewer than 15 rounds: figures to look at, not to quote",
    ):
        assert words in output
    figures = [line for line in output.splitlines() if not line.startswith(("note:", "every"))]
    assert max(map(len, figures)) <= 100


def test_the_file_keeps_every_round_and_the_circumstances(whole):
    _, data = whole
    assert data["command"] == ["python", "-m", "benchmarks", "bench", "tree6"]
    assert data["settings"]["seed"] == 3 and data["settings"]["batch"] == 32
    assert data["machine"]["processor"] and data["machine"]["cores"] >= 1
    assert data["packages"]["numpy"] == np.__version__
    assert data["python"] and data["when"].endswith("+00:00")
    assert max(data["fma_peak_gflops"]["rounds"]) == data["fma_peak_gflops"]["best"]
    assert [r["function"] for r in data["speed"]] == list(FUNCTIONS)
    for record in data["speed"]:
        for timing in (record["sixfold"], *record["others"]):
            assert len(timing["rounds_ns"]) == 2
            assert timing["ns"] == min(timing["rounds_ns"])
        for timing in record["others"]:
            assert timing["ratio"] == timing["ns"] / record["sixfold"]["ns"]
        assert record["gflops"] == record["flops"] / record["sixfold"]["ns"]
    for record in data["latency"]:
        assert {len(rounds) for rounds in record["rounds_ns"].values()} == {2}


def test_only_the_matrix_is_compared_with_a_copy_of_its_bytes(whole):
    _, data = whole
    copied = {r["function"]: r["copy"] for r in data["speed"]}
    assert copied["inverse_dynamics"] is None and copied["forward_dynamics"] is None
    assert len(copied["mass_matrix"]["rounds_ns"]) == 2
    assert {r["function"]: r["bytes_out"] for r in data["speed"]} == {
        "inverse_dynamics": 48,
        "forward_dynamics": 48,
        "mass_matrix": 288,
    }


def test_errors_against_mpfr_are_those_of_rounding(whole):
    pytest.importorskip("gmpy2")
    _, data = whole
    for record in data["accuracy"]:
        assert len(record["errors"]["sixfold"]) == 8
        assert 0 < record["worst"]["sixfold"] < 4e-15


@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
def test_installed_engines_take_part(name, whole):
    pytest.importorskip(name)
    _, data = whole
    for record in data["speed"]:
        assert f"{name} loop" in {timing["engine"] for timing in record["others"]}
    assert all(name in record["rounds_ns"] for record in data["latency"])
    assert all(name in record["errors"] for record in data["accuracy"])


def test_single_precision_is_measured_with_its_own_lanes_and_errors(tmp_path):
    pytest.importorskip("gmpy2")
    file = tmp_path / "run.json"
    options = ("--dtype", "float32", "--functions", "inverse-dynamics", "--json", str(file))
    result = run("double_pendulum", *SMALL, *options)
    assert result.exit_code == 0, result.output
    data = json.loads(file.read_text())
    (record,), (errors,) = data["speed"], data["accuracy"]
    assert record["dtype"] == "float32"
    assert record["lanes"] == data["machine"]["lanes"]["float32"]
    assert 1e-9 < errors["worst"]["sixfold"] < 1e-5


def test_chains_are_measured_up_to_the_longest_asked_for(tmp_path):
    file = tmp_path / "run.json"
    options = ("--functions", "inverse_dynamics", "--chains", "--longest", "10")
    result = run("pendulum", *SMALL, *options, "--json", str(file))
    assert result.exit_code == 0, result.output
    assert "10 bodies" in result.output and "100 bodies" not in result.output
    (record,) = json.loads(file.read_text())["chains"]
    assert record["bodies"] == 10 and record["ns_per_body"] == min(record["rounds_ns"])


def test_a_run_leaves_the_number_of_threads_as_it_was():
    sf.set_threads(3)
    try:
        assert run("pendulum", *SMALL, "--functions", "mass_matrix").exit_code == 0
        assert sf.get_threads() == 3
    finally:
        sf.set_threads(None)


def test_a_function_that_a_robot_does_not_have_is_left_out_with_a_note(monkeypatch):
    builder = sf.ModelBuilder("ghost")
    builder.add_body("nothing", joint=sf.Revolute("z"))
    model = builder.build()
    monkeypatch.setattr(robots, "_robot", lambda _: robots.Robot("ghost", model))
    result = run("ghost", *SMALL)
    assert result.exit_code == 0, result.output
    assert "forward_dynamics of ghost is left out" in result.output
    assert "no inertia behind joint 'nothing_joint'" in result.output


# -- disagreement


def test_an_engine_that_agrees_gets_a_ratio(stand_in):
    stand_in()
    result = run("tree6", *SMALL)
    assert result.exit_code == 0, result.output
    assert "DISAGREES" not in result.output


def test_an_engine_that_disagrees_is_named_loudly_and_gets_no_ratio(stand_in, tmp_path):
    stand_in(lambda n: np.full((n, 6), 1.0))
    file = tmp_path / "run.json"
    functions = ("--functions", "inverse_dynamics,forward_dynamics")
    result = run("tree6", *SMALL, *functions, "--json", str(file))
    assert result.exit_code == 1
    assert "ENGINES DISAGREE" in result.output
    assert "pinocchio C++ DISAGREES on forward_dynamics of tree6" in result.output
    data = json.loads(file.read_text())
    assert len(data["disagreements"]) == 2
    for record in data["speed"]:
        (other,) = record["others"]
        assert not other["agrees"]
        assert other["ns"] is None and other["ratio"] is None and other["rounds_ns"] == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_results_that_are_not_finite_disagree(bad, stand_in, tmp_path):
    stand_in(lambda n: np.full((n, 6), bad))
    file = tmp_path / "run.json"
    result = run("tree6", *SMALL, "--functions", "inverse_dynamics", "--json", str(file))
    assert result.exit_code == 1
    assert json.loads(file.read_text())["speed"][0]["others"][0]["difference"] == "infinite"


def test_nothing_is_timed_when_the_kernel_itself_is_wrong(stand_in, monkeypatch, tmp_path):
    from benchmarks.bench.sections import speed

    stand_in()
    wrong = sf.compile(lambda q, v, a: q * 0.0, sf.load("tree6"))
    monkeypatch.setattr(speed, "compile", lambda *_, **__: wrong)
    file = tmp_path / "run.json"
    result = run("tree6", *SMALL, "--functions", "inverse_dynamics", "--json", str(file))
    assert result.exit_code == 1
    assert "sixfold DISAGREES on inverse_dynamics of tree6" in result.output
    (record,) = json.loads(file.read_text())["speed"]
    assert record["sixfold"]["ns"] is None and record["others"][0]["ns"] is None


# -- what is missing


def test_robots_of_packages_that_are_missing_are_skipped_with_the_pip_line(alone):
    result = run("ur5", "pendulum", *SMALL, "--functions", "mass_matrix")
    assert result.exit_code == 0, result.output
    assert "ur5 is left out" in result.output
    assert "pip install pin" in result.output
    assert "pip install mujoco" in result.output
    assert "pendulum (1)" in result.output


def test_nothing_to_measure_exits_with_two(alone):
    result = run("ur5", *SMALL)
    assert result.exit_code == 2
    assert "no robot is left to measure" in result.output


def test_a_robot_that_no_package_holds_exits_with_two():
    result = run("pumma560", *SMALL)
    assert result.exit_code == 2
    assert "no " in result.output and "puma560" in result.output
    assert "Traceback" not in result.output


def test_without_gmpy2_the_accuracy_section_is_left_out(alone):
    result = run("pendulum", *SMALL, "--functions", "mass_matrix")
    assert result.exit_code == 0, result.output
    assert "pip install gmpy2" in result.output and "MPFR" not in result.output


def test_without_matplotlib_a_picture_is_refused_before_anything_is_measured(alone, tmp_path):
    result = run("pendulum", "--plot", str(tmp_path / "run.svg"))
    assert result.exit_code == 2
    assert "pip install matplotlib" in result.output and "one core" not in result.output


# -- bad options


@pytest.mark.parametrize(
    "options",
    [
        ("--batch", "0"),
        ("--batch", "many"),
        ("--rounds", "0"),
        ("--dtype", "float16"),
        ("--seed", "-1"),
        ("--longest", "3"),
        ("--fast",),
    ],
)
def test_wrong_usage_exits_with_two_and_says_how(options):
    result = run("pendulum", *options)
    assert result.exit_code == 2
    assert "Usage: " in result.output and "Traceback" not in result.output


def test_an_unknown_function_is_refused_with_the_choices():
    result = run("pendulum", "--functions", "inverse_dynamics,jerk")
    assert result.exit_code == 2
    assert "'jerk'" in result.output and "'mass_matrix'" in result.output


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_file_in_no_folder_is_refused_before_anything_is_measured(option, tmp_path):
    result = run("pendulum", option, str(tmp_path / "nowhere" / "run.svg"))
    assert result.exit_code == 2
    assert "folder" in result.output and "one core" not in result.output


def test_a_picture_of_unknown_kind_is_refused_before_anything_is_measured(tmp_path):
    result = run("pendulum", "--plot", str(tmp_path / "run.gif"))
    assert result.exit_code == 2
    assert ".svg" in result.output and "one core" not in result.output


# -- the picture


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture_is_drawn(suffix, tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.bench import picture
    from benchmarks.bench.run import Settings

    def timing(name, ns, agrees=True):
        return Timing(name, "", 8, 0.0, agrees, (ns, 2 * ns) if agrees else ())

    others = (timing("pinocchio C++", 800.0), timing("mujoco loop", 9.0, agrees=False))
    record = Speed(
        "arm", 6, "mass_matrix", "float64", 4, 99, 8, timing("sixfold", 20.0), others, None
    )
    file = tmp_path / f"run.{suffix}"
    picture.draw(str(file), [record, replace(record, robot="leg")], Settings(("mass_matrix",)))
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    if suffix == "svg":
        for words in ("mass matrix", "20 ns", "800 ns   40.0x", "arm", "leg", "pinocchio C++"):
            assert words.encode() in data
        assert b"mujoco loop" not in data


# -- small parts


def test_tables_line_up_and_show_a_dash_for_nothing():
    text = tables.table("title", ["a", "b", "c"], [["x", "y", tables.figure(None)]])
    assert text.splitlines() == ["title", "a  b  c", "x  y  -"]
    assert tables.times(99.96) == "100x" and tables.times(9.87) == "9.9x"
    assert tables.short("a_very_long_robot_name") == "a_very_long_r~"


def test_a_busy_machine_is_noticed_by_rounds_that_differ():
    from benchmarks.bench.run import disturbed

    def record(*rounds):
        timing = Timing("sixfold", "", 8, 0.0, True, rounds)
        return Speed("arm", 6, "mass_matrix", "float64", 4, 99, 8, timing, (), None)

    assert disturbed([record(1.0, 1.0, 1.2)]) == []
    (line,) = disturbed([record(1.0, 1.5, 1.6)])
    assert line.startswith("1 of 1 timings") and "fix: " in line


def test_a_folder_that_cannot_be_written_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(report.os, "access", lambda *_: False)
    with pytest.raises(sf.errors.NotApplicableError, match="cannot be written"):
        report.refuse_unwritable("--json", str(tmp_path / "run.json"))


def test_the_command_line_loads_no_other_engine():
    code = "import sys, sixfold.cli; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ("pinocchio", "mujoco", "matplotlib", "gmpy2", "llvmlite")
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_an_option_without_effect_is_an_error():
    result = run("--longest", "20")
    assert result.exit_code == 2
    assert "--longest does not apply" in result.output
