"""Denavit-Hartenberg tables, standard and modified."""

import math

import numpy as np
import pytest

import sixfold as sf

#       a     alpha   d    theta sigma
TABLE = [
    (0.1, 0.5, 0.3, 0.2, 0),
    (0.4, -1.2, -0.1, 0.7, 1),
    (-0.2, math.pi / 2, 0.25, -0.3, 0),
    (0.0, 0.9, 0.0, 0.4, 1),
    (0.15, -0.4, 0.2, 0.0, 0),
]
Q = (0.3, -0.2, 1.1, 0.25, -0.8)


def about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def about_x(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def move(x, z):
    result = np.eye(4)
    result[0, 3], result[2, 3] = x, z
    return result


def link(row, q, convention):
    """Return A of one row as the books print it."""
    a, alpha, d, theta, sigma = row
    theta, d = (theta + q, d) if sigma == 0 else (theta, d + q)
    if convention == "standard":
        return about_z(theta) @ move(0, d) @ move(a, 0) @ about_x(alpha)
    return about_x(alpha) @ move(a, 0) @ about_z(theta) @ move(0, d)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_are_the_products_of_the_rows_matrices(convention):
    model = sf.from_dh(TABLE, convention=convention)
    T = np.eye(4)
    for n, (row, q) in enumerate(zip(TABLE, Q, strict=True), 1):
        T = T @ link(row, q, convention)
        np.testing.assert_allclose(sf.frame_pose(model, Q, f"dh{n}"), T, atol=1e-14)


def test_names_and_joints_follow_the_table():
    model = sf.from_dh(TABLE, name="arm5", gravity=(0, 1, 2), friction_speed=0.1)
    assert (model.name, model.gravity) == ("arm5", (0.0, 1.0, 2.0))
    assert {body.friction_speed for body in model.bodies} == {(0.1,)}
    assert model.body_names == tuple(f"link{n}" for n in range(1, 6))
    assert model.joint_names == tuple(f"joint{n}" for n in range(1, 6))
    assert model.frame_names == tuple(f"dh{n}" for n in range(1, 6))
    kinds = [body.joint.kind for body in model.bodies]
    assert kinds == ["revolute", "prismatic", "revolute", "prismatic", "revolute"]


def test_four_numbers_make_a_revolute_joint():
    assert sf.from_dh([(0.1, 0.2, 0.3, 0.4)]) == sf.from_dh([(0.1, 0.2, 0.3, 0.4, 0)])
    assert sf.from_dh([sf.DHRow(0.1, 0.2, 0.3, 0.4)]) == sf.from_dh([(0.1, 0.2, 0.3, 0.4)])


def shifted(rows):
    """Return the modified table of the same arm: a and alpha move one row down."""
    moved = [(0.0, 0.0)] + [(a, alpha) for a, alpha, *_ in rows[:-1]]
    return [(*pair, *row[2:]) for pair, row in zip(moved, rows, strict=True)]


def test_both_conventions_describe_the_same_arm():
    standard, modified = sf.from_dh(TABLE), sf.from_dh(shifted(TABLE), convention="modified")
    a, alpha, *_ = TABLE[-1]
    tip = sf.frame_pose(modified, Q, "dh5") @ move(a, 0) @ about_x(alpha)
    np.testing.assert_allclose(sf.frame_pose(standard, Q, "dh5"), tip, atol=1e-14)


def test_both_conventions_have_the_same_dynamics():
    rng = np.random.default_rng(0)
    standard, modified = [], []
    for row, moved in zip(TABLE, shifted(TABLE), strict=True):
        inertia = sf.Inertia.from_mass(rng.uniform(1, 2), rng.uniform(-1, 1, 3), (0.2, 0.3, 0.4))
        # from the modified frame (on the joint) to the standard one (at the link's far end)
        far = sf.Transform.turn((1, 0, 0), row[1]) @ sf.Transform.translation((row[0], 0, 0))
        near = far.T @ inertia @ far
        more = {"damping": rng.uniform(), "armature": rng.uniform()}
        standard.append(sf.DHRow(*row, inertia=inertia, properties=more))
        modified.append(sf.DHRow(*moved, inertia=near, properties=more))
    one, two = sf.from_dh(standard), sf.from_dh(modified, convention="modified")
    q, v, a = rng.standard_normal((3, 4, 5))
    for function, arguments in (
        (sf.inverse_dynamics, (q, v, a)),
        (sf.mass_matrix, (q,)),
        (sf.potential_energy, (q,)),
    ):
        x, y = function(one, *arguments), function(two, *arguments)
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(y).max())


def test_inertia_is_given_in_the_rows_own_frame():
    row = sf.DHRow(a=0.5, alpha=0.3, d=0.2, inertia=sf.Inertia.from_mass(2.0, (-0.1, 0.2, 0.3)))
    model = sf.from_dh([row])
    center = sf.frame_pose(model, [0.4], "dh1") @ [-0.1, 0.2, 0.3, 1.0]
    np.testing.assert_allclose(sf.center_of_mass(model, [0.4]), center[:3], atol=1e-15)


def test_properties_go_to_the_body():
    more = {"damping": 0.1, "lower": -1.0, "upper": 2.0, "friction": 0.3}
    (body,) = sf.from_dh([sf.DHRow(properties=more)]).bodies
    assert (body.damping, body.lower, body.upper, body.friction) == (
        (0.1,),
        (-1.0,),
        (2.0,),
        (0.3,),
    )


@pytest.mark.parametrize("convention", ["Standard", "", "craig", None, 1])
def test_an_unknown_convention_lists_the_two(convention):
    with pytest.raises(sf.errors.OptionError, match="from_dh: option 'convention'") as caught:
        sf.from_dh(TABLE, convention=convention)
    assert "'standard', 'modified'" in str(caught.value)


@pytest.mark.parametrize(
    "row",
    [
        (1, 2, 3),
        (1, 2, 3, 4, 0, 0),
        (),
        (1, 2, 3, "a"),
        (1, 2, None, 4),
        (1, 2, 3, math.nan),
        (1, math.inf, 3, 4),
        "1234",
        5,
        None,
        sf.DHRow(a=math.nan),
        sf.DHRow(alpha=math.inf),
        sf.DHRow(d="x"),
    ],
)
def test_a_row_that_is_not_one_is_named(row):
    with pytest.raises(
        sf.errors.ModelError, match=r"DH row 2: .* is not a row\n  fix: give \(a, alpha"
    ):
        sf.from_dh([TABLE[0], row])


@pytest.mark.parametrize("row", [(1, 2, 3, 4, 2), (1, 2, 3, 4, 0.5), sf.DHRow(sigma=-1)])
def test_sigma_is_zero_or_one(row):
    with pytest.raises(sf.errors.ModelError, match=r"DH row 1: sigma = .*\n  fix: give 0"):
        sf.from_dh([row])


def test_a_long_table_builds():
    model = sf.from_dh([(0.1, 0.2, 0.3, 0.4)] * 1000)
    assert model.nb == len(model.frames) == 1000
