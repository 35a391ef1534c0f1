"""Repetitions in machine code: loops over rounds in the tile, equal to the loop in Python."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace, unroll
from sixfold.compiler.graph.program import Repeat
from sixfold.compiler.llvm import Layout, Scan, build, build_scan
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.errors import InternalError
from sixfold.spatial import rotation


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setenv("SIXFOLD_VERIFY", "1")


def kepler(x):
    """Newton's iteration for Kepler's equation: sines inside the body."""
    M, e, _ = x
    E = sf.math.repeat(30, lambda E: E - (E - e * sf.math.sin(E) - M) / (1 - e * sf.math.cos(E)), M)
    return [E, sf.math.sin(E) + e]


def swapped(x):
    """Results that are inputs, a constant, and one value twice: all must be moved."""

    def step(c):
        a, b, c, d = c
        s = 0.5 * (a + b) + 1.0
        return [b, s, 0.25, s - d * c]

    return sf.math.repeat(101, step, [x[0], x[1], x[2], 1.5])


def nested(x):
    def inner(z):
        return sf.math.repeat(
            45, lambda w: 0.5 * (w + (x[1] * x[1] + z * z + 1) / w), x[1] * x[1] + 1.0
        )

    y = sf.math.repeat(20, lambda z: z * 0.5 + 0.1 * sf.math.sin(inner(z)), x[0])
    return [y * x[2], sf.math.cos(y)]


def long(x):
    """A body of several pieces, bound by latency, with sines between them."""

    def step(c):
        a, b = c
        for k in range(160):
            a, b = a * 0.5 + b * 0.25 + 0.001 * k, b * 0.5 - a * 0.125 * x[2]
        a = sf.math.sin(a)
        for k in range(100):
            a, b = a * 0.25 - b * 0.5, b * 0.25 + a * 0.001 * k
        return [a, b]

    a, b = sf.math.repeat(6, step, [x[0], x[1]])
    return [a + b, a * b, a - x[0]]


def several(x):
    """Two bodies, one of them twice on other values, each needing results of the one before."""

    def root(a):
        return sf.math.repeat(60, lambda y: 0.5 * (y + a / y), 1.0 + a)

    first = root(1.0 + x[0] * x[0])
    angle = sf.math.repeat(70, lambda y: 0.5 * sf.math.cos(y) + 0.1 * first * x[2], x[1])
    return [root(2.0 + angle * angle) + first, angle, x[0]]


FUNCTIONS = [kepler, swapped, nested, long, several]
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def kernel_of(function, lanes=None, dtype="float64"):
    program = trace(function, [3])
    layout = Layout(((3,),), ((len(program.outputs),),), dtype)
    return build(function.__name__, program, layout, lanes=lanes)[0]


def states(n, dtype="float64"):
    return np.random.default_rng(5).uniform(0.1, 0.8, (n, 3)).astype(dtype)


def looped(function, x):
    found = function(list(x.astype(float).T))
    return np.stack([np.broadcast_to(y, x.shape[:1]) for y in found], -1)


@EACH
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rounds_equal_the_loop_in_python_for_all_lanes(function, dtype):
    x = states(301, dtype)
    tolerance = 1e-13 if dtype == "float64" else 2e-5
    kernels = [kernel_of(function, W, dtype) for W in WIDTHS]
    results = [kernel(x) for kernel in kernels]
    np.testing.assert_allclose(results[0], looped(function, x), rtol=tolerance, atol=tolerance)
    for kernel, found in zip(kernels, results, strict=True):
        assert "repeat(" in kernel.text
        np.testing.assert_array_equal(found, results[0])
        for k in (0, 1, 300):  # one state
            np.testing.assert_array_equal(kernel(x[k]), results[0][k])
        np.testing.assert_array_equal(kernel(x[:7].copy()), results[0][:7])
        np.testing.assert_array_equal(kernel(np.asfortranarray(x)), results[0])


@EACH
def test_rounds_equal_the_unrolled_program(function):
    x = states(40)
    program = unroll(trace(function, [3]))
    flat, _ = build("flat", program, Layout(((3,),), ((len(program.outputs),),)))
    np.testing.assert_allclose(kernel_of(function)(x), flat(x), rtol=1e-13, atol=1e-13)


def test_bits_are_those_of_numpy_where_nothing_is_fused():
    def halves(x):
        return sf.math.repeat(
            200, lambda c: [c[1], 0.5 * (c[0] + c[1]) + x[2] / c[0]], [x[0], x[1]]
        )

    x = states(100)
    np.testing.assert_array_equal(kernel_of(halves)(x), looped(halves, x))


@EACH
def test_large_batches_are_streamed_with_the_same_bits(function):
    kernel = kernel_of(function)
    x = states(1031)
    np.testing.assert_array_equal(kernel.ufunc_for(MIN_STREAMING_BYTES)(x), kernel.ufunc(x))


def test_code_does_not_grow_with_the_rounds():
    def code(rounds):
        def root(x):
            return [sf.math.repeat(rounds, lambda y: 0.5 * (y + x[0] / y), x[0])]

        return kernel_of(root).llvm_ir.replace(f"i64 {rounds},", "")

    assert code(100) == code(9999)


def test_equal_bodies_are_compiled_once():
    cut = plan(optimise(trace(several, [3])))
    assert len(cut.runs) == 3
    assert len(cut.routines) == 2


def test_values_from_outside_stay_where_they_are():
    def function(x):
        return [sf.math.repeat(100, lambda y: 0.5 * (y + x[1] / y) * x[2], x[0])]

    program = optimise(trace(function, [3]))
    cut = plan(program)
    (run,) = cut.runs
    (routine,) = cut.routines
    assert len(run.taken) == 1
    inputs = {program.nodes[k][1]: slot for k, slot in cut.slot.items() if k < 3}
    assert set(routine.plan.inputs.values()) > {inputs[1], inputs[2]}


def test_a_plan_that_does_not_fit_its_repetitions_is_refused():
    program = optimise(trace(several, [3]))
    cut = plan(program).verify(program)
    run, *rest = cut.runs
    routine = cut.routines[run.routine]
    node = next(k for k, (op, *_) in enumerate(program.nodes) if isinstance(op, Repeat))
    assert run.node == node
    for bad, words in [
        (replace(cut, runs=tuple(rest)), "repetitions"),
        (replace(cut, runs=(replace(run, rounds=3), *rest)), "other rounds"),
        (replace(cut, runs=(replace(run, taken=()), *rest)), "reads node"),
        (replace(cut, runs=(replace(run, node=node + 1), *rest)), "others are run"),
        (replace(cut, runs=(replace(run, results=()), *rest)), "reads node"),
        (
            replace(cut, routines=tuple(replace(r, feeds=False) for r in cut.routines)),
            "carry its results",
        ),
        (replace(cut, routines=cut.routines[::-1]), "another body"),
    ]:
        with pytest.raises(InternalError, match=words):
            bad.verify(program)
    assert routine.region.stop <= cut.slots


def test_kernels_with_repetitions_are_pickled():
    kernel = kernel_of(nested)
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(states(5)), kernel(states(5)))
    assert again.graph == kernel.graph
    assert kernel.operations["sqrt" if "sqrt" in kernel.operations else "div"] == 20 * 45


def test_compiled_functions_of_arrays_repeat_steps_on_arrays():
    def admm(P, z):
        """Rounds of a small quadratic program with bounds: P symmetric, x in [-1, 1]."""

        def step(c):
            x, u = c
            y = np.clip(x + u, -1.0, 1.0)
            new = x - 0.1 * (P @ x - z + 2.0 * (x - y + u))
            return new, u + new - y

        x, u = sf.math.repeat(80, step, (np.zeros(3), np.zeros(3)))
        return x, np.outer(x, u)

    kernel = sf.compile(admm, inputs={"P": (3, 3), "z": 3})
    rng = np.random.default_rng(3)
    A = rng.standard_normal((20, 3, 3))
    P, z = A @ A.swapaxes(-1, -2) + np.eye(3), rng.standard_normal((20, 3))
    x, xu = kernel(P, z)
    for k in range(20):
        want = admm(P[k], z[k])
        np.testing.assert_allclose(x[k], want[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(xu[k], want[1], rtol=1e-12, atol=1e-13)


def test_derivatives_of_compiled_functions_go_through_the_rounds():
    def anomaly(M, e):
        return sf.math.repeat(25, lambda E: E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E)), M)

    M, e = states(50).T[:2]
    slope = sf.compile(anomaly, inputs={"M": 1, "e": 1}, derivative="e")(M[:, None], e[:, None])
    E = anomaly(M, e)
    np.testing.assert_allclose(slope[:, 0, 0], np.sin(E) / (1 - e * np.cos(E)), rtol=1e-13)


def test_quantities_of_a_model_inside_a_body():
    arm = sf.load("double_pendulum")

    def settled(q):
        """Gradient descent on the potential energy."""
        return sf.math.repeat(40, lambda x: x - 0.02 * sf.gravity_force(arm, x), q)

    kernel = sf.compile(settled, arm)
    assert kernel.operations["repeat"] == 1
    q = 0.3 * states(30)[:, :2]
    want = q
    for _ in range(40):
        want = want - 0.02 * sf.gravity_force(arm, want)
    np.testing.assert_allclose(kernel(q), want, rtol=1e-12, atol=1e-14)


SCAN = Scan(carried=(2,), fixed=(1,), each=(1,))


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_scan_repeats_inside_its_steps_and_inside_its_subroutine(lanes):
    def force(x, k):
        y = sf.math.repeat(50, lambda y: 0.5 * (y + (x[0] * x[0] + k[0]) / y), k[0])
        for _ in range(160):  # worth a subroutine
            y = y * 0.5 + sf.math.sin(x[1]) * 0.25
        return [y, sf.math.repeat(60, lambda z: 0.5 * sf.math.cos(z) + y * 0.01, x[1])]

    def step(x, k, push):
        if hasattr(x[0], "graph"):
            rates = lambda y: x[0].graph.evaluate(force, [y, k])  # noqa: E731
        else:
            rates = lambda y: force(y, k)  # noqa: E731
        a, b = rates(x)
        c, d = rates([x[0] + 0.5 * a, x[1] + 0.25 * b])
        damped = sf.math.repeat(70, lambda z: 0.5 * (z + push[0] / z), 1.0 + a * a)
        return [x[0] + 0.01 * (a + c), x[1] - 0.01 * (b + d) * damped]

    rows, steps = 11, 4
    x, k = states(rows)[:, :2], states(rows)[:, 2:] + 1.0
    push = np.random.default_rng(1).uniform(0.5, 2.0, (rows, steps, 1))
    kernel = build_scan(trace(step, [2, 1, 1], boundaries=True), SCAN, lanes=lanes)
    program, subroutine = kernel.graph.verify()
    assert subroutine is not None and len(subroutine.bodies()) == 2
    assert len(program.bodies()) == 1
    out = np.full((rows, steps, 2), np.nan)
    kernel([x, k, push], [out], steps, 1)
    state = list(x.T)
    for n in range(steps):
        state = step(state, k.T, push[:, n].T)
        np.testing.assert_allclose(out[:, n], np.transpose(state), rtol=1e-12)


def test_rollouts_compile_controllers_with_rounds():
    arm = sf.load("double_pendulum")
    calls = []

    def control(t, q, v):
        calls.append(t)
        size = sf.math.repeat(40, lambda x: 0.5 * (x + (v * v + 0.1) / x), v * v + 1.0)
        return -0.3 * size * v - np.sin(q)

    q0 = states(9)[:, :2]
    for integrator in ("semi_implicit_euler", "rk4"):
        options = {"dt": 1e-3, "steps": 25, "integrator": integrator, "control": control}
        found = sf.rollout(arm, q0, 0 * q0, compiled=True, **options)
        made = len(calls)
        slow = sf.rollout(arm, q0, 0 * q0, backend="numpy", **options)
        assert len(calls) - made >= 25
        for x, y in zip(found, slow, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-12)


def test_controllers_with_rounds_are_known_to_be_pure():
    arm = sf.load("double_pendulum")

    def control(t, q, v):
        return -sf.math.repeat(40, lambda x: 0.5 * (x + (v * v + 0.1) / x), v * v + 1.0) * v

    q0 = states(4)[:, :2]
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.errors.PythonCallbackWarning)
        found = sf.rollout(arm, q0, q0, dt=1e-3, steps=5, control=control)
    slow = sf.rollout(arm, q0, q0, dt=1e-3, steps=5, control=control, backend="numpy")
    np.testing.assert_allclose(found[0], slow[0], rtol=1e-12)


def test_exported_code_is_unrolled():
    from sixfold.runtime.kernels.trace_function import graph_of

    program, (shape,) = graph_of(lambda x: np.array(kepler(x)), [(3,)])
    assert shape == (2,)
    assert not program.bodies()
    assert program.counts()["div"] == 30


def _turning(q):
    """A crank whose angle solves Kepler's equation."""
    E = sf.math.repeat(
        60, lambda E: E - (E - 0.3 * sf.math.sin(E) - q[0]) / (1 - 0.3 * sf.math.cos(E)), q[0]
    )
    axis = sf.spatial.Vector3(0.0, 0.0, 1.0)
    return sf.Transform(
        rotation(axis, sf.math.cos(E), sf.math.sin(E)), sf.spatial.Vector3(0.1, 0.2, 0.0)
    )


@pytest.mark.parametrize("function", [sf.inverse_dynamics, sf.forward_dynamics])
def test_joints_that_repeat_run_in_the_kernels_of_quantities(function):
    builder = sf.ModelBuilder("crank")
    inertia = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
    builder.add_body("a", joint=sf.CustomJoint(_turning), inertia=inertia)
    builder.add_body("b", parent="a", joint=sf.Revolute("x"), inertia=inertia)
    model = builder.build()
    kernel = sf.compile(function, model)
    # twice differentiated for the bias, and still two loops
    assert kernel.operations["repeat"] == 2
    assert kernel.graph.length < 400
    q, v = sf.random_state(model, 20, seed=1)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        x = [a.astype(dtype) for a in (q, v, v)]
        want = function(model, *x, backend="numpy")
        np.testing.assert_allclose(function(model, *x), want, rtol=tolerance, atol=tolerance)
