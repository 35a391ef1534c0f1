"""What the mouse does beside the sliders: it drags frames, and pulls bodies while time runs."""

from sixfold.viewer.hands.frame_drag import FrameDrag
from sixfold.viewer.hands.grip import Grip
from sixfold.viewer.hands.live import LivePlayer, live_stepper

__all__ = ["FrameDrag", "Grip", "LivePlayer", "live_stepper"]
