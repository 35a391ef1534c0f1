"""`sf.VectorEnv`: many environments as one gymnasium `VectorEnv`, stepped by one kernel."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Autoreset, Precision
from sixfold.errors import (
    NonFiniteStateWarning,
    NotApplicableError,
    OptionError,
    ShapeError,
    StateError,
    UnknownNameError,
)
from sixfold.learn.draws import streams
from sixfold.learn.starts import Starts
from sixfold.learn.task import Task
from sixfold.learn.tasks import TASKS
from sixfold.optional import optional

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
        >>> envs = sf.VectorEnv("cart_pole", 4)
        >>> seen, _ = envs.reset(seed=0)
        >>> seen.shape, envs.single_action_space.shape
        ((4, 4), (1,))
        >>> seen, reward, ended, cut, infos = envs.step(np.zeros((4, 1)))
        >>> reward.shape, bool(ended.any()), bool(cut.any())
        ((4,), False, False)
        >>> alone = sf.VectorEnv("cart_pole", 1, first=2)  # the third of them
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
        if isinstance(first, bool) or not isinstance(first, int) or first < 0:
            raise OptionError("VectorEnv", "first", "a whole number >= 0", first)
        if not isinstance(copy, bool):
            raise OptionError("VectorEnv", "copy", (True, False), copy)
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
            seed: of all draws from now on; None goes on with the one that there is.
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
                expected = f"a mask of shape ({self.stepper.rows},)"
                raise ShapeError("VectorEnv.reset", "reset_mask", expected, chosen.shape, "fix it")
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
        truncated = self.stepper.steps_taken >= self._limit
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
        fix = "use sixfold.view(env.task.model, trajectory)"
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
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**64:
        words = "a whole number from 0 to 2**64 - 1; environments differ by their number"
        raise OptionError("VectorEnv.reset", "seed", words, seed)
    return int(seed)
