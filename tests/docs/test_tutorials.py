"""The tutorials run as notebooks do, keep what they promise, and can be fetched as notebooks."""

import json
import re
import sys

import pytest

from tests.docs.blocks import DOCS

sys.path.insert(0, str(DOCS / "_ext"))
from cells import cells, notebook, run_cell, write_notebook

PAGES = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index")
IDS = [page.stem for page in PAGES]
FOUND = re.compile(r"You\s+should\s+find\s+(\d[\d.]*\d|\d)(?:\s+and\s+(\d[\d.]*\d|\d))?")


def code_cells(page):
    text = page.read_text(encoding="utf-8")
    return [(code, line) for kind, code, line in cells(text) if kind == "code"]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_a_tutorial_runs_in_a_fresh_namespace_and_shows_what_it_says(page):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    namespace, texts, seen = {"__name__": "__main__"}, [], 0
    for code, line in code_cells(page):
        printed, value = run_cell(code, namespace, page.name, line)
        texts.append(printed)
        seen += len(pyplot.get_fignums()) + hasattr(value, "_repr_html_")
        assert not type(value).__module__.startswith("matplotlib"), code
        assert not (isinstance(value, (list, tuple)) and "matplotlib" in repr(value)), code
        pyplot.close("all")
    assert 8 <= len(texts) <= 15 and seen >= 3

    # the solutions are the last two cells and print the numbers of the exercises
    answers = FOUND.findall(page.read_text(encoding="utf-8").partition("## Exercises")[2])
    assert len(answers) == 2
    for numbers, printed in zip(answers, texts[-2:], strict=True):
        for number in filter(None, numbers):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", printed), printed


def test_a_notebook_runs_in_a_kernel_from_end_to_end(tmp_path):
    pytest.importorskip("ipykernel", reason="notebooks run in the kernel of ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
    import nbformat

    page = DOCS / "tutorials" / "first_arm.md"
    write_notebook(page, tmp_path / "page.ipynb")
    book = nbformat.read(tmp_path / "page.ipynb", as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    codes = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in codes] == list(range(1, len(codes) + 1))
    shown = [output.get("data", {}) for cell in codes for output in cell.outputs]
    assert sum("image/png" in data for data in shown) >= 3  # figures
    assert any("puma560" in data.get("text/html", "") for data in shown)  # the robot shows itself
    texts = "".join(output.get("text", "") for cell in codes[-2:] for output in cell.outputs)
    for number in ("51.9", "7.9"):  # what the exercises say
        assert number in texts


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_a_tutorial_becomes_a_notebook_with_the_same_cells(page, tmp_path):
    write_notebook(page, tmp_path / "page.ipynb")
    data = json.loads((tmp_path / "page.ipynb").read_text(encoding="utf-8"))
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert data["metadata"]["kernelspec"]["name"] == "python3"
    listed = data["cells"]
    assert len({cell["id"] for cell in listed}) == len(listed)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell["id"]) for cell in listed)
    for cell in listed:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == {"cell_type", "id", "metadata", "source"} | code
        assert all(isinstance(line, str) for line in cell["source"])
    codes = ["".join(c["source"]) for c in listed if c["cell_type"] == "code"]
    assert codes == [code.strip("\n") for code, _ in code_cells(page)]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_words_of_a_notebook_hold_nothing_of_the_site(page):
    listed = notebook(page.read_text(encoding="utf-8"))["cells"]
    words = "\n".join("".join(c["source"]) for c in listed if c["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert "<details" not in words and ".md)" not in words and "```" not in words
    assert "**Solution 1**" in words and "**Solution 2**" in words


def test_every_tutorial_is_in_the_list():
    text = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert len(PAGES) == 6 and all(f"({page.name})" in text for page in PAGES)


def test_a_cell_shows_its_last_expression_unless_a_semicolon_follows():
    assert run_cell("x = 2\nx + 1\n", {}) == ("", 3)
    assert run_cell("x = 2\nx + 1;\n", {}) == ("", None)
    assert run_cell("print(1)\ny = 3\n", {}) == ("1\n", None)
    with pytest.raises(ZeroDivisionError) as error:
        run_cell("\n1 / 0\n", {}, "page.md", 40)
    assert error.traceback[-1].lineno == 41 and str(error.traceback[-1].path) == "page.md"
