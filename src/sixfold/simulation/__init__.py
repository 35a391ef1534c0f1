"""Time: integrators, controllers, events and trajectories."""

from sixfold.simulation.events import Crossing, Event
from sixfold.simulation.gradient import RolloutGradient, rollout_gradient
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.joint_stops import JointStops
from sixfold.simulation.mcap import McapLog
from sixfold.simulation.rollout import rollout
from sixfold.simulation.simulate import simulate
from sixfold.simulation.stepper import Stepper
from sixfold.simulation.system import System, SystemOptions
from sixfold.simulation.trajectory import Trajectory

__all__ = [
    "INTEGRATORS",
    "Crossing",
    "Event",
    "JointStops",
    "McapLog",
    "RolloutGradient",
    "Stepper",
    "System",
    "SystemOptions",
    "Trajectory",
    "rollout",
    "rollout_gradient",
    "simulate",
]
