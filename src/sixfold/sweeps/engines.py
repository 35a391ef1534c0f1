"""Engines: this thread, threads, processes, a Dask cluster or any executor.

An engine takes blocks of rows and yields their results in any order, with few blocks pending.  For
other processes the job is pickled once, and unpickled once in each of them.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from types import CodeType, FunctionType, MethodType
from typing import Any

from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    brief,
    kind_of,
    whole_number,
)
from sixfold.lazy import optional
from sixfold.runtime import get_threads, set_threads

Block = tuple[int, int]
# returns the function and the arguments of a block
Task = Callable[[Block], tuple[Callable[..., Any], tuple[Any, ...]]]
Done = Iterator[tuple[Block, Any]]

NAMES = ("threads", "processes", "serial")
AHEAD = 4  # blocks on their way for each worker
# pools that may break before the sweep gives up; three if none has computed a block
MAX_BREAKS = 20


def engine_of(
    given: Any, workers: int | None
) -> tuple[Callable[[Task, Iterable[Block]], Done], int]:
    """Return the engine that was asked for, and how many workers it has."""
    count = get_threads() if workers is None else workers
    count = whole_number("sweep", "workers", count, 1, 4096)
    if given is None or given == "threads":
        return lambda task, blocks: _in_threads(task, blocks, count), count
    if isinstance(given, str) and given == "processes":
        return lambda task, blocks: _in_processes(task, blocks, count), count
    if workers is not None:
        fix = "leave it out, or pass engine='threads' or 'processes'"
        raise NotApplicableError("sweep: option 'workers'", "this engine", fix)
    if isinstance(given, str) and given == "serial":
        return _serial, 1
    if _is_dask_client(given):
        return lambda task, blocks: _on_dask(task, blocks, given), max(1, len(given.nthreads()))
    if isinstance(given, Executor) or callable(getattr(given, "submit", None)):
        size = getattr(given, "_max_workers", None) or count
        return lambda task, blocks: _on_executor(task, blocks, given, size), size
    words = "'threads', 'processes', 'serial', a Dask client, or an executor with submit"
    raise OptionError("sweep", "engine", words, given)


def _serial(task: Task, blocks: Iterable[Block]) -> Done:
    for block in blocks:
        function, arguments = task(block)
        yield block, function(*arguments)


def _in_threads(task: Task, blocks: Iterable[Block], workers: int) -> Done:
    with _closing(ThreadPoolExecutor(workers, thread_name_prefix="sweep")) as pool:
        yield from _on_executor(task, blocks, pool, workers)


@contextmanager
def _closing(pool: Executor) -> Iterator[Any]:
    """Give up what has not begun when the sweep ends early."""
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _on_executor(task: Task, blocks: Iterable[Block], pool: Any, workers: int) -> Done:
    left = iter(blocks)
    pending: dict[Future[Any], Block] = {}
    try:
        while True:
            # keep a few blocks pending for each worker
            for block in islice(left, AHEAD * workers - len(pending)):
                function, arguments = task(block)
                pending[pool.submit(function, *arguments)] = block
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                block = pending.pop(future)
                yield block, _result(future, block)
    finally:
        for future in pending:
            future.cancel()


def _result(future: Any, block: Block) -> Any:
    """Return what a worker made of a block; an error tells its rows."""
    try:
        return future.result()
    except Exception as error:
        note = f"in rows {block[0]} to {block[1] - 1} of a sweep"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def in_this_process(engine: Any) -> bool:
    """Return whether an engine's workers see the objects of this process: nothing is pickled."""
    return engine in (None, "threads", "serial") or isinstance(engine, ThreadPoolExecutor)


def _in_processes(task: Task, blocks: Iterable[Block], workers: int) -> Done:
    """Run on processes of our own; a killed one costs the blocks that were on their way."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    context = get_context("spawn" if sys.platform == "win32" else "forkserver")
    left, finished, breaks = list(blocks), 0, 0
    while left:
        # one pool after another, until all blocks have been computed once
        waiting = dict.fromkeys(left)
        pool = ProcessPoolExecutor(workers, context, initializer=set_threads, initargs=(1,))
        try:
            with _closing(pool):
                for block, found in _on_executor(task, left, pool, workers):
                    del waiting[block]
                    finished += 1
                    yield block, found
        except BrokenProcessPool:
            # a worker was killed: start a new pool for the blocks that are left
            breaks += 1
            if breaks > MAX_BREAKS or (breaks > 2 and not finished):
                where = "processes that end before they have computed anything"
                fix = "put the script's own work below if __name__ == '__main__':"
                raise NotApplicableError("sweep: engine 'processes'", where, fix) from None
        left = list(waiting)


def _is_dask_client(given: Any) -> bool:
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(given).__mro__}
    return "distributed.client.Client" in kinds


def _on_dask(task: Task, blocks: Iterable[Block], client: Any) -> Done:
    """Run on a cluster; its scheduler runs the task of a lost worker again."""
    distributed = optional("distributed", "sweep on a Dask cluster")
    if client.asynchronous:
        fix = "make the client without asynchronous=True"
        raise NotApplicableError("sweep: option 'engine'", "an asynchronous Dask client", fix)
    left = iter(blocks)
    cores = max(1, sum(client.nthreads().values()))
    pending: dict[Any, Block] = {}

    def submit(count: int) -> list[Any]:
        parts = list(islice(left, count))
        tasks = map(task, parts)
        futures = [client.submit(function, *arguments, pure=False) for function, arguments in tasks]
        pending.update(zip(futures, parts, strict=True))
        return futures

    # one new block for each that arrives
    arrived = distributed.as_completed(submit(AHEAD * cores))
    try:
        for future in arrived:
            block = pending.pop(future)
            found = _result(future, block)
            arrived.update(submit(1))
            yield block, found
    finally:
        client.cancel(list(pending), force=True)


MAX_OBJECTS = 5000  # objects searched for one that cannot be pickled


def pickle_job(job: Any, functions: Sequence[Any]) -> bytes:
    """Return a job as bytes, or name the object in its functions that cannot be pickled."""
    cloudpickle = optional("cloudpickle", "a sweep on other processes")
    try:
        data: bytes = cloudpickle.dumps(job)
    except Exception as error:
        path, culprit = _find_unpicklable(functions, cloudpickle.dumps)
        if path is None:
            what = "sweep: the function cannot go to other processes"
            raise NotApplicableError(what, f"it: {brief(error)}", _FIX) from error
        where = f"sweep: {path} cannot go to other processes"
        expected = f"objects that can be pickled ({brief(error)})"
        raise ArgumentError(where, expected, culprit, _FIX) from error
    return data


_FIX = "make or open it inside the function, or take engine='threads', where nothing is pickled"


@lru_cache(maxsize=8)
def unpickle_job(data: bytes) -> Any:
    """Return a job from bytes; each process does it once."""
    return pickle.loads(data)


def _find_unpicklable(functions: Sequence[Any], dumps: Any) -> tuple[str | None, Any]:
    """Return the innermost object that functions reach and that does not pickle, and a path."""
    pending: list[tuple[str, Any]] = [(_quote(x), x) for x in functions]
    found: tuple[str | None, Any] = (None, None)
    seen: set[int] = set()
    while pending and len(seen) < MAX_OBJECTS:
        path, x = pending.pop(0)
        if id(x) in seen or _can_pickle(x, dumps):
            continue
        seen.add(id(x))
        if all(x is not function for function in functions):
            found = (path, x)
        pending = _members(path, x) or pending  # what is inside it is at fault, or it is itself
    return found


def _quote(x: Any) -> str:
    return f"'{getattr(x, '__name__', type(x).__name__)}'"


def _can_pickle(x: Any, dumps: Any) -> bool:
    try:
        dumps(x)
    except Exception:
        return False
    return True


def _members(path: str, x: Any) -> list[tuple[str, Any]]:
    """Return what an object holds, each with the words that lead to it."""
    if isinstance(x, MethodType):
        return [(path, x.__func__), (f"the object of {path}", x.__self__)]
    if isinstance(x, FunctionType):
        path = _quote(x)
        # a function holds its closure, the globals that it names, and its defaults
        cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
        found = [(f"'{name}' in the closure of {path}", _content(cell)) for name, cell in cells]
        names = _names(x.__code__) & x.__globals__.keys()
        found += [(f"the global '{name}' of {path}", x.__globals__[name]) for name in names]
        defaults = (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
        return found + [(f"a default of {path}", value) for value in defaults]
    if isinstance(x, dict):
        return [(f"{path}[{key!r}]", value) for key, value in x.items()]
    if isinstance(x, (list, tuple, set, frozenset)):
        return [(f"{path}[{k}]", value) for k, value in enumerate(x)]
    if hasattr(x, "func") and hasattr(x, "keywords"):  # functools.partial
        return [(path, x.func), (f"an argument of {path}", x.args), (path, x.keywords)]
    state = getattr(x, "__dict__", None)
    if isinstance(state, dict) and not kind_of(x).startswith("the class"):
        return [(f"attribute '{name}' of {path}", value) for name, value in state.items()]
    return []


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return {*code.co_names, *(name for c in inner for name in _names(c))}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
