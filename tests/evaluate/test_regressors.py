"""Regressors: columns of inertial parameters, of joints, of energies, and the base columns."""

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import KERNELS
from tests.evaluate.small_models import coupled_arm, held_arm, spherical_tree
from tests.laws.book_pages import MODELS as EACH_JOINT

MODELS = {
    **{name: (lambda name=name: sf.load(name)) for name in ("puma560", "floating_link", "tree10")},
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
    "held_arm": held_arm,
    "random tree": lambda: sf.random_tree(12, seed=5),
    **{name: (lambda name=name: EACH_JOINT[name]) for name in ("universal", "custom, one freedom")},
}
NORMWISE = 4e-15
BARE = {"damping": True, "friction": True, "springs": True, "armature": True}
ALL_COLUMNS = ("viscous", "dry", "dry+", "dry-", "offset", "rotor", "spring")


def parameters_of(model):
    return np.array([body.inertia.array() for body in model.bodies]).ravel()


def states(model, lead=(6,), seed=3):
    q, v = sf.random_state(model, lead, seed=seed)
    a = np.random.default_rng(seed).standard_normal((*lead, model.nv))
    return q, v, a


def off(found, expected):
    """Return the largest error of a state, relative to its largest number."""
    size = np.abs(expected).max(axis=-1, keepdims=True)
    return (np.abs(found - expected) / np.maximum(size, 1e-300)).max()


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize("name", MODELS)
def test_the_regressor_times_the_parameters_is_inverse_dynamics(name, backend):
    model = MODELS[name]()
    arrays = states(model, (2, 3))
    Y = sf.regressor(model, *arrays, backend=backend)
    assert Y.shape == (2, 3, model.nv, 10 * model.nb)
    expected = sf.inverse_dynamics(model.without(**BARE), *arrays)
    assert off(Y @ parameters_of(model), expected) <= NORMWISE


def test_inertias_rotors_and_friction_of_the_model_have_no_effect():
    model = sf.load("puma560")
    arrays = states(model)
    other = sf.replace_inertias(
        model.without(**BARE), {model.body_names[2]: sf.Inertia.from_mass(7.0)}
    )
    np.testing.assert_array_equal(sf.regressor(model, *arrays), sf.regressor(other, *arrays))


def test_external_forces_enter_beside_it():
    """Y pi = tau + J^T f: what is measured, plus what the external forces do."""
    model = sf.load("puma560").without(**BARE)
    q, v, a = states(model)
    f_ext = np.random.default_rng(1).standard_normal((6, model.nb, 6))
    tau = sf.inverse_dynamics(model, q, v, a, f_ext)
    none = np.zeros((model.nb, 10))
    pushed = sf.inverse_dynamics(model, q, v, a, f_ext, inertias=none)  # - J^T f
    assert off(sf.regressor(model, q, v, a) @ parameters_of(model), tau - pushed) <= 1e-13


@pytest.mark.parametrize("name", ["puma560", "floating_link", "tree10", "coupled_arm"])
def test_nonzeros_are_those_of_the_matrix(name):
    model = MODELS[name]()
    arrays = states(model)
    dense, few = sf.regressor(model, *arrays), sf.regressor(model, *arrays, sparse=True)
    for again in range(2):  # the general call, then the prepared one
        made = np.zeros_like(dense)
        made[:, few.rows, few.columns] = few.values
        np.testing.assert_array_equal(made, dense)
        out = np.full_like(few.values, np.nan)
        few = sf.regressor(model, *arrays, sparse=True, out=out if again else None)
    assert few.values is out
    assert len(few.rows) < dense[0].size


@pytest.mark.parametrize("lanes", ["1", "2", "4", "8"])
def test_every_number_of_lanes(lanes, monkeypatch):
    monkeypatch.setenv("SIXFOLD_LANES", lanes)
    KERNELS.clear()  # lanes are read when a kernel is made
    model = sf.load("tree6")
    arrays = states(model, (19,))
    expected = sf.regressor(model, *arrays, backend="numpy")
    for dtype, bar in ((np.float64, 1e-14), (np.float32, 1e-4)):
        given = [x.astype(dtype) for x in arrays]
        found = sf.regressor(model, *given)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=bar * np.abs(expected).max())


@pytest.mark.parametrize("name", MODELS)
def test_energies_are_linear_too(name):
    model = MODELS[name]()
    q, v, _ = states(model)
    T, V = sf.identification.energy_regressor(model, q, v)
    bare, pi = model.without(**BARE), parameters_of(model)
    assert T.shape == V.shape == (6, 10 * model.nb)
    kinetic, potential = sf.kinetic_energy(bare, q, v), sf.potential_energy(bare, q)
    np.testing.assert_allclose(T @ pi, kinetic, rtol=1e-12)
    np.testing.assert_allclose(V @ pi, potential, rtol=0, atol=1e-12 * np.abs(V * pi).sum(1).max())


def test_the_rate_of_the_energy_regressor_is_power():
    """d(T + V)/dt = v^T Y for every parameter, by differences along the motion."""
    model = sf.load("floating_link")
    q, v, a = states(model, ())
    h = 1e-5

    def energies(t):
        return sum(
            sf.identification.energy_regressor(model, sf.integrate(model, q, v, t), v + t * a)
        )

    moved = (energies(h) - energies(-h)) / (2 * h)
    power = v @ sf.regressor(model, q, v, a)
    np.testing.assert_allclose(moved, power, rtol=0, atol=1e-7 * np.abs(power).max())


@pytest.mark.parametrize("name", ["puma560", "spherical_tree", "floating_link"])
def test_joint_columns_are_what_their_numbers_do(name):
    """The difference that each number of a joint makes to inverse dynamics."""
    model = MODELS[name]()
    q, v, a = states(model)
    found = sf.identification.joint_regressor(model, q, v, a, columns=ALL_COLUMNS)
    assert found.shape == (6, model.nv, 7)
    bare = model.without(**BARE)
    without = sf.inverse_dynamics(bare, q, v, a)
    fields = {
        "viscous": ("damping",),
        "dry": ("friction", "friction_negative"),
        "dry+": ("friction",),
        "dry-": ("friction_negative",),
        "rotor": ("armature",),
        "spring": ("stiffness",),
    }
    additive = [j for _, j in model.coordinates.additive]
    for c, column in enumerate(ALL_COLUMNS):
        if column == "offset":
            np.testing.assert_array_equal(found[..., c], 1.0)
            continue
        bodies = tuple(
            replace(body, **{n: (1.0,) * body.joint.nv for n in fields[column]}, rest=full.rest)
            for body, full in zip(bare.bodies, model.bodies, strict=True)
        )
        made = sf.inverse_dynamics(replace(bare, bodies=bodies), q, v, a) - without
        rows = additive if column == "spring" else slice(None)
        bar = 1e-12 * max(1.0, np.abs(without).max())
        np.testing.assert_allclose(found[:, rows, c], made[:, rows], rtol=0, atol=bar)
    several = sf.identification.joint_regressor(model, q, v, a, columns=["dry+", "dry-"])
    dry = sf.identification.joint_regressor(model, q, v, a)[..., 1]
    np.testing.assert_allclose(several.sum(axis=-1), dry, rtol=1e-15)


@pytest.mark.parametrize("bad", ["viscous", (), ("dry", "dry"), ("stiction",), None, 7, {"dry"}])
def test_columns_that_are_not_known_are_refused(bad):
    model = sf.load("pendulum")
    with pytest.raises(sf.errors.OptionError, match="joint_regressor: option 'columns'"):
        sf.identification.joint_regressor(model, [0.0], [0.0], [0.0], columns=bad)


@pytest.mark.parametrize("name", MODELS)
def test_base_columns_carry_the_joint_forces_of_any_bodies(name):
    model = MODELS[name]()
    base = sf.identification.base_projection(model)
    arrays = states(model, (40,))
    Y, few = sf.regressor(model, *arrays), sf.identification.base_regressor(model, *arrays)
    assert few.shape == (40, model.nv, len(base)) and len(base.names) == len(base)
    np.testing.assert_allclose(few, Y[..., base.columns], rtol=0, atol=1e-13 * np.abs(Y).max())
    pi = np.random.default_rng(2).standard_normal(10 * model.nb)
    assert off(few @ (base.matrix @ pi), Y @ pi) <= 1e-12
    stacked = few.reshape(-1, len(base))
    stacked = stacked / np.linalg.norm(stacked, axis=0)
    assert np.linalg.matrix_rank(stacked, tol=1e-7) == len(base)  # none can be left out
    assert np.linalg.matrix_rank(Y.reshape(-1, 10 * model.nb)) == len(base)


def test_base_projections_of_a_hundred_bodies_are_found():
    model = sf.load("planar_chain:100")
    base = sf.identification.base_projection(model)
    assert len(base) == 300  # hx, hy and Izz of each
    assert repr(base) == "BaseProjection(300 of 1000 inertial parameters)"
    with pytest.raises(sf.errors.NotApplicableError, match="base_projection"):
        sf.identification.base_projection(sf.load("planar_chain:101"))
    for bad in ("arm", None):
        with pytest.raises(sf.errors.ArgumentError, match="base_projection: the first argument"):
            sf.identification.base_projection(bad)


def test_results_of_base_regressors_may_be_given():
    model = sf.load("puma560")
    arrays = states(model)
    first = sf.identification.base_regressor(model, *arrays)
    out = np.full_like(first, np.nan)
    assert sf.identification.base_regressor(model, *arrays, out=out) is out
    np.testing.assert_array_equal(out, first)
    with pytest.raises(sf.errors.ShapeError, match="base_regressor: argument 'v'"):
        sf.identification.base_regressor(model, arrays[0], arrays[1][:, :2], arrays[2])
