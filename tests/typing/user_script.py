"""A user's script that names every public function and class, with the types a user would write.

`mypy --strict` and pyright read it; the tests here run `main` too.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import sixfold as sf

Array = NDArray[np.float64]
ERRORS: tuple[type[sf.errors.SixfoldError], ...] = (
    sf.errors.ArgumentError,
    sf.errors.CallbackError,
    sf.errors.DisagreementError,
    sf.errors.DomainError,
    sf.errors.InternalError,
    sf.errors.KernelMemoryError,
    sf.errors.ModelError,
    sf.errors.NotApplicableError,
    sf.errors.NumberError,
    sf.errors.OptionError,
    sf.errors.OutputFileError,
    sf.errors.RobotFileError,
    sf.errors.SampleError,
    sf.errors.ShapeError,
    sf.errors.SimulationError,
    sf.errors.SingularModelError,
    sf.errors.StateError,
    sf.errors.TooLargeError,
    sf.errors.TrajectoryFileError,
    sf.errors.UnknownNameError,
)
WARNINGS: tuple[type[Warning], ...] = (
    sf.errors.ContactResidualWarning,
    sf.errors.ContactShapeWarning,
    sf.errors.UnlikelyInputWarning,
    sf.errors.NonFiniteStateWarning,
    sf.errors.PythonCallbackWarning,
    sf.errors.RobotFileWarning,
    sf.errors.SingularPivotWarning,
)


def joints() -> list[sf.Joint]:
    def sliding(q: Sequence[float]) -> sf.Transform:
        return sf.Transform.translation((q[0], 0.0, q[0]))

    assert sf.Revolute((0.0, 0.6, 0.8)).axis.z == 0.8
    return [
        sf.Revolute("z"),
        sf.Prismatic("-x"),
        sf.Helical("z", 0.01),
        sf.Cylindrical("y"),
        sf.Planar(),
        sf.Spherical(),
        sf.Free(),
        sf.Fixed(),
        sf.Translational(),
        sf.Universal(),
        sf.CustomJoint(sliding),
    ]


def spatial() -> float:
    v = sf.spatial.Motion.of([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    f = sf.spatial.Force.at_point((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    twice: sf.spatial.Motion = v.cross(v)
    moved: sf.spatial.Force = v.cross(f)
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.0, 0.0), (0.1, 0.1, 0.1))
    handle: sf.spatial.ArticulatedInertia = sf.spatial.ArticulatedInertia.of(solid)
    X = sf.Transform.translation((0.0, 0.0, 1.0))
    S = sf.spatial.Subspace(v)
    r: sf.spatial.Vector3 = sf.spatial.Vector3.of((1.0, 2.0, 3.0))
    assert sf.spatial.physical_consistency(solid).physical
    assert twice.dot(f) == 0.0 and moved.dot(v) == 0.0
    assert len(handle.matrix()) == len(X.matrix()) == 6 and S is not None and r.dot(r) == 14.0
    return float(f.dot(v))


def numbers(x: float) -> float:
    waves = (
        sf.math.sin(x) + sf.math.cos(x) + sf.math.tanh(x) + sf.math.sign(x) + sf.math.atan2(x, 1.0)
    )
    powers = sf.math.sqrt(x) + sf.math.exp(x) + sf.math.log(x)
    halved: float = sf.math.repeat(3, lambda y: 0.5 * y, x)
    return float(sf.math.if_positive(x, waves, powers) + halved)


def models(folder: Path) -> sf.Model:
    solid = sf.Inertia.from_mass(1.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1))
    builder = sf.ModelBuilder("arm")
    builder.add_body("upper", joint=sf.Revolute("z"), joint_name="shoulder", inertia=solid)
    arm = builder.add_body(
        "lower", parent="upper", joint=sf.Revolute("z"), joint_name="elbow", inertia=solid
    ).build()
    arm = sf.add_payload(arm, "lower", mass=1.0, com=(1.0, 0.0, 0.0))
    arm = sf.rename(arm, {"elbow": "knee"})
    arm = sf.replace_inertias(arm, {"lower": solid})
    assert sf.lock_joints(arm, {"knee": 0.3}).nv == 1 and sf.group_inertias(arm).nv == 2
    assert sf.attach(arm, sf.random_tree(3, seed=1), to="lower", prefix="more_").nb == 5
    table = [sf.DHRow(a=1.0), sf.DHRow(a=1.0, inertia=solid)]
    assert sf.from_dh(table, convention="modified").nv == 2
    sf.save(arm, folder / "arm.json")
    assert sf.load(folder / "arm.json", mimic="couple") == arm
    assert sf.diagnose(arm, samples=3).ok and sf.check(arm, 2).agrees
    return sf.load("double_pendulum")


def dynamics(model: sf.Model) -> Array:
    q, v = sf.random_state(model, seed=1)
    a = np.ones(model.nv)
    f_ext = sf.point_force(model, q, "lower", (0.0, 0.0, 1.0))
    tau = sf.inverse_dynamics(model, q, v, a, f_ext, f_ext_frame="world", backend="numpy")
    back = sf.forward_dynamics(model, q, v, tau, f_ext, method="crba")
    M = sf.mass_matrix(model, q) @ sf.inverse_mass_matrix(model, q)
    all_a, all_tau = sf.hybrid_dynamics(model, q, v, tau, a, f_ext, given=["elbow"])
    assert np.allclose(all_a, a) and np.allclose(all_tau, tau)
    force = sf.bias_force(model, q, v) - sf.coriolis_matrix(model, q, v) @ v
    assert np.allclose(back, a) and np.allclose(M, np.eye(2))
    assert np.allclose(force, sf.gravity_force(model, q))
    energy = sf.kinetic_energy(model, q, v) + sf.potential_energy(model, q)
    wrench = sf.joint_wrenches(model, q, v, a) - sf.joint_reaction_forces(model, q, v, a)
    momentum = sf.momentum(model, q, v), sf.centroidal_momentum(model, q, v)
    assert energy.shape == () and wrench.shape == (2, 6) and momentum[0].shape == (6,)
    regressor = sf.regressor(model, q, v, a)
    own = sf.identification.joint_regressor(model, q, v, a, columns=("viscous", "rotor"))
    one, two = sf.identification.energy_regressor(model, q, v)
    assert own.shape == (2, 2) and one.shape == two.shape
    assert sf.identification.base_regressor(model, q, v, a).shape[0] == regressor.shape[0]
    assert sf.identification.base_parameters(model).rank == len(
        sf.identification.base_projection(model).columns
    )
    return tau


def kinematics(model: sf.Model) -> Array:
    q, v = sf.random_state(model, seed=1)
    a = np.ones(model.nv)
    sf.body_poses(model, q)
    sf.body_velocities(model, q, v, frame="world")
    sf.body_accelerations(model, q, v, a, frame="aligned", kind="classical")
    sf.frame_velocity(model, q, v, "tip", frame="body")
    sf.center_of_mass(model, q)
    sf.center_of_mass_jacobian(model, q)
    sf.centroidal_momentum_matrix(model, q)
    sf.centroidal_momentum_bias(model, q, v)
    assert np.allclose(sf.position_rate(model, q, v), v)
    moved = sf.integrate(model, q, v, 0.1)
    assert np.allclose(sf.difference(model, q, moved), 0.1 * v)
    J = sf.jacobian(model, q, "tip", point=(0.0, 0.0, 0.1), frame="aligned")
    sf.jacobian_bias(model, q, v, "tip")
    pose: Array = sf.frame_pose(model, sf.neutral(model), "tip")
    found: Array = J @ v + pose[0, 3]
    return found


def derivatives(model: sf.Model) -> None:
    q, v = sf.random_state(model, seed=1)
    a, weights = np.ones(2), np.ones(2)
    by_q, by_v, by_a = sf.derivatives.inverse_dynamics_derivatives(model, q, v, a, backend="numpy")
    assert by_q.shape == by_v.shape == by_a.shape
    sf.derivatives.forward_dynamics_derivatives(model, q, v, a, backend="numpy")
    sf.derivatives.hybrid_dynamics_derivatives(model, q, v, a, a, given=["elbow"])
    sf.derivatives.inverse_dynamics_second_derivatives(model, q, v, a, weights, backend="numpy")
    sf.derivatives.forward_dynamics_second_derivatives(model, q, v, a, weights, backend="numpy")
    sf.derivatives.kinetic_energy_derivatives(model, q, v, backend="numpy")
    sf.derivatives.potential_energy_derivatives(model, q, backend="numpy")
    sf.derivatives.jacobian_derivatives(model, q, "tip", backend="numpy")
    sf.derivatives.frame_velocity_derivatives(model, q, v, "tip", backend="numpy")
    sf.derivatives.integrate_derivatives(model, q, v, 0.1, backend="numpy")
    sf.derivatives.difference_derivatives(model, q, q + v, backend="numpy")
    sf.derivatives.centroidal_momentum_derivatives(model, q, v, backend="numpy")


def loops() -> None:
    model = sf.load("four_bar_leg")
    q = sf.loops.assemble(model)
    v = np.zeros(model.nv)
    count: sf.loops.Mobility = sf.loops.mobility(model, q)
    assert count.mobility > 0
    a, forces = sf.loops.constrained_dynamics(model, q, v, v, backend="numpy")
    sf.loops.constraint_gaps(model, q, backend="numpy")
    sf.loops.constraint_jacobian(model, q, backend="numpy")
    sf.loops.constraint_bias(model, q, v, backend="numpy")
    sf.loops.constraint_wrenches(model, q, forces, backend="numpy")
    sf.loops.actuator_forces(model, q, v, 0 * a, actuated=model.joint_names)
    sf.loops.project(model, q, v, backend="numpy")


def contact(model: sf.Model) -> None:
    tip = sf.contact.ContactPoint("lower", (0.0, 0.0, -1.0), 0.05)
    sf.contact.ContactPair(
        tip, sf.contact.ContactCapsule("upper", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5), 0.05)
    )
    ground = sf.contact.Ground(height=-10.0, points=(tip,))
    q, v = sf.random_state(model, seed=1)
    found: sf.contact.ContactForces = sf.contact.contact_forces(model, q, v, 0 * v, contacts=ground)
    assert found.forces.shape[-1] == 3
    corner = sf.contact.ImpactPoint("lower", (0.1, 0.0, 0.2), friction=0.5)
    after, impulse = sf.contact.impact(model, q, v, (corner,))
    assert after.shape == v.shape and impulse.shape[-1] == 3
    sf.contact.delassus_matrix(model, q, (corner,))


def motion(model: sf.Model, folder: Path) -> sf.Trajectory:
    def crossing(t: float, q: Array, v: Array) -> float:
        return float(q[0])

    inertia, _, _ = sf.control.operational_space_dynamics(
        model, (0.3, 0.4), (0.1, 0.2), "tip", rows=(3, 5)
    )
    assert np.allclose(
        inertia, sf.control.operational_space_inertia(model, (0.3, 0.4), "tip", rows=(3, 5))
    )
    sf.control.operational_space_mobility(model, (0.3, 0.4), "tip", rows="position")
    sf.control.dynamically_consistent_inverse(model, (0.3, 0.4), "tip", rows=(3, 5))
    sf.control.null_space_projector(model, (0.3, 0.4), "tip", rows=(3, 5))
    law = sf.control.pd(model, (0.0, 0.0), 20.0, 2.0)
    run = sf.simulate(
        model,
        (0.3, 0.1),
        None,
        1.0,
        dt=0.01,
        integrator="lie_rk4",
        control=law,
        events=[sf.Event(crossing, "up")],
        progress=False,
    )
    assert sf.JointStops().damping_ratio == 1.0
    run = sf.simulate(sf.System(model, control=law, hold=True), None, None, 0.1)
    run.save(folder / "run.npz")
    run = sf.Trajectory.load(folder / "run.npz")
    q, v = sf.rollout(model, None, None, dt=0.01, steps=3, integrator="rk4", dtype="float64")
    assert q.shape == v.shape == (3, 2)

    def end(q: Array, v: Array) -> float:
        found: float = q[0] * q[0]
        return found

    slope: sf.RolloutGradient = sf.rollout_gradient(
        model, None, None, dt=0.01, steps=3, final_cost=end
    )
    assert slope.q0.shape == (2,)
    plan: sf.control.OptimalControl = sf.control.optimal_control(
        model, (0.1, 0.0), None, dt=0.02, steps=5, final_cost=end, method="ilqr", iterations=2
    )
    assert plan.trajectory().q.shape == (6, 2)
    sf.control.plan_trajectory(model, [[0.0, 0.0], [1.0, 1.0]], duration=1.0, spline="cubic")
    return run


def control(model: sf.Model) -> None:
    q, v = np.zeros(2), np.zeros(2)
    linear: sf.control.Linearization = sf.control.linearize(
        model, q, v, v, dt=0.01, integrator="rk4"
    )
    assert sf.control.lqr(linear, Q=np.eye(4), R=np.eye(2)).K.shape == (2, 4)
    sf.control.tvlqr(np.stack([linear.A] * 3), np.stack([linear.B] * 3), Q=1.0, R=1.0)
    goal = sf.targets.Position("tip", sf.frame_pose(model, (0.3, 0.4), "tip")[:3, 3])
    found: sf.control.InverseKinematics = sf.inverse_kinematics(model, [goal])
    assert found.converged.all()
    sf.control.all_solutions(model, goal, starts=5)
    sf.control.differential_ik(model, q + 0.1, {"tip": np.zeros(6)})

    def reward(t: float, q: Array, v: Array, action: Array) -> float:
        found: float = -q[0] * q[0]
        return found

    stepper = sf.Stepper(model, dt=0.01, reward=reward, dtype="float64")
    planner = sf.control.MPPI(stepper, horizon=3, samples=4, noise=0.1)
    other = sf.control.CrossEntropy(stepper, horizon=3, samples=4, noise=0.1, iterations=1)
    assert planner(q, v).shape == other(q, v).shape == (2,)


def data(model: sf.Model, run: sf.Trajectory, folder: Path) -> None:
    log = sf.identification.Log(run.q, run.v, run.a, run.tau)
    fit: sf.identification.Identification = sf.identification.identify(
        model, log, friction="viscous", lag=0.0
    )
    assert fit.model.nv == 2
    numbers: sf.identification.BaseParameters = sf.identification.base_parameters(model)
    basis: sf.identification.BaseProjection = sf.identification.base_projection(model)
    assert numbers.rank == basis.matrix.shape[0]
    sf.identification.excitation(
        model, 2.0, dt=0.05, rounds=1, lower=-1.0, upper=1.0, speed=1.0, friction=False
    )
    studied: sf.sweeps.Sweep = sf.sweeps.sweep(
        lambda x, y: {"z": x + y},
        sf.sweeps.Grid(x=[1.0, 2.0]),
        draw={"y": sf.sweeps.draws.uniform(0.0, 1.0)},
        reduce=["mean", sf.sweeps.reducers.quantiles((0.5,))],
        engine="serial",
    )
    assert studied.rows == 2
    sf.write_report(folder / "run.html", model, run)
    sf.plot(run, folder / "run.svg")


def closed_forms(model: sf.Model, folder: Path) -> None:
    forms: sf.Equations = sf.equations(model, "symbols", inertias="centre", samples=2)
    assert forms.code("python") and forms.html() and forms.latex()
    code: sf.Code = sf.export(model, "inverse_dynamics", language="c", dtype="double")
    code.write(folder)
    kernel = sf.compile(sf.inverse_dynamics, model, dtype=np.float32, form="unrolled")
    assert kernel.operations
    at = np.zeros(model.nq)
    assert sf.explain(model, "gravity_force", at).by_cause["gravity"].shape == (model.nv,)
    assert np.allclose(sf.book.crba(model, at), sf.mass_matrix(model, at))
    assert sf.explain("Featherstone CRBA (8)", model, at)["H"].shape == (model.nv, model.nv)
    report: sf.Diagnosis = sf.diagnose(model, samples=2)
    assert report.ok
    chain = sf.planar.PlanarChain((1.0, 1.0), (0.1, 0.1), (1.0, 1.0))
    tau = sf.planar.skeleton_id(chain, (0.1, 0.2), (0.0, 0.0), (1.0, 1.0))
    assert np.allclose(sf.planar.skeleton_fd(chain, (0.1, 0.2), (0.0, 0.0), tau), 1.0)
    q = (0.1, 0.2)
    assert (
        len(sf.planar.skeleton(chain, q).joints) == 3
        and len(sf.planar.skeleton_inertia(chain, q)) == 2
    )
    assert (
        len(sf.planar.skeleton_bias(chain, q, q)) == len(sf.planar.skeleton_jacobian(chain, q)) == 2
    )
    sf.set_threads(sf.get_threads())


def sources(model: sf.Model) -> None:
    q, v = sf.random_state(model, seed=2)
    found: sf.operators.Operators = sf.operators.influence_operators(model, q, v, axes="body")
    psi: sf.operators.BlockOperator = found.Psi
    solved: sf.operators.OperatorSolution = found.equation_19b(np.zeros(model.nv))
    assert str(psi) and solved.steps[-1].value.shape == (model.nv,)
    assert sf.articulated_inertias(model, q, backend="numpy").shape == (model.nb, 6, 6)
    turn = sf.spatial.Motion.of((0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    assert sf.spatial.to_array(turn).shape == (6,)
    body = sf.Inertia.from_mass(1.0, (0.1, 0.0, 0.0))
    tree = sf.from_arrays([0, 1], "RP", [sf.Transform.identity()] * 2, [body, body])
    assert tree.nv == 2


def learning() -> sf.learn.VectorEnv:
    task: sf.learn.Task = sf.learn.tasks.cart_pole()
    return sf.learn.VectorEnv(task, num_envs=2, autoreset="next_step", dtype="float64")


def with_other_libraries(model: sf.Model, other: object) -> None:
    """Functions of optional libraries; nothing here runs by itself."""
    with sf.view(model, block=False):
        pass
    same: sf.interop.Comparison = sf.interop.compare_with("mujoco", model, samples=2)
    states: sf.interop.Converter = sf.interop.convert(model, other)
    assert same.agrees and states.nq == model.nq
    for make in (
        sf.interop.jax_function,
        sf.interop.torch_function,
        sf.devices.opencl_function,
        sf.interop.array_api_function,
    ):
        make(sf.inverse_dynamics, model)
    with sf.McapLog("run.mcap", model) as log:
        log.record(sf.Stepper(model, dt=1e-3))
    sf.devices.opencl_rollout(model, None, None, dt=0.01, steps=2, dtype="float64")


def main() -> int:
    assert ERRORS and WARNINGS and len(joints()) == 11
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = models(folder)
        spatial()
        numbers(1.0)
        dynamics(model)
        kinematics(model)
        derivatives(model)
        loops()
        contact(model)
        run = motion(model, folder)
        control(model)
        data(model, run, folder)
        closed_forms(model, folder)
        sources(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
