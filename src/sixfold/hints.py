"""What other libraries call things: hints for names and keywords that do not exist here.

The tables agree with the coming-from pages of the documentation, which a test checks.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module

# public submodules, searched for names that `sf` itself does not have
SUBMODULES = (
    "book",
    "control",
    "contact",
    "derivatives",
    "devices",
    "errors",
    "identification",
    "interop",
    "learn",
    "loops",
    "math",
    "operators",
    "planar",
    "spatial",
    "sweeps",
)

# our name: names in Pinocchio, MuJoCo, Drake, the Robotics Toolbox, SymPy and spatial_v2
NAMES_ELSEWHERE = {
    "Cylindrical": "CylindricalJoint",
    "Equations.M": "mass_matrix",
    "Equations.V": "forcing",
    "Equations.code": "lambdify",
    "Equations.text": "vlatex vpprint",
    "Fixed": "WeldJoint",
    "Free": "QuaternionFloatingJoint RpyFloatingJoint floatbase",
    "Helical": "ScrewJoint",
    "Inertia.from_mass": "RigidBody Particle mcI",
    "Model.body_index": "mj_name2id",
    "Model.nq": "num_positions",
    "Model.nv": "num_velocities",
    "Model.without": "nofriction",
    "ModelBuilder": (
        "addJoint appendBodyToJoint addFrame MjSpec MultibodyPlant AddRigidBody AddJoint "
        "AddFrame Robot Link ETS ReferenceFrame Point"
    ),
    "ModelBuilder.add_body": "add_joints",
    "ModelBuilder.close": "AddBallConstraint AddDistanceConstraint AddWeldConstraint",
    "Planar": "PlanarJoint",
    "Prismatic": "PrismaticJoint",
    "Revolute": "RevoluteJoint PinJoint",
    "Spherical": "BallRpyJoint SphericalJoint",
    "Stepper": "MjData step",
    "Stepper.step": "mj_step",
    "Transform": "SE3",
    "Transform.from_pose": "plux",
    "Transform.pose": "pluho",
    "Transform.translation": "xlt",
    "Transform.turn": "rotx roty rotz",
    "Universal": "UniversalJoint",
    "add_payload": "payload",
    "attach": "appendModel",
    "bias_force": "nonLinearEffects mj_rne mj_passive CalcForceElementsContribution friction nle",
    "body_accelerations": (
        "getFrameAcceleration getFrameClassicalAcceleration mj_objectAcceleration "
        "EvalBodySpatialAccelerationInWorld"
    ),
    "body_poses": (
        "forwardKinematics oMi mj_kinematics xpos xmat EvalBodyPoseInWorld fkine_all "
        "forward_kinematics"
    ),
    "body_velocities": "getVelocity",
    "book.joint_maps": "jcalc",
    "book.ltdl": "LTDL",
    "book.ltl": "LTL",
    "center_of_mass": "centerOfMass mj_comPos CalcCenterOfMassPositionInWorld",
    "center_of_mass_jacobian": (
        "jacobianCenterOfMass mj_jacSubtreeCom CalcJacobianCenterOfMassTranslationalVelocity"
    ),
    "centroidal_momentum": "computeCentroidalMomentum mj_subtreeVel subtree_linvel subtree_angmom",
    "centroidal_momentum_matrix": "ccrba Ag mj_angmomMat",
    "check": "LagrangesMethod",
    "compile": "casadi jit",
    "contact.contact_forces": "mj_contactForce",
    "contact.impact": "impulseDynamics",
    "control.all_solutions": "ikine_a",
    "control.computed_torque": "InverseDynamicsController",
    "control.differential_ik": "DoDifferentialInverseKinematics p_servo",
    "control.linearize": "mjd_transitionFD Linearize to_linearizer Linearizer",
    "control.lqr": "LinearQuadraticRegulator",
    "control.minimum_jerk": "jtraj quintic",
    "control.operational_space_inertia": "inertia_x",
    "control.optimal_control": "DirectCollocation DirectTranscription",
    "control.pid": "PidController",
    "control.plan_trajectory": "Toppra mstraj trapezoidal",
    "coriolis_matrix": "computeCoriolisMatrix CalcBiasTerm coriolis",
    "derivatives.difference_derivatives": "dDifference",
    "derivatives.forward_dynamics_derivatives": "computeABADerivatives",
    "derivatives.integrate_derivatives": "dIntegrate",
    "derivatives.inverse_dynamics_derivatives": "computeRNEADerivatives mjd_inverseFD AutoDiffXd",
    "derivatives.jacobian_derivatives": "hessian0",
    "diagnose": "dynamics",
    "difference": "mj_differentiatePos XtoV",
    "equations": "Expression dynamicsymbols KanesMethod",
    "export": "ccode",
    "forward_dynamics": "aba mj_forward qacc SetPositions SetVelocities accel rhs FDab FDcrb FDfb",
    "frame_pose": "updateFramePlacements oMf CalcRelativeTransform fkine fk",
    "frame_velocity": "getFrameVelocity mj_objectVelocity EvalBodySpatialVelocityInWorld",
    "from_arrays": "autoTree",
    "from_dh": "DHRobot RevoluteDH PrismaticDH RevoluteMDH PrismaticMDH",
    "gravity_force": (
        "computeGeneralizedGravity CalcGravityGeneralizedForces gravload gravity gravity_vector"
    ),
    "hybrid_dynamics": "HD IDfb",
    "identification.energy_regressor": "computeKineticEnergyRegressor",
    "integrate": "mj_integratePos",
    "interop.jax_function": "vmap",
    "inverse_dynamics": "rnea mj_inverse qfrc_inverse CalcInverseDynamics rne ID",
    "inverse_kinematics": "InverseKinematics ikine_LM ikine_NR ikine_GN ikine",
    "inverse_mass_matrix": "computeMinverse mj_solveM",
    "jacobian": (
        "computeFrameJacobian getFrameJacobian mj_jacBody mj_jacSite mj_jac "
        "CalcGeneralizedForces CalcJacobianSpatialVelocity "
        "CalcJacobianTranslationalVelocity jacob0 jacobe manipulability partial_velocity"
    ),
    "jacobian_bias": (
        "computeJointJacobiansTimeVariation mj_jacDot qvel CalcBiasSpatialAcceleration "
        "jacob0_dot qd"
    ),
    "kinetic_energy": "computeKineticEnergy mj_energyVel CalcKineticEnergy potential_energy",
    "load": (
        "buildModelFromUrdf buildModelFromMJCF from_xml_path from_xml_string Parser "
        "Puma560 URDF load_urdf from_urdf load_mjcf"
    ),
    "lock_joints": "buildReducedModel",
    "loops.actuator_forces": "MakeActuationMatrix",
    "loops.constrained_dynamics": "constraintDynamics",
    "mass_matrix": "crba mj_crb mj_fullM CalcMassMatrix itorque HandC",
    "momentum": "CalcSpatialMomentumInWorldAboutPoint EnerMo",
    "neutral": "CreateDefaultContext",
    "point_force": "mj_applyFT Torque",
    "position_rate": "MapVelocityToQDot",
    "potential_energy": "computePotentialEnergy mj_energyPos CalcPotentialEnergy",
    "random_state": "randomConfiguration random_q",
    "regressor": "computeJointTorqueRegressor",
    "simulate": "AdvanceTo LeafSystem fdyn odeint",
    "spatial.Force.at_point": "Fpt",
    "spatial.Motion.cross_matrix": "crm crf",
    "spatial.velocity_at": "Vpt",
    "view": "MeshcatVisualizer viewer Meshcat ModelVisualizer plot teach twists showmotion",
    "write_report": "Renderer",
}

# keyword of another library: ours
KEYWORDS_ELSEWHERE = {
    "timestep": "dt",
    "time_step": "dt",
    "step_size": "dt",
    "h": "dt",
    "tf": "duration",
    "t_end": "duration",
    "t_final": "duration",
    "total_time": "duration",
    "controller": "control",
    "policy": "control",
    "torque": "tau",
    "forces": "tau",
    "qd": "v",
    "qdot": "v",
    "dq": "v",
    "qvel": "v",
    "qpos": "q",
    "qdd": "a",
    "qacc": "a",
    "fext": "f_ext",
    "external_forces": "f_ext",
    "ground": "contacts",
    "contact": "contacts",
    "method": "integrator",
    "solver": "integrator",
}


def name_here(name: str) -> str | None:
    """Return our name for what another library calls `name`, None if it is not known."""
    for ours, theirs in NAMES_ELSEWHERE.items():
        if name in theirs.split():
            return ours
    return None


def missing_name(package: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that a package does not have.

    Args:
        package: the module, for example "sixfold".
        name: what was asked for.
        known: the names that it has.
    """
    message = f"module {package!r} has no attribute {name!r}"
    if name.startswith("_"):
        return message
    # names of other libraries, names of submodules, then similar names
    if package == "sixfold":
        if ours := name_here(name):
            return f"{message}: Sixfold calls it sf.{ours}"
        for module in SUBMODULES:
            if name in import_module(f"sixfold.{module}").__all__:
                return f"{message}: it is sf.{module}.{name}"
    near = get_close_matches(name, known, n=2)
    return f"{message}: did you mean {' or '.join(near)}?" if near else message
