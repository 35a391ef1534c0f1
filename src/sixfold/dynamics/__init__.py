"""The book, one page a file: algorithms on kinematic trees over any kind of number.

Import a page by its module: `from sixfold.dynamics.book.rnea import rnea`.
"""
