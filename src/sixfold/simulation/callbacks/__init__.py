"""Callbacks: checked calls, proof of purity, compilation."""
