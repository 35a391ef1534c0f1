from sixfold.learn import tasks as tasks
from sixfold.learn.task import Task as Task
from sixfold.learn.tasks import TASKS as TASKS
from sixfold.learn.vector_env import Env as Env
from sixfold.learn.vector_env import VectorEnv as VectorEnv

__all__: list[str]
