"""Pages run when they are built: what a block prints and draws stands below it.

Those of some folders run, and all others that draw.  The blocks of a page share one namespace.  A
block that draws with matplotlib gets its figures, one that prints gets its text.  The same blocks
run in the tests.  A page whose first line is `% needs pinocchio` is shown as it is where that
library is not installed.
"""

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"\A% needs (\w+)\n")
DRAWS = re.compile(r"^(?:.* = )?plt\.(?:figure|subplots)\(", re.MULTILINE)
FOLDERS = ("index", "book", "inside", "start", "jobs", "coming_from", "operators", "spatial")


def run(app, name, lines):
    """Run the blocks of a page and put what they print and draw below them."""
    if name.partition("/")[0] not in FOLDERS and not DRAWS.search(lines[0]):
        return
    if (needed := NEEDS.match(lines[0])) and find_spec(needed.group(1)) is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    text, page = lines[0], name.replace("/", "-")
    pyplot.rcParams.update({"figure.figsize": (7.2, 3.6), "svg.hashsalt": page, "font.size": 10})
    folder = Path(app.srcdir) / "_made"
    folder.mkdir(exist_ok=True)
    namespace, parts, end = {"__name__": "__main__"}, [], 0
    for found in BLOCK.finditer(text):
        parts.append(text[end : found.end()])
        end = found.end()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = "\n" * text.count("\n", 0, found.start(1)) + found.group(1)
            exec(compile(code, f"{name}.md", "exec"), namespace)
        if printed.getvalue().strip():
            parts.append(f"\n\n```{{code-block}} text\n:class: output\n{printed.getvalue()}```\n")
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        figures += _loose(namespace, figures)
        for number, figure in enumerate(figures, 1):
            file = folder / f"{page}-{len(parts)}-{number}.svg"
            figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
            title = figure.get_label()
            options = f":alt: {title or 'figure'}\n:figclass: made"
            parts.append(f"\n\n```{{figure}} /_made/{file.name}\n{options}\n\n{title}\n```\n")
        pyplot.close("all")
    lines[0] = "".join([*parts, text[end:]])


def _loose(namespace, known):
    """Take the figures out of a namespace that pyplot does not know, such as those of `sf.plot`."""
    from matplotlib.figure import Figure

    found = {key: value for key, value in namespace.items() if isinstance(value, Figure)}
    for key in found:
        del namespace[key]
    return [figure for figure in found.values() if figure not in known]


def setup(app):
    app.connect("source-read", run)
    return {"parallel_read_safe": True}
