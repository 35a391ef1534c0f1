"""What `rollout_gradient` refuses, and what it says."""

import math
import threading

import numpy as np
import pytest

import sixfold as sf
from tests.simulation.support import heavy_top

SEEN = []


def squares(t, q, v, tau):
    return q @ q


def remembers(t, q, v, tau):
    SEEN.append(1)
    return q @ q


def branches(t, q, v, tau):
    return q[0] if q[0] > 0 else 0.0


def converts(t, q, v, tau):
    return math.sin(q[0])


def gradient(model=None, q0=(0.1, 0.2), v0=(0.3, 0.4), tau=None, **options):
    model = sf.load("double_pendulum") if model is None else model
    given = {"dt": 0.01, "steps": 3, "cost": squares} | options
    return sf.rollout_gradient(model, q0, v0, tau, **given)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"cost": None}, sf.errors.ArgumentError, "pass cost=..., final_cost=..., or both"),
        ({"cost": 3}, sf.errors.ArgumentError, r"'cost'(.|\n)*function of \(t, q, v, tau\)"),
        ({"final_cost": 3}, sf.errors.ArgumentError, r"'final_cost'(.|\n)*function of \(q, v\)"),
        ({"cost": lambda q, v: 0.0}, sf.errors.CallbackError, r"'cost'(.|\n)*\(t, q, v, tau\)"),
        ({"final_cost": squares}, sf.errors.CallbackError, r"'final_cost'(.|\n)*\(q, v\)"),
        (
            {"cost_parameters": [1.0]},
            sf.errors.CallbackError,
            r"'cost'(.|\n)*\(t, q, v, tau, cost_parameters\)(.|\n)*write def squares",
        ),
        (
            {"cost": lambda t, q, v, tau: q},
            sf.errors.ShapeError,
            r"one number(.|\n)*\(2,\)(.|\n)*sum",
        ),
        ({"cost": lambda t, q, v, tau: [q[0]]}, sf.errors.ShapeError, r"one number(.|\n)*\(1,\)"),
        ({"final_cost": lambda q, v: (q, v)}, sf.errors.ShapeError, r"one number(.|\n)*\(2, 2\)"),
        ({"cost": lambda t, q, v, tau: None}, sf.errors.CallbackError, "one number"),
        ({"cost": lambda t, q, v, tau: "2"}, sf.errors.CallbackError, r"cost\(t, q, v, tau\)"),
        ({"cost": branches}, sf.errors.CallbackError, r"cannot be compiled(.|\n)*if_positive"),
        ({"cost": converts}, sf.errors.CallbackError, "cannot be compiled"),
        ({"cost": remembers}, sf.errors.CallbackError, r"remembers something(.|\n)*keep no state"),
        (
            {"final_cost": lambda q, v: q @ v[:1]},
            sf.errors.CallbackError,
            "final_cost.*cannot be compiled",
        ),
        (
            {"control": lambda t, q, v: np.array([1.0 if q[0] > 0 else 0.0, 0])},
            sf.errors.CallbackError,
            r"control\(t, q, v\) cannot be compiled",
        ),
        ({"control": lambda t, q, v: q[:1]}, sf.errors.ShapeError, r"rollout_gradient: .*control"),
        ({"f_ext": lambda t, q, v: q}, sf.errors.ShapeError, "f_ext"),
        ({"q0": (0.1,)}, sf.errors.ShapeError, "rollout_gradient: argument 'q0'"),
        ({"q0": (0.1, math.nan)}, sf.errors.StateError, "finite numbers"),
        ({"tau": np.zeros((4, 2))}, sf.errors.ShapeError, "'tau'"),
        ({"tau": np.full((3, 2), np.inf)}, sf.errors.StateError, "'tau' at"),
        ({"tau": "up"}, sf.errors.NumberError, "'tau'"),
        ({"cost_parameters": []}, sf.errors.NumberError, "'cost_parameters'"),
        ({"inertias": np.zeros((1, 10))}, sf.errors.ShapeError, "'inertias'"),
        ({"inertias": np.full((2, 10), -1.0)}, sf.errors.NumberError, "masses >= 0"),
        ({"parameters": [1.0]}, sf.errors.NotApplicableError, "without a controller"),
        ({"integrator": "solve_ivp"}, sf.errors.NotApplicableError, "integrator 'solve_ivp'"),
        ({"integrator": "euler"}, sf.errors.OptionError, "semi_implicit_euler"),
        ({"limits": True}, sf.errors.NotApplicableError, "option 'limits'"),
        ({"compiled": False}, sf.errors.OptionError, "compiled"),
        ({"inertial": "yes"}, sf.errors.OptionError, "inertial"),
        ({"checkpoint": 0}, sf.errors.OptionError, "checkpoint"),
        ({"steps": 0}, sf.errors.OptionError, "steps"),
        ({"dt": -1.0}, sf.errors.OptionError, "rollout_gradient: option 'dt'"),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, words):
    with pytest.raises(error, match=words):
        gradient(**options)
    assert not SEEN


def test_a_function_that_only_looks_as_if_it_remembered_is_taken_when_asked():
    lock = threading.Lock()

    class Noted:
        def __init__(self):
            self.weight = 2.0

        def __getattr__(self, name):
            raise AttributeError(name)

        def __call__(self, t, q, v, tau):
            with lock:
                return self.weight * (q @ q)

    with pytest.raises(sf.errors.CallbackError, match=r"lock, a _thread.lock, which may change"):
        gradient(cost=Noted())
    found = gradient(cost=Noted(), compiled=True)
    assert found.cost == pytest.approx(2 * gradient().cost)


def test_quaternions_have_unit_length():
    with pytest.raises(sf.errors.StateError, match="rollout_gradient: argument 'q0'"):
        gradient(heavy_top(), [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0])


def test_a_model_that_cannot_move_has_no_gradient():
    builder = sf.ModelBuilder("rock")
    builder.add_body("a", joint=sf.Fixed(), inertia=sf.Inertia.from_mass(1.0, (0, 0, 0), (1, 1, 1)))
    with pytest.raises(sf.errors.NotApplicableError, match="'rock'"):
        gradient(builder.build(), [], [])


def test_a_massless_tip_is_refused():
    builder = sf.ModelBuilder("ghost")
    builder.add_body("a", joint=sf.Revolute("y"), inertia=sf.Inertia.zero())
    with pytest.raises(sf.errors.SingularModelError):
        gradient(builder.build(), [0.0], [0.0])


def test_a_motion_that_runs_away_warns():
    with pytest.warns(sf.errors.NonFiniteStateWarning, match=r"1 of 2 .* first row \(1,\)"):
        found = gradient(v0=[[0.0, 0.0], [1e200, 1e200]], steps=50)
    assert np.isfinite(found.tau if found.tau is not None else found.q0[0]).all()
    assert np.isfinite(found.cost[0]) and not np.isfinite(found.q0[1]).all()


def test_a_cost_without_a_derivative_warns():
    with pytest.warns(sf.errors.NonFiniteStateWarning, match="no derivative there"):
        found = gradient(
            q0=[0, 0], v0=[0, 0], steps=1, cost=lambda t, q, v, tau: sf.math.sqrt(q @ q)
        )
    assert found.cost == 0.0 and not np.isfinite(found.q0).all()


def test_a_cost_may_be_a_constant():
    found = gradient(cost=lambda t, q, v, tau: 2.0, steps=50)
    assert found.cost == pytest.approx(1.0)
    assert not found.q0.any() and not found.v0.any()
