"""`frame=` may name any body or frame: results in its axes, at its origin."""

from functools import partial

import numpy as np
import pytest
import sympy

import sixfold as sf


def coupled():
    """Return three hinges, the last of which follows the first."""
    solid = sf.Inertia.from_mass(1.0, (0.3, 0.1, 0.0), (0.1, 0.2, 0.3))
    builder = sf.ModelBuilder("coupled")
    for k, above in enumerate((None, "b1", "b2"), 1):
        joint, place = sf.Revolute("xyz"[k - 1]), (0.4, 0.0, 0.1 * k)
        builder.add_body(f"b{k}", parent=above, joint=joint, placement=place, inertia=solid)
    builder.add_frame("tool", "b3", sf.Transform.from_rpy((0.1, 0.2, 0.3), (0.2, 0.0, 0.1)))
    return builder.couple("b3_joint", ("b1_joint", 0.5)).build()


def mixed():
    """Return a floating tree with joints of many freedoms, and frames on a body and on the base."""
    solid = sf.Inertia.from_mass(1.0, (0.3, 0.1, 0.0), (0.1, 0.2, 0.3))
    turned = sf.Transform.from_rpy((0.3, 0.2, 0.1), (0.4, -0.2, 0.3))
    builder = sf.ModelBuilder("mixed")
    joints = (("a", None, sf.Free()), ("b", "a", sf.Spherical()), ("c", "a", sf.Universal()))
    for name, parent, joint in (*joints, ("d", "c", sf.Helical("y", pitch=0.2))):
        builder.add_body(name, parent=parent, joint=joint, placement=turned, inertia=solid)
    return builder.add_frame("camera", "world", turned).add_frame("tip", "d", turned).build()


MODELS = {"tree6": lambda: sf.load("tree6"), "mixed": mixed, "coupled": coupled}
TOLERANCE = {"rtol": 1e-11, "atol": 1e-11}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


@pytest.fixture(params=[None, "numpy"])
def backend(request):
    return request.param


def names_of(model):
    return (model.body_names[-1], *model.frame_names[:2], model.body_names[1])


def pairs_of(model):
    names = names_of(model)
    return [*zip(names, reversed(names), strict=True), (names[0], model.base_name)]


def from_world(model, q, name):
    """Return the 6x6 matrices that take motions from world coordinates to a frame's."""
    pose = sf.frame_pose(model, q, name)
    R, p = pose[..., :3, :3], pose[..., :3, 3]
    X = np.zeros((*q.shape[:-1], 6, 6))
    E = np.swapaxes(R, -1, -2)
    rx = np.zeros_like(R)
    rx[..., [2, 0, 1], [1, 2, 0]], rx[..., [1, 2, 0], [2, 0, 1]] = p, -p
    X[..., :3, :3] = X[..., 3:, 3:] = E
    X[..., 3:, :3] = -E @ rx
    return X


def test_motions_of_all_bodies_are_those_of_the_world_moved_to_the_frame(model, backend):
    q, v = sf.random_state(model, (2, 3), seed=4)
    a = np.cos(v)
    for name in names_of(model)[: 2 if backend is None else 4]:
        X = from_world(model, q, name)[..., None, :, :]
        for function, args in ((sf.body_velocities, (q, v)), (sf.body_accelerations, (q, v, a))):
            seen = function(model, *args, frame=name, backend=backend)
            world = function(model, *args, frame="world")
            assert np.allclose(seen, (X @ world[..., None])[..., 0], **TOLERANCE)
            assert seen.shape == (2, 3, model.nb, 6)


def test_the_jacobian_times_the_rates_is_the_velocity_in_the_same_frame(model, backend):
    q, v = sf.random_state(model, 4, seed=1)
    for name, frame in pairs_of(model)[: 2 if backend is None else 5]:
        J = sf.jacobian(model, q, name, frame=frame, backend=backend)
        seen = sf.frame_velocity(model, q, v, name, frame=frame, backend=backend)
        assert np.allclose((J @ v[..., None])[..., 0], seen, **TOLERANCE)
        world = sf.frame_velocity(model, q, v, name, frame="world")
        moved = (from_world(model, q, frame) @ world[..., None])[..., 0]
        assert np.allclose(seen, moved, **TOLERANCE)


@pytest.mark.parametrize("backend", [None, "numpy"])
@pytest.mark.parametrize(
    "function", [sf.jacobian, sf.jacobian_bias, sf.derivatives.jacobian_derivatives]
)
def test_a_point_is_refused_where_the_motion_is_that_at_another_origin(function, backend):
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 4, seed=1)
    state = (q, v) if function is sf.jacobian_bias else (q,)
    name, other = model.body_names[1], model.body_names[0]
    for frame in ("world", other, name, model.base_name):
        # calls without a point are prepared first: the fast call must not take one with it
        for _ in range(2):
            function(model, *state, name, frame=frame, backend=backend)
        with pytest.raises(sf.errors.NotApplicableError, match=f"'point' .*frame='{frame}': the"):
            function(model, *state, name, (0.1, 0.2, 0.3), frame=frame, backend=backend)
    found = function(model, *state, name, (0.1, 0.2, 0.3), backend=backend)
    assert not np.allclose(found, function(model, *state, name))


def test_the_own_name_is_the_own_frame(model):
    q, v = sf.random_state(model, 3, seed=2)
    for name in names_of(model):
        own = sf.frame_velocity(model, q, v, name, frame=name)
        assert np.allclose(own, sf.frame_velocity(model, q, v, name, frame="body"), **TOLERANCE)


def test_derivatives_are_those_of_differences_and_of_the_traced_program(model, backend):
    q, v = sf.random_state(model, 3, seed=7)
    runs = {"backend": backend}
    for name, frame in pairs_of(model)[: 1 if backend is None else 5]:

        def jacobian(q, name=name, frame=frame):
            return sf.jacobian(model, q, name, frame=frame, backend="numpy")

        H = sf.derivatives.jacobian_derivatives(model, q, name, frame=frame, **runs)
        if backend is None and model.name == "tree6":
            exact = sf.compile(jacobian, model, derivative="tangent")(q)
            assert np.allclose(H, exact, **TOLERANCE)
        steps = 1e-6 * np.eye(model.nv)[:, None]
        ahead, behind = (jacobian(sf.integrate(model, q, s)) for s in (steps, -steps))
        assert np.allclose(np.moveaxis(H, -1, 0), (ahead - behind) / 2e-6, atol=1e-8)
        bias = sf.jacobian_bias(model, q, v, name, frame=frame, **runs)
        assert np.allclose(bias, np.einsum("...ijk,...j,...k->...i", H, v, v), **TOLERANCE)
        by_q, by_v = sf.derivatives.frame_velocity_derivatives(
            model, q, v, name, frame=frame, **runs
        )
        assert np.allclose(by_v, jacobian(q), **TOLERANCE)
        assert np.allclose(by_q, np.einsum("...ijk,...j->...ik", H, v), **TOLERANCE)


def test_far_from_the_origin_no_digit_is_lost():
    builder = sf.ModelBuilder("far")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    builder.add_body("base", joint=sf.Free(), inertia=solid)
    for k in (1, 2):
        place = sf.Transform.from_rpy((0.1 * k, 0.3, -0.2), (0.2, 0.1, 0.4))
        builder.add_body(
            f"arm{k}", parent="base", joint=sf.Revolute("y"), placement=place, inertia=solid
        )
    model = builder.build()
    q, v = sf.random_state(model, seed=5)
    near = sf.body_velocities(model, q, v, frame="arm1")
    q[:3] += 8.39e6
    assert np.allclose(sf.body_velocities(model, q, v, frame="arm1"), near, rtol=1e-14, atol=1e-14)


def test_a_long_tree_has_machine_code_for_a_named_frame():
    model = sf.random_tree(40, 2)
    q, v = sf.random_state(model, 5, seed=3)
    name = model.body_names[20]
    fast = sf.body_velocities(model, q, v, frame=name)
    slow = sf.body_velocities(model, q, v, frame=name, backend="numpy")
    assert np.allclose(fast, slow, rtol=1e-10, atol=1e-10)
    with pytest.raises(sf.errors.NotApplicableError, match="rolled form"):
        sf.body_velocities(model, q, v, frame=name, backend="rolled")


def test_reserved_words_win_over_bodies_of_that_name():
    builder = sf.ModelBuilder("odd", base_name="ground")
    solid = sf.Inertia.from_mass(1.0, (0.3, 0.1, 0.0), (0.1, 0.2, 0.3))
    builder.add_body("world", joint=sf.Revolute("z"), inertia=solid)
    place = {"placement": (1.0, 0.0, 0.0), "inertia": solid}
    builder.add_body("body", parent="world", joint=sf.Revolute("x"), **place)
    model = builder.build()
    q, v = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    for word, same in (("world", "ground"), ("body", None)):
        seen = sf.body_velocities(model, q, v, frame=word)
        if same is not None:
            assert np.allclose(seen, sf.body_velocities(model, q, v, frame=same))
        else:
            assert np.allclose(seen[0], (0, 0, 1, 0, 0, 0))


def test_prepared_calls_keep_frames_apart():
    model = sf.load("tree6")
    q, v = sf.random_state(model, 3, seed=1)
    first = {name: sf.body_velocities(model, q, v, frame=name) for name in names_of(model)}
    again = {name: sf.body_velocities(model, q, v, frame=name) for name in names_of(model)}
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.allclose(*first.values())
    other = sf.load("tree10")
    q, v = sf.random_state(other, 3, seed=1)
    assert sf.body_velocities(other, q, v, frame="body1").shape == (3, 10, 6)


def test_symbols_and_single_precision_go_through():
    model = sf.load("double_pendulum")
    upper, lower = model.body_names[:2]
    a, b, x, y = sympy.symbols("a b x y")
    seen = sf.frame_velocity(model, [a, b], [x, y], upper, frame=lower)
    numbers = {a: 0.3, b: -0.7, x: 1.1, y: 0.4}
    want = sf.frame_velocity(model, [0.3, -0.7], [1.1, 0.4], upper, frame=lower)
    assert np.allclose([float(sympy.sympify(s).subs(numbers)) for s in seen], want)
    q = np.array([[0.3, -0.7]], np.float32)
    single = sf.frame_velocity(model, q, q, upper, frame=lower)
    assert single.dtype == np.float32
    assert np.allclose(single, sf.frame_velocity(model, q.astype(float), q, upper, frame=lower))


def test_other_libraries_take_named_frames_as_they_take_words():
    jax = pytest.importorskip("jax")
    model = sf.load("tree6")
    q, v = sf.random_state(model, 3, seed=1)
    want = sf.body_velocities(model, q, v, frame="body5")
    function = sf.interop.jax_function(partial(sf.body_velocities, frame="body5"), model)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        assert np.allclose(np.asarray(function(q, v)), want)
    xarray = pytest.importorskip("xarray")
    states = [xarray.DataArray(x, dims=("time", "c")) for x in (q, v)]
    found = sf.body_velocities(model, *states, frame="body5")
    assert found.dims[0] == "time" and np.allclose(found.values, want)
    kernel = sf.compile(partial(sf.body_velocities, frame="body5"), model)
    assert np.allclose(kernel(q, v), want)


@pytest.mark.parametrize("bad", ["nothing", "bod1", None, 3, ("body",), ["body1"]])
def test_other_words_are_refused_with_what_there_is(bad):
    model = sf.load("tree6")
    q, v = sf.random_state(model, seed=1)
    with pytest.raises(sf.errors.OptionError, match="option 'frame'") as caught:
        sf.body_velocities(model, q, v, frame=bad)
    assert "'body', 'world', 'aligned', or the name of a body or frame" in str(caught.value)
    if bad == "bod1":
        assert "did you mean" in str(caught.value)


def test_point_accelerations_have_no_other_frame():
    model = sf.load("tree6")
    q, v = sf.random_state(model, seed=1)
    with pytest.raises(sf.errors.OptionError, match="body_accelerations: option 'frame'"):
        sf.body_accelerations(model, q, v, v, frame="body1", kind="classical")
