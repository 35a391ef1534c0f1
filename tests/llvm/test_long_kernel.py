"""Long programs: code for many states and code for one, each made when it is first wanted."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime import jit, long_kernel
from sixfold.compiler.llvm.runtime.long_kernel import LongKernel
from sixfold.runtime.kernels.kernels import watch_kernels
from tests.llvm.subroutine_functions import N, from_outside

LANES = pytest.mark.parametrize("lanes", jit.WIDTHS)


@pytest.fixture(autouse=True)
def _everything_is_long(monkeypatch):
    monkeypatch.setattr(long_kernel, "MAX_OPERATIONS", 10)


def two(x, y):
    """Two arguments and two results."""
    found = from_outside([a + 0.5 * y[0] for a in x])
    return [*found, *(a * b for a, b in zip(x, found, strict=False))]


def program():
    return trace(lambda x, y: two(x, y), [N, 3])


def layout(dtype="float64"):
    size = len(program().outputs) - N
    return Layout(((N,), (3,)), ((size,), (N,)), dtype)


def long_kernel_of(dtype="float64", lanes=None):
    kernel, code = build("long", program(), layout(dtype), lanes=lanes)
    assert isinstance(kernel, LongKernel)
    assert code == b""
    return kernel


def usual_kernel(monkeypatch, dtype="float64"):
    with monkeypatch.context() as m:
        m.setattr(long_kernel, "MAX_OPERATIONS", 10**6)
        return build("usual", program(), layout(dtype))[0]


def states(count, dtype="float64"):
    rng = np.random.default_rng(4)
    return rng.uniform(-1, 1, (count, N)).astype(dtype), rng.uniform(-1, 1, (count, 3)).astype(
        dtype
    )


def made(kernel):
    return set(kernel._parts)


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@LANES
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_each_number_of_states_gives_the_same_bits(monkeypatch, lanes, dtype):
    kernel, usual = long_kernel_of(dtype, lanes), usual_kernel(monkeypatch, dtype)
    x, y = states(37, dtype)
    expected = usual(x, y)
    for count in (1, 2, 3, 37):
        assert same(kernel(x[:count], y[:count]), [z[:count] for z in expected])
    assert same(kernel(x[5], y[5]), [z[5] for z in expected])


def test_one_state_makes_no_code_for_many():
    kernel = long_kernel_of()
    x, y = states(8)
    assert made(kernel) == set()
    kernel(x[0], y[0])
    kernel(x[:2], y[:2])
    kernel(x[0], y[:1])
    kernel(x[0].tolist(), y[0])
    kernel(x[0], y[0], out=tuple(np.empty(size) for (size,) in kernel.layout.outputs))
    assert made(kernel) == {"few"}
    kernel(x, y)
    assert made(kernel) == {"few", "many"}


def test_many_states_make_no_code_for_one():
    kernel = long_kernel_of()
    x, y = states(8)
    kernel(x, y)
    kernel(x[0], y)  # one array has one state, the other many
    kernel(x.tolist(), y)
    assert made(kernel) == {"many"}
    assert kernel.ufunc is kernel.many.ufunc
    assert isinstance(kernel.ufunc, np.ufunc)


def test_what_is_not_plain_makes_no_code_in_the_quick_call():
    kernel = long_kernel_of()
    x, y = states(4)
    for given in [(x[0].tolist(), y[0]), (x[0].astype("f4"), y[0]), (x[None], y[None])]:
        assert kernel.quick(*given) is None
        assert kernel.on_one_thread(*given) is None
    assert made(kernel) == set()
    kernel(x[0], y[0])
    # one state in an array that is not contiguous: the gufunc takes it
    odd = np.zeros(2 * N)[::2]
    odd[:] = x[0]
    assert kernel.quick(odd, y[0]) is None
    assert same(kernel(odd, y[0]), kernel(x[0], y[0]))
    assert made(kernel) == {"few"}


def test_quick_calls_take_plain_arrays():
    kernel = long_kernel_of()
    x, y = states(8)
    for call in (kernel.quick, kernel.on_one_thread):
        assert same(call(x[0], y[0]), [z[0] for z in call(x, y)])
        out = tuple(np.empty(size) for (size,) in kernel.layout.outputs)
        assert call(x[0], y[0], *out)[0] is out[0]


def test_the_ufunc_for_few_states_is_that_of_one():
    kernel = long_kernel_of()
    for states in (1, 2):
        assert kernel.ufunc_for(10**9, states) is kernel.few.ufunc
    assert made(kernel) == {"few"}
    for states in (0, 3, None):
        assert kernel.ufunc_for(8, states) is kernel.many.ufunc


def test_wrong_arguments_are_numpys_errors():
    kernel = long_kernel_of()
    x, y = states(4)
    with pytest.raises(ValueError, match="mismatch"):
        kernel(x[:, :-1], y)
    with pytest.raises(ValueError, match="broadcast"):
        kernel(x, y[:3])
    fresh = long_kernel_of()
    for given in [(), (x,)]:
        with pytest.raises(TypeError, match=f"from 2 to 4 .* {len(given)} were given"):
            fresh(*given)
        assert fresh.quick(*given) is None
    assert made(fresh) == set()


def test_pickles_hold_the_program(monkeypatch):
    kernel = long_kernel_of()
    x, y = states(5)
    expected = kernel(x, y)
    again = pickle.loads(pickle.dumps(kernel))
    assert isinstance(again, LongKernel)
    assert made(again) == set()
    assert same(again(x, y), expected)
    assert (again.name, again.signature, again.doc) == (kernel.name, kernel.signature, kernel.doc)


def test_it_is_described_without_being_compiled():
    kernel = long_kernel_of()
    assert kernel.form == "unrolled"
    assert kernel.flops > 100
    assert kernel.nbytes > len(kernel.text)
    assert "define" in kernel.llvm_ir
    assert "long" in repr(kernel)
    assert made(kernel) == set()


def test_threads_make_code_once(monkeypatch):
    kernel, count = long_kernel_of(), []
    code_for = long_kernel.code_for

    def counted(kind, *rest):
        count.append(kind)
        return code_for(kind, *rest)

    monkeypatch.setattr(long_kernel, "code_for", counted)
    x, y = states(9)
    expected = long_kernel_of()(x, y)
    count.clear()
    found = {}

    def work(k):
        given = (x[k], y[k]) if k % 2 else (x, y)
        found[k] = kernel(*given)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(count) == ["graph", "one state"]
    for k, results in found.items():
        assert same(results, [z[k] for z in expected] if k % 2 else expected)


def test_code_is_found_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    x, y = states(6)
    first = long_kernel_of()
    expected = first(x, y), first(x[0], y[0])

    def compiled(text):
        raise AssertionError("compiled again")

    monkeypatch.setattr(jit, "object_code", compiled)
    again = long_kernel_of()
    assert same(again(x, y), expected[0])
    assert same(again(x[0], y[0]), expected[1])


def test_public_functions_take_few_and_many_states(monkeypatch, tmp_path):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    arm = sf.load("puma560").without(damping=True)  # no other test compiles it
    q, v = sf.random_state(arm, 20, seed=1)
    with watch_kernels() as kernels:
        one = sf.derivatives.forward_dynamics_derivatives(arm, q[7], v[7], v[7])
        kernel = kernels["forward_dynamics_derivatives"]
        assert made(kernel) == {"few"}
        many = sf.derivatives.forward_dynamics_derivatives(arm, q, v, v)
    assert made(kernel) == {"few", "many"}
    assert same(one, [z[7] for z in many])
    again = sf.derivatives.forward_dynamics_derivatives(arm, q[7], v[7], v[7])  # prepared
    assert same(one, again)
    out = tuple(np.empty_like(z) for z in one)
    assert sf.derivatives.forward_dynamics_derivatives(arm, q[7], v[7], v[7], out=out)[0] is out[0]
    assert same(out, one)
    reference = sf.derivatives.forward_dynamics_derivatives(arm, q, v, v, backend="numpy")
    for found, expected in zip(many, reference, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
