"""Exact solutions: the pendulum of IFToMM A01 and the torque-free body of Jacobi."""

import pytest

pytest.importorskip("scipy", reason="the exact solutions are elliptic functions of SciPy")
from tests.surveys import simulation_accuracy as bench


def test_the_pendulum_of_iftomm_follows_the_elliptic_functions():
    assert bench.pendulum(1e-3, 200.0) < 1e-9


def test_a_torque_free_body_follows_jacobi():
    speed, turn = bench.torque_free(1e-3, 20.0)
    assert speed < 1e-11
    assert turn < 1e-11


def test_the_wrong_solution_is_noticed():
    speed, turn = bench.torque_free(1e-2, 20.0, "midpoint")
    assert speed > 1e-6 and turn > 1e-6


def test_long_runs_of_the_double_pendulum_keep_their_energy():
    drift, _ = bench.energy("rk4", 1e-3, 100_000)
    assert drift <= 3e-8
    drift, _ = bench.energy("rk4", 1e-4, 100_000)
    assert drift <= 5e-12


def test_momentum_and_quaternions_last():
    assert bench.momentum("lie_rk4", 10_000) <= 1e-12
    assert bench.quaternion_norm("rk4", 100_000) <= 1e-15
