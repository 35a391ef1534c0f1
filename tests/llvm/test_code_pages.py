"""Kernels lie in shared maps of memory, give their pages back, and running out is an error."""

import ctypes
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.graph import trace
from sixfold.compiler.llvm import Layout, build
from sixfold.compiler.llvm.runtime import code_pages, jit, limits
from sixfold.compiler.llvm.runtime.object_file import NotPlaceable, ObjectFile

pytestmark = pytest.mark.skipif(not code_pages.possible(), reason="LLVM's loader is used here")

X = np.array([[3.0, 4.0]])


def make(scale=2.0):
    program = trace(lambda x: [x[0] * scale + x[1]], (2,))
    return build("f", program, Layout(((2,),), ((1,),)))[0]


def used():
    return sum(home.count - sum(n for _, n in home.free) for home in code_pages._maps)


def test_many_kernels_take_few_maps():
    make(0.5)
    before = limits.maps()
    kernels = [make(1.0 + k) for k in range(15)]
    assert limits.maps() - before < 8  # some are the interpreter's own
    assert [float(kernel(X)[0, 0]) for kernel in kernels] == [3.0 * (1 + k) + 4 for k in range(15)]
    pages = {kernel._loaded._pages.address for kernel in kernels}
    assert len(pages) == 15


def test_pages_come_back_and_are_used_again():
    before = used()
    kernel = make(11.0)
    address = kernel._loaded._pages.address
    assert used() > before
    del kernel
    assert used() == before
    again = make(12.0)
    assert again._loaded._pages.address == address
    assert again(X) == 40.0


def test_code_is_never_writable_while_it_can_run():
    kernel = make(13.0)
    address = kernel._loaded._pages.address
    with open("/proc/self/maps") as file:
        for line in file:
            place, rights, *_ = line.split()
            start, stop = (int(x, 16) for x in place.split("-"))
            if start <= address < stop:
                assert rights == "r-xp"
                break
        else:
            pytest.fail("the code is nowhere")


def test_a_large_kernel_has_a_map_of_its_own_that_goes_with_it():
    size = code_pages.MAP_BYTES + 5
    maps = len(code_pages._maps)
    pages = code_pages.store(size, lambda address: b"\xc3" * size)
    assert len(code_pages._maps) == maps + 1 and pages.size >= size
    ctypes.CFUNCTYPE(None)(pages.address)()
    code_pages.release(pages)
    assert len(code_pages._maps) == maps


def test_free_runs_join_and_fit_best():
    home = code_pages.Map(0, 10)
    a, b, c = home.take(2), home.take(3), home.take(1)
    assert home.free == [(6, 4)] and home.take(5) is None
    home.give(a)
    assert home.free == [(0, 2), (6, 4)]
    assert home.take(2).start == 0
    home.give(c)
    assert home.free == [(5, 5)]
    home.give(b)
    assert home.free == [(2, 8)]


def test_the_system_without_memory_is_an_error_of_the_library(monkeypatch):
    held = [code_pages.store(code_pages._ALONE, lambda _: b"\xc3") for _ in range(4)]

    class Full:
        def __getattr__(self, name):
            return lambda *_: code_pages._FAILED

    before = used()
    with monkeypatch.context() as patch:
        patch.setattr(code_pages, "_system", lambda: Full())
        with pytest.raises(sf.errors.KernelMemoryError, match="refused") as caught:
            code_pages.store(2 * code_pages.MAP_BYTES, lambda _: b"")
    assert isinstance(caught.value, MemoryError) and isinstance(
        caught.value, sf.errors.SixfoldError
    )
    assert used() == before
    for pages in held:
        code_pages.release(pages)


def test_code_that_cannot_be_made_leaves_no_page_behind():
    before = used()
    with pytest.raises(NotPlaceable):
        code_pages.store(100, lambda _: (_ for _ in ()).throw(NotPlaceable("no")))
    assert used() == before


def test_too_many_maps_are_noticed_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(limits, "most_maps", lambda: limits.maps() + 10)
    with pytest.raises(sf.errors.KernelMemoryError, match="maps"):
        jit.object_code("define void @f() {\n  ret void\n}\n")


def test_too_little_memory_is_noticed_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(limits, "COMPILER_BYTES", 1 << 62)
    with pytest.raises(sf.errors.KernelMemoryError, match="compiler"):
        jit.object_code("define void @f() {\n  ret void\n}\n")


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


def test_an_object_with_anything_strange_is_left_to_llvm():
    code = jit.object_code("@x = global i64 3\ndefine ptr @f() {\n  ret ptr @x\n}\n")
    with pytest.raises(NotPlaceable, match="section"):
        ObjectFile(code)
    loaded = jit.Loaded(code)
    assert loaded._pages is None
    assert ctypes.CFUNCTYPE(ctypes.c_void_p)(loaded.address("f"))()
    for junk in (b"", b"\x7fELF", b"x" * 500, code[:70], code[:200]):
        with pytest.raises(NotPlaceable):
            ObjectFile(junk)


def test_an_unknown_symbol_is_not_guessed():
    text = "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n"
    found = ObjectFile(jit.object_code(text))
    with pytest.raises(NotPlaceable, match="nowhere"):
        found.image(mmap.PAGESIZE, lambda name: 0)


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
    assert loaded._pages is not None and loaded.address("none of them") == 0
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


def test_code_and_its_constants_lie_side_by_side_in_a_crowded_process():
    environment = {**os.environ, "SIXFOLD_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, "-c", APART], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
