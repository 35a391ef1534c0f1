"""Small robots for the bridges, and differences to compare derivatives with."""

from functools import cache

import numpy as np

import sixfold as sf


@cache
def robot(name):
    """Return an arm, a floating base, or a tree with a ball joint."""
    if name != "ball":
        return sf.load(name)
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4))
    builder = sf.ModelBuilder("ball")
    builder.add_body("a", joint=sf.Spherical(), inertia=solid)
    return builder.add_body("b", parent="a", joint=sf.Revolute("x"), inertia=solid).build()


def states(model, *lead, seed=0):
    """Return q, v and a third array of size nv."""
    count = int(np.prod(lead))
    q, v = sf.random_state(model, count, seed=seed)
    third = np.random.default_rng(seed).standard_normal((count, model.nv))
    return (q.reshape(*lead, model.nq), v.reshape(*lead, model.nv), third.reshape(*lead, model.nv))


def differences(function, x, h=1e-6):
    """Return derivatives of a function by the numbers of x, last axis, by central differences."""
    columns = [
        (np.asarray(function(x + h * e)) - np.asarray(function(x - h * e))) / (2 * h)
        for e in np.eye(len(x))
    ]
    return np.stack(columns, axis=-1)
