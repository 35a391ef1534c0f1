"""The parts of a model as frozen data: bodies with their joints, frames and couplings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, TypeVar

from sixfold.model.joint import Joint
from sixfold.spatial import Inertia, Transform

T = TypeVar("T")
NEW = "make a new one with sixfold.ModelBuilder, or with dataclasses.replace"


def immutable(title: str, ways: Mapping[str, str]) -> Callable[[type[T]], type[T]]:
    """Return a decorator of frozen dataclasses: an assignment says what makes a changed copy.

    Args:
        title: what the object is called, such as "a Model".
        ways: what makes a new one, by the name of the field.
    """

    def refuse(self: Any, name: str, *_: Any) -> None:
        way = ways.get(name, ways.get("", NEW))
        text = f"{title} is immutable: '{name}' cannot be assigned; {way}"
        raise FrozenInstanceError(text)

    def decorate(kind: type[T]) -> type[T]:
        # a frozen dataclass refuses methods of these names in its own body
        kind.__setattr__ = kind.__delattr__ = refuse  # type: ignore[method-assign]
        return kind

    return decorate


Numbers = tuple[float, ...]
#: Fields of a Body that describe its joint: one number per position (q) or velocity (v).
JOINT_PROPERTIES = {
    "damping": "v",
    "friction": "v",
    "friction_negative": "v",
    "friction_speed": "v",
    "stiffness": "v",
    "rest": "q",
    "armature": "v",
    "lower": "q",
    "upper": "q",
    "velocity_limit": "v",
    "effort_limit": "v",
}


@immutable(
    "a Body",
    {
        "inertia": "sixfold.replace_inertias(model, {name: inertia}) returns a new model",
        "": "build a new model with sixfold.ModelBuilder",
    },
)
@dataclass(frozen=True)
class Body:
    """One moving body and the joint that carries it."""

    name: str
    joint_name: str
    parent: int  #: Index of the parent body, -1 for the base.
    joint: Joint
    placement: Transform  #: X_T: parent body coordinates to the joint frame on the parent side.
    inertia: Inertia
    damping: Numbers
    friction: Numbers  #: Dry friction for positive speed.
    friction_negative: Numbers  #: Dry friction for negative speed, as a positive number.
    friction_speed: Numbers  #: v_s in friction = f tanh(v / v_s); 0 means f sign(v).
    stiffness: Numbers
    rest: Numbers  #: Position where the spring is relaxed, in q coordinates.
    armature: Numbers  #: Reflected rotor inertia: rotor inertia x ratio^2.
    lower: Numbers
    upper: Numbers
    velocity_limit: Numbers
    effort_limit: Numbers


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a body."""

    name: str
    body: int  #: Index of the body, -1 for the base.
    placement: Transform  #: Body coordinates to frame coordinates.


@dataclass(frozen=True)
class Coupling:
    """A joint that follows others linearly: q = sum of ratio x q_master, + offset."""

    follower: int
    terms: tuple[tuple[int, float], ...]
    offset: float
