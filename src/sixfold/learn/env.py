"""One environment as a gymnasium `Env`, for tools that take one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.arrays import Array
from sixfold.choices import Precision
from sixfold.learn.task import Task
from sixfold.learn.vector_env import VectorEnv
from sixfold.optional import optional

if TYPE_CHECKING:

    class _Base:
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any: ...
else:
    _Base = optional("gymnasium", "Env").Env


class Env(_Base):
    """One environment of a task: row `number` of a `VectorEnv` with the same seed.

    Args:
        task: a `Task`, or the name of one of `sixfold.learn.TASKS`.
        number: of the environment.
        dtype: "float64" or "float32".
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
        super().reset(seed=seed)
        seen, infos = self._many.reset(seed=seed)
        return seen[0], infos

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action; return observation, reward, terminated, truncated and infos."""
        seen, reward, terminated, truncated, infos = self._many.step(np.asarray(action)[None])
        return seen[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), infos
