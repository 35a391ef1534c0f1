"""What the tests of the printed equations share: spatial quantities as arrays."""

import numpy as np

from sixfold.scalar import plain
from sixfold.spatial import Motion


def six(x):
    return np.array([float(plain(c)) for c in (*x.ang, *x.lin)])


def six_columns(subspace):
    return np.array([six(c) for c in subspace.columns]).reshape(-1, 6).T


def rows(matrix):
    return np.array([[float(plain(x)) for x in row] for row in matrix])


def cross_star(v):
    return rows(Motion.of(list(v)).cross_star_matrix())


def cross(v):
    return rows(Motion.of(list(v)).cross_matrix())
