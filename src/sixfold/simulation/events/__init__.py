"""Events: what to look for, and how they are found."""

from sixfold.simulation.events.event import Crossing, Event, events_of

__all__ = ["Crossing", "Event", "events_of"]
