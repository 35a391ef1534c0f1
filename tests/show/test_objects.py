"""Objects show themselves: short texts, and HTML in which a name from a file is only a name."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import sixfold as sf
from tests.show.objects import EVIL, NAMES, OBJECTS, PLAIN, comparison, diagnosis, evil_model, made

TAGS = {
    "b",
    "br",
    "details",
    "div",
    "li",
    "p",
    "pre",
    "small",
    "span",
    "summary",
    "sup",
    "ul",
    "h2",
}
TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
TAGS |= {"svg", "g", "path", "circle", "rect", "text", "title"}
TAGS |= {"math", "mi", "mn", "mo", "mrow", "mover", "msub", "mspace", "msup", "msubsup"}


class Tags(HTMLParser):
    """Collects the tags and attributes of a text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("name", [*OBJECTS, *PLAIN])
def test_the_text_of_an_object_is_a_few_lines(name):
    text = repr(made(name))
    assert len(text) <= 500 and text.count("\n") <= 6
    assert " object at 0x" not in text


@pytest.mark.parametrize("name", OBJECTS)
def test_html_is_well_formed_and_bounded(name):
    html = made(name)._repr_html_()
    ElementTree.fromstring(html if html.startswith("<div") else f"<div>{html}</div>")
    assert len(html) < 100_000


@pytest.mark.parametrize("name", OBJECTS)
def test_no_name_becomes_markup(name):
    html = made(name)._repr_html_()
    found = Tags()
    found.feed(html)
    assert found.tags <= TAGS
    assert not [x for x in found.attributes if x.startswith("on") or x in ("src", "href")]
    assert "<script" not in html and "<img" not in html


def test_every_hostile_name_is_shown_as_it_is():
    html = evil_model()._repr_html_()
    words = "".join(ElementTree.fromstring(html).itertext())
    assert EVIL in words and all(name in words for name in NAMES)
    assert EVIL in "".join(ElementTree.fromstring(diagnosis()._repr_html_()).itertext())
    assert EVIL in "".join(ElementTree.fromstring(comparison()._repr_html_()).itertext())


def test_a_model_shows_a_circle_for_each_body_and_its_loops_dashed():
    leg = sf.load("four_bar_leg")
    html = leg._repr_html_()
    assert html.count("<circle") == leg.nb
    assert html.count("stroke-dasharray") == len(leg.constraints) > 0
    assert html.count("<tr>") == leg.nb + 1


def test_a_large_model_shows_a_table_with_its_end_counted():
    chain = sf.load("planar_chain:100")
    html = chain._repr_html_()
    assert "<svg" not in html and "... and 40 more" in html


def test_a_trajectory_shows_its_plots():
    motion = made("Trajectory")
    titles = re.findall(r'font-weight="bold"[^>]*>([^<]+)', motion._repr_html_())
    assert titles == ["positions q", "velocities v", "energy [J]"]
    assert "shown: the first of 3 motions" in made("batch of Trajectories")._repr_html_()
    assert "contact forces" in made("Trajectory with contacts")._repr_html_()


def test_a_motion_without_samples_shows_its_summary_alone():
    html = made("Trajectory")[:0]._repr_html_()
    assert "0 samples" in html and "<svg" not in html


def test_equations_show_formulas_and_long_ones_their_size():
    short = made("Equations")
    assert "<math" in short._repr_html_() and r"\begin{align*}" in short._repr_latex_()
    long = sf.equations(sf.load("puma560"), samples=1)
    assert "<math" not in long._repr_html_() and ".latex()" in long._repr_html_()
    assert long._repr_latex_() is None


def test_a_report_that_disagrees_says_so():
    bad = made("Report that disagrees")
    assert repr(bad).endswith("1 DISAGREE>") and "DISAGREES" in bad._repr_html_()
    assert repr(made("Report")).endswith("all agree>")
    assert "DIFFERS" in repr(comparison())


def test_a_regulator_prints_its_gains_and_the_shape_of_many():
    assert "K=[[" in repr(made("LQR"))
    assert "K=array (30, 2, 4)" in repr(made("TVLQR"))


def test_a_ground_prints_what_differs_from_the_defaults():
    assert repr(sf.contact.Ground(friction=0.5)) == "Ground(friction=0.5)"
    assert "9 x ContactPoint" in repr(made("Ground"))
