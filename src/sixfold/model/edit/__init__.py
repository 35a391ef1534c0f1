"""Make a new model out of others: lock joints, attach, replace inertias, add a payload.

Each function takes a model and returns a new one; the model given stays as it is.
"""
