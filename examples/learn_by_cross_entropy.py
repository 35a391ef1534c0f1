"""Two tasks learned by the cross-entropy method: linear policies, a thousand environments at once.

A generation draws policies around a mean, tries each in several environments, and moves the mean
and the spread to the best of them.  There is no gradient and no network.
"""

import time

import numpy as np

import sixfold as sf


def returns(env, policies, seed):
    """Return the mean sum of rewards of each policy, (weights, offset) in one row."""
    many, each = len(policies), env.num_envs // len(policies)
    n = env.single_action_space.shape[0]
    weights = policies.reshape(many, -1, n)
    seen, _ = env.reset(seed=seed)
    total, alive = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    for _ in range(env.task.steps):
        features = seen.reshape(many, each, -1)
        action = features @ weights[:, :-1] + weights[:, -1:]
        seen, reward, over, *_ = env.step(action.reshape(env.num_envs, n))
        total += reward * alive
        alive &= ~over
        if not alive.any():
            break
    return total.reshape(many, each).mean(axis=1)


def learn(task, *, policies=64, each=16, generations=30, spread=1.0, enough=np.inf, seed=0):
    """Return the mean policy and what it earned in each generation."""
    env = sf.learn.VectorEnv(task, policies * each, autoreset="disabled", copy=False)
    rng = np.random.default_rng(seed)
    size = (env.single_observation_space.shape[0] + 1) * env.single_action_space.shape[0]
    mean, width, history = np.zeros(size), np.full(size, spread), []
    for generation in range(generations):
        drawn = mean + width * rng.standard_normal((policies, size))
        drawn[0] = mean
        score = returns(env, drawn, generation)
        history.append(score[0])
        best = drawn[np.argsort(score)[-policies // 5 :]]
        mean, width = best.mean(axis=0), best.std(axis=0) + 0.02 * spread
        if score[0] >= enough:
            break
    return mean, history


def misses(task, policy):
    """Return how far the hand is from its point at the end of an episode, on average."""
    env = sf.learn.VectorEnv(task, 512, autoreset="disabled")
    returns(env, policy[None], seed=10**6)
    return float(np.linalg.norm(env.stepper.observation()[:, -3:], axis=1).mean())


def main(arm="puma560"):
    """Learn to balance a pole and to reach with an arm; return what the policies earn."""
    found = {}
    start = time.perf_counter()
    _, pole = learn(sf.learn.tasks.cart_pole(), spread=2.0, enough=500.0)
    print(f"cart-pole: {pole[0]:.0f} steps at first, {pole[-1]:.0f} of 500 in the end")
    found["pole"] = pole[-1]

    task = sf.learn.tasks.reacher(arm)
    policy, _ = learn(task, policies=128, each=16, generations=120, spread=0.5)
    found["reach"] = [misses(task, 0.0 * policy), misses(task, policy)]
    print(
        "reacher: {:.3f} m from the point after a second, {:.3f} m learned".format(*found["reach"])
    )
    print(f"both in {time.perf_counter() - start:.1f} s")
    return found


if __name__ == "__main__":
    main()
