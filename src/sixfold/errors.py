"""Every exception of the library, and the shape of its message.

A message says what is wrong and where, what was expected and what came, and the way out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from numbers import Integral, Real
from typing import Any

__all__ = [
    "ArgumentError",
    "CallbackError",
    "ContactResidualWarning",
    "ContactShapeWarning",
    "DisagreementError",
    "DomainError",
    "InternalError",
    "KernelMemoryError",
    "ModelError",
    "NonFiniteStateWarning",
    "NotApplicableError",
    "NumberError",
    "OptionError",
    "OutputFileError",
    "PythonCallbackWarning",
    "RobotFileError",
    "RobotFileWarning",
    "SampleError",
    "ShapeError",
    "SimulationError",
    "SingularModelError",
    "SingularPivotWarning",
    "SixfoldError",
    "StateError",
    "TooLargeError",
    "TrajectoryFileError",
    "UnknownNameError",
    "UnlikelyInputWarning",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__


def visible(text: object) -> str:
    """Return a text on one line, with every character that a terminal does not print escaped.

    Control characters, line breaks, marks that turn the direction of writing and characters of no
    width could hide or forge what a person reads; names come from files of others.
    """
    given = str(text)
    if given.isprintable():
        return given
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in given)


def visible_lines(text: object) -> str:
    """Return a text of several lines, each made visible."""
    given = str(text)
    return given if given.isprintable() else "\n".join(map(visible, given.split("\n")))


def _flat(value: object) -> str:
    """Return a part of a message on one line; arrays are printed on several, names are not."""
    text = brief(value)
    return visible(text if isinstance(value, str) else " ".join(text.split()))


def _message(what: object, **parts: object) -> str:
    """Return what is wrong, and below it each part under its name."""
    return "\n".join([_flat(what), *(f"  {name}: {_flat(x)}" for name, x in parts.items())])


class SixfoldError(Exception):
    """Root of all errors that the library raises on purpose."""

    def __init__(self, *arguments: object) -> None:
        """Keep the message, with nothing in it that a terminal would obey."""
        super().__init__(*(visible_lines(x) if isinstance(x, str) else x for x in arguments))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the finished message, so that errors cross from one process to another."""
        return _remade, (type(self), *self.args), self.__dict__ or None


class ShapeError(SixfoldError, ValueError):
    """An array argument whose shape does not fit the model."""

    def __init__(self, function: str, argument: str, expected: str, got: object, fix: str) -> None:
        """Name the function and its argument, the shape it wants and the shape it got."""
        what = f"{function}: argument '{argument}' has the wrong shape"
        super().__init__(_message(what, expected=expected, got=got, fix=fix))


class NumberError(SixfoldError, TypeError):
    """An argument that does not hold numbers this function can work with."""

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Say where, which numbers were expected and what was found."""
        super().__init__(_message(where, expected=expected, got=got, fix=fix))


class ArgumentError(SixfoldError, TypeError):
    """An argument of the wrong kind: no model, no path, no function, no vector, no array."""

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Say which argument, what it should be, and what kind of object came instead."""
        super().__init__(_message(where, expected=expected, got=kind_of(got), fix=fix))


class SampleError(SixfoldError, IndexError):
    """A sample that a motion does not have."""

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Say which index, what it may be and what came."""
        super().__init__(f"{where}\n  expected: {expected}\n  got: {quote(got)}\n  fix: {fix}")


class DomainError(SixfoldError, ValueError):
    """A number where a function has no value: the logarithm of zero, the root of -1."""

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Say which function, what it takes and what went wrong."""
        super().__init__(_message(where, expected=expected, got=got, fix=fix))


class TooLargeError(SixfoldError, MemoryError):
    """A result, a model or a formula too large to make."""

    def __init__(self, where: str, what: str, fix: str) -> None:
        """Say what would be too large, by how much, and the way out."""
        super().__init__(_message(f"{where}: {what}", fix=fix))


class OptionError(SixfoldError, ValueError):
    """An option with a value that is not one of the choices, or not of the kind it takes."""

    def __init__(
        self, function: str, option: str, choices: Iterable[object] | str, got: object
    ) -> None:
        """List the choices, or describe what is accepted, and what was given."""
        given = " ".join(quote(got).split())
        if isinstance(choices, str):
            what = f"{function}: option '{option}' cannot be {given}"
            super().__init__(_message(what, fix=f"pass {choices}"))
            return
        # words to choose from; a similar one is suggested
        words = list(choices)
        near = near_names(got, map(str, words)) if isinstance(got, str) else []
        fix = f"did you mean {', '.join(map(repr, near))}?" if near else "pass one of the choices"
        what = f"{function}: option '{option}' is not one of its choices"
        super().__init__(_message(what, expected=", ".join(map(repr, words)), got=given, fix=fix))


class UnknownNameError(SixfoldError, KeyError):
    """A body, frame, joint or robot name that does not exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str], *, where: str) -> None:
        """Name the model or list searched and the nearest names in it."""
        names = [str(other) for other in known]
        # similar names first, else the list
        near = near_names(name, names) if isinstance(name, str) else []
        listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        some = "pass one of the known names" if names else "no names are known"
        hint = f"did you mean {', '.join(map(repr, near))}?" if near else some
        what = f"{where}: no {kind} named {quote(name)}"
        parts = {"known": listed, "fix": hint} if names else {"fix": hint}
        super().__init__(_message(what, **parts))

    def __str__(self) -> str:
        """Return the message itself, not its quoted form as KeyError would."""
        return str(self.args[0])


class ModelError(SixfoldError, ValueError):
    """A model that cannot be built as described."""

    def __init__(self, where: str, what: str, fix: str) -> None:
        """Say which body or joint, what is wrong with it and how to fix it."""
        super().__init__(_message(f"{_cut(where, MAX_SHOWN)}: {what}", fix=fix))


class RobotFileError(SixfoldError, ValueError):
    """A robot file that cannot become a Model, or a model that cannot become a file."""

    file: str
    line: int  #: Line of the file, from 1; 0 where the file as a whole is at fault.
    element: str
    what: str
    fix: str

    def __init__(
        self,
        what: str,
        *,
        file: object,
        line: int = 0,
        element: str = "",
        expected: str = "",
        got: str = "",
        fix: str,
    ) -> None:
        """Name file, line and element, what is wrong, what was expected and found, the way out."""
        self.file, self.line = str(file), line
        self.element, self.what, self.fix = _flat(element), _flat(what), _flat(fix)
        # file:line, element, what: as compilers write it
        name = _flat(_cut(self.file, 3 * MAX_SHOWN))
        place = f"{name}:{line}" if line else name
        first = ": ".join(part for part in (place, self.element, self.what) if part)
        parts = {"expected": expected, "got": got, "fix": fix}
        super().__init__(_message(first, **{name: x for name, x in parts.items() if x}))


class SingularModelError(SixfoldError, ValueError):
    """Forward dynamics asked of a joint that has no inertia behind it."""

    def __init__(self, model: str, joints: Iterable[tuple[str, str]]) -> None:
        """Name each joint and the body it should move."""
        # joints with their bodies, in one line
        named = _flat("; ".join(f"joint '{joint}' of body '{body}'" for joint, body in joints))
        super().__init__(
            f"model '{_flat(model)}': forward dynamics has no solution: no inertia behind {named}\n"
            f"  expected: D > 4 eps H_ii at some configuration\n"
            f"  got: D <= 4 eps H_ii at every configuration (any joint force moves it infinitely)\n"
            f"  fix: give the body (or one behind it) mass and rotational inertia, add armature,"
            f" or make the joint fixed"
        )


class NotApplicableError(SixfoldError, ValueError):
    """A formulation asked of a joint or model that it does not cover."""

    def __init__(self, what: str, where: str, fix: str) -> None:
        """Say what does not apply, to which joint or model, and what does."""
        super().__init__(_message(f"{what} does not apply to {where}", fix=fix))


class DisagreementError(SixfoldError, AssertionError):
    """Two formulations of the same quantity that differ by more than rounding."""


class InternalError(SixfoldError, AssertionError):
    """A stage of the compiler that made something wrong: a mistake of this library."""

    def __init__(self, stage: str, what: str) -> None:
        """Say which stage, and what is wrong with what it made."""
        fix = "report it with the function and the model that were compiled"
        super().__init__(_message(f"internal error: {stage}: {what}", fix=fix))


class StateError(SixfoldError, ValueError):
    """A state that no motion can start from: not finite, or a quaternion that is no rotation."""

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Say which argument and joint, what was expected and what came."""
        super().__init__(_message(where, expected=expected, got=got, fix=fix))


class CallbackError(SixfoldError, ValueError):
    """A controller, external force or event of the user's own that gave no usable numbers."""

    trajectory: Any = None  #: The samples before, as a Trajectory, if the motion had begun.

    def __init__(self, where: str, expected: str, got: object, fix: str) -> None:
        """Name the function and the time, what it should return and what it did."""
        super().__init__(_message(where, expected=expected, got=got, fix=fix))


class SimulationError(SixfoldError, RuntimeError):
    """A simulation that cannot go on."""

    time: float  #: When [s].
    trajectory: Any  #: The samples before that time, as a Trajectory.

    def __init__(self, what: str, *, time: float, got: object, fix: str, trajectory: Any) -> None:
        """Say what happened and when; keep the motion so far."""
        self.time, self.trajectory = time, trajectory
        super().__init__(_message(f"{what} at t = {time:.9g} s", got=got, fix=fix))


class TrajectoryFileError(SixfoldError, ValueError):
    """A file that does not hold a trajectory."""

    def __init__(self, file: object, what: str, fix: str) -> None:
        """Name the file and what is wrong with it."""
        super().__init__(_message(f"{file}: {what}", fix=fix))


class OutputFileError(SixfoldError, OSError):
    """A file that cannot be written: a robot, a motion, a report, a picture, code."""

    what: str
    fix: str

    def __init__(self, file: object, what: str, fix: str) -> None:
        """Name the file and what is wrong with it."""
        self.what, self.fix = what, fix
        super().__init__(_message(f"{file}: {what}", fix=fix))


class KernelMemoryError(MemoryError, SixfoldError):  # in this order it can be made anew
    """No memory, or no memory map, is left for machine code or for its scratch."""

    def __init__(self, what: str, got: object, fix: str) -> None:
        """Say what could not be had, what there is, and how to get by with less."""
        super().__init__(f"{what}\n  got: {got}\n  fix: {fix}")


class RobotFileWarning(UserWarning):
    """A robot file says something that the model has no counterpart for."""


class UnlikelyInputWarning(UserWarning):
    """Numbers that can be computed with but are hardly meant: degrees, an inertia of no body."""


class SingularPivotWarning(RuntimeWarning):
    """Some states of a batch have a joint with no inertia behind it; those rows are NaN."""


class NonFiniteStateWarning(RuntimeWarning):
    """Some trajectories of a batch leave the finite numbers; they are NaN from there on."""


class PythonCallbackWarning(RuntimeWarning):
    """A controller runs as Python, which is slow: it could not be compiled."""


class ContactResidualWarning(RuntimeWarning):
    """The contact solver did not converge in some step: its forces are not accurate."""


class ContactShapeWarning(UserWarning):
    """A model has collision shapes that contact has no counterpart for."""


#: Characters of a value in a message, at most; five times as many of a text about it.
MAX_SHOWN = 200


def quote(value: object) -> str:
    """Return a value as Python writes it, cut to fit a message; never fails."""
    if isinstance(value, int) and abs(value) >= 10**MAX_SHOWN:
        return f"an integer of {value.bit_length()} bits"
    try:
        return _cut(repr(value), MAX_SHOWN)
    except Exception:  # an object whose own text fails
        return kind_of(value)


def brief(value: object) -> str:
    """Return a value as text, cut to fit a message; never fails."""
    try:
        return _cut(str(value), 5 * MAX_SHOWN)
    except Exception:  # an object whose own text fails
        return quote(value)


def kind_of(value: object) -> str:
    """Return what kind of object a value is, in words."""
    if value is None or isinstance(value, (bool, str, int, float)):
        text = quote(value)
        return text if len(text) <= 40 else f"{type(value).__name__} {text[:40]}..."
    if isinstance(value, type):
        return f"the class {value.__name__}"
    # numpy.ndarray, but Model and list without their module
    kind = type(value)
    library = (kind.__module__ or "").partition(".")[0]
    known = library in ("builtins", "sixfold", "__main__", "")
    name = kind.__name__ if known else f"{library}.{kind.__name__}"
    return f"an object of type {name}"


def _cut(text: str, most: int) -> str:
    # half characters would make the message itself fail to print
    clean = text[: most + 1].encode("utf-8", "backslashreplace").decode()
    return clean if len(text) <= most else f"{clean[:most]}..."


def one_of(function: str, option: str, choices: Iterable[str], got: object) -> None:
    """Refuse an option that is not one of its words."""
    # an iterator is read once: the message lists the words again
    listed = tuple(choices)
    if not isinstance(got, str) or got not in listed:
        raise OptionError(function, option, listed, got)


def whole_number(
    function: str, option: str, got: Any, least: int = 0, most: int | None = None, words: str = ""
) -> int:
    """Return a whole number within bounds; `words` describe it in the message of anything else."""
    whole = isinstance(got, Integral) and not isinstance(got, bool)
    if not whole or got < least or (most is not None and got > most):
        bounds = f">= {least}" if most is None else f"from {least} to {most}"
        raise OptionError(function, option, words or f"a whole number {bounds}", got)
    return int(got)


def real_number(
    function: str, option: str, got: Any, words: str, good: Callable[[float], bool]
) -> float:
    """Return a finite number for which a condition holds; `words` describe it in the message."""
    real = isinstance(got, Real) and not isinstance(got, bool)
    if not real or not abs(got) < MAX_NUMBER or not good(got):
        raise OptionError(function, option, words, got)
    return float(got)


MAX_NUMBER = 1e300  #: Larger numbers count as infinite, so that products with them stay finite.


def yes_or_no(function: str, **options: object) -> None:
    """Refuse options that are neither True nor False; NumPy's own kinds of both will do."""
    for option, got in options.items():
        if type(got) is not bool and type(got).__name__ not in ("bool_", "bool"):
            raise OptionError(function, option, "True or False", got)


def near_names(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """Return up to three names like another one; neither many nor long names take long."""
    from difflib import get_close_matches  # for errors only

    if len(name) > 80:
        return []
    short = (other for other in known if len(other) <= 80)
    return get_close_matches(name, islice(short, 500), n=3, cutoff=cutoff)


def _remade(kind: type[SixfoldError], *arguments: Any) -> SixfoldError:
    try:
        return kind.__new__(kind, *arguments)
    except TypeError:  # Python takes the root's constructor for kinds of MemoryError
        return BaseException.__new__(kind, *arguments)
