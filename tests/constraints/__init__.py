"""Closed loops, rods, gears and rolling: laws and reference problems."""
