"""Functions on Nvidia's cards, with a stand-in for the driver: no card is needed, none is used."""

from __future__ import annotations

import ctypes
import gc
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.devices.cuda import dlpack, driver
from sixfold.devices.cuda.arrays import stream_of
from tests.devices.fake_cuda import ByDlpack, FakeCuda, Foreign

MODEL = sf.load("double_pendulum")


def states(count, dtype="float64"):
    """Return states, huge angles among them."""
    q, v = (x.astype(dtype) for x in sf.random_state(MODEL, count, seed=0))
    q[0], q[-1] = 1.01e5, -0.0
    return q, v


@pytest.fixture
def energy(fake):
    return sf.cuda_function(sf.kinetic_energy, MODEL)


@pytest.mark.parametrize(("count", "dtype"), [(1, "float64"), (300, "float64"), (129, "float32")])
def test_arrays_in_host_memory_give_the_bits_of_the_kernel(fake, count, dtype):
    function = sf.cuda_function(sf.forward_dynamics, MODEL)
    q, v = states(count, dtype)
    tau = np.ones_like(v)
    found = function(q, v, tau)
    assert isinstance(found, np.ndarray) and found.dtype == dtype
    assert found.tobytes() == sf.forward_dynamics(MODEL, q, v, tau).tobytes()
    ((blocks, threads, launched, _),) = fake.launches
    assert launched == count
    assert blocks * threads >= count > (blocks - 1) * threads
    assert not fake.contexts
    gc.collect()
    assert not fake.memory  # arguments and results are freed


def test_several_results_keywords_and_broadcasting_are_those_of_the_function(fake):
    model = sf.load("floating_link")
    function = sf.cuda_function(sf.inverse_dynamics_derivatives, model)
    q, v = (x.reshape(2, 3, -1) for x in sf.random_state(model, 6, seed=1))
    a = np.linspace(-1, 1, model.nv)
    found = function(q, a=a, v=v)
    for x, y in zip(found, sf.inverse_dynamics_derivatives(model, q, v, a), strict=True):
        assert x.shape == y.shape and x.tobytes() == y.tobytes()
    worldwide = partial(sf.inverse_dynamics, f_ext_frame="body")
    assert "f_ext" in repr(sf.cuda_function(worldwide, model, inputs={"f_ext": (model.nb, 6)}))


def test_device_arrays_stay_on_the_card_and_results_are_device_arrays(fake, energy):
    q, v = states(150)
    there = [Foreign(fake, x) for x in (q, v)]
    found = energy(*there)
    interface = found.__cuda_array_interface__
    assert interface["version"] == 3 and interface["shape"] == (150,) == found.shape
    assert interface["typestr"] == "<f8" and interface["strides"] is None
    assert interface["stream"] == 1 and fake._owner(interface["data"][0], 8 * 150) == 0
    assert not any(name.startswith("cuMemcpy") for name in fake.calls)  # nothing is copied
    assert found.get().tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()
    assert found.size == 150 and "card 0" in repr(found) and found.nbytes == 1200
    assert energy.device == found.device == 0


def test_results_are_arguments_of_the_next_function(fake):
    forward = sf.cuda_function(sf.forward_dynamics, MODEL)
    inverse = sf.cuda_function(sf.inverse_dynamics, MODEL)
    q, v = states(10)
    there = [forward.to_device(x) for x in (q, v, np.ones_like(v))]
    a = forward(*there)
    found = inverse(*there[:2], a).get()
    expected = sf.inverse_dynamics(MODEL, q, v, sf.forward_dynamics(MODEL, q, v, np.ones_like(v)))
    assert found.tobytes() == expected.tobytes()
    assert len(fake.launches) == 2


def test_work_waits_for_the_streams_of_its_arguments_and_is_done_on_the_one_asked_for(fake, energy):
    q, v = states(5)
    expected = sf.kinetic_energy(MODEL, q, v)
    early, late = Foreign(fake, q, stream=77), Foreign(fake, v, stream=88)
    found = energy(early, late)
    # on the stream of the first argument, after what the second one's has been given
    assert fake.launches[-1][3] == found.stream == 77
    assert found.get().tobytes() == expected.tobytes()
    early, late = Foreign(fake, q, stream=77), Foreign(fake, v, stream=88)
    other = energy(early, late, stream=99)
    assert fake.launches[-1][3] == other.stream == 99
    assert np.isnan(early.read()).all()  # the call did not wait
    assert other.get().tobytes() == expected.tobytes()
    assert not fake.events


def test_memory_is_freed_after_the_work_that_uses_it(fake, energy):
    q, v = states(5)
    out = Foreign(fake, np.zeros(5))
    there = [energy.to_device(x) for x in (q, v)]
    energy(*there, out=out)
    del there  # the work still waits in its stream
    gc.collect()
    assert list(fake.memory) == [out.pointer]
    assert out.read().tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()


def test_streams_of_all_kinds_are_taken():
    class Torch:
        cuda_stream = 5

    class Cupy:
        ptr = 6

    class Protocol:
        def __cuda_stream__(self):
            return 0, 7

    assert [stream_of("f", x) for x in (Torch(), Cupy(), Protocol(), 8, 0, None)] == [
        *(5, 6, 7, 8),
        driver.LEGACY,
        None,
    ]
    for wrong in ("fast", -3, True, 1.5, object()):
        with pytest.raises(sf.OptionError, match="stream"):
            stream_of("f", wrong)


def test_results_are_written_to_the_arrays_that_are_given(fake, energy):
    q, v = states(6)
    there = [Foreign(fake, x) for x in (q, v)]
    out = Foreign(fake, np.zeros(6))
    blocks = len(fake.memory)
    assert energy(*there, out=out) is out
    assert len(fake.memory) == blocks
    fake.drain(1)
    assert out.read().tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()
    for wrong, error, words in (
        (np.zeros(6), sf.ArgumentError, "on the card"),
        ((out, out), sf.ArgumentError, "1 arrays"),
        (Foreign(fake, np.zeros(5)), sf.ShapeError, "'out'"),
        (Foreign(fake, np.zeros(6, np.float32)), sf.NumberError, "float32"),
        (Foreign(fake, np.zeros(6), data=(out.pointer, True)), sf.NumberError, "read-only"),
        (Foreign(fake, np.zeros(6), data=(there[0].pointer, False)), sf.NumberError, "overlap"),
    ):
        with pytest.raises(error, match=words):
            energy(*there, out=wrong)
    with pytest.raises(sf.NotApplicableError, match="out="):
        energy(q, v, out=out)
    with pytest.raises(sf.NotApplicableError, match="stream="):
        energy(q, v, stream=7)


def test_arrays_are_taken_by_dlpack_on_the_stream_of_the_work_and_released(fake, energy):
    q, v = states(7)
    there = [ByDlpack(Foreign(fake, x)) for x in (q, v)]
    found = energy(*there, stream=31)
    assert [x.streams for x in there] == [[31], [31]]
    assert found.get().tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()
    assert not dlpack._KEPT  # both were released
    with pytest.raises(sf.ShapeError, match="leading axes"):
        energy(there[0], ByDlpack(Foreign(fake, v[:3])))
    assert not dlpack._KEPT  # after an error too


def test_results_are_given_away_by_dlpack_and_live_as_long_as_their_tensors(fake, energy):
    q, v = states(4)
    found = energy(Foreign(fake, q, stream=55), Foreign(fake, v, stream=55))
    assert found.__dlpack_device__() == (dlpack.CUDA, 0)
    capsule = found.__dlpack__(stream=66)
    pointer = found.pointer
    del found
    gc.collect()
    tensor = dlpack.opened(capsule)
    assert tensor.pointer == pointer and tensor.shape == (4,) and tensor.dtype == "float64"
    fake.drain(66)  # which waits for stream 55
    values = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), (4,))
    assert values.tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()
    assert pointer in fake.memory
    tensor.release()
    gc.collect()
    assert pointer not in fake.memory
    found = energy(Foreign(fake, q), Foreign(fake, v))
    copied = dlpack.opened(found.__dlpack__(copy=True, dl_device=(2, 0), max_version=(1, 0)))
    assert copied.pointer != found.pointer
    expected = found.get().tobytes()
    assert ctypes.string_at(copied.pointer, 32) == expected
    copied.release()
    with pytest.raises(BufferError, match="on device"):
        found.__dlpack__(dl_device=(1, 0))
    unused = found.__dlpack__(stream=-1)
    assert len(dlpack._KEPT) == 1
    del unused
    assert not dlpack._KEPT


def test_capsules_are_those_that_numpy_reads_and_writes():
    given = np.arange(24.0).reshape(2, 3, 4)
    tensor = dlpack.opened(given[:, ::2].__dlpack__())
    assert tensor.shape == (2, 2, 4) and tensor.strides == (12, 8, 1)
    assert tensor.dtype == "float64" and tensor.device == (1, 0)
    assert tensor.pointer == given.ctypes.data
    tensor.release()

    class Ours:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **_):
            return dlpack.capsule_of(given.ctypes.data, given.shape, 64, (1, 0), given)

    read = np.from_dlpack(Ours())
    assert read.ctypes.data == given.ctypes.data and np.array_equal(read, given)
    assert len(dlpack._KEPT) == 1
    del read
    assert not dlpack._KEPT
    used = given.__dlpack__()
    dlpack.opened(used).release()
    assert dlpack.opened(used) is None
    whole = dlpack.opened(np.arange(3).__dlpack__())
    assert whole.dtype == "DLPack's kind 0 of 64 bits"
    whole.release()


class Reluctant(ByDlpack):
    """A tensor with gradients."""

    def __dlpack__(self, *, stream=None):
        raise BufferError("Can't export tensors that require gradient")

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")


def test_arrays_that_cannot_be_taken_are_named_with_the_way_out(fake, energy):
    q, v = states(4)
    good = Foreign(fake, v)
    for wrong, error, words in (
        (q, sf.ArgumentError, "all on|one place"),
        (Foreign(fake, q[:3]), sf.ShapeError, r"leading axes(.|\n)*same number"),
        (Foreign(fake, q[:1]), sf.ShapeError, r"'q'(.|\n)*broadcast on the card"),
        (Foreign(fake, np.zeros((4, 3))), sf.ShapeError, r"'q'(.|\n)*\(\.\.\., 2\)"),
        (Foreign(fake, q.astype("f4")), sf.NumberError, r"'v'(.|\n)*float32, like the first"),
        (Foreign(fake, q, strides=(8, 32)), sf.NumberError, r"C order(.|\n)*contiguous"),
        (Foreign(fake, q, strides=(8,)), sf.NumberError, "C order"),
        (Foreign(fake, q, mask=object()), sf.NumberError, "mask"),
        (Foreign(fake, q, data=None), sf.NumberError, "incomplete"),
        (Foreign(fake, q, data=(q.ctypes.data, False)), sf.NumberError, "does not know"),
        (Reluctant(good), sf.NumberError, r"require gradient(.|\n)*detach"),
    ):
        with pytest.raises(error, match=words):
            energy(wrong, good)
    strange = [Foreign(fake, np.zeros((4, 2), kind)) for kind in ("f2", "f2")]
    with pytest.raises(sf.NumberError, match="<f2"):
        energy(*strange)
    with pytest.raises(sf.ArgumentError, match="q, v"):
        energy(good)
    with pytest.raises(sf.NumberError, match="to_device"):
        energy.to_device(np.array(["a"]))
    with pytest.raises(sf.NumberError, match=r"longdouble|float128"):
        energy.to_device(np.zeros(2, np.longdouble))
    assert energy.to_device([1, 2]).get().tolist() == [1.0, 2.0]
    assert not fake.contexts and not fake.launches
    with pytest.raises(sf.NumberError, match="cuda_function"):
        sf.kinetic_energy(MODEL, good, good)


def test_empty_batches_are_taken_and_launch_nothing(fake, energy):
    assert energy(np.zeros((0, 2)), np.zeros((0, 2))).shape == (0,)
    none = [Foreign(fake, np.zeros((3, 0, 2)), data=(0, False)) for _ in range(2)]
    assert energy(*none).get().shape == (3, 0)
    assert not fake.launches


def test_arrays_of_another_card_are_refused(installed):
    fake = installed(FakeCuda(cards=2))
    energy = sf.cuda_function(sf.kinetic_energy, MODEL, device=1)
    q, v = states(3)
    here = [Foreign(fake, x, card=1) for x in (q, v)]
    assert energy(*here).get().tobytes() == sf.kinetic_energy(MODEL, q, v).tobytes()
    with pytest.raises(sf.NumberError, match=r"card 1(.|\n)*card 0(.|\n)*device=0"):
        energy(Foreign(fake, q, card=0), here[1])
    with pytest.raises(sf.OptionError, match="below 2"):
        sf.cuda_function(sf.kinetic_energy, MODEL, device=2)
    with pytest.raises(sf.OptionError, match="device"):
        sf.cuda_function(sf.kinetic_energy, MODEL, device="gpu")


def test_a_machine_without_the_driver_or_a_card_is_told_so(installed, monkeypatch):
    def nothing():
        raise OSError("libcuda.so.1: cannot open shared object file")

    installed(None)
    monkeypatch.setattr(driver, "open_library", nothing)
    with pytest.raises(sf.NotApplicableError, match=r"without Nvidia's driver(.|\n)*opencl"):
        sf.cuda_function(sf.kinetic_energy, MODEL)
    installed(FakeCuda(cards=0))
    with pytest.raises(sf.NotApplicableError, match="NO_DEVICE"):
        sf.cuda_function(sf.kinetic_energy, MODEL)
    installed(FakeCuda(capability=(7, 5)))
    with pytest.raises(sf.NotApplicableError, match=r"7\.5(.|\n)*Ampere"):
        sf.cuda_function(sf.kinetic_energy, MODEL)
    old = FakeCuda()
    del old._functions["cuEventDestroy_v2"]
    installed(old)
    with pytest.raises(sf.NotApplicableError, match="too old"):
        sf.cuda_function(sf.kinetic_energy, MODEL)


def test_errors_of_the_driver_are_errors_of_the_library(fake, energy):
    q, v = states(3)
    fake.refuses = True
    with pytest.raises(sf.DeviceError, match=r"INVALID_PTX(.|\n)*line 7: no such kernel"):
        energy(q, v)
    fake.refuses = False
    fake.broken["cuLaunchKernel"] = 400
    with pytest.raises(sf.DeviceError, match="cuLaunchKernel failed: CUDA_ERROR_INVALID_HANDLE"):
        energy(q, v)
    fake.broken.clear()
    fake.most_bytes = 100
    with pytest.raises(sf.TooLargeError, match=r"OUT_OF_MEMORY(.|\n)*fewer states"):
        energy(q, v)
    assert not fake.contexts  # each was put back
    gc.collect()
    assert not fake.memory


def test_kernels_are_compiled_once_for_each_dtype_and_unloaded_with_the_function(fake):
    energy = sf.cuda_function(sf.kinetic_energy, MODEL)
    for dtype in ("float64", "float32", "float64"):
        energy(*states(3, dtype))
    assert fake.calls.count("cuModuleLoadDataEx") == len(fake.modules) == 2
    assert ".entry sixfold_run" in energy.source("float32")
    with pytest.raises(sf.NumberError, match="float16"):
        energy.source("float16")
    del energy
    gc.collect()
    assert not fake.modules
