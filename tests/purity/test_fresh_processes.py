"""Laws in processes where NumPy has not loaded its random numbers yet."""

import pytest

from tests.purity.support import run_fresh

HEAD = """
import sys
import numpy as np
import sixfold as sf

model = sf.load("double_pendulum")
start = np.tile([1.0, 0.5], (4, 1)), np.zeros((4, 2))
assert "numpy.random" not in sys.modules or not hasattr(np, "__getattr__")
"""

LAWS = {
    "attribute": """
def law(t, q, v):
    return -v + 0.5 * np.random.standard_normal(2)
""",
    "inner import": """
def law(t, q, v):
    from numpy.random import standard_normal
    return -v + 0.5 * standard_normal(2)
""",
    "renamed import": """
def law(t, q, v):
    import numpy.random as dice
    return -v + 0.5 * dice.standard_normal(2)
""",
    "new generator": """
def law(t, q, v):
    return -v + 0.5 * np.random.default_rng().standard_normal(2)
""",
}


@pytest.mark.parametrize("name", LAWS)
def test_random_numbers_differ_from_row_to_row_and_a_warning_says_so(name):
    text = run_fresh(
        HEAD
        + LAWS[name]
        + """
q, _ = sf.rollout(model, *start, dt=1e-3, steps=20, control=law)
print("rows", len(np.unique(q[:, -1, 0])))
"""
    )
    assert "rows 4" in text and "PythonCallbackWarning" in text


@pytest.mark.parametrize("name", LAWS)
def test_random_costs_are_refused(name):
    text = run_fresh(
        HEAD
        + LAWS[name]
        + """
try:
    sf.rollout_gradient(
        model, *start, dt=1e-3, steps=2, cost=lambda t, q, v, tau: law(t, q, v) @ q
    )
except sf.errors.CallbackError as error:
    print("refused:", error)
"""
    )
    assert "refused: rollout_gradient: cost(t, q, v, tau) cannot be compiled" in text


def test_random_numbers_in_a_compiled_function_are_refused():
    text = run_fresh(
        HEAD
        + """
try:
    sf.compile(lambda q: np.random.random() * q, model)
except sf.errors.CallbackError as error:
    print("refused:", error)
"""
    )
    assert "refused: compile: '<lambda>', called twice on symbols" in text
