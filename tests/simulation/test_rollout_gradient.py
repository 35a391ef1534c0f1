"""Gradients of rollouts are those of finite differences, and of the chain of single steps."""

from types import SimpleNamespace

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm import build_scan
from sixfold.runtime import KERNELS
from sixfold.simulation.integrators import INTEGRATORS
from tests.cases import some
from tests.simulation.gradients import MODELS, Case, chained, differences, model_of

SOME = [(name, "semi_implicit_euler") for name in MODELS]
SOME += [("rubbing", "rk4"), ("floating", "rk4"), ("spherical", "lie_rk4"), ("others", "lie_rk4")]
SOME += [
    ("every", "rk4"),
    ("rubbing", "midpoint"),
    ("coupled", "midpoint"),
    ("spherical", "midpoint"),
]


def close(found, wanted, tolerance):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * np.abs(wanted).max())


def parts(found):
    return list(vars(found).values())


def same_bits(found, other):
    for a, b in zip(parts(found), parts(other), strict=True):
        assert a is b is None or np.array_equal(a, b)


@pytest.mark.parametrize(("name", "integrator"), some(SOME, 6))
def test_derivatives_by_state_and_forces_are_those_of_differences(name, integrator):
    case = Case(model_of(name), integrator)
    model, (q0, v0, tau) = case.model, case.start()
    found = case.gradient(q0, v0, tau)
    assert found.cost == pytest.approx(case.cost(q0[None], v0, tau)[0], rel=1e-13)
    by_q = differences(
        lambda q: case.cost(q, v0, tau), lambda s: sf.integrate(model, q0, s), model.nv
    )
    close(found.q0, by_q, 1e-7)
    by_v = differences(lambda v: case.cost(q0, v, tau), lambda s: v0 + s, model.nv)
    close(found.v0, by_v, 1e-7)
    part = (slice(None), slice(0, None, 5))  # first, sixth and eleventh step

    def pushed(s):
        wide = np.repeat(tau[None], len(s), 0)
        wide[part] += s.reshape((len(s), -1, model.nv))
        return wide

    by_tau = differences(lambda x: case.cost(q0, v0, x), pushed, 3 * model.nv)
    close(found.tau[::5], by_tau.reshape(-1, model.nv), 1e-7)
    assert found.x0 is found.parameters is found.inertias is None


@pytest.mark.parametrize(("name", "integrator"), some(SOME, 6))
def test_the_sweep_is_the_chain_of_single_steps(name, integrator):
    case = Case(model_of(name), integrator, steps=20)
    q0, v0, tau = case.start(seed=3)
    found = case.gradient(q0, v0, tau)
    for got, wanted in zip(parts(found)[:4], chained(case, q0, v0, tau), strict=True):
        close(got, wanted, 1e-10)


def test_a_step_is_linearised_by_the_derivatives_of_forward_dynamics():
    case = Case(model_of("panda"), steps=1)
    model, h, (q0, v0, tau) = case.model, case.dt, case.start()
    weights = np.random.default_rng(1).standard_normal((2, model.nv))
    found = case.gradient(
        q0, v0, tau, cost=None, final_cost=lambda q, v: weights[0] @ q + weights[1] @ v
    )
    dq, dv, dtau = sf.derivatives.forward_dynamics_derivatives(model, q0, v0, tau[0])
    both = weights[1] + h * weights[0]  # q gains h v after the step
    close(found.q0, weights[0] + h * both @ dq, 1e-12)
    close(found.v0, both + h * both @ dv, 1e-12)
    close(found.tau[0], h * both @ dtau, 1e-12)


def spring(t, q, v, p):
    return p[0] * sf.math.sin(t) - p[1] * v + p[2] * v * v


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_derivatives_by_parameters_of_a_controller(integrator, hold):
    p = np.array([0.7, 2.0, -0.3])
    case = Case(model_of("rubbing"), integrator, control=spring, parameters=p, hold=hold)
    q0, v0, tau = case.start()
    found = case.gradient(q0, v0, tau)
    assert found.cost == pytest.approx(case.cost(q0[None], v0, tau)[0], rel=1e-13)

    def cost(x):
        return case.cost(q0, v0, tau, parameters=x)

    close(found.parameters, differences(cost, lambda s: p + s, 3), 1e-8)
    without = case.gradient(q0, v0, None)
    assert without.tau is None and without.parameters.shape == (3,)


def integral(t, q, v, x):
    return -3.0 * q - 2.0 * x * v, q - 0.1 * x


@pytest.mark.parametrize("hold", [False, True])
def test_derivatives_by_the_states_of_a_controller(hold):
    x0 = np.array([0.3, -0.2])
    case = Case(model_of("rubbing"), "rk4", control=integral, x0=x0, hold=hold)
    q0, v0, tau = case.start()
    found = case.gradient(q0, v0, tau)
    assert found.cost == pytest.approx(case.cost(q0[None], v0, tau)[0], rel=1e-13)

    def cost(x):
        return case.cost(q0, v0, tau, x0=x)

    close(found.x0, differences(cost, lambda s: x0 + s, 2), 1e-8)
    pid = sf.control.pid(case.model, target=[0.3, 0.2], kp=60.0, ki=80.0, kd=15.0)
    other = Case(case.model, control=pid).gradient(q0, v0, tau)
    assert other.x0.shape == (2,) and np.abs(other.x0).min() > 0


@pytest.mark.parametrize("name", ["panda", "rubbing", "floating", "coupled"])
def test_derivatives_by_inertial_parameters(name):
    case = Case(model_of(name), steps=8)
    model, (q0, v0, tau) = case.model, case.start()
    own = np.array([body.inertia.array() for body in model.bodies])
    found = case.gradient(q0, v0, tau, inertial=True)
    assert found.inertias.shape == (model.nb, 10)
    size = min(3, model.nb) * 10

    def moved(s):
        wide = np.repeat(own[None], len(s), 0)
        wide[:, -(size // 10) :] += 0.02 * s.reshape((len(s), -1, 10))
        return wide

    by = differences(lambda x: case.cost(q0, v0, tau, inertias=x), moved, size) / 0.02
    close(found.inertias[-(size // 10) :], by.reshape(-1, 10), 1e-6)
    heavier = case.gradient(q0, v0, tau, inertial=True, inertias=1.1 * own)
    assert heavier.cost != found.cost
    close(case.gradient(q0, v0, tau, inertias=own).q0, found.q0, 1e-13)


def test_forces_that_stay_the_same():
    case = Case(model_of("rubbing"))
    q0, v0, tau = case.start((5,))
    each = np.repeat(tau[:, :1], case.steps, 1)
    found, one = case.gradient(q0, v0, each), case.gradient(q0, v0, tau[:, :1])
    assert one.tau.shape == (5, 1, 2)
    close(one.tau[:, 0], found.tau.sum(axis=1), 1e-13)
    shared = case.gradient(q0, v0, tau[0, 0])
    assert shared.tau.shape == (5, 2)
    np.testing.assert_array_equal(shared.tau[0], one.tau[0, 0])


def test_external_forces_act():
    case = Case(model_of("rubbing"), "rk4")
    q0, v0, tau = case.start()
    wrench = np.random.default_rng(0).standard_normal((2, 6))
    for f_ext in (wrench, lambda t, q, v: wrench * (1.0 + 0.0 * t)):
        found = case.gradient(q0, v0, tau, f_ext=f_ext, f_ext_frame="body")

        def cost(v, f_ext=f_ext):
            return case.cost(q0, v, tau, f_ext=f_ext, f_ext_frame="body")

        close(found.v0, differences(cost, lambda s: v0 + s, 2), 1e-8)


def test_parameters_of_the_costs_are_a_batch_of_costs():
    case = Case(model_of("rubbing"))
    q0, v0, tau = case.start()
    targets = np.random.default_rng(0).standard_normal((3, 2))

    def near(t, q, v, tau, target):
        return (q - target) @ (q - target)

    def end(q, v, target):
        return v @ target

    found = case.gradient(q0, v0, tau, cost=near, final_cost=end, cost_parameters=targets)
    assert found.cost.shape == (3,) and found.tau.shape == (3, 12, 2)
    for row, target in enumerate(targets):
        one = case.gradient(
            q0,
            v0,
            tau,
            cost=lambda t, q, v, tau, target=target: near(t, q, v, tau, target),
            final_cost=lambda q, v, target=target: end(q, v, target),
        )
        close(found.tau[row], one.tau, 1e-13)
    assert case.gradient(q0, v0, tau, cost=None).cost != case.gradient(q0, v0, tau).cost


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (0,)])
def test_batches_have_the_bits_of_their_rows(lead):
    case = Case(model_of("floating"))
    q0, v0, tau = case.start(lead)
    found = case.gradient(q0, v0, tau, inertial=True)
    assert np.shape(found.cost) == lead and found.q0.shape == (*lead, case.model.nv)
    assert found.tau.shape == tau.shape and found.inertias.shape == (*lead, case.model.nb, 10)
    for index in np.ndindex(lead):
        one = case.gradient(q0[index], v0[index], tau[index], inertial=True)
        for all_rows, row in zip(parts(found), parts(one), strict=True):
            assert row is None or np.array_equal(all_rows[index], row)


def test_what_is_shared_broadcasts():
    case = Case(model_of("rubbing"))
    q0, v0, tau = case.start((2, 3))
    found = case.gradient(q0[0, 0], v0[:, :1], tau[0])
    assert found.cost.shape == (2, 3) and found.tau.shape == (2, 3, 12, 2)
    one = case.gradient(q0[0, 0], v0[1, 0], tau[0, 2])
    assert found.cost[1, 2] == one.cost and np.array_equal(found.tau[1, 2], one.tau)


def test_threads_and_chunks_give_the_same_bits(request, monkeypatch):
    case = Case(model_of("rubbing"), steps=900)
    q0, v0, _ = case.start((700,))
    request.addfinalizer(lambda: sf.set_threads(None))
    results = []
    for threads, kept, chunk in ((1, 1 << 24, 1 << 30), (2, 1 << 24, 1 << 20), (2, 1 << 19, 1)):
        sf.set_threads(threads)
        monkeypatch.setattr("sixfold.simulation.gradient.MAX_STATE_BYTES", kept)
        monkeypatch.setattr("sixfold.simulation.gradient.CHUNK_BYTES", chunk)
        results.append(case.gradient(q0, v0, [0.1, 0.2]))
    for other in results[1:]:
        same_bits(results[0], other)


@pytest.mark.parametrize("checkpoint", [1, 5, 12, 100])
def test_checkpoints_change_no_bit(checkpoint):
    case = Case(model_of("floating"))
    q0, v0, tau = case.start((5,))
    found = case.gradient(q0, v0, tau)
    other = case.gradient(q0, v0, tau, checkpoint=checkpoint)
    same_bits(found, other)


def test_checkpoints_save_memory():
    from sixfold.simulation import gradient

    kernel = SimpleNamespace(operations=1000)
    kept, chunk = gradient._sizes(kernel, 14, 1, 10**6, None)
    assert kept == 1000 and chunk == gradient.MIN_CHUNK_ROWS
    assert gradient._sizes(kernel, 14, 4096, 100, None)[0] == 100
    rows = gradient._sizes(kernel, 14, 4096, 10, None)[1]
    assert rows > gradient.MIN_CHUNK_ROWS and 8 * 14 * 12 * rows <= gradient.CHUNK_BYTES


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_lanes_give_the_same_bits(lanes, monkeypatch):
    case = Case(model_of("rubbing"), steps=7)
    q0, v0, tau = case.start((13,))
    found = case.gradient(q0, v0, tau, inertial=True)
    used = []

    def narrow(program, scan, **_):
        used.append(build_scan(program, scan, lanes=lanes))
        return used[-1]

    monkeypatch.setattr("sixfold.compiler.llvm.build_scan", narrow)
    monkeypatch.setattr(KERNELS, "find", lambda key: None)
    other = case.gradient(q0, v0, tau, inertial=True)
    assert [kernel.lanes for kernel in used] == [lanes, lanes]
    same_bits(found, other)


def test_single_precision_is_taken_in_double():
    case = Case(model_of("rubbing"))
    q0, v0, tau = (x.astype(np.float32) for x in case.start((3,)))
    found = case.gradient(q0, v0, tau)
    assert found.cost.dtype == found.tau.dtype == np.float64
    wide = case.gradient(*(x.astype(float) for x in (q0, v0, tau)))
    same_bits(found, wide)


@pytest.mark.parametrize("integrator", some(INTEGRATORS, 2))
def test_free_flight_without_forces(integrator):
    case = Case(model_of("floating"), integrator, steps=5)
    q0, v0, _ = case.start()
    found = case.gradient(q0, v0, None)
    by_v = differences(lambda v: case.cost(q0, v, None), lambda s: v0 + s, case.model.nv)
    close(found.v0, by_v, 1e-7)


def test_costs_that_do_the_same_share_a_kernel():
    case = Case(model_of("rubbing"))
    q0, v0, tau = case.start()
    KERNELS.clear()  # a full cache would drop one for each that comes

    def run(weight):
        found = case.gradient(q0, v0, tau, cost=lambda t, q, v, tau: weight * (q @ v))
        return found.cost, len(KERNELS)

    (first, before), (again, after), (other, more) = run(2.0), run(2.0), run(3.0)
    assert first == again != other
    assert before == after < more
