"""Names come from files of others: none of their characters reaches a terminal, page or plot raw.

ESC and its kind move the cursor or worse; marks of direction make a text read as another one; a
line break forges a line of a log.
"""

import json
import warnings
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.__main__ import main as benchmarks
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.errors import visible
from sixfold.formats import mesh_path
from tests.cli.raw_characters import RAW, clean
from tests.cli.streams import apart

EVIL = "\x1b[31m\x07\x08\r\nFORGED\t\x7f\x9b\u202e\u2066\u200b\u200f\u061c\x00\u2028"
MARKUP = "<script>alert(1)</script>&\"'$x$\\input{x}%_^~*/"
TEXT = EVIL.replace("\x00", "").replace("\x1b", "").replace("\x07", "").replace("\x08", "")
"""What XML can hold."""


def evil(label):
    return f"{label}{EVIL}{MARKUP}"


def builder(revolute=True):
    made = sf.ModelBuilder(evil("model"), base_name=evil("base"))
    rod = sf.Inertia.from_mass(2.0, (0.0, 0.0, 0.15), (0.016, 0.016, 0.001))
    for k, parent in enumerate((None, evil("body 0"), evil("body 1"))):
        made.add_body(
            evil(f"body {k}"),
            parent=parent,
            joint=sf.Revolute("y") if revolute or k else sf.Spherical(),
            joint_name=evil(f"joint {k}"),
            placement=(0, 0, 0.3 * k),
            inertia=rod,
        )
    made.add_frame(evil("tool"), evil("body 2"), (0.0, 0.0, 0.1))
    return made


@pytest.fixture(scope="module")
def model():
    made = builder()
    made.couple(evil("joint 2"), (evil("joint 1"), 0.5), offset=0.1)
    return made.build()


@pytest.fixture(scope="module")
def robot(model, tmp_path_factory):
    """Return a file of the robot in a folder with a name of the kind."""
    name = EVIL.replace("\x00", "") + "folder"
    try:
        folder = tmp_path_factory.mktemp("x") / name
        folder.mkdir()
    except OSError:
        folder = tmp_path_factory.mktemp("plain")
    path = folder / f"{EVIL[:5]}robot.json"
    sf.save(model, path)
    return path


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """Return a file of the robot without coupling: closed forms have none."""
    path = tmp_path_factory.mktemp("arm") / "arm.json"
    sf.save(builder().build(), path)
    return path


@pytest.fixture(scope="module")
def motion(model):
    return sf.simulate(model, np.full(2, 0.3), np.zeros(2), 0.05)


def run(*arguments, code=0):
    result = apart(*map(str, arguments))
    assert result.exit_code == code, result.output + str(result.exception)
    clean(result.stderr)
    return clean(result.stdout)


# -- the one place


def test_every_control_and_mark_is_escaped_and_print_is_left_alone():
    for c in RAW | {"\n"}:
        assert visible(f"a{c}b").isprintable()
        assert visible(f"a{c}b") == f"a{repr(c)[1:-1]}b"
    for text in ("Füße", "关节", "μ λ", "a b", "", "\\n"):
        assert visible(text) == text


# -- commands


def test_the_tree_is_printed_escaped(robot):
    shown = run("inspect", robot)
    assert "\\x1b[31m" in shown
    assert "\\nFORGED" in shown


def test_a_check_is_printed_escaped(robot):
    assert "\\nFORGED" in run("check", robot, "--all", "--samples", 2)
    told = run("check", robot, "--json", "--samples", 2)
    assert json.loads(told)["diagnosis"]["model"] == evil("model")


@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
def test_a_comparison_is_printed_escaped(arm, library):
    pytest.importorskip(library, reason=f"{library} is not installed")
    # names of MuJoCo end at a zero byte, so that it knows no such joint
    code = 2 if library == "mujoco" else 0
    result = CliRunner().invoke(main, ["compare", str(arm), "--with", library, "--samples", "2"])
    assert result.exit_code == code
    assert "\\nFORGED" in clean(result.output)


def test_a_simulation_its_report_and_its_file_are_written_escaped(robot, tmp_path):
    run(*("simulate", robot, "--duration", 0.02, "--start", "neutral"))
    out, page = tmp_path / "a\x1bb.npz", tmp_path / "a\x1bb.html"
    shown = run(
        *("simulate", robot, "--duration", 0.02, "--start", "neutral"),
        *("--out", out, "--report", page),
    )
    assert "a\\x1bb.npz" in shown
    html = page.read_text("utf-8")
    # the marks of the page itself are narrow blanks
    clean(html)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


@pytest.mark.parametrize("style", ["", "--latex", "--html", "--python", "--c", "--julia"])
def test_equations_are_printed_escaped(arm, style):
    pytest.importorskip("sympy", reason="sympy is not installed")
    shown = run("equations", arm, "--terms", "G", *([style] if style else []))
    assert "FORGED" in shown
    if style == "--html":
        # its own script, known by its hash: no other one would run
        assert shown.count("<script") == 1 and "<script>alert" not in shown
        assert "Content-Security-Policy" in shown and "script-src 'sha256-" in shown
    if style == "--latex":
        assert "\\input" not in shown
        assert "\\textbackslash{}input" in shown


def test_base_parameters_are_explained_escaped(arm):
    pytest.importorskip("sympy", reason="sympy is not installed")
    assert "\\nFORGED" in run("equations", arm, "--terms", "G", "--explain")


@pytest.mark.parametrize("language", ["c", "python", "julia", "matlab"])
def test_exported_code_is_written_escaped(arm, language, tmp_path):
    run("export", arm, "--language", language, "--function", "gravity_force", "--out", tmp_path)
    for path in tmp_path.iterdir():
        clean(path.name)
        text = clean(path.read_text("utf-8"))
        if language == "c":
            # the name closes no comment
            assert text.count("/*") == text.count("*/")


def test_a_benchmark_names_what_it_leaves_out_escaped(tmp_path):
    still = tmp_path / f"{EVIL[:4]}still.urdf"
    still.write_text('<robot name="x"><link name="a"/></robot>')
    result = CliRunner().invoke(benchmarks, ["bench", str(still)])
    assert result.exit_code == 2
    clean(result.output)


def test_the_window_is_announced_escaped(model, monkeypatch, capsys):
    pytest.importorskip("viser", reason="viser is not installed")
    window = import_module("sixfold.display.viewer.viewer")

    class Shown:
        url = "http://127.0.0.1:1"

        def act(self, *_):
            pass

        drag = wait = act

    server = SimpleNamespace(get_port=lambda: 1, stop=lambda: None)
    keys = SimpleNamespace(address=lambda port: Shown.url)
    monkeypatch.setattr(window, "_server", lambda port: (server, keys))
    monkeypatch.setattr(window, "Viewer", lambda *_: Shown())
    window.view(model)
    assert "\\nFORGED" in clean(capsys.readouterr().out)


@pytest.mark.parametrize(
    "command", ["inspect", "check", "compare", "simulate", "view", "equations", "export"]
)
def test_a_robot_that_is_not_there_is_named_escaped(command):
    for name in (evil("x").replace("\x00", "").replace("/", ""), f"./{EVIL[:4]}.urdf"):
        result = CliRunner().invoke(main, [command, name])
        assert result.exit_code == 2
        clean(result.output)
        assert "\\x1b[31" in result.output or "\\x1b" in result.output


# -- errors and warnings


def refused(call):
    with pytest.raises(sf.errors.SixfoldError) as caught:
        call()
    error = caught.value
    assert "FORGED" in clean(str(error)), str(error)
    clean(repr(error))
    return error


def test_errors_about_names_are_escaped(model, tmp_path):
    q = np.zeros(2)
    names = [evil("joint 0"), evil("nothing")]
    calls = (
        lambda: sf.jacobian(model, q, evil("nobody")),
        lambda: model.q_slice(evil("nothing")),
        lambda: model.q_slice(evil("joint 2")),
        lambda: sf.lock_joints(model, names),
        lambda: sf.inverse_dynamics(model, np.zeros(5), q, q),
        lambda: sf.forward_dynamics(model, q, q, np.zeros(7)),
        lambda: sf.simulate(model, np.full(2, np.nan), q, 0.1),
        lambda: builder().add_body(evil("body 0"), joint=sf.Revolute("x")),
        lambda: builder().add_frame(evil("f"), evil("nowhere")).build(),
        lambda: builder().couple(evil("no"), (evil("joint 1"), 1.0)).build(),
        lambda: builder().add_body(evil("b"), joint=sf.Revolute("x"), damping=-1.0),
        lambda: sf.save(builder(revolute=False).build(), tmp_path / "x.urdf"),
        lambda: sf.save(model, tmp_path / f"{EVIL[:15]}.xyz"),
        lambda: sf.load(evil("robot").replace("/", "")),
        lambda: sf.load(evil("robot") + ".urdf"),
        lambda: sf.interop.compare_with(evil("x"), model),
        lambda: sf.Trajectory.load(tmp_path / f"{EVIL[:15]}.npz"),
    )
    for call in calls:
        refused(call)


def test_a_singular_model_is_named_escaped():
    made = builder().add_body(evil("ghost"), parent=evil("body 2"), joint=sf.Revolute("x"))
    refused(lambda: sf.forward_dynamics(made.build(), np.zeros(4), np.zeros(4), np.zeros(4)))


def test_warnings_are_escaped(tmp_path):
    # a point mass that meets its own axis at some states
    made = sf.ModelBuilder(evil("model"))
    made.add_body(evil("a"), joint=sf.Revolute("z"), joint_name=evil("j"))
    point = sf.Inertia.from_mass(1.0, (1.0, 0.0, 0.0))
    made.add_body(evil("b"), parent=evil("a"), joint=sf.Revolute("y"), inertia=point)
    model = made.build()
    q = np.array([[0.0, 0.0], [0.0, np.pi / 2]])
    with pytest.warns(sf.errors.SingularPivotWarning) as caught:
        sf.forward_dynamics(model, q, np.zeros(2), np.zeros(2))
    assert "\\nFORGED" in clean(str(caught[0].message))
    falling = sf.ModelBuilder(evil("model"))
    falling.add_body(evil("a"), joint=sf.Prismatic("z"), inertia=sf.Inertia.from_mass(1.0))
    with pytest.warns(sf.errors.NonFiniteStateWarning) as caught:
        sf.rollout(falling.build(), [0.0], [0.0], tau=[1e308], dt=1e3, steps=3)
    assert "\\nFORGED" in clean(str(caught[0].message))


def quoted(text):
    """Return a text as the value of an attribute."""
    replaced = {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;"}
    return "".join(replaced.get(c, c) for c in text).replace("\t", "&#9;")


def test_a_file_with_such_names_is_refused_and_remarked_escaped(tmp_path):
    name = quoted(TEXT + MARKUP)
    link, path = f'<link name="{name}"/>', tmp_path / "robot.urdf"
    end = f'<parent link="{name}"/><child link="{name}"/>'
    bad = (
        link + link,
        f'{link}<link name="b{name}"/>',
        f'{link}<joint name="{name}" type="{name}">{end}</joint>',
        f'{link}<joint name="{name}" type="fixed">{end}</joint>',
        f'{link}<joint name="{name}" type="fixed"/>',
        f'<link name="{name}"><inertial><mass value="{name}"/></inertial></link>',
    )
    for inside in bad:
        path.write_text(f'<robot name="{name}">{inside}</robot>', "utf-8")
        refused(lambda: sf.load(path))
    path.write_text(
        f'<robot name="{name}"><link name="{name}"><visual name="{name}"/>'
        f'<visual><geometry><mesh filename="{name}"/></geometry>'
        f'<material name="{name}"/></visual><visual {"x" * 3}="{name}"/></link>'
        f'<material name="{name}"><color rgba="{name}"/></material> {quoted(TEXT)}</robot>',
        "utf-8",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = sf.load(path)
    assert len(caught) >= 3
    for warning in caught:
        clean(str(warning.message))
    for text in (*made.origin.notes, *made.origin.blemishes, str(sf.diagnose(made))):
        clean(text)
    with pytest.raises(sf.errors.RobotFileError) as missing:
        mesh_path(made, made.geometries[0].shape)
    assert "FORGED" in clean(str(missing.value))


def test_an_mjcf_with_such_names_is_refused_and_remarked_escaped(tmp_path):
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    name = quoted(TEXT.replace("\r", "").replace("\n", "") + "FORGED" + MARKUP)
    path = tmp_path / f"{EVIL[:4]}robot.xml"
    path.write_text(
        f'<mujoco model="{name}"><worldbody><body name="{name}"><joint name="{name}"/>'
        f'<geom name="{name}" size="0.1" rgba="{name}"/></body></worldbody>'
        f'<tendon><fixed name="{name}"><joint joint="{name}" coef="1"/></fixed></tendon></mujoco>',
        "utf-8",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = sf.load(path)
    assert len(caught) == 2
    for text in (*(str(w.message) for w in caught), *made.origin.notes, *made.origin.blemishes):
        clean(text)
    for inside in (
        f'<body name="{name}"/><body name="{name}"/>',
        f'<body><geom type="{name}"/></body>',
        f'<body pos="{name}"/>',
        f'<body><geom mesh="{name}" type="mesh"/></body>',
        f'<{"include"} file="{name}"/>',
    ):
        path.write_text(f"<mujoco><worldbody>{inside}</worldbody></mujoco>", "utf-8")
        refused(lambda: sf.load(path))


# -- objects


def test_everything_that_prints_itself_prints_escaped(model, motion):
    kernel = sf.compile(sf.inverse_dynamics, model)
    printed = (model, model.bodies[0], model.frames, model.couplings, motion, kernel)
    for thing in (*printed, sf.check(model, 2), sf.diagnose(model), *sf.diagnose(model).findings):
        clean(repr(thing))
        clean(str(thing))
    clean("\n".join(motion.summary()))


# -- pictures


def test_plots_draw_names_as_they_stand_but_escaped(motion, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib.text import Text

    figure = sf.plot(motion, tmp_path / "x.svg")
    texts = [text.get_text() for text in figure.findobj(Text)]
    for text in texts:
        clean(text)
    assert any("FORGED" in text for text in texts)
    # a dollar would begin a formula, which such a name is not
    clean((tmp_path / "x.svg").read_text("utf-8"))


def test_the_window_labels_its_sliders_escaped(model, motion):
    pytest.importorskip("viser", reason="viser is not installed")
    with sf.view(model, motion, block=False, play=False) as viewer:
        for switch in viewer._panel.switches.values():
            switch.value = True
        viewer.seek(0.01)
        handles = list(viewer._server.gui._gui_input_handle_from_uuid.values())
        labels = [str(handle.label) for handle in handles]
        pages = [viewer._panel.facts, viewer._panel.torques, viewer._panel.tables]
        for text in (*labels, *(page.content for page in pages)):
            clean(text)
            assert "<script" not in text or text in labels
        assert any("FORGED" in label for label in labels)


def test_this_test_sees_what_it_looks_for():
    for c in RAW:
        with pytest.raises(AssertionError):
            clean(f"a{c}b")
    with pytest.raises(AssertionError):
        clean(f"a{Path('x')}\nFORGED")
