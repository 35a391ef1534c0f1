"""The same bits for every number of lanes, and in every floating-point environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.compiler.llvm.runtime import jit
from tests.llvm.quantities import FLAGS, MACHINE, REGISTERS, registers

ENVIRONMENTS = {
    "x86_64": {
        "flush to zero": 0x9FC0,
        "rounding up": 0x5F80,
        "unmasked exceptions": 0x1F80 & ~0x0680,
    },
    "aarch64": {"flush to zero": 1 << 24, "rounding up": 1 << 22},
}
"""Words of MXCSR and FPCR; few processors with the latter can stop at exceptions."""


def computed(folder, *word, lanes=None):
    """Return what another process computes, a hash for each result."""
    names = {k: x for k, x in os.environ.items() if k != "SIXFOLD_LANES"}
    if lanes is not None:
        names["SIXFOLD_LANES"] = str(lanes)
    done = subprocess.run(
        [sys.executable, "-m", "tests.llvm.quantities", *map(str, word)],
        capture_output=True,
        text=True,
        check=False,
        env={**names, "SIXFOLD_CACHE_DIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def usual(folder):
    """What is computed with the lanes of this processor in the default environment."""
    return computed(folder)


@pytest.mark.parametrize("lanes", jit.WIDTHS)
def test_every_number_of_lanes_gives_the_same_bits(folder, usual, lanes):
    assert computed(folder, lanes=lanes) == usual


@pytest.mark.parametrize("name", ["flush to zero", "rounding up", "unmasked exceptions"])
def test_the_floating_point_environment_of_the_process_changes_no_bit(folder, usual, name):
    """States that are not finite are among them: they must not end the process."""
    word = ENVIRONMENTS.get(MACHINE, {}).get(name)
    if word is None:
        pytest.skip(f"no such environment on {MACHINE}")
    assert computed(folder, word) == usual


needs_registers = pytest.mark.skipif(MACHINE not in REGISTERS, reason="no registers known")


@needs_registers
def test_a_kernel_leaves_the_environment_as_it_was():
    """Flags too: they belong to whoever worked before."""
    read, write = registers()
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 5, seed=1)
    v[2] = np.nan
    kernel = sf.compile(sf.inverse_dynamics, arm)
    before, out = read(), np.empty((5, 6))
    for word in ENVIRONMENTS[MACHINE].values():
        write(word)
        kernel.ufunc(q, v, v, out=out)  # NumPy clears the flags itself
        after = read()
        write(before)
        assert after | FLAGS == word | FLAGS
    for word in (before & ~FLAGS, before | FLAGS):
        write(word)
        kernel.quick(q[2], v[2], v[2])
        after = read()
        write(before)
        assert after & 1 == word & 1  # an invalid operation


@needs_registers
def test_the_environment_of_a_callers_choice_is_back_after_compiling():
    read, write = registers()
    before = read()
    for word in ENVIRONMENTS[MACHINE].values():
        try:
            write(word)
            with jit.usual_environment():
                inside = read()
            after = read()
        finally:
            write(before)
        assert after | FLAGS == word | FLAGS != inside | FLAGS
        assert inside | FLAGS == before | FLAGS


def test_the_warnings_of_numpy_are_its_own(recwarn):
    """A row that is not finite warns nobody, and hides no warning of NumPy's own."""
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 5, seed=1)
    v[2] = np.inf
    with np.errstate(all="raise"):
        assert not np.isfinite(sf.inverse_dynamics(arm, q, v, v)[2]).any()
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(3))
        assert np.isfinite(sf.inverse_dynamics(arm, q, v, v)[3]).all()
    with pytest.warns(RuntimeWarning, match="invalid"):
        np.subtract(np.inf, np.full(3, np.inf))


@pytest.mark.parametrize("text", ["3", "0", "-4", "16", "four", "4.0"])
def test_a_number_of_lanes_that_there_is_not_is_an_error(monkeypatch, text):
    monkeypatch.setenv("SIXFOLD_LANES", text)
    with pytest.raises(sf.errors.OptionError, match=r"SIXFOLD_LANES(.|\n)*1, 2, 4 or 8") as caught:
        sf.compile(sf.inverse_dynamics, sf.load("pendulum"))
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", jit.WIDTHS)
def test_both_precisions_take_the_number_of_lanes(monkeypatch, lanes, dtype):
    own = jit.lanes(dtype)
    monkeypatch.setenv("SIXFOLD_LANES", f" {lanes} ")
    kernel = sf.compile(lambda q: [q[0] * 2.0], sf.load("pendulum"), dtype=dtype)
    assert kernel.lanes == jit.lanes(dtype) == lanes
    monkeypatch.setenv("SIXFOLD_LANES", "")
    assert jit.lanes(dtype) in (own, 8, 4, 1)
