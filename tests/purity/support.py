"""Runs that several attacks share, and modules that are written for one test."""

import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np

import sixfold as sf

PENDULUM = sf.load("double_pendulum")
START = [1.0, 0.5]


def simulate(control, duration=0.02, **options):
    """Return a short motion."""
    return sf.simulate(PENDULUM, START, None, duration, control=control, **options)


def as_python(control, duration=0.02, **options):
    """Return the same motion with everything run as Python."""
    return simulate(control, duration, backend="numpy", **options)


def rollout(control, steps=20, **options):
    """Return the configurations of a short rollout."""
    start = np.array([START, START]), np.zeros((2, 2))
    return sf.rollout(PENDULUM, *start, dt=1e-3, steps=steps, control=control, **options)[0]


def agree(found, expected):
    """Compare two motions: equal but for the rounding of compiled code."""
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.tau, expected.tau, rtol=1e-9, atol=1e-9)


class Package:
    """A package of modules in a folder that can be imported."""

    def __init__(self, folder, name, monkeypatch):
        self.folder, self.name = folder / name, name
        self.folder.mkdir()
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        self.write("__init__", "")

    def write(self, module, text):
        """Write a module, without importing it."""
        (self.folder / f"{module}.py").write_text(textwrap.dedent(text))
        importlib.invalidate_caches()

    def load(self, module):
        """Import a module."""
        return importlib.import_module(f"{self.name}.{module}")

    def forget(self):
        """Let the next import start from the files."""
        for name in [x for x in sys.modules if x.partition(".")[0] == self.name]:
            del sys.modules[name]


def run_fresh(text):
    """Run a script in a new process, where NumPy has not loaded `numpy.random`; return its text."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(text)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert found.returncode == 0, found.stderr
    return found.stdout + found.stderr
