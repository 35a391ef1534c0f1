"""Every public callable of the library, with good arguments to spoil."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.control import controllers
from sixfold.dynamics.book import planar
from sixfold.interop.coordinates import JointMap, Piece, Site
from sixfold.spatial import Matrix3, Symmetric3, solids
from tests.public_names import find, places

EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Target:
    """Something to call: a name, the way to it, and a good value for each of its parameters."""

    label: str
    make: Callable[[], Callable[..., Any]]
    """Returns the callable; for a method, bound to a fresh object."""
    good: Mapping[str, Callable[[], Any]]
    """Good values of required parameters, and of those optional ones that have one."""
    required: tuple[str, ...]
    optional: tuple[str, ...]
    positional: tuple[str, ...]
    """Names that may be passed by place, in order."""
    forced: Mapping[str, Any] = field(default_factory=dict)
    """Values that are passed whatever else is spoilt."""
    numpy_errors: bool = False
    """Whether NumPy's own errors may come through."""
    type_errors: bool = False
    """Whether Python's own TypeError may come through, as it does for operators."""


@cache
def dp() -> sf.Model:
    return sf.load("double_pendulum")


@cache
def motion() -> sf.Trajectory:
    return sf.simulate(dp(), np.zeros(2), np.ones(2), 0.05, dt=1e-2)


@cache
def chain() -> Any:
    return sf.planar.PlanarChain((1.0, 2.0), (0.1, 0.2), (1.0, 1.0))


@cache
def equations() -> Any:
    return sf.equations(sf.load("pendulum"), samples=1)


@cache
def kernel() -> Any:
    return sf.compile(sf.inverse_dynamics, dp())


def _law(t: Any, q: Any, v: Any) -> Any:
    return -q - v


def _numbers(row: Any, x: Any = 0.0) -> Any:
    return row + x


def _halved(carried: Any) -> Any:
    return [0.5 * x for x in carried] if isinstance(carried, list) else 0.5 * carried


def _cost(t: Any, q: Any, v: Any, tau: Any) -> Any:
    return q @ q + tau @ tau


def _end(q: Any, v: Any) -> Any:
    return v @ v


def _reward(t: Any, q: Any, v: Any, action: Any) -> Any:
    return -(q @ q) - action @ action


def _observed(t: Any, q: Any, v: Any) -> Any:
    return [*q, *v]


def _drawn(u: Any) -> Any:
    return u, u


@cache
def stepper() -> sf.Stepper:
    return sf.Stepper(dp(), dt=0.01, reward=_reward, observe=_observed)


def task() -> sf.learn.Task:
    return sf.learn.Task(
        "t", dp(), 0.01, [-1.0, -1.0], [1.0, 1.0], _observed, _reward, _drawn, 2, 3
    )


def _event(t: Any, q: Any, v: Any) -> Any:
    return q[0]


def _reset(t: Any, q: Any, v: Any) -> Any:
    return q, -v


def _turning(q: Any) -> sf.Transform:
    from sixfold.spatial import rotation

    axis = sf.spatial.Vector3(0.0, 0.0, 1.0)
    return sf.Transform(
        rotation(axis, sf.math.cos(q[0]), sf.math.sin(q[0])), sf.spatial.Vector3(0.0, 0.0, 0.0)
    )


def _builder() -> sf.ModelBuilder:
    builder = sf.ModelBuilder("m")
    builder.add_body("a", joint=sf.Revolute("z"), joint_name="ja")
    return builder.add_body("b", parent="a", joint=sf.Revolute("z"), joint_name="jb")


@cache
def loop() -> sf.Model:
    """Two hinges and a rod between the last body and the base."""
    solid = sf.Inertia.from_mass(1.0, (0.3, 0.0, 0.0), (0.1, 0.1, 0.1))
    builder = sf.ModelBuilder("loop")
    builder.add_body("a", joint=sf.Revolute("z"), inertia=solid, joint_name="ja")
    more = {"placement": (1.0, 0.0, 0.0), "inertia": solid}
    builder.add_body("b", parent="a", joint=sf.Revolute("z"), joint_name="jb", **more)
    return builder.add_rod("world", "b", 1.0, (1.5, 0.5, 0.0), (1.0, 0.0, 0.0)).build()


def _identity() -> Matrix3:
    return Matrix3.of(np.eye(3).tolist())


def _ground() -> sf.contact.Ground:
    return sf.contact.Ground(
        height=-10.0, points=[sf.contact.ContactPoint("lower", (1.0, 0.0, 0.0), 0.1)]
    )


GOOD: dict[str, Callable[[], Any]] = {
    "model": dp,
    "robot": dp,
    "other": lambda: sf.load("pendulum"),
    "function": lambda: sf.inverse_dynamics,
    "q": lambda: np.array([0.1, 0.2]),
    "v": lambda: np.array([0.3, -0.1]),
    "a": lambda: np.array([0.3, 0.4]),
    "tau": lambda: np.array([0.5, 0.6]),
    "q0": lambda: np.array([0.1, 0.2]),
    "q1": lambda: np.array([0.3, 0.2]),
    "v0": lambda: np.array([0.0, 0.1]),
    "f_ext": lambda: np.zeros((2, 6)),
    "f_ext_frame": lambda: "world",
    "dt": lambda: 0.01,
    "steps": lambda: 3,
    "every": lambda: 1,
    "duration": lambda: 0.02,
    "contacts": _ground,
    "integrator": lambda: "rk4",
    "control": lambda: _law,
    "events": lambda: _event,
    "point": lambda: np.array([0.1, 0.2, 0.3]),
    "force": lambda: np.array([0.1, 0.2, 0.3]),
    "name": lambda: "tip",
    "frame": lambda: "lower",
    "to": lambda: "lower",
    "source": lambda: "pendulum",
    "path": lambda: "out.npz",
    "trajectory": motion,
    "samples": lambda: 3,
    "seed": lambda: 1,
    "size": lambda: 2,
    "x": lambda: 0.5,
    "y": lambda: 0.5,
    "z": lambda: 0.5,
    "then": lambda: 1.0,
    "otherwise": lambda: 2.0,
    "rows": lambda: [(0.1, 0.2, 0.3, 0.4), (0.1, 0.2, 0.3, 0.4)],
    "convention": lambda: "standard",
    "inertia": lambda: sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1)),
    "inertias": lambda: {"lower": sf.Inertia.from_mass(1.0)},
    "joints": lambda: {"elbow": 0.3},
    "library": lambda: "mujoco",
    "language": lambda: "c",
    "chain": chain,
    "qd": lambda: (0.3, 0.4),
    "qdd": lambda: (0.3, 0.4),
    "dq": lambda: (0.3,),
    "count": lambda: 1,
    "values": lambda: [0.1, 0.2, 0.3],
    "rpy": lambda: (0.1, 0.2, 0.3),
    "axis": lambda: (0.0, 0.6, 0.8),
    "angle": lambda: 0.5,
    "p": lambda: (0.1, 0.2, 0.3),
    "r": lambda: (0.1, 0.2, 0.3),
    "R": lambda: np.eye(3),
    "mass": lambda: 1.0,
    "density": lambda: None,
    "center": lambda: (0.1, 0.2, 0.3),
    "rotational": lambda: (0.1, 0.1, 0.1),
    "parameters": lambda: [1.0, 0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 0.0, 0.0, 0.1],
    "convert": lambda: float,
    "kp": lambda: 10.0,
    "kd": lambda: 1.0,
    "target": lambda: (0.1, 0.2),
    "start": lambda: (0.1, 0.2),
    "goal": lambda: (0.3, 0.2),
    "reference": lambda: sf.control.minimum_jerk((0.0, 0.0), (1.0, 1.0), 1.0),
    "gravity": lambda: (0.0, 0.0, -9.81),
    "joint": lambda: sf.Revolute("z"),
    "joint_name": lambda: "elbow",
    "parent": lambda: "a",
    "follower": lambda: "jb",
    "masters": lambda: ("ja", 1.0),
    "names": lambda: {"elbow": "knee"},
    "M": lambda: np.eye(2),
    "pose": lambda: np.eye(4),
    "bias": lambda: np.zeros(2),
    "width": lambda: 80,
    "most": lambda: 5,
    "terms": lambda: "M,G",
    "folder": lambda: "code",
    "times": lambda: [0.01, 0.02],
    "index": lambda: 0,
    "rng": lambda: np.random.default_rng(1),
    "radius": lambda: 0.5,
    "length": lambda: 0.5,
    "b": lambda: 0.5,
    "c": lambda: 0.5,
    "m": lambda: (1.0, 2.0),
    "l": lambda: (1.0, 2.0),
    "I": lambda: (1.0, 2.0),
    "transform": lambda: _turning,
    "n": lambda: 3,
    "t": lambda: 0.0,
    "options": dict,
    "points": lambda: (sf.contact.ImpactPoint("lower", (0.1, 0.0, 0.2), friction=0.5),),
    "rounds": lambda: 3,
    "step": lambda: _halved,
    "carried": lambda: [0.5, np.ones(2)],
}

_ONE = {"q": lambda: (0.3,), "qd": lambda: (0.2,), "q0": lambda: (0.1,), "q1": lambda: (0.2,)}
_VECTOR = lambda: sf.spatial.Vector3(0.1, 0.2, 0.3)  # noqa: E731
_MOTION = lambda: sf.spatial.Motion.of([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])  # noqa: E731
_FORCE = lambda: sf.spatial.Force.of([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])  # noqa: E731
_MOTIONS = dict.fromkeys(("a", "v", "u", "frame_velocity", "v_A", "v_B"), _MOTION)
_HINGE = lambda: sf.spatial.Subspace(_MOTION())  # noqa: E731
_SYMMETRIC = lambda: Symmetric3(1.0, 1.0, 1.0, 0.0, 0.0, 0.1)  # noqa: E731
_MATRIX = {"E": _identity, "r": _VECTOR}

_PLANE = {"f_E": lambda: (1.0, 0.0), "point": lambda: (0.1, 0.0), "gravity": lambda: (0, 0)}

_LOOP = {"model": loop, "forces": lambda: np.array([0.7]), "hold": lambda: ["ja"]}
_LOOP |= {"actuated": lambda: ["ja"]}
_ENDS = {"body_a": lambda: "a", "body_b": lambda: "b", "point_a": _VECTOR, "point_b": _VECTOR}
_ENDS |= dict.fromkeys(("placement", "placement_a", "placement_b"), lambda: (0.1, 0.0, 0.2))
_ENDS |= {"body": lambda: "b", "shape": lambda: "disc", "axis": lambda: "y"}

_PLANNER = {"stepper": stepper, "horizon": lambda: 3, "samples": lambda: 4, "noise": lambda: 0.1}
_PLANNER |= {"start": lambda: 0.0}

SPECIAL: dict[str, dict[str, Callable[[], Any]]] = {
    "constrained_dynamics": _LOOP,
    "constraint_bias": _LOOP,
    "constraint_gaps": _LOOP,
    "constraint_jacobian": _LOOP,
    "constraint_wrenches": _LOOP,
    "project": _LOOP,
    "assemble": _LOOP,
    "mobility": _LOOP,
    "actuator_forces": {**_LOOP, "a": lambda: np.zeros(2), "v": lambda: np.zeros(2)},
    "Mobility": dict.fromkeys(("freedoms", "rows", "rank"), lambda: 2) | {"singular": bool},
    "ModelBuilder.close": {**_ENDS, "joint": lambda: sf.Spherical()},
    "ModelBuilder.add_rod": {**_ENDS, "length": lambda: 0.5},
    "ModelBuilder.add_gear": {**_ENDS, "leaders": lambda: ("ja", (1.0, 0.5))},
    "ModelBuilder.add_rolling": _ENDS,
    "Motion": {"ang": _VECTOR, "lin": _VECTOR},
    "Force": {"ang": _VECTOR, "lin": _VECTOR},
    "Inertia": {"m": lambda: 1.0, "h": _VECTOR, "I": _SYMMETRIC},
    "ArticulatedInertia": {"I": _SYMMETRIC, "H": _identity, "M": _SYMMETRIC},
    "Transform": _MATRIX,
    "ArticulatedInertia.of": {"rigid": GOOD["inertia"]},
    "ArticulatedInertia.to_parent": _MATRIX,
    "Inertia.to_parent": _MATRIX,
    "Inertia.kinetic_energy": {"v": _MOTION},
    "Inertia.from_second_moments": {"h": _VECTOR, "second": _SYMMETRIC},
    "Force.at_point": {"force": _VECTOR, "point": _VECTOR},
    "Force.of": {"values": lambda: [0.1] * 6},
    "Motion.of": {"values": lambda: [0.1] * 6},
    "Motion.dot": {"f": _FORCE},
    "Motion.cross": {"other": _FORCE},
    "Force.dot": {"v": _MOTION},
    "Vector3.dot": {"other": _VECTOR},
    "Vector3.cross": {"other": _VECTOR},
    "Transform.from_pose": {"R": lambda: np.eye(3).tolist()},
    "Model": {"name": lambda: "m", "bodies": lambda: dp().bodies, "gravity": GOOD["gravity"]},
    "Model.body_index": {"name": lambda: "lower"},
    "Model.support": {"name": lambda: "lower"},
    "Model.subtree": {"name": lambda: "lower"},
    "Model.children": {"name": lambda: "lower"},
    "Model.ancestors": {"name": lambda: "lower"},
    "Model.gather": {"forces": lambda: {1: (0.1,), 2: (0.2,)}},
    "Model.wrenches": {"f": lambda: [0.1] * 12},
    "ModelBuilder": {"name": lambda: "m"},
    "ModelBuilder.add_body": {"name": lambda: "c", "joint_name": lambda: "jc"},
    "ModelBuilder.add_frame": {"name": lambda: "f"},
    "from_arrays": {
        "parent": lambda: [0, 1],
        "jtype": lambda: "RP",
        "Xtree": lambda: [np.eye(6), np.eye(4)],
        "inertia": lambda: [np.eye(6), [1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0]],
        "body_names": lambda: ["a", "b"],
        "joint_names": lambda: ["ja", "jb"],
    },
    "DHRow": {"a": lambda: 0.1, "d": lambda: 0.1, "theta": lambda: 0.1, "alpha": lambda: 0.1},
    "Subspace": {"columns": _MOTION},
    "compile": {"inputs": dict},
    "array_api_function": {"inputs": dict},
    "jax_function": {"inputs": dict},
    "torch_function": {"inputs": dict},
    "opencl_function": {"inputs": dict},
    "random_tree": {"joints": lambda: [sf.Revolute]},
    "add_payload": {"mass": lambda: 1.0, "inertia": lambda: (0.1, 0.1, 0.1)},
    "equations": {"parameters": lambda: "symbols", "inertias": lambda: "centre", "names": dict},
    "explain": {"subject": dp, "about": lambda: "inverse_dynamics", "joint": lambda: "elbow"},
    "save": {"path": lambda: "out.urdf"},
    "identify": {"log": lambda: _log()},
    "Identification.evaluate": {"log": lambda: _log()},
    "Identification.added_inertia": {"body": lambda: "lower"},
    "Log": {"q": lambda: _log().q, "tau": lambda: _log().tau},
    "Log.read": {"path": lambda: "log.npz"},
    "plot": {"path": lambda: "out.svg"},
    "write_report": {"path": lambda: "out.html"},
    "frame_pose": {"name": lambda: "tip"},
    "export": {
        "function": lambda: "inverse_dynamics",
        "name": lambda: "kernel",
        "target": lambda: "aarch64",
    },
    "Event": {
        "function": lambda: _event,
        "name": lambda: "e",
        "direction": lambda: 0,
        "reset": lambda: _reset,
    },
    "ImpactPoint": {
        "frame": lambda: "lower",
        "position": lambda: (0.1, 0.2, 0.3),
        "normal": lambda: (0.0, 0.6, 0.8),
        "restitution": lambda: 0.5,
        "friction": lambda: 0.5,
        "against": lambda: "upper",
    },
    "JointStops": {"time_constant": lambda: 0.02, "damping_ratio": lambda: 1.0},
    "Trajectory.to_parquet": {"path": lambda: "out.parquet"},
    "Trajectory.load": {"path": lambda: "good.npz"},
    "Converter.solve_from": {"q": GOOD["q"], "v": GOOD["v"], "tau": GOOD["tau"]},
    "controllers.operational_space": {
        "path": _VECTOR,
        "frame": lambda: "lower",
        "rows": lambda: "position",
    },
    "controllers.pd": {"gravity": lambda: True},
    "controllers.saturate": {"control": lambda: _law},
    "controllers.PD": {"kp": lambda: (1.0, 1.0), "kd": lambda: (1.0, 1.0)},
    "controllers.Saturated": {"limit": lambda: (1.0, 1.0)},
    "simulate": {"integrator": lambda: "rk4"},
    "ContactPoint": {"body": lambda: "lower", "position": _VECTOR, "radius": lambda: 0.1},
    "ContactCapsule": {"body": lambda: "lower", "start": _VECTOR, "radius": lambda: 0.1},
    "ContactPair": {
        "first": lambda: sf.contact.ContactPoint("lower", radius=0.1),
        "second": lambda: sf.contact.ContactPoint("upper", radius=0.1),
    },
    "inverse_kinematics": {"targets": lambda: {"tip": sf.frame_pose(dp(), [0.3, 0.4], "tip")}},
    "all_solutions": {"targets": lambda: {"tip": sf.frame_pose(dp(), [0.3, 0.4], "tip")}},
    "differential_ik": {"targets": lambda: {"tip": np.zeros(6)}},
    "InverseKinematics": {"parts": lambda: ("tip position",), "tolerance": lambda: 1e-8},
    "plan_trajectory": {
        "waypoints": lambda: np.array([[0.1, 0.2], [0.3, 0.5]]),
        "duration": lambda: 0.1,
        "times": lambda: [0.0, 1.0],
        "spline": lambda: "cubic",
    },
    "optimal_control": {
        "cost": lambda: _cost,
        "final_cost": lambda: _end,
        "joints": lambda: ["elbow"],
        "iterations": lambda: 2,
        "tau": GOOD["tau"],
    },
    "OptimalControl.trajectory": {"index": lambda: 0},
    "tvlqr": {
        "A": lambda: np.eye(2)[None],
        "B": lambda: np.ones((1, 2, 1)),
        "Q": lambda: 1.0,
        "R": lambda: 1.0,
        "final": lambda: 2.0,
    },
    "lqr": {"A": lambda: np.eye(2), "B": lambda: np.eye(2), "Q": lambda: 1.0, "R": lambda: 1.0},
    "Linearization": {"A": lambda: np.eye(4), "B": lambda: np.ones((4, 2))},
    "Linearization.select": {"index": lambda: 1},
    "rollout": {"integrator": lambda: "midpoint", "tau": GOOD["tau"]},
    "rollout_gradient": {"cost": lambda: _cost, "final_cost": lambda: _end, "inertial": bool},
    "RolloutGradient": dict.fromkeys(("cost", "x0", "parameters", "inertias"), lambda: None),
    "Comparison.worst": {"quantity": lambda: "mass matrix"},
    "Diagnosis.to_json": {"indent": lambda: 1},
    "sweep": {
        "function": lambda: _numbers,
        "rows": lambda: 5,
        "draw": lambda: {"x": sf.sweeps.draws.uniform(0.0, 1.0)},
        "reduce": lambda: "mean",
        "write": lambda: "rows",
        "engine": lambda: "serial",
        "block": lambda: 2,
    },
    "Sweep": {
        **dict.fromkeys(("rows", "computed", "reused"), lambda: 5),
        **{"reductions": dict, "digest": str, "folder": lambda: None, "damaged": tuple},
        "seconds": lambda: 1.0,
    },
    "Sweep.get": {"key": lambda: "mean"},
    "Sweep.__getitem__": {"name": lambda: "mean"},
    "Grid": {"axes": lambda: {"mass": [1.0, 2.0]}},
    "Grid.values": {"start": lambda: 0, "stop": lambda: 1},
    "draws.uniform": {"low": lambda: 0.0, "high": lambda: 1.0},
    "draws.log_uniform": {"low": lambda: 0.1, "high": lambda: 1.0},
    "draws.normal": {"mean": lambda: 0.0, "deviation": lambda: 1.0},
    "draws.choice": {"options": lambda: [1.0, 2.0]},
    "reducers.histogram": {"low": lambda: 0.0, "high": lambda: 1.0, "bins": lambda: 4},
    "reducers.quantiles": {"shares": lambda: (0.5,)},
    "reducers.custom": {"leaf": lambda: _law, "combine": lambda: _law, "name": lambda: "own"},
    "Stepper": {
        "rows": lambda: 3,
        "control": lambda: None,
        "contacts": lambda: None,
        "inertias": lambda: None,
        "parameters": lambda: None,
        "reward": lambda: _reward,
        "observe": lambda: _observed,
    },
    "McapLog": {"path": lambda: "out.mcap"},
    "McapLog.write": {"t": lambda: 0.5},
    "McapLog.record": {"stepper": lambda: stepper(), "tau": lambda: None, "row": lambda: 0},
    "Stepper.step": {"action": lambda: np.zeros(2)},
    "Stepper.reset": {"rows": lambda: None},
    "Stepper.put": {"rows": lambda: None},
    "Stepper.observation": {"rows": lambda: None},
    "Stepper.returns": {"actions": lambda: np.zeros((2, 3, 2))},
    "MPPI": _PLANNER,
    "CrossEntropy": _PLANNER,
    "MPPI.__call__": {"q": GOOD["q"], "v": GOOD["v"]},
    "Task": {
        "low": lambda: [-1.0, -1.0],
        "high": lambda: [1.0, 1.0],
        "observe": lambda: _observed,
        "reward": lambda: _reward,
        "start": lambda: _drawn,
        "draws": lambda: 2,
        "contacts": lambda: None,
        "inertias": lambda: False,
        "parameters": lambda: None,
        "control": lambda: None,
    },
    "Task.stepper": {"rows": lambda: 2},
    "VectorEnv": {"task": task, "num_envs": lambda: 2},
    "VectorEnv.step": {"actions": lambda: np.zeros((2, 2))},
    "Env": {"task": task, "number": lambda: 1},
    "Env.step": {"action": lambda: np.zeros(2)},
    "tasks.reacher": {"robot": lambda: "puma560", "frame": lambda: None},
    "tasks.quadruped_trot": {"speed": lambda: 0.5},
    "spatial.apparent_inverse_inertia": {"S": _HINGE},
    "spatial.constrained_motion": {"S": _HINGE, "f": _FORCE, "alpha": lambda: (0.1,)},
    "spatial.constraint_basis": {"S": _HINGE},
    "spatial.classical_acceleration": _MOTIONS,
    "spatial.spatial_acceleration": {**_MOTIONS, "classical": _MOTION},
    "spatial.component_rate": {**_MOTIONS, "vector_rate": _MOTION},
    "spatial.vector_rate": {**_MOTIONS, "component_rate": _MOTION},
    "spatial.equation_of_motion": _MOTIONS,
    "spatial.inertia_rate": _MOTIONS,
    "spatial.products": dict.fromkeys(("Ixy", "Ixz", "Iyz"), lambda: 0.1),
    "spatial.rotation": {"axis": _VECTOR, "c": lambda: 0.6, "s": lambda: 0.8},
    "spatial.skew": {"v": _VECTOR},
    "spatial.steiner": {"c": _VECTOR},
    "spatial.to_array": {"quantity": _MOTION},
    "spatial.transform_rate": {"X": lambda: sf.Transform.identity(), **_MOTIONS},
    "spatial.velocity_at": {**_MOTIONS, "point": _VECTOR},
    "spatial.velocity_field": {**_MOTIONS, "points": lambda: np.ones((4, 3))},
    "operators": {"axes": lambda: "inertial"},
    "BlockOperator.block": {"i": lambda: 2, "j": lambda: 1},
    "OperatorSolution.__getitem__": {"name": lambda: "qdd"},
    "skeleton_bias": _PLANE,
    "skeleton_fd": _PLANE,
    "skeleton_id": _PLANE,
    "skeleton_jacobian": {**_PLANE, "link": lambda: 0},
    "PlanarChain": _PLANE,
    "planar.skeleton_fd": _PLANE,
    "planar.skeleton_id": _PLANE,
}

FORCED: dict[str, dict[str, Any]] = {
    "view": {"block": False, "open_browser": False},
    "compare_with": {"samples": 2},
    "rollout_gradient": {"cost": _cost},
    "optimal_control": {"cost": _cost, "iterations": 1},
    "contact_forces": {"dt": None},
    "sweep": {"engine": "serial", "rows": 5},
}
SKIPPED = {
    "view",  # starts a server; its arguments are looked at in tests/viewer
    # gymnasium's own
    *("Env.get_wrapper_attr", "Env.has_wrapper_attr", "Env.render", "Env.set_wrapper_attr"),
}

OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.add,
    operator.sub,
    operator.mul,
    operator.matmul,
    operator.truediv,
)


@cache
def _log() -> sf.identification.Log:
    """Return a short log of the double pendulum."""
    q, v = sf.random_state(dp(), 60, seed=3)
    return sf.identification.Log(q, v, v, sf.inverse_dynamics(dp(), q, v, v), 0.01)


@cache
def _result(name: str) -> Any:
    """Return an object of a class that only the library makes."""
    makers: dict[str, Callable[[], Any]] = {
        "Equations": equations,
        "Diagnosis": lambda: sf.diagnose(dp(), samples=2),
        "BaseParameters": lambda: sf.identification.base_parameters(dp()),
        "Code": lambda: sf.export(dp()),
        "Comparison": lambda: sf.interop.Comparison("r", "mujoco", "3", 1, 0, (), ()),
        "Converter": _converter,
        "Ground": _ground,
        "ContactPoint": lambda: sf.contact.ContactPoint("lower"),
        "ContactCapsule": lambda: sf.contact.ContactCapsule("lower", (0, 0, 0), (0, 0, 1), 0.1),
        "ContactPair": lambda: sf.contact.ContactPair(
            sf.contact.ContactPoint("lower", radius=0.1), sf.contact.ContactPoint("upper")
        ),
        "ContactForces": lambda: sf.contact.contact_forces(
            dp(), [0.1, 0.2], [0, 0], [0, 0], contacts=_ground()
        ),
        "RolloutGradient": _gradient,
        "OptimalControl": lambda: sf.control.optimal_control(
            dp(), np.zeros((2, 2)), None, dt=0.01, steps=2, cost=_cost
        ),
        "InverseKinematics": lambda: sf.inverse_kinematics(dp(), {"tip": np.eye(4)}, starts=1),
        "Trajectory": motion,
        "Log": _log,
        "Identification": lambda: sf.identification.identify(dp(), _log()),
        "Stepper": stepper,
        "McapLog": lambda: sf.McapLog("out.mcap", dp()),
        "MPPI": lambda: sf.control.MPPI(stepper(), horizon=3, samples=4, noise=0.1),
        "CrossEntropy": lambda: sf.control.CrossEntropy(stepper(), horizon=3, samples=4, noise=0.1),
        "Task": task,
        "VectorEnv": _environments,
        "Env": _environment,
        "Linearization": lambda: sf.control.linearize(
            dp(), np.zeros((3, 2)), np.zeros(2), np.zeros(2)
        ),
        "Model": dp,
        "Joint": lambda: sf.Revolute("z"),
        "PlanarChain": chain,
        "CustomJoint": lambda: sf.CustomJoint(_turning),
        "Event": lambda: sf.Event(_event),
        "ImpactPoint": lambda: sf.contact.ImpactPoint("lower"),
        "Motion": _MOTION,
        "Force": _FORCE,
        "Inertia": GOOD["inertia"],
        "ArticulatedInertia": lambda: sf.spatial.ArticulatedInertia.of(GOOD["inertia"]()),
        "Transform": lambda: sf.Transform.from_rpy((0.1, 0.2, 0.3), (1.0, 2.0, 3.0)),
        "Vector3": _VECTOR,
        "Subspace": lambda: sf.spatial.Subspace(_MOTION()),
        "Operators": _operators,
        "BlockOperator": lambda: _operators().Phi,
        "OperatorSolution": lambda: _operators().equation_19b([0.1, 0.2]),
        "Grid": lambda: sf.sweeps.Grid(mass=[1.0, 2.0]),
        "Sweep": lambda: sf.sweeps.sweep(_numbers, 5, reduce="mean", engine="serial"),
    }
    return makers[name]() if name in makers else find(name)()


def _operators() -> Any:
    return sf.operators.influence_operators(dp(), [0.1, 0.2], [0.3, 0.4])


def _environments() -> Any:
    env = sf.learn.VectorEnv(task(), 2)
    env.reset(seed=0)
    return env


def _environment() -> Any:
    env = sf.learn.Env(task())
    env.reset(seed=0)
    return env


def _gradient() -> Any:
    return sf.rollout_gradient(dp(), [0.1, 0.2], [0.0, 0.1], dt=0.01, steps=2, cost=_cost)


def _converter() -> Any:
    """Return the converter to a library with the same coordinates."""
    pieces = tuple(Piece(k, JointMap(), (k,), (k,)) for k in range(2))
    sites = tuple(Site(k, (0.0, 0.0, 0.0)) for k in range(2))
    return sf.interop.Converter(dp(), "pinocchio", 2, 2, pieces, sites)


def _fresh(name: str) -> Any:
    return _builder() if name == "ModelBuilder" else _result(name)


MODULES = {
    "controllers": controllers,
    "draws": sf.sweeps.draws,
    "reducers": sf.sweeps.reducers,
    "spatial": sf.spatial,
    "targets": sf.targets,
    "tasks": sf.learn.tasks,
}
# algebra whose objects are called by their methods too
CLASSES = ("ArticulatedInertia", "Force", "Motion", "Subspace", "Vector3")


def public() -> dict[str, Any]:
    """Return public functions and classes by name, but those that are called under a module."""
    inside = {name for module in MODULES.values() for name in module.__all__} - {*CLASSES}
    named = {name: value for name, (_, value) in places().items() if callable(value)}
    top = {name for name in sf.__all__ if not inspect.ismodule(getattr(sf, name))}
    return {name: value for name, value in named.items() if name in top or name not in inside}


def targets() -> list[Target]:
    """Return every public callable."""
    return [target for target in _all() if target.label not in SKIPPED]


def _all() -> Iterator[Target]:
    for name, value in public().items():
        if inspect.isclass(value):
            yield from _of_class(name, value)
        else:
            yield _target(name, value)
    for name, module in MODULES.items():
        for inner in getattr(module, "PUBLIC", module.__all__):
            # classes of a module are called under their own public names
            if module is not sf.spatial or inspect.isfunction(getattr(module, inner)):
                yield _target(f"{name}.{inner}", getattr(module, inner))
    for module, prefix in ((solids, "solids"), (planar, "planar")):
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
                yield _target(f"{prefix}.{name}", value)
    yield _target("Kernel", kernel, good={"q": GOOD["q"], "v": GOOD["v"], "a": GOOD["a"]})


def _of_class(name: str, kind: type) -> Iterator[Target]:
    if issubclass(kind, BaseException):
        return
    yield _target(name, kind)
    for member, _ in inspect.getmembers(kind):
        found = inspect.getattr_static(kind, member)
        if member.startswith("_") or hasattr(tuple, member):
            continue
        if isinstance(found, (classmethod, staticmethod)):
            yield _target(f"{name}.{member}", getattr(kind, member))
        elif inspect.isfunction(found):
            yield _method(name, member, found)
    if issubclass(kind, tuple) or kind is sf.spatial.Subspace:
        for act in OPERATORS:
            yield _operator(name, act)
    if kind in (sf.spatial.Motion, sf.spatial.Force):
        yield _operator(name, operator.eq)
        yield _operator(name, operator.ne)
    if "__call__" in vars(kind):
        yield _method(name, "__call__", kind.__call__)
    if "__getitem__" in vars(kind):
        yield _method(name, "__getitem__", kind.__getitem__, {"part": lambda: slice(0, 2)})


def _operator(name: str, act: Callable[[Any, Any], Any]) -> Target:
    return Target(
        f"{name}.{act.__name__}",
        lambda: lambda other: act(_fresh(name), other),
        {"other": lambda: _fresh(name)},
        ("other",),
        (),
        ("other",),
        type_errors=True,
    )


def _method(
    name: str, member: str, function: Any, good: Mapping[str, Callable[[], Any]] | None = None
) -> Target:
    label = f"{name}.{member}"
    joint = isinstance(find(name), type) and issubclass(find(name), sf.Joint)
    values = {**(_ONE if joint else {}), **(good or {})}
    return _target(label, function, lambda: getattr(_fresh(name), member), values, bound=True)


def _target(
    label: str,
    value: Any,
    make: Callable[[], Callable[..., Any]] | None = None,
    good: Mapping[str, Callable[[], Any]] | None = None,
    *,
    bound: bool = False,
) -> Target:
    if label == "Kernel":
        names = ("q", "v", "a")
        return Target(label, value, good or {}, names, (), names, numpy_errors=True)
    parameters = list(inspect.signature(value).parameters.values())[1 if bound else 0 :]
    known = {**GOOD, **(good or {}), **SPECIAL.get(label, {})}
    required = tuple(
        p.name for p in parameters if p.default is EMPTY and p.kind not in (p.VAR_KEYWORD,)
    )
    optional = tuple(p.name for p in parameters if p.name not in required)
    one = inspect.Parameter
    places = (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)
    return Target(
        label,
        make or (lambda: value),
        {name: known[name] for name in (*required, *optional) if name in known},
        required,
        optional,
        tuple(p.name for p in parameters if p.kind in places),
        FORCED.get(label, {}),
    )
