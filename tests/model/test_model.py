"""A model is frozen data: equal by content, hashable, picklable, and answers by name."""

import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.formats.bundled import SAMPLES
from sixfold.model import Body
from sixfold.spatial import Transform, Vector3

BALL = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))
TURN = sf.Transform.from_rpy((0.3, -0.4, 0.5), (0.6, -0.7, 0.8))


def rich():
    """Return a model with something in every field."""
    builder = sf.ModelBuilder("rich", gravity=(1, 2, 3), base_name="floor", friction_speed=0.1)
    builder.add_body(
        "a",
        joint=sf.Helical((1, 2, 3), 0.2),
        joint_name="one",
        placement=TURN,
        inertia=BALL,
        damping=0.1,
        friction=0.2,
        friction_negative=0.3,
        friction_speed=0.2,
        stiffness=0.4,
        rest=0.5,
        armature=0.6,
        lower=-1,
        upper=2,
        velocity_limit=3,
        effort_limit=4,
    )
    builder.add_body("b", parent="a", joint=sf.Planar(), inertia=BALL, lower=(-1, -2, -3))
    builder.add_body("c", parent="a", joint=sf.Revolute("x"), inertia=BALL)
    builder.add_body("d", parent="b", joint=sf.Prismatic("y"), inertia=BALL)
    builder.add_body("e", parent="d", joint=sf.Fixed(), placement=TURN, inertia=BALL)
    builder.add_frame("tip", "c", TURN)
    builder.couple("c_joint", ("one", 2.0), offset=0.25)
    return builder.build()


RICH = rich()


# -- content


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_survives_a_pickle(name):
    model = sf.load(name)
    again = pickle.loads(pickle.dumps(model))
    assert again == model and hash(again) == hash(model) and again.digest == model.digest
    assert {model: 1}[again] == 1
    q, v = sf.random_state(model, 2, seed=0)
    np.testing.assert_array_equal(sf.momentum(again, q, v), sf.momentum(model, q, v))


def test_digests_are_the_same_in_another_process():
    code = (
        "import sixfold as sf; from sixfold.formats.bundled import SAMPLES;"
        "print(*(sf.load(name).digest for name in SAMPLES))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == [sf.load(name).digest for name in SAMPLES]


def test_different_samples_differ():
    digests = {sf.load(name).digest for name in SAMPLES}
    assert len(digests) == len(SAMPLES)
    assert sf.load("tree6") != "tree6"


def moved(value, k):
    numbers = list(value)
    numbers[k] = float(numbers[k]) + 1e-9
    return tuple(numbers)


def changes():
    """Yield variants of the rich model, each with one number or name changed."""
    yield "name", replace(RICH, name="poor")
    yield "base name", replace(RICH, base_name="ceiling")
    for k in range(3):
        yield f"gravity {k}", replace(RICH, gravity=moved(RICH.gravity, k))
    for f in fields(Body):
        first, *rest = RICH.bodies
        value = getattr(first, f.name)
        if f.name == "inertia":
            variants = [sf.Inertia.from_parameters(moved(value.parameters(), k)) for k in range(10)]
        elif f.name == "placement":
            variants = [Transform(value.E, Vector3(*moved(value.r, k))) for k in range(3)]
            variants += [
                Transform(
                    value.E._replace(**{row: Vector3(*moved(getattr(value.E, row), k))}), value.r
                )
                for row in "abc"
                for k in range(3)
            ]
        elif f.name == "joint":
            variants = [sf.Helical((1, 2, 3), 0.2000001), sf.Helical((1, 2, 3.0001), 0.2)]
            variants += [sf.Revolute((1, 2, 3)), sf.Prismatic((1, 2, 3))]
        elif f.name == "parent":
            continue
        elif isinstance(value, str):
            variants = [value + "x"]
        else:
            variants = [moved(value, 0)]
        for n, variant in enumerate(variants):
            body = replace(first, **{f.name: variant})
            yield f"{f.name} {n}", replace(RICH, bodies=(body, *rest))
    frame = RICH.frames[-1]
    yield "frame name", replace(RICH, frames=(replace(frame, name="top"), *RICH.frames[1:]))
    yield "frame body", replace(RICH, frames=(RICH.frames[0], replace(frame, body=0)))
    yield "no frames", replace(RICH, frames=())
    (coupling,) = RICH.couplings
    yield "ratio", replace(RICH, couplings=(replace(coupling, terms=((0, 2.1),)),))
    yield "offset", replace(RICH, couplings=(replace(coupling, offset=0.26),))
    yield "no couplings", replace(RICH, couplings=())


VARIANTS = dict(changes())


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_the_digest_changes_with_every_number_and_name(variant):
    assert variant.digest != RICH.digest
    assert variant != RICH


def test_all_variants_differ_from_each_other():
    assert len({variant.digest for variant in VARIANTS.values()}) == len(VARIANTS) > 40


def test_equal_content_is_equal_however_it_was_written():
    def build(axis, placement, mass, damping):
        builder = sf.ModelBuilder("arm", gravity=[0, 0, np.float64(-9.81)])
        inertia = sf.Inertia.from_mass(mass, rotational=(mass, mass, mass))
        builder.add_body(
            "a", joint=sf.Revolute(axis), placement=placement, inertia=inertia, damping=damping
        )
        return builder.build()

    plain = build("z", (0.5, 0.0, 0.0), 2.0, 0.25)
    E = sf.Transform.identity().E
    for other in (
        build((0, 0, 1), [0.5, 0, 0], 2, np.float32(0.25)),
        build(np.array([0, 0, 3.0]), np.array([0.5, 0, 0]), np.float64(2), (0.25,)),
        build("z", Transform(E, Vector3(np.float64(0.5), 0.0, -0.0)), 2.0, [0.25]),
        build("z", Transform.from_pose(np.eye(3), np.array([0.5, 0, 0])), 2.0, np.array([0.25])),
    ):
        assert other == plain and hash(other) == hash(plain)


def test_a_model_is_frozen():
    with pytest.raises(FrozenInstanceError):
        RICH.name = "other"
    with pytest.raises(FrozenInstanceError):
        RICH.bodies[0].damping = (1.0,)


# -- sizes, slices, limits


def test_sizes_and_names():
    assert (RICH.nb, RICH.nq, RICH.nv) == (4, 5, 5)
    assert RICH.body_names == ("a", "b", "c", "d")
    assert RICH.joint_names == ("one", "b_joint", "c_joint", "d_joint")
    assert RICH.frame_names == ("e", "tip")
    assert RICH.parent == (-1, 0, 0, 1)


def test_slices_say_where_a_joint_lies():
    model = sf.ModelBuilder()
    for name, joint in (("a", sf.Revolute("z")), ("b", sf.Free()), ("c", sf.Spherical())):
        model.add_body(name, joint=joint)
    model = model.build()
    q = [model.q_slice(f"{name}_joint") for name in "abc"]
    v = [model.v_slice(f"{name}_joint") for name in "abc"]
    assert q == [slice(0, 1), slice(1, 8), slice(8, 12)]
    assert v == [slice(0, 1), slice(1, 7), slice(7, 10)]
    np.testing.assert_array_equal(sf.neutral(model)[q[2]], [0, 0, 0, 1])
    with pytest.raises(
        sf.errors.UnknownNameError, match="model 'robot': no joint named 'a'"
    ) as caught:
        model.q_slice("a")
    assert "a_joint" in str(caught.value)


def test_limits_are_stacked_without_followers():
    inf = np.inf
    np.testing.assert_array_equal(RICH.lower_position, [-1, -1, -2, -3, -inf])
    np.testing.assert_array_equal(RICH.upper_position, [2, inf, inf, inf, inf])
    np.testing.assert_array_equal(RICH.velocity_limit, [3, inf, inf, inf, inf])
    np.testing.assert_array_equal(RICH.effort_limit, [4, inf, inf, inf, inf])


# -- topology


def test_topology_by_name():
    tree = sf.load("tree6")
    assert tree.support("body6") == ("body1", "body4", "body6")
    assert tree.ancestors("body6") == ("body4", "body1")
    assert tree.ancestors("body1") == ()
    assert tree.subtree("body4") == ("body4", "body5", "body6")
    assert tree.subtree("body1") == tree.body_names
    assert tree.children("body1") == ("body2", "body4")
    assert tree.children("body6") == ()
    assert tree.children("world") == ("body1",)


@pytest.mark.parametrize("name", ["tree10", "random_tree:30:1"])
def test_support_and_subtree_are_two_views_of_one_relation(name):
    model = sf.load(name)
    for above in model.body_names:
        assert model.support(above) == (*reversed(model.ancestors(above)), above)
        for below in model.body_names:
            assert (above in model.support(below)) is (below in model.subtree(above))
        for child in model.children(above):
            assert model.ancestors(child)[0] == above


@pytest.mark.parametrize("question", ["support", "subtree", "children", "ancestors", "body_index"])
def test_questions_about_unknown_bodies_name_near_ones(question):
    with pytest.raises(
        sf.errors.UnknownNameError, match="model 'tree6': no body named 'bodi1'"
    ) as caught:
        getattr(sf.load("tree6"), question)("bodi1")
    assert "did you mean 'body1'" in str(caught.value)


def test_locate_finds_bodies_frames_and_the_base():
    assert RICH.locate("b") == (1, Transform.identity())
    assert RICH.locate("floor") == (-1, Transform.identity())
    assert RICH.locate("tip") == (2, RICH.frames[1].placement)
    assert RICH.locate("e")[0] == 3
    with pytest.raises(
        sf.errors.UnknownNameError, match="model 'rich': no body or frame named 'tap'"
    ):
        RICH.locate("tap")


# -- variants


def test_without_removes_what_is_named_and_nothing_else():
    effects = {
        "damping": ("damping",),
        "friction": ("friction", "friction_negative"),
        "springs": ("stiffness",),
        "armature": ("armature",),
    }
    for effect, names in effects.items():
        bare = RICH.without(**{effect: True})
        assert bare != RICH
        for body, before in zip(bare.bodies, RICH.bodies, strict=True):
            for f in fields(Body):
                want = (0.0,) * body.joint.nv if f.name in names else getattr(before, f.name)
                assert getattr(body, f.name) == want
        assert (bare.frames, bare.couplings, bare.gravity) == (
            RICH.frames,
            RICH.couplings,
            RICH.gravity,
        )
    assert RICH.without() == RICH
    assert RICH.without(gravity=True).gravity == (0.0, 0.0, 0.0)
    assert RICH.without(damping=True, friction=True) == RICH.without(friction=True).without(
        damping=True
    )


def test_with_gravity_changes_gravity_alone():
    moon = RICH.with_gravity((0, 0, -1.62))
    assert moon.gravity == (0.0, 0.0, -1.62) and moon.bodies == RICH.bodies
    assert moon != RICH and moon.with_gravity(RICH.gravity) == RICH
    pendulum = sf.load("pendulum")
    ratio = sf.gravity_force(pendulum.with_gravity((0, -1.62, 0)), [0.3]) / sf.gravity_force(
        pendulum, [0.3]
    )
    np.testing.assert_allclose(ratio, 1.62 / 9.81)


@pytest.mark.parametrize(
    "gravity",
    [(0, 0), (0, 0, 0, 0), "123", None, 9.81, (0, 0, np.nan), (0, 0, "x"), (0, np.inf, 0)],
)
def test_gravity_is_three_finite_numbers(gravity):
    with pytest.raises(sf.errors.ModelError, match=r"model 'rich': gravity .*\n  fix: "):
        RICH.with_gravity(gravity)


# -- stacked vectors


def test_positions_and_velocities_split_and_gather_back():
    q = [1.0, 2.0, 3.0, 4.0, 5.0]
    columns = RICH.positions(q)
    assert {i: tuple(map(float, x)) for i, x in columns.items()} == {
        1: (1.0,),
        2: (2.0, 3.0, 4.0),
        3: (2.25,),
        4: (5.0,),
    }
    assert tuple(RICH.velocities(q)[3]) == (2.0,)
    forces = {1: (1.0,), 2: (2.0, 3.0, 4.0), 3: (10.0,), 4: (5.0,)}
    assert RICH.gather(forces) == [21.0, 2.0, 3.0, 4.0, 5.0]


def test_gathering_is_the_transpose_of_splitting():
    rng = np.random.default_rng(0)
    v = rng.standard_normal(RICH.nv).tolist()
    forces = {i: rng.standard_normal(RICH.tree.joint[i].nv).tolist() for i in RICH.tree.bodies}
    power = sum(
        f * float(x)
        for i, each in RICH.velocities(v).items()
        for f, x in zip(forces[i], each, strict=True)
    )
    np.testing.assert_allclose(np.dot(RICH.gather(forces), v), power)


def test_a_tree_converts_to_other_numbers():
    wide = RICH.map(np.longdouble)
    assert isinstance(wide.inertia[1].m, np.longdouble)
    assert isinstance(wide.joint[1].pitch, np.longdouble)
    assert wide.parent == RICH.tree.parent
    assert RICH.tree.velocity_slices[-1].stop == RICH.tree.nv == 6
    assert RICH.tree.dof_parent == (-1, 0, 1, 2, 0, 3)
