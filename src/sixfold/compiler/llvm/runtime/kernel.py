"""A compiled program: callable on arrays, picklable by its text, open to inspection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.compiler.graph.program import Program
from sixfold.compiler.graph.rolled import Rolled
from sixfold.compiler.llvm.layout.signature import MIN_POOLED_BYTES, Layout
from sixfold.compiler.llvm.modules import rolled, single_state, straight
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES
from sixfold.compiler.llvm.runtime import cache, jit, result_memory
from sixfold.compiler.llvm.runtime.cache import source_digest
from sixfold.compiler.llvm.runtime.gufunc import WithEmptyArrays, gufunc
from sixfold.errors import NumberError, kind_of, visible


class Kernel:
    """Machine code of a program behind a NumPy gufunc.

    Call it with one array for each input; leading axes broadcast.  It returns an array, or a tuple
    of arrays where there are several outputs.  `out=` takes an array, or a tuple of them (None for
    those that are to be made).
    """

    # a slot: each kernel has its own, and a call costs no Python frame
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(
        self,
        name: str,
        text: str,
        layout: Layout,
        lanes: int,
        code: bytes,
        doc: str = "",
        data: bytes | None = None,
    ) -> None:
        """Load object code; `text` is the optimised program it was made from."""
        self._describe(name, text, layout, lanes, doc, data)
        self._loaded = loaded = jit.Loaded(code)
        self._gufunc = self._ufunc(data)
        call = _call_on_arrays(self._gufunc, name)
        #: Takes plain arrays of not too many states, and large results only as arrays that are
        #: given; returns None for anything else.
        self.quick: Any = None
        #: Takes plain arrays of any number of states, on this thread alone; else returns None.
        self.on_one_thread: Any = None
        # the built-in function takes plain arrays; all other calls go to the gufunc
        address = loaded.address("entry") if data is None and single_state.possible(layout) else 0
        if address:
            plain = single_state.builtin(address, name, single_state.NO_FALLBACK, loaded)
            other = PooledCalls(plain, call, layout)
            call = single_state.builtin(address, name, other, loaded)
            self.quick = single_state.builtin(address, name, None, loaded)
            self.on_one_thread = other.on_one_thread
        object.__setattr__(self, "__call__", call)  # see __slots__

    def _describe(
        self, name: str, text: str, layout: Layout, lanes: int, doc: str, data: bytes | None
    ) -> None:
        self.name, self.layout, self.lanes, self.doc = name, layout, lanes, doc
        self.text, self.data = text, data
        self.__name__ = name  # other libraries name a callable by it
        self.__doc__ = self._about

    @property
    def ufunc(self) -> Any:
        """The gufunc; a callable like one where some arrays are empty."""
        return self._gufunc

    if TYPE_CHECKING:

        def __call__(self, *arrays: Any, **options: Any) -> Any:
            """Evaluate."""

    def ufunc_for(self, size: int, states: int | None = None) -> Any:
        """Return the ufunc for a batch, or for chunks of it.

        Chunks of a large batch are streamed too.  Results are bit-identical.

        Args:
            size: bytes of its arguments and results.
            states: how many there are in a call; any number by default.
        """
        return self._streaming if size >= MIN_STREAMING_BYTES else self.ufunc

    @cached_property
    def numbers(self) -> int:
        """Numbers that are read and written for one state."""
        return sum(prod(core) for core in (*self.layout.inputs, *self.layout.outputs))

    @cached_property
    def _streaming(self) -> Any:
        return self.ufunc if self.data is not None else self._ufunc(b"part of a big batch")

    def _ufunc(self, data: bytes | None) -> Any:
        loop, dense = self.address, self.layout.dense
        loaded, dtype = self._loaded, dense.dtype
        found = gufunc(loop, self.name, self._about, dense.signature, loaded, dtype, data)
        return found if dense is self.layout else WithEmptyArrays(found, self.name, self.layout)

    @property
    def address(self) -> int:
        """Address of the inner loop, for those that call it in their own ways; keep the kernel."""
        return self._loaded.address("loop")

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes, roughly."""
        return self._loaded.size + len(self.text) + len(self.data or b"") + _OBJECTS

    @property
    def _about(self) -> str:
        return self.doc or f"{self.name}{self.signature}"

    @property
    def signature(self) -> str:
        """Core sizes, such as (7),(7)->(7), or (7),(7)->(7),(7,7) with two outputs."""
        return self.layout.signature

    @property
    def form(self) -> str:
        """Either "unrolled" (straight-line code) or "rolled" (loops over the items of a tree)."""
        return "rolled" if self.text.startswith(ROLLED) else "unrolled"

    @property
    def graph(self) -> Program | Rolled:
        """The optimised program."""
        return _parse(self.text)

    @property
    def llvm_ir(self) -> str:
        """The LLVM text."""
        return _module(self.text, self.layout, self.lanes)

    @property
    def assembly(self) -> str:
        """The machine code in words."""
        return jit.assembly(self.llvm_ir)

    @property
    def operations(self) -> dict[str, int]:
        """How many operations of each kind one state takes."""
        counts = self.graph.counts()
        return {op: n for op, n in counts.items() if op not in ("input", "const")}

    @property
    def flops(self) -> int:
        """Additions, multiplications and divisions of one state; fused ones count twice."""
        return self.graph.flops()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as text; the code is made again, or found in the cache, where it is loaded."""
        return rebuild, (self.name, self.text, self.layout, self.lanes, self.doc, self.data)

    def __repr__(self) -> str:
        """Say what it computes."""
        return f"<kernel {visible(self.name)} {self.signature}, {self.lanes} lanes, {self.form}>"


_TABLES = ("pandas", "polars", "pyarrow", "xarray")


def _call_on_arrays(ufunc: Any, name: str) -> Callable[..., Any]:
    """Return a call of a gufunc that refuses tables and masked elements.

    NumPy leaves a table to pandas, which passes it transposed and ignores its labels.
    """

    def call(*arrays: Any, **options: Any) -> Any:
        for x in arrays:
            if type(x) is not np.ndarray:
                _refuse_table(x, name)
        return ufunc(*arrays, **options)

    return call


def _refuse_table(value: Any, name: str) -> None:
    where = f"kernel '{visible(name)}'"
    if type(value).__module__.partition(".")[0] in _TABLES:
        fix = "pass x[names].to_numpy(), with the columns in the order of the model's coordinates"
        raise NumberError(where, "NumPy arrays: a kernel reads no labels", kind_of(value), fix)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        fix = "fill the masked elements, or leave those states out"
        raise NumberError(where, "an array without masked elements", "masked elements", fix)


class PooledCalls:
    """Calls that the built-in function of a kernel leaves to others."""

    def __init__(self, plain: Any, ufunc: Any, layout: Layout) -> None:
        """Take the built-in function, which gives None, and what takes all other arrays."""
        self.plain, self.ufunc, self.layout = plain, ufunc, layout
        self.inputs, self.bytes_each = len(layout.inputs), sum(layout.output_sizes) * layout.item

    def on_one_thread(self, *given: Any, **options: Any) -> Any:
        """Evaluate plain arrays of any number of states; give None for anything else."""
        if options:
            return None
        found = self.plain(*given)
        if found is None and (results := self._results(given)):
            found = self.plain(*given[: self.inputs], *results)
        return found

    def _results(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Return new arrays for results that are large and not given, else nothing."""
        rows = 0
        for x, core in zip(given, self.layout.inputs, strict=False):
            if type(x) is np.ndarray and x.ndim == len(core) + 1:
                rows = x.shape[0]
        if rows * self.bytes_each < MIN_POOLED_BYTES or len(given) < self.inputs:
            return ()
        for x in given[self.inputs :]:
            if x is not None:
                return ()
        shapes = [(rows, *core) for core in self.layout.outputs]
        return result_memory.empty(shapes, self.layout.dtype)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Evaluate arrays of any kind."""
        found = None if options else self.on_one_thread(*arrays)
        return self.ufunc(*arrays, **options) if found is None else found


def rebuild(
    name: str, text: str, layout: Layout, lanes: int, doc: str = "", data: bytes | None = None
) -> Kernel:
    """Return the kernel of an optimised program's text, as pickles keep it."""
    return compile_text(name, text, layout, min(lanes, jit.lanes(layout.dtype)), doc, data)[0]


def compile_text(
    name: str, text: str, layout: Layout, lanes: int, doc: str = "", data: bytes | None = None
) -> tuple[Kernel, bytes]:
    """Compile an optimised program, or find its code by its text; return kernel and code."""
    code = code_for("graph", text, layout, lanes, lambda: _module(text, layout, lanes))
    return Kernel(name, text, layout, lanes, code, doc, data), code


def code_for(kind: str, text: str, layout: Layout, lanes: int, ir: Callable[[], str]) -> bytes:
    """Return object code of a program from the disk; else compile LLVM text and keep that.

    Args:
        kind: of code, which other code of the same program must not have.
        text: of the program.
        layout: of the arrays.
        lanes: of a vector.
        ir: makes the LLVM text.
    """
    key = cache.digest(kind, text, repr(layout), str(lanes), *toolchain())
    code: bytes | None = cache.read(key)
    if code is None:
        code = jit.object_code(ir())
        cache.write(key, code)
    return code


ROLLED = "rolled"  #: Begins the text of a program with loops over items.
_OBJECTS = 4096  # bytes of the Python objects of a kernel, roughly


def _parse(text: str) -> Program | Rolled:
    return Rolled.parse(text) if text.startswith(ROLLED) else Program.parse(text)


def _module(text: str, layout: Layout, lanes: int) -> str:
    program, triple = _parse(text), jit.host()[0]
    if isinstance(program, Rolled):
        return rolled.module(program, layout, lanes, triple)
    return straight.module(program, layout.dense, lanes, triple, jit.permutes())


def toolchain() -> tuple[str, ...]:
    """Return what object code depends on besides its program: LLVM, machine, lanes, compiler."""
    return (*_compiler(), str(jit.lanes("float64")), str(jit.lanes("float32")))


@lru_cache(maxsize=1)
def _compiler() -> tuple[str, ...]:
    import llvmlite

    return (llvmlite.__version__, *jit.host(), source_digest("compiler", "scalar"))
