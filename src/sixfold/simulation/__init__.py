"""Time: integrators, controllers, events and trajectories."""

from sixfold.simulation.events import Crossing, Event
from sixfold.simulation.gradient import RolloutGradient, rollout_gradient
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.live import Stepper
from sixfold.simulation.mcap.log import McapLog
from sixfold.simulation.rollout import rollout
from sixfold.simulation.simulate import simulate
from sixfold.simulation.stops import JointStops
from sixfold.simulation.trajectory.trajectory import Trajectory

__all__ = [
    "INTEGRATORS",
    "Crossing",
    "Event",
    "JointStops",
    "McapLog",
    "RolloutGradient",
    "Stepper",
    "Trajectory",
    "rollout",
    "rollout_gradient",
    "simulate",
]
