"""`simulate` and `rollout` take the same steps, bit for bit, and refuse the same input alike."""

import math
import re
import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation.integrators import INTEGRATORS
from tests.cases import some

DT, STEPS = 5e-4, 9


def arm():
    """Return a floating hull with a ball joint, a limited hinge and a limited slide."""
    builder = sf.ModelBuilder("arm")
    inertia = sf.Inertia.from_mass(1.5, (0.1, 0.05, 0.2), (0.02, 0.03, 0.04))
    builder.add_body("hull", joint=sf.Free(), joint_name="root", inertia=inertia)
    builder.add_body(
        "ball", parent="hull", joint=sf.Spherical(), joint_name="ball", inertia=inertia
    )
    limits = {"lower": -0.2, "upper": 0.2}
    hinge = {"joint": sf.Revolute("y"), "joint_name": "hinge", **limits}
    builder.add_body("link", parent="ball", placement=(0, 0, 0.3), inertia=inertia, **hinge)
    slide = {"joint": sf.Prismatic("x"), "joint_name": "slide", **limits}
    builder.add_body("box", parent="link", placement=(0.1, 0, 0), inertia=inertia, **slide)
    return builder.build()


MODELS = {"arm": arm(), "double_pendulum": sf.load("double_pendulum")}


def damp(t, q, v):
    return -0.3 * v + 0.1 * sf.math.sin(t)


def gains(t, q, v, p):
    return -p[0] * v + p[1]


def integral(t, q, v, x):
    return -0.2 * v - 0.1 * x[0], np.array([v[-1] - 0.5 * x[0]])


def wind(t, q, v):
    rows = np.zeros((MODELS["arm"].nb, 6), object)
    rows[-1, 3] = 0.4 - 0.1 * v[-1]
    rows[0, 5] = sf.math.cos(3.0 * t)
    return rows


def start(model, rows=3):
    q, v = sf.random_state(model, rows, seed=4)
    slow = 0.5 * v
    if model.name == "arm":
        q[:, -2:] = [[0.25, 0.1], [-0.3, 0.21], [0.0, 0.0]][:rows]
    return q, slow


CONSTANT = np.random.default_rng(0).standard_normal((3, 4, 6))
CASES = {
    "alone": {},
    "control": {"control": damp},
    "held": {"control": damp, "hold": True},
    "parameters": {"control": gains, "parameters": [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]},
    "states": {"control": integral, "x0": [[0.1], [0.2], [0.3]]},
    "held states": {"control": integral, "x0": [0.4], "hold": True},
    "stops": {"limits": True},
    "soft stops": {"limits": sf.JointStops(0.05, 0.3), "control": damp},
    "forces": {"f_ext": CONSTANT},
    "forces in the body": {"f_ext": CONSTANT[0], "f_ext_frame": "body"},
    "wind": {"f_ext": wind},
    "all": {"control": integral, "x0": [0.4], "limits": True, "f_ext": wind},
    "method": {"method": "crba"},
}


def both(model, q, v, integrator, compensated, **options):
    """Return the states of simulate and of rollout on the same grid."""
    run = sf.simulate(
        model, q, v, DT * STEPS, dt=DT, integrator=integrator, compensated=compensated, **options
    )
    found = sf.rollout(
        model, q, v, dt=DT, steps=STEPS, integrator=integrator, compensated=compensated, **options
    )
    sampled = [run.q, run.v, *([] if run.x is None else [run.x])]
    return [x[..., 1:, :] for x in sampled], found


@pytest.mark.parametrize("compensated", [True, False])
@pytest.mark.parametrize("integrator", some(INTEGRATORS, 2))
@pytest.mark.parametrize("case", ["alone", "all"])
def test_every_integrator_takes_the_same_steps(case, integrator, compensated):
    q, v = start(MODELS["arm"])
    simulated, rolled = both(MODELS["arm"], q, v, integrator, compensated, **CASES[case])
    for x, y in zip(simulated, rolled, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("case", CASES)
def test_every_option_takes_the_same_steps(case):
    model = MODELS["arm"]
    q, v = start(model)
    simulated, rolled = both(model, q, v, "semi_implicit_euler", False, **CASES[case])
    assert len(rolled) == (3 if "x0" in CASES[case] else 2)
    for x, y in zip(simulated, rolled, strict=True):
        np.testing.assert_array_equal(x, y)
    # each row is a trajectory of its own
    if case in ("alone", "control", "stops", "wind"):
        one = sf.rollout(model, q[1], v[1], dt=DT, steps=STEPS, **CASES[case])
        for x, y in zip(one, rolled, strict=True):
            np.testing.assert_array_equal(x, y[1])


PYTHON = [
    *(
        (case, {"backend": "numpy"})
        for case in ("alone", "control", "held states", "stops", "wind")
    ),
    *((case, {"compiled": False}) for case in ("control", "held states", "wind")),
]


@pytest.mark.parametrize(("case", "how"), PYTHON)
def test_python_takes_the_same_steps(case, how):
    model = MODELS["arm"]
    q, v = start(model)
    simulated, rolled = both(model, q, v, "rk4", True, **how, **CASES[case])
    for x, y in zip(simulated, rolled, strict=True):
        np.testing.assert_array_equal(x, y)
    fast = sf.rollout(
        model, q, v, dt=DT, steps=STEPS, integrator="rk4", compensated=True, **CASES[case]
    )
    for x, y in zip(fast, rolled, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11)


def test_compensated_steps_lose_less():
    model = MODELS["double_pendulum"]
    options = {"dt": 1e-4, "steps": 20_000, "every": 20_000, "integrator": "rk4"}
    exact = sf.simulate(
        model, [1.0, 0.5], None, 2.0, dt=1e-4, integrator="solve_ivp", tolerances=(1e-13, 1e-11)
    )
    plain, kahan = (
        sf.rollout(model, [1.0, 0.5], None, **options, compensated=choice)[0][-1]
        for choice in (False, True)
    )
    assert not np.array_equal(plain, kahan)
    assert np.abs(kahan - exact.q[-1]).max() <= np.abs(plain - exact.q[-1]).max() + 1e-12


def test_stops_of_other_inertias_are_felt_with_them():
    model = sf.lock_joints(MODELS["arm"], ["root", "ball"])
    own = np.array([body.inertia.array() for body in model.bodies])
    q0, v0 = np.array([0.3, 0.25]), np.zeros(2)
    options = {"dt": DT, "steps": STEPS, "limits": True}
    plain = sf.rollout(model, q0, v0, **options)
    same = sf.rollout(model, q0, v0, inertias=own, **options)
    np.testing.assert_allclose(same, plain, rtol=1e-11, atol=1e-12)
    double = sf.replace_inertias(model, {b.name: b.inertia * 2.0 for b in model.bodies})
    want = sf.rollout(double, q0, v0, **options)
    found = sf.rollout(model, q0, v0, inertias=np.stack([own, 2 * own]), **options)
    np.testing.assert_allclose([x[1] for x in found], want, rtol=1e-11, atol=1e-12)
    slow = sf.rollout(model, q0, v0, inertias=2 * own, **options, backend="numpy")
    np.testing.assert_allclose(slow, want, rtol=1e-10, atol=1e-11)


def test_joint_forces_push_in_numpy_too():
    model = MODELS["double_pendulum"]
    tau = np.random.default_rng(1).standard_normal((3, STEPS, 2))
    q, v = start(model)
    for forces in (tau, tau[:, :1], tau[0, 0]):
        options = {"dt": DT, "steps": STEPS, "control": damp}
        fast = sf.rollout(model, q, v, forces, **options)
        slow = sf.rollout(model, q, v, forces, **options, backend="numpy")
        np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-13)


UNTURNED = sf.neutral(MODELS["arm"])
LONG, ZERO_TURN, FAR = (UNTURNED.copy() for _ in range(3))
LONG[3:7] = [0.0, 0.0, 0.1, 1.1]
ZERO_TURN[3:7] = 0.0
FAR[0] = math.inf
BAD = {
    "model": ({"model": "arm"}, sf.errors.SixfoldError),
    "long quaternion": ({"q0": LONG}, sf.errors.StateError),
    "zero quaternion": ({"q0": ZERO_TURN}, sf.errors.StateError),
    "infinite position": ({"q0": FAR}, sf.errors.StateError),
    "velocity": ({"v0": np.full(11, math.nan)}, sf.errors.StateError),
    "short": ({"q0": [0.0]}, sf.errors.ShapeError),
    "complex": ({"v0": 1j * np.zeros(11)}, sf.errors.NumberError),
    "words": ({"q0": "abc"}, sf.errors.SixfoldError),
    "batches": ({"q0": np.stack([UNTURNED] * 3), "v0": np.zeros((2, 11))}, sf.errors.ShapeError),
    "dt": ({"dt": -1.0}, sf.errors.OptionError),
    "dt, words": ({"dt": "fast"}, sf.errors.OptionError),
    "every": ({"every": 0}, sf.errors.OptionError),
    "every, fraction": ({"every": 1.5}, sf.errors.OptionError),
    "integrator": ({"integrator": "euler"}, sf.errors.OptionError),
    "method": ({"method": "newton"}, sf.errors.OptionError),
    "backend": ({"backend": "gpu"}, sf.errors.OptionError),
    "hold": ({"hold": "yes"}, sf.errors.OptionError),
    "hold alone": ({"hold": True}, sf.errors.NotApplicableError),
    "compensated": ({"compensated": "yes"}, sf.errors.OptionError),
    "parameters": ({"parameters": [1.0]}, sf.errors.NotApplicableError),
    "empty parameters": ({"parameters": [], "control": gains}, sf.errors.NumberError),
    "control": ({"control": 3}, sf.errors.SixfoldError),
    "control of another shape": ({"control": lambda t, q, v: v[:2]}, sf.errors.ShapeError),
    "control of other arguments": ({"control": lambda t: t}, sf.errors.CallbackError),
    "f_ext shape": ({"f_ext": np.zeros((3, 6))}, sf.errors.ShapeError),
    "f_ext": ({"f_ext": np.full((4, 6), math.nan)}, sf.errors.StateError),
    "f_ext function": ({"f_ext": lambda t, q, v: np.zeros(3)}, sf.errors.ShapeError),
    "f_ext_frame": ({"f_ext_frame": "tool"}, sf.errors.OptionError),
    "f_ext_frame alone": ({"f_ext_frame": "body"}, sf.errors.NotApplicableError),
    "limits": ({"limits": 3}, sf.errors.OptionError),
}


@pytest.mark.parametrize("case", BAD)
def test_the_same_bad_input_gives_the_same_error(case):
    changes, kind = BAD[case]
    given = {"model": MODELS["arm"], "q0": UNTURNED, "v0": np.zeros(11), "dt": DT} | changes
    model, q0, v0 = (given.pop(name) for name in ("model", "q0", "v0"))
    with pytest.raises(kind) as simulated:
        sf.simulate(model, q0, v0, 0.01, **given)
    with pytest.raises(kind) as rolled:
        sf.rollout(model, q0, v0, steps=5, **given)
    assert type(simulated.value) is type(rolled.value)
    text = str(simulated.value).replace("simulate", "rollout")
    # SciPy's methods have no steps of a fixed length
    text = re.sub(r", '(solve_ivp|DOP853|RK45|RK23|Radau|BDF|LSODA)'", "", text)
    assert str(rolled.value) == text


def test_a_model_without_limits_has_nothing_to_stop_at():
    model = MODELS["double_pendulum"]
    for run in (
        lambda: sf.simulate(model, None, None, 0.01, limits=True),
        lambda: sf.rollout(model, None, None, dt=DT, steps=3, limits=True),
    ):
        with pytest.raises(
            sf.errors.NotApplicableError, match=r"option 'limits'.*no joint of which"
        ):
            run()


def test_what_a_rollout_cannot_do_is_said():
    model = MODELS["double_pendulum"]
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"'solve_ivp'.*rollout(.|\n)*sixfold.simulate"
    ):
        sf.rollout(model, None, None, dt=DT, steps=3, integrator="solve_ivp")
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"rollout: option 'events'(.|\n)*simulate"
    ):
        sf.rollout(model, None, None, dt=DT, steps=3, events=lambda t, q, v: q[0])
    with pytest.raises(sf.errors.NotApplicableError, match=r"option 'compensated'.*'solve_ivp'"):
        sf.simulate(model, None, None, 0.01, integrator="solve_ivp", compensated=False)


def test_a_quaternion_off_by_rounding_is_left_and_one_off_by_more_is_normalised():
    model = MODELS["arm"]
    q, v = start(model)
    near = q.copy()
    near[:, 3:7] *= 1 + 1e-7
    for run in (
        lambda q: sf.simulate(model, q, v, 2 * DT, dt=DT, integrator="rk4").q,
        lambda q: sf.rollout(model, q, v, dt=DT, steps=2, integrator="rk4")[0],
    ):
        kept = near.copy()
        np.testing.assert_allclose(run(near), run(q), rtol=0, atol=1e-14)
        np.testing.assert_array_equal(near, kept)


def test_a_callback_in_python_is_named_once():
    calls = []

    def law(t, q, v):
        calls.append(t)
        return -1.0 * v

    def push(t, q, v):
        calls.append(t)
        return np.zeros((2, 6))

    model = MODELS["double_pendulum"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sf.rollout(model, None, None, dt=DT, steps=3, control=law, f_ext=push)
    (one,) = [w for w in caught if w.category is sf.errors.PythonCallbackWarning]
    assert one.filename == __file__
    assert "control runs as Python" in str(one.message) and "f_ext runs" in str(one.message)
    assert calls
