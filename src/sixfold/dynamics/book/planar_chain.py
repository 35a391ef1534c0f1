"""The data of the planar skeleton, and the checks of what its equations are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sixfold.errors import ArgumentError, ModelError, shown
from sixfold.scalar import ZERO, Scalar, several_numbers, together

Point = tuple[Scalar, Scalar]
P = ParamSpec("P")
R = TypeVar("R")
VECTORS = ("q", "qd", "qdd", "tau")
PAIRS = ("point", "f_E", "gravity")


@dataclass(frozen=True)
class PlanarChain:
    """Masses [kg], rotational inertias about the centres of mass [kg m^2], lengths [m], centres.

    com holds (along, across) in link axes for each link; half the length when left out.
    """

    m: Sequence[Scalar]
    I: Sequence[Scalar]
    l: Sequence[Scalar]
    com: Sequence[Point] | None = None

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

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.m)

    @property
    def centers(self) -> Sequence[Point]:
        """Centre of mass of each link in link axes."""
        return self.com if self.com is not None else [(length / 2, ZERO) for length in self.l]


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return an equation of the skeleton that checks its arguments, by their names, first."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with together(function.__name__):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            _check(**bound.arguments)
            return function(*args, **kwargs)

    return call


def _check(chain: PlanarChain, **given: Any) -> None:
    if not isinstance(chain, PlanarChain):
        fix = "make one with PlanarChain(m, I, l)"
        raise ArgumentError("skeleton: argument 'chain'", "a PlanarChain", chain, fix)
    for name in VECTORS:
        if name in given:
            fix = "give one number for each link"
            several_numbers("skeleton", name, given[name], chain.n, fix)
    for name in PAIRS:
        if name in given and (given[name] is not None or name == "gravity"):
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
