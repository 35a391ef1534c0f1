"""The pages that run: each equals a page of the book by law and takes fewer operations.

| page that runs | page of the book |
|---|---|
| `inverse_dynamics.joint_forces` | `book.rnea.rnea` |
| `aba.aba` | `book.aba.aba` |
| `articulated.inverse_mass_matrix` | `book.operators.equations.inverse_mass_matrix` |
| `coriolis.coriolis` | `book.lagrange.coriolis_matrix` |
"""
