"""Rollouts on Nvidia's cards, with a stand-in for the driver that runs the PTX it is given."""

from __future__ import annotations

import ctypes
import gc
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.devices.cuda import dlpack, driver, rollouts
from sixfold.formats import bundled
from tests.devices.fake_cuda import ByDlpack, FakeCuda, Foreign
from tests.devices.rollout_cases import CASES, Counting, same

MODEL = sf.load("double_pendulum")
HOW = {"dt": 1e-2, "steps": 6, "every": 2}


def starts(count):
    """Return starts, and forces of each step and trajectory."""
    q0, v0 = sf.random_state(MODEL, count, seed=2)
    return q0, v0, np.random.default_rng(0).standard_normal((*v0.shape[:-1], 6, MODEL.nv))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "lie_rk4", "midpoint"])
@pytest.mark.parametrize("name", ["pendulum", "floating_link", "puma560"])
def test_a_rollout_has_the_bits_of_the_rollout(fake, name, integrator, dtype):
    model = sf.load(name)
    q0, v0 = sf.random_state(model, (2, 1), seed=1)
    q0[0, 0, -1] = 1.01e5  # an angle that is reduced by many bits
    tau = np.random.default_rng(1).standard_normal((2, 1, 5, model.nv))
    how = {"dt": 1e-2, "steps": 5, "every": 2, "integrator": integrator, "dtype": dtype}
    assert same(sf.cuda_rollout, model, q0, v0, tau, how)
    ((blocks, threads, rows, stream),) = fake.launches
    assert (blocks, threads, rows, stream) == (1, driver.GROUP, 2, driver.LEGACY)


@pytest.mark.parametrize("name", CASES)
def test_rollouts_with_all_that_they_take_have_the_bits_of_the_rollout(fake, name):
    assert same(sf.cuda_rollout, *CASES[name](6))


@pytest.mark.skipif(not bundled.folder(), reason="example-robot-data is not installed")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_robot_whose_stages_are_calls_of_one_function_has_the_bits_of_the_rollout(fake, dtype):
    model = sf.load("panda")
    q0, v0 = sf.random_state(model, 2, seed=1)
    how = {"dt": 1e-3, "steps": 2, "integrator": "rk4", "dtype": dtype}
    assert same(sf.cuda_rollout, model, q0, v0, np.ones(model.nv), how)
    (machine,) = fake.modules.values()
    assert len([name for name in machine.functions if name.startswith("routine")]) == 1


def test_more_trajectories_than_a_block_has_threads_are_taken(fake):
    q0, v0, _ = starts(130)
    found = sf.cuda_rollout(MODEL, q0, v0, dt=1e-2, steps=1)
    for x, y in zip(found, sf.rollout(MODEL, q0, v0, dt=1e-2, steps=1), strict=True):
        assert isinstance(x, np.ndarray) and x.tobytes() == y.tobytes()
    assert fake.launches == [(2, driver.GROUP, 130, driver.LEGACY)]
    gc.collect()
    assert not fake.memory and not fake.contexts  # arguments and results are freed


def test_arrays_that_all_trajectories_share_are_copied_once(fake):
    q0, v0, tau = starts(50)
    sizes = []
    allocate = rollouts._placed

    def noted(card, host, stream):
        sizes.append(host.shape)
        return allocate(card, host, stream)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollouts, "_placed", noted)
        found = sf.cuda_rollout(MODEL, q0, v0[0], tau[0], **HOW)
    assert sizes == [(50, 2), (50, 2), (1,), (6, 1), (6, 2)]  # q, v, dt, t, tau
    for x, y in zip(found, sf.rollout(MODEL, q0, v0[0], tau[0], **HOW), strict=True):
        assert x.tobytes() == y.tobytes()


def test_kernels_are_loaded_once_for_equal_steps(fake):
    q0, v0, tau = starts(3)

    def law(t, q, v):
        return -q - v

    for _ in range(2):
        sf.cuda_rollout(MODEL, q0, v0, tau, **HOW)
        sf.cuda_rollout(MODEL, q0, v0, control=law, **HOW)
    assert fake.calls.count("cuModuleLoadDataEx") == 2
    rollouts._loaded.cache_clear()
    gc.collect()
    assert not fake.modules


def test_rollouts_of_arrays_on_the_card_stay_there(fake):
    q0, v0, tau = starts((2, 2))
    expected = sf.rollout(MODEL, q0, v0, tau, **HOW)
    there = [Foreign(fake, x) for x in (q0, v0, tau)]
    for given in (there, (there[0], v0, tau), (q0, ByDlpack(there[1]), tau)):
        found = sf.cuda_rollout(MODEL, *given, **HOW)
        for x, y in zip(found, expected, strict=True):
            assert type(x).__name__ == "CudaArray" and x.shape == y.shape
            assert x.get().tobytes() == y.tobytes()
    assert not dlpack._KEPT
    energy = sf.cuda_function(sf.kinetic_energy, MODEL)(*found)
    assert energy.get().tobytes() == sf.kinetic_energy(MODEL, *expected).tobytes()
    single = Foreign(fake, q0.astype("f4"))
    found = sf.cuda_rollout(MODEL, single, None, dtype="float32", **HOW)
    expected = sf.rollout(MODEL, q0.astype("f4"), None, dtype="float32", **HOW)
    assert found[0].dtype == np.float32
    assert [x.get().tobytes() for x in found] == [x.tobytes() for x in expected]


def test_work_waits_for_the_streams_of_its_arguments_and_nobody_waits_for_the_work(fake):
    q0, v0, tau = starts(3)
    expected = sf.rollout(MODEL, q0, v0, tau, **HOW)
    for stream, used in ((None, 77), (99, 99)):
        there = Foreign(fake, q0, stream=77), Foreign(fake, v0, stream=88), Foreign(fake, tau)
        q, v = sf.cuda_rollout(MODEL, *there, stream=stream, **HOW)
        assert fake.launches[-1][3] == q.stream == v.stream == used
        assert fake.waiting[used]  # the launch
        assert v.get().tobytes() == expected[1].tobytes()
        assert not fake.waiting[used]
        assert q.get().tobytes() == expected[0].tobytes()
        del q, v  # which waits for all work on the card
    assert not fake.events


def test_memory_of_a_rollout_lives_until_its_results_go(fake):
    q0, v0, _ = starts(3)
    there = Foreign(fake, q0)
    q, v = sf.cuda_rollout(MODEL, there, v0, **HOW)
    blocks = set(fake.memory)
    assert {q.pointer, v.pointer} < blocks
    capsule, pointer = q.__dlpack__(stream=66), q.pointer
    del q, v
    gc.collect()
    tensor = dlpack.opened(capsule)
    assert tensor.pointer == pointer and tensor.shape == (3, 3, 2)
    fake.drain(66)
    values = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), (3, 3, 2))
    assert values.tobytes() == sf.rollout(MODEL, q0, v0, **HOW)[0].tobytes()
    tensor.release()
    gc.collect()
    assert list(fake.memory) == [there.pointer]


def test_the_memory_of_contacts_which_is_not_returned_lives_as_long(fake):
    model, q0, v0, tau, how = CASES["contact"](3)
    there = Foreign(fake, q0)
    found = sf.cuda_rollout(model, there, v0, tau, **how)
    assert fake.waiting[driver.LEGACY] and "cuMemFree_v2" not in fake.calls
    expected = sf.rollout(model, q0, v0, tau, **how)
    assert [x.get().tobytes() for x in found] == [x.tobytes() for x in expected]
    del found
    gc.collect()
    assert list(fake.memory) == [there.pointer]


def test_empty_batches_and_few_steps_launch_nothing(fake):
    assert sf.cuda_rollout(MODEL, np.zeros((0, 2)), None, **HOW)[0].shape == (0, 3, 2)
    q, v = sf.cuda_rollout(MODEL, Foreign(fake, np.zeros((4, 2))), None, dt=1e-2, steps=3, every=5)
    assert q.shape == v.shape == (4, 0, 2) and q.get().shape == (4, 0, 2)
    none = Foreign(fake, np.zeros((0, 2)), data=(0, False))
    assert sf.cuda_rollout(MODEL, none, None, **HOW)[1].shape == (0, 3, 2)
    assert not fake.launches


def test_arguments_that_make_no_sense_are_those_of_the_rollout(fake):
    rollout = partial(sf.cuda_rollout, MODEL, None, None)
    few = {"dt": 1e-2, "steps": 3}
    for more, error, words in (
        ({"integrator": "euler"}, sf.OptionError, "integrator"),
        ({"dtype": "float16"}, sf.OptionError, "dtype"),
        ({"steps": 0}, sf.OptionError, "steps"),
        ({"control": Counting()}, sf.NotApplicableError, r"cuda_rollout(.|\n)*calls"),
        ({"hold": True}, sf.NotApplicableError, "hold"),
        ({"stream": "fast"}, sf.OptionError, r"cuda_rollout(.|\n)*stream"),
        ({"stream": 7}, sf.NotApplicableError, r"cuda_rollout(.|\n)*stream="),
        ({"device": "gpu"}, sf.OptionError, r"cuda_rollout(.|\n)*number of a card"),
        ({"device": True}, sf.OptionError, "number of a card"),
        ({"device": 1}, sf.OptionError, r"cuda_rollout(.|\n)*below 1"),
        ({"tau": np.zeros((2, 2))}, sf.ShapeError, "tau"),
        ({"parameters": [1.0]}, sf.NotApplicableError, "parameters"),
    ):
        with pytest.raises(error, match=words):
            rollout(**few | more)
    with pytest.raises(sf.ArgumentError, match="cuda_rollout"):
        sf.cuda_rollout("arm", None, None, **few)
    with pytest.raises(sf.StateError, match="q0"):
        sf.cuda_rollout(MODEL, [np.nan, 0.0], None, **few)
    assert not fake.launches


def test_arrays_that_cannot_be_taken_are_named_with_the_way_out(fake):
    q0, v0, _ = starts(4)
    for wrong, error, words in (
        (Foreign(fake, q0[:, :1]), sf.ShapeError, "q0"),
        (Foreign(fake, q0, strides=(8, 32)), sf.NumberError, r"'q0'(.|\n)*C order"),
        (Foreign(fake, q0.astype("f2")), sf.NumberError, r"'q0'(.|\n)*float64 or float32"),
        (Foreign(fake, q0, mask=object()), sf.NumberError, r"cuda_rollout(.|\n)*mask"),
        (Foreign(fake, q0, data=(q0.ctypes.data, False)), sf.NumberError, "does not know"),
        (Foreign(fake, np.full_like(q0, np.nan)), sf.StateError, "q0"),
    ):
        with pytest.raises(error, match=words):
            sf.cuda_rollout(MODEL, wrong, v0, **HOW)
        with pytest.raises(error, match=words):
            sf.cuda_rollout(MODEL, wrong, Foreign(fake, v0), **HOW)
    half = ByDlpack(Foreign(fake, q0.astype("f2")))
    with pytest.raises(sf.NumberError, match="float16"):
        sf.cuda_rollout(MODEL, half, None, **HOW)
    assert not dlpack._KEPT and not fake.contexts and not fake.launches


def test_a_step_that_is_too_long_is_left_to_the_processor(fake, monkeypatch):
    monkeypatch.setattr("sixfold.evaluate.kernels.scan.MAX_STEP_NODES", 10)
    model = sf.rename(MODEL, {MODEL.body_names[0]: "another"})  # which has no kernel yet
    with pytest.raises(sf.NotApplicableError, match=r"too long(.|\n)*sixfold\.rollout"):
        sf.cuda_rollout(model, None, None, **HOW)


def test_the_rollout_of_the_processor_names_that_of_the_card(fake):
    with pytest.raises(sf.NumberError, match=r"'q0'(.|\n)*cuda_rollout"):
        sf.rollout(MODEL, Foreign(fake, np.zeros(2)), None, **HOW)


def test_trajectories_that_leave_the_finite_numbers_are_named(fake):
    v0 = np.array([[0.0, 0.0], [1e200, 0.0]])
    with pytest.warns(sf.NonFiniteStateWarning, match=r"cuda_rollout of .*1 of 2 trajectories"):
        found = sf.cuda_rollout(MODEL, None, v0, **HOW)
    with pytest.warns(sf.NonFiniteStateWarning, match=r"rollout of .*1 of 2 trajectories"):
        expected = sf.rollout(MODEL, None, v0, **HOW)
    for x, y in zip(found, expected, strict=True):
        assert np.array_equal(x, y, equal_nan=True) and np.isnan(y[1]).any()


def test_arrays_of_another_card_are_refused(installed):
    fake = installed(FakeCuda(cards=2))
    q0, _, _ = starts(2)
    found = sf.cuda_rollout(MODEL, Foreign(fake, q0, card=1), None, device=1, **HOW)
    assert found[0].device == 1
    assert found[0].get().tobytes() == sf.rollout(MODEL, q0, None, **HOW)[0].tobytes()
    with pytest.raises(sf.NumberError, match=r"card 1(.|\n)*card 0(.|\n)*device=0"):
        sf.cuda_rollout(MODEL, Foreign(fake, q0, card=0), None, device=1, **HOW)


def test_a_machine_without_the_driver_or_a_card_is_told_so(installed, monkeypatch):
    def nothing():
        raise OSError("libcuda.so.1: cannot open shared object file")

    installed(None)
    monkeypatch.setattr(driver, "open_library", nothing)
    with pytest.raises(sf.NotApplicableError, match=r"cuda_rollout(.|\n)*opencl_rollout"):
        sf.cuda_rollout(MODEL, None, None, **HOW)
    installed(FakeCuda(capability=(7, 5)))
    with pytest.raises(sf.NotApplicableError, match=r"7\.5(.|\n)*opencl_rollout"):
        sf.cuda_rollout(MODEL, None, None, **HOW)


def test_errors_of_the_driver_are_errors_of_the_library(fake):
    q0, v0, _ = starts(3)
    rollout = partial(sf.cuda_rollout, MODEL, q0, v0, **HOW)
    fake.refuses = True
    with pytest.raises(sf.DeviceError, match=r"cuda_rollout(.|\n)*INVALID_PTX(.|\n)*line 7"):
        rollout()
    fake.refuses = False
    fake.broken["cuLaunchKernel"] = 400
    with pytest.raises(sf.DeviceError, match="cuda_rollout: cuLaunchKernel failed"):
        rollout()
    fake.broken.clear()
    fake.most_bytes = 500
    with pytest.raises(sf.TooLargeError, match=r"cuda_rollout(.|\n)*OUT_OF_MEMORY"):
        rollout()
    assert not fake.contexts
    gc.collect()
    assert not fake.memory
