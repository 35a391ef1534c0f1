"""The graph folds exact identities, shares equal work and prints what it holds."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import Graph, Program, optimise, trace
from sixfold.compiler.graph.passes import live
from sixfold.compiler.graph.program import FMA, FMS, FNMA
from sixfold.scalar import RULES, ZERO, Op


def ops(function, *sizes):
    return live(trace(function, sizes)).counts()


def test_zeros_ones_and_signs_cost_nothing():
    counts = ops(
        lambda x: [0.0 + x[0] * 1.0 - 0.0, x[0] * ZERO + x[1], 0 - (0 - x[1]), x[0] / 1.0], 2
    )
    assert counts == {"input": 2}


def test_a_difference_of_equals_is_zero_and_a_ratio_of_equals_is_one():
    program = live(trace(lambda x: [x[0] - x[0], x[1] / x[1]], (2,)))
    assert program.counts() == {"const": 2}


def test_equal_operations_are_one_node():
    counts = ops(lambda x: [(x[0] + x[1]) * (x[1] + x[0])], 2)
    assert counts == {"input": 2, "add": 1, "mul": 1}


def test_signs_are_pulled_out_of_products():
    counts = ops(lambda x: [(-x[0]) * (-x[1]), x[0] + (-x[1]) * x[0]], 2)
    assert "neg" not in counts


def test_constants_fold():
    program = live(trace(lambda x: [sf.math.sin(x[0] * 0.0 + 0.5)], (1,)))
    assert program.nodes == (("const", np.sin(0.5)),)


def test_products_used_once_are_fused_and_others_are_not():
    fused = optimise(trace(lambda x: [x[0] * x[1] + x[2]], (3,)))
    assert fused.counts() == {"input": 3, FMA: 1}
    shared = optimise(trace(lambda x: [x[0] * x[1] + x[2], x[0] * x[1]], (3,)))
    assert shared.counts() == {"input": 3, "mul": 1, "add": 1}


def test_a_product_goes_into_all_sums_that_use_it_or_into_none():
    both = optimise(trace(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[2]], (3,)))
    assert both.counts() == {"input": 3, FMA: 1, FMS: 1}

    def far(x):
        first, total = x[0] * x[1], x[2]
        near = first + x[2]
        for _ in range(40):
            total = total + x[0]
        return [near, first - total]

    assert optimise(trace(far, (3,))).counts()["mul"] == 1


def test_every_way_to_fuse_is_found():
    program = optimise(trace(lambda x: [x[0] * x[1] - x[2], x[2] - x[0] * x[3]], (4,)))
    assert program.counts() == {"input": 4, FMS: 1, FNMA: 1}


def test_divisions_by_one_number_share_its_reciprocal():
    counts = optimise(trace(lambda x: [x[0] / x[2], x[1] / x[2]], (3,))).counts()
    assert counts == {"input": 3, "const": 1, "div": 1, "mul": 2}


def test_a_single_division_stays_one():
    assert optimise(trace(lambda x: [x[0] / x[1]], (2,))).counts() == {"input": 2, "div": 1}


def test_a_divisor_that_is_always_zero_is_an_error():
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: [x[0] / (x[1] - x[1])], (2,))


def test_the_text_of_a_program_reads_back_as_the_program():
    model = sf.load("puma560")
    program = sf.compile(sf.inverse_dynamics, model).graph
    assert Program.parse(program.text()) == program


def test_choosing_by_value_while_tracing_is_an_error_with_a_way_out():
    with pytest.raises(TypeError, match="if_positive"):
        trace(lambda x: [x[0] if x[0] > 0 else x[1]], (2,))


def test_numbers_of_two_traces_do_not_mix():
    mine, other = Graph().input(), Graph().input()
    with pytest.raises(TypeError, match="another"):
        mine + other


def test_powers_are_products():
    assert ops(lambda x: [x[0] ** 3], 1) == {"input": 1, "mul": 2}
    with pytest.raises(TypeError, match="power"):
        trace(lambda x: [x[0] ** 0.5], (1,))


def test_every_operation_can_be_traced():
    for op, rule in RULES.items():
        program = trace(lambda x, op=op: [sf.scalar.apply(op, *x)], (rule.arity,))
        assert op.value in live(program).counts(), op


def test_a_repeated_node_does_not_verify():
    twice = Program(1, (("input", 0), ("sin", 0), ("sin", 0)), (1, 2))
    with pytest.raises(AssertionError, match="repeats"):
        twice.verify()


def test_a_node_that_reads_a_later_one_does_not_verify():
    with pytest.raises(AssertionError, match="later"):
        Program(1, (("input", 0), ("add", 0, 2), ("sin", 0)), (1,)).verify()


def test_operations_of_the_closed_list_have_names_of_their_own():
    assert len({op.value for op in Op}) == len(Op)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_what_a_joint_leaves_of_an_inertia_has_nothing_along_its_axis(axis):
    from sixfold.spatial import ArticulatedInertia, Matrix3, Motion, Subspace, Symmetric3, Vector3

    unit = [1.0 if k == axis else ZERO for k in range(3)]
    S = Subspace(Motion(Vector3(*unit), Vector3(ZERO, ZERO, ZERO)))

    def left(x):
        rows = [Vector3(*x[6 + 3 * k : 9 + 3 * k]) for k in range(3)]
        IA = ArticulatedInertia(Symmetric3(*x[:6]), Matrix3(*rows), Symmetric3(*x[15:]))
        U = IA @ S
        Ia = IA - (U / (S.T @ U)) @ U.T
        return Ia.matrix()[axis]

    assert live(trace(left, (21,))).counts() == {"const": 1}


def test_every_operation_with_a_name_in_numpy_is_a_function_of_numpy():
    for op, row in RULES.items():
        assert not row.numpy or isinstance(getattr(np, row.numpy), np.ufunc), op
