"""Environments for learning: tasks, and many of them stepped in one kernel."""

from sixfold.learn.env import Env
from sixfold.learn.task import Task
from sixfold.learn.tasks import TASKS, acrobot, cart_pole, quadruped_stand, quadruped_trot, reacher
from sixfold.learn.vector_env import VectorEnv

__all__ = [
    "TASKS",
    "Env",
    "Task",
    "VectorEnv",
    "acrobot",
    "cart_pole",
    "quadruped_stand",
    "quadruped_trot",
    "reacher",
]
