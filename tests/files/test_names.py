"""One battery of hostile names through every writer: a name stays a name.

What is written for a hostile name has the structure of what is written for a harmless one: the same
statements, the same elements, the same columns; the name stands in comments and texts only.
"""

import ast
import csv
import json
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import sixfold as sf
from sixfold.codegen.names import identifier, stem_of
from sixfold.display import plot, write_report
from sixfold.errors import visible
from sixfold.identification import Log
from tests.cli.raw_characters import clean
from tests.cli.streams import apart
from tests.files.names import HARMLESS, NAMES, model

INJECTED = "injected_by_a_name"
FUNCTION = "gravity_force"
COMMENTS = {"c": r"/\*.*?\*/", "python": r'""".*?"""', "julia": r"#[^\n]*", "matlab": r"%[^\n]*"}

hostile = pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))


@pytest.fixture(scope="module")
def plain():
    return model(HARMLESS)


def motion(robot):
    return sf.simulate(robot, [0.3], None, 0.01)


def bare(files, robot, language, word):
    """Return files without their comments, and with one word for the robot."""
    texts = [re.sub(COMMENTS[language], "", text, flags=re.DOTALL) for text in files.values()]
    stem = stem_of(robot.name, language, word)
    return [re.sub(rf"\b{stem}(?=_[a-zH]|\b)", "ROBOT", text) for text in texts]


# -- code


@pytest.mark.parametrize("language", COMMENTS)
@hostile
def test_exported_code_has_the_statements_of_a_harmless_robot(name, language, plain):
    robot = model(name)
    code = sf.export(robot, FUNCTION, language=language)
    expected = sf.export(plain, FUNCTION, language=language)
    found = bare(code.files, robot, language, FUNCTION)
    assert found == bare(expected.files, plain, language, FUNCTION)
    for file, text in code.files.items():
        assert re.fullmatch(r"[A-Za-z]\w{0,150}\.\w+", file, re.ASCII)
        clean(text)
        if language == "python":
            kinds = [type(node) for node in ast.parse(text).body]
            assert kinds == [ast.Expr, ast.Import, ast.FunctionDef]


@pytest.mark.parametrize("language", COMMENTS)
@hostile
def test_closed_forms_in_code_have_the_statements_of_a_harmless_robot(name, language, plain):
    files = {}
    for robot in (model(name), plain):
        text = sf.equations(robot).code(language, "M,G")
        clean(text)
        files[robot.name] = bare({"": text}, robot, language, FUNCTION)
    assert files[name] == files[HARMLESS]


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("there is no gcc")
    return found


def symbols(compiler, folder, sources):
    """Return the symbols that sources define, compiled without a warning."""
    strict = [
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-trigraphs",
        "-Wno-trigraphs",
    ]
    subprocess.run(
        [compiler, *strict, "-c", *sources], cwd=folder, check=True, capture_output=True, text=True
    )
    objects = sorted(path.name for path in folder.glob("*.o"))
    listed = subprocess.run(
        ["nm", "--defined-only", "--format=posix", *objects],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return {line.split()[0] for line in listed.stdout.splitlines() if len(line.split()) > 1}


@hostile
def test_c_code_compiles_and_defines_one_symbol(name, compiler, tmp_path):
    robot = model(name)
    code = sf.export(robot, FUNCTION)
    code.write(tmp_path)
    (source,) = tmp_path.glob("*.c")
    assert symbols(compiler, tmp_path, [source.name]) == {source.stem}


def test_headers_of_object_files_compile(compiler, tmp_path):
    for k, name in enumerate((*NAMES[:10], *NAMES[-4:])):
        for path in sf.export(model(name), FUNCTION, target="x86_64").write(tmp_path / str(k)):
            if path.suffix == ".h":
                source = path.with_name("main.c")
                source.write_text(f'#include "{path.name}"\nint here;\n')
                path.with_suffix(".o").unlink(missing_ok=True)
                assert symbols(compiler, source.parent, [source.name]) == {"here"}


WORDS = [
    "int",
    "restrict",
    "inline",
    "_Bool",
    "class",
    "template",
    "nullptr",
    "constexpr",
    "true",
    "def",
    "lambda",
    "None",
    "async",
    "match",
    "function",
    "end",
    "elseif",
    "otherwise",
    "baremodule",
    "sin",
    "sinf",
    "cos",
    "sqrt",
    "fabs",
    "atan2",
    "tgamma",
    "exp",
    "log",
    "main",
    "abs",
    "exit",
    "malloc",
    "printf",
    "memcpy",
    "strlen",
    "math",
    "stdint",
    "stdio",
    "linux",
    "unix",
    "errno",
    "NULL",
    "INFINITY",
    "NAN",
    "M_PI",
    "isnan",
    "signbit",
    "EOF",
    "assert",
    "q",
    "v",
    "result",
    "np",
    "numpy",
    "one",
    "t1",
    "t12",
    "CON",
    "nul",
    "com1",
    "double",
    "float",
    "y0",
    "j1",
    "gamma",
    "robot",
    "PARAMETERS",
    "abort",
    "free",
    "index",
    "time",
    "signal",
    "pi",
    "ans",
    "x",
    "arm",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_name_of_the_users_own_is_refused_or_compiles(word, compiler, tmp_path):
    robot = sf.load("pendulum")
    try:
        made = sf.export(robot, FUNCTION, name=word)
    except sf.errors.OptionError as error:
        assert "'name'" in str(error) and "reserved" in str(error)
        return
    made.write(tmp_path)
    (source,) = tmp_path.glob("*.c")
    assert symbols(compiler, tmp_path, [source.name]) == {identifier(word, 63)}
    space = {}
    exec(next(iter(sf.export(robot, FUNCTION, name=word, language="python").files.values())), space)
    np.testing.assert_allclose(space[identifier(word, 63)]([0.3]), sf.gravity_force(robot, [0.3]))


@pytest.mark.parametrize("word", ["int", "sin", "math", "class", "lambda", "end", "q", "nul"])
def test_words_that_no_language_could_use_are_refused(word):
    for language in COMMENTS:
        with pytest.raises(sf.errors.OptionError, match="reserved"):
            sf.export(sf.load("pendulum"), FUNCTION, name=word, language=language)


def test_robots_whose_names_differ_in_case_have_headers_of_their_own(compiler, tmp_path):
    for name in ("Arm", "arm"):
        sf.export(model(name), FUNCTION).write(tmp_path)
    guards = {re.search(r"#ifndef (\w+)", path.read_text())[1] for path in tmp_path.glob("*.h")}
    assert len(guards) == len(list(tmp_path.glob("*.h")))


# -- formulas and pages


@hostile
def test_latex_keeps_names_as_text(name, plain):
    texts = [sf.equations(robot).latex("M,G", document=True) for robot in (model(name), plain)]
    sections = [re.search(r"\\section\*\{(.*)\}\n", text)[1] for text in texts]
    rest = [text.replace(each, "", 1) for text, each in zip(texts, sections, strict=True)]
    assert rest[0] == rest[1]
    clean(sections[0])
    words = r"\\text(backslash|asciicircum|asciitilde)\{\}|\\[_&%$#{}]"
    assert not set(re.sub(words, "", sections[0])) & set("\\{}$&#^_~%")


class Elements(HTMLParser):
    """The elements of a page with the names of their attributes, and what scripts hold."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.inside = [], 0, False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, *(key for key, _ in attrs)))

    def handle_endtag(self, tag):
        self.found.append((f"/{tag}",))

    def handle_comment(self, data):
        self.found.append(("comment",))

    def unknown_decl(self, data):
        self.found.append(("declaration",))


def page_texts(robot, folder):
    """Return every text of HTML that a robot gets into."""
    swing = motion(robot)
    write_report(folder / "report.html", robot, swing, title=robot.name)
    shown = (robot, swing, sf.check(robot, 2), sf.diagnose(robot), sf.export(robot, FUNCTION))
    found = [thing._repr_html_() for thing in (*shown, sf.equations(robot))]
    return [(folder / "report.html").read_text("utf-8"), sf.equations(robot).html("M,G"), *found]


@pytest.fixture(scope="module")
def plain_pages(plain, tmp_path_factory):
    return [Elements(text).found for text in page_texts(plain, tmp_path_factory.mktemp("page"))]


@hostile
def test_pages_have_the_elements_of_a_harmless_robot(name, plain_pages, tmp_path):
    for text, expected in zip(page_texts(model(name), tmp_path), plain_pages, strict=True):
        clean(text)
        found = Elements(text).found
        if len(name) < 200:  # a long name is folded
            assert found == expected


@hostile
def test_the_page_of_a_sweep_has_the_elements_of_a_harmless_one(name, tmp_path):
    from sixfold.display.report.sweep_page import SHARES, write_sweep_page
    from sixfold.sweeps import reducers
    from sixfold.sweeps.study_file import read_study

    found = []
    for k, each in enumerate((name, HARMLESS)):
        sf.save(model(each), tmp_path / f"{k}.json")
        (tmp_path / f"{k}.toml").write_text(
            f'title = {json.dumps(each)}\nrobot = "{k}.json"\nquantity = "{FUNCTION}"\nrows = 20\n'
            "seed = 0\n[draw.q]\nuniform = [-1.0, 1.0]\n".replace("\x7f", "")
        )
        study = read_study(tmp_path / f"{k}.toml")
        reduce = ["mean", "deviation", "extremes", reducers.quantiles(SHARES)]
        made = sf.sweeps.sweep(
            study.function, 20, seed=0, draw=study.draw, reduce=reduce, engine="serial"
        )
        page = write_sweep_page(tmp_path / f"{k}.html", study, made).read_text("utf-8")
        clean(page)
        found.append(Elements(page).found)
    assert found[0] == found[1]


# -- data


@hostile
def test_robot_files_give_the_same_robot_back(name, tmp_path):
    robot = model(name)
    sf.save(robot, tmp_path / "robot.json")
    assert sf.load(tmp_path / "robot.json") == robot
    try:
        sf.save(robot, tmp_path / "robot.urdf")
    except sf.errors.NotApplicableError as error:
        # only what XML cannot hold, and what xacro would replace
        assert not name.isprintable() or "xacro" in str(error), error
        return
    ElementTree.parse(tmp_path / "robot.urdf")
    assert sf.load(tmp_path / "robot.urdf") == robot


@hostile
def test_motions_keep_the_names_of_their_columns(name, tmp_path):
    swing = motion(model(name))
    swing.save(tmp_path / "run.npz")
    assert sf.Trajectory.load(tmp_path / "run.npz").model == swing.model
    swing.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as stream:
        names, *rows = list(csv.reader(stream))
    wanted = ["t", *(f"{x}[{name}]" for x in ("q", "v", "a", "tau"))]
    assert names[:5] == wanted and len(rows) == len(swing)
    # a spreadsheet takes nothing for a formula
    assert not [each for each in names if each[0] in "=+-@\t\r"]
    log = Log.read(tmp_path / "run.csv", swing.model)
    np.testing.assert_array_equal(log.q, swing.q)
    parquet = pytest.importorskip("pyarrow.parquet")
    swing.save(tmp_path / "run.parquet")
    assert parquet.read_table(tmp_path / "run.parquet").column_names[:5] == wanted
    np.testing.assert_array_equal(Log.read(tmp_path / "run.parquet", swing.model).q, swing.q)


@hostile
def test_logs_of_messages_keep_names(name, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    motion(model(name)).save(tmp_path / "run.mcap")
    with open(tmp_path / "run.mcap", "rb") as stream:
        made = reader.make_reader(stream, decoder_factories=[decoder.DecoderFactory()])
        messages = list(made.iter_decoded_messages(topics=["/joint_states"]))
    assert messages and all(list(m.decoded_message.name) == [name] for m in messages)


@hostile
def test_pictures_show_names_as_they_are(name, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.text import Text

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure = plot(motion(model(name)), tmp_path / "x.svg")
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert any(visible(name)[:20].replace("$", r"\$") in text for text in texts)
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    drawn = "".join(root.itertext())
    assert visible(name)[:20] in drawn
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "img", "b", "foreignObject"}


# -- terminals


@hostile
def test_commands_print_names_escaped(name, tmp_path):
    sf.save(model(name), tmp_path / "robot.json")
    path = str(tmp_path / "robot.json")
    for command in (
        ["inspect", path],
        ["check", path, "--samples", "2"],
        ["simulate", path, "--duration", "0.01"],
        ["equations", path, "--terms", "G"],
        ["check", path, "--samples", "2", "--json"],
    ):
        result = apart(*command)
        assert result.exit_code in (0, 1), result.output
        clean(result.stdout)
        clean(result.stderr)
        if "--json" in command:
            assert json.loads(result.stdout)["diagnosis"]["model"] == name
