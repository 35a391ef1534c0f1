"""Least squares over samples, physical inertias, and what is wrong with data that do not fit."""
