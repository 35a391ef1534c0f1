"""Tables of the site: which become cards on a phone, and that each cell then has its heading."""

import importlib.util

import pytest

from tests.docs.ledger import ROOT


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load("tables")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (["name", "a sentence of some forty characters or so"], ""),
        (["panda", "704", "256", "25.1", "44.2", "198.4", "106.9"], "figures"),
        (["hinge", "yes", "no", "with brackets", "yes", "no", "in the plane"], ""),
        (["a robot with a long name of many words", "7,321", "205 ns", "1.3", "2.4"], ""),
        (["1", "2", "3"], ""),
        (["quaternion", "x y z w, as in the files", "the other way round", "w x y z"], ""),
        (["quaternion", "x y z w, as in files of robots", "the other way round", "w"], "cards"),
        (["4", "body 4, the forearm", "z, along the link and down", "joint 3"], "cards numbered"),
        (["four-bar", "1.86", f"11 digits of {'what is known ' * 5}"], ""),
        (["four-bar linkage", "1.86", f"11 digits {'known ' * 12}", "12 digits"], "cards"),
        (["Part 1", "it says", *["a name of forty characters and a little " * 3] * 3], "ledger"),
    ],
)
def test_tables_of_text_that_do_not_fit_become_cards(row, expected):
    assert tables.kind([row, row]) == expected


def test_each_cell_of_a_card_carries_its_heading_and_the_rest_stays():
    head = "<thead><tr><th><p>code</p></th><th><p>a &lt; b</p></th><th><p>fix</p></th></tr></thead>"
    cells = ["mass-tiny", "a sentence that is <em>longer</em> than a line", "give the true mass"]
    row = "<tr>" + "".join(f"<td><p>{cell}</p></td>" for cell in cells) + "</tr>"
    table = f'<table class="docutils align-default">{head}<tbody>{row}</tbody></table>'
    marked = tables.TABLE.sub(tables.marked, table)
    assert marked.startswith('<table class="docutils cards align-default">' + head)
    for label, cell in zip(["code", "a &lt; b", "fix"], cells, strict=True):
        assert f'<td data-label="{label}"><p>{cell}</p></td>' in marked


def test_small_tables_of_numbers_stay_as_they_are():
    row = "<tr>" + "".join(f"<td><p>{k}</p></td>" for k in range(5)) + "</tr>"
    table = f'<table class="docutils align-default"><tbody>{row}</tbody></table>'
    assert tables.TABLE.sub(tables.marked, table) == table
