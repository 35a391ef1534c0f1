"""Scenes of hundreds of bodies: an answer in seconds, and no request for memory beyond bounds."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm.runtime import jit, limits
from sixfold.runtime.kernels import kernels
from tests.cases import some


def boxes(n):
    """Return free boxes that do not know of each other."""
    builder = sf.ModelBuilder("boxes")
    inertia = sf.Inertia.from_mass(2.0, rotational=(0.01, 0.02, 0.025))
    for k in range(n):
        builder.add_body(f"b{k}", joint=sf.Free(), placement=(0.5 * k, 0, 1), inertia=inertia)
    return builder.build()


@pytest.fixture
def texts(monkeypatch):
    """The lengths of all texts that are compiled meanwhile; long ones are refused."""
    seen = []

    def check(characters=0):
        seen.append(characters)
        assert characters < 20_000_000, f"a text of {characters} characters"

    monkeypatch.setattr(jit, "check_limits", check)
    return seen


CALLS = {
    "mass_matrix": lambda model, q, v: sf.mass_matrix(model, q),
    "coriolis_matrix": sf.coriolis_matrix,
    "regressor": lambda model, q, v: sf.regressor(model, q, v, v),
    "inverse_dynamics_derivatives": lambda model, q, v: sf.derivatives.inverse_dynamics_derivatives(
        model, q, v, v
    ),
    "forward_dynamics": lambda model, q, v: sf.forward_dynamics(model, q, v, v),
    "simulate": lambda model, q, v: sf.simulate(model, q, v, 0.002),
}


@pytest.mark.parametrize("call", some(CALLS, 2))
def test_five_hundred_bodies_take_little_memory_to_compile(call, texts):
    model = boxes(553)
    q, v = sf.random_state(model, seed=1)
    CALLS[call](model, q, v)
    assert sum(texts) < 20_000_000


def test_a_matrix_of_too_many_results_is_evaluated_by_numpy():
    model = boxes(100)
    assert model.nv**2 > kernels.MAX_RESULTS
    q, _ = sf.random_state(model, seed=2)
    with kernels.watch_kernels() as used:
        M = sf.mass_matrix(model, q)
    assert used == {"mass_matrix": None}
    alone = np.diag([0.01, 0.02, 0.025, 2.0, 2.0, 2.0])
    assert np.array_equal(M, np.kron(np.eye(100), alone))


def test_what_needs_more_memory_than_the_machine_has_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(limits, "machine_bytes", lambda: 100 << 20)
    with pytest.raises(sf.errors.KernelMemoryError, match="14,400 results") as caught:
        sf.compile(sf.mass_matrix, boxes(20))
    assert "NumPy evaluates" in str(caught.value) and "ulimit" not in str(caught.value)
    with pytest.raises(sf.errors.KernelMemoryError, match="too long to be compiled"):
        limits.check_limits(10**7)


def test_a_machine_of_unknown_size_refuses_by_what_it_gets(monkeypatch):
    monkeypatch.setattr(limits, "machine_bytes", lambda: None)
    with pytest.raises(sf.errors.KernelMemoryError, match="no memory for the compiler"):
        limits.check_limits(1 << 60)


def test_the_size_of_this_machine_is_known():
    assert limits.machine_bytes() > 1 << 28
