"""Time: integrators, controllers, events and trajectories."""

from sixfold.simulate import controllers
from sixfold.simulate.events import Crossing, Event
from sixfold.simulate.integrators import INTEGRATORS
from sixfold.simulate.rollout import rollout
from sixfold.simulate.run import simulate
from sixfold.simulate.stops import JointStops
from sixfold.simulate.trajectory import Trajectory

__all__ = [
    "INTEGRATORS",
    "Crossing",
    "Event",
    "JointStops",
    "Trajectory",
    "controllers",
    "rollout",
    "simulate",
]
