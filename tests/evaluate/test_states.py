"""States to start from, and robots by name."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.formats.bundled import SAMPLES
from tests.evaluate.small_models import MAKERS, model_named

LONG_NUMBER = "9" * 5000


def test_the_neutral_state_is_zero_with_quaternions_not_turned():
    np.testing.assert_array_equal(sf.neutral(sf.load("puma560")), np.zeros(6))
    floating = sf.neutral(sf.load("floating_link"))
    np.testing.assert_array_equal(floating, [0, 0, 0, 0, 0, 0, 1, 0])
    poses = sf.body_poses(sf.load("floating_link"), floating)
    np.testing.assert_array_equal(poses[0], np.eye(4))


def test_followers_have_no_place_in_states():
    model = model_named("coupled_arm")
    assert sf.neutral(model).shape == (model.nq,) == (2,)
    q, v = sf.random_state(model, 3, seed=0)
    assert q.shape == v.shape == (3, 2)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("size", "lead"), [((), ()), (4, (4,)), ((2, 3), (2, 3)), (0, (0,))])
def test_random_states_have_the_shape_asked_for(name, size, lead):
    model = model_named(name)
    q, v = sf.random_state(model, size, seed=1)
    assert q.shape == (*lead, model.nq) and v.shape == (*lead, model.nv)
    assert q.dtype == v.dtype == np.float64


def test_the_same_seed_gives_the_same_states():
    model = sf.load("floating_link")
    first, again, other = (sf.random_state(model, 3, seed=s) for s in (5, 5, 6))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).all() and (first[1] != other[1]).all()


def test_a_generator_serves_as_seed_and_moves_on():
    model = sf.load("tree6")
    rng = np.random.default_rng(5)
    first, second = sf.random_state(model, seed=rng), sf.random_state(model, seed=rng)
    np.testing.assert_array_equal(first[0], sf.random_state(model, seed=5)[0])
    assert (first[0] != second[0]).all()


def test_without_a_seed_states_differ():
    model = sf.load("tree6")
    assert (sf.random_state(model)[0] != sf.random_state(model)[0]).all()


@pytest.mark.parametrize(("joint", "part"), [(sf.Spherical(), slice(4)), (sf.Free(), slice(3, 7))])
def test_random_quaternions_have_unit_length_and_cover_all_rotations(joint, part):
    model = sf.ModelBuilder().add_body("a", joint=joint).build()
    q, _ = sf.random_state(model, 500, seed=0)
    x = q[:, part]
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, atol=1e-15)
    assert (np.abs(x.mean(axis=0)) < 0.1).all()
    np.testing.assert_allclose((x**2).mean(axis=0), 0.25, atol=0.05)


def test_random_positions_respect_limits():
    builder = sf.ModelBuilder("limited")
    builder.add_body("a", joint=sf.Revolute("z"), lower=2.0, upper=2.5)
    builder.add_body("b", parent="a", joint=sf.Planar(), lower=(-5, 1, 0), upper=(-4, 1, 0.1))
    builder.add_body("c", parent="b", joint=sf.Prismatic("x"))
    model = builder.build()
    q, _ = sf.random_state(model, 300, seed=0)
    assert (q >= model.lower_position).all() and (q <= model.upper_position).all()
    assert np.ptp(q[:, 0]) > 0.4 and np.ptp(q[:, 1]) > 0.8 and (q[:, 2] == 1).all()


@pytest.mark.parametrize(
    ("joint", "reach"),
    [
        (sf.Revolute("x"), [np.pi]),
        (sf.Prismatic("x"), [1]),
        (sf.Helical("x", 0.1), [np.pi]),
        (sf.Cylindrical("x"), [np.pi, 1]),
        (sf.Planar(), [1, 1, np.pi]),
        (sf.Universal(), [np.pi, np.pi]),
        (sf.Translational(), [1, 1, 1]),
        (sf.Free(), [1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_angles_cover_a_turn_and_lengths_a_metre(joint, reach):
    model = sf.ModelBuilder().add_body("a", joint=joint).build()
    q, v = sf.random_state(model, 500, seed=0)
    assert (np.abs(q).max(axis=0) <= reach).all()
    assert (np.abs(q).max(axis=0) > 0.9 * np.array(reach)).all()
    assert (np.abs(v.mean(axis=0)) < 0.2).all() and (np.abs(v.std(axis=0) - 1) < 0.2).all()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_loads_by_name(name):
    model = sf.load(name)
    assert model.nb >= 1 and model == sf.load(name)


def test_samples_take_numbers():
    assert sf.load("planar_chain:7").nb == 7
    assert sf.load("star:4").parent == (-1, 0, 0, 0)
    assert sf.load("random_tree:5:2") == sf.random_tree(5, 2)
    assert sf.load("random_tree:5") == sf.random_tree(5, 0)


@pytest.mark.parametrize("name", ["pumma560", "PUMA560"])
def test_unknown_robots_are_refused_with_the_names_that_exist(name):
    with pytest.raises(
        sf.errors.UnknownNameError, match=r"sixfold\.load: no robot or file named"
    ) as caught:
        sf.load(name)
    assert "pendulum" in str(caught.value)


@pytest.mark.parametrize("name", ["", "no_such_folder/panda.urdf", None, 3, b"panda"])
def test_what_is_no_robot_is_refused(name):
    with pytest.raises(sf.errors.SixfoldError, match="fix: "):
        sf.load(name)


@pytest.mark.parametrize(
    "name",
    [
        "puma560:3",
        "planar_chain:x",
        "planar_chain:-1",
        "planar_chain:",
        "planar_chain:3:4",
        "planar_chain:1.5",
        "random_tree:3:4:5",
        "random_tree:3:x",
        f"planar_chain:{LONG_NUMBER}",
    ],
)
def test_a_name_that_does_not_read_is_refused_with_its_form(name):
    with pytest.raises(sf.errors.ModelError, match="does not read as a sample name") as caught:
        sf.load(name)
    assert f"fix: write {name.split(':')[0]}" in str(caught.value)


def test_a_robot_without_bodies_is_refused():
    with pytest.raises(sf.errors.ModelError, match="'planar_chain:0': has no bodies"):
        sf.load("planar_chain:0")


@pytest.mark.parametrize("function", [sf.neutral, sf.random_state])
def test_states_want_a_model(function):
    with pytest.raises(sf.errors.ArgumentError, match=f"{function.__name__}: the first argument"):
        function("puma560")


def test_sizes_and_seeds_that_make_no_sense_are_refused():
    model = sf.load("pendulum")
    for size in (-1, (2, -3), "three", 1.5, None):
        with pytest.raises(sf.errors.OptionError, match=r"random_state.*'size'"):
            sf.random_state(model, size)
    for seed in (-1, "dice"):
        with pytest.raises(sf.errors.OptionError, match=r"random_state.*'seed'"):
            sf.random_state(model, seed=seed)
    with pytest.raises(sf.errors.OptionError, match=r"check.*'samples'"):
        sf.check(model, 0)
    assert sf.random_state(model, np.int64(3))[0].shape == (3, 1)


def _row_by_row(model, count, seed):
    """Return positions drawn joint by joint, state by state."""
    rng = np.random.default_rng(seed)
    return np.array([[x for b in model.bodies for x in b.joint.random(rng)] for _ in range(count)])


@pytest.mark.parametrize("name", ["tree6", "planar_chain:4", "puma560"])
def test_states_drawn_at_once_are_those_drawn_one_by_one(name):
    model = sf.load(name)
    np.testing.assert_array_equal(
        sf.random_state(model, 7, seed=3)[0], _row_by_row(model, 7, seed=3)
    )


@pytest.mark.parametrize("name", ["floating_link", "random_tree:12:4"])
def test_one_state_with_rotations_is_the_one_drawn_joint_by_joint(name):
    model = sf.load(name)
    np.testing.assert_array_equal(
        sf.random_state(model, seed=3)[0], _row_by_row(model, 1, seed=3)[0]
    )


class Still(sf.Joint):
    """A joint of the user's own that draws in its own way."""

    nq = nv = 1
    calc = sf.Revolute.calc
    axis = sf.spatial.Vector3(0.0, 0.0, 1.0)

    def random(self, rng):
        return (0.25 + 0.0 * rng.random(),)

    def constants(self):
        return ("Still",)


def test_a_joint_that_draws_in_its_own_way_is_asked():
    model = sf.ModelBuilder().add_body("a", joint=Still()).build()
    assert (sf.random_state(model, 5, seed=1)[0] == 0.25).all()


def test_a_hundred_thousand_states_are_drawn_in_a_few_steps(monkeypatch):
    model = sf.load("random_tree:12:4")
    called = []
    monkeypatch.setattr(sf.Joint, "random", lambda self, rng: called.append(self))
    q, _ = sf.random_state(model, 100_000, seed=1)
    assert not called and q.shape == (100_000, model.nq)
    assert len(np.unique(q[:, 0])) == 100_000


@pytest.mark.parametrize(
    "seed",
    [-1, 2**128, 10**5000, 0.5, True, "1", [1] * 10, object()],
    ids=lambda x: type(x).__name__,
)
def test_seeds_are_whole_numbers_or_generators(seed):
    with pytest.raises(sf.errors.OptionError, match="option 'seed'"):
        sf.random_state(sf.load("tree6"), seed=seed)


@pytest.mark.parametrize("size", [10**15, 10**30, (10**9, 10**9)])
def test_states_beyond_memory_are_refused(size):
    with pytest.raises(sf.errors.TooLargeError, match=r"random_state: no memory for"):
        sf.random_state(sf.load("tree6"), size, seed=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.random_tree(10**9),
        lambda: sf.load("random_tree:999999999:1"),
        lambda: sf.load("planar_chain:999999999"),
        lambda: sf.load("star:999999999"),
    ],
)
def test_models_of_a_thousand_million_bodies_are_refused_at_once(make):
    with pytest.raises(sf.errors.TooLargeError, match="at most 100,000"):
        make()


@pytest.mark.parametrize(
    "options",
    [{"n": 0}, {"n": 2.5}, {"seed": -1}, {"branching": 2}, {"joints": []}, {"joints": [int]}],
)
def test_random_trees_name_the_option_that_is_wrong(options):
    with pytest.raises(sf.errors.OptionError, match=f"random_tree: option '{next(iter(options))}'"):
        sf.random_tree(**options)
