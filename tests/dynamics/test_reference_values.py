"""Published numbers: RBDL's test constants, the Puma 560 and Featherstone's example 7.1."""

from __future__ import annotations

import math

import gmpy2
import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.fast.articulated import articulated_inertias
from sixfold.quantities import readings
from sixfold.spatial import Inertia
from sixfold.spatial.solids import box, cylinder
from tests.dynamics.support import EPS, array

G = 9.81
DOWN = (0.0, -G, 0.0)
ONE = (1.0, 1.0, 1.0)


def rbdl(*bodies, name="rbdl"):
    """Each body: joint, parent number or None, joint position, centre of mass or None, inertia."""
    builder = sf.ModelBuilder(name, gravity=DOWN)
    for k, (joint, parent, at, center, *rotational) in enumerate(bodies, 1):
        builder.add_body(
            f"b{k}",
            parent=f"b{parent}" if parent else None,
            joint=joint,
            placement=at,
            inertia=Inertia.from_mass(1.0, center, *(rotational or [ONE])) if center else None,
        )
    return builder.build()


R = sf.Revolute
P = sf.Prismatic
O = (0.0, 0.0, 0.0)
X1 = (1.0, 0.0, 0.0)
Y1 = (0.0, 1.0, 0.0)
Z1 = (0.0, 0.0, 1.0)

ONE_LINK = rbdl((R("z"), None, O, X1))
ONE_LINK_OFF_AXIS = rbdl((R("z"), None, O, (1.5, 1.0, 1.0), (1.0, 2.0, 3.0)))
TWO_LINKS = rbdl((R("z"), None, O, X1), (R("z"), 1, X1, X1))
THREE_LINKS = rbdl((R("z"), None, O, X1), (R("z"), 1, X1, X1), (R("z"), 2, X1, X1))
TWO_LINKS_3D = rbdl((R("z"), None, O, X1), (R("y"), 1, X1, Y1))
TREE = rbdl(
    (R("z"), None, O, X1),
    (R("y"), 1, X1, Y1),
    (R("x"), 2, Y1, Z1),
    (R("y"), 1, (-0.5, 0.0, 0.0), Y1),
    (R("x"), 4, (0.0, -0.5, 0.0), Z1),
)
WRIST = rbdl((R("z"), None, O, None), (R("y"), 1, O, None), (R("x"), 2, O, (0.0, 0.5, 0.0)))
FLOATING = rbdl(
    (P("x"), None, O, None),
    (P("y"), 1, O, None),
    (P("z"), 2, O, None),
    (R("z"), 3, O, None),
    (R("y"), 4, O, None),
    (R("x"), 5, O, X1),
    (R("z"), 6, (2.0, 0.0, 0.0), X1),
)

RATIONALS = {
    "one link": (ONE_LINK, ["-1/2"]),
    "one link off its axis": (ONE_LINK_OFF_AXIS, ["-6/25"]),
    "two links": (TWO_LINKS, ["-3/5", "2/5"]),
    "three links": (THREE_LINKS, ["-8/13", "5/13", "2/13"]),
    "two links in space": (TWO_LINKS_3D, ["-2/5", "0"]),
    "tree of five": (TREE, ["-42/257", "-14/257", "215/514", "7/257", "139/257"]),
}
CONSTANTS = {  # as printed by RBDL, DynamicsTests.cc
    "two links": [-5.886, 3.924],
    "three links": [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    "two links in space": [-3.924, 0.0],
    "tree of five": [
        -1.60319066147860,
        -0.534396887159533,
        4.10340466926070,
        0.267198443579767,
        5.30579766536965,
    ],
}
METHODS = ("aba", "crba", "operators", "operators_dense")


def at_rest(model, method="aba", q=None, tau=None):
    zero = np.zeros(model.nv)
    at = zero if q is None else np.array(q)
    force = zero if tau is None else np.array(tau)
    return sf.forward_dynamics(model, at, zero, force, method=method)


@pytest.mark.parametrize(
    ("model", "constant"), [(ONE_LINK, -4.905), (ONE_LINK_OFF_AXIS, -2.3544)], ids=["on", "off"]
)
def test_rbdl_single_links_fall_with_exactly_the_printed_acceleration(model, constant):
    assert at_rest(model)[0] == constant


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CONSTANTS)
def test_rbdl_chains_and_trees_fall_with_the_printed_accelerations(name, method):
    model, _ = RATIONALS[name]
    # RBDL's own tolerance, 1e-14; its constants carry 15 digits
    np.testing.assert_allclose(at_rest(model, method), CONSTANTS[name], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", RATIONALS)
def test_rbdl_accelerations_are_rationals_of_gravity_to_seventy_digits(name, method):
    model, expected = RATIONALS[name]
    with gmpy2.context(precision=256):
        # constants by their decimal digits, so that gravity is 9.81 and not its nearest double
        tree = model.map(lambda x: gmpy2.mpfr(repr(x)))
        zero = [gmpy2.mpfr(0)] * model.nv
        qdd = readings.forward_dynamics(model, tree, zero, zero, zero, method=method)
        for x, ratio in zip(qdd, expected, strict=True):
            assert abs(x / gmpy2.mpfr("9.81") - gmpy2.mpq(ratio)) < 1e-70


@pytest.mark.parametrize("method", METHODS)
def test_rbdl_three_coincident_joints_with_massless_bodies(method):
    qdd = at_rest(WRIST, method, q=[1.0, 0.0, 0.0])
    np.testing.assert_allclose(qdd, [3.301932144386186, 0.0, 0.0], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_rbdl_floating_base_of_six_single_joints_answers_a_unit_torque(method):
    qdd = at_rest(FLOATING, method, tau=[0, 0, 0, 0, 0, 0, 1.0])
    np.testing.assert_allclose(qdd, [0, -8.81, 0, -1, 0, 0, 2], rtol=1e-14, atol=1e-14)


# -- Puma 560

PUMA = sf.load("puma560")
FRICTIONLESS = PUMA.without(damping=True, friction=True)
QN = np.array([0, math.pi / 4, math.pi, 0, math.pi / 4, 0])
NIL, UNIT = np.zeros(6), np.ones(6)
RAMP = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])


def close_to_17_digits(x, reference):
    # the values are exact to their last digit; 32 eps of the largest leaves room for rounding only
    np.testing.assert_allclose(x, reference, rtol=0, atol=32 * EPS * np.abs(reference).max())


def test_puma_gravity_torques_have_the_published_digits():
    expected = [0, 31.639880378357121, 6.0351380230105122, 0, 0.0282528, 0]
    close_to_17_digits(sf.gravity_force(PUMA, QN), expected)
    close_to_17_digits(sf.inverse_dynamics(PUMA, QN, NIL, NIL), expected)


def test_puma_unit_accelerations_need_the_published_torques():
    expected = [
        3.3531108580630242,
        36.002511243975702,
        7.4259640773502702,
        0.19004303456689685,
        0.20344093111341469,
        0.19413278993924746,
    ]
    close_to_17_digits(sf.inverse_dynamics(PUMA, QN, NIL, UNIT), expected)


def test_puma_accelerations_without_gravity_need_the_published_torques():
    expected = [
        3.149976907581073,
        9.4805136422350946,
        3.6188800361147717,
        0.19009960310939178,
        0.35185642861534919,
        0.58234180127524746,
    ]
    weightless = PUMA.without(gravity=True)
    close_to_17_digits(sf.inverse_dynamics(weightless, QN, NIL, RAMP), expected)


def test_puma_unit_velocities_need_the_published_torques_without_friction():
    expected = [
        -1.3910743710831228,
        33.422798967692722,
        5.2831112680523626,
        0.0012230818156598012,
        0.030632278489071817,
        0.0001482842712474619,
    ]
    close_to_17_digits(sf.bias_force(FRICTIONLESS, QN, UNIT), expected)


def test_puma_unit_motion_needs_the_published_torques_without_friction():
    expected = [
        1.9620364869799013,
        37.785429833311303,
        6.6739373223921206,
        0.19126611638255665,
        0.20582040960248651,
        0.19428107421049492,
    ]
    weightless = [
        1.9620364869799013,
        6.1455494549541818,
        0.63879929938160837,
        0.19126611638255665,
        0.17756760960248651,
        0.19428107421049492,
    ]
    close_to_17_digits(sf.inverse_dynamics(FRICTIONLESS, QN, UNIT, UNIT), expected)
    floating = FRICTIONLESS.without(gravity=True)
    close_to_17_digits(sf.inverse_dynamics(floating, QN, UNIT, UNIT), weightless)


def test_puma_coriolis_torques_have_the_published_digits():
    expected = [
        -4.6344217633084629,
        8.7257112245805974,
        -1.9268101608881572,
        0.002255789314721346,
        0.019052433368279485,
        0.0003648528137423857,
    ]
    C = sf.coriolis_matrix(FRICTIONLESS, QN, RAMP)
    close_to_17_digits(C @ RAMP, expected)
    close_to_17_digits(sf.bias_force(FRICTIONLESS.without(gravity=True), QN, RAMP), expected)


def test_puma_mass_matrix_has_the_published_elements():
    published = {
        (1, 1): 3.6593754121527898,
        (1, 2): -0.40436124604151888,
        (1, 3): 0.10061364777978388,
        (1, 4): -0.0025169558280306104,
        (2, 2): 4.4137419336357898,
        (2, 3): 0.35089066495641469,
        (2, 5): 0.0023595130678948927,
        (3, 3): 0.9378415752150396,
        (3, 5): 0.0014801663885198012,
        (4, 4): 0.19253170612368,
        (4, 6): 2.8284271247461901e-05,
        (5, 5): 0.171348451657,
        (6, 6): 0.194104505668,
    }
    expected = np.zeros((6, 6))
    for (i, j), x in published.items():
        expected[i - 1, j - 1] = expected[j - 1, i - 1] = x
    M = sf.mass_matrix(PUMA, QN)
    # pi, pi/4 as floats are off by up to eps: the zeros too are zeros of order eps only
    close_to_17_digits(M, expected)
    np.testing.assert_allclose(np.diag(M), np.diag(expected), rtol=16 * EPS)


def test_puma_torques_with_friction_have_the_toolbox_figures():
    both = [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781]
    steady = [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648]
    # six figures are printed: half a unit of the sixth
    np.testing.assert_allclose(sf.inverse_dynamics(PUMA, QN, UNIT, UNIT), both, rtol=5e-6)
    np.testing.assert_allclose(sf.inverse_dynamics(PUMA, QN, UNIT, NIL), steady, rtol=5e-6)


def test_puma_bears_a_tip_wrench_with_the_toolbox_torques():
    expected = [0.642756, 29.0866, 4.70321, 2.82843, -1.97175, 3.0]
    # (fx, fy, fz, nx, ny, nz) in tool axes, exerted by the robot on the world
    tool = sf.frame_pose(PUMA, QN, "dh6")
    turn, at = tool[:3, :3], tool[:3, 3]
    force, moment = -turn @ RAMP[:3], -turn @ RAMP[3:]
    f_ext = np.zeros((6, 6))
    f_ext[5] = [*(moment + np.cross(at, force)), *force]
    tau = sf.inverse_dynamics(PUMA, QN, NIL, NIL, f_ext)
    np.testing.assert_allclose(tau, expected, rtol=5e-6)


@pytest.mark.parametrize("method", METHODS)
def test_puma_accelerates_as_in_the_toolbox(method):
    qd = [0.1, 0.2, 0.8, 0.2, 0.5, 1.0]
    tau = [1.0, 3.2, 1.8, 0.1, 0.7, 4.6]
    expected = [-7.4102, -9.8432, -10.9694, -4.4314, -0.9881, 21.0228]
    # four decimals are printed
    np.testing.assert_allclose(
        sf.forward_dynamics(PUMA, QN, qd, tau, method=method), expected, rtol=0, atol=5.1e-5
    )


# -- Featherstone (2008), example 7.1: a box, and a cylinder that turns about x and slides along y


def box_and_cylinder():
    builder = sf.ModelBuilder("example 7.1")
    builder.add_body("box", joint=sf.Spherical(), inertia=box(0.4, 1.0, 1.0, mass=2.0))
    builder.add_body("between", parent="box", joint=sf.Revolute("x"))
    barrel = cylinder(0.2, 0.3, axis="x", mass=0.8)
    builder.add_body("cylinder", parent="between", joint=sf.Prismatic("y"), inertia=barrel)
    return builder.build()


def test_articulated_inertias_of_featherstones_box_and_cylinder():
    model = box_and_cylinder()
    x = articulated_inertias(model.tree, model.positions(sf.neutral(model).tolist()))
    expected = {
        3: [0.016, 0.014, 0.014, 0.8, 0, 0.8],
        2: [0, 0.014, 0.014, 0.8, 0, 0.8],
        1: [0, 0, 0, 2.8, 2.0, 2.8],
    }
    for i, diagonal in expected.items():
        across = x.IA[i] - (x.U[i] / x.D[i]) @ x.U[i].T
        # one unit in the last place of numbers of order one, as in Drake's test
        np.testing.assert_allclose(array(across.matrix()), np.diag(diagonal), rtol=EPS, atol=EPS)


def test_articulated_inertia_of_the_box_carries_the_cylinders_mass_but_not_along_its_slide():
    model = box_and_cylinder()
    x = articulated_inertias(model.tree, model.positions(sf.neutral(model).tolist()))
    own = [1 / 3, 29 / 150, 29 / 150]
    expected = [own[0], own[1] + 0.014, own[2] + 0.014, 2.8, 2.0, 2.8]
    np.testing.assert_allclose(array(x.IA[1].matrix()), np.diag(expected), rtol=EPS, atol=EPS)
