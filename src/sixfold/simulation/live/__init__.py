"""Steps for loops that own the time: environments, controllers, hardware in the loop."""

from sixfold.simulation.live.plain_states import PlainStates
from sixfold.simulation.live.stepper import Stepper

__all__ = ["PlainStates", "Stepper"]
