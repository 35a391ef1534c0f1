"""Attacks on purity, identity and staleness.

Each function of the user's own is run right, refused, or read once at a moment that is documented.
"""
