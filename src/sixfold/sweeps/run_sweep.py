"""`sf.sweeps.sweep`: one function over many rows, on one machine or on many, with the same bits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Engine, PieceFormat, Progress, Reduction
from sixfold.errors import (
    NotApplicableError,
    OptionError,
    OutputFileError,
    UnknownNameError,
    brief,
    one_of,
    whole_number,
)
from sixfold.files import discard, path_of
from sixfold.lazy import optional
from sixfold.model.validate import SEED_LIMIT
from sixfold.progress import callback_of
from sixfold.show import block, plain, table
from sixfold.sweeps.draws import Draw
from sixfold.sweeps.engines import Block, engine_of, in_this_process, pickle_job, unpickle_job
from sixfold.sweeps.pieces import (
    FORMATS,
    DamagedPieceError,
    StoredPiece,
    content_digest,
    gaps,
    pieces_in,
    prepare_folder,
    read_piece,
    stored_rows,
    write_piece,
)
from sixfold.sweeps.reducers import Node, Pile, Reducer, ReductionTree, leaf_size, reducers_of
from sixfold.sweeps.study import Grid, RowSource, RowTable, Study, digest_of, rows_of, study_of

__all__ = ["Sweep", "sweep"]

BLOCKS = 16  # blocks for each worker, if there are enough rows
CHECKED_PIECES = 8  # stored pieces of which a few rows are computed again before a sweep continues
CHECKED_ROWS = 4  # rows at the beginning, in the middle and at the end of such a piece
MAX_LEAVES = 64  # leaves of a block, at most, unless its size is given


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Mapping[str, Any]):
    """What came out of a sweep: reductions by name, each a dictionary by the result's name."""

    #: Each reduction by its name: a dictionary by the name of the result, in its units.
    reductions: Mapping[str, Any]
    rows: int  #: How many rows there are.
    digest: str  #: Hash of the study: rows, draws, seed, `version` and version of the library.
    folder: Path | None  #: Where the rows were written; None if nowhere.
    computed: int  #: Rows that were computed in this call.
    reused: int  #: Rows that were found in the folder.
    #: Pieces that were not what was written, each by file name and reason; their rows were computed
    #: again.
    damaged: tuple[str, ...]
    seconds: float  #: How long it took [s].
    #: Gives the results of all rows by name, arrays of shape (rows, ...), if they were kept.
    read: Callable[[], dict[str, Array]] | None = None

    def __getitem__(self, name: str) -> Any:
        """Return a reduction."""
        if not isinstance(name, str) or name not in self.reductions:
            raise UnknownNameError("reduction", name, self.reductions, where="Sweep")
        return self.reductions[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the reductions."""
        return iter(self.reductions)

    def __len__(self) -> int:
        """Return how many reductions there are."""
        return len(self.reductions)

    def __repr__(self) -> str:
        """Say what there is."""
        kept = ", ".join(self.reductions) or "all rows"
        place = f" in {self.folder}" if self.folder is not None else ""
        return f"<sweep of {self.rows} rows: {kept}{place}>"

    def _repr_html_(self) -> str:
        """Return the reductions as a table, for notebooks."""
        head = f"<p>{plain(repr(self)[1:-1])} ({self.seconds:.2g} s)</p>"
        listed = [
            (kind, name, brief(value))
            for kind, found in self.reductions.items()
            if isinstance(found, Mapping)
            for name, value in found.items()
        ]
        return block(head, table(("reduction", "result", "value"), listed) if listed else "")

    def arrays(self) -> dict[str, Array]:
        """Return the results of all rows by name: from memory, or from the pieces."""
        if self.read is None:
            fix = "pass write='folder', or leave reduce out"
            raise NotApplicableError("Sweep.arrays", "a sweep that kept no rows", fix)
        return self.read()


@dataclass(frozen=True)
class Job:
    """What a worker does with a block."""

    study: Study
    reducers: tuple[Reducer, ...]
    leaf: int
    folder: str | None
    kind: str  # format of pieces in the folder
    digest: str

    def run(self, start: int, stop: int, given: Mapping[str, Array]) -> Any:
        """Compute the rows from start up to stop; write, reduce or return them."""
        results = self.study.results(start, stop, given)
        if self.folder is not None:
            write_piece(self.folder, self.kind, self.digest, start, stop, results)
            return None
        if self.reducers:
            return self.reduce_rows(start, stop - start, results)
        return results

    def reduce_rows(
        self, first: int, count: int, results: Mapping[str, Array]
    ) -> list[list[tuple[Node, Any]]]:
        """Return the nodes of some whole leaves, for each reducer."""
        found = []
        for reducer in self.reducers:
            tree = _tree(reducer)
            step = count if reducer.exact else self.leaf
            for at in range(0, count, step):
                part = {name: x[at : at + step] for name, x in results.items()}
                node = (0, (first + at) // self.leaf)
                tree.add([(node, reducer.leaf(part, first + at))])
            found.append(list(tree.nodes.items()))
        return found


def run_block(job: Job | bytes, start: int, stop: int, given: Mapping[str, Array]) -> Any:
    """Compute a block: what engines call."""
    found: Job = unpickle_job(job) if isinstance(job, bytes) else job
    return found.run(start, stop, given)


def _given_rows(source: RowSource, start: int, stop: int) -> dict[str, Array]:
    """Return the rows of a table; workers make those of a grid themselves."""
    return source.values(start, stop) if isinstance(source, RowTable) else {}


def sweep(
    function: Callable[..., Any],
    rows: int | Grid | Mapping[str, ArrayLike],
    *,
    seed: int | None = None,
    draw: Mapping[str, Draw] | None = None,
    reduce: Reduction | Reducer | Sequence[Reduction | Reducer] | None = None,
    write: str | os.PathLike[str] | None = None,
    format: PieceFormat | None = None,
    engine: Engine | Executor | Any = None,
    workers: int | None = None,
    block: int | None = None,
    progress: Progress | None = None,
    version: str | None = None,
) -> Sweep:
    """Evaluate a function over many rows, in blocks, on any engine: the same bits on all of them.

    What is drawn depends on the seed and the row alone, and reductions join rows in a fixed order.
    A function whose rows do not depend on each other, as those of this library, then gives the same
    bits for any block size, engine and number of workers.

    Args:
        function: called with one array for each name that varies, shape (n, ...) for n rows, by
            keyword, and with the row numbers if it takes `row`.  It returns an array of shape
            (n, ...), several in a tuple, or a dictionary of them.
        rows: how many rows; a `Grid` of all combinations; or columns of one length by name.
        seed: of the draws, from 0 to 2**128 - 1; by default 0.
        draw: what is drawn for each row, by name: `sf.sweeps.draws.uniform(low, high)` and its
        like.
        reduce: "mean", "deviation", "covariance", "extremes", "quantiles", a reducer of
            `sf.sweeps.reducers`, or several in a list.
        write: a folder for the rows, in pieces of whole blocks.  Rows that are there already are
            read and not computed: a stopped sweep continues, with any block size.  A few of them
            are computed again at the start of the call, and must have the same bits: a
            function that has changed is refused.  A damaged piece is found and computed again.
        format: of the pieces: "parquet" (default), a file each, or "zarr", a group each.
        engine: "threads" (default), "processes", "serial", a Dask client, or an executor of
            `concurrent.futures`' kind.  Workers on other machines need to see the folder.
        workers: how many threads or processes; by default as many as `get_threads()` says.
        block: rows that a worker takes at a time.
        progress: True for a bar with the time left, or a function of (rows done, rows in all).
        version: a text that names the function: stored rows of the same version are taken as they
            are, none of them is computed again.

    Returns:
        A `Sweep`: reductions by name, `sweep["mean"]["tau"]`; `arrays()` gives the rows if they
        were written or nothing was reduced.

    Raises:
        OptionError, ShapeError, ArgumentError: if an argument makes no sense, or an object that the
            function uses cannot go to another process; the message names it.
        CallbackError: if the function does not return one row for each row.
        OutputFileError: if the folder holds another study, or results that the function does not
            give, or cannot be written to.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> def torque(mass, angle):
        ...     return {"tau": 0.5 * 9.81 * mass * np.sin(angle)}
        >>> grid = sf.sweeps.Grid(mass=[1.0, 2.0], angle=[0.0, np.pi / 2])
        >>> sf.sweeps.sweep(torque, grid).arrays()["tau"]
        array([0.   , 4.905, 0.   , 9.81 ])
        >>> from sixfold.sweeps import draws, sweep
        >>> draw = {"mass": draws.uniform(0.9, 1.1), "angle": draws.normal(0.0, 0.1)}
        >>> found = [sweep(torque, 1000, draw=draw, reduce="mean", block=n) for n in (64, 999)]
        >>> found[0]
        <sweep of 1000 rows: mean>
        >>> np.array_equal(*(one["mean"]["tau"] for one in found))  # the same bits
        True

    Reference: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    begun = time.monotonic()
    # what varies, what is drawn, and what is computed for each row
    source = rows_of(rows)
    draws = _draws(draw)
    if seed is not None and not draws:
        fix = "leave it out, or pass draw={...}"
        raise NotApplicableError("sweep: option 'seed'", "a sweep without draws", fix)
    study = study_of(function, source, _seed(seed), draws)
    reducers = () if reduce is None else reducers_of(reduce)
    if version is not None and not isinstance(version, str):
        raise OptionError("sweep", "version", "a text", version)
    # the engine, and blocks that it takes at a time
    run, count = engine_of(engine, workers)
    leaf = leaf_size(len(source))
    size = _block(block, len(source), count, leaf, bool(reducers) and write is None)
    digest = digest_of(study, source, version)
    folder = None if write is None else path_of("sweep", write, "folder").absolute()
    kind = _format(format, folder)
    whole: list[StoredPiece] = []
    damaged: list[str] = []
    if folder is not None:
        varied = {**source.about(), **{name: each.about() for name, each in draws.items()}}
        # resume: rows that are stored already are not computed
        prepare_folder(folder, digest, {"rows": len(source), "seed": study.seed, "varied": varied})
        whole, damaged = _whole_pieces(folder, digest)
        if version is None:
            _check_stored_rows(study, source, whole, digest)
    place = str(folder) if folder else None
    job = Job(study, () if folder else reducers, leaf, place, kind, digest)
    # what is left to compute
    missing = gaps(whole, len(source))
    left = sum(stop - start for start, stop in missing)
    known = len(source) - left
    report = callback_of("sweep", progress, "rows done, rows in all", known=known)
    trees = [_tree(reducer) for reducer in job.reducers]
    kept: dict[Block, dict[str, Array]] = {}
    done = len(source) - left
    here = in_this_process(engine)
    # other processes get the job pickled once
    ready: Job | bytes = job if here else pickle_job(job, (study.function, *reducers))

    def task(part: Block) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return run_block, (ready, *part, _given_rows(source, *part))

    # results arrive in any order; trees and dictionaries do not depend on it
    for part, found in run(task, _cut(missing, size)) if left else ():
        if job.reducers:
            for tree, nodes in zip(trees, found, strict=True):
                tree.add(nodes)
        elif folder is None:
            kept[part] = found
        done += part[1] - part[0]
        if report is not None:
            report(done, len(source))
    if folder is not None and reducers:
        trees = _reduce_pieces(folder, digest, job, reducers)
    # how to get all rows later: from the folder or from memory
    read: Callable[[], dict[str, Array]] | None = None
    if folder is not None:
        read = lambda: _all_rows(folder, digest)  # noqa: E731
    elif not reducers:
        read = lambda: _concatenate([kept[part] for part in sorted(kept)])  # noqa: E731
    pairs = zip(reducers, trees, strict=True)
    return Sweep(
        {reducer.name: reducer.result(tree.total()) for reducer, tree in pairs},
        rows=len(source),
        digest=digest,
        folder=folder,
        computed=left,
        reused=len(source) - left,
        damaged=tuple(damaged),
        seconds=time.monotonic() - begun,
        read=read,
    )


def _format(format: Any, folder: Path | None) -> str:
    """Return the format of pieces, and see that what it needs is installed."""
    if format is None:
        kind = "parquet"
    elif folder is None:
        fix = "pass write='folder', or leave it out"
        raise NotApplicableError("sweep: option 'format'", "a sweep that writes no rows", fix)
    else:
        one_of("sweep", "format", FORMATS, format)
        kind = format
    for module in FORMATS[kind].modules if folder is not None else ():
        optional(module, "sweep: option 'write'")
    return kind


def _tree(reducer: Reducer) -> ReductionTree:
    return (Pile if reducer.exact else ReductionTree)(reducer.combine)


def _whole_pieces(folder: Path, digest: str) -> tuple[list[StoredPiece], list[str]]:
    """Return the pieces that hold what was written; damaged ones are deleted."""
    whole, damaged = [], []
    for piece in pieces_in(folder):
        try:
            read_piece(piece, digest)
        except DamagedPieceError as error:
            damaged.append(str(error))
            discard(piece.path)
        else:
            whole.append(piece)
    return whole, damaged


def _check_stored_rows(
    study: Study, source: RowSource, pieces: Sequence[StoredPiece], digest: str
) -> None:
    """Compute a few of the stored rows again, and refuse a function that gives other bits.

    A function may give other bits for a few rows than for many at once, as products of matrices
    do.  So where they differ the whole piece is computed again before it is refused.
    """

    def compute(start: int, stop: int) -> dict[str, Array]:
        return study.results(start, stop, _given_rows(source, start, stop))

    # pieces spread over the folder, and rows at both ends and in the middle of each
    places = np.linspace(0, len(pieces) - 1, min(len(pieces), CHECKED_PIECES)).astype(int)
    for piece in (pieces[k] for k in np.unique(places)):
        stored, count = read_piece(piece, digest), piece.stop - piece.start
        few = min(count, CHECKED_ROWS)
        for first in sorted({0, (count - few) // 2, count - few}):
            rows = slice(first, first + few)
            part = {name: x[rows] for name, x in stored.items()}
            found = compute(piece.start + first, piece.start + first + few)
            if content_digest(found) == content_digest(part):
                continue
            if content_digest(compute(piece.start, piece.stop)) != content_digest(stored):
                rows_ = f"rows {piece.start} to {piece.stop - 1}"
                what = f"holds other results than the function gives now, in {rows_}"
                fix = (
                    "write to another folder, or delete this one if the function has changed; "
                    "a function with random numbers of its own takes them from draw= instead"
                )
                raise OutputFileError(piece.path, what, fix)


def _reduce_pieces(
    folder: Path, digest: str, job: Job, reducers: tuple[Reducer, ...]
) -> list[ReductionTree]:
    trees = [_tree(reducer) for reducer in reducers]
    # the leaves are those of a sweep that writes nothing, so the bits are the same
    every = Job(job.study, reducers, job.leaf, None, job.kind, digest)
    for first, results in stored_rows(pieces_in(folder), digest, MAX_LEAVES * job.leaf):
        count = len(next(iter(results.values())))
        for tree, nodes in zip(trees, every.reduce_rows(first, count, results), strict=True):
            tree.add(nodes)
    return trees


def _all_rows(folder: Path, digest: str) -> dict[str, Array]:
    return _concatenate([results for _, results in stored_rows(pieces_in(folder), digest, 1 << 16)])


def _concatenate(parts: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _cut(ranges: Sequence[Block], size: int) -> Iterator[Block]:
    for start, stop in ranges:
        for first in range(start, stop, size):
            yield first, min(stop, first + size)


def _block(block: Any, rows: int, workers: int, leaf: int, aligned: bool) -> int:
    """Return how many rows a block has; whole leaves where they are reduced by workers."""
    if block is None:
        return leaf * max(1, min(MAX_LEAVES, rows // (BLOCKS * workers * leaf)))
    rows = whole_number("sweep", "block", block, 1, words="a number of rows >= 1")
    return -(-rows // leaf) * leaf if aligned else rows


def _seed(seed: Any) -> int:
    if seed is None:
        return 0
    words = "a whole number from 0 to 2**128 - 1"
    return whole_number("sweep", "seed", seed, 0, SEED_LIMIT - 1, words)


def _draws(draw: Any) -> dict[str, Draw]:
    if draw is None:
        return {}
    words = "draws by name, such as {'q': sf.sweeps.draws.uniform(-1.0, 1.0)}"
    if not isinstance(draw, Mapping) or not draw:
        raise OptionError("sweep", "draw", words, draw)
    for name, each in draw.items():
        if not isinstance(name, str) or not isinstance(each, Draw):
            raise OptionError("sweep", "draw", words, {name: each})
    return dict(draw)
