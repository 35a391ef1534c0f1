"""Python frames of warm calls: arrays take one, lists, numbers and a named backend a few more."""

import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf

FOLDER = str(Path(sf.__file__).parent)
ARM = sf.load("puma560")
Q = np.full(6, 0.1)
LISTED = Q.tolist()
ROWS = np.full((5, 6), 0.1)


def frames(call):
    """Return how many frames of the library a warm call takes."""
    call()
    call()
    count = 0

    def profile(frame, event, _):
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(FOLDER)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "call",
    [
        lambda: sf.inverse_dynamics(ARM, Q, Q, Q),
        lambda: sf.forward_dynamics(ARM, Q, Q, tau=Q),
        lambda: sf.jacobian(ARM, Q, "dh6"),
        lambda: sf.derivatives.inverse_dynamics_derivatives(ARM, ROWS, ROWS, ROWS),
    ],
)
def test_a_warm_call_with_arrays_takes_one_frame(call):
    assert frames(call) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: sf.inverse_dynamics(ARM, LISTED, LISTED, LISTED),
        lambda: sf.inverse_dynamics(ARM, LISTED, Q, np.zeros(6, int)),
        lambda: sf.mass_matrix(ARM, [LISTED, LISTED]),
        lambda: sf.inverse_dynamics(ARM, ROWS, ROWS, Q),
        lambda: sf.integrate(ARM, Q, Q, 0.01),
        lambda: sf.integrate(ARM, ROWS, ROWS, 0.01),
        lambda: sf.inverse_dynamics(ARM, Q, Q, Q, backend="native"),
        lambda: sf.derivatives.inverse_dynamics_derivatives(ARM, LISTED, LISTED, LISTED),
    ],
)
def test_a_warm_call_with_lists_numbers_or_a_named_backend_takes_few_frames(call):
    assert frames(call) <= 16


@pytest.mark.parametrize(
    ("first", "dtype"),
    [
        (np.full(6, 0.1, np.float32), np.float32),
        (np.full(6, 0.1, ">f4"), np.float32),
        (np.full(6, 0.1, np.float16), np.float64),
        (LISTED, np.float64),
        (tuple(LISTED), np.float64),
        (np.zeros(6, int), np.float64),
    ],
)
def test_warm_calls_give_the_same_bits_and_types_as_first_ones(first, dtype):
    model = sf.load("puma560")  # with prepared calls of its own
    before = sf.integrate(model, first, np.asarray(first), 0.01)
    sf.integrate(model, Q, Q, 0.01)
    sf.integrate(model, Q.astype(np.float32), Q.astype(np.float32), 0.01)
    after = sf.integrate(model, first, np.asarray(first), 0.01)
    assert before.dtype == after.dtype == dtype
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    "wrong",
    [[0.1] * 5, [[0.1] * 6, [0.1] * 5], ["a"] * 6, [True] * 6, [None] * 6, [np.ma.masked] * 6],
)
def test_warm_calls_check_lists_as_first_ones_do(wrong):
    sf.inverse_dynamics(ARM, Q, Q, Q)
    with pytest.raises(sf.errors.SixfoldError, match="inverse_dynamics: argument 'v'"):
        sf.inverse_dynamics(ARM, Q, wrong, Q)


def test_tracebacks_show_the_file_and_the_name_of_the_public_function():
    with pytest.raises(sf.errors.ShapeError) as caught:
        sf.inverse_dynamics(ARM, [0.1] * 5, Q, Q)
    names = {(Path(at.filename).name, at.name) for at in traceback.extract_tb(caught.tb)}
    assert ("dynamics.py", "inverse_dynamics") in names
    assert not any(at.filename.startswith("<") for at in traceback.extract_tb(caught.tb))
