"""Functions of arrays of any library that follows the array API, on the device where they are.

The program of a function is carried out operation by operation in the arrays' own library: nothing
is compiled here and nothing is copied.  So the arrays stay on their device, and the library's
transforms (jit, vmap, derivatives of any order) see plain arithmetic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import ArgumentError, NumberError, ShapeError
from sixfold.model import Model
from sixfold.runtime import Argument, ArrayFunction, array_function, checked_array
from sixfold.scalar import BY_NAME, Rule

if TYPE_CHECKING:
    from sixfold.compiler.graph.program import Program


# -- arguments: bound by name, shapes checked as NumPy's are


CHOICES = ("float64", "float32")  # precisions that there are kernels for


def in_order(core: ArrayFunction, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of a call in their order, or say which is missing or too many."""
    # by place, then by name; each exactly once
    names = core.names
    given = dict(zip(names, arrays, strict=False))
    twice = [name for name in named if name in given]
    if len(arrays) > len(names) or twice or set(named) - set(names):
        got = [*(f"argument {k + 1}" for k in range(len(arrays))), *named]
        raise _wrong(core, ", ".join(got))
    given |= named
    if len(given) < len(names):
        raise _wrong(core, ", ".join(given) or "nothing")
    return [given[name] for name in names]


def _wrong(core: ArrayFunction, got: str) -> ArgumentError:
    fix = "pass each of them once, in this order or by name"
    return ArgumentError(f"{core.name}: arguments", ", ".join(core.names), got, fix)


def leading_shape(core: ArrayFunction, shapes: Sequence[Shape]) -> Shape:
    """Return the common leading shape of arguments, or say which of them does not fit."""
    # the last axes are those of one state, what is in front broadcasts
    leads = []
    for name, shape, expected in zip(core.names, shapes, core.inputs, strict=True):
        start = len(shape) - len(expected)
        if start < 0 or tuple(shape[start:]) != expected:
            wanted = f"({', '.join(['...', *map(str, expected)])})"
            fix = "the last axes are those of one state"
            raise ShapeError(core.name, name, wanted, tuple(shape), fix)
        leads.append(tuple(shape[:start]))
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        shown = ", ".join(f"{n} {tuple(s)}" for n, s in zip(core.names, shapes, strict=True))
        wanted = "leading axes that broadcast against each other"
        fix = "give all arguments the same number of states, or one state"
        raise ShapeError(core.name, "/".join(core.names), wanted, shown, fix) from None


def refuse_dtype(core: ArrayFunction, dtype: str) -> None:
    """Raise for a precision that has no kernels."""
    if dtype not in CHOICES:
        where = f"{core.name}: arguments"
        raise NumberError(where, " or ".join(CHOICES), dtype, "convert the arrays to one of them")


# -- the function


NAME = "array_api_function"
#: Libraries whose top module has the functions of the array API, with or without the protocol.
_BY_MODULE = ("numpy", "torch", "cupy")
#: On the CPU, XLA's fusion works shared values out again and again: 15 times the work and more.
_NO_FUSION = {"xla_disable_hlo_passes": "fusion"}


def array_api_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
) -> ArrayApiFunction:
    """Return a function of arrays of JAX, torch, CuPy or any library of the array API.

    The arrays stay on their device, and results are there too.  The library carries out every
    operation itself, so its transforms apply: `jax.jit`, `jax.vmap`, `jax.grad`, `jax.jacfwd`,
    torch's autograd and `torch.func`.  On the CPU, `jax_function` and `torch_function` run kernels
    instead, which are many times faster.

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.

    Returns:
        A function of the arrays, by place or by name.  Leading axes broadcast.  All arrays are of
        one library, one device and one dtype, float64 or float32; lists and NumPy arrays next to
        them are copied to that device.  Results agree with the kernels to rounding; products are
        not fused with sums.  A state that has no result gives NaN.

    Raises:
        TooLargeError: if the function's program has too many operations.
        ShapeError, NumberError: in a call, if an array does not fit.

    Example:
        >>> import numpy as np
        >>> import sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> energy = sf.interop.array_api_function(sf.kinetic_energy, arm)
        >>> energy(np.zeros((5, 2)), np.zeros(2)).shape
        (5,)
    """
    core = array_function(NAME, function, model, inputs)
    return ArrayApiFunction(core, (function, model, inputs))


class LibraryFunction:
    """A function of the arrays of another library; pickled as what it was made of."""

    kind = "array"  #: Of the arrays, for the text.
    maker: ClassVar[Callable[..., Any]]  #: The public function that makes it.

    def __init__(self, core: ArrayFunction, made_of: tuple[Any, ...]) -> None:
        """Take the function, and what it was made of: function, model and inputs."""
        self.__name__ = core.name
        self._core, self._made_of = core, made_of

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of."""
        function, model, inputs = self._made_of
        return partial(type(self).maker, inputs=inputs), (function, model)

    def __repr__(self) -> str:
        """Say what it computes."""
        return f"<{self.kind} function {self.__name__}({', '.join(self._core.names)})>"


class ArrayApiFunction(LibraryFunction):
    """A program read by an array library; made by `sixfold.interop.array_api_function`."""

    maker = staticmethod(array_api_function)

    def __init__(self, core: ArrayFunction, made_of: tuple[Any, ...]) -> None:
        super().__init__(core, made_of)
        self.names = core.names
        self._reader = Reader(core.program)
        self._jitted: dict[str, Any] = {}

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Return the result, or a tuple of results."""
        core = self._core
        given = in_order(core, arrays, named)
        xp, like = _library_of(core, given)
        placed = _on_one_device(core, xp, like, given)
        if xp.__name__ == "jax.numpy" and not _has_tracer(placed):
            results = self._run_with_jit(xp, placed)
        else:
            results = self.evaluate(xp, placed)
        return results if len(results) > 1 else results[0]

    def evaluate(self, xp: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Return all results for arrays that fit, operation by operation of the library `xp`."""
        core = self._core
        # one array of states for each number of a state
        lead = leading_shape(core, [x.shape for x in arrays])
        numbers: list[Any] = []
        for x, shape in zip(arrays, core.inputs, strict=True):
            flat = xp.reshape(x, (*x.shape[: len(x.shape) - len(shape)], prod(shape)))
            numbers += [flat[..., k] for k in range(prod(shape))]
        with np.errstate(all="ignore"):  # kernels give NaN without a word
            found = self._reader.run(xp, numbers, partial(_constant, xp, arrays[0]))
        ends = list(accumulate(map(prod, core.outputs), initial=0))
        parts = [found[a:b] for a, b in pairwise(ends)]
        return tuple(
            _stack(xp, part, lead, shape, arrays[0])
            for part, shape in zip(parts, core.outputs, strict=True)
        )

    def _run_with_jit(self, jnp: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program of JAX arrays as one: JAX would take its operations one by one."""
        platform = _platform(arrays[0])
        if platform not in self._jitted:
            options = _NO_FUSION if platform == "cpu" else None
            run = sys.modules["jax"].jit(partial(_results, self, jnp), compiler_options=options)
            self._jitted[platform] = run
        return tuple(self._jitted[platform](*arrays))


def _results(function: ArrayApiFunction, jnp: Any, *arrays: Any) -> tuple[Any, ...]:
    return function.evaluate(jnp, arrays)


# -- programs, operation by operation


class Reader:
    """A program and where each of its values is needed for the last time."""

    def __init__(self, program: Program) -> None:
        """Take a program without repetitions."""
        self._program = program
        # a value is dropped after the operation that reads it last
        last: dict[int, int] = {}
        for k, (op, *arguments) in enumerate(program.nodes):
            if op not in ("input", "const"):
                last.update(dict.fromkeys(arguments, k))
        kept = set(program.outputs)
        self._ends: list[list[int]] = [[] for _ in program.nodes]
        for value, k in last.items():
            if value not in kept:
                self._ends[k].append(value)

    def run(self, xp: Any, numbers: Sequence[Any], array: Callable[[float], Any]) -> list[Any]:
        """Return the results of the program.

        Args:
            xp: the functions of the library.
            numbers: the inputs, arrays whose shapes broadcast.
            array: returns a constant as an array, for functions that take no Python numbers.

        Returns:
            Arrays, and floats for results that are constant.
        """
        functions = _functions_of(xp, array)
        value: list[Any] = [None] * len(self._program.nodes)
        for k, (op, *arguments) in enumerate(self._program.nodes):
            if op == "input":
                value[k] = numbers[arguments[0]]
            elif op == "const":
                value[k] = float(arguments[0])
            else:
                value[k] = functions[op](*(value[a] for a in arguments))
            for a in self._ends[k]:
                value[a] = None  # its memory can be used again
        return [value[k] for k in self._program.outputs]


def _functions_of(xp: Any, array: Callable[[float], Any]) -> dict[str, Callable[..., Any]]:
    """Return what a library does for each operation, from the table of operations."""
    return {"copy": lambda x: x} | {
        name: _function_of(xp, row, array) for name, row in BY_NAME.items()
    }


def _function_of(xp: Any, row: Rule, array: Callable[[float], Any]) -> Callable[..., Any]:
    if not row.array:  # operators, which arrays have
        return row.value
    if isinstance(row.array, str):
        # libraries older than the array API have NumPy's names
        function = getattr(xp, row.array, None) or getattr(xp, row.numpy)
    else:
        function = partial(row.array, xp)
    if row.arity == 1:
        return function

    def on_arrays(*numbers: Any) -> Any:
        return function(*(array(x) if isinstance(x, float) else x for x in numbers))

    return on_arrays


# -- arrays


def _library_of(core: ArrayFunction, given: Sequence[Any]) -> tuple[Any, Any]:
    """Return the functions of the arrays' library, and one of its arrays."""
    # NumPy arrays and lists go with any library
    found: dict[str, tuple[Any, Any]] = {}
    for name, x in zip(core.names, given, strict=True):
        if isinstance(x, np.ndarray | np.generic | list | tuple | float | int):
            continue
        xp = _namespace(x)
        if xp is None:
            where = f"{core.name}: argument '{name}'"
            fix = "pass an array of JAX, torch, CuPy or NumPy, or a list of numbers"
            expected = "an array with __array_namespace__, as the array API says"
            raise NumberError(where, expected, type(x).__qualname__, fix)
        found.setdefault(xp.__name__, (xp, x))
    if len(found) > 1:
        where = f"{core.name}: arguments"
        fix = "convert them to one library, on one device"
        raise NumberError(where, "arrays of one library", " and ".join(found), fix)
    return next(iter(found.values()), (np, None))


def _namespace(x: Any) -> Any:
    """Return the module with the functions of an array's library, or None."""
    for kind in type(x).__mro__:
        top = (getattr(kind, "__module__", None) or "").partition(".")[0]
        if top in _BY_MODULE:
            return sys.modules[top]
    try:
        xp = x.__array_namespace__()
    except Exception:  # no such method, or one that fails
        return None
    return xp if isinstance(xp, ModuleType) else None


def _on_one_device(core: ArrayFunction, xp: Any, like: Any, given: Sequence[Any]) -> list[Any]:
    """Return arrays of one library, dtype and device, or say which of them is not."""
    if like is None:
        return _numpy_arrays(core, given)
    # the first array of the library decides dtype and device
    dtype, device = like.dtype, _device(like)
    refuse_dtype(core, _dtype_name(dtype))
    placed = []
    for name, x in zip(core.names, given, strict=True):
        if _namespace(x) is not xp or isinstance(x, np.ndarray | np.generic):
            # copy numbers in host memory to the device
            x = xp.asarray(np.asarray(x, _dtype_name(dtype)), dtype=dtype, **_device_of(xp, like))
        elif x.dtype != dtype or _device(x) != device:
            where = f"{core.name}: argument '{name}'"
            expected = f"{_dtype_name(dtype)} on {device}, like the others"
            got = f"{_dtype_name(x.dtype)} on {_device(x)}"
            raise NumberError(where, expected, got, "convert the arrays to one of them")
        placed.append(x)
    return placed


def _numpy_arrays(core: ArrayFunction, given: Sequence[Any]) -> list[Any]:
    plain = [
        checked_array(core.name, name, Argument(x, shape, f"shape {shape} for one state"))
        for name, x, shape in zip(core.names, given, core.inputs, strict=True)
    ]
    dtype = np.result_type(*plain) if plain else np.dtype(float)
    refuse_dtype(core, str(dtype))
    return [x.astype(dtype, copy=False) for x in plain]


def _stack(xp: Any, numbers: Sequence[Any], lead: Shape, shape: Shape, like: Any) -> Any:
    """Return numbers, each with leading axes or without, as one array."""
    if not numbers:
        return xp.zeros((*lead, *shape), dtype=like.dtype, **_device_of(xp, like))
    arrays = [_constant(xp, like, x) if isinstance(x, float) else x for x in numbers]
    wide = [xp.broadcast_to(x, lead) for x in arrays]
    return xp.reshape(xp.stack(wide, axis=-1), (*lead, *shape)) if shape else wide[0]


def _constant(xp: Any, like: Any, x: float) -> Any:
    return xp.asarray(x, dtype=like.dtype, **_device_of(xp, like))


def _device_of(xp: Any, like: Any) -> dict[str, Any]:
    """Return the keywords that make an array where another one is."""
    here = xp is np or xp.__name__ == "cupy" or xp.__name__ == "jax.numpy"
    return {} if here else {"device": like.device}


def _device(x: Any) -> str:
    """Return where an array is; nothing for JAX, which checks that itself, also when it traces."""
    return "" if _namespace(x).__name__ == "jax.numpy" else str(getattr(x, "device", ""))


def _dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of any library."""
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def _has_tracer(arrays: Sequence[Any]) -> bool:
    tracer = sys.modules["jax"].core.Tracer
    return any(isinstance(x, tracer) for x in arrays)


def _platform(x: Any) -> str:
    return str(next(iter(x.devices())).platform)
