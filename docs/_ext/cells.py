"""Pages as cells: run them as a notebook does, or write them as a notebook.

`python docs/_ext/cells.py docs/tutorials build/notebooks` writes the tutorials as .ipynb files, and
`python docs/_ext/cells.py docs/book build/notebooks` the chapters of the book.
"""

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
FOLD = re.compile(r"^<details[^>]*><summary>(.*?)</summary>$|^</details>$", re.MULTILINE)
IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)]*\)")
PAGE_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


def cells(text):
    """Yield ("markdown", text, first line) and ("code", text, first line) in the page's order."""
    end = 0
    for found in BLOCK.finditer(text):
        yield "markdown", text[end : found.start()], text.count("\n", 0, end)
        yield "code", found.group(1), text.count("\n", 0, found.start(1))
        end = found.end()
    yield "markdown", text[end:], text.count("\n", 0, end)


def run_cell(code, namespace, file="cell", line=0):
    """Run a cell; return what it printed and the value of a last line that is an expression.

    A line that ends in a semicolon shows nothing, as in notebooks.
    """
    tree = ast.parse("\n" * line + code, file)
    last = tree.body[-1] if tree.body else None
    wanted = isinstance(last, ast.Expr) and not code.rstrip().endswith(";")
    if wanted:
        tree.body.pop()
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, file, "exec"), namespace)
        if wanted:
            value = eval(compile(ast.Expression(last.value), file, "eval"), namespace)
    return printed.getvalue(), value


def notebook(text):
    """Return a page as a notebook of format 4.5: plain data, ready for JSON."""
    listed = []
    for kind, source, _ in cells(FRONT_MATTER.sub("", text)):
        if kind == "markdown":
            source = FOLD.sub(lambda m: f"**{m.group(1)}**" if m.group(1) else "", source)
            source = PAGE_LINK.sub(r"\1", IMAGE.sub(r"(Drawing on the site: \1.)", source))
            source = re.sub(r"\n{3,}", "\n\n", source)
        source = source.strip("\n")
        if source.strip():
            listed.append(_cell(kind, source, len(listed)))
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": listed,
        "metadata": {"kernelspec": kernel, "language_info": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(kind, source, number):
    cell = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def write_notebook(page, path):
    """Write a page as an .ipynb file."""
    data = notebook(Path(page).read_text(encoding="utf-8"))
    Path(path).write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    pages, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for each in sorted(pages.glob("*.md")):
        if each.stem != "index":
            write_notebook(each, folder / f"{each.stem}.ipynb")
            print(folder / f"{each.stem}.ipynb")
