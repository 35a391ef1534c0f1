"""Pages of the book, and a few others, run when they are built.

What a block prints and draws stands below it.  The blocks of a page share one namespace.  A block
that draws with matplotlib gets its figures, one that prints gets its text.  The same blocks run in
the tests.
"""

import contextlib
import io
import re
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = ("book", "start", "operators", "spatial")


def run(app, name, lines):
    """Run the blocks of a page and put what they print and draw below them."""
    if name.partition("/")[0] not in FOLDERS:
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
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            file = folder / f"{page}-{len(parts)}-{number}.svg"
            figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
            title = figure.get_label()
            options = f":alt: {title or 'figure'}\n:figclass: made"
            parts.append(f"\n\n```{{figure}} /_made/{file.name}\n{options}\n\n{title}\n```\n")
        pyplot.close("all")
    lines[0] = "".join([*parts, text[end:]])


def setup(app):
    app.connect("source-read", run)
    return {"parallel_read_safe": True}
