"""MJCF in."""
