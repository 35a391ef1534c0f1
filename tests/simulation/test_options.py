"""Options that have no effect are errors that say why, and the way out."""

import click.testing
import numpy as np
import pytest

import sixfold as sf
from sixfold.cli import main

PENDULUM = sf.load("double_pendulum")


def law(t, q, v):
    return -q


def coupled():
    builder = sf.ModelBuilder("hand")
    inertia = sf.Inertia.from_mass(1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    builder.add_body("palm", joint=sf.Revolute("z"), inertia=inertia)
    builder.add_body("tip", parent="palm", joint=sf.Revolute("y"), inertia=inertia)
    builder.couple("tip_joint", ("palm_joint", 0.5))
    return builder.build()


def simulate(**options):
    return sf.simulate(PENDULUM, [1.0, 0.5], [0.0, 0.0], 0.002, **options)


def rollout(**options):
    return sf.rollout(PENDULUM, [1.0, 0.5], [0.0, 0.0], dt=1e-3, steps=2, **options)


BOTH = [
    ({"hold": True}, "hold", "without a controller"),
    ({"parameters": [1.0]}, "parameters", "without a controller"),
    ({"x0": [1.0]}, "x0", "without a controller"),
    ({"compiled": True}, "compiled", "without a controller"),
    ({"compiled": False}, "compiled", "without a controller"),
    ({"compiled": True, "control": law, "backend": "numpy"}, "compiled", "backend 'numpy'"),
]
ALONE = [
    ({"tolerances": (1e-6, 1e-8)}, "tolerances", "integrator 'rk4'"),
    ({"tolerances": (1e-6, 1e-8), "integrator": "midpoint"}, "tolerances", "integrator 'midpoint'"),
    ({"f_ext_frame": "body"}, "f_ext_frame", "without external forces"),
    ({"limits": True}, "limits", "no joint of which has a limit"),
    ({"hold": True, "control": law, "integrator": "solve_ivp"}, "hold", "integrator 'solve_ivp'"),
    ({"hold": True, "control": law, "integrator": "Radau"}, "hold", "integrator 'Radau'"),
    ({"compensated": False, "integrator": "BDF"}, "compensated", "integrator 'BDF'"),
]


@pytest.mark.parametrize(
    ("run", "options", "option", "why"),
    [(run, *case) for run in (simulate, rollout) for case in BOTH]
    + [(simulate, *case) for case in ALONE],
)
def test_an_idle_option_is_refused(run, options, option, why):
    with pytest.raises(sf.errors.NotApplicableError) as caught:
        run(**options)
    for word in (run.__name__, f"'{option}'", why, "fix: "):
        assert word in str(caught.value)


@pytest.mark.parametrize("run", [simulate, rollout])
@pytest.mark.parametrize(
    "options",
    [{"hold": 1.5}, {"compiled": "yes"}, {"method": "newton"}, {"backend": "jax"}, {"hold": None}],
)
def test_a_value_that_is_no_choice_is_refused(run, options):
    with pytest.raises(
        sf.errors.OptionError, match=f"{run.__name__}: option '{next(iter(options))}'"
    ):
        run(control=law, **options)


@pytest.mark.parametrize("run", [simulate, rollout])
def test_an_unknown_option_is_a_type_error(run):
    with pytest.raises(TypeError, match=f"{run.__name__}: unknown option 'tolerance'"):
        run(tolerance=1.0)
    with pytest.raises(sf.errors.ArgumentError, match=r"did you mean 'control'\?"):
        run(contrl=law)
    with pytest.raises(sf.errors.ArgumentError, match=r"fix: pass dt=\.\.\."):
        run(timestep=1e-3)
    with pytest.raises(
        sf.errors.ArgumentError, match=r"fix: pass tolerances=\(relative, absolute\)"
    ):
        run(rtol=1e-3)


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("method", ["aba", "crba", "operators", "operators_dense"])
def test_simulate_and_rollout_share_the_method_of_forward_dynamics(method, backend, monkeypatch):
    from sixfold.quantities import readings

    used = []
    page = readings.METHODS[method]
    monkeypatch.setitem(readings.METHODS, method, lambda *x: used.append(method) or page(*x))
    model = sf.load("planar_chain:2")
    start = ([0.3, 0.2], [0.1, -0.2])
    run = sf.simulate(model, *start, 0.003, method=method, backend=backend)
    assert used
    used.clear()
    q, _ = sf.rollout(
        model, *start, dt=1e-3, steps=3, method=method, backend=backend, integrator="rk4"
    )
    assert used
    monkeypatch.undo()
    np.testing.assert_allclose(run.q, sf.simulate(model, *start, 0.003).q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(q, run.q[1:], rtol=0, atol=1e-14)


def test_coupled_joints_leave_no_choice_of_method():
    hand = coupled()
    for run in (
        lambda: sf.simulate(hand, [0.1], None, 0.01, method="aba"),
        lambda: sf.rollout(hand, [0.1], [0.0], dt=1e-3, steps=2, method="aba"),
        lambda: sf.forward_dynamics(hand, [0.1], [0.0], [0.0], method="aba"),
    ):
        with pytest.raises(sf.errors.NotApplicableError, match=r"'method'.*reduced mass matrix"):
            run()


Q = np.zeros(2)
CALLS = {
    "inverse_dynamics": lambda: sf.inverse_dynamics(PENDULUM, Q, Q, Q, f_ext_frame="body"),
    "forward_dynamics": lambda: sf.forward_dynamics(PENDULUM, Q, Q, Q, f_ext_frame="body"),
    "bias_force": lambda: sf.bias_force(PENDULUM, Q, Q, f_ext_frame="body"),
    "joint_wrenches": lambda: sf.joint_wrenches(PENDULUM, Q, Q, Q, f_ext_frame="body"),
    "joint_reaction_forces": lambda: sf.joint_reaction_forces(
        PENDULUM, Q, Q, Q, f_ext_frame="body"
    ),
    "compile": lambda: sf.compile(lambda x: 2.0 * x, PENDULUM, inputs={"x": 3}),
    "export": lambda: sf.export(PENDULUM, language="julia", dtype="float"),
    "code": lambda: sf.equations(PENDULUM).code("python", "M", dtype="float"),
    "load, mimic": lambda: sf.load("puma560", mimic="free"),
    "load, package_dirs": lambda: sf.load("puma560", package_dirs=["."]),
    "load, floating_base": lambda: sf.load("puma560", floating_base=True),
    "compare_with": lambda: sf.interop.compare_with("pinocchio", PENDULUM, floating_base=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_idle_options_of_other_functions_are_refused(name):
    with pytest.raises(sf.errors.NotApplicableError, match="fix: "):
        CALLS[name]()


def test_times_without_a_motion_are_refused():
    pytest.importorskip("viser")
    with pytest.raises(sf.errors.NotApplicableError, match="'t'"):
        sf.view(PENDULUM, q=Q, t=[0.0], block=False)


def test_a_place_without_a_force_is_refused():
    chain = sf.planar.PlanarChain(m=(1.0,), I=(0.1,), l=(1.0,))
    with pytest.raises(sf.errors.ModelError, match="f_E"):
        sf.planar.skeleton_id(chain, [0.1], [0.2], [0.3], point=(0.1, 0.2))


@pytest.mark.parametrize(
    "words",
    [
        "simulate pendulum --start neutral --seed 3 --duration 0.01",
        "simulate pendulum --limits --duration 0.01",
        "export pendulum --language python --dtype float",
        "check pendulum --json --all",
        "view pendulum --robot puma560",
        "compare pendulum --floating-base",
    ],
)
def test_idle_options_on_the_command_line_are_refused(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = click.testing.CliRunner().invoke(main, words.split())
    assert result.exit_code == 2
    assert "does not apply to" in result.output and "fix: " in result.output
    assert not list(tmp_path.iterdir())
