"""The rate of inertia and of momentum: f = I a + v x* I v.

Sources: Featherstone, Summer Screws 2024, part 2; Carius, Primer on Spatial Algebra, 2018 (eqs.
21-27; in eq. 22 the derivative is that of the vector, not of its components, and in eqs. 26 and
27 gravity is I a_g); Khatib, Stanford lecture on dynamics (Newton and Euler equations).
Every rate is taken twice: by dual numbers and by central differences.
"""

import numpy as np
import pytest
from hypothesis import given

from sixfold.spatial import (
    ZERO3,
    Force,
    Inertia,
    Motion,
    Transform,
    Vector3,
    classical_acceleration,
    equation_of_motion,
    inertia_rate,
    velocity_at,
)
from tests.spatial.support import (
    angular_velocity,
    array,
    assert_close,
    assert_differ,
    forces,
    frame_acceleration,
    frame_velocity,
    inertias,
    law,
    motions,
    pose,
    size,
    transforms,
    vectors,
)

BODY = Inertia.from_mass(
    1.7, (0.3, -0.2, 0.5), [[0.9, 0.1, -0.2], [0.1, 0.7, 0.05], [-0.2, 0.05, 0.8]]
)
SCALE = 30.0  # of the forces in these motions


def moved(t):
    """Return the inertia of a body that moves by pose, in the coordinates at rest."""
    X = pose(t)
    return X.T @ BODY @ X


def momentum(time, t):
    return moved(t) @ frame_velocity(time, pose, t)


# the rate of inertia


def test_the_inertia_of_a_moving_body_changes_by_carius_eq_21(time):
    t = time.t
    want = time.rate(lambda s: moved(s).matrix(), t)
    assert_close(inertia_rate(moved(t), frame_velocity(time, pose, t)), want, SCALE, eps=16)


def test_the_rate_of_inertia_in_body_coordinates_is_not_zero_carius_eq_21(time):
    t = time.t
    X = pose(t)
    rate = array(time.rate(lambda s: moved(s).matrix(), t))
    in_B = array(X.star_matrix()) @ rate @ array(X.inverse().matrix())
    assert_close(inertia_rate(BODY, X @ frame_velocity(time, pose, t)), in_B, SCALE, eps=32)
    assert_differ(in_B, np.zeros((6, 6)), by=0.1)


@law
@given(inertias(), motions)
def test_the_rate_of_inertia_is_symmetric_and_its_matrices_are_the_cross_products(I, v):
    found = array(inertia_rate(I, v))
    M = array(I.matrix())
    want = array(v.cross_star_matrix()) @ M - M @ array(v.cross_matrix())
    assert_close(found, want, size(M) * size(v))
    assert_close(found, found.T, size(M) * size(v))


@law
@given(inertias(), motions)
def test_the_rate_of_inertia_does_no_work_on_its_own_motion(I, v):
    # v . (dI/dt) v = 2 v . (v x* I v) = 0: the velocity-product force has no power
    assert_close(v.dot(v.cross(I @ v)), 0.0, size(I.matrix()) * size(v) ** 3)


# the equation of motion


def test_force_is_the_rate_of_momentum_carius_eq_22(time):
    t = time.t
    f = time.rate(lambda s: momentum(time, s), t)
    v, a = frame_velocity(time, pose, t), frame_acceleration(time, pose, t)
    assert_close(equation_of_motion(moved(t), v, a), f, SCALE, eps=64)


def test_force_in_body_coordinates_is_the_rate_of_the_momentum_vector_carius_eq_22(time):
    t = time.t
    X = pose(t)
    f = X.star @ time.rate(lambda s: momentum(time, s), t)
    v, a = X @ frame_velocity(time, pose, t), X @ frame_acceleration(time, pose, t)
    assert_close(equation_of_motion(BODY, v, a), f, SCALE, eps=64)


def test_the_componentwise_rate_of_momentum_in_body_coordinates_is_only_inertia_times_a(time):
    t = time.t
    X = pose(t)
    ring = time.rate(lambda s: BODY @ (pose(s) @ frame_velocity(time, pose, s)), t)
    v, a = X @ frame_velocity(time, pose, t), X @ frame_acceleration(time, pose, t)
    assert_close(ring, BODY @ a, SCALE, eps=64)
    assert_differ(ring, equation_of_motion(BODY, v, a), by=0.1)


def test_the_power_of_the_force_is_the_rate_of_kinetic_energy(time):
    t = time.t
    (rate,) = time.rate(lambda s: (moved(s).kinetic_energy(frame_velocity(time, pose, s)),), t)
    v, a = frame_velocity(time, pose, t), frame_acceleration(time, pose, t)
    assert_close(equation_of_motion(moved(t), v, a).dot(v), rate, SCALE, eps=64)


def test_newtons_equation_holds_at_the_centre_of_mass(time):
    t = time.t

    def center(s):
        return pose(s).r + pose(s).E.T @ BODY.center

    acceleration = time.rate(lambda s: time.rate(center, s), t)
    v, a = frame_velocity(time, pose, t), frame_acceleration(time, pose, t)
    found = equation_of_motion(moved(t), v, a)
    assert_close(found.lin, acceleration * BODY.m, SCALE, eps=64)


def test_eulers_equation_holds_about_the_centre_of_mass(time):
    t = time.t
    X = pose(t)
    omega = angular_velocity(time, pose, t)
    omega_rate = time.rate(lambda s: angular_velocity(time, pose, s), t)
    Ic = BODY.about_center.congruence(X.E)  # along the axes at rest
    v, a = frame_velocity(time, pose, t), frame_acceleration(time, pose, t)
    at_center = Transform.translation(X.r + X.E.T @ BODY.center)
    found = at_center.star @ equation_of_motion(moved(t), v, a)
    assert_close(found.ang, Ic @ omega_rate + omega.cross(Ic @ omega), SCALE, eps=64)


def test_the_rate_of_angular_momentum_about_the_centre_of_mass_is_eulers_moment(time):
    t = time.t

    def own(s):
        X = pose(s)
        return BODY.about_center.congruence(X.E) @ angular_velocity(time, pose, s)

    omega = angular_velocity(time, pose, t)
    omega_rate = time.rate(lambda s: angular_velocity(time, pose, s), t)
    Ic = BODY.about_center.congruence(pose(t).E)
    want = Ic @ omega_rate + omega.cross(Ic @ omega)
    assert_close(time.rate(own, t), want, SCALE, eps=64)


def test_the_moment_of_momentum_of_a_particle_changes_by_the_moment_of_force(time):
    # d(p x m v)/dt = p x m dv/dt, because v x m v = 0 (Khatib)
    m = 1.3

    def place(s):
        return pose(s).r

    def momentum_at(s):  # of a particle at p that moves with dp/dt and does not turn
        return Inertia.from_mass(m, place(s)) @ Motion(ZERO3, time.rate(place, s))

    t = time.t
    p, v = place(t), time.rate(place, t)
    acceleration = time.rate(lambda s: time.rate(place, s), t)
    assert_close(momentum_at(t), Force.at_point(v * m, p), SCALE)
    assert_close(time.rate(momentum_at, t), Force.at_point(acceleration * m, p), SCALE)
    assert_close(momentum_at(t).ang, p.cross(v * m), SCALE)
    assert_close(time.rate(momentum_at, t).ang, p.cross(acceleration * m), SCALE)


def test_a_free_body_keeps_its_momentum(time):
    # d(Iv)/dt = 0 for the acceleration that the equation of motion gives without a force
    t = time.t
    I, v = moved(t), frame_velocity(time, pose, t)
    a = np.linalg.solve(array(I.matrix()), -array(v.cross(I @ v)).reshape(6))
    a = Motion.of([float(x) for x in a])
    rate = array(inertia_rate(I, v)) @ array(v).reshape(6) + array(I @ a).reshape(6)
    condition = np.linalg.cond(array(I.matrix()))
    assert_close(rate, np.zeros(6), SCALE * condition)
    assert_close(equation_of_motion(I, v, a), Force.zero(), SCALE * condition)


@law
@given(inertias(), motions, motions, transforms)
def test_the_equation_of_motion_does_not_depend_on_the_coordinates(I, v, a, X):
    back = X.inverse()
    found = equation_of_motion(X.T @ I @ X, back @ v, back @ a)
    scale = size(I.matrix()) * (size(a) + size(v) ** 2) * (1 + size(X.r)) ** 4
    assert_close(X.star @ found, equation_of_motion(I, v, a), scale)


# Carius (23)-(27): the body frame at the centre of mass


def at_center(I):
    """Return the same body in a frame at its centre of mass."""
    return Inertia(I.m, Vector3(0.0, 0.0, 0.0), I.about_center)


@law
@given(inertias())
def test_the_inertia_at_the_centre_of_mass_is_block_diagonal_carius_eq_23(I):
    back = Transform.translation(-I.center)
    found = array((back.T @ I @ back).matrix())
    want = np.zeros((6, 6))
    want[:3, :3], want[3:, 3:] = array(I.about_center.matrix()), I.m * np.eye(3)
    assert_close(found, want, size(I.matrix()), eps=16)


@law
@given(inertias(), motions, motions)
def test_about_the_centre_of_mass_the_equation_of_motion_is_newton_and_euler_carius_eq_27(I, v, a):
    B = at_center(I)
    Ic = I.about_center
    found = equation_of_motion(B, v, a)
    euler = Ic @ a.ang + v.ang.cross(Ic @ v.ang)
    newton = a.lin * I.m + v.ang.cross(v.lin * I.m)
    scale = size(B.matrix()) * (size(a) + size(v) ** 2)
    assert_close(found, Force(euler, newton), scale)
    # the linear part is mass times the classical acceleration of the centre
    assert_close(newton, classical_acceleration(a, v).lin * I.m, scale)


@law
@given(inertias(), transforms, vectors)
def test_gravity_is_inertia_times_the_transformed_acceleration_carius_eq_26_corrected(I, X, g):
    # body in B, X = B_X_I, g along the axes of I
    found = I @ (X @ Motion(Vector3(0.0, 0.0, 0.0), g))
    center = X.r + X.E.T @ I.center
    want = X.star @ Force.at_point(g * I.m, center)
    scale = size(I.matrix()) * size(g) * (1 + size(X.r))
    assert_close(found, want, scale)


@law
@given(inertias(), transforms, vectors)
def test_gravity_at_the_centre_of_mass_has_no_moment_carius_eq_27_corrected(I, X, g):
    found = at_center(I) @ (X @ Motion(Vector3(0.0, 0.0, 0.0), g))
    assert_close(found, Force(Vector3(0.0, 0.0, 0.0), X.E @ g * I.m), I.m * size(g))


def test_gravity_as_a_force_vector_through_the_origin_would_be_wrong():
    # X* [0; m g] acts at the origin of I, not at the centre of mass
    X = Transform.translation((1.0, 0.0, 0.0))
    body, g = Inertia.from_mass(2.0, rotational=(1.0, 1.0, 1.0)), Vector3.of((0.0, 0.0, -9.81))
    weight = body @ (X @ Motion(Vector3.of((0.0, 0.0, 0.0)), g))
    wrong = X.star @ Force(Vector3.of((0.0, 0.0, 0.0)), g * body.m)
    assert weight.ang == (0, 0, 0)
    assert_differ(weight, wrong, by=9.81)
    with pytest.raises(TypeError, match=r"X\.star @ f"):
        X @ Force(Vector3.of((0.0, 0.0, 0.0)), g * body.m)


@law
@given(inertias(), motions, transforms, transforms, forces, vectors)
def test_forces_given_in_other_frames_and_gravity_add_up_carius_eqs_26_and_27(I, v, X, Y, f, g):
    B = at_center(I)
    zero = Vector3(0.0, 0.0, 0.0)
    net = (Y.star @ f) + (B @ (X @ Motion(zero, g)))
    # the acceleration that answers the net force, part by part
    Ic, m = array(I.about_center.matrix()), float(I.m)
    ang = np.linalg.solve(Ic, array(net.ang) - np.cross(v.ang, Ic @ array(v.ang)))
    lin = (array(net.lin) - np.cross(v.ang, m * array(v.lin))) / m
    a = Motion(Vector3(*map(float, ang)), Vector3(*map(float, lin)))
    scale = size(net) + size(B.matrix()) * size(v) ** 2
    found = equation_of_motion(B, v, a)
    assert_close(found, net, scale * np.linalg.cond(Ic))


@law
@given(inertias(), motions, motions)
def test_the_force_on_a_body_is_the_same_from_its_centre_of_mass(I, v, a):
    at_C = Transform.translation(I.center)
    w, wd = v.ang, a.ang
    v_C = velocity_at(v, I.center)
    a_C = classical_acceleration(at_C @ a, at_C @ v).lin
    Ic = I.about_center
    want = at_C.T @ Force(Ic @ wd + w.cross(Ic @ w), a_C * I.m)
    scale = size(I.matrix()) * (size(a) + size(v) ** 2) * (1 + size(I.center)) ** 2
    assert_close(equation_of_motion(I, v, a), want, scale)
    assert_close((at_C @ v).lin, v_C, size(v) * (1 + size(I.center)))
