"""A call that insists on machine code gets it, or an error; it is never left to NumPy."""

import numpy as np
import pytest
import sympy

import sixfold as sf
from sixfold.runtime.kernels import kernels

each = pytest.mark.parametrize("backend", ["native", "unrolled", "rolled"])


@each
def test_numbers_without_machine_code_are_refused(backend):
    model = sf.load("double_pendulum")
    q = sf.neutral(model)
    symbols = np.array(sympy.symbols("a b"), dtype=object)
    for numbers in (q.astype(np.longdouble), symbols):
        with pytest.raises(
            sf.errors.NotApplicableError, match=f"gravity_force: backend '{backend}'"
        ):
            sf.gravity_force(model, numbers, backend=backend)
        assert sf.gravity_force(model, numbers).shape == (2,)  # NumPy, if nobody insists
    for numbers in (q, q.astype(np.float32), [0, 1], np.zeros((3, 2)), np.zeros((0, 2))):
        found = sf.gravity_force(model, numbers, backend=backend)
        np.testing.assert_allclose(found, sf.gravity_force(model, numbers), rtol=1e-6)


@each
def test_a_model_without_joints_has_no_machine_code(backend):
    builder = sf.ModelBuilder("stone")
    builder.add_body("stone", joint=sf.Fixed(), inertia=sf.Inertia.from_mass(1.0))
    model = builder.build()
    with pytest.raises(sf.errors.NotApplicableError, match=r"of model 'stone'|rolled form"):
        sf.gravity_force(model, np.zeros(0), backend=backend)
    assert sf.gravity_force(model, np.zeros(0)).shape == (0,)


def test_a_program_that_is_too_long_runs_on_numpy_unless_one_insists(monkeypatch):
    monkeypatch.setattr(kernels, "MAX_TRACED_NODES", 10)
    monkeypatch.setattr(kernels, "MAX_NODES", 10)
    model = sf.load("planar_chain:3").with_gravity((0.0, -3.5, 0.0))  # a model with no kernel yet
    q = np.array([0.1, 0.2, 0.3])
    with pytest.raises(sf.errors.NotApplicableError, match="mass_matrix of model 'planar_chain:3'"):
        sf.mass_matrix(model, q, backend="native")
    plain = sf.mass_matrix(model, q)
    np.testing.assert_allclose(plain, sf.mass_matrix(model, q, backend="unrolled"), rtol=1e-14)
