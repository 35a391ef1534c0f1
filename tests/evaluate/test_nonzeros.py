"""`sparse=True`: the numbers that are not zero for every state, and where they stand."""

import numpy as np
import pytest

import sixfold as sf
from tests.cases import some
from tests.public_names import find

FUNCTIONS = {
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
    "inverse_dynamics_second_derivatives": 4,
    "forward_dynamics_second_derivatives": 4,
}


def given(model, name, rows=5):
    q, v = sf.random_state(model, rows, seed=1)
    arrays = [q, v, v[::-1].copy()]
    return [*arrays, np.cos(v)] if "second" in name else arrays


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("robot", some(["tree6", "floating_link", "star:4", "pendulum"], 2))
def test_the_values_are_those_of_the_matrices_and_the_rest_is_zero(robot, name, backend):
    model, function = sf.load(robot), find(name)
    arrays = given(model, name)
    dense = function(model, *arrays)
    few = function(model, *arrays, sparse=True, backend=backend)
    assert len(few) == FUNCTIONS[name]
    for full, (values, rows, columns) in zip(dense, few, strict=True):
        made = np.zeros_like(full)
        made[:, rows, columns] = values
        scale = 1e-12 * max(1.0, np.abs(full).max())
        np.testing.assert_allclose(made, full, rtol=0, atol=0 if backend is None else scale)
    if robot == "star:4" and "forward" not in name:  # three arms on one body do not meet
        assert len(few[0].rows) == 10


def test_forces_fill_what_they_fill():
    model = sf.load("tree6")
    q, v, a = given(model, "")
    f_ext = np.ones((5, model.nb, 6))
    dense = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, f_ext)
    few = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, f_ext, sparse=True)
    for full, (values, rows, columns) in zip(dense, few, strict=True):
        made = np.zeros_like(full)
        made[:, rows, columns] = values
        np.testing.assert_array_equal(made, full)


def test_results_may_be_given_and_other_options_are_refused():
    model = sf.load("tree6")
    q, v, a = given(model, "")
    few = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, sparse=True)
    out = tuple(np.empty_like(x.values) for x in few)
    again = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, sparse=True, out=out)
    assert all(x.values is y for x, y in zip(again, out, strict=True))
    for bad in (1, None, "yes"):
        with pytest.raises(sf.errors.OptionError, match="option 'sparse'"):
            sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, sparse=bad)
    with pytest.raises(sf.errors.ShapeError, match="argument 'q'"):
        sf.derivatives.inverse_dynamics_derivatives(model, q[:, :2], v, a, sparse=True)
    with pytest.raises(sf.errors.ArgumentError, match="first argument"):
        sf.derivatives.inverse_dynamics_derivatives("arm", q, v, a, sparse=True)
