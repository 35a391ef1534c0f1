"""Environments: gymnasium's rules, the same bits in any batch, and episodes that begin and end."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import sixfold as sf
from sixfold.learn.tasks import TASKS
from sixfold.learn.vector_env import Env, streams, uniforms

ALWAYS = [name for name in TASKS if name != "reacher"]  # panda is in another package


@pytest.mark.parametrize("name", ALWAYS)
def test_gymnasium_finds_nothing_wrong(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Box observation space.*")
        check_env(Env(name), skip_render_check=True)


def test_reacher_of_an_arm_that_is_always_there():
    env = sf.learn.VectorEnv(sf.learn.tasks.reacher("puma560"), 64)
    seen, _ = env.reset(seed=1)
    assert seen.shape == (64, 15)
    _, reward, *_ = env.step(np.zeros((64, 6)))
    miss = np.linalg.norm(env.step(np.zeros((64, 6)))[0][:, -3:], axis=1)
    np.testing.assert_allclose(-reward, miss, atol=0.01)


def test_spaces_are_those_of_gymnasium():
    env = sf.learn.VectorEnv("cart_pole", 5, dtype="float32")
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    action = env.action_space.sample()
    seen, reward, terminated, truncated, _ = env.step(action)
    assert env.observation_space.contains(seen)
    assert reward.shape == terminated.shape == truncated.shape == (5,)


def rolled(env, steps, actions):
    env.reset(seed=7)
    return [env.step(actions[k, env._numbers.astype(int)])[:4] for k in range(steps)]


def test_an_environment_does_not_depend_on_the_others():
    actions = np.random.default_rng(0).uniform(-1, 1, (150, 40, 1))
    whole = rolled(sf.learn.VectorEnv("cart_pole", 40), 150, actions)
    part = rolled(sf.learn.VectorEnv("cart_pole", 11, first=20), 150, actions)
    ended = 0
    for all_of_them, some in zip(whole, part, strict=True):
        for x, y in zip(all_of_them, some, strict=True):
            np.testing.assert_array_equal(x[20:31], y)
        ended += int(some[2].sum())
    assert ended > 11  # episodes ended and began anew


def test_the_same_bits_on_several_threads():
    actions = np.random.default_rng(0).uniform(-1, 1, (3, 60_000, 1))
    found = []
    before = sf.get_threads()
    for threads in (1, 3):
        sf.set_threads(threads)
        found.append(rolled(sf.learn.VectorEnv("cart_pole", 60_000), 3, actions)[-1][0])
    sf.set_threads(before)
    np.testing.assert_array_equal(*found)


def test_the_next_step_begins_the_next_episode():
    env = sf.learn.VectorEnv("cart_pole", 8)
    env.reset(seed=3)
    over = np.zeros(8, bool)
    for _ in range(120):
        seen, reward, terminated, truncated, _ = env.step(np.ones((8, 1)))
        assert (reward[over] == 0).all() and not terminated[over].any()
        assert (np.abs(seen[over]) <= 0.05).all()
        over = terminated | truncated
    assert env._starts.episodes.min() > 1


def test_the_same_step_keeps_the_last_observation():
    env = sf.learn.VectorEnv("cart_pole", 8, autoreset="same_step")
    env.reset(seed=3)
    for _ in range(60):
        seen, _, terminated, truncated, infos = env.step(np.ones((8, 1)))
        over = terminated | truncated
        if over.any():
            assert (np.abs(infos["final_obs"][over, 1]) > 0.2).all()
            assert (np.abs(seen[over]) <= 0.05).all()
            return
    pytest.fail("no episode ended")


def test_episodes_are_reset_by_a_mask():
    env = sf.learn.VectorEnv("cart_pole", 6, autoreset="disabled")
    env.reset(seed=3)
    for _ in range(10):
        before = env.step(np.ones((6, 1)))[0]
    mask = np.array([True, False, True, False, False, False])
    after, _ = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[~mask], before[~mask])
    assert (np.abs(after[mask]) <= 0.05).all()


def test_long_episodes_are_cut_off():
    task = sf.learn.tasks.acrobot()
    env = sf.learn.VectorEnv(task, 2)
    env.reset(seed=0)
    cut = [env.step(np.zeros((2, 1)))[3] for _ in range(task.steps)]
    assert not np.any(cut[:-1]) and np.all(cut[-1])


def test_inertias_and_gains_are_drawn_for_each_episode():
    model = sf.load("double_pendulum")
    own = np.array([body.inertia.array() for body in model.bodies])
    task = sf.learn.Task(
        "randomized",
        model,
        dt=0.01,
        low=[-1.0, -1.0],
        high=[1.0, 1.0],
        control=lambda t, q, v, action, gain: gain * action,
        observe=lambda t, q, v, gain: [*q, *v],
        reward=lambda t, q, v, action, gain: q[0],
        start=lambda u: (np.zeros((len(u), 2)), np.zeros((len(u), 2))),
        draws=2,
        steps=5,
        parameters=[1.0, 1.0],
        inertias=True,
        randomize=lambda u: {"parameters": 1.0 + u, "inertias": own * (0.5 + u[:, :1, None])},
    )
    env = sf.learn.VectorEnv(task, 50)
    env.reset(seed=2)
    u = uniforms(streams(2, np.arange(50)), np.zeros(50, int), 2)
    np.testing.assert_array_equal(env.stepper.parameters, 1.0 + u)
    np.testing.assert_array_equal(env.stepper.inertias, own * (0.5 + u[:, :1, None]))
    env.step(np.ones((50, 2)))
    for row in (0, 49):
        q, _ = sf.rollout(
            model,
            np.zeros(2),
            np.zeros(2),
            1.0 + u[row],
            dt=0.01,
            steps=1,
            inertias=own * (0.5 + u[row, 0]),
        )
        np.testing.assert_allclose(env.stepper.q[row], q[0], rtol=1e-12)


def test_states_beyond_all_numbers_end_the_episode():
    task = sf.learn.Task(
        "exploding",
        sf.load("pendulum"),
        dt=0.01,
        low=-1.0,
        high=1.0,
        control=lambda t, q, v, action: [1e300 * (1.0 + v[0]) * (1.0 + q[0])],
        observe=lambda t, q, v: q,
        reward=lambda t, q, v, action: v[0],
        start=lambda u: (u, u),
        draws=1,
        steps=100,
    )
    env = sf.learn.VectorEnv(task, 4)
    env.reset(seed=0)
    with pytest.warns(sf.errors.NonFiniteStateWarning, match="exploding"):
        for _ in range(4):
            seen, reward, terminated, *_ = env.step(np.zeros((4, 1)))
            if terminated.any():
                break
    assert terminated.all() and (reward == 0).all() and np.isfinite(seen).all()


@pytest.mark.parametrize("name", ["cart_pole", "acrobot"])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_action_that_is_not_a_number_ends_the_episode_of_its_row_alone(name, autoreset, dtype):
    envs, others = (sf.learn.VectorEnv(name, 4, autoreset=autoreset, dtype=dtype) for _ in range(2))
    envs.reset(seed=3)
    others.reset(seed=3)
    still = np.zeros((4, 1), dtype)
    spoilt = still.copy()
    spoilt[1] = np.nan
    with pytest.warns(
        sf.errors.NonFiniteStateWarning, match=rf"1 of 4 environments of '{name}'"
    ) as told:
        seen, reward, terminated, truncated, infos = envs.step(spoilt)
    assert len(told) == 1
    assert terminated.tolist() == [False, True, False, False] and not truncated.any()
    assert reward[1] == 0 and np.isfinite(seen).all() and np.isfinite(reward).all()
    assert infos["not_finite"].tolist() == [False, True, False, False]
    assert ("final_obs" in infos) == (autoreset == "same_step")
    expected = others.step(still)
    rest = [0, 2, 3]
    np.testing.assert_array_equal(seen[rest], expected[0][rest])
    np.testing.assert_array_equal(reward[rest], expected[1][rest])
    if autoreset == "disabled":
        envs.reset(options={"reset_mask": infos["not_finite"]})
    # no further word, and the row is at the start of an episode or in it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(3):
            seen, reward, terminated, _, infos = envs.step(still)
            assert np.isfinite(seen).all() and not terminated.any() and not infos
            assert (reward[1] == 0) == (autoreset == "next_step" and k == 0)


def test_infinite_actions_are_clipped_to_the_bounds():
    envs, others = sf.learn.VectorEnv("cart_pole", 2), sf.learn.VectorEnv("cart_pole", 2)
    envs.reset(seed=1)
    others.reset(seed=1)
    found = envs.step(np.array([[np.inf], [-np.inf]]))[0]
    np.testing.assert_array_equal(found, others.step(np.array([[1e9], [-1e9]]))[0])


def test_one_environment_ends_at_an_action_that_is_not_a_number():
    env = Env("cart_pole")
    env.reset(seed=1)
    with pytest.warns(sf.errors.NonFiniteStateWarning):
        seen, reward, terminated, *_ = env.step([np.nan])
    assert terminated and reward == 0 and np.isfinite(seen).all()
    assert np.isfinite(env.reset(seed=1)[0]).all()


def test_a_step_before_the_first_reset_says_what_to_call():
    with pytest.raises(sf.errors.StateError, match=r"no episode has begun(.|\n)*call envs.reset"):
        sf.learn.VectorEnv("cart_pole", 2).step(np.zeros((2, 1)))


def test_draws_are_uniform_and_apart():
    u = uniforms(streams(5, np.arange(4000)), np.arange(4000) % 3, 6)
    assert u.min() >= 0 and u.max() < 1
    assert abs(u.mean() - 0.5) < 0.01 and abs(u.var() - 1 / 12) < 0.003
    assert np.abs(np.corrcoef(u.T) - np.eye(6)).max() < 0.06
    assert len(np.unique(u)) == u.size
    other = uniforms(streams(6, np.arange(4000)), np.arange(4000) % 3, 6)
    assert abs(np.corrcoef(u[:, 0], other[:, 0])[0, 1]) < 0.06


def test_bad_arguments_are_named():
    with pytest.raises(sf.errors.UnknownNameError, match="cart_pole"):
        sf.learn.VectorEnv("cartpole", 2)
    with pytest.raises(sf.errors.OptionError, match="rows"):
        sf.learn.VectorEnv("cart_pole", 0)
    with pytest.raises(sf.errors.OptionError, match="autoreset"):
        sf.learn.VectorEnv("cart_pole", 2, autoreset="always")
    env = sf.learn.VectorEnv("cart_pole", 2)
    with pytest.raises(sf.errors.OptionError, match="seed"):
        env.reset(seed=-1)
    env.reset(seed=0)
    with pytest.raises(sf.errors.ShapeError, match="action"):
        env.step(np.zeros((3, 1)))
    with pytest.raises(sf.errors.ShapeError, match="reset_mask"):
        env.reset(options={"reset_mask": np.zeros(3, bool)})
    with pytest.raises(sf.errors.OptionError, match="low"):
        sf.learn.Task("bad", sf.load("pendulum"), 0.01, 1.0, -1.0, None, None, lambda u: u, 1, 1)
