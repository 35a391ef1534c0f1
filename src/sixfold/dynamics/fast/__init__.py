"""Fast versions: each equals a textbook algorithm, by test, and takes fewer operations.

| fast version | textbook algorithm |
|---|---|
| `inverse_dynamics.joint_forces` | `book.rnea.rnea` |
| `aba.aba` | `book.aba.aba` |
| `articulated.inverse_mass_matrix` | `book.operators.equations.inverse_mass_matrix` |
| `coriolis.coriolis` | `book.lagrange.coriolis_matrix` |
"""
