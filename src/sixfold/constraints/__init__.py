"""What one does with closed loops: assemble them, count their mobility, drive them."""

from sixfold.constraints.loops import Mobility, actuator_forces, assemble, mobility

__all__ = ["Mobility", "actuator_forces", "assemble", "mobility"]
