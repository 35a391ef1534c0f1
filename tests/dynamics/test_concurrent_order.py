"""How the work of the operator equations grows with the number of bodies, by counted operations.

Concurrent Dynamics International, EOM with Newton-Euler Equations, 2017.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import sixfold as sf
from sixfold.dynamics.book.crba import crba, dense
from sixfold.dynamics.book.operators import equations
from sixfold.dynamics.book.operators.inertial_axes import inertial
from sixfold.dynamics.kinematics import no_forces
from sixfold.scalar import plain
from sixfold.spatial import Column, Transform
from tests.dynamics.support import EPS, error, tables
from tests.surveys.operation_counts import Counted, algorithms, chain, count, mass_matrix_steps

TREE10 = sf.load("tree10")


# -- order of the mass-matrix procedure


def test_last_step_of_the_printed_mass_matrix_procedure_is_of_order_n_cubed():
    steps = [mass_matrix_steps(n)["3. J^T Q (as printed)"] for n in (10, 20, 40)]
    for small, large in pairwise(steps):
        # N (N + 1) (2 N + 1) up to the zeros of the last column: 7.4 and 7.7 towards 8
        assert 7.2 < large.multiplications / small.multiplications < 8.5


def test_mass_matrix_by_a_sweep_for_each_column_is_of_order_n_squared():
    steps = [mass_matrix_steps(n) for n in (10, 20, 40)]
    for small, large in pairwise(steps):
        for name in ("1. J = Psi_D G", "2. Q = M J", "3. G^T (Psi_D^T Q)"):
            assert 3.8 < large[name].multiplications / small[name].multiplications < 4.4


def test_the_mass_matrix_of_a_chain_has_n_squared_elements_and_no_zero():
    for n in (5, 10):
        c = chain(n)
        M = equations.mass_matrix(inertial(c.tree, c.q, c.qd, c.f_ext))
        assert all(len(row) == n == len(M) for row in M)
        assert all(abs(float(plain(x))) > 0 for row in M for x in row)


def test_the_two_ways_to_the_mass_matrix_agree():
    q, qd, _, none = tables(TREE10)
    for read in (inertial, equations.body_frame):
        s = read(TREE10.tree, q, qd, none)
        H = dense(TREE10.tree, crba(TREE10.tree, q))
        assert error(equations.mass_matrix(s), H) <= 64 * EPS
        assert error(equations.mass_matrix_as_printed(s), H) <= 64 * EPS


def test_factorised_solution_is_of_order_n_and_the_dense_one_is_not():
    small, large = algorithms(20), algorithms(40)

    def growth(name):
        return large[name].total / small[name].total

    assert growth("forward dynamics: operators, O(N) (19b)") < 2.2
    assert growth("forward dynamics: ABA") < 2.2
    assert growth("inverse dynamics: RNEA") < 2.2
    assert growth("forward dynamics: operators, O(N^3) (19a)") > 3.5


def test_operations_of_the_dense_solution_are_a_cubic_and_of_the_factorised_one_a_line():
    """The counts at N = 4, 5, ... have constant third, and vanishing second, differences."""
    solid = sf.Inertia.from_mass(1.3, (0.2, 0.3, 0.4), (0.5, 0.6, 0.7))
    place = Transform.from_rpy((0.2, 0.4, 0.6), (0.3, -0.5, 0.7))
    counts = {equations.solve_dense: [], equations.solve_factorised: []}
    for n in range(4, 10):
        builder = sf.ModelBuilder("equal links")
        for k in range(n):
            parent = str(k - 1) if k else None
            joint = sf.Revolute((0.36, 0.48, 0.8))
            builder.add_body(str(k), parent=parent, joint=joint, placement=place, inertia=solid)
        model = builder.build()
        tree = model.map(lambda x: x if x == 1 else Counted(x))
        column = {i: Column([Counted(0.1 * i)]) for i in tree.bodies}
        s = equations.body_frame(tree, column, column, no_forces(tree))
        for solve, found in counts.items():
            found.append(count(lambda s=s, f=column, solve=solve: solve(s, f)).multiplications)
    third = np.diff(counts[equations.solve_dense], 3)
    # L D L^T takes N^3 / 6 multiplications and more of lower order: 6 / 6 = 1
    assert third.tolist() == [1, 1, 1]
    assert np.diff(counts[equations.solve_factorised], 2).tolist() == [0, 0, 0, 0]
