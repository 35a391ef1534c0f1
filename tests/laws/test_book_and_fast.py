"""The pages that run are the pages of the book: for every joint and every kind of number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
import sympy

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.model import standard_joints
from sixfold.scalar import differentiate, plain
from tests.dynamics.support import EPS, array
from tests.laws.book_pages import JOINTS, MODELS, PAGES, alone, numbers_of, tables_of

BITS = 256
each_page = pytest.mark.parametrize("page", PAGES)
each_model = pytest.mark.parametrize("name", MODELS)


def test_no_joint_type_is_left_out():
    kinds = {
        kind
        for kind in vars(standard_joints).values()
        if isinstance(kind, type) and issubclass(kind, sf.Joint) and "nq" in vars(kind)
    }
    kinds -= {standard_joints.Fixed}  # merged by the builder
    assert kinds <= {type(joint) for joint in JOINTS.values()}


def condition(model: sf.Model, q: Any) -> float:
    """Return how much M^-1 magnifies rounding."""
    return float(np.linalg.cond(array(dense(model.tree, crba(model.tree, q)))))


@each_page
@each_model
def test_on_floats(page, name):
    model = MODELS[name]
    book, fast = PAGES[page]
    for seed in range(3):
        given = tables_of(model, model.tree, *numbers_of(model, seed))
        expected = array(book(model.tree, *given))
        found = array(fast(model.tree, *given))
        bar = 32 * EPS * condition(model, given[0]) * max(1.0, np.abs(expected).max())
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(found, expected, rtol=0, atol=bar)


@each_page
@each_model
def test_on_dual_numbers(page, name):
    model = MODELS[name]
    tree = model.tree
    q, *given = tables_of(model, tree, *numbers_of(model))
    along = model.velocities(numbers_of(model, 1)[1])
    bodies = [(i, len(q[i])) for i in tree.bodies]
    at = [x for i, _ in bodies for x in q[i]]
    direction = [x for i, _ in bodies for x in tree.joint[i].rate(q[i], along[i])]

    def values(page: Any) -> Any:
        def of(flat: Any) -> Any:
            rest = iter(flat)
            moved = {i: tuple(next(rest) for _ in range(n)) for i, n in bodies}
            return page(tree, moved, *given)

        return differentiate(of, at, direction)[1]

    expected, found = (array(list(values(form))) for form in PAGES[page])
    assert np.abs(expected).max() > 0
    bar = 64 * EPS * condition(model, q) ** 2 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=bar)


@each_page
@each_model
def test_on_256_bits(page, name):
    model = MODELS[name]
    book, fast = PAGES[page]
    with gmpy2.context(precision=BITS):
        tree = model.tree.map(gmpy2.mpfr)
        wide = ([gmpy2.mpfr(x) for x in values] for values in numbers_of(model))
        given = tables_of(model, tree, *wide)
        expected, found = (
            [gmpy2.mpfr(plain(x)) for x in form(tree, *given)] for form in (book, fast)
        )
        size = max(abs(x) for x in expected)
        off = max(abs(x - y) for x, y in zip(found, expected, strict=True))
        assert size > 0.1 and off <= size * gmpy2.mpfr(2) ** (24 - BITS)


SYMBOLIC = {
    **{name: ("inverse dynamics", "forward dynamics") for name in JOINTS},
    "revolute": tuple(PAGES),
    "universal": tuple(PAGES),
    "spherical": tuple(PAGES),
}
"""Each joint alone on the base: expressions of whole trees take SymPy minutes."""


@pytest.mark.parametrize(
    ("name", "page"), [(name, page) for name, pages in SYMBOLIC.items() for page in pages]
)
def test_on_symbols(name, page):
    model = alone(JOINTS[name])

    def symbols(letter: str, n: int) -> Any:
        return sympy.symbols([f"{letter}{k}" for k in range(n)])

    q, v, x, f = (
        symbols(letter, n)
        for letter, n in zip("qvxf", (model.nq, model.nv, model.nv, 6), strict=True)
    )
    tree = model.tree.map(lambda number: sympy.Rational(number))
    given = (model.positions(q), model.velocities(v), model.velocities(x), model.wrenches(f))
    book, fast = ([sympy.sympify(plain(e)) for e in form(tree, *given)] for form in PAGES[page])
    values = {s: Fraction(3 * k % 17 - 8 or 5, k % 5 + 2) for k, s in enumerate((*q, *v, *x, *f))}
    if model.nq != model.nv:  # a unit quaternion, exactly
        values.update(zip(q[-4:], (Fraction(k, 5) for k in (1, 2, 2, 4)), strict=True))
    expected, found = ([evaluate(e, values) for e in form] for form in (book, fast))
    # nearly exact: only numbers like 0.5 of the code are floats, and SymPy rounds their products
    bar = Fraction(1, 10**13) * max(1, *map(abs, expected))
    assert page not in ("inverse dynamics", "forward dynamics") or x[0] in book[0].free_symbols
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= bar


def evaluate(e: Any, known: dict[Any, Fraction]) -> Fraction:
    """Return an expression's value in fractions; of sine and cosine at the tangent of half q."""
    if e in known:
        return known[e]
    if e.is_Float:
        result = Fraction(float(e))
    elif e.is_Rational:
        result = Fraction(int(e.p), int(e.q))
    elif e.func in (sympy.sin, sympy.cos):
        t = evaluate(e.args[0], known)
        result = (2 * t if e.func is sympy.sin else 1 - t * t) / (1 + t * t)
    else:
        parts = [evaluate(part, known) for part in e.args]
        result = parts[0]
        for part in parts[1:]:
            result = {
                sympy.Add: result.__add__,
                sympy.Mul: result.__mul__,
                sympy.Pow: result.__pow__,
            }[e.func](part)
    known[e] = result
    return result
