"""Impacts at points: Newton's law with restitution, Coulomb's law, points that are held."""

import math

import numpy as np
import pytest

import sixfold as sf
from tests.cases import some

CORNERS = [(x, y, -0.15) for x in (-0.05, 0.05) for y in (-0.1, 0.1)]


def free_body(name="body", mass=2.0, rotational=(0.02, 0.015, 0.01), center=(0, 0, 0)):
    builder = sf.ModelBuilder(name)
    inertia = sf.Inertia.from_mass(mass, center, rotational)
    builder.add_body(name, joint=sf.Free(), inertia=inertia)
    return builder.build()


def rod(mass=2.0, length=1.5):
    across = mass * length**2 / 12
    return free_body("rod", mass, (1e-3, across, across))


def quadruped():
    builder = sf.ModelBuilder("quadruped")
    trunk = sf.Inertia.from_mass(6.0, rotational=(0.06, 0.18, 0.2))
    builder.add_body("trunk", joint=sf.Free(), inertia=trunk)
    thigh = sf.Inertia.from_mass(0.8, (0, 0, -0.09), (4e-3, 4e-3, 6e-4))
    shank = sf.Inertia.from_mass(0.2, (0, 0, -0.09), (9e-4, 9e-4, 5e-5))
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        place = (0.2 * x, 0.1 * y, 0)
        joint = sf.Universal()
        builder.add_body(f"thigh{k}", parent="trunk", joint=joint, placement=place, inertia=thigh)
        joint = sf.Revolute("y")
        builder.add_body(
            f"shank{k}", parent=f"thigh{k}", joint=joint, placement=(0, 0, -0.2), inertia=shank
        )
        builder.add_frame(f"foot{k}", f"shank{k}", (0, 0, -0.2))
    return builder.build()


def jacobians(model, q, points):
    """Return the Jacobians of all points in world axes, (..., points, 3, nv)."""
    each = [
        sf.jacobian(model, q, p.frame, np.array(p.position), frame="aligned")[..., 3:, :]
        for p in points
    ]
    return np.stack(each, axis=-3)


def violation(model, q, v, points, after, impulses):
    """Return how far a state is from the law of impact, as a share of the speeds before."""
    J = jacobians(model, q, points)
    before, now = (np.einsum("...pij,...j->...pi", J, x) for x in (v, after))
    gain = np.abs(impulses).max(axis=(-1, -2)) / np.abs(before).max(axis=(-1, -2))
    gain = np.where(gain > 0, gain, 1.0)[..., None]
    scale = np.abs(before).max(axis=(-1, -2))[..., None]
    e, mu = (np.array([getattr(p, n) for p in points]) for n in ("restitution", "friction"))
    normal, tangential = impulses[..., 2], impulses[..., :2]
    closed = np.minimum(now[..., 2] + e * before[..., 2], normal / gain)
    # p_t is the nearest to p_t - u_t in the disc of Coulomb's cone
    moved = tangential - gain[..., None] * now[..., :2]
    length, reach = np.linalg.norm(moved, axis=-1), mu * normal
    nearest = moved * np.where(length > reach, reach / np.maximum(length, 1e-300), 1.0)[..., None]
    slid = np.abs(tangential - nearest).max(axis=-1) / gain
    return np.maximum(np.abs(closed), slid).max(axis=-1) / scale[..., 0]


# -- by hand


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_a_rod_that_falls_flat_strikes_with_one_end(e):
    m, l, speed = 2.0, 1.5, 3.0
    model = rod(m, l)
    v = np.array([0, 0, 0, 0, 0, -speed])
    end = sf.contact.ImpactPoint("rod", (l / 2, 0, 0), restitution=e)
    after, impulse = sf.contact.impact(model, sf.neutral(model), v, end)
    np.testing.assert_allclose(impulse, [[0, 0, (1 + e) * m * speed / 4]], rtol=1e-14)
    assert after[1] == pytest.approx(-1.5 * (1 + e) * speed / l, rel=1e-14)
    assert after[5] == pytest.approx(-speed + (1 + e) * speed / 4, rel=1e-14, abs=1e-14)


def test_both_ends_of_a_rod_share_the_impulse():
    model, v = rod(), np.array([0.0, 0, 0, 0.7, 0, -3.0])
    for friction in (0.0, 0.1, 5.0, math.inf):
        ends = [sf.contact.ImpactPoint("rod", (x, 0, 0), friction=friction) for x in (0.75, -0.75)]
        after, impulses = sf.contact.impact(model, sf.neutral(model), v, ends)
        np.testing.assert_allclose(impulses[0], impulses[1], atol=1e-13)
        np.testing.assert_allclose(impulses[:, 2], 3.0, rtol=1e-13)
        slide = max(0.7 - friction * 3.0, 0.0)
        np.testing.assert_allclose(after, [0, 0, 0, slide, 0, 0], atol=1e-13)


def test_four_corners_of_a_box_share_the_impulse():
    box = free_body("box")
    points = [sf.contact.ImpactPoint("box", c, restitution=0.5) for c in CORNERS]
    v = np.array([0.0, 0, 0, 0.3, 0, -2.0])
    after, impulses = sf.contact.impact(box, sf.neutral(box), v, points)
    np.testing.assert_allclose(impulses[:, 2], 2.0 * 3.0 / 4, rtol=1e-9)
    np.testing.assert_allclose(after, [0, 0, 0, 0.3, 0, 1.0], atol=1e-12)


@pytest.mark.parametrize("mu", [0.1, 0.5])
@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_ball_that_strikes_at_an_angle_slides_or_rolls(mu, e):
    m, r = 0.5, 0.2
    spin = 0.4 * m * r * r
    ball = free_body("body", m, (spin, spin, spin))
    point = sf.contact.ImpactPoint("body", (0, 0, -r), restitution=e, friction=mu)
    v = np.array([0.0, 0, 0, 3.0, 4.0, -2.0])
    after, impulses = sf.contact.impact(ball, sf.neutral(ball), v, point)
    push = (1 + e) * m * 2.0
    pull = min(mu * push, 2 / 7 * m * 5.0)
    np.testing.assert_allclose(impulses, [[-0.6 * pull, -0.8 * pull, push]], rtol=1e-13)
    rolls = pull < mu * push
    speed = np.array([after[3] - after[1] * r, after[4] + after[0] * r])
    assert (np.abs(speed).max() < 1e-13) == rolls


def test_a_wheel_with_a_rotor_keeps_its_moment_about_the_spoke_that_is_held():
    m, l, a, J = 3.0, 0.8, math.pi / 8, 0.5
    wheel = free_body("body", m, (J, J, J))
    # the spoke in front: the hub moves about the one behind it
    foot = sf.contact.ImpactPoint("body", (l * math.sin(a), 0, -l * math.cos(a)), friction=math.inf)
    rate = 1.7
    v = np.array([0, rate, 0, rate * l * math.cos(a), 0, -rate * l * math.sin(a)])
    after, impulses = sf.contact.impact(wheel, sf.neutral(wheel), v, foot)
    expected = rate * (J + m * l * l * math.cos(2 * a)) / (J + m * l * l)
    assert after[1] == pytest.approx(expected, rel=1e-13)
    assert impulses[0, 2] > 0
    J_foot = jacobians(wheel, sf.neutral(wheel), [foot])[0]
    np.testing.assert_allclose(J_foot @ after, 0, atol=1e-13)


@pytest.mark.parametrize(
    ("mu", "angles"), [(1.4, (55.585810808, 69.951866984)), (2.0, (37.377368141, 79.187683036))]
)
def test_the_normal_pivot_of_a_sliding_rod_changes_sign_at_painleves_angles(mu, angles):
    m, l = 2.0, 1.5
    model, tip = rod(m, l), sf.contact.ImpactPoint("rod", (-l / 2, 0, 0))

    def pivot(degrees):
        # the tip slides ahead, to +x: friction pulls it back
        half = np.radians(degrees) / 2
        q = np.zeros((len(half), 7))
        q[:, 4], q[:, 6] = -np.sin(half), np.cos(half)
        G = sf.contact.delassus_matrix(model, q, tip)
        return m * (G[:, 0, 0] + mu * G[:, 0, 1]), m * (G[:, 0, 0] - mu * G[:, 0, 1])

    t = np.linspace(1.0, 89.0, 89)
    c, s = np.cos(np.radians(t)), np.sin(np.radians(t))
    np.testing.assert_allclose(pivot(t)[0], 1 + 3 * c * (c - mu * s), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(pivot(t)[1], 1 + 3 * c * (c + mu * s), rtol=1e-12, atol=1e-12)
    for angle, sign in zip(angles, (-1, 1), strict=True):
        low, high = pivot(np.array([angle - 1e-9, angle + 1e-9]))[0]
        assert low * high < 0 and np.sign(high) == sign


def test_an_impact_exists_where_painleve_has_no_force():
    model = rod()
    half = math.radians(60.0) / 2
    q = np.array([0, 0, 0, 0, -math.sin(half), 0, math.cos(half)])
    tip = sf.contact.ImpactPoint("rod", (-0.75, 0, 0), friction=2.0)
    v = np.array([0, 0, 0, 1.0, 0, -0.2])
    after, impulses = sf.contact.impact(model, q, v, tip)
    assert violation(model, q, v, [tip], after, impulses) < 1e-13


# -- laws


@pytest.mark.parametrize("mu", some([0.0, 0.3, 1.0, 3.0], 2))
def test_feet_obey_the_law_of_impact_on_batches(mu):
    model = quadruped()
    q, v = sf.random_state(model, (20, 10), seed=3)
    v[..., 5] -= 2.0
    points = tuple(
        sf.contact.ImpactPoint(f"foot{k}", restitution=0.1 * k, friction=mu) for k in range(4)
    )
    after, impulses = sf.contact.impact(model, q, v, points)
    assert after.shape == (20, 10, model.nv) and impulses.shape == (20, 10, 4, 3)
    assert violation(model, q, v, points, after, impulses).max() < 1e-11
    assert (impulses[..., 2] > 0).any() and (impulses[..., 2] == 0).any()
    if mu:
        reach = mu * impulses[..., 2] - np.linalg.norm(impulses[..., :2], axis=-1)
        assert reach.min() > -1e-12
    change = np.einsum("...ij,...j->...i", sf.mass_matrix(model, q), after - v)
    pushed = np.einsum("...pij,...pi->...j", jacobians(model, q, points), impulses)
    np.testing.assert_allclose(change, pushed, atol=1e-12)
    gained = sf.kinetic_energy(model, q, after) - sf.kinetic_energy(model, q, v)
    assert gained.max() <= 1e-12
    # one state alone, other readings of the page, memory of the caller's
    one = sf.contact.impact(model, q[1, 2], v[1, 2], points)
    np.testing.assert_array_equal(one[0], after[1, 2])
    np.testing.assert_array_equal(one[1], impulses[1, 2])
    slow = sf.contact.impact(model, q[:2], v[:2], points, backend="numpy")
    np.testing.assert_allclose(slow[0], after[:2], atol=1e-10)
    out = np.empty_like(after), np.empty_like(impulses)
    assert sf.contact.impact(model, q, v, points, out=out)[0] is out[0]
    np.testing.assert_array_equal(out[1], impulses)


def test_a_plastic_impact_loses_half_p_G_p():
    model = quadruped()
    q, v = sf.random_state(model, 50, seed=4)
    for points in (
        [
            sf.contact.ImpactPoint("foot0", friction=math.inf),
            sf.contact.ImpactPoint("foot3", friction=math.inf),
        ],
        [sf.contact.ImpactPoint("foot1"), sf.contact.ImpactPoint("foot2")],
    ):
        after, impulses = sf.contact.impact(model, q, v, points)
        G = sf.contact.delassus_matrix(model, q, points)
        p = impulses[..., [2, 0, 1]].reshape(50, -1)  # normal, then the two tangents
        lost = sf.kinetic_energy(model, q, v) - sf.kinetic_energy(model, q, after)
        np.testing.assert_allclose(lost, 0.5 * np.einsum("si,sij,sj->s", p, G, p), atol=1e-11)


def test_the_delassus_matrix_is_the_product_of_its_parts():
    model = quadruped()
    q, _ = sf.random_state(model, (3, 4), seed=5)
    points = [
        sf.contact.ImpactPoint("foot0", (0.01, 0.02, 0.03)),
        sf.contact.ImpactPoint("trunk", (0.1, 0, 0)),
    ]
    J = jacobians(model, q, points)[..., [2, 0, 1], :].reshape(3, 4, 6, model.nv)
    expected = J @ sf.inverse_mass_matrix(model, q) @ J.swapaxes(-1, -2)
    np.testing.assert_allclose(sf.contact.delassus_matrix(model, q, points), expected, atol=1e-11)


def test_held_points_stay_and_others_may_leave():
    model = quadruped()
    q, v = sf.random_state(model, 100, seed=6)
    held = [sf.contact.ImpactPoint(f"foot{k}", friction=math.inf) for k in (0, 1, 2)]
    free = sf.contact.ImpactPoint("foot3", restitution=0.5, friction=0.4)
    after, impulses = sf.contact.impact(model, q, v, [*held, free])
    J = jacobians(model, q, [*held, free])
    speeds = np.einsum("spij,sj->spi", J, after)
    assert np.abs(speeds[:, :3]).max() < 1e-9
    before = np.einsum("sij,sj->si", J[:, 3], v)
    law = np.minimum(speeds[:, 3, 2] + 0.5 * before[:, 2], impulses[:, 3, 2])
    assert np.abs(law).max() < 1e-9


def test_held_points_that_contradict_each_other_get_usual_impulses():
    box = free_body("box", center=(0.01, 0.02, 0))
    q, v = sf.random_state(box, 200, seed=14)
    # a tilted face that is held at its corners cannot bounce along the world's z
    points = [sf.contact.ImpactPoint("box", c, friction=math.inf, restitution=0.5) for c in CORNERS]
    after, impulses = sf.contact.impact(box, q, v, points)
    assert np.abs(after).max() < np.abs(v).max() and np.abs(impulses).max() < 50
    plastic = [sf.contact.ImpactPoint("box", c, friction=math.inf) for c in CORNERS]
    after, _ = sf.contact.impact(box, q, v, plastic)
    np.testing.assert_allclose(after, 0, atol=1e-11)
    for kind in (np.float32, np.float64):
        found = sf.contact.impact(box, q.astype(kind), v.astype(kind), plastic)
        assert all(np.isfinite(x).all() for x in found)


@pytest.mark.parametrize("mu", some([0.0, 0.05, 0.3, 1.0], 2))
def test_four_corners_of_a_box_obey_the_law_of_impact_in_every_state(mu):
    box = free_body("box", center=(0.01, 0.03, 0.02))
    q, v = sf.random_state(box, (25, 40), seed=15)
    v[..., 5] -= 2.0
    points = [sf.contact.ImpactPoint("box", c, restitution=0.3, friction=mu) for c in CORNERS]
    after, impulses, residual = sf.contact.impact(box, q, v, points, residual=True)
    assert residual.shape == (25, 40) and residual.max() < 1e-11
    assert violation(box, q, v, points, after, impulses).max() < 1e-12
    slack = mu * impulses[..., 2] - np.linalg.norm(impulses[..., :2], axis=-1)
    assert impulses[..., 2].min() >= 0 and slack.min() > -1e-12
    change = np.einsum("...ij,...j->...i", sf.mass_matrix(box, q), after - v)
    pushed = np.einsum("...pij,...pi->...j", jacobians(box, q, points), impulses)
    np.testing.assert_allclose(change, pushed, atol=1e-12)
    for x, y in zip(sf.contact.impact(box, q, v, points), (after, impulses), strict=True):
        np.testing.assert_array_equal(x, y)


def test_states_that_are_left_open_are_shown_by_the_residual():
    box = free_body("box")
    q, v = sf.random_state(box, 2000, seed=15)
    v[:, 5] -= 2.0
    points = [sf.contact.ImpactPoint("box", c, restitution=0.3, friction=2.0) for c in CORNERS]
    after, impulses, residual = sf.contact.impact(box, q, v, points, residual=True)
    wrong = violation(box, q, v, points, after, impulses)
    left = residual > 1e-10
    assert left.mean() < 5e-3
    assert wrong[~left].max() < 1e-11 and wrong[left].min(initial=1.0) > 1e-11


def test_the_residual_of_one_point_is_rounding():
    model = rod()
    q, v = sf.random_state(model, 100, seed=16)
    for friction in (0.0, 0.5, 3.0, math.inf):
        end = sf.contact.ImpactPoint("rod", (0.75, 0, 0), restitution=0.5, friction=friction)
        residual = sf.contact.impact(model, q, v, end, residual=True)[2]
        assert residual.shape == (100,) and residual.max() < 1e-12


def test_several_points_in_single_precision():
    box = free_body("box")
    q, v = sf.random_state(box, 300, seed=17)
    v[:, 5] -= 2.0
    points = [sf.contact.ImpactPoint("box", c, friction=0.5) for c in CORNERS]
    found = sf.contact.impact(
        box, q.astype(np.float32), v.astype(np.float32), points, residual=True
    )
    assert all(x.dtype == np.float32 for x in found)
    assert np.median(found[2]) < 1e-5 and (found[2] > 1e-3).mean() < 0.02


def test_bodies_that_strike_each_other_keep_their_momentum():
    builder = sf.ModelBuilder("two")
    for name, mass in (("a", 1.0), ("b", 3.0)):
        inertia = sf.Inertia.from_mass(mass, (0.01, 0.02, 0), (0.01, 0.02, 0.015))
        builder.add_body(name, joint=sf.Free(), inertia=inertia)
    two = builder.build()
    q, v = sf.random_state(two, 200, seed=7)
    for friction in (0.0, 0.4, math.inf):
        point = sf.contact.ImpactPoint(
            "a", (0, 0.1, -0.2), (1, 0.5, 2), restitution=0.3, friction=friction, against="b"
        )
        after, impulses = sf.contact.impact(two, q, v, point)
        np.testing.assert_allclose(
            sf.momentum(two, q, after), sf.momentum(two, q, v), rtol=1e-12, atol=1e-12
        )
        # the normal turns with b; the approach reverses along it
        normal = sf.body_poses(two, q)[:, 1, :3, :3] @ np.array(point.normal)
        struck = np.abs(impulses).max(axis=(1, 2)) > 0
        assert 20 < struck.sum() <= 200
        if not friction:
            along = np.einsum("si,si->s", impulses[:, 0], normal)
            assert along.min() >= 0
            np.testing.assert_allclose(impulses[:, 0], along[:, None] * normal, atol=1e-13)


def test_an_elastic_impact_keeps_the_energy():
    box = free_body("box", center=(0.02, 0, 0.01))
    q, v = sf.random_state(box, 100, seed=8)
    point = sf.contact.ImpactPoint("box", (0.1, 0.2, 0.3), normal=(1, -2, 0.5), restitution=1.0)
    after, _ = sf.contact.impact(box, q, v, point)
    np.testing.assert_allclose(
        sf.kinetic_energy(box, q, after), sf.kinetic_energy(box, q, v), rtol=1e-12
    )


def coupled(ratio):
    builder = sf.ModelBuilder("coupled")
    link = sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0.01, 0.02, 0.02))
    builder.add_body("upper", joint=sf.Revolute("y"), joint_name="one", inertia=link)
    builder.add_body(
        "lower", parent="upper", joint=sf.Revolute("y"), joint_name="two", placement=(1, 0, 0),
        inertia=link,
    )  # fmt: skip
    builder.couple("two", ("one", ratio))
    return builder.build()


def test_coupled_joints_strike_with_all_that_they_move():
    model = coupled(-1.5)
    q, v = sf.random_state(model, 30, seed=9)
    tip = sf.contact.ImpactPoint("lower", (1, 0, 0))
    after, impulses = sf.contact.impact(model, q, v, tip)
    J = jacobians(model, q, [tip])[:, 0, 2]
    speed = (J * v).sum(axis=-1)
    np.testing.assert_allclose((J * after).sum(axis=-1), np.maximum(speed, 0), atol=1e-12)
    assert ((impulses[:, 0, 2] > 0) == (speed < 0)).all()


def test_a_point_that_cannot_move_along_its_normal_changes_nothing():
    # Scott and Russell's mechanism: the tip moves along x only
    model, tip = coupled(-2.0), sf.contact.ImpactPoint("lower", (1, 0, 0), friction=0.3)
    q, v = sf.random_state(model, 30, seed=9)
    for point in (tip, sf.contact.ImpactPoint("lower", (1, 0, 0)), sf.contact.ImpactPoint("upper")):
        after, impulses = sf.contact.impact(model, q, v, point)
        np.testing.assert_allclose(after, v, rtol=1e-7)
        assert np.abs(impulses).max() < 1e-6
    held, _ = sf.contact.impact(
        model, q, v, sf.contact.ImpactPoint("lower", (1, 0, 0), friction=math.inf)
    )
    np.testing.assert_allclose(held, 0, atol=1e-9)


def test_it_compiles_inside_functions_of_ones_own():
    model = rod()
    end = sf.contact.ImpactPoint("rod", (0.75, 0, 0), restitution=0.5, friction=0.2)
    kernel = sf.compile(lambda q, v: sf.contact.impact(model, q, v, end)[0], model)
    q, v = sf.random_state(model, 20, seed=10)
    np.testing.assert_allclose(kernel(q, v), sf.contact.impact(model, q, v, end)[0], atol=1e-12)


def test_single_precision_stays_single():
    model = rod()
    q, v = (x.astype(np.float32) for x in sf.random_state(model, 20, seed=11))
    end = sf.contact.ImpactPoint("rod", (0.75, 0, 0), friction=0.2)
    after, impulses = sf.contact.impact(model, q, v, end)
    assert after.dtype == impulses.dtype == np.float32
    double, _ = sf.contact.impact(model, q.astype(float), v.astype(float), end)
    np.testing.assert_allclose(after, double, atol=1e-4)


# -- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"frame": ""}, "frame"),
        ({"frame": 3}, "frame"),
        ({"against": ""}, "against"),
        ({"position": (1, 2)}, "position"),
        ({"position": 1.0}, "one number, not 3"),
        ({"position": (1, 2, math.nan)}, "finite"),
        ({"normal": (0, 0, 0)}, "direction"),
        ({"restitution": -0.1}, "negative"),
        ({"restitution": 1.1}, "gain energy"),
        ({"restitution": "much"}, "not a number"),
        ({"friction": -1}, "negative"),
        ({"friction": math.nan}, "finite"),
    ],
)
def test_points_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(sf.errors.ModelError) as caught:
        sf.contact.ImpactPoint(**{"frame": "rod", **arguments})
    assert words in str(caught.value) and "fix: " in str(caught.value)


def test_points_that_a_model_does_not_have_are_named():
    model = rod()
    q, v = sf.neutral(model), np.zeros(6)
    with pytest.raises(sf.errors.UnknownNameError, match=r"impact: point 1 .*'rad'"):
        sf.contact.impact(
            model, q, v, [sf.contact.ImpactPoint("rod"), sf.contact.ImpactPoint("rad")]
        )
    with pytest.raises(sf.errors.UnknownNameError, match="delassus_matrix: point 0"):
        sf.contact.delassus_matrix(model, q, sf.contact.ImpactPoint("rod", against="rad"))
    with pytest.raises(sf.errors.NotApplicableError, match="struck by itself"):
        sf.contact.impact(model, q, v, sf.contact.ImpactPoint("rod", against="rod"))
    for wrong in (None, [], "rod", ["rod"], 3):
        with pytest.raises(sf.errors.ArgumentError, match="ImpactPoint"):
            sf.contact.impact(model, q, v, wrong)
    with pytest.raises(sf.errors.TooLargeError, match="65 points"):
        sf.contact.impact(model, q, v, [sf.contact.ImpactPoint("rod")] * 65)
    with pytest.raises(sf.errors.ShapeError, match="'v'"):
        sf.contact.impact(model, q, v[:5], sf.contact.ImpactPoint("rod"))
    with pytest.raises(sf.errors.OptionError, match="residual"):
        sf.contact.impact(model, q, v, sf.contact.ImpactPoint("rod"), residual="yes")


# -- against other formulations


def test_held_points_solve_the_saddle_point_system():
    model = quadruped()
    q, v = sf.random_state(model, 20, seed=12)
    points = [
        sf.contact.ImpactPoint(f"foot{k}", friction=math.inf, restitution=0.2) for k in (0, 3)
    ]
    after, impulses = sf.contact.impact(model, q, v, points)
    n = model.nv
    for k in range(20):
        J = jacobians(model, q[k], points).reshape(6, n)
        wanted = J @ v[k] * np.tile([0.0, 0.0, -0.2], 2)
        K = np.block([[sf.mass_matrix(model, q[k]), -J.T], [J, np.zeros((6, 6))]])
        x = np.linalg.solve(K, [*(sf.mass_matrix(model, q[k]) @ v[k]), *wanted])
        np.testing.assert_allclose(after[k], x[:n], atol=1e-9)
        np.testing.assert_allclose(impulses[k].reshape(-1), x[n:], atol=1e-9)


def test_normal_impulses_are_those_of_the_one_set_of_contacts_that_fits():
    from itertools import product

    model = quadruped()
    q, v = sf.random_state(model, 30, seed=13)
    points = [sf.contact.ImpactPoint(f"foot{k}", restitution=0.1 * k) for k in range(4)]
    _, impulses = sf.contact.impact(model, q, v, points)
    J = jacobians(model, q, points)[:, :, 2]
    G = J @ np.linalg.solve(sf.mass_matrix(model, q), J.swapaxes(-1, -2))
    b = np.einsum("spj,sj->sp", J, v) * [1.0, 1.1, 1.2, 1.3]
    for k in range(30):
        fitting = []
        for closed in product([False, True], repeat=4):
            on = np.flatnonzero(closed)
            p = np.zeros(4)
            p[on] = np.linalg.solve(G[k][np.ix_(on, on)], -b[k][on])
            if p.min() >= 0 and (G[k] @ p + b[k]).min() > -1e-12:
                fitting.append(p)
        assert len(fitting) == 1
        np.testing.assert_allclose(impulses[k, :, 2], fitting[0], atol=1e-11)


def test_a_controller_that_uses_the_delassus_matrix_is_compiled():
    arm, tip = sf.load("double_pendulum"), sf.contact.ImpactPoint("lower")

    def control(t, q, v):
        return -0.01 * sf.contact.delassus_matrix(arm, q, tip)[0, 0] * v

    run = sf.simulate(arm, [0.5, 0.2], None, 0.05, control=control)
    assert not run.notes and np.abs(run.tau).max() > 0
