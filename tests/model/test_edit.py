"""Editing: lock joints, attach, replace inertias, add a payload, rename."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Box, Geometry, Link, SourceInfo
from sixfold.spatial import rotation

BALL = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))
TOOL = sf.Transform.from_rpy((0.3, -0.2, 0.5), (0.1, 0.2, 0.3))


def arm(names="abcd", base="world", **joints):
    builder = sf.ModelBuilder("arm", base_name=base)
    before = None
    for k, name in enumerate(names):
        builder.add_body(
            name,
            parent=before,
            joint=joints.get(name, sf.Revolute((1, k, -1))),
            joint_name=f"j{name}",
            placement=sf.Transform.from_rpy((0.1 * k, 0.2, 0.3), (0, 0.1, 0.3)),
            inertia=BALL,
        )
        before = name
    return builder


def with_file(model):
    """Return the model as if a file had given it: one link and one shape on each body."""
    links = [
        Link(body.name, k, sf.Transform.identity(), body.inertia, 10 * k + 3, 10 * k + 5)
        for k, body in enumerate(model.bodies)
    ]
    shapes = [
        Geometry(k, sf.Transform.translation((0, 0, 0.1)), Box((1, 2, 3)), link=body.name)
        for k, body in enumerate(model.bodies)
    ]
    lines = {name: 100 + k for k, name in enumerate(model.joint_names)}
    return replace(
        model, geometries=tuple(shapes), origin=SourceInfo("arm.urdf", tuple(links), lines)
    )


def expanded(full, locked, held, *vectors):
    """Return vectors of the locked model as those of the full one, held joints at a position."""
    q, *rates = vectors
    all_q = np.zeros(full.nq)
    all_rates = [np.zeros(full.nv) for _ in rates]
    for body in full.bodies:
        name = body.joint_name
        if name in held:
            all_q[full.q_slice(name)] = held[name]
            continue
        all_q[full.q_slice(name)] = q[locked.q_slice(name)]
        for whole, part in zip(all_rates, rates, strict=True):
            whole[full.v_slice(name)] = part[locked.v_slice(name)]
    return all_q, *all_rates


def kept_rows(full, locked):
    return np.concatenate([np.arange(full.nv)[full.v_slice(name)] for name in locked.joint_names])


def held_positions(model, names, seed):
    rng = np.random.default_rng(seed)
    joints = {body.joint_name: body.joint for body in model.bodies}
    return {name: joints[name].random(rng) for name in names}


@pytest.mark.parametrize("numbers", [[1], [2, 3], [5, 9, 12], list(range(2, 13))])
def test_a_locked_model_is_the_full_one_whose_joints_rest(numbers):
    full = sf.random_tree(12, 3, properties=True)
    held = held_positions(full, [f"joint{k}" for k in numbers], 1)
    locked = sf.lock_joints(full, held)
    assert locked.nb == 12 - len(numbers)
    q, v = sf.random_state(locked, seed=5)
    a = np.random.default_rng(6).standard_normal(locked.nv)
    Q, V, A = expanded(full, locked, held, q, v, a)
    rows = kept_rows(full, locked)
    plain = {"backend": "numpy"}
    close = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(
        sf.inverse_dynamics(locked, q, v, a, **plain),
        sf.inverse_dynamics(full, Q, V, A, **plain)[rows],
        **close,
    )
    np.testing.assert_allclose(
        sf.mass_matrix(locked, q, **plain),
        sf.mass_matrix(full, Q, **plain)[np.ix_(rows, rows)],
        **close,
    )
    np.testing.assert_allclose(
        sf.kinetic_energy(locked, q, v, **plain), sf.kinetic_energy(full, Q, V, **plain), **close
    )
    # what merged into the base, and springs at rest, are a constant of the potential energy
    q2, _ = sf.random_state(locked, seed=7)
    (Q2,) = expanded(full, locked, held, q2)
    np.testing.assert_allclose(
        sf.potential_energy(locked, q2, **plain) - sf.potential_energy(locked, q, **plain),
        sf.potential_energy(full, Q2, **plain) - sf.potential_energy(full, Q, **plain),
        **close,
    )
    for body in full.body_names:
        np.testing.assert_allclose(
            sf.frame_pose(locked, q, body, **plain), sf.frame_pose(full, Q, body, **plain), **close
        )


def test_locked_bodies_become_frames_and_frames_stay():
    full = arm().add_frame("tip", "d", TOOL).add_frame("side", "b", (0, 0, 1)).build()
    locked = sf.lock_joints(full, {"jb": 0.4, "jd": -1.0})
    assert locked.body_names == ("a", "c")
    assert locked.joint_names == ("ja", "jc")
    assert locked.frame_names == ("b", "d", "tip", "side")
    q = np.array([0.3, -0.7])
    for name in ("a", "b", "c", "d", "tip", "side"):
        np.testing.assert_allclose(
            sf.frame_pose(locked, q, name),
            sf.frame_pose(full, (q[0], 0.4, q[1], -1.0), name),
            atol=1e-14,
        )


def test_a_joint_locked_at_neutral_equals_a_fixed_one_of_the_builder():
    fixed = arm(b=sf.Fixed(), c=sf.Fixed()).build()
    full = arm(b=sf.Revolute("z"), c=sf.Prismatic("y")).build()
    assert sf.lock_joints(full, ["jb", "jc"]) == fixed
    assert sf.lock_joints(full, {"jb": 0.0, "jc": [0.0]}) == fixed
    assert sf.lock_joints(sf.lock_joints(full, "jb"), ["jc"]).body_names == fixed.body_names


def test_locking_nothing_changes_nothing_and_locking_all_leaves_frames():
    full = arm().build()
    assert sf.lock_joints(full, []) == full
    none = sf.lock_joints(full, full.joint_names)
    assert (none.nb, none.nq) == (0, 0)
    np.testing.assert_allclose(
        sf.frame_pose(none, np.zeros(0), "d"), sf.frame_pose(full, np.zeros(4), "d"), atol=1e-14
    )


def test_the_armature_and_passive_forces_of_a_locked_joint_drop_out():
    builder = sf.ModelBuilder()
    builder.add_body("a", joint=sf.Revolute("y"), inertia=BALL, armature=1.0)
    builder.add_body(
        "b", parent="a", joint=sf.Revolute("y"), inertia=BALL, armature=5.0, stiffness=7.0, rest=1.0
    )
    locked = sf.lock_joints(builder.build(), {"b_joint": 0.0})
    inertia = 2 * float(BALL.I.yy) + 1.0
    np.testing.assert_allclose(sf.mass_matrix(locked, [0.0]), [[inertia]], rtol=1e-14)
    assert locked.bodies[0].stiffness == (0.0,)


def test_a_floating_base_locks_at_a_pose_of_any_quaternion_length():
    full = sf.load("floating_link")
    half = np.array([0.2, -0.1, 0.4, 0.8])
    pose = [1.0, 2.0, 3.0, *half]
    locked = sf.lock_joints(full, {"free": pose})
    assert locked.joint_names == ("hinge",)
    np.testing.assert_allclose(
        sf.frame_pose(locked, [0.5], "tip"),
        sf.frame_pose(full, [1, 2, 3, *(half / np.linalg.norm(half)), 0.5], "tip"),
        atol=1e-14,
    )


def test_followers_of_a_locked_joint_are_locked_where_it_puts_them():
    builder = arm().couple("jb", ("ja", 2.0), offset=0.1).couple("jd", ("ja", 1.0), ("jc", -0.5))
    full = builder.build()
    locked = sf.lock_joints(full, {"ja": 0.3})
    assert locked.joint_names == ("jc", "jd")
    (coupling,) = locked.couplings
    assert (coupling.follower, coupling.terms) == (1, ((0, -0.5),))
    assert coupling.offset == pytest.approx(0.3)
    for name in "abcd":
        np.testing.assert_allclose(
            sf.frame_pose(locked, [0.7], name), sf.frame_pose(full, [0.3, 0.7], name), atol=1e-14
        )
    a, q = np.array([1.3]), np.array([0.7])
    np.testing.assert_allclose(
        sf.inverse_dynamics(locked, q, q, a),
        sf.inverse_dynamics(full, [0.3, 0.7], [0, 0.7], [0, 1.3])[1:],
        rtol=1e-12,
    )
    assert sf.lock_joints(full, full.joint_names).nb == 0


@pytest.mark.parametrize("joints", [["jb"], {"jb": 0.3}, {"ja": 0.0, "jb": 0.3}])
def test_locking_a_follower_says_which_joint_to_lock(joints):
    full = arm().couple("jb", ("ja", 2.0)).build()
    with pytest.raises(sf.errors.ModelError, match="joint 'jb': follows 'ja'") as caught:
        sf.lock_joints(full, joints)
    assert "fix: lock 'ja' instead" in str(caught.value)


def test_shapes_and_links_of_the_file_move_with_their_bodies():
    full = with_file(arm().build())
    locked = sf.lock_joints(full, {"ja": 0.2, "jc": 0.3})
    assert [(g.link, g.body) for g in locked.geometries] == [
        ("a", -1),
        ("b", 0),
        ("c", 0),
        ("d", 1),
    ]
    assert [link.body for link in locked.origin.links] == [-1, 0, 0, 1]
    assert [link.line for link in locked.origin.links] == [3, 13, 23, 33]
    for link, frame in zip(locked.origin.links[::2], locked.frames, strict=True):
        assert link.name == frame.name
        assert link.placement == frame.placement
    # the links on a body still weigh what it weighs
    X = locked.origin.links[2].placement
    both = locked.origin.links[1].inertia + (X.T @ locked.origin.links[2].inertia @ X)
    assert both == locked.bodies[0].inertia


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ({"ja": float("nan")}, "joint 'ja': position"),
        ({"ja": "0.3"}, "joint 'ja': position"),
        ({"ja": [1, 2]}, "joint 'ja': position has 2 numbers"),
        ({"ja": {}}, "joint 'ja': position"),
        (3, "lock_joints: joints is 3"),
        (["je"], "no joint named 'je'"),
        ([1], "no joint named 1"),
    ],
)
def test_a_position_or_name_that_does_not_fit_is_refused(joints, words):
    with pytest.raises(sf.errors.SixfoldError, match=words):
        sf.lock_joints(arm().build(), joints)


def test_a_single_number_is_no_position_of_a_joint_with_several():
    model = sf.load("floating_link")
    with pytest.raises(sf.errors.ModelError, match=r"joint 'free': position = 1.0") as caught:
        sf.lock_joints(model, {"free": 1.0})
    assert "fix: give 7 numbers" in str(caught.value)
    with pytest.raises(sf.errors.ModelError, match="quaternion of length zero"):
        sf.lock_joints(model, {"free": [0.0] * 7})


# -- attach


def test_attaching_equals_building_in_one_piece():
    hand = arm("xy", base="palm").add_frame("nail", "y", (0, 0, 1)).build()
    carrier = arm("ab").add_frame("tool", "b", TOOL).build()
    both = sf.attach(carrier, hand, to="tool", placement=(0, 0, 0.05))
    whole = arm("ab").add_frame("tool", "b", TOOL)
    whole.add_body("palm", parent="tool", joint=sf.Fixed(), placement=(0, 0, 0.05))
    for body in hand.bodies:
        whole.add_body(
            body.name,
            parent="palm" if body.parent < 0 else hand.body_names[body.parent],
            joint=body.joint,
            joint_name=body.joint_name,
            placement=body.placement,
            inertia=body.inertia,
        )
    whole.add_frame("nail", "y", (0, 0, 1))
    built = whole.build()
    assert both.bodies == built.bodies
    assert set(both.frames) == set(built.frames)
    q, v = sf.random_state(both, seed=1)
    np.testing.assert_array_equal(sf.bias_force(both, q, v), sf.bias_force(built, q, v))


def test_a_prefix_keeps_two_of_the_same_apart():
    one = arm("ab").add_frame("tip", "b").couple("jb", ("ja", 0.5)).build()
    two = sf.attach(sf.attach(one, one, to="a", prefix="l_"), one, to="a", prefix="r_")
    assert two.body_names == ("a", "b", "l_a", "l_b", "r_a", "r_b")
    assert two.joint_names == ("ja", "jb", "l_ja", "l_jb", "r_ja", "r_jb")
    assert two.frame_names == ("tip", "l_world", "l_tip", "r_world", "r_tip")
    assert [(c.follower, c.terms) for c in two.couplings] == [
        (1, ((0, 0.5),)),
        (3, ((2, 0.5),)),
        (5, ((4, 0.5),)),
    ]
    assert two.children("a") == ("b", "l_a", "r_a")
    assert two.gravity == one.gravity and two.name == one.name


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (arm("a", base="palm"), "joint name 'ja' is in both"),
        (arm("xy"), "body or frame name 'world' is in both"),
        (arm("xy", base="palm").add_frame("a", "x"), "body or frame name 'a' is in both"),
    ],
)
def test_names_in_both_are_refused_with_the_way_out(other, words):
    with pytest.raises(sf.errors.ModelError, match=words) as caught:
        sf.attach(arm("ab").build(), other.build(), to="b")
    assert "fix: pass prefix=..., or rename first" in str(caught.value)


def test_the_base_of_a_robot_from_a_file_weighs_what_its_links_weigh():
    hand = arm("x", base="palm").build()
    palm = Link("palm", -1, sf.Transform.identity(), BALL, 1, 1)
    cover = Link("cover", -1, TOOL, BALL, 2, 2)
    bare = Link("bare", -1, TOOL, None, 3, 3)
    hand = replace(hand, origin=SourceInfo("hand.urdf", (palm, cover, bare)))
    carrier = arm("ab").build()
    both = sf.attach(carrier, hand, to="b", placement=TOOL)
    X, Y = TOOL, TOOL @ TOOL
    weight = carrier.bodies[1].inertia + (X.T @ BALL @ X) + (Y.T @ BALL @ Y)
    np.testing.assert_allclose(
        np.array(both.bodies[1].inertia.parameters(), float),
        np.array(weight.parameters(), float),
        rtol=1e-14,
    )
    light = sf.attach(carrier, hand, to="b", placement=TOOL, base_inertia=sf.Inertia.zero())
    assert light.bodies[1].inertia == carrier.bodies[1].inertia


def test_shapes_of_the_attached_robot_move_along():
    hand = with_file(arm("x", base="palm").build())
    both = sf.attach(with_file(arm("ab").build()), hand, to="b", placement=TOOL, prefix="h_")
    assert [(g.body, g.link) for g in both.geometries] == [(0, "a"), (1, "b"), (2, "h_x")]
    assert [link.name for link in both.origin.links] == ["a", "b"]


def test_attaching_to_the_base_moves_the_other_robot_there():
    carrier, hand = arm("ab").build(), arm("xy", base="palm").build()
    both = sf.attach(carrier, hand, to="world", placement=TOOL)
    q = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        sf.frame_pose(both, q, "y"),
        sf.frame_pose(both, q, "palm") @ sf.frame_pose(hand, q[2:], "y"),
        atol=1e-14,
    )
    assert both.children("world") == ("a", "x")


def test_each_joint_of_an_attached_robot_keeps_its_friction_speed():
    def hand(speed, base="world"):
        builder = sf.ModelBuilder("h", friction_speed=speed, base_name=base)
        return builder.add_body(base[0], joint=sf.Revolute("z"), friction=1.0).build()

    both = sf.attach(hand(0.1), hand(0.2, "palm"), to="w")
    v = np.array([0.05, 0.05])
    friction = sf.inverse_dynamics(both, np.zeros(2), v, np.zeros(2))
    np.testing.assert_allclose(friction, np.tanh(v / [0.1, 0.2]), rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"to": "nowhere"}, "no body or frame named 'nowhere'"),
        ({"placement": (1, 2)}, "placement has 2 numbers"),
        ({"prefix": 3}, "prefix is 3"),
        ({"base_inertia": 3}, "inertia is 3"),
        ({"other": "hand"}, "attach: the second argument must be a Model"),
    ],
)
def test_what_cannot_be_attached_is_refused(changes, words):
    arguments = {"other": arm("x", base="palm").build(), "to": "b", **changes}
    with pytest.raises(sf.errors.SixfoldError, match=words) as caught:
        sf.attach(arm("ab").build(), **arguments)
    assert "fix: " in str(caught.value)


# -- inertias and loads


def test_replaced_inertias_are_the_builders():
    heavy = BALL * 3.0
    model = sf.replace_inertias(arm("ab").build(), {"b": heavy})
    assert model.bodies[0].inertia == BALL
    assert model.bodies[1].inertia == heavy
    assert sf.replace_inertias(model, {"b": BALL}) == arm("ab").build()


@pytest.mark.parametrize(
    ("inertias", "words"),
    [
        ({"nobody": BALL}, "no body named 'nobody'"),
        ({"tip": BALL}, "frame 'tip': is fixed to 'b' and has no inertia of its own"),
        ({"a": 3.0}, r"body 'a': inertia is 3.0"),
        ({"a": BALL * float("nan")}, "body 'a': inertia"),
        ([BALL], r"replace_inertias: inertias is \["),
    ],
)
def test_inertias_that_do_not_fit_are_refused(inertias, words):
    model = arm("ab").add_frame("tip", "b").build()
    with pytest.raises(sf.errors.SixfoldError, match=words) as caught:
        sf.replace_inertias(model, inertias)
    assert "fix: " in str(caught.value)


def test_a_payload_equals_a_body_fixed_there():
    model = arm("ab").add_frame("tool", "b", TOOL).build()
    load = sf.Inertia.from_mass(1.5, (0.1, 0.0, -0.2), (0.01, 0.02, 0.025))
    loaded = sf.add_payload(
        model, "tool", mass=1.5, com=(0.1, 0, -0.2), inertia=(0.01, 0.02, 0.025), placement=TOOL
    )
    whole = arm("ab").add_frame("tool", "b", TOOL)
    whole.add_body("load", parent="tool", joint=sf.Fixed(), placement=TOOL, inertia=load)
    assert loaded.bodies == whole.build().bodies
    assert loaded == sf.add_payload(model, "tool", inertia=load, placement=TOOL)
    assert loaded == sf.add_payload(
        model,
        "tool",
        mass=1.5,
        com=(0.1, 0, -0.2),
        inertia=np.diag((0.01, 0.02, 0.025)),
        placement=TOOL,
    )
    assert loaded != model


def test_a_point_mass_at_a_body_adds_its_moment():
    model = sf.load("pendulum")
    name = model.body_names[0]
    loaded = sf.add_payload(model, name, mass=2.0, com=(0.0, -0.5, 0.0))
    difference = sf.mass_matrix(loaded, [0.3]) - sf.mass_matrix(model, [0.3])
    np.testing.assert_allclose(difference, [[2.0 * 0.25]], rtol=1e-14)


@pytest.mark.parametrize(
    ("frame", "arguments", "words"),
    [
        ("world", {"mass": 1.0}, "fixed to the base"),
        ("nowhere", {"mass": 1.0}, "no body or frame named 'nowhere'"),
        ("a", {}, "has no mass"),
        ("a", {"mass": 1.0, "inertia": BALL}, "together with an Inertia"),
        ("a", {"com": (0, 0, 1), "inertia": BALL}, "together with an Inertia"),
        ("a", {"mass": float("inf")}, "mass = inf is not finite"),
        ("a", {"mass": "1 kg"}, "mass = '1 kg' is not a number"),
        ("a", {"mass": 1.0, "com": (0, 0)}, "com has 2 numbers"),
        ("a", {"mass": 1.0, "inertia": (1, 2)}, "inertia has 2 numbers"),
        ("a", {"mass": 1.0, "inertia": [(1, 0, 0), (1, 1, 0), (0, 0, 1)]}, "not symmetric"),
        ("a", {"mass": 1.0, "inertia": 3}, "inertia has 1 numbers"),
        ("a", {"mass": 1e300, "com": (1e100, 0, 0)}, "is not finite"),
    ],
)
def test_a_payload_that_cannot_be_carried_is_refused(frame, arguments, words):
    with pytest.raises(sf.errors.SixfoldError, match=words) as caught:
        sf.add_payload(arm("ab").build(), frame, **arguments)
    assert "fix: " in str(caught.value)


# -- names


def test_renaming_keeps_the_dynamics_bit_for_bit():
    model = sf.random_tree(8, 2, properties=True)
    other = sf.rename(model, {"body3": "elbow", "joint3": "hinge", "world": "floor"})
    assert other.body_names[2] == "elbow"
    assert other.joint_names[2] == "hinge"
    assert other.base_name == "floor"
    q, v = sf.random_state(model, 5, seed=1)
    np.testing.assert_array_equal(sf.bias_force(model, q, v), sf.bias_force(other, q, v))
    assert other != model and other.digest != model.digest
    back = {"elbow": "body3", "hinge": "joint3", "floor": "world"}
    assert sf.rename(other, back) == model
    assert hash(sf.rename(other, back)) == hash(model)


def test_two_names_may_be_swapped_and_frames_renamed():
    model = arm("ab").add_frame("tip", "b").build()
    swapped = sf.rename(model, {"a": "b", "b": "a", "tip": "toe"})
    assert swapped.body_names == ("b", "a")
    assert swapped.frame_names == ("toe",)
    assert sf.rename(model) == model


def test_a_name_of_a_joint_and_a_body_needs_to_be_said_which():
    builder = sf.ModelBuilder()
    model = builder.add_body("hip", joint=sf.Revolute("x"), joint_name="hip").build()
    with pytest.raises(sf.errors.ModelError, match="'hip' is a joint and also a body") as caught:
        sf.rename(model, {"hip": "knee"})
    assert "joints=...) or bodies=..." in str(caught.value)
    assert sf.rename(model, joints={"hip": "knee"}).joint_names == ("knee",)
    assert sf.rename(model, bodies={"hip": "knee"}).body_names == ("knee",)


def test_the_places_in_the_file_are_found_under_the_new_names():
    model = sf.rename(with_file(arm("ab").build()), {"b": "tip", "jb": "wrist"})
    assert [link.name for link in model.origin.links] == ["a", "tip"]
    assert model.origin.joint_lines == {"ja": 100, "wrist": 101}
    assert [g.link for g in model.geometries] == ["a", "tip"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"a": "b"}, "two would be named 'b'"),
        ({"a": "world"}, "two would be named 'world'"),
        ({"tip": "a"}, "two would be named 'a'"),
        ({"ja": "jb"}, "two would be named 'jb'"),
        ({"a": "x", "b": "x"}, "two would be named 'x'"),
        ({"nobody": "x"}, "no body, frame or joint named 'nobody'"),
        ({"a": ""}, "'a' becomes ''"),
        ({"a": 3}, "'a' becomes 3"),
        (["a"], r"names are \["),
    ],
)
def test_names_that_do_not_fit_are_refused(names, words):
    model = arm("ab").add_frame("tip", "b").build()
    with pytest.raises(sf.errors.SixfoldError, match=words) as caught:
        sf.rename(model, names)
    assert "fix: " in str(caught.value)


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: sf.lock_joints(m, ["jb"]),
        lambda m: sf.attach(m, m, to="a", prefix="p_"),
        lambda m: sf.replace_inertias(m, {"a": BALL * 2.0}),
        lambda m: sf.add_payload(m, "b", mass=1.0),
        lambda m: sf.rename(m, {"a": "z"}),
    ],
)
def test_edited_models_are_models_like_others(edit):
    model = with_file(arm("ab").build())
    before = model.digest
    edited = edit(model)
    assert edited != model and model.digest == before
    again = pickle.loads(pickle.dumps(edited))
    assert again == edited == edit(model)
    assert again.origin == edited.origin
    with pytest.raises(sf.errors.ArgumentError, match="the first argument must be a Model"):
        edit("model")


def test_a_custom_joint_locks_where_its_transform_puts_it():
    def turning(q):
        E = rotation(sf.spatial.Vector3.of((0.0, 0.0, 1.0)), sf.math.cos(q[0]), sf.math.sin(q[0]))
        return sf.Transform(E, sf.spatial.Vector3(q[0] * q[0], q[0], 0.0))

    model = arm("ab", b=sf.CustomJoint(turning)).build()
    locked = sf.lock_joints(model, {"jb": 0.5})
    np.testing.assert_allclose(
        sf.frame_pose(locked, [0.2], "b"), sf.frame_pose(model, [0.2, 0.5], "b"), atol=1e-14
    )
