"""Text of rollouts for Nvidia's cards: ptxas takes it, and its steps are those of the kernels."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sixfold as sf
from sixfold.devices.trajectories import launch_of, step_kernel
from sixfold.formats import bundled
from sixfold.graph import trace
from sixfold.graph.program import Call, Repeat
from sixfold.llvm import Scan, build_scan, ptx_scan_text
from sixfold.simulation.rollout import asked_for
from tests.devices.ptx_machine import Machine
from tests.devices.ptxas import assembled, is_installed


def first(a):
    """Return what is worth a subroutine, with loops inside, one in the other."""
    s = sf.repeat(60, lambda y: 0.5 * (y + (a[0] * a[0] + 1.0) / y), 1.5)
    for k in range(250):
        s = s * 0.5 + sf.cos(a[1]) * 0.01 * k

    def inner(z):
        return sf.repeat(70, lambda w: 0.25 * w - 0.125 * z + a[1], z)

    return [s, sf.repeat(3, inner, a[1])]


def second(a):
    """Return what is worth another one."""
    s = a[0]
    for k in range(170):
        s = s * 0.25 - a[0] * 0.01 * k
    return [s, 0.5 - s]


def step(x, y, k, push):
    """Return numbers of all parts, one that stays, and a constant."""
    call = x[0].graph.evaluate
    a, b = call(first, [[x[0], y[0]]])
    c, d = call(second, [[a]])
    e, f = call(first, [[b + c, k[0]]])
    g, h = call(second, [[e + push[0]]])
    damped = sf.repeat(50, lambda z: 0.5 * (z + (1.0 + push[1] * push[1]) / z), 1.0 + a * a)
    return [0.1 * (d + f) * damped, x[0] - 0.01 * g, 0.0625, y[0] * 0.5 + 0.01 * h]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shared", [(False, False), (True, False), (False, True), (True, True)])
def test_subroutines_loops_and_shared_arrays_give_the_bits_of_the_kernel(shared, dtype):
    scan = Scan((3, 1), (1,), (2,), dtype)
    kernel = build_scan(trace(step, scan.sizes, boundaries=True), scan)
    ops = [op for op, *_ in kernel.graph.program.nodes]
    rounds = [op.rounds for op in ops if isinstance(op, Repeat)]
    assert sum(isinstance(op, Call) for op in ops) == 2 and sorted(rounds) == [1, 1, 50]
    inner = kernel.graph.subroutine.bodies()
    assert len(inner) == 2 and any(body.bodies() for body in inner)
    rows, steps, every = 3, 7, 3
    rng = np.random.default_rng(0)
    x, y, k, push = (
        rng.uniform(0.5, 2.0, shape).astype(dtype)
        for shape in ((rows, 3), (rows, 1), (rows, 1), (rows, steps, 2))
    )
    k, push = (a[:1] if one else a for a, one in zip((k, push), shared, strict=True))
    wide = [np.broadcast_to(a, (rows, *a.shape[1:])) for a in (k, push)]
    expected, found = (
        [np.full((rows, 2, n), np.nan, dtype) for n in scan.carried] for _ in range(2)
    )
    kernel([x, y, *wide], expected, steps, every)
    text = ptx_scan_text(kernel.texts, scan, "run", (False, False, *shared))
    pointers = [a.ctypes.data for a in (x, y, k, push, *found)]
    Machine(text).run("run", [*pointers, rows, steps, every], 2, 2)  # one more than rows
    for a, b in zip(found, expected, strict=True):
        assert np.isfinite(b).all() and a.tobytes() == b.tobytes()


def text_of(model, **options):
    """Return the PTX of a rollout with forces for each step."""
    given = (None, None, np.zeros((4, model.nv)), None, None, None, None)
    asked = asked_for("cuda_rollout", model, given, dt=1e-3, steps=4, **options)
    kernel = step_kernel(asked)
    return ptx_scan_text(kernel.texts, kernel.scan, "run", launch_of(kernel, asked).shared)


@pytest.mark.skipif(not is_installed(), reason="ptxas is not installed")
@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("name", "integrator", "dtype", "spills"),
    [
        ("panda", "semi_implicit_euler", "float64", False),
        ("panda", "semi_implicit_euler", "float32", False),
        ("panda", "rk4", "float64", True),
        ("panda", "rk4", "float32", False),
        ("g1_29dof", "semi_implicit_euler", "float32", True),
    ],
)
def test_ptxas_takes_the_text(name, integrator, dtype, spills):
    text = text_of(sf.load(name), integrator=integrator, dtype=dtype)
    registers, found = assembled(text)
    assert registers <= 255 and (spills or found == 0)


def test_products_are_fused_where_the_graph_says_so_and_nowhere_else():
    text = text_of(sf.load("double_pendulum"), integrator="rk4")
    assert ".visible .entry run(" in text and text.count(".ptr .global") == 7
    assert "fma.rn.f64" in text and "mul.rn.f64" in text
    assert not re.search(r"(mul|add|sub)\.f64", text)  # the kind that ptxas may fuse
