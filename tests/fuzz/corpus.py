"""Readers, and small sound files of each kind to begin with."""

import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import sixfold as sf
from sixfold.display.scene.surfaces import read_surfaces
from sixfold.formats import bundled
from sixfold.identification import Log
from sixfold.sweeps.study_file import read_study
from tests.formats.small_robots import SMALL

MJCF = """<mujoco model="m"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9"/>
<default><joint damping="0.1"/><default class="big"><geom size="0.2"/></default></default>
<asset><mesh name="none" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><body name="a" pos="0 0 1" quat="1 0 0 0">
<freejoint name="root"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom class="big" type="sphere" size="0.1"/><body name="b" euler="0 0.1 0">
<joint name="j" type="hinge" axis="0 1 0" range="-1 1"/><geom type="capsule" size="0.1 0.2"/>
<site name="tip" pos="0 0 1"/></body></body></worldbody>
<equality><joint joint1="j" polycoef="0 1 0 0 0"/></equality>
<actuator><motor joint="j" gear="2"/></actuator></mujoco>"""
STUDY = """title = "a"
robot = "double_pendulum"
quantity = "inverse_dynamics"
rows = 6
seed = 3
[draw.q]
configuration = true
[draw.v]
normal = [0.0, [0.5, 0.1]]
"""
GRID = """quantity = "gravity_force"
robot = "pendulum"
[grid]
q = [0.0, 1.0, 2.0]
[options]
backend = "numpy"
"""


@cache
def _arm():
    return sf.load("double_pendulum")


@cache
def _leg():
    """Return the file of a robot without the loops that a file of its own holds."""
    path = Path(tempfile.mkdtemp()) / "leg.urdf"
    sf.save(sf.load("gripper").without(constraints=True), path)
    return path


@cache
def _swing():
    return sf.simulate(_arm(), [0.3, 0.1], None, 0.01)


def _saved(suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{suffix}"
        save = _swing().save if suffix in (".npz", ".csv", ".parquet") else None
        if save is not None:
            save(path)
        else:
            sf.save(_arm(), path)
        return path.read_bytes()


def _log():
    stream = io.BytesIO()
    t = np.arange(5.0)
    np.savez(stream, t=t, q=np.zeros((5, 2)), tau=np.ones((5, 2)), v=np.zeros((5, 2)))
    return stream.getvalue()


def _loops():
    """Return constraints in a file of their own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loops.json"
        sf.save(sf.load("gripper"), Path(folder) / "x.urdf", constraints=path)
        return path.read_bytes()


def _urdfs():
    found = [text.encode() for text in SMALL.values()]
    for path in list(bundled.robots().values())[:40]:
        if path.suffix == ".urdf" and path.stat().st_size < 20_000:
            found.append(path.read_bytes())
    return found


STL = b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
STL += b"endloop\nendfacet\nendsolid x\n"
OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\n"
PLY = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
PLY += b"property float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
PLY += b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"

READERS = {
    "urdf": (".urdf", sf.load, _urdfs),
    "mjcf": (".xml", sf.load, lambda: [MJCF.encode()]),
    "json": (".json", sf.load, lambda: [_saved(".json")]),
    "constraints": (".json", lambda path: sf.load(_leg(), constraints=path), lambda: [_loops()]),
    "npz": (".npz", sf.Trajectory.load, lambda: [_saved(".npz")]),
    "log": (".npz", lambda path: Log.read(path, _arm()), lambda: [_log(), _saved(".npz")]),
    "csv": (".csv", lambda path: Log.read(path, _arm()), lambda: [_saved(".csv")]),
    "parquet": (".parquet", lambda path: Log.read(path, _arm()), lambda: [_saved(".parquet")]),
    "toml": (".toml", read_study, lambda: [STUDY.encode(), GRID.encode()]),
    "stl": (".stl", read_surfaces, lambda: [STL]),
    "obj": (".obj", read_surfaces, lambda: [OBJ]),
    "ply": (".ply", read_surfaces, lambda: [PLY]),
}
"""By name: suffix, reader of a path, function that returns the files to begin with."""
