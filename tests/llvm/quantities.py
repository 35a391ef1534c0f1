"""What a process computes, as a hash for each result: `python -m tests.llvm.quantities [WORD]`.

With a word, it is computed in the floating-point environment of that word, kernels included.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.compiler.llvm.modules.straight import MIN_STREAMING_BYTES
from sixfold.compiler.llvm.runtime import jit

MACHINE = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
FLAGS = {"x86_64": 0x3F}.get(MACHINE, 0)
"""Bits of the word that tell what has happened, rather than what is to happen."""
REGISTERS = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @read() {
  %p = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %x = load i32, ptr %p
  %y = zext i32 %x to i64
  ret i64 %y
}
define void @write(i64 %y) {
  %p = alloca i32
  %x = trunc i64 %y to i32
  store i32 %x, ptr %p
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  ret void
}
""",
    "aarch64": """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define i64 @read() {
  %y = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %y
}
define void @write(i64 %y) {
  call void @llvm.aarch64.set.fpcr(i64 %y)
  ret void
}
""",
}
_LOADED: list[Any] = []


def registers() -> tuple[Callable[[], int], Callable[[int], None]]:
    """Return what reads and what writes the word that holds the environment."""
    loaded = jit.Loaded(jit.object_code(REGISTERS[MACHINE]))
    _LOADED.append(loaded)
    word = ctypes.c_int64
    read = ctypes.PYFUNCTYPE(word)(loaded.address("read"))
    return read, ctypes.PYFUNCTYPE(None, word)(loaded.address("write"))


def user(q, v):
    return np.sin(v) * 1e-300 + (2.0**-1060 * q[0] + q[0] / 3.0) * (1e-200 * 1e-110)


def cases():
    """Return models with states whose speeds are, or have products, below the normal range."""
    free = sf.random_tree(2, 2, joints=(sf.Free, sf.Revolute))
    for model in (sf.load("cart_pendulum"), free, sf.load("planar_chain:5")):
        q, v = sf.random_state(model, 37, seed=2)
        v[::2] *= np.geomspace(1e-320, 1e-150, len(v[::2]))[:, None]
        bad = v.copy()
        bad[::3, 0], bad[1::3, 0] = np.nan, np.inf
        single = [x.astype(np.float32) for x in (q, np.clip(v, -1.0, 1.0) * 1e-20)]
        yield model, q, v, bad, single


def results(found, given):
    """Note all results of some models."""
    for model, q, v, bad, single in given:
        options = {"backend": "rolled"} if model.nb == 5 else {}
        for function in (sf.inverse_dynamics, sf.forward_dynamics):
            name = f"{model.name} {function.__name__}"
            found[name] = function(model, q, v, v, **options)
            found[name + ", not finite"] = function(model, q, v, bad, **options)
            found[name + ", one state"] = function(model, q[3], v[3], v[3], **options)
            found[name + ", strided"] = function(model, q[::2], v[::2], v[::2], **options)
        if model.nq > model.nv:
            found[f"{model.name} single"] = sf.inverse_dynamics(model, *single, single[1])
            found[f"{model.name} energy"] = sf.kinetic_energy(model, q, v)
            found[f"{model.name} rollout"] = np.hstack(
                [x[:, -1] for x in sf.rollout(model, q, v, dt=1e-3, steps=3)]
            )
    model, q, v, *_ = given[0]
    found["user's own"] = sf.compile(user, model)(q, v)
    many = [np.resize(x, (60_011, x.shape[1])) for x in (q, v)]
    found["threads"] = sf.inverse_dynamics(model, *many, many[1])
    kernel = sf.compile(sf.inverse_dynamics, model)
    found["past the caches"] = kernel.ufunc_for(MIN_STREAMING_BYTES)(*many, many[1])


def main() -> None:
    found, given = {}, list(cases())
    sf.set_threads(2)
    if len(sys.argv) > 1:
        read, write = registers()
        before, word = read(), int(sys.argv[1])
        write(word)
        results(found, given)
        after = read()
        write(before)
        assert after & ~FLAGS == word, (hex(after), hex(word))
    else:
        results(found, given)
    names = {k: hashlib.sha256(np.ascontiguousarray(x)).hexdigest() for k, x in found.items()}
    print(json.dumps(names))


if __name__ == "__main__":
    main()
