"""The data of the planar skeleton, and the checks of what its equations are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sixfold.errors import ArgumentError, ModelError, ShapeError, shown
from sixfold.model import Model, Revolute
from sixfold.scalar import ZERO, Scalar, exact, is_number, several_numbers, together
from sixfold.spatial import Inertia, to_array

Point = tuple[Scalar, Scalar]
Numbers = Sequence[Scalar] | np.ndarray[Any, Any]
"""n numbers, or an array of many states."""
NO_GRAVITY: Point = (ZERO, ZERO)
P = ParamSpec("P")
R = TypeVar("R")
VECTORS = ("q", "qd", "qdd", "tau")
PAIRS = ("point", "f_E", "gravity")


@dataclass(frozen=True)
class PlanarChain:
    """A chain of links in the x-y plane.

    The notes count gravity to the bias force b and print a formula without it: `gravity` is that of
    the chain, and enters b of all `skeleton_` functions.

    Args:
        m: masses of the links [kg].
        I: rotational inertias about the centres of mass [kg m^2].
        l: lengths [m].
        com: centre of mass (along, across) in link axes for each link [m]; half the length when
            left out.
        gravity: acceleration (x, y) [m/s^2], or one number g for (0, -g); none when left out.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> chain = sf.PlanarChain(m=[1.0, 1.0], I=[0.1, 0.1], l=[1.0, 1.0], gravity=9.81)
        >>> many = np.zeros((5, 2))
        >>> sf.skeleton_fd(chain, many, many, many).shape
        (5, 2)
        >>> sf.simulate(chain.to_model(), [0.1, 0.2], [0.0, 0.0], 0.1).q.shape
        (101, 2)
    """

    m: Sequence[Scalar]
    I: Sequence[Scalar]
    l: Sequence[Scalar]
    com: Sequence[Point] | None = None
    gravity: Point | Scalar = NO_GRAVITY

    def __post_init__(self) -> None:
        """Check that every link has every number."""
        where, fix = "PlanarChain", "give one number for each link"
        for name in ("m", "I", "l"):
            given = getattr(self, name)
            several = isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) > 0
            if not several:
                raise ArgumentError(f"{where}: argument '{name}'", "a list of numbers", given, fix)
        com = () if self.com is None else self.com
        if not isinstance(com, (list, tuple)) and getattr(com, "ndim", 0) < 2:
            expected = "a list of pairs (along, across)"
            raise ArgumentError(f"{where}: argument 'com'", expected, com, "give one for each link")
        sizes = {len(self.m), len(self.I), len(self.l)} | ({len(com)} if len(com) else set())
        if len(sizes) != 1 or not len(self.m):
            what = f"m, I, l and com have lengths {sorted(sizes)}"
            raise ModelError(where, what, "one for each link")
        for name in ("m", "I", "l"):
            several_numbers(where, name, getattr(self, name), self.n, fix)
        for pair in com:
            several_numbers(where, "com", pair, 2, "give (along, across) for each link")
        down: Any = self.gravity
        pull = (ZERO, -down) if is_number(down) and not np.ndim(down) else down
        x, y = several_numbers(where, "gravity", pull, 2, "give (x, y), or g for (0, -g)")
        object.__setattr__(self, "gravity", (exact(x), exact(y)))

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.m)

    @property
    def centers(self) -> Sequence[Point]:
        """Centre of mass of each link in link axes."""
        return self.com if self.com is not None else [(length / 2, ZERO) for length in self.l]

    def to_model(self, name: str = "planar_chain") -> Model:
        """Return the chain as a model: hinges about z, for simulation and everything else.

        Args:
            name: name of the model.

        Returns:
            A Model with bodies link1..linkN, joints joint1..jointN and the frame `end` at the end
            of the last link.  Its gravity is the chain's.  Moments of inertia about x and y, which
            a planar motion never feels, are those about z.

        Raises:
            ModelError: if a number is a symbol or an array.
        """
        from sixfold.model import ModelBuilder

        try:
            numbers = [[float(x) for x in row] for row in (self.m, self.I, self.l)]
            centers = [(float(x), float(y)) for x, y in self.centers]
            x, y = (float(part) for part in self.gravity)
        except (TypeError, ValueError):
            fix = "a model holds floats: give the chain numbers"
            raise ModelError("PlanarChain.to_model", "a number is no float", fix) from None
        builder = ModelBuilder(name, gravity=(x, y, 0.0))
        before = 0.0
        for k, (m, I, length) in enumerate(zip(*numbers, strict=True), 1):
            builder.add_body(
                f"link{k}",
                parent=f"link{k - 1}" if k > 1 else None,
                joint=Revolute("z"),
                joint_name=f"joint{k}",
                placement=(before, 0.0, 0.0),
                inertia=Inertia.from_mass(m, (*centers[k - 1], 0.0), (I, I, I)),
            )
            before = length
        return builder.add_frame("end", f"link{self.n}", (before, 0.0, 0.0)).build()


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return an equation of the skeleton that checks its arguments, by their names, first.

    Arrays of two axes or more are many states: the last axis is that of one state, the result is an
    array with the same leading axes.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with together(function.__name__):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            lead = _take_apart(bound.arguments)
            _check(**bound.arguments)
            found = function(*bound.args, **bound.kwargs)
            return found if lead is None else _joined(found, lead)

    return call


def _take_apart(given: dict[str, Any]) -> tuple[int, ...] | None:
    """Turn arrays of many states into numbers that hold the batch; return the leading axes."""
    leads = []
    for name, value in given.items():
        n = 2 if name in PAIRS else getattr(given["chain"], "n", 0) if name in VECTORS else None
        if n is None or not isinstance(value, np.ndarray) or value.ndim < 2:
            continue
        if value.shape[-1] != n:
            fix = "give states along the leading axes"
            raise ShapeError("skeleton", name, f"(..., {n})", value.shape, fix)
        leads.append(value.shape[:-1])
        given[name] = tuple(value[..., k] for k in range(n))
    return np.broadcast_shapes(*leads) if leads else None


def _joined(found: Any, lead: tuple[int, ...]) -> Any:
    """Return numbers that hold a batch as an array, or several of them."""
    if hasattr(found, "_fields"):
        return type(found)(*(_joined(part, lead) for part in found))
    array = to_array(found)
    shape = array.shape[array.ndim - _axes(found) :]
    return np.array(np.broadcast_to(array, (*lead, *shape)))


def _axes(nested: Any) -> int:
    """Return how many axes the numbers of one state have."""
    return 1 + _axes(nested[0]) if isinstance(nested, (list, tuple)) else 0


def _check(chain: PlanarChain, **given: Any) -> None:
    if not isinstance(chain, PlanarChain):
        fix = "make one with PlanarChain(m, I, l)"
        raise ArgumentError("skeleton: argument 'chain'", "a PlanarChain", chain, fix)
    for name in VECTORS:
        if name in given:
            fix = "give one number for each link"
            several_numbers("skeleton", name, given[name], chain.n, fix)
    for name in PAIRS:
        if given.get(name) is not None:
            several_numbers("skeleton", name, given[name], 2, "give (x, y)")
    if "link" in given:
        _check_link(chain, given["link"])
    nowhere = given.get("link", -1) == -1 and given.get("point") is None
    if "f_E" in given and given["f_E"] is None and not nowhere:
        what = "link and point say where a force acts, and there is none"
        raise ModelError("planar skeleton", what, "pass f_E, or leave them out")


def _check_link(chain: PlanarChain, link: Any) -> None:
    whole = isinstance(link, int) and not isinstance(link, bool)
    if not whole or not -chain.n <= link < chain.n:
        what = f"there is no link {shown(link)}"
        raise ModelError("planar skeleton", what, f"use 0 to {chain.n - 1}")
