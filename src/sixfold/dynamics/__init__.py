"""Dynamics algorithms on kinematic trees over any kind of number, one algorithm a file.

Import an algorithm from its module: `from sixfold.dynamics.book.rnea import rnea`.
"""
