"""A long program as two kernels, each made when it is first wanted.

Code for vectors of states and code for one state take seconds each to compile, and a user often
wants one of them alone.  Both do the same operations, so results are bit-identical.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from sixfold.compiler.graph.passes import optimise
from sixfold.compiler.graph.program import Program
from sixfold.compiler.graph.rolled import Rolled
from sixfold.compiler.llvm.layout.schedule import MAX_OPERATIONS
from sixfold.compiler.llvm.layout.signature import Layout
from sixfold.compiler.llvm.modules import one_state
from sixfold.compiler.llvm.runtime import jit
from sixfold.compiler.llvm.runtime.kernel import Kernel, code_for, compile_text
from sixfold.compiler.llvm.runtime.limits import check_length
from sixfold.forks import renew_in_child
from sixfold.progress import working

#: Held while code is made, so that threads that want the same make it once. A fork does not wait
#: for it: it may be held for seconds, and guards nothing that could be half done.
_making = threading.RLock()
renew_in_child(lambda: _making._at_fork_reinit())  # type: ignore[attr-defined]

#: Bytes of machine code for a line of the program's text, in both kernels together, roughly.
BYTES_PER_LINE = 40


class LongKernel(Kernel):
    """Machine code of a long program: `many` for vectors of states, `few` for one or two states."""

    def __init__(self, name: str, text: str, layout: Layout, lanes: int, doc: str = "") -> None:
        """Take the text of an optimised program; nothing is compiled yet."""
        self._describe(name, text, layout, lanes, doc, None)
        self._dtype = np.dtype(layout.dtype)
        self._parts: dict[str, Kernel] = {}

    @property
    def few(self) -> Kernel:
        """The kernel for one or two states."""
        return self._parts.get("few") or self._make("few")

    @property
    def many(self) -> Kernel:
        """The kernel for any number of states."""
        return self._parts.get("many") or self._make("many")

    def _make(self, part: str) -> Kernel:
        with _making:
            if part not in self._parts:
                if part == "many":
                    code = self._code("graph", "", lambda: self.llvm_ir)
                else:
                    code = self._code("one state", " for one state", self._ir_of_one_state)
                lanes = self.lanes if part == "many" else 1
                args = (self.name, self.text, self.layout, lanes, code, self.doc)
                self._parts[part] = Kernel(*args)
            return self._parts[part]

    def _code(self, kind: str, words: str, ir: Any) -> bytes:
        """Return object code from the disk, or make it."""
        with jit.usual_environment(), working(f"compiling {self.name}{words}"):
            return code_for(kind, self.text, self.layout, self.lanes, ir)

    def _ir_of_one_state(self) -> str:
        program = self.graph
        assert isinstance(program, Program), "loops over items are short"
        return one_state.module(program, self.layout.dense, jit.host()[0])

    @property
    def ufunc(self) -> Any:
        """The gufunc, which takes any number of states."""
        return self.many.ufunc

    def ufunc_for(self, size: int, states: int | None = None) -> Any:
        """Return the ufunc for a batch, or for chunks of it.

        Args:
            size: bytes of its arguments and results.
            states: how many there are in a call; any number by default.
        """
        few = states is not None and 0 < states <= one_state.MAX_STATES
        return self.few.ufunc if few else self.many.ufunc_for(size)

    @property
    def address(self) -> int:
        """Address of the inner loop, which takes any number of states; keep the kernel."""
        return self.many.address

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes once both kernels are there, roughly."""
        return len(self.text) + BYTES_PER_LINE * self.text.count("\n")

    def quick(self, *given: Any) -> Any:
        """Take plain arrays of not too many states, and return None for anything else."""
        return self._plain("quick", given)

    def on_one_thread(self, *given: Any) -> Any:
        """Take any number of states, on this thread alone."""
        return self._plain("on_one_thread", given)

    def _plain(self, call: str, given: Sequence[Any]) -> Any:
        # scalar code that is there already tests the arrays itself
        few = self._parts.get("few")
        if few is not None and few.quick is not None:
            found = few.quick(*given)
            if found is not None:
                return found
        states = self._states(given)
        if states is None or (few is not None and states <= one_state.MAX_STATES):
            return None
        kernel = self.few if states <= one_state.MAX_STATES else self.many
        function = getattr(kernel, call)
        return None if function is None else function(*given)

    def _states(self, given: Sequence[Any]) -> int | None:
        """Return how many states there are; None unless all are arrays of at most one more axis."""
        if len(given) < len(self.layout.inputs):
            return None
        # plain arrays only: the compiled code does the other tests
        most = 1
        for x, core in zip(given, self.layout.inputs, strict=False):
            if type(x) is not np.ndarray or x.dtype is not self._dtype:
                return None
            if x.ndim != len(core):
                if x.ndim != len(core) + 1:
                    return None
                most = max(most, x.shape[0])
        return most

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as text; code is made again, or found in the cache, where it is called."""
        return rebuild, (self.name, self.text, self.layout, self.lanes, self.doc)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Evaluate."""
        if len(arrays) < len(self.layout.inputs):  # said before anything is compiled
            wanted, most = len(self.layout.inputs), len(self.layout.shapes)
            raise TypeError(
                f"{self.name}() takes from {wanted} to {most} positional arguments "
                f"but {len(arrays)} were given"
            )
        found = None if options else self.quick(*arrays)
        if found is None:
            found = self.ufunc_for(0, self._any_states(arrays))(*arrays, **options)
        return found

    def _any_states(self, arrays: Sequence[Any]) -> int | None:
        """Return how many states there are in arrays of any kind; None where that is not known."""
        pairs = zip(arrays, self.layout.inputs, strict=False)
        leads = [np.shape(x)[: np.ndim(x) - len(core)] for x, core in pairs]
        try:
            return prod(np.broadcast_shapes(*leads))
        except ValueError:
            return None


def rebuild(name: str, text: str, layout: Layout, lanes: int, doc: str) -> LongKernel:
    """Return the kernel that a pickle holds, for the lanes of this machine."""
    return LongKernel(name, text, layout, min(lanes, jit.lanes(layout.dtype)), doc)


def build(
    name: str,
    program: Program | Rolled,
    layout: Layout,
    *,
    lanes: int | None = None,
    doc: str = "",
    data: bytes | None = None,
) -> tuple[Kernel, bytes]:
    """Compile a traced program, or find its code by its text; return the kernel and its code.

    A long program has no code yet: it is compiled when it is called.
    """
    straight = isinstance(program, Program)
    if isinstance(program, Program):
        check_length(program.length, len(program.outputs))
    text = (optimise(program) if isinstance(program, Program) else program).text()
    lanes = lanes or jit.lanes(layout.dtype)
    if straight and text.count("\n") > MAX_OPERATIONS:
        return LongKernel(name, text, layout, lanes, doc), b""
    return compile_text(name, text, layout, lanes, doc, data)


def load(
    name: str, text: str, layout: Layout, lanes: int, code: bytes, data: bytes | None = None
) -> Kernel:
    """Return the kernel of what `build` made."""
    if code:
        return Kernel(name, text, layout, lanes, code, data=data)
    return LongKernel(name, text, layout, lanes)
