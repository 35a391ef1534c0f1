"""Pages of the reference: every public name, grouped by the package that it comes from."""

import importlib
import inspect
from pathlib import Path

GROUPS = {
    "evaluate": (
        "Quantities",
        "dynamics, kinematics, derivatives: arrays in, arrays out",
    ),
    "model": ("Models", "joints, builders, edits"),
    "formats": ("Files", "robots in and out"),
    "simulation": ("Time", "simulation, rollouts, gradients, steppers"),
    "contact": ("Contact", "the ground and what may touch it"),
    "constraints": ("Closed loops", "assemble, count, drive"),
    "control": ("Control", "controllers, linearisation, inverse kinematics, planning"),
    "identification": ("Identification", "regressors and base parameters"),
    "identify": ("Identification", "base parameters"),
    "learn": ("Learning", "tasks and environments"),
    "sweeps": ("Sweeps", "many runs, on one machine or a cluster"),
    "bridges": ("JAX and PyTorch", "kernels inside other libraries"),
    "devices": ("Devices", "other processors"),
    "symbolic": ("Closed forms", "equations and code"),
    "spatial": ("Spatial vectors", "motions, forces, transforms, inertias"),
    "influence": ("Influence operators", "Phi and Psi of a model at a state"),
    "scalar": ("Numbers", "functions of any kind of number"),
    "doctor": ("The model doctor", "what is wrong with a robot"),
    "verify": ("Verification", "formulations compared"),
    "interop": ("Other engines", "Pinocchio and MuJoCo"),
    "viewer": ("The window", "robots in the browser"),
    "report": ("Reports and plots", "a motion as a page"),
    "dynamics": ("The planar skeleton", "plain arrays"),
    "errors": ("Errors and warnings", "what they mean"),
}


def write(app):
    """Write one page for each group, and the page that lists them."""
    import sixfold

    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    groups = {}
    for name in sorted(sixfold.__all__):
        value = getattr(sixfold, name)
        module = value.__name__ if inspect.ismodule(value) else value.__module__
        groups.setdefault(module.split(".")[1], []).append((name, value))
    missing = groups.keys() - GROUPS.keys()
    assert not missing, f"docs/_ext/reference.py has no title for {sorted(missing)}"
    pages = [_page(folder, group, groups[group]) for group in GROUPS if group in groups]
    pages.append(_commands(folder))
    listed = "\n".join(f"   {page}" for page in pages)
    about = "Every public name of `sixfold`, by what it is for."
    text = f"Reference\n=========\n\n{about}\n\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    _put(folder / "index.rst", text)


def _page(folder, group, members):
    title, about = GROUPS[group]
    lines = [title, "=" * len(title), "", f"{about[0].upper()}{about[1:]}.", ""]
    for name, value in members:
        if inspect.ismodule(value):
            module = importlib.import_module(value.__name__)
            shown = {each for each, _ in members}  # a name stands once on a page
            listed = getattr(module, "PUBLIC", module.__all__)
            names = ", ".join(each for each in listed if each not in shown)
            lines += [f".. automodule:: {value.__name__}", f"   :members: {names}", ""]
        elif inspect.isclass(value):
            inherits = "" if issubclass(value, BaseException) else "   :members:"
            lines += [f".. autoclass:: sixfold.{name}", inherits, ""]
        else:
            lines += [f".. autofunction:: sixfold.{name}", ""]
    _put(folder / f"{group}.rst", "\n".join(lines))
    return group


def _commands(folder):
    """Write the page of the command line, as `--help` prints it."""
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
    _put(folder / "commands.rst", "\n".join(lines))
    return "commands"


def _put(path, text):
    """Write a page if it has changed, so that it is not built again."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def without_aliases(app, what, name, value, options, lines):
    """Drop what Python says of the fields of a named tuple: their place in it."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def named(role, raw, text, line, inliner, options=None, content=None):
    """Set what stands in backquotes as code, and link it if it is a public name."""
    # the groups above are read by tests that run without Sphinx
    from docutils import nodes
    from sphinx import addnodes

    import sixfold

    target = text.removesuffix("()").removeprefix("sixfold.")
    literal = nodes.literal(raw, text, classes=["xref", "py", "py-obj"])
    if target.split(".")[0] not in sixfold.__all__:
        return [nodes.literal(raw, text)], []
    env = inliner.document.settings.env
    link = addnodes.pending_xref(raw, literal, refdomain="py", reftype="obj", refexplicit=False)
    link["reftarget"], link["refdoc"], link["refwarn"] = f"sixfold.{target}", env.docname, False
    return [link], []


def public_path(app, domain, kind, content):
    """Show a name in a public module as users write it, not where its file lies."""
    from docutils import nodes
    from sphinx import addnodes

    import sixfold

    for name in sixfold.__all__:
        module = getattr(sixfold, name)
        if not inspect.ismodule(module):
            continue
        for place in content.parent.findall(addnodes.desc_addname):
            if place.astext() == f"{module.__name__}.":
                place.children = []
                place += nodes.Text(f"sixfold.{name}.")


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
    app.connect("autodoc-process-docstring", keep_written, priority=100)
    app.connect("autodoc-process-docstring", without_aliases)
    app.connect("autodoc-process-docstring", restore_sentences, priority=900)
    return {"parallel_read_safe": True}
