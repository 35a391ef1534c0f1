"""Equality and inequality of spatial quantities, over every kind of number."""

import gmpy2
import numpy as np
import pytest
import sympy

from sixfold.compiler.graph import trace
from sixfold.scalar import ZERO
from sixfold.spatial import (
    ArticulatedInertia,
    Column,
    Force,
    ForceSubspace,
    Inertia,
    JointMatrix,
    Matrix3,
    Motion,
    Subspace,
    Symmetric3,
    Transform,
    Vector3,
)


def vector(x):
    return Vector3(*x[:3])


def matrix(x):
    return Matrix3(vector(x), vector(x[3:]), vector(x[6:]))


def inertia(x):
    return Inertia(x[0], vector(x[1:]), Symmetric3(*x[4:10]))


KINDS = {
    "Vector3": (3, vector),
    "Matrix3": (9, matrix),
    "Symmetric3": (6, lambda x: Symmetric3(*x)),
    "Motion": (6, lambda x: Motion(vector(x), vector(x[3:]))),
    "Force": (6, lambda x: Force(vector(x), vector(x[3:]))),
    "Transform": (12, lambda x: Transform(matrix(x), vector(x[9:]))),
    "Inertia": (10, inertia),
    "ArticulatedInertia": (10, lambda x: ArticulatedInertia.of(inertia(x))),
    "Column": (3, Column),
    "JointMatrix": (4, lambda x: JointMatrix((x[:2], x[2:]))),
    "Subspace": (6, lambda x: Subspace(Motion(vector(x), vector(x[3:])))),
    "ForceSubspace": (6, lambda x: ForceSubspace(Force(vector(x), vector(x[3:])))),
}
NUMBERS = {
    "float": float,
    "int": int,
    "float64": np.float64,
    "array": lambda k: np.array([k, k + 0.5]),
    "one state": lambda k: np.array([float(k)]),
    "no states": lambda k: np.zeros(0) if k < 100 else np.zeros(1),
    "symbol": lambda k: sympy.Symbol(f"x{k}"),
    "mpfr": lambda k: gmpy2.mpfr(k) / 7,
}
each = pytest.mark.parametrize("kind", KINDS)
over = pytest.mark.parametrize("number", NUMBERS)


@each
@over
def test_quantities_are_equal_when_every_number_is_and_unequal_when_one_is_not(kind, number):
    n, make = KINDS[kind]
    convert = NUMBERS[number]
    values = [[convert(k + 1) for k in range(n)] for _ in range(2)]
    a, b = map(make, values)
    assert (a == b) is True
    assert (a != b) is False
    for k in range(n):
        changed = list(values[0])
        changed[k] = convert(100 + k)
        c = make(changed)
        assert (a == c) is False and (c == a) is False
        assert (a != c) is True and (c != a) is True


@each
def test_one_state_that_differs_makes_quantities_of_many_states_unequal(kind):
    n, make = KINDS[kind]
    values = np.arange(1.0, 1 + 5 * n).reshape(n, 5)
    other = values.copy()
    other[n - 1, 3] += 1e-9
    assert make(list(values)) == make(list(values.copy()))
    assert make(list(values)) != make(list(other))
    assert make(list(values)) != make(list(values[:, :4]))  # states of another number
    assert make(list(values)) != make([float(x) for x in values[:, 0]])


@each
def test_equal_quantities_have_one_hash(kind):
    n, make = KINDS[kind]
    a, b = (make([float(k + 1) for k in range(n)]) for _ in range(2))
    assert a is not b and hash(a) == hash(b)
    assert len({a, b, make([0.5] * n)}) == 2


def test_kinds_of_quantities_are_never_equal_to_each_other():
    ones = [make([1.0] * n) for n, make in KINDS.values()]
    for k, a in enumerate(ones):
        for m, b in enumerate(ones):
            alike = k == m or {type(a), type(b)} == {Vector3, Column}
            assert (a == b) is alike and (a != b) is not alike


@pytest.mark.parametrize("kind", ["Motion", "Force", "Transform", "Inertia", "ArticulatedInertia"])
def test_a_tuple_of_the_same_numbers_is_neither_a_motion_nor_a_force_nor_an_inertia(kind):
    n, make = KINDS[kind]
    a = make([1.0] * n)
    assert (a == tuple(a)) is False and (tuple(a) == a) is False
    assert (a != tuple(a)) is True and (tuple(a) != a) is True


@pytest.mark.parametrize("kind", ["Vector3", "Matrix3", "Symmetric3", "Column"])
def test_vectors_and_matrices_of_ordinary_space_are_equal_to_tuples_of_their_numbers(kind):
    n, make = KINDS[kind]
    a = make([float(k + 1) for k in range(n)])
    plain = tuple(map(tuple, a)) if kind == "Matrix3" else tuple(a)
    assert a == plain and plain == a and hash(a) == hash(plain)
    assert (a != plain) is False and (plain != a) is False
    assert a != plain[:-1] and plain[:-1] != a


@each
@pytest.mark.parametrize("other", [None, 1.0, "x", [1.0, 1.0, 1.0]])
def test_nothing_else_is_equal(kind, other):
    n, make = KINDS[kind]
    a = make([1.0] * n)
    assert (a == other) is False and (other == a) is False
    assert (a != other) is True and (other != a) is True


def test_exact_zeros_are_equal_to_plain_ones():
    assert Motion.zero() == Motion.of([0.0] * 6) == Motion(Vector3(0.0, 0, -0.0), Vector3(0, 0, 0))
    assert hash(Motion.zero()) == hash(Motion(Vector3(0.0, 0, -0.0), Vector3(0, 0, 0)))
    assert Vector3(ZERO, sympy.Integer(0), gmpy2.mpfr(0)) == (0, 0, 0)


def test_a_number_that_is_not_a_number_is_equal_to_itself_alone():
    nan = float("nan")
    assert Vector3(nan, 0, 0) == Vector3(nan, 0, 0)  # the same object, as in every container
    assert Vector3(nan, 0, 0) != Vector3(float("nan"), 0, 0)
    assert Vector3(np.array([nan]), 0, 0) != Vector3(np.array([nan]), 0, 0)


def test_an_inertia_that_remembers_its_second_moments_is_equal_to_one_that_does_not():
    second = Symmetric3(*[0.1] * 3, ZERO, ZERO, ZERO)
    one = Inertia.from_second_moments(2.0, Vector3(0.1, ZERO, ZERO), second)
    other = Inertia(*one)
    assert type(other) is not type(one)
    assert (other == one) is True and (one == other) is True
    assert (other != one) is False and (one != other) is False


def test_graph_nodes_refuse_to_be_compared():
    with pytest.raises(TypeError, match="has no value to compare"):
        trace(lambda x: [1.0 if Vector3(*x) == Vector3(*reversed(x)) else 0.0], [3])
