"""`import sixfold` stays light: heavy libraries load only when a package needs them."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = (
    "llvmlite",
    "sympy",
    "gmpy2",
    "mpmath",
    "jax",
    "viser",
    "matplotlib",
    "scipy",
    "mujoco",
    "pinocchio",
    "click",
)


def loaded_after(code):
    """Return the top-level modules that a fresh interpreter has loaded after running code."""
    ask = (
        f"{code}\nimport json, sys\nprint(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def modules():
    return loaded_after("import sixfold")


@pytest.mark.parametrize("library", HEAVY)
def test_import_does_not_load(library, modules):
    assert library not in modules


def test_import_loads_numpy_only(modules):
    before = loaded_after("import numpy")
    private = {name for name in modules - before if name not in sys.stdlib_module_names}
    assert private == {"sixfold"}


def test_symbols_load_sympy_when_they_appear():
    code = "import sixfold as sf, sympy; sf.math.sin(sympy.Symbol('x'))"
    assert "sympy" in loaded_after(code)


def test_import_time_is_noted(record_property, tmp_path):
    """With byte code, as an installed package has it: compiling the sources takes twice as long."""
    clock = "import time, numpy; t = time.time(); import sixfold; print(time.time() - t)"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(4):  # the first compiles
        done = subprocess.run(
            [sys.executable, "-c", clock],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        times.append(float(done.stdout))
    record_property("import_seconds_beyond_numpy", round(min(times), 3))
    print(f"import sixfold: {min(times):.3f} s beyond NumPy")
    assert list(tmp_path.rglob("sixfold/__init__.*.pyc"))


def test_every_public_name_is_there():
    import sixfold as sf

    assert sorted(set(sf.__all__)) == sorted(sf.__all__)
    for name in sf.__all__:
        try:
            assert getattr(sf, name) is not None
        except sf.errors.NotApplicableError as error:  # a class of another library is its base
            assert name == "VectorEnv" and "sixfold[learn]" in str(error)


def test_export_and_study_files_know_all_quantities_in_a_fresh_interpreter():
    code = (
        "import sixfold as sf; assert len(sf.export(sf.load('pendulum'), 'mass_matrix').files) == 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "from sixfold.runtime import all_quantities; assert 'mass_matrix' in all_quantities()"
    subprocess.run([sys.executable, "-c", code], check=True)
