"""Recorded motions."""
