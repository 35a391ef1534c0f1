"""Real robots give the same dynamics here and in Pinocchio."""

from pathlib import Path

import numpy as np
import pytest

from sixfold.formats import bundled
from tests.formats.small_robots import ARM
from tests.surveys.robots_vs_pinocchio import Pair, differences, within

DEFAULT = ("ur5", "panda", "romeo_laas_small")
"""Robots for which the default call is compiled; axes of the last are parallel to 1e-9 or so."""
FIXED = ("panda", "ur5", "g1_29dof", "talos_reduced", "anymal_b", "tiago", "pr2", "romeo", "icub")
FLOATING = ("talos_full", "anymal_c", "solo12", "double_pendulum_continuous", "hector")
MIMIC = ("panda", "baxter", "tiago_pro")


def agree(path, *, floating=False, mimic="free", backend="numpy"):
    pin = pytest.importorskip("pinocchio")
    worst = differences(Pair(pin, Path(path), floating, mimic), 3, seed=1, backend=backend)
    assert within(worst), worst


def robot(name):
    if not bundled.folder():
        pytest.skip("example-robot-data is not installed")
    return bundled.robots()[name]


@pytest.mark.parametrize("name", DEFAULT)
def test_default_calls_agree(name):
    agree(robot(name), backend=None)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_robots_agree(name):
    agree(robot(name))


@pytest.mark.parametrize("name", FLOATING)
def test_floating_robots_agree(name):
    agree(robot(name), floating=True)


@pytest.mark.parametrize("name", MIMIC)
def test_robots_with_mimic_joints_agree_when_coupled(name):
    agree(robot(name), mimic="couple")


def test_a_small_robot_agrees_in_every_way(write):
    path = write(ARM)
    for floating in (False, True):
        for mimic in ("free", "couple"):
            agree(path, floating=floating, mimic=mimic, backend=None)


def test_a_wrong_mass_would_be_noticed(write):
    pin = pytest.importorskip("pinocchio")
    pair = Pair(pin, write(ARM), False)
    pair.theirs.inertias[1].mass *= 1 + 1e-11
    assert not within(differences(pair, 2, backend="numpy"))
    assert np.finfo(float).eps < 1e-12
