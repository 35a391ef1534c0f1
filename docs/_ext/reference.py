"""The reference: a table for each topic, and a page for each public function and class.

Topics of the top level follow from the package that a name is defined in; each public submodule
(`sf.control`, `sf.contact`, ...) is a topic of its own. A page says what other libraries call the
same thing, read from the tables of the coming-from pages.
"""

import inspect
import re
from functools import cache
from pathlib import Path

# package of definition -> topic of the top level: page, title, what it holds
TOPICS = {
    "model": ("models", "Models", "Joints, bodies, builders and edits."),
    "formats": ("models", "", ""),
    "runtime": ("compilation", "Compilation", "Functions compiled for a model, and threads."),
    "quantities": (
        "quantities",
        "Kinematics and dynamics",
        "Functions of a model and arrays of states.",
    ),
    "simulation": ("simulation", "Simulation", "Systems, simulation, rollouts and trajectories."),
    "symbolic": ("equations", "Equations and code", "Closed forms, and code in other languages."),
    "codegen": ("equations", "", ""),
    "explanation": ("equations", "", ""),
    "checks": ("checks", "Checks", "Diagnose models, compare formulations."),
    "control": ("kinematics", "Inverse kinematics", "Joint angles from poses."),
    "display": ("display", "Pictures, windows and reports", "Plots, the browser window, reports."),
}
LIBRARIES = {
    "pinocchio": "Pinocchio",
    "mujoco": "MuJoCo",
    "drake": "Drake",
    "robotics_toolbox": "Robotics Toolbox",
    "sympy": "SymPy",
}
# values that have no docstring of their own
DATA = {
    "learn.TASKS": "The tasks that are ready to use: functions by name.",
    "spatial.IDENTITY3": "The 3 x 3 identity matrix.",
    "spatial.ZERO3": "The zero vector with three components.",
    "spatial.ZERO33": "The 3 x 3 zero matrix.",
}
OURS = re.compile(r"`sf\.([\w.]+)")
CODE = re.compile(r"`([^`]+)`")
ANY_ARRAY = "ndarray[tuple[Any, ...], dtype[Any]]"
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
NAMES = re.compile(r"^## Names$(.*?)^## ", re.MULTILINE | re.DOTALL)
# what makes a row of a table more than a pair of names
MORE = re.compile(r" (?:times|and|@) ")


@cache
def public_names():
    """Return (topic, path, object) of every public name; modules are topics, not names."""
    import sixfold

    modules, found = [], []
    for name in sixfold.__all__:
        value = getattr(sixfold, name)
        if inspect.ismodule(value):
            modules.append((name, value))
        else:
            package = value.__module__.split(".")[1]
            found.append((TOPICS[package][0] if package in TOPICS else package, name, value))
    top = [value for _, _, value in found]
    for name, module in modules:
        # a name of the top level has one page, not another one in its submodule
        found += [row for row in _names_of(module, name) if not any(row[2] is v for v in top)]
    return found


def _names_of(module, path):
    """Yield the names of a public submodule, and of the modules in it."""
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value):
            if hasattr(value, "__all__"):  # others are one page of the sources each
                yield from _names_of(value, f"{path}.{name}")
        else:
            yield path, f"{path}.{name}", value


@cache
def topics():
    """Return title and description of each topic, by the name of its page."""
    import sixfold

    found = {page: (title, about) for page, title, about in TOPICS.values() if title}
    for topic in sorted({topic for topic, _, _ in public_names()} - found.keys()):
        module = sixfold
        for part in topic.split("."):
            module = getattr(module, part)
        found[topic] = (f"sf.{topic}", summary(module))
    return found


@cache
def page_names():
    """Return the page of each public name, by its path.

    `lqr` and `LQR` differ on every file system: a class next to a function has `-class` added.
    """
    pages = {path: f"{topic}/{path.split('.')[-1]}" for topic, path, _ in public_names()}
    functions = {pages[path] for _, path, value in public_names() if not inspect.isclass(value)}
    for path, page in pages.items():
        if page != page.lower() and page.lower() in functions:
            pages[path] = f"{page}-class"
    return pages


def pages():
    """Return the names of all pages, without the suffix."""
    return {"index", "commands", *topics(), *page_names().values()}


def summary(value):
    """Return the first sentence of a docstring on one line."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def names_elsewhere(folder):
    """Return what other libraries call each of our names: {ours: {library: theirs}}."""
    found = {}
    for page, library in LIBRARIES.items():
        text = (folder / "coming_from" / f"{page}.md").read_text(encoding="utf-8")
        for line in NAMES.search(text).group(1).splitlines():
            cells = line.strip("| ").split(" | ")
            if not line.startswith("|") or len(cells) != 2 or not cells[1].startswith("`sf."):
                continue
            right = cells[1].split("; ")[0]
            if MORE.search(right):
                continue
            theirs = [code.split("(")[0] for code in CODE.findall(MORE.split(cells[0])[0])]
            ours = OURS.findall(right)
            if not theirs:
                continue
            for k, name in enumerate(ours):
                words = [theirs[k]] if len(theirs) == len(ours) else theirs
                there = found.setdefault(name, {}).setdefault(library, [])
                there += [word for word in words if word not in there]
    return found


def _elsewhere(names):
    """Return the names of other libraries as reStructuredText."""
    shown = {library: ", ".join(f"``{word}``" for word in names[library]) for library in names}
    return "; ".join(f"{library} {words}" for library, words in shown.items())


def write(app):
    """Write the index, a page for each topic and a page for each name."""
    folder = Path(app.srcdir) / "reference"
    elsewhere = names_elsewhere(Path(app.srcdir))
    groups = {topic: [] for topic in topics()}
    for topic, path, value in sorted(public_names(), key=lambda row: row[1].lower()):
        groups[topic].append((path, value))
    for topic, members in groups.items():
        _put(folder / f"{topic}.rst", _topic(topic, members, elsewhere))
        for path, value in members:
            _put(folder / f"{page_names()[path]}.rst", _page(path, value, elsewhere.get(path)))
    _put(folder / "commands.rst", _commands())
    _put(folder / "index.rst", _index(groups))
    wanted = {folder / f"{page}.rst" for page in pages()}
    for old in set(folder.rglob("*.rst")) - wanted:
        old.unlink()


def _heading(text):
    return [text, "=" * len(text), ""]


def _about(path, value):
    """Return one sentence for a table cell."""
    text = DATA.get(path) or summary(value)
    return text.replace("*", r"\*").replace("|", r"\|")


def _topic(topic, members, elsewhere):
    """Return the page of a topic: a table of its names."""
    title, about = topics()[topic]
    known = any(path in elsewhere for path, _ in members)
    lines = [*_heading(title), about, "", ".. list-table::", "   :header-rows: 1", ""]
    lines += ["   * - name", "     - what it is", *["     - in other libraries"] * known]
    for path, value in members:
        lines.append(f"   * - :doc:`sf.{path} <{page_names()[path]}>`")
        lines.append(f"     - {_about(path, value)}")
        lines += [f"     - {_elsewhere(elsewhere.get(path, {}))}".rstrip()] * known
    listed = [f"   sf.{path} <{page_names()[path]}>" for path, _ in members]
    return "\n".join([*lines, "", ".. toctree::", "   :hidden:", "", *listed, ""])


def _page(path, value, elsewhere):
    """Return the page of one public name."""
    lines = _heading(f"sf.{path}")
    if path in DATA:
        lines += [f".. py:data:: sixfold.{path}", "", f"   {DATA[path]}", ""]
    elif inspect.isclass(value):
        members = [] if issubclass(value, BaseException) else ["   :members:"]
        if members and value.__bases__[0].__name__.startswith(
            ("_", "Linear")
        ):  # bases without a page of their own
            members.append("   :inherited-members: tuple, Joint")
        lines += [f".. autoclass:: sixfold.{path}", *members, ""]
    else:
        lines += [f".. autofunction:: sixfold.{path}", ""]
    if elsewhere:
        lines += [f"In other libraries: {_elsewhere(elsewhere)}.", ""]
    return "\n".join(lines)


def _index(groups):
    """Return the first page: each topic with the names in it."""
    lines = [*_heading("Reference"), "Every public name, by topic.", ""]
    for topic, members in groups.items():
        title, about = topics()[topic]
        names = [f":doc:`{path.split('.')[-1]} <{page_names()[path]}>`" for path, _ in members]
        lines += [f":doc:`{title} <{topic}>`", f"   {about}", "", f"   {', '.join(names)}", ""]
    listed = [f"   {topic}" for topic in groups]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *listed, "   commands", ""])


def _commands():
    """Return the page of the command line, as `--help` prints it."""
    import click

    from sixfold.cli import main

    title = "The command line"
    about = "``sixfold COMMAND``, or ``python -m sixfold COMMAND``. ``-h`` prints what is below."
    lines = [title, "=" * len(title), "", about, ""]
    for name, command in {"": main, **dict(sorted(main.commands.items()))}.items():
        whole = f"sixfold {name}".strip()
        context = click.Context(command, info_name=whole, terminal_width=80, max_content_width=80)
        text = command.get_help(context)
        lines += [whole, "-" * len(whole), "", ".. code-block:: text", ""]
        lines += [f"   {line}".rstrip() for line in text.splitlines()] + [""]
    return "\n".join(lines)


def _put(path, text):
    """Write a page if it has changed, so that it is not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def without_aliases(app, what, name, value, options, lines):
    """Drop what Python says of the fields of a named tuple: their place in it."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def named(role, raw, text, line, inliner, options=None, content=None):
    """Set what stands in backquotes as code, and link it if it is a public name."""
    # tests read the names above without Sphinx
    from docutils import nodes
    from sphinx import addnodes

    env = inliner.document.settings.env
    target = public_target(text.removesuffix("()"), env.docname)
    if target is None:
        return [nodes.literal(raw, text)], []
    literal = nodes.literal(raw, text, classes=["xref", "py", "py-obj"])
    link = addnodes.pending_xref(raw, literal, refdomain="py", reftype="obj", refexplicit=False)
    link["reftarget"], link["refdoc"], link["refwarn"] = f"sixfold.{target}", env.docname, False
    return [link], []


@cache
def paths():
    """Return the paths of all public names."""
    return {path for _, path, _ in public_names()}


def public_target(text, page):
    """Return the path that a name means on a page, None if it is no public name.

    `sf.control.pd` and `control.pd` are found everywhere, `pd` on the pages of `sf.control`.
    """
    name = text.removeprefix("sixfold.").removeprefix("sf.")
    parts = page.split("/")
    inside = [f"{parts[1]}.{name}"] if parts[0] == "reference" and len(parts) == 3 else []
    for path in [*inside, name]:
        steps = path.split(".")
        if any(".".join(steps[:k]) in paths() for k in range(1, len(steps) + 1)):
            return path
    return None


def public_path(app, domain, kind, content):
    """Show a name as users write it: `sf.control.pd`."""
    from docutils import nodes
    from sphinx import addnodes

    for place in content.parent.findall(addnodes.desc_addname):
        text = place.astext()
        if text.startswith("sixfold."):
            place.children = []
            place += nodes.Text(f"sf.{text.removeprefix('sixfold.')}")


def plain_types(app, what, name, value, options, signature, returned):
    """Write `ArrayLike | None` where autodoc shows the object that stands for the alias."""
    texts = (text and text.replace(ANY_ARRAY, "Array") for text in (signature, returned))
    return tuple(text and ALIAS.sub(r"\1", text) for text in texts)


WRITTEN = {}


def keep_written(app, what, name, value, options, lines):
    """Keep what a docstring says before napoleon reads it."""
    WRITTEN[name] = list(lines)


def restore_sentences(app, what, name, value, options, lines):
    """Undo what napoleon makes of a property's sentence with a colon: a type and a text."""
    if what in ("property", "attribute") and any(line.startswith(":type:") for line in lines):
        lines[:] = WRITTEN[name]


def setup(app):
    """Write the pages when Sphinx begins."""
    from docutils.parsers.rst import roles

    roles.register_local_role("named", named)
    app.connect("builder-inited", write)
    app.connect("object-description-transform", public_path)
    app.connect("autodoc-process-signature", plain_types)
    app.connect("autodoc-process-docstring", keep_written, priority=100)
    app.connect("autodoc-process-docstring", without_aliases)
    app.connect("autodoc-process-docstring", restore_sentences, priority=900)
    return {"parallel_read_safe": True}
