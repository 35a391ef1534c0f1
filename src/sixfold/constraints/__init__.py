"""What one does with closed loops: assemble them, count their mobility, drive them."""

from sixfold.constraints.actuators import actuator_forces
from sixfold.constraints.assemble import assemble
from sixfold.constraints.mobility import Mobility, mobility

__all__ = ["Mobility", "actuator_forces", "assemble", "mobility"]
