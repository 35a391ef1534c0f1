"""Equations on paper: text, LaTeX, HTML, and the commands that print them."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.symbolic.latex import MAX_LINE_CHARACTERS, symbol_name

TEX = next((t for t in ("pdflatex", "lualatex", "xelatex", "tectonic") if shutil.which(t)), None)


@pytest.fixture(scope="module")
def chain():
    return sf.equations(sf.load("planar_chain:2"))


@pytest.fixture(scope="module")
def puma():
    return sf.equations(sf.load("puma560"))


def run(*arguments):
    return CliRunner().invoke(main, arguments)


# -- text


def test_text_shows_sums_of_angles_and_factors_by_parameter(chain):
    text = chain.text("M,V,G")
    assert "M[1,1] = m1 cx1^2 + Izz1 + m2 (lx2^2 + 2 C2 lx2 cx2 + cx2^2) + Izz2" in text
    assert "V[2] = S2 m2 lx2 cx2 qd1^2" in text
    assert "G[2] = C(1+2) m2 cx2 g" in text
    assert "lx2 = 1" in text
    assert "Iyy1" not in text


def test_squares_are_collected(puma):
    text = puma.text("M")
    assert "SS(2+3) CC4 Ixx4 + SS(2+3) SS4 Iyy4 + CC(2+3) Izz4" in re.sub(r"\s+", " ", text)


def test_lines_of_text_keep_to_the_width(puma):
    assert max(map(len, puma.text("M,V,G", width=100).splitlines())) <= 110


def test_energies_and_both_parts_of_v_can_be_shown(chain):
    text = chain.text("T,U,B,C,tau")
    for beginning in ("T = ", "U = ", "B[1,1] = ", "C[1,2] = ", "tau[2] = "):
        assert f"  {beginning}" in text


# -- LaTeX


def test_latex_is_aligned_and_its_long_lines_are_broken(puma):
    text = puma.latex("M,V,G")
    assert text.count(r"\begin{align*}") == text.count(r"\end{align*}") == 4
    widths = [len(re.sub(r"\\[a-z]+|[{}_^&\s]", "", line)) for line in text.splitlines()]
    assert max(widths) < 2 * MAX_LINE_CHARACTERS
    assert text.count(r"&\quad") > 20


def test_latex_brackets_and_braces_close(puma):
    text = puma.latex("M,V,G,T", document=True)
    assert text.count("{") == text.count("}")
    assert text.count(r"\bigl(") == text.count(r"\bigr)")


def test_latex_defines_its_shorthand_or_does_without(chain):
    assert r"S_{1+2} &= \sin(q_{1}+q_{2})" in chain.latex()
    full = chain.latex(shorthand=False)
    assert "S_{" not in full
    assert r"\cos(q_{1}+q_{2})" in full


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cx1", "c_{x1}"),
        ("qd2", r"\dot{q}_{2}"),
        ("qdd12", r"\ddot{q}_{12}"),
        ("al3", r"\alpha_{3}"),
        ("g", "g"),
    ],
)
def test_names_become_letters_with_an_index(name, expected):
    assert symbol_name(name) == expected


@pytest.mark.skipif(TEX is None, reason="no TeX engine is installed")
def test_the_latex_document_compiles(puma, tmp_path):
    (tmp_path / "puma.tex").write_text(puma.latex(document=True))
    options = [] if TEX == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([TEX, *options, "puma.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "puma.pdf").is_file()


# -- HTML


def test_the_page_is_well_formed_and_asks_for_nothing_else(puma):
    page = puma.html("M,V,G,T,U")
    body = re.search(r"<body>.*</body>", page, re.S)[0]
    root = ET.fromstring(body.replace("&#x2061;", ""))
    assert len(root.findall(".//math")) > 200
    assert not re.search(r"https?:|<script |<link|<img|@import|url\(", page)
    assert page.count("<script>") == 1


def test_the_page_has_contents_and_latex_to_copy(puma):
    page = puma.html("M,G")
    assert '<li><a href="#s1">Mass matrix</a></li>' in page
    assert page.count("copy LaTeX</button>") == 2
    # each with the shorthand that it needs
    assert page.count("\\begin{align*}") == 4
    assert '"STIX Two Math"' in page and "prefers-color-scheme: dark" in page


def test_the_page_names_the_robot_safely():
    model = sf.ModelBuilder("<b>&bad")
    model.add_body("a", joint=sf.Revolute("z"), inertia=sf.Inertia.from_mass(1.0, (1.0, 0.0, 0.0)))
    page = sf.equations(model.build()).html()
    assert "<b>&bad" not in page
    assert "&lt;b&gt;&amp;bad" in page


# -- commands


def test_the_command_prints_text_by_default():
    found = run("equations", "cart_pendulum")
    assert found.exit_code == 0
    assert "M[2,2] = m2 cy2^2 + Izz2" in found.output


@pytest.mark.parametrize(
    ("flag", "sign"),
    [
        ("--latex", r"\documentclass"),
        ("--html", "<!DOCTYPE html>"),
        ("--python", "def cart_pendulum_mass_matrix(q, p=PARAMETERS):"),
        ("--c", "void cart_pendulum_mass_matrix("),
        ("--julia", "function cart_pendulum_mass_matrix("),
        ("--matlab", "function M = cart_pendulum_mass_matrix("),
    ],
)
def test_the_command_prints_every_style(flag, sign):
    found = run("equations", "cart_pendulum", flag, "--terms", "M")
    assert found.exit_code == 0
    assert sign in found.output
    assert "gravity" not in found.output.lower()


def test_the_command_explains_the_minimal_set():
    found = run("equations", "cart_pendulum", "--inertias", "base", "--explain")
    assert "3 base parameters" in found.output


def test_unknown_terms_and_functions_end_with_a_message():
    for arguments in (
        ("equations", "pendulum", "--terms", "M,Q"),
        ("export", "pendulum", "--function", "teleport"),
        ("export", "pendulum", "--grouped", "--function", "momentum"),
    ):
        found = run(*arguments)
        assert found.exit_code == 2
        assert "fix:" in found.output


def test_export_writes_files_and_says_how_large_they_are(tmp_path):
    found = run("export", "pendulum", "--out", str(tmp_path / "code"), "--dtype", "float")
    assert found.exit_code == 0
    assert (tmp_path / "code" / "pendulum_inverse_dynamics.h").is_file()
    assert "operations" in found.output or "additions" in found.output


def test_export_to_a_place_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    found = run("export", "pendulum", "--out", str(tmp_path / "file" / "inside"))
    assert found.exit_code == 2
    assert "fix:" in found.output
