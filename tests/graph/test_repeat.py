"""Repetitions as nodes: what the body holds, what stays outside, texts, counts, derivatives."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import Program, gradient, jacobian, optimise, trace, unroll
from sixfold.compiler.graph.program import Final, Repeat
from sixfold.compiler.graph.repeat import MAX_UNROLLED_OPERATIONS
from sixfold.compiler.graph.rolled import ColumnGraph
from sixfold.errors import InternalError
from sixfold.scalar import RULES, Op, cos, differentiate, exp, repeat, sin, subroutine

FUSED = {
    "fma": lambda x, y, z: x * y + z,
    "fms": lambda x, y, z: x * y - z,
    "fnma": lambda x, y, z: z - x * y,
}


def run(program, inputs):
    """Evaluate a program on floats."""
    values = []
    for op, *arguments in program.nodes:
        if op == "input":
            values.append(inputs[arguments[0]])
        elif op == "const":
            values.append(arguments[0])
        elif isinstance(op, Repeat):
            carried = [values[a] for a in arguments]
            for _ in range(op.rounds):
                new = run(op.body, carried)
                carried = [*new, *carried[len(new) :]]
            values.append(new)
        elif isinstance(op, Final):
            values.append(values[arguments[0]][op.place])
        else:
            rule = FUSED[op] if op in FUSED else RULES[Op(op)].value
            values.append(rule(*(values[a] for a in arguments)))
    return [values[k] for k in program.outputs]


def kepler(x, rounds=20):
    """Return the eccentric anomaly for a mean anomaly and an eccentricity: Newton's iteration."""
    M, e = x
    return [repeat(rounds, lambda E: E - (E - e * sin(E) - M) / (1 - e * cos(E)), M)]


def coupled(x):
    """Several carried values, one constant, one that nothing depends on, values from outside."""

    def step(c):
        p, q, r, s = c
        return [q * cos(x[2]) + p * 0.5, sin(p) + exp(x[0]) * q * 0.1, r, s + p * r]

    p, q, r, s = repeat(50, step, [x[0], x[1], x[2] * 2.0, 0.0])
    return [p + q, s * r]


def nested(x):
    def inner(y):
        return repeat(30, lambda w: 0.5 * (w + (x[1] + y * y) / w), x[1] + 1.0)

    return [repeat(20, lambda y: y * 0.5 + sin(inner(y)), x[0])]


AT = {kepler: (1.1, 0.4), coupled: (0.3, -0.2, 0.9), nested: (0.4, 1.7)}
FUNCTIONS = pytest.mark.parametrize("function", list(AT), ids=lambda f: f.__name__)


@FUNCTIONS
def test_a_repetition_equals_its_loop_and_its_unrolled_program(function):
    at = AT[function]
    program = trace(function, [len(at)]).verify()
    assert program.bodies()
    want = function(list(at))
    assert run(program, at) == want
    flat = unroll(program).verify()
    assert not flat.bodies()
    assert run(flat, at) == want
    np.testing.assert_allclose(run(optimise(program), at), want, rtol=1e-13)


@FUNCTIONS
def test_texts_are_read_back(function):
    program = optimise(trace(function, [len(AT[function])]))
    assert Program.parse(program.text()) == program
    assert Program.parse(program.text()).text() == program.text()


def test_a_body_that_is_repeated_twice_is_printed_once():
    def roots(x):
        return [repeat(60 + k, lambda y, a=a: 0.5 * (y + a / y), 1.0) for k, a in enumerate(x)]

    program = trace(roots, [2])
    assert program.text().count("> inputs") == 1
    assert len(program.bodies()) == 1
    assert Program.parse(program.text()) == program


def test_the_size_of_a_program_does_not_grow_with_the_rounds():
    few, many = (trace(lambda x, n=n: kepler(x, n), [2]) for n in (20, 2000))
    assert few.length == many.length
    assert few.text() == many.text().replace("repeat(2000)", "repeat(20)")


def test_operations_count_in_every_round():
    program = trace(lambda x: kepler(x, 25), [2])
    counts = program.counts()
    assert counts["repeat"] == 1
    assert (counts["sin"], counts["cos"], counts["div"]) == (25, 25, 25)
    assert (counts["mul"], counts["sub"]) == (50, 100)
    assert counts["input"] == 2
    assert program.flops() == unroll(program).flops() == 175


def test_what_does_not_depend_on_carried_values_is_computed_once():
    (body,) = trace(coupled, [3]).bodies()
    assert body.counts().get("exp", 0) == 0
    assert body.counts().get("cos", 0) == 0
    assert body.counts()["sin"] == 1


def test_what_no_round_changes_is_not_carried():
    program = trace(coupled, [3])
    (body,) = program.bodies()
    assert len(body.outputs) == 3
    kept = trace(lambda x: repeat(500, lambda c: list(c), [x[0], x[1]]), [2])
    assert not kept.bodies()
    assert kept.outputs == (0, 1)


def test_few_rounds_of_a_small_body_are_unrolled():
    operations = 3
    most = MAX_UNROLLED_OPERATIONS // operations

    def root(rounds):
        return trace(lambda x: [repeat(rounds, lambda y: 0.5 * (y + x[0] / y), x[0])], [1])

    assert not root(most).bodies()
    assert root(most + 1).bodies()


def test_rounds_that_begin_with_plain_numbers():
    program = trace(lambda x: [repeat(300, lambda y: 0.5 * sin(y) + x[0], 0.0)], [1])
    assert program.bodies()
    y = 0.0
    for _ in range(300):
        y = 0.5 * np.sin(y) + 0.7
    assert run(program, [0.7]) == [y]


def test_bodies_are_optimised_on_their_own():
    (body,) = optimise(trace(kepler, [2])).bodies()
    assert body.counts()["fnma"] == 2
    assert "mul" not in body.counts()


def test_equal_repetitions_are_one_node():
    program = trace(lambda x: [kepler(x)[0] + 1.0, kepler(x)[0] * 2.0], [2])
    assert program.counts()["repeat"] == 1


@FUNCTIONS
def test_the_derivative_of_a_repetition_is_one(function):
    at = AT[function]
    n = len(at)
    program = trace(function, [n])
    slopes = jacobian(program, range(n)).verify()
    assert slopes.bodies()
    assert slopes.length < 20 * program.length
    found = np.array(run(slopes, at)).reshape(-1, n)
    flat = np.array(run(jacobian(unroll(program), range(n)), at)).reshape(-1, n)
    np.testing.assert_allclose(found, flat, rtol=1e-12, atol=1e-14)
    for k in range(n):
        _, dots = differentiate(function, at, [float(j == k) for j in range(n)])
        np.testing.assert_allclose(found[:, k], [float(x) for x in dots], rtol=1e-12, atol=1e-14)


def test_tangents_that_stay_zero_are_not_carried():
    def apart(x):
        a, b = repeat(100, lambda c: (sin(c[0]) * x[0], cos(c[1]) * x[1]), (x[0], x[1]))
        return [a, b]

    (body,) = jacobian(trace(apart, [2]), [0, 1]).bodies()
    assert len(body.outputs) == 4


@FUNCTIONS
def test_reverse_mode_unrolls(function):
    at = AT[function]
    program = trace(function, [len(at)])
    outputs = len(program.outputs)
    weights = [1.5, -0.5][:outputs]
    reverse = gradient(program, range(len(at)))
    assert not reverse.bodies()
    forward = np.array(run(jacobian(program, range(len(at))), at)).reshape(outputs, -1)
    np.testing.assert_allclose(run(reverse, [*at, *weights]), weights @ forward, rtol=1e-11)


def test_dual_numbers_over_traced_ones_are_recorded_too():
    def slope(x):
        _, dots = differentiate(lambda y: kepler((y[0], x[1]), 300), [x[0]], [1.0])
        return dots

    program = trace(slope, [2])
    assert program.bodies()
    assert program.length < 60
    want = run(jacobian(trace(kepler, [2]), [0]), (1.1, 0.4))
    np.testing.assert_allclose(run(program, (1.1, 0.4)), want, rtol=1e-13)


def test_a_number_from_inside_cannot_leave_by_another_way():
    kept = []

    def step(y):
        kept.append(sin(y))
        return 0.5 * y + 1.0

    with pytest.raises(TypeError, match="let the step return it"):
        trace(lambda x: [repeat(100, step, x[0]) + kept[-1]], [1])


def test_a_step_that_returns_another_form_is_named():
    with pytest.raises(sf.errors.ArgumentError, match=r"another form(.|\n)*as many numbers"):
        trace(lambda x: repeat(10, lambda c: [*c, c[0]], list(x)), [2])


def test_the_rolled_form_writes_rounds_and_calls_out():
    graph = ColumnGraph(3)
    x, k = graph.source("array", 0, 0), graph.number(np.array([1.0, 2.0, 3.0]))
    (y,) = subroutine(lambda a: [repeat(50, lambda y: 0.5 * sin(y) + k * a[0], a[0])], [x])
    nodes = graph.nodes[: y.index + 1]
    assert sum(node[0] == "sin" for node in nodes) == 50
    assert all(isinstance(node[0], str) for node in nodes)


def test_boundaries_inside_a_body_are_left_out():
    def step(x):
        graph = x[0].graph

        def rounds(y):
            return graph.evaluate(lambda a: [sin(a[0]) * x[1] + 0.25], [[y]])[0]

        outside = graph.evaluate(lambda a: [cos(a[0])], [[x[1]]])[0]
        return [repeat(200, rounds, x[0]) + outside]

    program = trace(step, [2], boundaries=True).verify()
    assert len(program.evaluations) == 1
    y = 0.3
    for _ in range(200):
        y = np.sin(y) * 0.8 + 0.25
    assert run(trace(step, [2]), (0.3, 0.8)) == [y + np.cos(0.8)]


def broken(program, k, node):
    nodes = list(program.nodes)
    nodes[k] = node
    return Program(program.inputs, tuple(nodes), program.outputs)


def test_verify_names_what_is_wrong_with_a_repetition():
    program = trace(kepler, [2])
    k = next(n for n, node in enumerate(program.nodes) if isinstance(node[0], Repeat))
    op, *arguments = program.nodes[k]
    body = op.body
    wide = Program(body.inputs, body.nodes, body.outputs * 4)
    bad = Program(body.inputs, ((*body.nodes[0],), ("sin", 7)), (1,))
    for node, words in [
        ((op, *arguments[:-1]), "arguments"),
        ((Repeat(0, body), *arguments), "0 rounds"),
        ((Repeat(2, wide), *arguments), "4 results"),
        ((Repeat(2, bad), *arguments), "later node"),
    ]:
        with pytest.raises(InternalError, match=words):
            broken(program, k, node).verify()
    with pytest.raises(InternalError, match="no result"):
        broken(program, k + 1, (Final(1), k)).verify()
    with pytest.raises(InternalError, match="no result"):
        broken(program, k + 1, (Final(0), 0)).verify()
    with pytest.raises(InternalError, match="as a number"):
        broken(program, k + 1, ("sin", k)).verify()
    assert broken(program, k, (Repeat(1, wide), *arguments)).verify()
