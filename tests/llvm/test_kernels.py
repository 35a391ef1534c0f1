"""Machine code: right to the last places, and the same bits whichever way the rows are cut."""

import itertools
import multiprocessing
import pickle
import warnings
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import optimise, trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.layout import schedule
from sixfold.compiler.llvm.layout.schedule import plan
from sixfold.compiler.llvm.modules import straight as llvm_stage
from sixfold.compiler.llvm.runtime.jit import WIDTHS

ULP = np.finfo(float).eps


def kernel(function, *sizes, lanes=None):
    program = trace(function, sizes)
    layout = Layout(tuple((n,) for n in sizes), ((len(program.outputs),),))
    return build("test", program, layout, lanes=lanes)[0]


@pytest.fixture(scope="module")
def arm():
    return sf.load("puma560")


@pytest.fixture(scope="module")
def states(arm):
    q, v = sf.random_state(arm, 53, seed=1)
    return q, v, v[::-1].copy()


def test_a_plain_function_compiles(  # no robot anywhere
):
    k = kernel(lambda x, y: [x[0] * y[1] + sf.math.sin(x[1]), sf.math.sqrt(y[0]) / x[0]], 2, 2)
    x, y = np.array([[2.0, 0.3]]), np.array([[4.0, 5.0]])
    assert np.allclose(k(x, y), [[10 + np.sin(0.3), 1.0]], rtol=4 * ULP)


def test_every_supported_operation_matches_numpy():
    k = kernel(
        lambda x: [
            sf.math.sin(x[0]),
            sf.math.cos(x[0]),
            sf.math.sqrt(x[1]),
            sf.scalar.absolute(x[0]),
            sf.math.sign(x[0]),
            sf.math.if_positive(x[0], x[1], x[2]),
            -x[0],
            x[0] / x[1],
        ],
        3,
    )
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=101), rng.uniform(0.1, 9, 101), rng.normal(size=101)])
    a, b, c = x.T
    expected = [
        np.sin(a),
        np.cos(a),
        np.sqrt(b),
        np.abs(a),
        np.sign(a),
        np.where(a > 0, b, c),
        -a,
        a / b,
    ]
    assert np.allclose(k(x), np.column_stack(expected), rtol=2 * ULP, atol=0)


@pytest.mark.parametrize("name", ["puma560", "tree10", "floating_link", "random_tree:8:3"])
@pytest.mark.parametrize("function", [sf.inverse_dynamics, sf.forward_dynamics])
def test_results_are_the_same_bits_for_every_number_of_lanes(name, function):
    model = sf.load(name)
    program = sf.compile(function, model).graph
    layout = Layout(((model.nq,), (model.nv,), (model.nv,)), ((model.nv,),))
    q, v = sf.random_state(model, 37, seed=2)
    results = [
        build("f", program, layout, lanes=lanes)[0](q, v, v[::-1].copy()) for lanes in WIDTHS
    ]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_results_do_not_depend_on_the_batch_around_a_row(arm, states):
    q, v, a = states
    whole = sf.inverse_dynamics(arm, q, v, a)
    for size in (1, 2, 3, 4, 5, 7, 11):
        parts = [
            sf.inverse_dynamics(arm, q[i : i + size], v[i : i + size], a[i : i + size])
            for i in range(0, len(q), size)
        ]
        assert np.array_equal(np.concatenate(parts), whole), size


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_threads_do_not_change_a_bit(arm, threads):
    q, v = sf.random_state(arm, 40_001, seed=3)
    before = sf.get_threads()
    try:
        sf.set_threads(1)
        one = sf.forward_dynamics(arm, q, v, v)
        sf.set_threads(threads)
        assert np.array_equal(sf.forward_dynamics(arm, q, v, v), one)
    finally:
        sf.set_threads(before)


def test_a_number_of_threads_that_makes_no_sense_is_refused():
    for count in (0, -1, 1.5, True, "two"):
        with pytest.raises(sf.errors.OptionError, match="set_threads"):
            sf.set_threads(count)


def test_every_stride_gives_the_same_bits(arm, states):
    q, v, a = states
    k = sf.compile(sf.inverse_dynamics, arm)
    plain = k(q, v, a)
    raw = np.zeros(q.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(q.shape) if raw[1:].size == q.nbytes else q
    unaligned[...] = q
    wide = np.zeros((len(q), 2 * q.shape[1]))
    wide[:, ::2] = q
    for same in (
        np.asfortranarray(q),
        q[::-1][::-1],
        wide[:, ::2],
        unaligned,
        np.repeat(q, 2, axis=0)[::2],
        q.astype(q.dtype.newbyteorder()),
    ):
        assert np.array_equal(k(same, v, a), plain)
    assert np.array_equal(k(q[::-1], v[::-1], a[::-1])[::-1], plain)
    out = np.empty((arm.nv, len(q))).T
    assert k(q, v, a, out=out) is out
    assert np.array_equal(out, plain)


def test_one_row_broadcasts_and_an_empty_batch_stays_empty(arm, states):
    q, v, a = states
    k = sf.compile(sf.inverse_dynamics, arm)
    assert np.array_equal(k(q[0], v, a)[5], k(q[0], v[5], a[5]))
    assert k(q[:0], v[:0], a[:0]).shape == (0, 6)


def test_a_result_may_overwrite_its_own_input(arm, states):
    q, v, a = states
    k = sf.compile(sf.inverse_dynamics, arm)
    mine = q.copy()
    k(mine, v, a, out=mine)
    assert np.array_equal(mine, k(q, v, a))


def test_a_wrong_width_is_refused_by_numpy_itself(arm, states):
    q, v, a = states
    with pytest.raises(ValueError, match="core dimension"):
        sf.compile(sf.inverse_dynamics, arm).ufunc(q[:, :5], v, a)


def test_a_bad_row_spoils_no_other_and_warns_nobody(arm, states):
    q, v, a = (x.copy() for x in states)
    clean = sf.inverse_dynamics(arm, q, v, a)
    q[3, 1], v[10, 2], a[20, 0] = np.nan, np.inf, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spoiled = sf.inverse_dynamics(arm, q, v, a)
    rows = [3, 10, 20]
    keep = np.setdiff1d(np.arange(len(q)), rows)
    assert np.array_equal(spoiled[keep], clean[keep])
    assert not np.isfinite(spoiled[rows]).all(axis=1).any()


def test_a_compiled_function_of_the_users_own_equals_the_function(arm, states):
    q, v, _ = states

    def law(q, v, ref):
        """Computed torque towards a reference."""
        return sf.inverse_dynamics(arm, q, v, 100 * (ref - q) - 20 * v) + np.sin(q) * ref[0]

    k = sf.compile(law, arm, inputs={"ref": 6})
    ref = np.linspace(-1, 1, 6)
    by_hand = sf.inverse_dynamics(arm, q, v, 100 * (ref - q) - 20 * v) + np.sin(q) * ref[0]
    assert np.allclose(k(q, v, ref), by_hand, rtol=1e-12, atol=1e-11)
    assert k.signature == "(6),(6),(6)->(6)"
    assert "Computed torque" in k.doc


def test_a_function_of_unknown_size_asks_for_it(arm):
    with pytest.raises(sf.errors.NotApplicableError, match="inputs="):
        sf.compile(lambda q, ref: q + ref, arm)
    with pytest.raises(sf.errors.OptionError, match="inputs"):
        sf.compile(lambda q: q, arm, inputs={"other": 3})
    with pytest.raises(sf.errors.OptionError, match="dtype"):
        sf.compile(sf.mass_matrix, arm, dtype=np.int32)


def test_kernels_pickle(arm, states):
    q, v, a = states
    k = sf.compile(sf.forward_dynamics, arm)
    again = pickle.loads(pickle.dumps(k))
    assert np.array_equal(again(q, v, a), k(q, v, a))
    assert again.operations == k.operations


def test_a_kernel_shows_its_graph_text_and_machine_code(arm):
    k = sf.compile(sf.gravity_force, arm)
    assert k.flops == k.graph.flops() > 0
    assert "@loop" in k.llvm_ir
    assert "loop" in k.assembly
    assert k.ufunc.signature == k.signature


def test_a_long_program_in_pieces_gives_the_same_bits():
    model = sf.load("random_tree:12:5")
    program = sf.compile(sf.forward_dynamics, model).graph
    layout = Layout(((model.nq,), (model.nv,), (model.nv,)), ((model.nv,),))
    q, v = sf.random_state(model, 29, seed=4)
    whole = build("f", program, layout)[0](q, v, v)
    assert len(plan(program).pieces) > 1
    from sixfold.compiler.llvm.runtime import jit
    from sixfold.compiler.llvm.runtime.kernel import Kernel

    original = llvm_stage.plan
    try:
        for piece in (50, 100_000):
            llvm_stage.plan = partial(plan, piece=piece)
            text = llvm_stage.module(program, layout, jit.lanes(), jit.host()[0])
            k = Kernel("f", program.text(), layout, jit.lanes(), jit.object_code(text))
            assert np.array_equal(k(q, v, v), whole)
    finally:
        llvm_stage.plan = original


def test_a_program_too_long_for_a_twin_gives_the_same_bits(monkeypatch):
    """One state then goes through the lanes."""
    length = 3_000
    monkeypatch.setattr(schedule, "MAX_OPERATIONS", length)

    def recurrence(x):
        found = [x[0], x[1]]
        for k in range(length + 200):
            found.append(found[-1] * x[k % 3] - found[-2] * 0.75)
        return [*found[:: length // 7], found[-1], 0.0]

    program = trace(recurrence, (3,))
    layout = Layout(((3,),), ((len(program.outputs),),))
    x = np.random.default_rng(4).uniform(-1, 1, (70, 3))
    one, *others = (build("long", program, layout, lanes=n)[0] for n in WIDTHS)
    right = one.ufunc(x)
    assert "rows_1(" in one.llvm_ir
    for k in others:
        assert "rows_1(" not in k.llvm_ir
        assert (k.ufunc(x) == right).all()
        for rows in (1, 2, 3, 5):
            assert (k.ufunc(x[:rows]) == right[:rows]).all()
        assert (k(x[7]) == right[7]).all()
        assert (k.ufunc(x[::3]) == right[::3]).all()


@pytest.mark.parametrize("name", ["puma560", "double_pendulum", "floating_link", "rolling_ball"])
def test_machine_code_agrees_with_the_numpy_reading_for_every_quantity(name):
    model = sf.load(name)
    q, v = sf.random_state(model, 9, seed=5)
    a = np.random.default_rng(6).normal(size=v.shape)
    f = np.random.default_rng(7).normal(size=(9, model.nb, 6))
    body = model.body_names[-1]
    calls = [
        (sf.inverse_dynamics, (q, v, a, f)),
        (sf.forward_dynamics, (q, v, a, f)),
        (sf.mass_matrix, (q,)),
        (sf.inverse_mass_matrix, (q,)),
        (sf.bias_force, (q, v)),
        (sf.gravity_force, (q,)),
        (sf.coriolis_matrix, (q, v)),
        (sf.kinetic_energy, (q, v)),
        (sf.potential_energy, (q,)),
        (sf.momentum, (q, v)),
        (sf.centroidal_momentum, (q, v)),
        (sf.center_of_mass, (q,)),
        (sf.body_poses, (q,)),
        (sf.body_velocities, (q, v)),
        (sf.body_accelerations, (q, v, a)),
        (sf.joint_wrenches, (q, v, a)),
        (sf.joint_reaction_forces, (q, v, a)),
        (sf.position_rate, (q, v)),
        (sf.integrate, (q, v)),
    ]
    for function, arguments in calls:
        fast = function(model, *arguments)
        plain = function(model, *arguments, backend="numpy")
        scale = np.abs(plain).max() + np.abs(sf.gravity_force(model, q)).max() + 1
        assert np.abs(fast - plain).max() <= 200 * ULP * scale, function.__name__
    for frame in ("body", "world", "aligned"):
        fast = sf.jacobian(model, q, body, frame=frame)
        assert np.allclose(fast, sf.jacobian(model, q, body, frame=frame, backend="numpy"))


def test_an_unknown_backend_is_refused(arm, states):
    with pytest.raises(sf.errors.OptionError, match="backend"):
        sf.mass_matrix(arm, states[0], backend="fortran")


def test_optimising_twice_changes_nothing(arm):
    program = sf.compile(sf.inverse_dynamics, arm).graph
    assert optimise(program) == program


def test_another_point_needs_no_other_kernel(arm, states):
    from sixfold.runtime.kernels.kernel_cache import KERNELS

    q = states[0]
    sf.jacobian(arm, q, "link6", (0.1, 0.2, 0.3))
    before = len(KERNELS)
    moved = [sf.jacobian(arm, q, "link6", (0.1 * k, 0.0, 0.2)) for k in range(5)]
    assert len(KERNELS) == before
    assert not np.array_equal(moved[0], moved[1])


def _in_child(arguments):
    model, q, v = arguments
    return sf.forward_dynamics(model, q, v, v)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_models_and_big_batches_work_in_other_processes(arm, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    q, v = sf.random_state(arm, 20_000, seed=8)
    here = sf.forward_dynamics(arm, q, v, v)  # starts the threads of this process
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking while threads exist is the point
        with multiprocessing.get_context(method).Pool(1) as pool:
            there = pool.apply_async(_in_child, ((arm, q, v),)).get(timeout=120)
    assert np.array_equal(here, there)


def test_results_and_forces_of_several_axes_take_every_stride(arm, states):
    q, v, a = states
    poses = sf.compile(sf.body_poses, arm)
    plain = poses(q)
    n = len(q)
    for axes in itertools.permutations(range(4)):
        room = np.full(np.array([n, 6, 4, 4])[np.argsort(axes)], np.nan)
        out = room.transpose(np.argsort(np.argsort(axes)))
        assert out.shape == plain.shape
        assert np.array_equal(poses(q, out=out), plain)
    wide = np.full((n, 12, 8, 8), 7.0)
    poses(q, out=wide[:, ::2, 1:5, ::-2])
    assert np.array_equal(wide[:, ::2, 1:5, ::-2], plain)
    assert (wide[:, 1::2] == 7.0).all()
    assert (wide[:, :, 5:] == 7.0).all()
    forces = np.random.default_rng(9).normal(size=(n, 6, 6))
    straight = sf.inverse_dynamics(arm, q, v, a, forces)
    turned = np.ascontiguousarray(forces.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert np.array_equal(sf.inverse_dynamics(arm, q, v, a, turned), straight)


def test_more_axes_than_three_are_refused():
    with pytest.raises(sf.errors.ShapeError, match="at most 3"):
        sf.compile(lambda x: x.reshape(1, 2, 2, 2), inputs={"x": 8})


@pytest.mark.parametrize("name", ["puma560", "floating_link", "tree10"])
def test_single_precision_is_right_to_its_own_rounding(name):
    model = sf.load(name)
    q, v = sf.random_state(model, 61, seed=10)
    exact = [x.astype(np.float32).astype(float) for x in (q, v, v[::-1])]
    narrow = [x.astype(np.float32) for x in exact]
    for function, n in ((sf.inverse_dynamics, 3), (sf.forward_dynamics, 3), (sf.mass_matrix, 1)):
        result = function(model, *narrow[:n])
        wide = function(model, *exact[:n])
        assert result.dtype == np.float32
        scale = np.abs(wide).max()
        assert np.abs(result - wide).max() <= 200 * np.finfo(np.float32).eps * scale
        single = sf.compile(function, model, dtype=np.float32)
        assert np.array_equal(single(*narrow[:n]), result)
        rows = [single(*(x[i] for x in narrow[:n])) for i in range(61)]
        assert np.array_equal(np.stack(rows), result)
        turned = [np.asfortranarray(x)[::-1] for x in narrow[:n]]
        assert np.array_equal(single(*turned)[::-1], result)


def test_other_elementary_functions_in_single_precision_are_rounded_once():
    k = sf.compile(
        lambda x: np.concatenate([np.exp(x), np.arctan2(x, x[::-1]), np.tanh(x)]),
        inputs={"x": 3},
        dtype="float32",
    )
    x = np.random.default_rng(11).uniform(-9, 9, (50, 3)).astype(np.float32)
    wide = x.astype(float)
    turned = np.arctan2(wide, wide[:, ::-1])
    expected = np.concatenate([np.exp(wide), turned, np.tanh(wide)], axis=1)
    assert np.array_equal(k(x), expected.astype(np.float32))
