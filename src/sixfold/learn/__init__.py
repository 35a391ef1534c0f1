"""Environments for learning: tasks, and many of them stepped in one kernel.

gymnasium is imported when an environment is first asked for.
"""

from typing import TYPE_CHECKING

from sixfold.learn import tasks
from sixfold.learn.task import Task
from sixfold.learn.tasks import TASKS
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.learn.vector_env import Env, VectorEnv

if not TYPE_CHECKING:
    __getattr__ = later(__name__, {"vector_env": ("Env", "VectorEnv")})

__all__ = ["TASKS", "Env", "Task", "VectorEnv", "tasks"]
