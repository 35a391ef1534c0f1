from sixfold import book as book
from sixfold import contact as contact
from sixfold import control as control
from sixfold import derivatives as derivatives
from sixfold import devices as devices
from sixfold import errors as errors
from sixfold import identification as identification
from sixfold import interop as interop
from sixfold import learn as learn
from sixfold import loops as loops
from sixfold import math as math
from sixfold import operators as operators
from sixfold import planar as planar
from sixfold import spatial as spatial
from sixfold import sweeps as sweeps
from sixfold.checks import Diagnosis as Diagnosis
from sixfold.checks import check as check
from sixfold.checks import diagnose as diagnose
from sixfold.checks.explanation.explain import explain as explain
from sixfold.control import targets as targets
from sixfold.control.ik import inverse_kinematics as inverse_kinematics
from sixfold.display import plot as plot
from sixfold.display import view as view
from sixfold.display import write_report as write_report
from sixfold.formats import load as load
from sixfold.formats import save as save
from sixfold.model import CustomJoint as CustomJoint
from sixfold.model import Cylindrical as Cylindrical
from sixfold.model import DHRow as DHRow
from sixfold.model import Fixed as Fixed
from sixfold.model import Free as Free
from sixfold.model import Helical as Helical
from sixfold.model import Joint as Joint
from sixfold.model import Model as Model
from sixfold.model import ModelBuilder as ModelBuilder
from sixfold.model import Planar as Planar
from sixfold.model import Prismatic as Prismatic
from sixfold.model import Revolute as Revolute
from sixfold.model import Spherical as Spherical
from sixfold.model import Translational as Translational
from sixfold.model import Universal as Universal
from sixfold.model import add_payload as add_payload
from sixfold.model import attach as attach
from sixfold.model import from_arrays as from_arrays
from sixfold.model import from_dh as from_dh
from sixfold.model import group_inertias as group_inertias
from sixfold.model import lock_joints as lock_joints
from sixfold.model import random_tree as random_tree
from sixfold.model import replace_inertias as replace_inertias
from sixfold.model.edit import rename as rename
from sixfold.quantities.configurations import difference as difference
from sixfold.quantities.configurations import integrate as integrate
from sixfold.quantities.configurations import neutral as neutral
from sixfold.quantities.configurations import position_rate as position_rate
from sixfold.quantities.configurations import random_state as random_state
from sixfold.quantities.dynamics import bias_force as bias_force
from sixfold.quantities.dynamics import coriolis_matrix as coriolis_matrix
from sixfold.quantities.dynamics import forward_dynamics as forward_dynamics
from sixfold.quantities.dynamics import gravity_force as gravity_force
from sixfold.quantities.dynamics import inverse_dynamics as inverse_dynamics
from sixfold.quantities.dynamics import inverse_mass_matrix as inverse_mass_matrix
from sixfold.quantities.dynamics import mass_matrix as mass_matrix
from sixfold.quantities.energies import center_of_mass as center_of_mass
from sixfold.quantities.energies import centroidal_momentum as centroidal_momentum
from sixfold.quantities.energies import kinetic_energy as kinetic_energy
from sixfold.quantities.energies import momentum as momentum
from sixfold.quantities.energies import potential_energy as potential_energy
from sixfold.quantities.hybrid import hybrid_dynamics as hybrid_dynamics
from sixfold.quantities.kinematic_derivatives import (
    center_of_mass_jacobian as center_of_mass_jacobian,
)
from sixfold.quantities.kinematic_derivatives import (
    centroidal_momentum_bias as centroidal_momentum_bias,
)
from sixfold.quantities.kinematic_derivatives import (
    centroidal_momentum_matrix as centroidal_momentum_matrix,
)
from sixfold.quantities.kinematics import body_accelerations as body_accelerations
from sixfold.quantities.kinematics import body_poses as body_poses
from sixfold.quantities.kinematics import body_velocities as body_velocities
from sixfold.quantities.kinematics import frame_pose as frame_pose
from sixfold.quantities.kinematics import frame_velocity as frame_velocity
from sixfold.quantities.kinematics import jacobian as jacobian
from sixfold.quantities.kinematics import jacobian_bias as jacobian_bias
from sixfold.quantities.kinematics import point_force as point_force
from sixfold.quantities.regressors import regressor as regressor
from sixfold.quantities.wrenches import articulated_inertias as articulated_inertias
from sixfold.quantities.wrenches import joint_reaction_forces as joint_reaction_forces
from sixfold.quantities.wrenches import joint_wrenches as joint_wrenches
from sixfold.runtime import compile as compile
from sixfold.runtime import get_threads as get_threads
from sixfold.runtime import set_threads as set_threads
from sixfold.simulation import Event as Event
from sixfold.simulation import JointStops as JointStops
from sixfold.simulation import McapLog as McapLog
from sixfold.simulation import RolloutGradient as RolloutGradient
from sixfold.simulation import Stepper as Stepper
from sixfold.simulation import System as System
from sixfold.simulation import Trajectory as Trajectory
from sixfold.simulation import rollout as rollout
from sixfold.simulation import rollout_gradient as rollout_gradient
from sixfold.simulation import simulate as simulate
from sixfold.spatial import Inertia as Inertia
from sixfold.spatial import Transform as Transform
from sixfold.symbolic import Code as Code
from sixfold.symbolic import Equations as Equations
from sixfold.symbolic import equations as equations
from sixfold.symbolic import export as export

__all__: list[str]
__version__: str
