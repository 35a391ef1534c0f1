"""One HTML page about a sweep: what varied, what came out, and plots of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from pathlib import Path

import numpy as np

from sixfold.arrays import Array
from sixfold.display.report.html import fill_page, page_file, versions
from sixfold.errors import visible
from sixfold.files import write_files
from sixfold.model import Model
from sixfold.sweeps import Sweep
from sixfold.sweeps.study_file import StudyFile, sample_rows

SHARES = tuple(k / 200 for k in range(201))  #: Shares of the quantiles that plots are drawn from.
MAX_NUMBERS = 60  #: Numbers that get a row of the table and a plot, at most.
SAMPLE = 1500  #: Rows of the plots of what varied against what came out.
BINS = 40
WIDTH, HEIGHT = 320, 120


@dataclass(frozen=True)
class Number:
    """One number that came out, over all rows."""

    name: str
    mean: float
    deviation: float
    least: float
    least_row: int
    most: float
    most_row: int
    nans: int
    quantiles: Array

    def at(self, share: float) -> float:
        """Return a quantile."""
        return float(self.quantiles[round(share * (len(SHARES) - 1))])


def write_sweep_page(path: Path, study: StudyFile, found: Sweep) -> Path:
    """Write the page of a sweep that was reduced to mean, deviation, extremes and quantiles."""
    write_files({path: _page(study, found).encode("utf-8", "backslashreplace")})
    return path


def table_of(study: StudyFile, found: Sweep) -> Iterator[str]:
    """Yield the lines of a table in 80 columns."""
    numbers, left = _numbers(study, found)
    yield f"{'':<25}{'mean':>11}{'deviation':>11}{'least':>11}{'median':>11}{'most':>11}"
    for x in numbers:
        cells = (x.mean, x.deviation, x.least, x.at(0.5), x.most)
        yield f"{_short(visible(x.name)):<25}" + "".join(f"{cell:>11.4g}" for cell in cells)
    if left:
        yield f"and {left} more numbers"


def _short(name: str) -> str:
    """Return a name in 24 columns: its end tells numbers apart."""
    return name if len(name) < 25 else f"..{name[-22:]}"


def _numbers(study: StudyFile, found: Sweep) -> tuple[list[Number], int]:
    """Return the numbers that came out, and how many are left out."""
    numbers: list[Number] = []
    total = 0
    for name, mean in found["mean"].items():
        shape = np.shape(mean)
        alone = len(found["mean"]) == 1 and shape  # one result needs no name before its numbers
        sizes = study.outputs.get(name)
        labels = _labels("" if alone else name, shape, sizes, study.model)
        ends = found["extremes"][name]
        parts = (mean, found["deviation"][name], ends["min"], ends["min_row"], ends["max"])
        # each number of an array result has a row of its own
        columns = [np.reshape(x, -1) for x in (*parts, ends["max_row"], ends["nan"])]
        spread = np.reshape(found["quantiles"][name], (len(SHARES), -1))
        total += prod(shape)
        for k, label in enumerate(labels[: MAX_NUMBERS - len(numbers)]):
            m, d, low, low_row, high, high_row, nans = (column[k] for column in columns)
            ends_of = (float(low), int(low_row), float(high), int(high_row), int(nans))
            numbers.append(Number(label, float(m), float(d), *ends_of, spread[:, k]))
    return numbers, total - len(numbers)


def _labels(
    name: str, shape: Sequence[int], sizes: Sequence[str] | None, model: Model | None
) -> list[str]:
    """Return a name for each number of a result: by joint or body where that is known."""
    if model is not None and sizes is None and shape in ((model.nv,), (model.nq,)):
        # a result as long as v or q is taken to be one number for each joint
        sizes = ("nv",) if shape == (model.nv,) else ("nq",)
    axes = []
    for k, count in enumerate(shape):
        known: Sequence[str] = [str(n) for n in range(count)]
        if model is not None and sizes is not None:
            coordinates = model.coordinates
            by_size = {"nq": coordinates.q_names, "nv": coordinates.v_names, "nb": model.body_names}
            known = by_size.get(sizes[k], known)
        axes.append(known)
    places = [
        ", ".join(axis[k] for axis, k in zip(axes, at, strict=True)) for at in np.ndindex(*shape)
    ]
    return [f"{name} {place}".strip() for place in places]


def _page(study: StudyFile, found: Sweep) -> str:
    numbers, left = _numbers(study, found)
    # some rows again, with their inputs, which a reduced sweep does not keep
    inputs, outputs = sample_rows(study, min(SAMPLE, found.rows))
    varied = _flat(inputs, study, {})
    came = _flat(outputs, study, study.outputs, alone=True)
    parts = [f"{found.rows:,} rows".replace(",", "\u202f"), f"seed {study.seed or 0}"]
    if study.model is not None:
        parts.insert(0, visible(study.model.name))
    parts.append(f"{found.seconds:.1f} s")
    more = f"<p class='subtitle'>and {left} more numbers</p>" if left else ""
    plots = "".join(_plot(number, varied, came.get(number.name)) for number in numbers)
    return fill_page(
        "sweep.html",
        {
            "title": escape(visible(study.title)),
            "subtitle": escape(" · ".join(parts)),
            "style": page_file("style.css") + page_file("sweep.css"),
            "varied": _varied_table(study),
            "results": _result_table(numbers) + more,
            "plots": plots,
            "digest": escape(found.digest),
            "points": f"{len(next(iter(outputs.values()))):,}",
            "versions": escape(versions()),
        },
    )


def _varied_table(study: StudyFile) -> str:
    rows: dict[str, str] = {}
    if not isinstance(study.rows, int):
        rows |= study.rows.about()
    rows |= {name: each.about() for name, each in (study.draw or {}).items()}
    return "<table><tbody>{}</tbody></table>".format(
        "".join(
            f"<tr><th>{escape(visible(name))}</th><td class='words'>{escape(text)}</td></tr>"
            for name, text in rows.items()
        )
    )


def _result_table(numbers: Sequence[Number]) -> str:
    heads = ("", "mean", "deviation", "least (row)", "5 %", "median", "95 %", "most (row)", "NaN")
    lines = []
    for x in numbers:
        cells = [
            *(f"{x.mean:.5g}", f"{x.deviation:.4g}", f"{x.least:.5g}<small>{x.least_row}</small>"),
            *(f"{x.at(share):.4g}" for share in (0.05, 0.5, 0.95)),
            *(f"{x.most:.5g}<small>{x.most_row}</small>", str(x.nans)),
        ]
        body = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f"<tr><th>{escape(visible(x.name))}</th>{body}</tr>")
    head = "".join(f"<th>{text}</th>" for text in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _plot(number: Number, varied: Mapping[str, Array], values: Array | None) -> str:
    title = f"<h3>{escape(visible(number.name))}</h3>"
    # numbers that are all alike, or not finite, have no histogram
    if not np.isfinite([number.mean, number.deviation]).all() or number.at(0) == number.at(1):
        flat = f"{number.mean:.6g} in all rows" if number.deviation == 0 else "not finite"
        return f"<div class='card'>{title}<p class='subtitle'>{flat}</p></div>"
    return f"<div class='card'>{title}{_histogram(number)}{_points(number, varied, values)}</div>"


def _histogram(number: Number) -> str:
    """Draw how many rows lie where, from the quantiles."""
    low, high = number.at(0.005), number.at(0.995)
    if low == high:
        low, high = number.at(0), number.at(1)
    # shares of the rows between edges: differences of the distribution function
    edges = np.linspace(low, high, BINS + 1)
    points, first = np.unique(number.quantiles, return_index=True)
    shares = np.asarray(SHARES)[first]
    heights = np.diff(np.interp(edges, points, shares))
    heights = heights / (heights.max() or 1.0)

    def x(value: float) -> float:
        return float(np.clip((value - low) / (high - low), 0, 1) * WIDTH)

    wide = WIDTH / BINS
    bars = "".join(
        f'<rect x="{k * wide:.1f}" y="{(1 - h) * (HEIGHT - 18):.1f}" width="{wide - 0.8:.1f}"'
        f' height="{h * (HEIGHT - 18):.1f}"/>'
        for k, h in enumerate(heights)
    )
    # the band that holds nine rows of ten
    band = x(number.at(0.05)), x(number.at(0.95))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="histogram">'
        f'<rect class="band" x="{band[0]:.1f}" y="0" width="{band[1] - band[0]:.1f}"'
        f' height="{HEIGHT - 18}"/><g class="bars">{bars}</g>'
        f'<line class="base" x1="0" x2="{WIDTH}" y1="{HEIGHT - 18}" y2="{HEIGHT - 18}"/>'
        f'<line class="mean" x1="{x(number.mean):.1f}" x2="{x(number.mean):.1f}" y1="0"'
        f' y2="{HEIGHT - 18}"/>{_ends(low, high)}</svg>'
    )


def _points(number: Number, varied: Mapping[str, Array], values: Array | None) -> str:
    """Draw some rows against what they follow most."""
    if values is None or not np.isfinite(values).all():
        return ""
    # the drawn number with the strongest monotonic relation
    follows = {name: _rank_correlation(x, values) for name, x in varied.items()}
    if not follows:
        return ""
    name = max(follows, key=lambda each: abs(follows[each]))
    x, y = varied[name], values
    left, right, low, high = x.min(), x.max(), y.min(), y.max()
    if left == right or low == high:
        return ""
    across = 3 + (x - left) / (right - left) * (WIDTH - 6)
    up = 3 + (1 - (y - low) / (high - low)) * (HEIGHT - 24)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1.3"/>' for a, b in zip(across, up, strict=True)
    )
    words = f"against {visible(name)}, rank correlation {follows[name]:+.2f}"
    return (
        f"<p class='subtitle'>{escape(words)}</p>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">'
        f'<g class="dots">{dots}</g>'
        f'<line class="base" x1="0" x2="{WIDTH}" y1="{HEIGHT - 18}" y2="{HEIGHT - 18}"/>'
        f"{_ends(left, right)}</svg>"
    )


def _ends(low: float, high: float) -> str:
    return (
        f'<text x="0" y="{HEIGHT - 5}">{low:.4g}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 5}" text-anchor="end">{high:.4g}</text>'
    )


def _rank_correlation(x: Array, y: Array) -> float:
    # Spearman: the correlation of the ranks
    ranks = [np.argsort(np.argsort(each, kind="stable")).astype(float) for each in (x, y)]
    one, other = (each - each.mean() for each in ranks)
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size else 0.0


def _flat(
    arrays: Mapping[str, Array],
    study: StudyFile,
    sizes: Mapping[str, tuple[str, ...]],
    alone: bool = False,
) -> dict[str, Array]:
    """Return one column for each number of arrays (rows, ...), by its label."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        short = "" if alone and len(arrays) == 1 and array.ndim > 1 else name
        labels = _labels(short, array.shape[1:], sizes.get(name), study.model)
        columns = array.reshape(len(array), -1).T[: 4 * MAX_NUMBERS]
        found |= {label: x.astype(float) for label, x in zip(labels, columns, strict=False)}
    return found
