"""Object code is loaded, linked and unloaded, and running out of memory or maps is an error."""

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime import jit, limits

X = np.array([[3.0, 4.0]])
EMPTY = "define void @f() {\n  ret void\n}\n"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def make(scale=2.0):
    program = trace(lambda x: [x[0] * scale + x[1]], (2,))
    return build("f", program, Layout(((2,),), ((1,),)))[0]


@linux
def test_kernels_that_are_dropped_give_their_maps_back():
    make(0.5)(X)
    before = limits.maps()
    kernels = [make(1.0 + k) for k in range(40)]
    assert [float(kernel(X)[0, 0]) for kernel in kernels] == [3.0 * (1 + k) + 4 for k in range(40)]
    there = limits.maps()
    del kernels
    assert limits.maps() <= before + 8 < there


@linux
def test_code_is_never_writable_while_it_can_run():
    kernel = make(13.0)
    with open("/proc/self/maps") as file:
        for line in file:
            place, rights, *_ = line.split()
            start, stop = (int(x, 16) for x in place.split("-"))
            if start <= kernel.address < stop:
                assert rights == "r-xp"
                break
        else:
            pytest.fail("the code is nowhere")


def test_threads_make_and_drop_kernels_at_the_same_time():
    wrong = []

    def work(seed):
        for k in range(15):
            kernel = make(1000.0 * seed + k)
            if kernel(X) != 3.0 * (1000.0 * seed + k) + 4.0:
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_makes_and_drops_kernels():
    kept, dropped = make(21.0), make(22.0)
    child = os.fork()
    if child == 0:
        del dropped
        right = kept(X) == 67.0 and make(23.0)(X) == 73.0
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert kept(X) == 67.0 and dropped(X) == 70.0


def test_too_many_maps_are_noticed_before_anything_is_compiled_or_loaded(monkeypatch):
    code = jit.object_code(EMPTY)
    monkeypatch.setattr(limits, "most_maps", lambda: limits.maps() + 10)
    for step in (lambda: jit.object_code(EMPTY), lambda: jit.Loaded(code)):
        with pytest.raises(sf.errors.KernelMemoryError, match="maps"):
            step()


def test_too_little_memory_is_noticed_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(limits, "COMPILER_BYTES", 1 << 62)
    with pytest.raises(sf.errors.KernelMemoryError, match="compiler"):
        jit.object_code(EMPTY)


CROWDED = """
import mmap, sys
import numpy as np
import sixfold as sf
from sixfold.compiler.llvm.runtime import limits
from tests.long.forks import cart
sf.mass_matrix(cart(1.0), np.zeros(1))
if sys.argv[1] == "maps":
    held = []
    most = limits.most_maps()
    try:
        while True:  # neighbours of different protection are maps of their own
            held.append(mmap.mmap(-1, 4096, prot=mmap.PROT_READ if len(held) % 2 else 3))
    except OSError:
        pass
else:
    import resource
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), -1))
try:
    sf.mass_matrix(cart(2.0), np.zeros(1))
except sf.errors.KernelMemoryError as error:
    held = None
    resource = sys.modules.get("resource")
    if resource:
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert sf.mass_matrix(cart(2.0), np.zeros(1)) == 2.0
    print("refused:", str(error).splitlines()[0])
"""


@pytest.mark.parametrize("what", ["maps", "memory"])
def test_a_process_at_its_limits_gets_an_error_and_goes_on(what):
    if what == "maps" and (limits.most_maps() or 10**9) > 200_000:
        pytest.skip("this system lets a process have very many maps")
    done = subprocess.run(
        [sys.executable, "-c", CROWDED, what],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "SIXFOLD_CACHE": "off"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:")


def test_functions_and_data_elsewhere_are_reached():
    text = """
@sixfold_none = external global i64
declare ptr @memset(ptr, i32, i64)
define ptr @own() {
  ret ptr @sixfold_none
}
define ptr @fill(ptr %p) {
  %r = call ptr @memset(ptr %p, i32 7, i64 3)
  ret ptr %r
}
define ptr @itself() {
  ret ptr @fill
}
"""
    loaded = jit.Loaded(jit.object_code(text))
    assert loaded.address("none of them") == 0
    pointer = ctypes.c_void_p
    assert ctypes.CFUNCTYPE(pointer)(loaded.address("own"))() == id(None)
    buffer = ctypes.create_string_buffer(5)
    ctypes.CFUNCTYPE(pointer, pointer)(loaded.address("fill"))(ctypes.addressof(buffer))
    assert buffer.raw == b"\7\7\7\0\0"
    assert ctypes.CFUNCTYPE(pointer)(loaded.address("itself"))() == loaded.address("fill")


DAEMON = """
import threading, time
import numpy as np
import sixfold as sf
arm = sf.load("puma560")
kernel = sf.compile(sf.mass_matrix, arm)
q = np.zeros((5000, 6))
def work():
    while True:
        kernel(q)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


def test_threads_inside_kernels_do_not_stop_the_end_of_the_process():
    done = subprocess.run(
        [sys.executable, "-c", DAEMON], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


APART = """
import ctypes, random
import numpy as np
import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build

# leave holes of a few pages, gigabytes apart: the system puts small blocks of memory there
libc, reserved = ctypes.CDLL(None), 3 << 30
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
random.seed(1)
starts = [libc.mmap(None, reserved, 0, 0x4022, -1, 0) for _ in range(200)]
for start in starts:
    libc.munmap(start + random.randrange(1, 700) * (1 << 22), 4096 * random.randrange(1, 14))

x, kernels = np.linspace(1, 2, 33)[:, None], []
for k in range(30):
    n = random.randrange(2, 400)
    program = trace(lambda x: [x[0] * (j + k + 0.3) + sf.math.sin(x[0]) for j in range(n)], (1,))
    kernels.append(build("f", program, Layout(((1,),), ((n,),)))[0])
    assert np.allclose(kernels[-1](x), x * (np.arange(n) + k + 0.3) + np.sin(x))
print("right")
"""


@linux
def test_code_and_its_constants_lie_side_by_side_in_a_crowded_process():
    environment = {**os.environ, "SIXFOLD_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", APART], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
