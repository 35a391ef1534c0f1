"""The sections as text, 80 columns wide where that many figures fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from benchmarks.bench.sections.accuracy import Accuracy
from benchmarks.bench.sections.chains import Chain
from benchmarks.bench.sections.constraints import Constrained
from benchmarks.bench.sections.contact import Touched
from benchmarks.bench.sections.control import Controlled
from benchmarks.bench.sections.derivatives import Derivatives
from benchmarks.bench.sections.latency import Latency
from benchmarks.bench.sections.regressors import BATCH, Regressors
from benchmarks.bench.sections.rollouts import RolledOut
from benchmarks.bench.sections.speed import Speed, Timing
from benchmarks.bench.sections.threads import Threads

ENGINES = ("pinocchio C++", "pinocchio loop", "mujoco C++", "mujoco loop")


def words(function: str) -> str:
    """Return the name of a function as words."""
    return function.replace("_", " ")


WIDTH = 80
"""Columns of a terminal; wider heads are written in several lines."""


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first two columns are names and the others figures."""
    listed = [list(row) for row in rows]
    heads = [[text] for text in head]
    if _width(heads, listed) > WIDTH:
        heads = [text.split() for text in head]
    gap = "  " if _width(heads, listed) <= WIDTH else " "
    tall = max(map(len, heads))
    top = [[""] * (tall - len(words)) + words for words in heads]
    lines = [[words[k] for words in top] for k in range(tall)] + listed
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    shown = [
        gap.join(
            cell.ljust(width) if k < 2 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*wrap(title, WIDTH), *shown])


def _width(heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table with two blanks between columns."""
    columns = zip(heads, *rows, strict=True) if rows else ((words,) for words in heads)
    return sum(2 + max(map(len, (*words, *cells))) for words, *cells in columns) - 2


def short(robot: str) -> str:
    """Return a name that leaves room for the figures."""
    return robot if len(robot) <= 14 else f"{robot[:13]}~"


def figure(value: float | None, form: str = ".0f", unit: str = "") -> str:
    """Return a number as text, a dash where there is none."""
    return "-" if value is None else f"{value:{form}}{unit}"


def times(value: float | None) -> str:
    """Return a ratio with about three digits."""
    return figure(value, ".0f" if value and value >= 99.95 else ".1f", "x")


def speed_table(records: Sequence[Speed]) -> str:
    """Return time for one state, and how many times longer the others take."""
    engines = [e for e in ENGINES if any(x.engine == e for r in records for x in r.others)]
    head = ["robot (dof)", "function", "sixfold", *(e.replace("pinocchio", "pin") for e in engines)]
    rows = [
        [
            f"{short(r.robot)} ({r.nv})",
            words(r.function),
            _ns(r.sixfold),
            *(_other(r, engine) for engine in engines),
        ]
        for r in records
    ]
    return table("time for one state of a batch [ns], and the ratio to sixfold", head, rows)


def _ns(timing: Timing) -> str:
    return figure(timing.ns, ".1f") if timing.agrees else "DISAGREES"


def _other(record: Speed, engine: str) -> str:
    timing = next((x for x in record.others if x.engine == engine), None)
    if timing is None:
        return "-"
    if not timing.agrees:
        return "DISAGREES"
    return f"{figure(timing.ns)} {times(record.ratio(timing)):>5}"


def work_table(records: Sequence[Speed], peak: float) -> str:
    """Return how near the arithmetic comes to the peak, and the output to a plain copy."""
    head = ("robot", "function", "lanes", "flops", "GFLOP/s", "of peak", "bytes out", "copy [ns]")
    rows = [
        [
            short(r.robot),
            words(r.function),
            str(r.lanes),
            str(r.flops),
            figure(r.gflops, ".1f"),
            figure(r.gflops / peak if r.gflops else None, ".0%"),
            str(r.bytes_out),
            figure(r.copy.ns if r.copy else None, ".1f"),
            times(r.to_copy),
        ]
        for r in records
    ]
    title = f"arithmetic against the measured peak of {peak:.1f} GFLOP/s, output against a copy"
    return table(title, (*head, "to copy"), rows)


def accuracy_table(records: Sequence[Accuracy]) -> str:
    """Return the errors against 256-bit arithmetic."""
    others = [e for e in ("pinocchio", "mujoco") if any(e in r.errors for r in records)]
    head = ["robot", "function", "measure", "median", "worst", *(f"{e} worst" for e in others)]
    rows = [
        [
            short(r.robot),
            words(r.function),
            r.measure,
            figure(r.typical("sixfold"), ".1e"),
            figure(r.worst("sixfold"), ".1e"),
            *(figure(r.worst(e), ".1e") for e in others),
        ]
        for r in records
    ]
    count = max((len(x) for r in records for x in r.errors.values()), default=0)
    return table(f"error against MPFR arithmetic of 256 bits, {count} states", head, rows)


def latency_table(records: Sequence[Latency]) -> str:
    """Return the time of one call with one state."""
    others = [e for e in ("pinocchio", "mujoco") if any(e in r.rounds_ns for r in records)]
    head = ["robot", "function", "kernel", "public", *others]
    shares = ["kernel/pin", "public/pin"] if "pinocchio" in others else []
    rows = [
        [
            short(r.robot),
            words(r.function),
            *(figure(r.ns(who)) for who in ("kernel", "public", *others)),
            *(figure(r.share(who), ".2f") for who in ("kernel", "public") if shares),
        ]
        for r in records
    ]
    return table("one call with one state from Python [ns]", [*head, *shares], rows)


def threads_table(records: Sequence[Threads]) -> str:
    """Return how much faster more threads are."""
    counts = sorted({n for r in records for n in r.rounds_s})
    more = [f"{n} threads" for n in counts[1:]]
    head = ["robot", "function", "rows", "1 thread [ms]", *more, "bytes [ms]", *more]
    head += [f"arithmetic {n}" for n in counts[1:]]
    rows = [
        [
            short(r.robot),
            words(r.function),
            str(r.rows),
            figure(r.best(1) * 1e3, ".1f"),
            *(times(r.speedup(n)) for n in counts[1:]),
            figure(r.moving * 1e3, ".1f"),
            *(times(r.moving_speedup(n)) for n in counts[1:]),
            *(times(r.working_speedup(n)) for n in counts[1:]),
        ]
        for r in records
    ]
    title = (
        "the public function on long batches, and the gain of threads; bytes and arithmetic alone"
    )
    return table(title, head, rows)


def rollouts_table(records: Sequence[RolledOut]) -> str:
    """Return the cost of one step of one trajectory, and the ratio to MuJoCo's rollout."""
    head = ["robot", "integrator", "first call [s]", "ns/step", "mujoco", "ratio", "difference"]
    rows = [
        [
            r.robot,
            words(r.integrator),
            figure(r.first_s, ".2f"),
            figure(r.ns, ".1f"),
            figure(r.mujoco_ns, ".0f"),
            figure(r.ratio, ".1f") + ("x" if r.ratio else ""),
            figure(r.difference, ".1e"),
        ]
        for r in records
    ]
    sizes = f"{records[0].rows} trajectories of {records[0].steps} steps" if records else ""
    return table(f"rollouts without contact, {sizes}", head, rows)


def contact_table(records: Sequence[Touched]) -> str:
    """Return the cost of one step of a robot on the ground, and the ratio to MuJoCo's rollout."""
    head = [
        "robot",
        "dof",
        "points",
        "first [s]",
        "ns/step",
        "float32",
        "mujoco",
        "ratio",
        "float32",
    ]
    rows = [
        [
            r.robot,
            str(r.freedoms),
            str(r.points),
            figure(r.first_s, ".2f"),
            figure(r.ns),
            figure(r.single_ns),
            figure(r.mujoco_ns),
            times(r.ratio),
            times(r.single_ratio),
        ]
        for r in records
    ]
    return table("rollouts with frictional contact, 100 steps of 1 ms", head, rows)


def chains_table(records: Sequence[Chain]) -> str:
    """Return the cost of one body of one state."""
    peer = any(r.difference is not None for r in records)
    head = ["chain", "function", "states", "first call [s]", "ns/body"]
    rows = [
        [
            f"{r.bodies} bodies",
            words(r.function),
            str(r.states),
            figure(r.first_s, ".2f"),
            figure(r.ns, ".1f"),
            *([figure(r.pinocchio_ns, ".0f")] if peer else []),
        ]
        for r in records
    ]
    return table("chains of revolute joints", head + (["pinocchio C++"] if peer else []), rows)


def derivatives_table(records: Sequence[Derivatives]) -> str:
    """Return the derivatives of one state beside Pinocchio inside C++."""
    head = ["robot", "of", "first [s]", "ns", "nonzeros", "pin [ns]", "ratio", "sparse", "single"]
    rows = [
        [
            r.robot,
            r.function,
            figure(r.first_s, ".2f"),
            figure(r.ns),
            f"{r.nonzeros}/{3 * r.nv * r.nv}",
            figure(r.peer_ns),
            times(r.ratio),
            times(r.sparse_ratio),
            figure(r.single_share, ".2f"),
        ]
        for r in records
    ]
    title = (
        "derivatives of one state of a batch; pin: its call less the cost of calling; "
        "single: a call with one state, as a part of pin's"
    )
    return table(title, head, rows)


def regressors_table(records: Sequence[Regressors]) -> str:
    """Return the regressor of one state beside Pinocchio inside C++."""
    head = [
        "robot",
        "operations",
        "ns",
        "nonzeros",
        "base",
        "pin [ns]",
        "ratio",
        "nonzeros",
        "base",
    ]
    rows = [
        [
            r.robot,
            str(r.flops),
            figure(r.ns),
            f"{r.nonzeros}/{10 * r.nb * r.nv}",
            f"{r.base}/{10 * r.nb}",
            figure(r.peer_ns),
            times(r.ratio(r.rounds_ns)),
            times(r.ratio(r.sparse_rounds_ns)),
            times(r.ratio(r.base_rounds_ns)),
        ]
        for r in records
    ]
    title = f"regressor of one state, {BATCH} in a call; pin: its call less the cost of calling"
    return table(title, head, rows)


def constraints_table(records: Sequence[Constrained]) -> str:
    """Return constrained forward dynamics of one state beside Pinocchio inside C++."""
    head = ["robot", "freedoms, rows", "first [s]", "operations", "ns", "pin [ns]", "ratio"]
    rows = [
        [
            r.robot,
            f"{r.nv}, {r.rows}",
            figure(r.first_s, ".2f"),
            str(r.flops),
            figure(r.ns),
            figure(r.peer_ns),
            times(r.ratio),
        ]
        for r in records
    ]
    title = "constrained dynamics of one state, accelerations and forces"
    return table(f"{title}; pin: its call less the cost of calling", head, rows)


def control_table(records: Sequence[Controlled]) -> str:
    """Return poses, iterations and steps beside other programs."""
    head = ["what", "us", "how", "beside", "us", "ratio"]
    rows = [
        [
            r.what,
            figure(1e6 * r.seconds, ".3g"),
            r.note,
            r.peer or "-",
            "-" if r.peer_seconds is None else figure(1e6 * r.peer_seconds, ".3g"),
            times(r.ratio),
        ]
        for r in records
    ]
    return table("one pose, iteration or step on one core, processor time", head, rows)
