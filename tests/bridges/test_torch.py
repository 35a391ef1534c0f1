"""Kernels inside PyTorch: the bits of NumPy's call, and derivatives that torch's checks confirm."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sixfold as sf
from tests.bridges.models import differences, robot, states

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
MODELS = ["double_pendulum", "floating_link", "ball"]


def tensors(model, *lead, grad=False):
    return [torch.tensor(x, requires_grad=grad) for x in states(model, *lead)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_function_has_the_bits_of_the_call_on_numpy_arrays(name, dtype):
    model = robot(name)
    q, v, tau = (x.astype(dtype) for x in states(model, 37))
    for function, arrays in (
        (sf.inverse_dynamics, (q, v, tau)),
        (sf.forward_dynamics, (q, v, tau)),
        (sf.mass_matrix, (q,)),
        (sf.kinetic_energy, (q, v)),
    ):
        result = sf.interop.torch_function(function, model)(*map(torch.from_numpy, arrays))
        assert result.dtype == getattr(torch, dtype)
        assert np.array_equal(result.numpy(), function(model, *arrays))


def test_results_and_leading_axes_are_those_of_the_function():
    model = robot("floating_link")
    q, v, a = states(model, 2, 3)
    Q, V, A = map(torch.from_numpy, (q, v, a))
    function = sf.interop.torch_function(sf.inverse_dynamics, model)
    expected = sf.inverse_dynamics(model, q, v, a)
    assert np.array_equal(function(a=A, v=V, q=Q).numpy(), expected)
    shared = sf.inverse_dynamics(model, q[0, 0], v[:, :1], a)
    assert np.array_equal(function(Q[0, 0], V[:, :1], A).numpy(), shared)
    assert np.array_equal(function(Q[0, 0], V[0, 0], A[0, 0]).numpy(), expected[0, 0])
    assert np.array_equal(function(q, V, a.tolist()).numpy(), expected)
    assert function(Q[:0], V[:0], A[:0]).shape == (0, 3, model.nv)
    assert np.array_equal(function(Q.mT.contiguous().mT, V, A).numpy(), expected)
    three = sf.interop.torch_function(sf.derivatives.inverse_dynamics_derivatives, model)(Q, V, A)
    for x, y in zip(
        three, sf.derivatives.inverse_dynamics_derivatives(model, q, v, a), strict=True
    ):
        assert np.array_equal(x.numpy(), y)


def test_long_trees_and_large_batches_run_their_kernel_on_threads():
    model = sf.load("planar_chain:60")
    q, v, a = states(model, 3000)
    function = sf.interop.torch_function(sf.inverse_dynamics, model)
    found = function(*map(torch.from_numpy, (q, v, a)))
    assert np.array_equal(found.numpy(), sf.inverse_dynamics(model, q, v, a))


@pytest.mark.parametrize("name", ["floating_link", "ball"])
@pytest.mark.parametrize("function", [sf.inverse_dynamics, sf.forward_dynamics])
def test_gradcheck_confirms_both_modes_and_their_batches(name, function):
    model = robot(name)
    assert torch.autograd.gradcheck(
        sf.interop.torch_function(function, model),
        tensors(model, 2, grad=True),
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )


def test_gradgradcheck_confirms_second_derivatives():
    model = robot("double_pendulum")
    function = sf.interop.torch_function(sf.forward_dynamics, model)
    assert torch.autograd.gradgradcheck(function, tensors(model, 2, grad=True))


def test_gradcheck_confirms_functions_of_several_results_and_forces_on_bodies():
    model = robot("floating_link")

    def both(q, v, gain):
        M = sf.mass_matrix(model, q)
        return M @ v * gain[0], v @ M @ v

    q, v, tau = tensors(model, 2, grad=True)
    gain = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    function = sf.interop.torch_function(both, model, inputs={"gain": 1})
    assert torch.autograd.gradcheck(function, (q, v, gain))
    pushed = sf.interop.torch_function(sf.forward_dynamics, model, inputs={"f_ext": (model.nb, 6)})
    force = torch.randn(model.nb, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pushed, (q, v, tau, force))


def test_torch_func_transforms_go_through():
    model = robot("floating_link")
    function = sf.interop.torch_function(sf.forward_dynamics, model)
    q, v, tau = tensors(model, 3)
    reverse = torch.func.vmap(torch.func.jacrev(function, (0, 1, 2)))(q, v, tau)
    forward = torch.func.vmap(torch.func.jacfwd(function, (0, 1, 2)))(q, v, tau)
    one = differences(lambda x: sf.forward_dynamics(model, x, v[0], tau[0]), q[0].numpy())
    assert np.allclose(reverse[0][0].numpy(), one, rtol=1e-6, atol=1e-6)
    for x, y in zip(reverse, forward, strict=True):
        assert torch.allclose(x, y, rtol=1e-12, atol=1e-12)
    shared = torch.func.vmap(torch.func.grad(lambda *x: function(*x).sum()), (0, None, 0))
    assert torch.allclose(shared(q, v[0], tau)[0], reverse[0][0].sum(0))
    primal, moved = torch.func.jvp(lambda x: function(x, v[0], tau[0]), (q[0],), (q[1],))
    assert torch.equal(primal, function(q, v, tau)[0])
    assert torch.allclose(moved, reverse[0][0] @ q[1])


def test_a_second_derivative_by_torch_func_is_that_of_autograd():
    model = robot("double_pendulum")
    function = sf.interop.torch_function(sf.inverse_dynamics, model)
    q, v, a = (x[0] for x in tensors(model, 1))
    found = torch.func.hessian(lambda x: function(x, v, a).sum())(q)
    expected = torch.autograd.functional.hessian(lambda x: function(x, v, a).sum(), q)
    assert torch.allclose(found, expected)


def test_torch_compile_takes_it_whole():
    model = robot("double_pendulum")
    function = sf.interop.torch_function(sf.inverse_dynamics, model)

    def loss(q, v, a):
        return (function(q, v, a) ** 2).sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    arrays = tensors(model, 5, grad=True)
    expected = torch.autograd.grad(loss(*arrays), arrays)
    found = torch.autograd.grad(compiled(*arrays), arrays)
    for x, y in zip(found, expected, strict=True):
        assert torch.allclose(x, y, rtol=1e-12)
    plain = [x.detach() for x in arrays]
    alone = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert torch.equal(alone(*plain), function(*plain))


def test_the_gradient_through_steps_is_that_of_the_rollout():
    model = robot("double_pendulum")
    q0, v0, _ = (x[0] for x in states(model, 1))
    tau0 = np.random.default_rng(2).standard_normal((100, model.nv))
    acceleration, dt = sf.interop.torch_function(sf.forward_dynamics, model), 1e-2
    start = [torch.tensor(x, requires_grad=True) for x in (q0, v0, tau0)]
    q, v, tau = start
    paid = torch.zeros((), dtype=torch.float64)
    for one in tau:
        paid = paid + dt * (q @ q + one @ one)
        v = v + dt * acceleration(q, v, one)
        q = q + dt * v
    slopes = torch.autograd.grad(paid + v @ v, start)
    exact = sf.rollout_gradient(
        model,
        q0,
        v0,
        tau0,
        dt=dt,
        steps=100,
        cost=lambda t, q, v, tau: q @ q + tau @ tau,
        final_cost=lambda q, v: v @ v,
    )
    for x, y in zip(slopes, (exact.q0, exact.v0, exact.tau), strict=True):
        assert np.abs(x.numpy() - y).max() <= 1e-12 * np.abs(y).max()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f, q: f(q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, q, q, q), sf.errors.ArgumentError, "q, v, a"),
        (lambda f, q: f(q, torch.zeros(3), q), sf.errors.ShapeError, "'v'"),
        (
            lambda f, q: f(torch.zeros(3, 2), torch.zeros(4, 2), q),
            sf.errors.ShapeError,
            "broadcast",
        ),
        (
            lambda f, q: f(*[torch.zeros(2, dtype=torch.float16)] * 3),
            sf.errors.NumberError,
            "float32",
        ),
        (lambda f, q: f(q + 1j, q, q), sf.errors.NumberError, "complex"),
        (lambda f, q: f(torch.zeros(2, device="meta"), q, q), sf.errors.NumberError, "on the CPU"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call, error, words):
    function = sf.interop.torch_function(sf.inverse_dynamics, robot("double_pendulum"))
    with pytest.raises(error, match=words):
        call(function, torch.zeros(2))


def test_a_public_function_that_meets_more_than_numbers_names_the_bridge():
    model = robot("double_pendulum")
    q = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(sf.errors.NumberError, match="torch_function"):
        sf.mass_matrix(model, q.requires_grad_())
    with pytest.raises(sf.errors.NumberError, match="torch_function"):
        torch.func.vmap(lambda x: torch.as_tensor(sf.mass_matrix(model, x)))(torch.zeros(3, 2))
    with pytest.raises(sf.errors.NumberError, match="torch_function"):
        torch.func.jvp(
            lambda x: torch.as_tensor(sf.mass_matrix(model, x)), (torch.zeros(2),), (torch.ones(2),)
        )
    assert np.array_equal(sf.mass_matrix(model, q.detach()), sf.mass_matrix(model, np.zeros(2)))


def test_functions_pickle_as_what_they_were_made_of():
    model = robot("double_pendulum")
    arrays = tensors(model, 3)
    function = sf.interop.torch_function(sf.inverse_dynamics, model)
    again = pickle.loads(pickle.dumps(function))
    assert torch.equal(again(*arrays), function(*arrays))
    assert repr(function) == "<torch function inverse_dynamics(q, v, a)>"
