"""Rollouts of gymnasium's own files against MuJoCo, and MuJoCo's rules on files of our own."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sixfold as sf

mujoco = pytest.importorskip("mujoco")
gymnasium = pytest.importorskip("gymnasium")

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def _twin(path: Path) -> Any:
    """Return MuJoCo's model: elliptic cones, converged solver, contacts with the floor alone."""
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.cone, m.opt.solver = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtSolver.mjSOL_NEWTON
    m.opt.tolerance, m.opt.iterations = 0.0, 200
    m.opt.ls_tolerance, m.opt.ls_iterations = 1e-12, 100
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    off = mujoco.mjtDisableBit
    m.opt.disableflags |= int(off.mjDSBL_EULERDAMP) | int(off.mjDSBL_ACTUATION)
    floor = m.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    m.geom_contype[:], m.geom_conaffinity[:] = ~floor, floor
    return m


def _difference(path: Path, duration: float, starts: int = 16, **options: Any) -> float:
    """Return how far default calls are from MuJoCo after a time, from random speeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        model = sf.load(path)
        ground = sf.contact.Ground.from_mjcf(path, model, **options)
    m = _twin(path)
    dt, steps = m.opt.timestep, round(duration / m.opt.timestep)
    rng = np.random.default_rng(0)
    q0, v0 = np.tile(sf.neutral(model), (starts, 1)), rng.standard_normal((starts, model.nv))
    q, _ = sf.rollout(model, q0, v0, dt=dt, steps=steps, every=steps, contacts=ground)
    between, d, worst = sf.interop.convert(model, m), mujoco.MjData(m), 0.0
    for k in range(starts):
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:] = between.q_to(q0[k]), between.v_to(q0[k], v0[k])
        for _ in range(steps):
            mujoco.mj_step(m, d)
        worst = max(worst, float(np.abs(between.q_from(d.qpos.copy()) - q[k, -1]).max()))
    return worst


@pytest.mark.parametrize("name", ["hopper", "walker2d", "half_cheetah", "ant", "humanoid"])
def test_a_robot_of_gymnasium_moves_as_in_mujoco(name: str) -> None:
    assert _difference(ASSETS / f"{name}.xml", 0.3, limits=True) < 1e-8


def test_joint_limits_have_their_own_softness(tmp_path: Path) -> None:
    path = tmp_path / "arm.xml"
    path.write_text(
        """<mujoco><option timestep="0.002"/><compiler angle="radian"/><worldbody>
        <geom type="plane" size="5 5 .1" solref="0.01 1" pos="0 0 -1"/>
        <body><joint name="a" axis="0 1 0" range="-0.2 0.2" solreflimit="0.08 0.7"
            solimplimit="0 0.8 0.01" margin="0.05"/>
          <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/>
          <body pos="0.3 0 0"><joint name="b" axis="0 1 0" range="-0.3 0.3"/>
            <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body></body>
        </worldbody></mujoco>"""
    )
    assert _difference(path, 0.3, limits=True) < 1e-10


@pytest.mark.parametrize("solimp", ["0 0.8 0.01", "0.015 1 0.031", "1.45 0.975", "0.5 0.9 0 2 0.1"])
def test_an_impedance_beyond_its_bounds_is_clamped(tmp_path: Path, solimp: str) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(
        f"""<mujoco><worldbody><geom type="plane" size="5 5 .1" solimp="{solimp}"/>
        <body pos="0 0 0.11"><freejoint/><geom size="0.1" solimp="{solimp}"/></body>
        </worldbody></mujoco>"""
    )
    assert _difference(path, 0.2) < 1e-9


@pytest.mark.filterwarnings("ignore::sixfold.errors.RobotFileWarning")
def test_a_ball_with_margins_rests_where_mujoco_puts_it(tmp_path: Path) -> None:
    path = tmp_path / "ball.xml"
    path.write_text(
        """<mujoco><worldbody><geom type="plane" size="5 5 .1" margin="0.01"/>
        <body pos="0 0 0.125"><joint type="slide" axis="0 0 1"/><geom size="0.1" margin="0.01"/>
        </body></worldbody></mujoco>"""
    )
    model = sf.load(path)
    ground = sf.contact.Ground.from_mjcf(path, model)
    q, _ = sf.rollout(model, [0.0], None, dt=2e-3, steps=1000, contacts=ground)
    assert 0.02 - 1e-3 < q[-1, 0] + 0.025 < 0.02  # both margins are added
    assert _difference(path, 0.5) < 1e-10


def test_shapes_with_parameters_of_their_own_meet_the_plane_by_them(tmp_path: Path) -> None:
    path = tmp_path / "three.xml"
    path.write_text(
        """<mujoco><worldbody><geom type="plane" size="5 5 .1" solref="0.01 1.2" friction=".7 0 0"/>
        <body pos="0 0 .11"><freejoint/><geom size=".1" solref="0.05 0.5" friction=".2 0 0"/></body>
        <body pos="1 0 .11"><freejoint/><geom size=".1" solref="-900 -20" solmix="3"/></body>
        <body pos="2 0 .11"><freejoint/><geom size=".1" priority="2" friction=".1 0 0"/></body>
        <body pos="3 0 .11"><freejoint/><geom size=".1" condim="1"/></body>
        </worldbody></mujoco>"""
    )
    assert _difference(path, 0.2) < 1e-9


def test_softness_follows_the_bodies_of_the_file_where_links_are_welded(tmp_path: Path) -> None:
    path = tmp_path / "leg.xml"
    path.write_text(
        """<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
        <body pos="0 0 .5"><freejoint/><geom size=".1"/>
          <body pos="0 0 -.1"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.3"
            size=".03"/><body name="foot" pos="0 0 -.3"><geom size=".08" mass="0.3"/></body></body>
        </body></worldbody></mujoco>"""
    )
    assert _difference(path, 0.3) < 1e-9
