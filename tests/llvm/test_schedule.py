"""Pieces of a program: where values live, run by hand with nothing but the slots of a tile."""

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.graph.passes import with_subroutine, without_boundaries
from sixfold.compiler.graph.program import CONST, COPY, INPUT, Argument
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout import schedule
from sixfold.compiler.llvm.layout.pieces import MAX_BLOCKS, blocks_per_group
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.runtime.jit import WIDTHS
from sixfold.quantities.dynamics import forward_dynamics_reading
from sixfold.runtime.kernels.kernels import for_kernel
from sixfold.runtime.kernels.scan import evaluate_once
from sixfold.simulation.step import Setup
from tests.cases import some

FUSED = {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}
VALUES = {
    **FUSED,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "abs": abs,
    "tanh": math.tanh,
    "sign": lambda a: math.copysign(1.0, a) if a else a,
    "if_positive": lambda a, b, c: b if a > 0 else c,
}


def directly(program, x):
    """Return the results, every value kept."""
    known = []
    for op, *arguments in program.nodes:
        if op == INPUT:
            known.append(x[arguments[0]])
        elif op == CONST:
            known.append(arguments[0])
        else:
            known.append(VALUES[op](*(known[a] for a in arguments)))
    return [known[k] for k in program.outputs]


def by_pieces(program, cut, x):
    """Return the results and the tile: each piece forgets everything but the slots."""
    tile = [math.nan] * cut.slots
    for k, (op, *arguments) in enumerate(program.nodes):
        if op == INPUT:
            tile[cut.slot[k]] = x[arguments[0]]
    run(program, cut, tile)
    for k, slot in zip(program.outputs, cut.results, strict=True):
        if program.nodes[k][0] == CONST:
            tile[slot] = program.nodes[k][1]
    return [tile[s] for s in cut.results], tile


def passes(op):
    """Return whether an operation passes its argument on."""
    return op == COPY or isinstance(op, Argument)


def run(program, cut, tile, call=None):
    """Run all pieces on a tile, and what they call."""
    nodes = program.nodes
    for p, members in enumerate(cut.pieces):
        for _ in range(cut.calls.count(p)):
            call(tile)
        for group in cut.angles:
            if group.before == p:
                for n in range(len(group.nodes)):
                    angle = tile[group.first + n]
                    sine, cosine = group.pair(n)
                    tile[sine], tile[cosine] = math.sin(angle), math.cos(angle)
        here = {}
        for k in members:
            op, *arguments = nodes[k]
            numbers = []
            for a in arguments:
                if nodes[a][0] == CONST:
                    numbers.append(nodes[a][1])
                else:  # what lies in the tile must be right to the last use
                    numbers.append(tile[cut.slot[a]] if a in cut.slot else here[a])
            here[k] = numbers[0] if passes(op) else VALUES[op](*numbers)
            if k in cut.slot:
                tile[cut.slot[k]] = here[k]


def traced(name, integrator):
    """Return the traced program of a step of a rollout, and how many numbers it carries."""
    model = sf.load(name)
    whole = Setup("rollout", sf.System(model), integrator)
    return trace(whole.step, (model.nq, model.nv, 1, 1), boundaries=True), model.nq + model.nv


def stepping(name, integrator):
    """Return the program of a step of a rollout, and how many numbers it carries."""
    program, carried = traced(name, integrator)
    return optimise(without_boundaries(program)), carried


def dynamics(name):
    """Return the program of forward dynamics; nothing is carried."""
    model = sf.load(name)
    core = for_kernel(forward_dynamics_reading(model), model)
    return optimise(trace(core, (model.nq, model.nv, model.nv))), 0


def nested(x):
    """Sines of sines, of sums, of constants and of results."""
    a = sf.math.sin(x[0]) + x[1]
    b = sf.math.cos(a) * x[2]
    c = sf.math.sin(sf.math.cos(b)) - sf.math.sin(a)
    return [a, b, c, sf.math.cos(x[0]), x[1], 2.0 + 0.0 * x[0], sf.math.sin(c * b)]


PROGRAMS = {
    "puma": lambda: dynamics("puma560"),
    "tree": lambda: dynamics("tree10"),
    "euler": lambda: stepping("puma560", "semi_implicit_euler"),
    "rk4": lambda: stepping("puma560", "rk4"),
    "free": lambda: stepping("floating_link", "lie_rk4"),
    "nested": lambda: (optimise(trace(nested, (3,))), 0),
    "nested, carried": lambda: (optimise(trace(nested, (3,))), 3),
}


@pytest.mark.parametrize("piece", [7, 40, 200, 100_000])
@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_need_nothing_but_the_slots(name, piece):
    program, carried = PROGRAMS[name]()
    rng = np.random.default_rng(3)
    x = rng.uniform(0.1, 1.0, program.inputs).tolist()
    for again in {0, carried}:
        for inner in (True, False):
            cut = plan(program, piece, again, inner)
            found, _ = by_pieces(program, cut, x)
            assert found == directly(program, x)


@pytest.mark.parametrize("piece", some([7, 40, 200, 100_000], 2))
@pytest.mark.parametrize("integrator", ["rk4", "lie_rk4", "midpoint"])
@pytest.mark.parametrize("name", ["puma560", "tree10"])
def test_calls_of_a_block_need_nothing_but_the_slots(name, integrator, piece):
    whole, carried = traced(name, integrator)
    program, block = map(optimise, with_subroutine(whole))
    inner = plan(block, piece)
    x = np.random.default_rng(3).uniform(0.1, 1.0, program.inputs).tolist()
    for again in (0, carried):
        cut = plan(program, piece, again, block=inner)
        assert len(cut.calls) == (7 if integrator == "midpoint" else 4)
        tile = [math.nan] * cut.slots
        for number, slot in cut.inputs.items():
            tile[slot] = x[number]
        run(program, cut, tile, lambda tile: run(block, inner, tile))
        found = [tile[slot] for slot in cut.results]
        np.testing.assert_allclose(
            found, directly(without_boundaries(whole), x), rtol=1e-11, atol=1e-13
        )


def tangled(rng):
    """Return a step that evaluates one function several times, its arguments picked at random."""
    n, calls = 3, int(rng.integers(2, 6))
    plain = [int(rng.integers(0, 4)) for _ in range(200)]

    def step(x, h):
        picks = iter(plain)

        def pull(y, w):
            a, b, c = y[0] * w[1] - y[2], sf.math.sin(y[1]) + w[0], h[0] * w[2] - y[0]
            for _ in range(3):
                a, b, c = b * c + a, sf.math.cos(a) * 0.5 - c, a * b - y[1] * w[0]
            return [-a, b, c - w[1]]

        known, handed = [*x, h[1]], []
        for _ in range(calls):
            both = []
            for place in range(2 * n):
                kind, k, m = next(picks), next(picks), next(picks)
                p, q = known[-1 - k], known[m % len(known)]
                both.append([p, q, p + 0.25 * q, x[place % n]][kind])
            handed += both
            known += evaluate_once(pull, both[:n], both[n:])
            if next(picks) > 1:
                known.append(known[-1] * 0.5 - x[next(picks) % n])
            if next(picks) > 2:
                known.append(sf.math.sin(both[next(picks) % n]) - sf.math.cos(known[-2]))
        ends = [*known[-n:], *handed, *x, sf.math.sin(x[next(picks) % n])]
        last = [
            ends[(next(picks) + 4 * next(picks) + 16 * next(picks)) % len(ends)]
            for _ in range(2 * n)
        ]
        return [
            a if next(picks) < 1 else a + h[0] * b for a, b in zip(last[:n], last[n:], strict=True)
        ]

    return trace(step, (n, 2), boundaries=True), n


@pytest.mark.parametrize("seed", range(150))
def test_no_value_is_lost_however_calls_are_tangled(seed, monkeypatch):
    monkeypatch.setattr("sixfold.compiler.graph.passes.MIN_OPERATIONS", 5)
    rng = np.random.default_rng(seed)
    whole, carried = tangled(rng)
    program, block = with_subroutine(whole)
    assert block is not None
    program, block = optimise(program), optimise(block)
    inner = plan(block, int(rng.integers(3, 30)))
    x = rng.uniform(-1.0, 1.0, program.inputs).tolist()
    want = directly(without_boundaries(whole), x)
    for again in (0, carried):
        cut = plan(program, int(rng.integers(2, 40)), again, block=inner)
        tile = [math.nan] * cut.slots
        for number, slot in cut.inputs.items():
            tile[slot] = x[number]
        run(program, cut, tile, lambda tile: run(block, inner, tile))
        found = [tile[slot] for slot in cut.results]
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-11)


def pull(y, w):
    """Return three numbers made of six, by some forty operations."""
    a, b, c = y[0] * w[1] - y[2], sf.math.sin(y[1]) + w[0], w[2] - y[0]
    for _ in range(3):
        a, b, c = b * c + a, sf.math.cos(a) * 0.5 - c, a * b - y[1] * w[0]
    return [a, b, c]


def late(x, h):
    """Results take the places of the arguments that others of them still read."""
    first = evaluate_once(pull, x, x)
    y = [a + h[0] * b for a, b in zip(x, first, strict=True)]
    second = evaluate_once(pull, y, y)
    return [second[2] * h[1], second[0] + y[0], second[1] + y[1] * y[0]]


def turned(x, h):
    """Sines of inputs that are arguments too, and an input for a result."""
    first = evaluate_once(pull, x, [sf.math.sin(x[0]), sf.math.cos(x[1]), sf.math.sin(x[2])])
    second = evaluate_once(pull, first, [h[0], h[1], x[0]])
    return [
        second[0] + sf.math.sin(x[0]) * sf.math.cos(x[1]),
        x[0],
        second[2] - sf.math.sin(first[1]),
    ]


@pytest.mark.parametrize("step", [late, turned], ids=lambda f: f.__name__)
@pytest.mark.parametrize("piece", [2, 5, 1000])
def test_places_that_are_shared_hold_what_is_still_read(step, piece, monkeypatch):
    monkeypatch.setattr("sixfold.compiler.graph.passes.MIN_OPERATIONS", 5)
    whole = trace(step, (3, 2), boundaries=True)
    program, block = map(optimise, with_subroutine(whole))
    inner = plan(block, 7)
    x = [0.3, -0.2, 0.7, 0.4, 0.9]
    for again in (0, 3):
        cut = plan(program, piece, again, block=inner)
        tile = [math.nan] * cut.slots
        for number, slot in cut.inputs.items():
            tile[slot] = x[number]
        run(program, cut, tile, lambda tile: run(block, inner, tile))
        found = [tile[slot] for slot in cut.results]
        np.testing.assert_allclose(found, directly(without_boundaries(whole), x), rtol=1e-13)


def test_carried_results_take_the_places_of_the_inputs():
    program, carried = stepping("puma560", "semi_implicit_euler")
    cut = plan(program, carried=carried)
    number = {node[1]: k for k, node in enumerate(program.nodes) if node[0] == INPUT}
    assert all(cut.results[n] == cut.slot[number[n]] for n in range(carried))


def test_sines_of_the_stages_of_a_step_are_worked_out_together():
    program, _ = stepping("puma560", "rk4")
    groups = plan(program).angles
    assert [len(group.nodes) for group in groups] == [
        5,
        10,
        5,
    ]  # of the start, two middles, the end
    assert [group.before for group in groups] == sorted(group.before for group in groups)


def test_short_pieces_end_where_few_values_cross():
    program, _ = dynamics("tree10")

    def crossing(play):
        before, schedule.CUT_PLAY = schedule.CUT_PLAY, play
        try:
            cut = plan(program)
        finally:
            schedule.CUT_PLAY = before
        home = {k: p for p, members in enumerate(cut.pieces) for k in members}
        read = {(a, home[k]) for k in home for a in program.nodes[k][1:] if a in home}
        return len({a for a, p in read if p > home[a]})

    assert crossing(0.35) < crossing(0.0)


def test_blocks_of_large_tiles_go_through_the_pieces_one_by_one():
    """Several of them would not fit the L1 cache."""

    def chain(count):
        def function(x):
            found = [x[0]]
            for k in range(900):
                found.append(found[-1] * x[k % 5] + 0.25)
            return found[-count:]

        return optimise(trace(function, (5,)))

    layouts = [Layout(((5,),), ((count,),)) for count in (50, 150)]
    few, many = (blocks_per_group(each, plan(chain(each.sizes[1])), 8) for each in layouts)
    assert (few, many) == (MAX_BLOCKS, 1)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_one_huge_angle_among_many_changes_no_other_bit(lanes):
    def function(x):
        return [sf.math.sin(x[0]) * x[1], sf.math.cos(x[1]), sf.math.sin(x[2]) + sf.math.cos(x[2])]

    program = trace(function, (3,))
    kernel = build("angles", program, Layout(((3,),), ((3,),)), lanes=lanes)[0]
    x = np.random.default_rng(1).uniform(-3, 3, (75, 3))
    usual = kernel(x)
    for row, column in ((0, 0), (0, 2), (17, 1), (40, 0), (74, 2)):
        y = x.copy()
        y[row, column] = 1e12
        found = kernel(y)
        others = np.arange(75) != row
        assert np.array_equal(found[others], usual[others])
        np.testing.assert_allclose(found[row], function([float(v) for v in y[row]]), rtol=1e-15)
