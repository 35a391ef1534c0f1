"""`sf.learn.VectorEnv`: many environments as one gymnasium `VectorEnv`, stepped by one kernel."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.arrays import Array
from sixfold.choices import Autoreset, Precision
from sixfold.errors import (
    NonFiniteStateWarning,
    NotApplicableError,
    OptionError,
    ShapeError,
    StateError,
    UnknownNameError,
    whole_number,
    yes_or_no,
)
from sixfold.lazy import optional
from sixfold.learn.task import Task
from sixfold.learn.tasks import TASKS
from sixfold.simulation.stepper import PlainStates, Stepper

#: 2^64 over the golden ratio, odd: Weyl's step of SplitMix64 (Steele, Lea, Flood 2014).
_STRIDE = np.uint64(0x9E3779B97F4A7C15)

_SHIFTS = tuple(map(np.uint64, (30, 27, 31)))
_FACTORS = tuple(map(np.uint64, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))


def streams(seed: int, rows: Any) -> NDArray[np.uint64]:
    """Return a hash of (seed, row) for each of some rows: what `uniforms` starts from.

    Args:
        seed: from 0 to 2**64 - 1.
        rows: numbers of environments, shape (n,).
    """
    with np.errstate(over="ignore"):
        return _mix(np.asarray(rows, np.uint64) + _mix(np.uint64(seed) + _STRIDE))


def uniforms(streams: Any, episodes: Any, width: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) for an episode of each stream, shape (len(streams), width).

    Each is SplitMix64 of a counter whose start is a hash of (seed, row, episode), so that results
    are the same bits for any batch, split and order.

    Args:
        streams: of `streams`, shape (n,).
        episodes: how many episodes each has had, whole numbers, shape (n,).
        width: numbers for each.
    """
    with np.errstate(over="ignore"):
        # SplitMix64 as a function of a counter: no state, so rows and episodes may be drawn in any
        # order
        start = _mix(streams + np.asarray(episodes, np.uint64) * _STRIDE)
        counters = start[:, None] + np.arange(1, width + 1, dtype=np.uint64) * _STRIDE
        counters = _mix(counters)
        counters >>= np.uint64(11)
        return counters * 2.0**-53


def _mix(x: Any) -> Any:
    """Return the hash of SplitMix64: every bit of x changes half of the bits of the result."""
    x = x ^ (x >> _SHIFTS[0])
    x *= _FACTORS[0]
    x ^= x >> _SHIFTS[1]
    x *= _FACTORS[1]
    x ^= x >> _SHIFTS[2]
    return x


class Starts:
    """The next episode of each environment; an episode depends on (seed, row, episode) alone.

    Environments end a few at a time.  Drawing for all those that have used up their next start
    costs a few array operations, whose price hardly depends on how many there are.

    Args:
        task: what is drawn.
        stepper: that the episodes begin in.
    """

    def __init__(self, task: Task, stepper: Stepper) -> None:
        self.task, self.stepper, self._states = task, stepper, PlainStates(stepper)
        rows, model, kind = stepper.rows, task.robot, stepper.dtype
        self.episodes = np.zeros(rows, np.uint64)
        self.streams: Any = None
        self._fresh = np.zeros(rows, bool)
        # in one array, so that one look-up takes all of a row
        self._stock = np.zeros((rows, model.nq + model.nv), kind)
        self._drawn: dict[str, Array] = {}
        # parameters that are not drawn may be written to by the user, and change what is seen
        fixed = task.randomize is None or stepper.parameters is None
        self._seen = None
        shape = self._states.observation_shape
        if shape is not None and (stepper.parameters is None or not fixed):
            self._seen = np.zeros((rows, *shape), kind)

    def seed(self, streams: NDArray[np.uint64] | None) -> None:
        """Begin with the first episodes of other streams; None continues with the present ones."""
        if streams is not None:
            self.streams = streams
            self.episodes[:] = 0
            self._fresh[:] = False

    def begin(self, rows: Array) -> Array | None:
        """Put some rows into their next episode; return what they see, None without observations.

        Args:
            rows: numbers of rows, shape (n,), n > 0.
        """
        stepper = self.stepper
        if not self._fresh[rows].all() and not self._draw_ahead(rows):
            return stepper.observation(rows)
        stock, nq = self._stock[rows], self.task.robot.nq
        self._states.put(rows, stock[:, :nq], stock[:, nq:])
        for name, values in self._drawn.items():
            getattr(stepper, name)[rows] = values[rows]
        self._fresh[rows] = False
        self.episodes[rows] += np.uint64(1)
        return stepper.observation(rows) if self._seen is None else self._seen[rows]

    def _draw_ahead(self, rows: Array) -> bool:
        """Draw for all rows without a start; False if states need checks, and rows have begun."""
        stepper, task = self.stepper, self.task
        # draw for all environments without a start, although only a few need one now
        empty = np.flatnonzero(~self._fresh)
        q, v, drawn = self._draw(empty)
        if not self._states.fit(empty, q, v):
            self._begin_episodes(rows)
            return False
        new = np.concatenate([q, v], -1, dtype=stepper.dtype)
        self._stock[empty] = new
        for name, values in drawn.items():
            self._drawn.setdefault(name, getattr(stepper, name).copy())[empty] = values
        if self._seen is not None:
            nq, zero = task.robot.nq, np.zeros((len(empty), 1), stepper.dtype)
            more = [self._drawn["parameters"][empty]] if "parameters" in drawn else []
            seen = self._states.observation(zero, new[:, :nq], new[:, nq:], *more)
            self._seen[empty] = seen
        self._fresh[empty] = True
        return True

    def _begin_episodes(self, rows: Array) -> None:
        q, v, drawn = self._draw(rows)
        for name, values in drawn.items():
            getattr(self.stepper, name)[rows] = values
        self.stepper.put(q, v, rows=rows)
        self.episodes[rows] += np.uint64(1)

    def _draw(self, rows: Array) -> tuple[Array, Array, Mapping[str, Array]]:
        """Return q, v and other numbers of the next episodes of some rows."""
        task = self.task
        u = uniforms(self.streams[rows], self.episodes[rows], task.draws)
        drawn = {} if task.randomize is None else task.randomize(u)
        for name in drawn:
            if name not in ("parameters", "inertias") or getattr(self.stepper, name) is None:
                words = "'parameters' or 'inertias', where the task has them"
                raise OptionError("Task", "randomize", words, name)
        q, v = task.start(u)
        return q, v, drawn


gymnasium = optional("gymnasium", "VectorEnv")
if TYPE_CHECKING:
    _Base = object
else:
    _Base = optional("gymnasium.vector", "VectorEnv").VectorEnv
AUTORESET: tuple[str, ...] = get_args(Autoreset)


class VectorEnv(_Base):
    """Many environments of one task, stepped by one kernel.

    What happens in an environment depends on the seed, its number and its actions alone: the bits
    are the same for any number of environments and threads.

    Args:
        task: a `Task`, or the name of one of `sixfold.learn.TASKS`.
        num_envs: how many environments.
        autoreset: when an episode that has ended begins anew: "next_step" (that step ignores the
            action), "same_step" (the last observation is then in `infos["final_obs"]`) or
            "disabled" (call `reset(options={"reset_mask": mask})`).
        first: number of the first environment, for parts of a larger set.
        dtype: of states, observations and rewards, "float64" or "float32".
        copy: return arrays that stay as they are; without it they are written again by the second
            step after.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> envs = sf.learn.VectorEnv("cart_pole", 4)
        >>> seen, _ = envs.reset(seed=0)
        >>> seen.shape, envs.single_action_space.shape
        ((4, 4), (1,))
        >>> seen, reward, ended, cut, infos = envs.step(np.zeros((4, 1)))
        >>> reward.shape, bool(ended.any()), bool(cut.any())
        ((4,), False, False)
        >>> alone = sf.learn.VectorEnv("cart_pole", 1, first=2)  # the third of them
        >>> np.array_equal(alone.reset(seed=0)[0], envs.reset(seed=0)[0][2:3])
        True
    """

    metadata: Mapping[str, Any]

    def __init__(
        self,
        task: Task | str,
        num_envs: int = 1,
        *,
        autoreset: Autoreset = "next_step",
        first: int = 0,
        dtype: Precision = "float64",
        copy: bool = True,
    ) -> None:
        self.task = task_of(task)
        if not isinstance(autoreset, str) or autoreset not in AUTORESET:
            raise OptionError("VectorEnv", "autoreset", AUTORESET, autoreset)
        first = whole_number("VectorEnv", "first", first)
        yes_or_no("VectorEnv", copy=copy)
        mode = optional("gymnasium.vector", "VectorEnv").AutoresetMode
        self.metadata = {"autoreset_mode": mode[autoreset.upper()], "render_modes": []}
        self.num_envs, self.autoreset, self.copy = num_envs, autoreset, copy
        self.stepper = self.task.stepper(num_envs, dtype=dtype)
        self._numbers = np.arange(first, first + self.stepper.rows, dtype=np.uint64)
        self._starts = Starts(self.task, self.stepper)
        self._over = np.zeros(self.stepper.rows, bool)
        self._limit = self.task.steps * self.task.substeps
        self._warned = False
        spaces, batch = gymnasium.spaces, optional("gymnasium.vector.utils", "VectorEnv")
        seen = self.stepper.observation()
        if seen is None:
            raise OptionError("VectorEnv", "task", "a task with observe=...", self.task.name)
        kind = self.stepper.dtype
        size = seen.shape[1:]
        self.single_observation_space = spaces.Box(-np.inf, np.inf, size, kind)
        low, high = np.asarray(self.task.low, kind), np.asarray(self.task.high, kind)
        self.single_action_space = spaces.Box(low, high, dtype=kind.type)
        self.observation_space = batch.batch_space(self.single_observation_space, num_envs)
        self.action_space = batch.batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: of all draws from now on; None continues with the present one.
            options: {"reset_mask": mask} begins new episodes of some environments only.

        Returns:
            Observations of all environments, and an empty dictionary.
        """
        if seed is not None:
            self._starts.seed(streams(_seed(seed), self._numbers))
        elif self._starts.streams is None:
            self._starts.seed(streams(secrets.randbits(63), self._numbers))
        if options is not None and not isinstance(options, Mapping):
            raise OptionError("VectorEnv.reset", "options", "a dictionary, or None", options)
        mask = None if options is None else options.get("reset_mask")
        if mask is None:
            rows = np.arange(self.stepper.rows)
        else:
            chosen = np.asarray(mask)
            if chosen.dtype != bool or chosen.shape != (self.stepper.rows,):
                expected, fix = (
                    f"a mask of shape ({self.stepper.rows},)",
                    "give a bool for each row",
                )
                raise ShapeError("VectorEnv.reset", "reset_mask", expected, chosen.shape, fix)
            rows = np.flatnonzero(chosen)
        if rows.size:
            self._starts.begin(rows)
            self._over[rows] = False
        found = self.stepper.observation()
        assert found is not None
        return found, {}

    def step(self, actions: ArrayLike) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Take one action in each environment.

        Returns:
            Observations, rewards, terminations, truncations and infos.  An environment whose state,
            observation or reward is no longer finite (after an action with a NaN, for example)
            terminates with observation and reward zero, is named in `infos["not_finite"]`, and
            begins anew as `autoreset` says.

        Raises:
            StateError: if there was no reset before.
        """
        if self._starts.streams is None:
            where, got = "VectorEnv.step: no episode has begun", "no call of reset"
            fix = "call envs.reset(seed=0) once, then envs.step(actions)"
            raise StateError(where, "reset() before the first step()", got, fix)
        seen, reward, *rest = self.stepper.step(actions)
        if self.copy:
            seen, reward = seen.copy(), reward.copy()
        terminated = rest[0] > 0 if rest else np.zeros(self.stepper.rows, bool)
        truncated = self.stepper.step_counts >= self._limit
        infos: dict[str, Any] = {}
        # a sum is finite if all numbers are, up to overflow
        speeds = self.stepper.v
        if not np.isfinite(speeds.sum() + seen.sum() + reward.sum()):
            infos = self._lost(speeds, seen, reward, terminated)
        if self.autoreset == "next_step":
            again = np.flatnonzero(self._over)
            if again.size:
                seen[again] = self._starts.begin(again)
                going = ~self._over
                reward *= going
                terminated &= going
                truncated &= going
            self._over = terminated | truncated
        elif self.autoreset == "same_step":
            again = np.flatnonzero(terminated | truncated)
            if again.size:
                mask = terminated | truncated
                infos |= {"final_obs": seen.copy(), "_final_obs": mask, "final_info": {}}
                seen[again] = self._starts.begin(again)
        return seen, reward, terminated, truncated, infos

    def render(self) -> None:
        """Refuse: a window of its own shows a robot."""
        fix = "use sixfold.view(env.task.robot, trajectory)"
        raise NotApplicableError("VectorEnv.render", "environments without pictures", fix)

    def _lost(
        self, speeds: Array, seen: Array, reward: Array, terminated: Array
    ) -> dict[str, Array]:
        """End episodes whose numbers are not finite; return which they are, for the infos."""
        wrong = ~np.isfinite(reward)
        for array in (speeds, seen):
            wrong |= ~np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
        seen[wrong], reward[wrong], terminated[wrong] = 0.0, 0.0, True
        if self.autoreset == "next_step":
            wrong &= ~self._over  # those begin anew in this step
        if not wrong.any():
            return {}
        if not self._warned:
            first = int(np.argmax(wrong))
            warnings.warn(
                f"{int(wrong.sum())} of {len(wrong)} environments of '{self.task.name}' left the "
                f"finite numbers (number {first} is the first); they terminate with reward 0 and "
                "are named in infos['not_finite']: look for NaN in the actions",
                NonFiniteStateWarning,
                stacklevel=3,
            )
            self._warned = True
        return {"not_finite": wrong, "_not_finite": wrong}


def task_of(task: Any) -> Task:
    """Return a task, by name or as it is."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str) or task not in TASKS:
        raise UnknownNameError("task", task, tuple(TASKS), where="VectorEnv")
    return TASKS[task]()


def _seed(seed: Any) -> int:
    """Return one seed for all; gymnasium also allows a list with one for each environment."""
    several = isinstance(seed, (list, tuple)) and seed and isinstance(seed[0], int)
    if several and list(seed) == list(range(seed[0], seed[0] + len(seed))):
        seed = seed[0]  # what gymnasium makes of one number
    words = "a whole number from 0 to 2**64 - 1; environments differ by their number"
    return whole_number("VectorEnv.reset", "seed", seed, 0, 2**64 - 1, words)


if TYPE_CHECKING:

    class _EnvBase:
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any: ...
else:
    _EnvBase = optional("gymnasium", "Env").Env


class Env(_EnvBase):
    """One environment of a task: row `number` of a `VectorEnv` with the same seed.

    Args:
        task: a `Task`, or the name of one of `sixfold.learn.TASKS`.
        number: of the environment.
        dtype: "float64" or "float32".

    Example:
        >>> import numpy as np, sixfold as sf
        >>> env = sf.learn.Env("cart_pole")
        >>> seen, infos = env.reset(seed=0)
        >>> seen.shape, env.action_space.shape
        ((4,), (1,))
        >>> seen, reward, terminated, truncated, infos = env.step(np.zeros(1))
        >>> terminated, truncated
        (False, False)
    """

    metadata: Mapping[str, Any] = {"render_modes": []}

    def __init__(self, task: Task | str, *, number: int = 0, dtype: Precision = "float64") -> None:
        self._many = VectorEnv(task, 1, autoreset="disabled", first=number, dtype=dtype)
        self.observation_space = self._many.single_observation_space
        self.action_space = self._many.single_action_space

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin a new episode; return its first observation."""
        seen, infos = self._many.reset(seed=seed)
        super().reset(seed=None if seed is None else _seed(seed))
        return seen[0], infos

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, terminated, truncated and infos."""
        seen, reward, terminated, truncated, infos = self._many.step(np.asarray(action)[None])
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), infos
