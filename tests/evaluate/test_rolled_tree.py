"""The rolled form of every quantity equals the NumPy reading, on trees of every kind of joint."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime.kernels import kernels, rolled_tree
from sixfold.runtime.kernels.kernel_cache import KERNELS
from tests.public_names import find

ROBOTS = ("planar_chain:7", "tree10", "puma560", "floating_link", "random_tree:12:4", "star:5")
FUNCTIONS = {
    "inverse_dynamics": "qva",
    "forward_dynamics": "qva",
    "bias_force": "qv",
    "gravity_force": "q",
    "kinetic_energy": "qv",
    "potential_energy": "q",
    "momentum": "qv",
    "centroidal_momentum": "qv",
    "center_of_mass": "q",
    "body_poses": "q",
    "body_velocities": "qv",
    "body_accelerations": "qva",
    "joint_wrenches": "qva",
    "joint_reaction_forces": "qva",
}


def state(model, rows=5, seed=0):
    q, v = sf.random_state(model, rows, seed=seed)
    a = np.random.default_rng(seed).standard_normal(v.shape)
    return {"q": q, "v": v, "a": a}


def assert_close(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=4e-14 * np.abs(want).max())


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_rolled_form_equals_the_numpy_reading(function, robot):
    model = sf.load(robot)
    given = state(model)
    arrays = [given[letter] for letter in FUNCTIONS[function]]
    call = find(function)
    assert_close(call(model, *arrays, backend="rolled"), call(model, *arrays, backend="numpy"))


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "bias_force"])
def test_external_forces_roll_too(function, frame):
    model = sf.load("random_tree:12:4")
    given = state(model)
    f = np.random.default_rng(1).standard_normal((5, model.nb, 6))
    arrays = [given[letter] for letter in FUNCTIONS[function]]
    call = find(function)
    options = {"f_ext": f, "f_ext_frame": frame}
    found = call(model, *arrays, **options, backend="rolled")
    assert_close(found, call(model, *arrays, **options, backend="numpy"))


def chain(n, seed=0):
    """A chain of links about axes in all directions, springs, rotors and friction included."""
    rng = np.random.default_rng(seed)
    builder = sf.ModelBuilder(f"chain of {n}", friction_speed=0.1)
    for i in range(n):
        A = rng.standard_normal((3, 3))
        builder.add_body(
            f"link{i}",
            parent=f"link{i - 1}" if i else None,
            joint=sf.Revolute(rng.standard_normal(3)),
            placement=rng.normal(0, 0.1, 3),
            inertia=sf.Inertia.from_mass(
                rng.uniform(0.5, 2), rng.normal(0, 0.1, 3), A @ A.T / 20 + np.eye(3) / 20
            ),
            damping=rng.uniform(0, 0.1),
            friction=rng.uniform(0, 0.1),
            friction_negative=rng.uniform(0, 0.1),
            stiffness=rng.uniform(0, 1) if i % 3 else 0.0,
            rest=rng.uniform(-1, 1),
            armature=rng.uniform(0, 0.1) if i % 2 else 0.0,
        )
    return builder.build()


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "bias_force"])
def test_friction_by_sign_and_by_tanh_may_stand_in_one_chain(function):
    model = chain(9)
    speeds = (0.0, 0.1, 0.3)
    bodies = [replace(b, friction_speed=(speeds[k % 3],)) for k, b in enumerate(model.bodies)]
    model = replace(model, bodies=tuple(bodies))
    x = state(model, 7)
    arrays = [x[letter] for letter in ("q", "v", "a")][: 2 + (function != "bias_force")]
    found = find(function)(model, *arrays, backend="rolled")
    assert np.isfinite(found).all()
    assert_close(found, find(function)(model, *arrays, backend="numpy"))


def test_long_trees_choose_the_rolled_form_and_short_ones_do_not():
    long, short = chain(120), chain(4)
    for model, form in ((long, "rolled"), (short, "unrolled")):
        x = state(model, 3)
        with kernels.watch_kernels() as found:
            tau = sf.inverse_dynamics(model, x["q"], x["v"], x["a"])
            acc = sf.forward_dynamics(model, x["q"], x["v"], tau)
        assert {kernel.form for kernel in found.values()} == {form}
        assert_close(tau, sf.inverse_dynamics(model, x["q"], x["v"], x["a"], backend="numpy"))
        assert_close(sf.inverse_dynamics(model, x["q"], x["v"], acc, backend="numpy"), tau)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_the_rolled_form_has_the_same_bits_for_any_cut_of_the_rows(function):
    model = chain(9)
    call = find(function)
    x = state(model, 21)
    arrays = [x["q"], x["v"], x["a"]]
    whole = call(model, *arrays, backend="rolled")
    one_by_one = np.array(
        [call(model, *(y[row] for y in arrays), backend="rolled") for row in range(21)]
    )
    np.testing.assert_array_equal(one_by_one, whole)
    for start in range(4):
        part = call(model, *(y[start : start + 6] for y in arrays), backend="rolled")
        np.testing.assert_array_equal(part, whole[start : start + 6])
    backward = call(model, *(y[::-1] for y in arrays), backend="rolled")
    np.testing.assert_array_equal(backward[::-1], whole)


def test_threads_give_the_same_bits(request):
    model = chain(6)
    x = state(model, 16_400)
    arrays = [x["q"], x["v"], x["a"]]
    request.addfinalizer(lambda: sf.set_threads(None))
    results = []
    for threads in (1, 2, 5):
        sf.set_threads(threads)
        results.append(sf.inverse_dynamics(model, *arrays, backend="rolled"))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_rolled_kernels_are_compiled_on_request_and_pickle():
    model = chain(8)
    x = state(model)
    kernel = sf.compile(sf.forward_dynamics, model, form="rolled")
    assert kernel.form == "rolled" and "sweep" in kernel.llvm_ir and kernel.flops > 0
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(x["q"], x["v"], x["a"]), kernel(x["q"], x["v"], x["a"]))
    straight = sf.compile(sf.forward_dynamics, model, form="unrolled")
    assert straight.form == "unrolled"
    assert_close(straight(x["q"], x["v"], x["a"]), kernel(x["q"], x["v"], x["a"]))
    single = sf.compile(sf.inverse_dynamics, model, form="rolled", dtype=np.float32)
    few = [x[k].astype(np.float32) for k in "qva"]
    want = sf.inverse_dynamics(model, *(y.astype(float) for y in few))
    np.testing.assert_allclose(single(*few), want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_a_rolled_kernel_comes_back_from_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))
    model = chain(11, seed=3)
    x = state(model)
    arrays = [x[k] for k in "qva"]
    first = sf.inverse_dynamics(model, *arrays, backend="rolled")
    KERNELS.clear()
    monkeypatch.setattr(kernels, "trace_loops", None)  # any tracing would fail now
    np.testing.assert_array_equal(sf.inverse_dynamics(model, *arrays, backend="rolled"), first)


def test_a_non_finite_state_spoils_its_own_row_only():
    model = chain(10)
    x = state(model, 7)
    want = sf.inverse_dynamics(model, x["q"], x["v"], x["a"], backend="rolled")
    x["q"][3, 2] = np.nan
    got = sf.inverse_dynamics(model, x["q"], x["v"], x["a"], backend="rolled")
    assert np.isnan(got[3]).any()
    np.testing.assert_array_equal(np.delete(got, 3, 0), np.delete(want, 3, 0))


@pytest.mark.parametrize("function", ["mass_matrix", "inverse_mass_matrix"])
def test_what_has_no_rolled_form_says_so(function):
    model = chain(5)
    with pytest.raises(sf.errors.NotApplicableError, match="rolled"):
        find(function)(model, sf.neutral(model), backend="rolled")


def test_a_form_is_one_of_two_and_of_sixfolds_own_functions():
    model = chain(3)
    with pytest.raises(sf.errors.OptionError, match="form"):
        sf.compile(sf.inverse_dynamics, model, form="twisted")
    with pytest.raises(sf.errors.NotApplicableError, match="form"):
        sf.compile(lambda q: q + 1.0, model, form="rolled")


def test_a_thousand_bodies_keep_forward_and_inverse_dynamics_inverse_to_each_other():
    model = chain(1000)
    x = state(model, 2)
    x["v"] *= 1e-3
    acc = sf.forward_dynamics(model, x["q"], x["v"], x["a"])
    tau = sf.inverse_dynamics(model, x["q"], x["v"], acc)
    scale = np.abs(sf.inverse_dynamics(model, x["q"], x["v"], np.abs(acc))).max()
    assert np.abs(tau - x["a"]).max() < 1e-12 * scale


def test_equal_models_have_equal_columns_whatever_lies_where_in_memory():
    model = chain(9)
    kinds = rolled_tree.kinds_of(model)
    assert rolled_tree.kinds_of(model) is kinds
    first = {name: kinds.columns(name, 0) for name in ("Xtree", "inertia", "damping")}
    for _ in range(20):  # equal models come and go, and their memory is used again
        rolled_tree.kinds_of(chain(8))
        again = rolled_tree.kinds_of(chain(9))
        for name, columns in first.items():
            np.testing.assert_array_equal(again.columns(name, 0), columns)
    assert first["Xtree"].shape == (12, 9) and first["inertia"].shape == (10, 9)
