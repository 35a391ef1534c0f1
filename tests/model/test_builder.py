"""Building models body by body."""

import itertools
import math

import numpy as np
import pytest
import sympy as sp

import sixfold as sf
from sixfold.model import ModelBuilder
from sixfold.scalar import Zero
from sixfold.spatial import ZERO3, Matrix3, Transform

BALL = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))
PLATE = sf.Inertia.from_mass(0.7, (0.0, 0.4, -0.1), (0.01, 0.02, 0.03))
TURN = sf.Transform.from_rpy((0.3, -0.4, 0.5), (0.6, -0.7, 0.8))
SHIFT = sf.Transform.from_rpy((-0.2, 0.1, 0.9), (-0.1, 0.2, 0.3))


def chain(builder, order="abcd"):
    parents = {"a": None, "b": "a", "c": "b", "d": "b"}
    for name in order:
        builder.add_body(
            name, parent=parents[name], joint=sf.Revolute("y"), placement=TURN, inertia=BALL
        )
    return builder


def matrix(inertia):
    return np.array([[float(x) for x in row] for row in inertia.matrix()])


def pose(X):
    """Return the 4x4 matrix of the frame that X leads to, in the frame it starts from."""
    result = np.eye(4)
    result[:3, :3] = np.array([[float(x) for x in row] for row in X.E]).T
    result[:3, 3] = [float(x) for x in X.r]
    return result


# -- order


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("abcd")])
def test_bodies_may_be_added_in_any_order(order):
    model = chain(sf.ModelBuilder("arm"), order).build()
    assert sorted(model.body_names) == list("abcd")
    for k, body in enumerate(model.bodies):
        assert body.parent < k
        wanted = {"a": "world", "b": "a", "c": "b", "d": "b"}[body.name]
        assert (model.body_names[body.parent] if body.parent >= 0 else "world") == wanted
    # siblings keep the order in which they were added
    c_first = order.index("c") < order.index("d")
    assert (model.body_names.index("c") < model.body_names.index("d")) is c_first
    q = dict(zip("abcd", (0.1, 0.2, 0.3, 0.4), strict=True))
    poses = sf.body_poses(model, [q[name] for name in model.body_names])
    straight = sf.body_poses(chain(sf.ModelBuilder("arm")).build(), list(q.values()))
    for name, x in zip("abcd", straight, strict=True):
        np.testing.assert_array_equal(poses[model.body_index(name)], x)


def test_an_order_with_parents_first_is_kept():
    builder = sf.ModelBuilder("comb")
    for k in range(6):
        builder.add_body(f"root{k}", joint=sf.Revolute("z"))
    for k in reversed(range(6)):
        builder.add_body(f"tip{k}", parent=f"root{k}", joint=sf.Revolute("z"))
    names = [f"root{k}" for k in range(6)] + [f"tip{k}" for k in reversed(range(6))]
    assert list(builder.build().body_names) == names


def test_a_builder_may_be_built_twice_and_added_to():
    builder = chain(sf.ModelBuilder("arm"))
    builder.couple("d_joint", ("a_joint", 2.0))
    first = builder.build()
    assert builder.build() == first
    builder.add_body("e", joint=sf.Prismatic("x"))
    assert builder.build().nb == 5 and first.nb == 4


def test_names_of_joints_follow_the_bodies_unless_given():
    builder = sf.ModelBuilder().add_body("arm", joint=sf.Revolute("z"))
    builder.add_body("hand", joint=sf.Revolute("z"), joint_name="wrist")
    assert builder.build().joint_names == ("arm_joint", "wrist")


def test_methods_can_be_chained():
    model = (
        sf.ModelBuilder("arm")
        .add_body("a", joint=sf.Revolute("z"))
        .add_body("b", joint=sf.Revolute("z"))
        .add_frame("tip", "a", (0, 0, 1))
        .couple("b_joint", ("a_joint", 1.0))
        .build()
    )
    assert (model.nb, model.nv, model.frame_names) == (2, 1, ("tip",))


# -- fixed joints


def test_a_fixed_body_is_merged_into_its_parent_and_stays_as_a_frame():
    builder = sf.ModelBuilder().add_body("arm", joint=sf.Revolute("z"), inertia=BALL)
    builder.add_body("cup", parent="arm", joint=sf.Fixed(), placement=TURN, inertia=PLATE)
    model = builder.build()
    assert model.body_names == ("arm",) and model.frame_names == ("cup",)
    X = np.array([[float(x) for x in row] for row in TURN.matrix()])
    expected = matrix(BALL) + X.T @ matrix(PLATE) @ X
    np.testing.assert_allclose(matrix(model.bodies[0].inertia), expected, atol=1e-15)
    q = [0.7]
    np.testing.assert_allclose(
        sf.frame_pose(model, q, "cup"), sf.frame_pose(model, q, "arm") @ pose(TURN), atol=1e-15
    )


def test_merging_a_fixed_body_is_the_limit_of_a_locked_joint():
    def arm(joint):
        builder = sf.ModelBuilder().add_body("arm", joint=sf.Revolute("y"), inertia=BALL)
        builder.add_body("cup", parent="arm", joint=joint, placement=TURN, inertia=PLATE)
        return builder.build()

    merged, jointed = arm(sf.Fixed()), arm(sf.Prismatic("z"))
    tau = sf.inverse_dynamics(jointed, [0.4, 0.0], [0.5, 0.0], [0.6, 0.0])
    np.testing.assert_allclose(
        sf.inverse_dynamics(merged, [0.4], [0.5], [0.6]), tau[:1], rtol=1e-14
    )


def test_chains_of_fixed_joints_carry_bodies_and_frames():
    builder = sf.ModelBuilder().add_body("arm", joint=sf.Revolute("x"), inertia=BALL)
    builder.add_body("one", parent="arm", joint=sf.Fixed(), placement=TURN, inertia=PLATE)
    builder.add_body("two", parent="one", joint=sf.Fixed(), placement=SHIFT, inertia=PLATE)
    builder.add_body("hand", parent="two", joint=sf.Revolute("y"), placement=TURN)
    builder.add_frame("nail", "two", SHIFT)
    model = builder.build()
    q = [0.3, 0.0]
    arm, one, two = pose(TURN), pose(TURN) @ pose(SHIFT), pose(TURN) @ pose(SHIFT) @ pose(TURN)
    base = sf.frame_pose(model, q, "arm")
    for name, X in (("one", arm), ("two", one), ("hand", two), ("nail", one @ pose(SHIFT))):
        np.testing.assert_allclose(sf.frame_pose(model, q, name), base @ X, atol=1e-15)
    assert model.parent == (-1, 0)
    total = sf.kinetic_energy(model, q, [1.0, 0.0])
    assert float(model.bodies[0].inertia.m) == pytest.approx(2.0 + 0.7 + 0.7)
    assert total > 0


def test_a_body_fixed_to_the_world_becomes_a_frame_and_loses_its_inertia():
    builder = sf.ModelBuilder("cell")
    builder.add_body("table", joint=sf.Fixed(), placement=TURN, inertia=BALL)
    builder.add_body("arm", parent="table", joint=sf.Revolute("z"), placement=SHIFT, inertia=PLATE)
    model = builder.build()
    assert model.body_names == ("arm",) and model.parent == (-1,)
    np.testing.assert_array_equal(sf.frame_pose(model, [0.1], "table"), pose(TURN))
    expected = pose(TURN) @ pose(SHIFT)
    np.testing.assert_allclose(sf.frame_pose(model, [0.0], "arm"), expected, atol=1e-15)
    assert model.bodies[0].inertia == PLATE
    np.testing.assert_array_equal(sf.jacobian(model, [0.1], "table"), np.zeros((6, 1)))


def test_a_model_may_be_all_fixed():
    builder = sf.ModelBuilder("rock").add_body("stone", joint=sf.Fixed(), inertia=BALL)
    model = builder.build()
    assert (model.nb, model.nq, model.nv) == (0, 0, 0)
    assert model.frame_names == ("stone",)


# -- frames


def test_frames_may_hang_on_frames_added_later_and_carry_bodies():
    builder = sf.ModelBuilder("arm")
    builder.add_frame("far", "near", SHIFT)
    builder.add_body("hand", parent="far", joint=sf.Revolute("y"), placement=TURN, inertia=PLATE)
    builder.add_frame("near", "arm", TURN)
    builder.add_body("arm", joint=sf.Revolute("x"), inertia=BALL)
    builder.add_frame("corner", "world", SHIFT)
    model = builder.build()
    assert model.body_names == ("arm", "hand") and model.parent == (-1, 0)
    assert model.frame_names == ("far", "near", "corner")
    q = [0.3, 0.0]
    base = sf.frame_pose(model, q, "arm")
    far = base @ pose(TURN) @ pose(SHIFT)
    np.testing.assert_allclose(sf.frame_pose(model, q, "far"), far, atol=1e-15)
    np.testing.assert_allclose(sf.frame_pose(model, q, "hand"), far @ pose(TURN), atol=1e-15)
    np.testing.assert_array_equal(sf.frame_pose(model, q, "corner"), pose(SHIFT))


def test_a_placement_may_be_three_numbers():
    by_numbers = sf.ModelBuilder().add_frame("tip", "world", (1, 2.5, 0)).build()
    by_transform = sf.ModelBuilder()
    by_transform.add_frame("tip", "world", sf.Transform.translation((1.0, 2.5, 0.0)))
    assert by_numbers == by_transform.build()


# -- numbers


@pytest.mark.parametrize(
    "value", [0.5, np.float64(0.5), np.float32(0.5), (0.5,), [0.5], np.array([0.5]), sp.Float(0.5)]
)
def test_numbers_may_be_of_any_real_kind(value):
    plain = sf.ModelBuilder().add_body("a", joint=sf.Revolute("z"), damping=0.5).build()
    assert sf.ModelBuilder().add_body("a", joint=sf.Revolute("z"), damping=value).build() == plain


def test_friction_serves_both_directions_unless_told():
    builder = sf.ModelBuilder().add_body("a", joint=sf.Revolute("z"), friction=2)
    builder.add_body("b", joint=sf.Revolute("z"), friction=2, friction_negative=3)
    a, b = builder.build().bodies
    assert (a.friction, a.friction_negative) == ((2.0,), (2.0,))
    assert (b.friction, b.friction_negative) == ((2.0,), (3.0,))


def test_springs_rest_at_the_neutral_position_unless_told():
    builder = sf.ModelBuilder().add_body("a", joint=sf.Spherical(), stiffness=2)
    builder.add_body("b", joint=sf.Revolute("z"), stiffness=2, rest=0.3)
    a, b = builder.build().bodies
    assert a.rest == (0.0, 0.0, 0.0, 1.0) and b.rest == (0.3,)


# -- mistakes


def add(**changes):
    builder = sf.ModelBuilder("arm")
    return builder.add_body("link", **{"joint": sf.Revolute("z"), **changes})


def transform(value):
    E = sf.Transform.identity().E
    return sf.Transform(E, sf.spatial.Vector3(value, 0.0, 0.0))


MISTAKES = {
    "no joint": (dict(joint="revolute"), "joint is 'revolute'"),
    "joint class": (dict(joint=sf.Revolute), "joint is <class"),
    "inertia number": (dict(inertia=2.0), "inertia is 2.0"),
    "inertia nan": (dict(inertia=sf.Inertia.from_mass(math.nan)), "inertia = .* is not finite"),
    "inertia symbol": (
        dict(inertia=sf.Inertia.from_mass(sp.Symbol("m"))),
        "inertia = .* is not a number",
    ),
    "moment without mass": (
        dict(inertia=sf.Inertia.from_parameters([0, 1.0, 0, 0, 0, 0, 0, 0, 0, 0])),
        "has a first moment but no mass",
    ),
    "placement of two": (dict(placement=(1, 2)), "placement has 2 numbers"),
    "placement text": (dict(placement="xyz"), "placement = 'xyz' is not a number"),
    "placement nan": (dict(placement=(0, 0, math.nan)), "placement = .* is not finite"),
    "transform nan": (dict(placement=transform(math.inf)), "placement = .* is not finite"),
    "transform symbol": (dict(placement=transform(sp.Symbol("x"))), "placement = .* not a number"),
    "two numbers": (dict(damping=(1, 2)), "damping has 2 numbers\n  fix: give 1"),
    "text": (dict(damping="1"), "damping = '1' is not a number"),
    "texts": (dict(damping=["1"]), r"damping = \['1'\] is not a number"),
    "object": (dict(damping=object()), "damping = <object .* is not a number"),
    "complex": (dict(damping=1j), "damping = 1j is not a number"),
    "too big": (dict(damping=10**400), "damping = .* is not a number"),
    "nan": (dict(damping=math.nan), "damping = nan is not finite"),
    "inf": (dict(armature=math.inf), "armature = inf is not finite"),
    "negative damping": (dict(damping=-1), "damping = -1 is negative"),
    "negative friction": (dict(friction=-1.0), "friction = -1.0 is negative"),
    "negative other friction": (dict(friction_negative=-1.0), "friction_negative = -1.0"),
    "negative stiffness": (dict(stiffness=-1.0), "stiffness = -1.0 is negative"),
    "negative armature": (dict(armature=-1.0), "armature = -1.0 is negative"),
    "negative speed limit": (dict(velocity_limit=-1.0), "velocity_limit = -1.0 is negative"),
    "negative effort limit": (dict(effort_limit=-1.0), "effort_limit = -1.0 is negative"),
    "limit nan": (dict(lower=math.nan), "lower = nan is not finite"),
    "rest inf": (dict(rest=math.inf), "rest = inf is not finite"),
    "limits crossed": (dict(lower=1.0, upper=0.5), "a lower limit is above its upper limit"),
    "uneven spring": (
        dict(joint=sf.Spherical(), stiffness=(1, 1, 2)),
        r"a spherical joint's rotational stiffness \(1.0, 1.0, 2.0\) differs by axis",
    ),
    "uneven free spring": (
        dict(joint=sf.Free(), stiffness=(1, 2, 1, 0, 0, 0)),
        "a free joint's rotational stiffness",
    ),
}


@pytest.mark.parametrize(("changes", "what"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_names_the_body_and_the_way_out(changes, what):
    with pytest.raises(sf.errors.ModelError, match=f"^body 'link': {what}") as caught:
        add(**changes)
    assert "\n  fix: " in str(caught.value)


@pytest.mark.parametrize("name", [None, 3, "", b"arm", ["arm"]])
def test_names_are_texts(name):
    with pytest.raises(sf.errors.ModelError, match=r"^body .* the name is .*\n  fix: give a text"):
        sf.ModelBuilder().add_body(name, joint=sf.Revolute("z"))
    with pytest.raises(sf.errors.ModelError, match=r"^frame .* the name is .*\n  fix: give a text"):
        sf.ModelBuilder().add_frame(name, "world")


@pytest.mark.parametrize("name", ["link", "world"])
def test_a_body_name_is_given_once(name):
    with pytest.raises(
        sf.errors.ModelError, match=f"body '{name}': the name is already taken\n  fix"
    ):
        add().add_body(name, joint=sf.Revolute("z"))


@pytest.mark.parametrize("name", ["link", "world", "tip"])
def test_a_frame_name_is_given_once(name):
    builder = add().add_frame("tip", "link").add_frame(name, "link")
    with pytest.raises(
        sf.errors.ModelError, match=f"frame '{name}': the name is already taken\n  fix"
    ):
        builder.build()


def test_a_joint_name_is_given_once():
    builder = add(joint_name="pin").add_body("b", joint=sf.Revolute("z"), joint_name="pin")
    with pytest.raises(sf.errors.ModelError, match="joint 'pin': the name is already taken\n  fix"):
        builder.build()


def test_an_unknown_parent_is_named_with_near_ones():
    builder = add().add_body("hand", parent="lnk", joint=sf.Revolute("z"))
    with pytest.raises(
        sf.errors.UnknownNameError, match="body 'hand': no parent body named 'lnk'"
    ) as e:
        builder.build()
    assert "did you mean 'link'" in str(e.value)


def test_an_unknown_parent_of_a_frame_is_named():
    with pytest.raises(sf.errors.UnknownNameError, match="frame 'tip': no parent body named 'lnk'"):
        add().add_frame("tip", "lnk").build()


def test_bodies_in_a_loop_are_named():
    builder = add(parent="hand").add_body("hand", parent="link", joint=sf.Revolute("z"))
    with pytest.raises(
        sf.errors.ModelError, match=r"bodies \['link', 'hand'\] are not connected"
    ) as e:
        builder.build()
    assert str(e.value).startswith("model 'arm'") and "fix: " in str(e.value)


@pytest.mark.parametrize("parent", ["link", "one"])
def test_frames_in_a_loop_are_named(parent):
    builder = add().add_frame("one", "two").add_frame("two", "one")
    builder.add_body("hand", parent=parent, joint=sf.Revolute("z"))
    with pytest.raises(
        sf.errors.ModelError, match=r"frame '(one|two)': frames carry each other in a loop"
    ):
        builder.build()


@pytest.mark.parametrize(
    "options",
    [
        dict(gravity=(0, 0)),
        dict(gravity="123"),
        dict(gravity=(0, 0, math.nan)),
        dict(friction_speed=-0.1),
        dict(friction_speed=math.inf),
        dict(friction_speed="fast"),
    ],
)
def test_the_whole_model_has_checked_numbers_too(options):
    (name,) = options
    with pytest.raises(sf.errors.ModelError, match=f"ModelBuilder: {name} .*\n  fix: "):
        ModelBuilder("arm", **options)


# -- size


def test_a_chain_of_twenty_thousand_bodies_builds_without_recursion():
    model = sf.load("planar_chain:20000")
    assert (model.nb, model.nq, model.nv) == (20_000,) * 3
    assert len(model.support("link20000")) == 20_000
    assert model.subtree("link19999") == ("link19999", "link20000")


def test_long_chains_of_frames_and_fixed_bodies_build_without_recursion():
    builder = sf.ModelBuilder("rope").add_body("drum", joint=sf.Revolute("z"), inertia=BALL)
    for k in reversed(range(3000)):
        parent = f"bead{k - 1}" if k else "drum"
        builder.add_body(f"bead{k}", parent=parent, joint=sf.Fixed(), placement=(0, 0, 1))
        builder.add_frame(f"mark{k}", f"mark{k - 1}" if k else "drum", (1, 0, 0))
        builder.add_body(f"leaf{k}", parent=f"mark{k}", joint=sf.Revolute("x"))
    model = builder.build()
    assert model.nb == 3001 and len(model.frames) == 6000
    np.testing.assert_array_equal(pose(model.locate("bead2999")[1])[:3, 3], [0, 0, 3000])
    k, X = model.locate("mark2999")
    assert k == 0
    np.testing.assert_array_equal(pose(X)[:3, 3], [3000, 0, 0])
    leaf = model.bodies[model.body_index("leaf2999")]
    np.testing.assert_array_equal(pose(leaf.placement)[:3, 3], [3000, 0, 0])


def test_a_placement_that_is_no_rotation_is_refused():
    builder = sf.ModelBuilder()
    stretched = sf.Transform.from_pose([[2, 0, 0], [0, 1, 0], [0, 0, 1]], (0, 0, 0))
    mirrored = sf.Transform.from_pose([[-1, 0, 0], [0, 1, 0], [0, 0, 1]], (0, 0, 0))
    for placement in (stretched, mirrored):
        with pytest.raises(sf.errors.ModelError, match=r"body 'arm'.*rigidly"):
            builder.add_body("arm", joint=sf.Revolute("z"), placement=placement)


def test_a_spring_at_rest_at_no_rotation_is_refused():
    with pytest.raises(sf.errors.ModelError, match=r"body 'ball'.*length zero"):
        sf.ModelBuilder().add_body("ball", joint=sf.Spherical(), rest=(0, 0, 0, 0))


def placed(E):
    builder = ModelBuilder("placed")
    builder.add_body("one", joint=sf.Revolute("z"), placement=Transform(Matrix3.of(E), ZERO3))
    return builder.build().bodies[0].placement.E


def test_axes_that_are_orthonormal_to_six_digits_are_made_so():
    given = [[0.707107, 0.707107, 0.0], [-0.707107, 0.707107, 0.0], [0.0, 0.0, 1.0]]
    E = np.array(placed(given), float)
    np.testing.assert_allclose(E @ E.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(E, given, atol=1e-6)
    assert isinstance(placed(given).a.z, Zero)
    rng = np.random.default_rng(2)
    for _ in range(20):
        turn = np.array(Transform.from_rpy(rng.uniform(-3, 3, 3).tolist()).E, float)
        rough = turn + rng.uniform(-2e-7, 2e-7, (3, 3))
        E = np.array(placed(rough.tolist()), float)
        np.testing.assert_allclose(E @ E.T, np.eye(3), atol=2e-15)
        np.testing.assert_allclose(E, rough, atol=1e-6)
        # what is a rotation to rounding stays as it is, and so does what was fixed
        assert placed(turn.tolist()) == Matrix3.of(turn.tolist())
        assert placed(E.tolist()) == Matrix3.of(E.tolist())
