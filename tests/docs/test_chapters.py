"""Chapters of the book have exercises, and each runs as a notebook that prints their answers."""

import re
import sys

import pytest

from tests.docs.blocks import DOCS

sys.path.insert(0, str(DOCS / "_ext"))
from cells import notebook, write_notebook

PAGES = {page.stem: page for page in sorted((DOCS / "book").glob("*.md"))}
WITH_EXERCISES = [name for name, page in PAGES.items() if "\n## Exercises\n" in page.read_text()]
QUESTION = re.compile(r"^\*\*(\d+)\.\*\* (.*?)^<details>", re.MULTILINE | re.DOTALL)
SOLUTION = re.compile(
    r"<summary>Solution (\d+)</summary>\n\n```python\n(.*?)^```", re.M | re.DOTALL
)
FOUND = re.compile(r"[Yy]ou\s+should\s+find(.*?)(?:\.\s|\.$|:|;)", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def exercises(name):
    """Return the questions and the code of the solutions of a chapter, by number."""
    text = PAGES[name].read_text(encoding="utf-8").partition("\n## Exercises\n")[2]
    return dict(QUESTION.findall(text)), dict(SOLUTION.findall(text))


def test_chapters_have_exercises():
    assert {"carius", "khatib", "operators", "skeleton"} <= set(WITH_EXERCISES)


@pytest.mark.parametrize("name", WITH_EXERCISES)
def test_a_chapter_has_six_to_ten_exercises_with_solutions_that_assert(name):
    questions, solutions = exercises(name)
    assert 6 <= len(questions) <= 10
    assert list(questions) == list(solutions) == [str(n + 1) for n in range(len(questions))]
    assert all("assert " in code for code in solutions.values())


@pytest.mark.parametrize("name", PAGES)
def test_the_notebook_of_a_chapter_runs_in_a_kernel(name, tmp_path):
    pytest.importorskip("ipykernel", reason="notebooks run in the kernel of ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
    import nbformat

    write_notebook(PAGES[name], tmp_path / "page.ipynb")
    book = nbformat.read(tmp_path / "page.ipynb", as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    codes = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in codes] == list(range(1, len(codes) + 1))
    shown = [output.get("data", {}) for cell in codes for output in cell.outputs]
    assert sum("image/png" in data for data in shown) >= 5
    if name in WITH_EXERCISES:
        printed = {
            cell.source: "".join(output.get("text", "") for output in cell.outputs)
            for cell in codes
        }
        check_answers(name, printed)


def check_answers(name, printed):
    """Compare the numbers of "you should find" with what the cells of the solutions printed."""
    questions, solutions = exercises(name)
    compared = 0
    for n, question in questions.items():
        for said in FOUND.findall(question):
            text = printed[solutions[n].strip("\n")]
            shown = {float(x) for x in NUMBER.findall(text)}
            for number in NUMBER.findall(said.replace("m^2", "")):
                assert float(number) in shown, (n, number, text)
                compared += 1
    assert compared >= 4


@pytest.mark.parametrize("name", WITH_EXERCISES)
def test_words_of_a_chapter_s_notebook_hold_nothing_of_the_site(name):
    listed = notebook(PAGES[name].read_text(encoding="utf-8"))["cells"]
    words = "\n".join("".join(c["source"]) for c in listed if c["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert "<details" not in words and ".md)" not in words and "```" not in words
    assert "**Solution 1**" in words
