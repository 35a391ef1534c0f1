"""What an environment is about: a robot, what may be done, and what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import Callback, FixedStep, Precision
from sixfold.errors import ArgumentError, OptionError, whole_number
from sixfold.model import Model
from sixfold.show import fields_line
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.joint_stops import JointStops
from sixfold.simulation.stepper import Stepper
from sixfold.simulation.system import System

#: Takes uniform numbers (rows, draws), returns q (rows, nq) and v (rows, nv).
Start = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Task:
    """A task for a robot: an episode begins at a random state and ends by itself or after a while.

    Functions of one state (`control`, `observe`, `reward`, `terminate`) are compiled into one
    kernel, as in `Stepper`; `start` and `randomize` take NumPy arrays of many rows.

    Args:
        name: for messages.
        model: the robot, or a `System`, whose fields the task then has.
        dt: length of a step of the integrator [s].
        low: smallest value of each number of an action, shape (n,).
        high: largest value of each.  Actions are clipped to [low, high].
        control: (t, q, v, action) -> joint forces [N m or N], nv numbers; None if the action is the
            joint forces.
        observe: (t [s], q (nq), v (nv)) -> what is seen, an array.
        reward: (t, q, v, action) -> one number, at the end of a step.
        terminate: (t, q, v) -> one number: above zero the episode ends.
        start: uniform numbers in [0, 1), shape (rows, draws) -> q (rows, nq) and v (rows, nv) at
            the start.  It runs as Python, one episode ahead: when a row begins an episode, the next
            start may be drawn already.
        draws: how many numbers `start` and `randomize` want for each row.
        steps: actions after which an episode is cut off.
        substeps: steps of the integrator for each action.
        parameters: numbers that your functions take last, for every row the same unless
            `randomize` draws them.
        randomize: uniform numbers -> a dictionary with "parameters" (rows, n) or "inertias"
            (rows, nb, 10) of new episodes.
        inertias: whether inertias are drawn.
        contacts: the ground.
        limits: joint limits push back, as in `rollout`.
        integrator: as in `rollout`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> swing = sf.learn.Task(
        ...     name="swing up",
        ...     model=sf.load("pendulum"),
        ...     dt=0.02,
        ...     low=[-2.0],
        ...     high=[2.0],
        ...     observe=lambda t, q, v: [sf.math.cos(q[0]), sf.math.sin(q[0]), v[0]],
        ...     reward=lambda t, q, v, action: -sf.math.cos(q[0]),
        ...     start=lambda u: (0.2 * u - 0.1, 0.0 * u),
        ...     draws=1,
        ...     steps=200,
        ... )
        >>> envs = sf.learn.VectorEnv(swing, 3)
        >>> seen, _ = envs.reset(seed=0)
        >>> seen, reward, *_ = envs.step(np.zeros((3, 1)))
        >>> seen.shape, reward.round(1)
        ((3, 3), array([-1., -1., -1.]))
    """

    name: str
    model: System | Model
    dt: float
    low: ArrayLike
    high: ArrayLike
    observe: Callback
    reward: Callback
    start: Start
    draws: int
    steps: int
    control: Callback | None = None
    terminate: Callback | None = None
    substeps: int = 1
    parameters: ArrayLike | None = None
    randomize: Callable[[Array], Mapping[str, Array]] | None = None
    inertias: bool = False
    contacts: Ground | None = None
    limits: bool | JointStops | None = None
    integrator: FixedStep = "semi_implicit_euler"

    def __repr__(self) -> str:
        """Print what differs from the defaults."""
        return fields_line(self)

    def __post_init__(self) -> None:
        """Check what a stepper does not check."""
        words = "bounds (n,) with low < high"
        try:
            low, high = (np.atleast_1d(np.asarray(x, float)) for x in (self.low, self.high))
        except Exception:  # objects of any kind, whose own methods may fail
            raise OptionError("Task", "low, high", words, (self.low, self.high)) from None
        if low.ndim != 1 or low.shape != high.shape or not (low < high).all():
            raise OptionError("Task", "low, high", words, (low, high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        for name, least in (("draws", 0), ("steps", 1)):
            whole_number("Task", name, getattr(self, name), least)
        if not callable(self.start):
            fix = "pass a function of uniform numbers that returns q and v"
            raise ArgumentError("Task: argument 'start'", "a function", self.start, fix)

    @property
    def robot(self) -> Model:
        """The model, also where the task has a system."""
        return self.model.model if isinstance(self.model, System) else self.model

    def stepper(self, rows: int | None = None, *, dtype: Precision = "float64") -> Stepper:
        """Return what steps this task."""
        own = [body.inertia.array() for body in self.robot.bodies] if self.inertias else None
        options: dict[str, Any] = {
            "control": self.control,
            "inertias": own,
            "limits": self.limits,
            "contacts": self.contacts,
        }
        return Stepper(
            self.model,
            rows,
            dt=self.dt,
            substeps=self.substeps,
            integrator=self.integrator,
            actions=np.size(self.low),
            bounds=(self.low, self.high),
            observe=self.observe,
            reward=self.reward,
            terminate=self.terminate,
            parameters=self.parameters,
            dtype=dtype,
            **{name: x for name, x in options.items() if x is not None},
        )
