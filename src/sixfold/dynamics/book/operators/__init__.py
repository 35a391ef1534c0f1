"""Influence operators of Concurrent Dynamics: Phi, Psi and the equations made of them."""
