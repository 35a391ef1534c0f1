"""Checks of the arguments and of the end of a simulation."""
