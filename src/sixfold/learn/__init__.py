"""Environments for learning: tasks, and many of them stepped in one kernel.

gymnasium is imported when an environment is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sixfold.learn import tasks
from sixfold.learn.task import Task
from sixfold.learn.tasks import TASKS

if TYPE_CHECKING:
    from sixfold.learn.env import Env
    from sixfold.learn.vector_env import VectorEnv

_LATER = {"Env": "env", "VectorEnv": "vector_env"}


def __getattr__(name: str) -> Any:
    """Import an environment."""
    if name not in _LATER:
        raise AttributeError(f"module 'sixfold.learn' has no attribute {name!r}")
    return getattr(import_module(f"sixfold.learn.{_LATER[name]}"), name)


__all__ = ["TASKS", "Env", "Task", "VectorEnv", "tasks"]
