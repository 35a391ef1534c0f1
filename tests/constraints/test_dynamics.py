"""Accelerations and forces of constrained models: laws, and the same by independent ways."""

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime.kernels.kernel_cache import KERNELS
from sixfold.scalar import plain
from tests.constraints.joints import CLOSING
from tests.constraints.support import (
    GEARS,
    OTHERS,
    SMALL,
    at_precision,
    branching,
    closed,
    joint_part,
    tree_of,
)
from tests.public_names import find

BY_NUMPY = {"backend": "numpy"}


def kkt(model, q, v, tau):
    """Return accelerations and J^T f by a dense solve, for rows of any rank."""
    tree = tree_of(model)
    M = sf.mass_matrix(tree, q, **BY_NUMPY)
    C = sf.bias_force(tree, q, v, **BY_NUMPY)
    J = sf.loops.constraint_jacobian(model, q, **BY_NUMPY)
    gamma = sf.loops.constraint_bias(model, q, v, **BY_NUMPY)
    n, m = model.nv, model.nc
    A = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    x = np.linalg.lstsq(A, np.concatenate([tau - C, -gamma]), rcond=1e-12)[0]
    return x[:n], J.T @ x[n:]


def laws_hold(model, q, v, *, geared=False):
    """Check a state against the equations of motion, a dense solve and the operators."""
    tau = np.random.default_rng(4).normal(size=model.nv)
    a, f = sf.loops.constrained_dynamics(model, q, v, tau, **BY_NUMPY)
    tree = tree_of(model)
    J = sf.loops.constraint_jacobian(model, q, **BY_NUMPY)
    gamma = sf.loops.constraint_bias(model, q, v, **BY_NUMPY)
    M, C = sf.mass_matrix(tree, q, **BY_NUMPY), sf.bias_force(tree, q, v, **BY_NUMPY)
    scale = max(1.0, np.abs(C).max(), np.abs(a).max(), np.abs(gamma).max())
    near = {"rtol": 0, "atol": 2e-12 * scale}
    np.testing.assert_allclose(M @ a + C, tau + J.T @ f, **near)
    np.testing.assert_allclose(J @ a, -gamma, **near)
    # the rates of gaps stay zero: constraint forces do no work
    assert abs(v @ (J.T @ f)) < 1e-11 * scale
    # dense solve
    dense, push = kkt(model, q, v, tau)
    np.testing.assert_allclose(a, dense, rtol=0, atol=1e-10 * scale)
    np.testing.assert_allclose(J.T @ f, push, rtol=0, atol=1e-10 * scale)
    # what constraints do to bodies, as external forces on the tree
    wrenches = sf.loops.constraint_wrenches(model, q, f, **BY_NUMPY)
    on_joints = joint_part(model, q, f) if geared else 0.0
    needed = sf.inverse_dynamics(tree, q, v, a, wrenches, **BY_NUMPY)
    np.testing.assert_allclose(needed, tau + on_joints, **near)
    np.testing.assert_allclose(sf.forward_dynamics(model, q, v, tau, **BY_NUMPY), a, **near)
    if not model.couplings:
        for method in ("operators", "operators_dense", "aba"):
            by = sf.forward_dynamics(
                tree, q, v, tau + on_joints, wrenches, method=method, **BY_NUMPY
            )
            np.testing.assert_allclose(by, a, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("name", CLOSING)
def test_loops_of_every_joint_obey_the_equations_of_motion(name):
    model = branching(CLOSING[name])
    laws_hold(model, *closed(model))


@pytest.mark.parametrize("name", OTHERS)
def test_rods_gears_wheels_and_couplings_obey_the_equations_of_motion(name):
    model = OTHERS[name]()
    for seed in range(2):
        laws_hold(model, *closed(model, seed), geared=name in GEARS)


def test_a_gear_moves_as_a_coupling_does():
    """The coupling has one coordinate less; the gear's force is a result besides."""

    def arm(gear):
        builder = sf.ModelBuilder("arm")
        solid = sf.Inertia.from_mass(1.0, (0.2, 0.1, 0), (0.1, 0.2, 0.3))
        builder.add_body("one", joint=sf.Revolute("x"), inertia=solid)
        more = {"placement": (0.3, 0, 0), "inertia": solid}
        builder.add_body("two", parent="one", joint=sf.Revolute("y"), **more)
        builder.add_body("three", parent="two", joint=sf.Revolute("z"), **more)
        add = builder.add_gear if gear else builder.couple
        add("two_joint", ("one_joint", -0.5), ("three_joint", 2.0), offset=0.1)
        return builder.build()

    free, held = arm(True), arm(False)
    rng = np.random.default_rng(2)
    q2, v2 = rng.normal(size=(2, 2))
    T = np.array([[1, 0], [-0.5, 2.0], [0, 1]])
    q, v = T @ q2 + [0, 0.1, 0], T @ v2
    tau = rng.normal(size=3)
    a, _ = sf.loops.constrained_dynamics(free, q, v, tau, **BY_NUMPY)
    by = sf.forward_dynamics(held, q2, v2, T.T @ tau, **BY_NUMPY)
    np.testing.assert_allclose(a, T @ by, rtol=0, atol=1e-12 * np.abs(a).max())


# -- kinds of numbers and ways to call

FUNCTIONS = {
    "constraint_gaps": "q",
    "constraint_jacobian": "q",
    "constraint_bias": "qv",
    "constraint_wrenches": "qf",
    "constrained_dynamics": "qvt",
    "project": "qv",
}


@pytest.fixture(scope="module", params=SMALL)
def case(request):
    """A model and some of its states, forces among them."""
    model = SMALL[request.param]()
    states = [closed(model, seed) for seed in range(3)]
    rng = np.random.default_rng(5)
    given = {
        "q": np.array([q for q, _ in states]),
        "v": np.array([v for _, v in states]),
        "t": rng.normal(size=(3, model.nv)),
        "f": rng.normal(size=(3, model.nc)),
    }
    return model, given


def parts(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numpy_machine_code_and_256_bits_agree(case, function):
    model, given = case
    listed = [given[letter] for letter in FUNCTIONS[function]]
    call = find(function)
    by_numpy, default = parts(call(model, *listed, **BY_NUMPY)), parts(call(model, *listed))
    single = parts(call(model, *[x.astype(np.float32) for x in listed]))
    with gmpy2.context(precision=256):
        rows = [[gmpy2.mpfr(float(x)) for x in each[0]] for each in listed]
        exact = np.array([float(plain(x)) for x in at_precision(function, model, *rows)])
    at = 0
    for one, two, rough in zip(by_numpy, default, single, strict=True):
        size = max(1.0, np.abs(one).max())
        np.testing.assert_allclose(two, one, rtol=0, atol=1e-11 * size)
        assert rough.dtype == np.float32 and one.dtype == two.dtype == np.float64
        np.testing.assert_allclose(rough, one, rtol=0, atol=0.02 * size)
        flat = one[0].ravel()
        np.testing.assert_allclose(flat, exact[at : at + flat.size], rtol=0, atol=1e-11 * size)
        at += flat.size
    assert at == len(exact)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_of_two_axes_and_out_give_the_bits_of_single_calls(case, function):
    model, given = case
    listed = [given[letter] for letter in FUNCTIONS[function]]
    call = find(function)
    wide = [np.stack([x, x[::-1]]) for x in listed]
    found = parts(call(model, *wide))
    out = tuple(np.empty_like(x) for x in found)
    call(model, *wide, out=out if len(out) > 1 else out[0])
    for k, (batch, into) in enumerate(zip(found, out, strict=True)):
        assert batch.shape[:2] == (2, 3)
        np.testing.assert_array_equal(into, batch)
        for row in range(3):
            alone = parts(call(model, *[x[row] for x in listed]))[k]
            np.testing.assert_array_equal(alone, batch[0, row])
            np.testing.assert_array_equal(alone, batch[1, 2 - row])


@pytest.mark.parametrize("case", ["loop", "wheel"], indirect=True)
def test_every_number_of_lanes_gives_the_same_bits(case, monkeypatch):
    model, given = case
    listed = [np.tile(given[x], (4, 1))[:11] for x in "qvt"]
    found = []
    for lanes in (1, 2, 4, 8):
        monkeypatch.setenv("SIXFOLD_LANES", str(lanes))
        KERNELS.clear()
        assert sf.compile(sf.loops.constrained_dynamics, model).lanes == lanes
        found.append(np.concatenate(sf.loops.constrained_dynamics(model, *listed), axis=-1))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_projection_is_the_nearest_state_and_rests_where_nothing_gapes(case):
    model, given = case
    q, v = given["q"], given["v"]
    same = sf.loops.project(model, q, v)
    np.testing.assert_allclose(same[0], q, rtol=0, atol=1e-13 * np.abs(q).max())
    np.testing.assert_allclose(same[1], v, rtol=0, atol=1e-12 * np.abs(v).max())
    rng = np.random.default_rng(6)
    away = sf.integrate(model, q, 1e-3 * rng.normal(size=v.shape))
    fast = v + 0.1 * rng.normal(size=v.shape)
    back, slow = sf.loops.project(model, away, fast)
    assert np.abs(sf.loops.constraint_gaps(model, away)).max() > 1e-4
    assert np.abs(sf.loops.constraint_gaps(model, back)).max() < 1e-9
    J = sf.loops.constraint_jacobian(model, back)
    assert np.abs(J @ slow[..., None]).max() < 1e-12 * np.abs(J).max() * 10
    # by the metric of the mass matrix: M (v' - v) is a combination of the rows
    M = sf.mass_matrix(tree_of(model), back)
    push = (M @ (slow - fast)[..., None])[..., 0]
    for one, row in zip(push, J, strict=True):
        left = one - row.T @ np.linalg.lstsq(row.T, one, rcond=None)[0]
        assert np.abs(left).max() < 1e-10 * np.abs(one).max()
