"""One HTML file that holds everything: summary, plots, and the robot in motion."""

from __future__ import annotations

import os
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from sixfold.errors import OptionError, visible
from sixfold.evaluate import model_checked
from sixfold.files import path_of, write_files
from sixfold.identification import Identification
from sixfold.model import Model
from sixfold.report.encode import json_text
from sixfold.report.identified import Content, identified
from sixfold.report.scene import scene_data
from sixfold.report.series import groups, plot_data
from sixfold.report.summary import summary, versions
from sixfold.scene import Figure, Record, figure, record

TRIANGLES = 24_000
"""Most triangles of the robot, which keeps the file light."""
SCRIPTS = ("scene.js", "plots.js", "player.js")


def write(path: str | os.PathLike[str], model: Model, trajectory: Any, title: str | None) -> Path:
    """Write the report of a motion; see `sixfold.report.write_report`."""
    model = model_checked("write_report", model)
    target = path_of("write_report", path, "motion.html")
    if title is not None and (not isinstance(title, str) or len(title) > 10_000):
        raise OptionError("write_report", "title", "a text of at most 10,000 characters", title)
    picture = figure(model, budget=TRIANGLES)
    if isinstance(trajectory, Identification):
        content = identified(trajectory)
        text = page(content.motion, picture, title or model.name, content)
    else:
        text = page(record("write_report", model, trajectory), picture, title or model.name)
    write_files({target: text.encode("utf-8", "backslashreplace")})
    return target


def page(motion: Record, picture: Figure, title: str, content: Content | None = None) -> str:
    """Return the text of the page: of a motion, or what else is said about it."""
    lines = groups(motion) if content is None else content.lines
    said = summary(motion) if content is None else content.summary
    data = {
        "start": float(motion.t[0]),
        "end": float(motion.t[-1]),
        "scene": scene_data(motion, picture),
        "plots": [plot_data(each, motion.t) for each in lines],
    }
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in said
    )
    notes = "<br>".join(escape(note) for note in picture.notes[:8])
    filled = {
        "title": escape(visible(title)),
        "subtitle": escape(_subtitle(motion, title)),
        "summary": rows,
        "cards": "" if content is None else content.cards,
        "notes": f'<div class="card notes">Not drawn: {notes}</div>' if notes else "",
        "versions": escape(versions()),
        "style": _asset("style.css"),
        "script": "\n".join(_asset(name) for name in SCRIPTS),
        "data": json_text(data),
    }
    # one pass over the template, so that nothing inside a value is taken for a place in it
    head, *rest = _asset("page.html").split("{{")
    return head + "".join(
        filled[name] + after for name, after in (piece.split("}}", 1) for piece in rest)
    )


def _subtitle(motion: Record, title: str) -> str:
    rows = f"{len(motion.t):,} states".replace(",", "\u202f")
    name = motion.model.name
    parts = [f"{motion.duration:g} s", rows, f"{motion.model.nv} freedoms"]
    return " · ".join(parts if title == name else [visible(name), *parts])


def _asset(name: str) -> str:
    return (files("sixfold.report") / "page" / name).read_text(encoding="utf-8")
