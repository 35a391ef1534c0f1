"""Studies in files: what varies, which quantity of which robot, how many rows."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sixfold import quantities
from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, OptionError, UnknownNameError, brief, yes_or_no
from sixfold.files import path_of, read_regular
from sixfold.formats import load
from sixfold.model import Model
from sixfold.runtime import all_quantities
from sixfold.sweeps import draws
from sixfold.sweeps.draws import Draw
from sixfold.sweeps.study import Grid, rows_of, study_of

KEYS = ("title", "robot", "quantity", "function", "rows", "seed", "draw", "grid", "options")
MAX_BYTES = 2**20  # size of a study's file
# a key of 30 parts: the TOML parser takes time and memory with the square of their number; the
# lookbehind starts each match at the first character of a part, as it must for linear time
LONG_KEY = re.compile(r"(?<![^\s.,=\[\]{}#])(?:[^\s.,=\[\]{}#]++[ \t]*+\.[ \t]*+){30}")
FUNCTION = "'package.module:name', or 'file.py:name'"
KINDS = ("configuration", "uniform", "normal", "log_uniform", "choice")


@dataclass(frozen=True)
class StudyFile:
    """A study as a file describes it."""

    title: str
    function: Callable[..., Any]
    rows: int | Grid
    seed: int | None
    draw: dict[str, Draw] | None
    model: Model | None
    # sizes of the axes of each result, where they are known: "nv", "6"
    outputs: dict[str, tuple[str, ...]]


def read_study(path: str | os.PathLike[str], *, allow_code: bool = False) -> StudyFile:
    """Return the study of a TOML file, or say what is wrong with it.

    Args:
        path: of the file.
        allow_code: whether it may name a function: "package.module:name" of an installed module, or
            "file.py:name" of a file in the study's own folder.  Reading the study then imports the
            module or runs the file, as `import` does, so say so only for studies that you trust.
    """
    yes_or_no("read_study", allow_code=allow_code)
    place = path_of("read_study", path, "study.toml")
    try:
        text = read_regular(place, MAX_BYTES).decode("utf-8-sig")
        if LONG_KEY.search(text):
            raise ValueError("a key of more than 30 parts")
        given = tomllib.loads(text)
    except OSError as error:
        reason = brief(error.strerror or error)
        raise OptionError("sweep", str(place), "a file that can be read", reason) from None
    except RecursionError:
        got = "lists or tables that are nested too deep"
        raise OptionError("sweep", str(place), "a study in TOML", got) from None
    except ValueError as error:  # of the decoder, or of TOML
        raise OptionError("sweep", str(place), "a study in TOML", brief(error)) from None
    for key in given:
        if key not in KEYS:
            raise UnknownNameError("key", key, KEYS, where=place.name)
    if ("quantity" in given) == ("function" in given):
        got = "both" if "quantity" in given else "neither"
        words = "either quantity = '...' or function = 'file.py:name'"
        raise OptionError(place.name, "quantity", words, got)
    if "function" in given and not allow_code:
        what, where = "the key 'function', which runs code,", f"study '{place.name}'"
        fix = "if you trust it: sixfold sweep --allow-code, or read_study(path, allow_code=True)"
        raise NotApplicableError(what, where, fix)
    if "quantity" in given and allow_code:
        where = f"study '{place.name}', which names no function"
        raise NotApplicableError("option 'allow_code'", where, "leave it out")
    # the function, the shapes of its arguments and of its results
    model = load(_robot(given["robot"], place)) if "robot" in given else None
    build = _quantity if "quantity" in given else _function
    function, shapes, outputs = build(given, place, model)
    draw = {
        name: _draw(place.name, name, each, model, shapes.get(name))
        for name, each in _table(place.name, given, "draw").items()
    }
    rows = _rows(place.name, given)
    if isinstance(rows, int) and not draw:
        raise OptionError(place.name, "draw", "[draw.NAME] for what varies, or a [grid]", "neither")
    title = given.get("title", place.stem)
    if not isinstance(title, str):
        raise OptionError(place.name, "title", "a text", title)
    return StudyFile(title, function, rows, given.get("seed"), draw or None, model, outputs)


_Built = tuple[Callable[..., Any], dict[str, tuple[int, ...]], dict[str, tuple[str, ...]]]


def _quantity(given: Mapping[str, Any], place: Path, model: Model | None) -> _Built:
    """Return a quantity of the robot as a function, with the shapes of its arguments."""
    rows = all_quantities()
    name = given["quantity"]
    if not isinstance(name, str) or name not in rows:
        raise UnknownNameError("quantity", name, rows, where=place.name)
    if model is None:
        raise OptionError(place.name, "robot", "the name or file of a robot", "none")
    row = rows[name]
    options = _table(place.name, given, "options")
    known = (*row.choices, *([row.place] if row.place else []), "backend")
    for each in options:
        if each not in known:
            raise UnknownNameError("option", each, known, where=f"{place.name}: {name}")
    shapes = {n: row.argument(model, n, None).shape for n in row.arrays}
    varied = {**_table(place.name, given, "draw"), **_table(place.name, given, "grid")}
    for each in varied:
        if each not in shapes:
            raise UnknownNameError("argument", each, shapes, where=f"{place.name}: {name}")
    named = [name] if len(row.outputs) == 1 else [f"result{k}" for k in range(len(row.outputs))]
    outputs = {n: tuple(sizes.split()) for n, sizes in zip(named, row.outputs, strict=True)}
    zeros = {n: shape for n, shape in shapes.items() if n not in varied and n not in row.optional}
    return _Evaluation(name, model, options, zeros, tuple(named)), shapes, outputs


@dataclass(frozen=True)
class _Evaluation:
    """A quantity of a robot; arrays that do not vary are zero."""

    name: str
    model: Model
    options: dict[str, Any]
    zeros: dict[str, tuple[int, ...]]
    results: tuple[str, ...]

    def __call__(self, **arrays: Any) -> dict[str, Any]:
        still = {name: np.zeros(shape) for name, shape in self.zeros.items()}
        found = getattr(quantities, self.name)(self.model, **arrays, **still, **self.options)
        several = found if isinstance(found, tuple) else (found,)
        return dict(zip(self.results, several, strict=True))


def _function(given: Mapping[str, Any], place: Path, model: Model | None) -> _Built:
    """Return a function of an installed module, or of a Python file in the study's own folder."""
    if "options" in given:
        where, fix = "a function of yours", "leave [options] out"
        raise NotApplicableError(f"{place.name}: options", where, fix)
    where, _, name = str(given["function"]).rpartition(":")
    if where.endswith(".py"):
        module = _run_file(place, where, given["function"])
    elif where and all(part.isidentifier() for part in where.split(".")):
        try:
            module = importlib.import_module(where)
        except ImportError as error:
            raise OptionError(place.name, "function", FUNCTION, brief(error)) from None
    else:
        raise OptionError(place.name, "function", FUNCTION, given["function"])
    function = getattr(module, name, None)
    if not callable(function):
        known = [n for n, x in vars(module).items() if inspect.isfunction(x)]
        raise UnknownNameError("function", name, known, where=where)
    takes = "model" in inspect.signature(function).parameters
    if takes and model is None:
        raise OptionError(place.name, "robot", "a robot for the argument 'model'", "none")
    if model is not None and not takes:
        where, fix = f"'{name}', which takes no argument 'model'", "leave it out"
        raise NotApplicableError(f"{place.name}: robot", where, fix)
    return (partial(function, model=model) if takes else function), {}, {}


def _run_file(place: Path, file: str, given: Any) -> ModuleType:
    """Run a Python file of the study's folder, as a module that no import can find.

    Functions of it travel to other processes by value.
    """
    folder, source = place.parent.resolve(), (place.parent / file).resolve()
    if Path(file).is_absolute() or not source.is_relative_to(folder) or not source.is_file():
        words = f"{FUNCTION}, with the file in the folder of the study"
        raise OptionError(place.name, "function", words, given)
    name = f"<study {source.name}>"
    spec = importlib.util.spec_from_file_location(name, source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # classes look for their module while they are made
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if importlib.util.find_spec("cloudpickle") is not None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    return module


def _robot(name: Any, place: Path) -> Any:
    """Return the robot's name, or its file next to the study."""
    if not isinstance(name, str):
        raise OptionError(place.name, "robot", "the name or file of a robot", name)
    return place.parent / name if (place.parent / name).is_file() else name


def _rows(file: str, given: Mapping[str, Any]) -> int | Grid:
    axes = _table(file, given, "grid")
    if bool(axes) == ("rows" in given):
        words = "either rows = NUMBER or a [grid]"
        raise OptionError(file, "rows", words, "both" if axes else "neither")
    if axes:
        return Grid(**axes)
    if not isinstance(given["rows"], int) or isinstance(given["rows"], bool):
        raise OptionError(file, "rows", "a number of rows", given["rows"])
    return given["rows"]


def _table(file: str, given: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = given.get(key, {})
    if not isinstance(table, dict):
        raise OptionError(file, key, f"a table [{key}]", table)
    return table


def _draw(
    file: str, name: str, given: Any, model: Model | None, shape: tuple[int, ...] | None
) -> Draw:
    """Return what is drawn for a name; numbers are spread over the shape of the argument."""
    if not isinstance(given, dict) or len(given) != 1 or next(iter(given)) not in KINDS:
        words = f"one of {', '.join(KINDS)}, such as uniform = [-1.0, 1.0]"
        raise OptionError(file, f"draw.{name}", words, given)
    ((kind, values),) = given.items()
    if kind == "configuration":
        if values is not True or model is None:
            words = "configuration = true, with a robot"
            raise OptionError(file, f"draw.{name}", words, given)
        return draws.configuration(model)
    if kind == "choice":
        return draws.choice(values)
    if not isinstance(values, list) or len(values) != 2:
        raise OptionError(file, f"draw.{name}", f"{kind} = [one, other]", values)
    one, other = values
    if shape is not None:
        try:
            one, other = (np.broadcast_to(np.asarray(x, float), shape) for x in values)
        except (ValueError, TypeError):
            words = f"numbers, or lists of shape {shape}"
            raise OptionError(file, f"draw.{name}", words, values) from None
    made: Draw = getattr(draws, kind)(one, other)
    return made


RUNS = 50  # places of a study that rows are taken from


def sample_rows(described: StudyFile, count: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return inputs and results of some runs of rows, spread over the study, by name."""
    source = rows_of(described.rows)
    study = study_of(described.function, source, described.seed or 0, described.draw or {})
    size = max(1, count // RUNS)
    starts = np.unique(np.linspace(0, len(source) - size, -(-count // size)).astype(int))
    parts = [
        (int(start), int(start) + size, source.values(start, start + size)) for start in starts
    ]
    found = [[make(*part) for part in parts] for make in (study.inputs, study.results)]
    inputs, results = (
        {name: np.concatenate([each[name] for each in runs]) for name in runs[0]} for runs in found
    )
    return inputs, results
