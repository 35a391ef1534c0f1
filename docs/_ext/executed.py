"""Pages run when they are built: what a block prints and draws stands below it.

Those of some folders run, and all others that draw.  The blocks of a page share one namespace.  A
block that draws with matplotlib gets its figures, one that prints gets its text.  In tutorials the
value of a block's last line is shown as well, as in a notebook.  Tutorials and chapters of the book
can be fetched as notebooks.
The same blocks run in the tests.  A page whose first line is `% needs pinocchio` is shown as it is
where that library is not installed.
"""

import re
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from cells import cells, run_cell, write_notebook

NEEDS = re.compile(r"\A% needs (\w+)\n")
DRAWS = re.compile(r"^(?:.* = )?plt\.(?:figure|subplots)\(", re.MULTILINE)
FOLDERS = (
    *("index", "book", "inside", "start", "jobs"),
    *("coming_from", "explain", "operators", "spatial", "tutorials", "gallery"),
)
TUTORIALS = "tutorials"
NOTEBOOKS = (TUTORIALS, "book")
STYLE = {"figure.figsize": (7.2, 3.6), "font.size": 10}


def run(app, name, lines):
    """Run the blocks of a page and put what they print, draw and show below them."""
    folder, _, stem = name.partition("/")
    if folder not in FOLDERS and not DRAWS.search(lines[0]):
        return
    if (needed := NEEDS.match(lines[0])) and not installed(needed.group(1)):
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    page = name.replace("/", "-")
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": page}):
        made = Path(app.srcdir) / "_made"
        made.mkdir(exist_ok=True)
        namespace, parts = {"__name__": "__main__"}, []
        for kind, text, line in cells(lines[0]):
            if kind == "markdown":
                parts.append(text)
                continue
            parts.append(f"```python\n{text}```")
            printed, value = run_cell(text, namespace, f"{name}.md", line)
            if printed.strip():
                parts.append(f"\n\n```{{code-block}} text\n:class: output\n{printed}```\n")
            if folder == TUTORIALS:
                parts.append(shown(value))
            loose = _loose(namespace, [pyplot.figure(n) for n in pyplot.get_fignums()])
            parts += figures(pyplot, made, f"{page}-{len(parts)}", loose)
    if folder in NOTEBOOKS and stem != "index":
        write_notebook(app.env.doc2path(name), made / f"{stem}.ipynb")
        parts[0] = below_title(parts[0], f"{{download}}`as a notebook </_made/{stem}.ipynb>`")
    lines[0] = "".join(parts)


def installed(name):
    """Return whether there is a module or a package of data of this name."""
    if find_spec(name) is not None:
        return True
    try:
        return metadata.distribution(name) is not None
    except metadata.PackageNotFoundError:
        return False


def shown(value):
    """Return a value as a notebook shows it: HTML if it has some, else its text."""
    if value is None:
        return ""
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if html:
        inside = f'<div class="shown">{html}</div>'
        return f"\n\n`````{{raw}} html\n{inside}\n`````\n"
    return f"\n\n```{{code-block}} text\n:class: output\n{value!r}\n```\n"


def figures(pyplot, folder, name, loose):
    """Save the figures that are open, and others, and return the text that places them."""
    parts = []
    opened = [pyplot.figure(number) for number in pyplot.get_fignums()]
    for number, figure in enumerate([*opened, *loose], 1):
        file = folder / f"{name}-{number}.svg"
        figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
        title = figure.get_label()
        options = f":alt: {title or 'figure'}\n:figclass: made"
        parts.append(f"\n\n```{{figure}} /_made/{file.name}\n{options}\n\n{title}\n```\n")
    pyplot.close("all")
    return parts


def _loose(namespace, known):
    """Take the figures out of a namespace that pyplot does not know, such as those of `sf.plot`."""
    from matplotlib.figure import Figure

    found = {key: value for key, value in namespace.items() if isinstance(value, Figure)}
    for key in found:
        del namespace[key]
    return [figure for figure in found.values() if figure not in known]


def below_title(text, line):
    """Return a text with a line below its first heading."""
    head, _, rest = text.partition("\n")
    return f"{head}\n\n{line}\n{rest}"


def setup(app):
    app.connect("source-read", run)
    return {"parallel_read_safe": True}
