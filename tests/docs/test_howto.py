"""The how-to pages, followed for real: each adds a thing from outside, which then works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sixfold as sf
from sixfold.runtime import all_quantities
from sixfold.scalar.operations import reading_of
from tests.docs.blocks import DOCS, blocks, run

QUANTITIES = all_quantities()

PAGES = sorted((DOCS / "howto").glob("*.md"))
SOURCE = Path(sf.__file__).parent


@pytest.fixture(autouse=True)
def own_kernels(tmp_path, monkeypatch):
    """Compile what the pages add anew."""
    monkeypatch.setenv("SIXFOLD_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_is_linked_from_the_index_and_the_architecture(page):
    for name in ("index.md", "architecture.md"):
        assert f"(howto/{page.name})" in (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    root = DOCS.parent
    for name in re.findall(r"`((?:tests/)?[a-z0-9_]+/[a-z0-9_/]+\.py)`", text):
        assert (SOURCE / name).is_file() or (root / name).is_file(), name


@pytest.mark.parametrize("backend", ["numpy", "unrolled", "rolled"])
def test_the_joint_of_the_page_obeys_the_laws(backend):
    cart = run(DOCS / "howto" / "joint.md")["cart"]
    q, v = sf.random_state(cart, 6, seed=3)
    a = np.random.default_rng(4).standard_normal(v.shape)
    tau = sf.inverse_dynamics(cart, q, v, a, backend=backend)
    found = sf.forward_dynamics(cart, q, v, tau, backend=backend)
    np.testing.assert_allclose(found, a, rtol=0, atol=1e-12)
    M = sf.mass_matrix(cart, q)
    energy = 0.5 * np.einsum("ni,nij,nj->n", v, M, v)
    np.testing.assert_allclose(sf.kinetic_energy(cart, q, v, backend=backend), energy, rtol=1e-13)


def test_the_joint_of_the_page_is_known_by_its_code():
    text = (DOCS / "howto" / "joint.md").read_text(encoding="utf-8")
    first = next(blocks(text))
    changed = first.replace("q[0] * self.radius", "q[0] * self.radius * 2")
    assert changed != first
    joints = []
    for code in (first, first, changed):
        namespace = {"__name__": "own"}
        exec(code, namespace)
        joints.append(namespace["Wheel"](0.3))
    assert joints[0].constants() == joints[1].constants() != joints[2].constants()


def test_the_power_law_of_the_page_finds_a_wrong_bias():
    text = (DOCS / "howto" / "joint.md").read_text(encoding="utf-8")
    wrong = text.replace("forward.cross(EY)", "EY.cross(forward)")
    assert wrong != text
    with_law = [code for code in blocks(wrong) if "CustomJoint" not in code]  # it would find it too
    assert any("def energy" in code for code in with_law)
    with pytest.raises(AssertionError):
        exec("\n".join(with_law).partition("for dtype")[0], {"__name__": "own"})


def test_the_page_of_the_page_gives_energies_that_shrink_towards_the_tips():
    names = run(DOCS / "howto" / "page.md")
    tree = names["arm"].tree
    for column in np.transpose(names["kernel"](names["q"], names["v"])):
        assert (column > 0).all()
    whole = names["columns"]
    for i in tree.bodies:
        if tree.parent[i]:
            assert (whole[tree.parent[i] - 1] >= whole[i - 1]).all()


def test_the_operation_of_the_page_has_its_derivative_in_machine_code():
    softplus = run(DOCS / "howto" / "operation.md")["softplus"]
    slope = sf.compile(lambda x: softplus(x[0]), inputs={"x": 1}, derivative="x")
    np.testing.assert_allclose(slope(np.array([0.3])), 1 / (1 + np.exp(-0.3)), rtol=1e-15)


def test_the_reader_of_the_page_makes_models_that_can_be_saved(tmp_path):
    arm = run(DOCS / "howto" / "file_format.md")["arm"]
    sf.save(arm, tmp_path / "arm.json")
    assert sf.load(tmp_path / "arm.json").digest == arm.digest


def test_the_number_of_the_page_is_registered():
    Interval = run(DOCS / "howto" / "backend.md")["Interval"]
    assert reading_of(Interval).rank == 5
    low = sf.math.sin(Interval(0.0, 0.2))
    assert low.low <= 0.0 and low.high >= np.sin(0.2)


@pytest.fixture
def motor_power():
    yield run(DOCS / "howto" / "quantity.md")["motor_power"]
    del QUANTITIES["motor_power"]


@pytest.mark.parametrize("robot", ["double_pendulum", "floating_link", "random_tree:7:2"])
def test_the_quantity_of_the_page_is_like_those_of_the_library(robot, motor_power):
    model = sf.load(robot)
    q, v = sf.random_state(model, 33, seed=1)
    want = (sf.inverse_dynamics(model, q, v, v) * v).sum(axis=-1)
    close = {"rtol": 1e-12, "atol": 1e-12 * np.abs(want).max()}
    for backend in (None, "numpy", "unrolled"):
        np.testing.assert_allclose(motor_power(model, q, v, v, backend=backend), want, **close)
    out = np.empty(33)
    assert motor_power(model, q=q, v=v, a=v, out=out) is out
    np.testing.assert_array_equal(out, motor_power(model, q, v, v))
    single = motor_power(model, *(x.astype(np.float32) for x in (q, v, v)))
    assert single.dtype == np.float32
    with pytest.raises(sf.errors.ShapeError, match="motor_power: argument 'v'"):
        motor_power(model, q, v[:, :-1], v)
    kernel = sf.compile(motor_power, model)
    np.testing.assert_array_equal(kernel(q, v, v), out)


USE_OF_THE_ROW = """
import numpy as np, sixfold as sf
import sixfold.quantities, sixfold.runtime
from sixfold import motor_power
arm = sf.load("double_pendulum")
q, v = sf.random_state(arm, 5, seed=1)
want = (sf.inverse_dynamics(arm, q, v, v) * v).sum(axis=-1)
np.testing.assert_allclose(motor_power(arm, q, v, a=v), want, rtol=1e-12)
assert sf.motor_power is motor_power is sixfold.quantities.motor_power
assert "motor_power" in sf.__all__ and "motor_power" in dir(sf)
assert "motor_power" in sixfold.runtime.all_quantities()
namespace = {}
exec("from sixfold import *", namespace)
assert namespace["motor_power"] is motor_power
assert sf.export(arm, "motor_power").files
"""


def test_inside_the_library_one_function_and_one_line_are_enough(tmp_path):
    code, *_ = blocks((DOCS / "howto" / "quantity.md").read_text(encoding="utf-8"))
    shutil.copytree(SOURCE, tmp_path / "sixfold", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "sixfold" / "quantities" / "dynamics.py").open("a") as file:
        file.write("\n\n" + code[code.index("@quantity") :])
    with (tmp_path / "sixfold" / "__init__.pyi").open("a") as file:
        file.write("from sixfold.quantities import motor_power as motor_power\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", USE_OF_THE_ROW], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_module_of_quantities_has_its_star():
    folder = SOURCE / "quantities"
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    for module in folder.glob("[a-z]*.py"):
        # no public names: contact makes a quantity for each scene, readings look them up
        if module.stem not in ("contact", "readings"):
            assert f"from sixfold.quantities.{module.stem} import *\n" in text
