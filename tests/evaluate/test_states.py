"""States to start from, and robots by name."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import SAMPLES
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
        sf.UnknownNameError, match=r"sixfold\.load: no robot or file named"
    ) as caught:
        sf.load(name)
    assert "pendulum" in str(caught.value)


@pytest.mark.parametrize("name", ["", "no_such_folder/panda.urdf", None, 3, b"panda"])
def test_what_is_no_robot_is_refused(name):
    with pytest.raises(sf.SixfoldError, match="fix: "):
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
    with pytest.raises(sf.ModelError, match="does not read as a sample name") as caught:
        sf.load(name)
    assert f"fix: write {name.split(':')[0]}" in str(caught.value)


def test_a_robot_without_bodies_is_refused():
    with pytest.raises(sf.ModelError, match="'planar_chain:0': has no bodies"):
        sf.load("planar_chain:0")


@pytest.mark.parametrize("function", [sf.neutral, sf.random_state])
def test_states_want_a_model(function):
    with pytest.raises(sf.NumberError, match=f"{function.__name__}: the first argument"):
        function("puma560")


def test_sizes_and_seeds_that_make_no_sense_are_refused():
    model = sf.load("pendulum")
    for size in (-1, (2, -3), "three", 1.5, None):
        with pytest.raises(sf.OptionError, match=r"random_state.*'size'"):
            sf.random_state(model, size)
    for seed in (-1, "dice"):
        with pytest.raises(sf.OptionError, match=r"random_state.*'seed'"):
            sf.random_state(model, seed=seed)
    with pytest.raises(sf.OptionError, match=r"check.*'samples'"):
        sf.check(model, 0)
    assert sf.random_state(model, np.int64(3))[0].shape == (3, 1)
