"""`sf.contact.Ground`: what a robot may touch, and how soft contact is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from sixfold.errors import ArgumentError, NotApplicableError, OptionError, whole_number
from sixfold.model import ContactOptions, Model
from sixfold.runtime import require_model
from sixfold.show import fields_line
from sixfold.simulation.contact.shapes import (
    ContactPair,
    ContactPoint,
    JointLaw,
    check_name,
    check_not_negative,
    check_number,
    check_numbers,
    check_solimp,
    check_solref,
)

MAX_LINES = 33  #: Most lines of a grid of heights in one direction: a step reads all of them.


@dataclass(frozen=True)
class Ground:
    """The ground, what may touch it, and the law of contact.

    Contacts follow MuJoCo's convex soft model; `solref` and `solimp` have the meaning that they
    have there, with elliptic friction cones.

    Args:
        height: where the plane lies along its normal [m]; or a function of (x, y) that returns the
            height z, written with arithmetic and sixfold functions.
        normal: of the plane, pointing out of the ground; of any length.
        grid: heights [m] of a small grid, rows along x and columns along y, instead of a plane;
            linear between its lines and level beyond its edges.
        grid_corner: (x, y) of the first height [m].
        grid_spacing: distance of lines along x and y [m].
        friction: Coulomb's coefficient of all contacts that have none of their own.  Where a robot
            file gives a shape's friction, the larger of both counts, as in MuJoCo.
        points: points and spheres that may touch the ground.  By default those of the model's
            collision shapes: spheres, the ends of capsules and the corners of boxes.
        pairs: spheres that may touch spheres or capsules of other bodies.
        solref: time constant [s] and damping ratio with which penetration goes; two negative
            numbers are stiffness and damping themselves.
        solimp: impedance at the surface and at depth `width`, that width [m], and midpoint and
            power of the sigmoid between them; impedances and midpoint are clamped to 0.0001 to
            0.9999, as in MuJoCo.
        margin: gap below which a contact is active [m].
        impratio: softness along the normal over that of friction.
        limits: joint limits push, as constraints of the same kind, with the same law unless
            `joint_laws` has one of their own.
        dry_friction: the model's dry friction of joints holds them still, up to its force, as a
            constraint instead of a force that follows the speed.
        rigid: contacts without softness: the speed after a step is that of Newton's law of impact
            instead of solref and solimp; needs semi-implicit Euler steps.
        restitution: speed after an impact over that before it, with rigid=True.
        iterations: rounds of Newton's method at the most.  A state takes as many as it needs, 2 to
            5 as a rule, until its relative residual is below 1e-12; where the rounds do not
            suffice, `simulate`, `rollout` and `Stepper` warn.
        joint_laws: solref, solimp and margin of the limits and of the dry friction of joints.
        plane: contact options of the plane in a MuJoCo file: shapes that have such options, too,
            meet it by MuJoCo's rules (priority, solmix, condim) instead of by `friction`, `solref`,
            `solimp` and `margin`, which then hold for all others.
        link_weights: inverse mass that contacts of a link of a MuJoCo file feel, as (name, 1/kg):
            softness is proportional to it.  By default it is that at the centre of mass of the
            body, where links may have been welded together.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> point = sf.contact.ContactPoint("ball", radius=0.1)
        >>> ground = sf.contact.Ground(friction=0.3, points=[point])
        >>> start = [0, 0, 0.12, 0, 0, 0, 1]
        >>> run = sf.simulate(model, start, None, 1.0, dt=2e-3, contacts=ground)
        >>> run.contact_forces[-1].round(2) + 0.0  # the weight
        array([[ 0.  ,  0.  , 19.62]])
    """

    height: float | Callable[[Any, Any], Any] = 0.0
    normal: tuple[float, ...] = (0.0, 0.0, 1.0)
    grid: tuple[tuple[float, ...], ...] | None = None
    grid_corner: tuple[float, ...] = (0.0, 0.0)
    grid_spacing: tuple[float, ...] = (1.0, 1.0)
    friction: float = 1.0
    points: tuple[ContactPoint, ...] | None = None
    pairs: tuple[ContactPair, ...] = ()
    solref: tuple[float, ...] = (0.02, 1.0)
    solimp: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)
    margin: float = 0.0
    impratio: float = 1.0
    limits: bool = False
    dry_friction: bool = False
    rigid: bool = False
    restitution: float = 0.0
    iterations: int = 30
    joint_laws: tuple[JointLaw, ...] = ()
    plane: ContactOptions | None = None
    link_weights: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        """Print what differs from the defaults."""
        return fields_line(self)

    @classmethod
    def from_mjcf(
        cls,
        path: str | Path,
        model: Model,
        *,
        package_dirs: Iterable[str | Path] = (),
        **options: Any,
    ) -> Ground:
        """Return the ground of an MJCF file: its plane, its pairs, and the law of their contacts.

        The first plane of the world is the ground; without one, points touch nothing.  A <pair> of
        a sphere with a sphere or a capsule becomes a `ContactPair`.  Friction, solref, solimp,
        margin and impratio of each shape and each joint limit follow MuJoCo's rules (of MuJoCo
        4.0: margins are added, and forces begin at the margin); cones are elliptic.  What has no
        counterpart is named in one RobotFileWarning, with its line.

        Args:
            path: the file.
            model: the robot, as `sixfold.load` has it from that file.
            package_dirs: further folders under which included files and meshes may lie.
            options: fields of `Ground` instead of those of the file.  With `friction`, `solref`,
                `solimp` or `margin` the law of all shapes is given by hand.

        Raises:
            RobotFileError: with file and line, if the file cannot be read.
            NotApplicableError: if the mujoco package is missing.
        """
        from sixfold.simulation.contact.mjcf import ground_options

        if not isinstance(path, (str, Path)):
            fix = "pass the path of an MJCF file"
            raise ArgumentError("Ground.from_mjcf: argument 'path'", "a path", path, fix)
        require_model("Ground.from_mjcf", model)
        found = ground_options(path, model, package_dirs)
        if options.keys() & {"friction", "solref", "solimp", "margin"}:
            found.pop("plane", None)
        return cls(**{**found, **options})

    def __post_init__(self) -> None:
        """Check every number; lists become tuples, so that the ground can be hashed."""

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if not callable(self.height):
            put("height", check_number("Ground", "height", self.height, _HEIGHT, lambda _: True))
        normal = check_numbers("Ground", "normal", self.normal, 3, "(x, y, z), not zero")
        length = math.hypot(*normal)
        if not length:
            raise OptionError("Ground", "normal", "(x, y, z), not zero", self.normal)
        put("normal", normal if length == 1.0 else tuple(x / length for x in normal))
        self._check_surface(put)
        put("friction", check_not_negative("Ground", "friction", self.friction))
        kinds = {"points": ContactPoint, "pairs": ContactPair, "joint_laws": JointLaw}
        for name, kind in kinds.items():
            given = getattr(self, name)
            if given is None and name == "points":
                continue
            listed = tuple(given) if isinstance(given, (list, tuple)) else ()
            if not isinstance(given, (list, tuple)) or not all(isinstance(x, kind) for x in listed):
                raise OptionError("Ground", name, f"a list of {kind.__name__}", given)
            put(name, listed)
        self._check_law(put)
        for name in ("limits", "dry_friction", "rigid"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError("Ground", name, (True, False), getattr(self, name))
        e = check_number(
            "Ground", "restitution", self.restitution, "a number from 0 to 1", lambda x: 0 <= x <= 1
        )
        put("restitution", e)
        if e and not self.rigid:
            where = "soft contacts, whose rebound follows from solref"
            raise NotApplicableError("Ground: restitution", where, "pass rigid=True, or leave it")
        put("iterations", whole_number("Ground", "iterations", self.iterations, 1, 1000))
        if not isinstance(self.plane, (ContactOptions, NoneType)):
            raise OptionError("Ground", "plane", "a ContactOptions", self.plane)
        words = "a list of (name, number >= 0)"
        try:
            pairs = [(name, weight) for name, weight in self.link_weights]
        except (TypeError, ValueError):
            raise OptionError("Ground", "link_weights", words, self.link_weights) from None
        checked = [
            (
                check_name("Ground", "link_weights", name),
                check_not_negative("Ground", "link_weights", weight, " [1/kg]"),
            )
            for name, weight in pairs
        ]
        put("link_weights", tuple(checked))

    def _check_surface(self, put: Callable[[str, Any], None]) -> None:
        """Check the grid, and that only one surface is given."""
        corner = check_numbers("Ground", "grid_corner", self.grid_corner, 2, "(x, y) [m]")
        put("grid_corner", corner)
        spacing = check_numbers("Ground", "grid_spacing", self.grid_spacing, 2, "(dx, dy) > 0 [m]")
        if min(spacing) <= 0:
            raise OptionError("Ground", "grid_spacing", "(dx, dy) > 0 [m]", self.grid_spacing)
        put("grid_spacing", spacing)
        if self.grid is not None:
            words = f"finite heights, 2 to {MAX_LINES} rows and columns"
            try:
                heights = np.array(self.grid, float)
            except Exception:  # no numbers, or rows of several lengths
                raise OptionError("Ground", "grid", words, self.grid) from None
            fits = heights.ndim == 2 and all(2 <= n <= MAX_LINES for n in heights.shape)
            if not fits or not np.isfinite(heights).all():
                raise OptionError("Ground", "grid", words, self.grid)
            put("grid", tuple(map(tuple, heights.tolist())))
        tilted = self.normal != (0.0, 0.0, 1.0)
        curved = "a grid" if self.grid is not None else "a height function"
        if (self.grid is not None or callable(self.height)) and tilted:
            raise NotApplicableError("Ground: normal", curved, "leave the normal out")
        if self.grid is not None and (callable(self.height) or self.height):
            raise NotApplicableError("Ground: height", "a grid", "add it to the heights")
        if self.grid is None and (corner, spacing) != ((0.0, 0.0), (1.0, 1.0)):
            where = "a ground without a grid"
            raise NotApplicableError("Ground: grid_corner, grid_spacing", where, "pass grid=...")

    def _check_law(self, put: Callable[[str, Any], None]) -> None:
        """Check what a contact gives way by."""
        put("solref", check_solref("Ground", "solref", self.solref))
        put("solimp", check_solimp("Ground", "solimp", self.solimp))
        put("margin", check_not_negative("Ground", "margin", self.margin, " [m]"))
        words = "a number > 0"
        put("impratio", check_number("Ground", "impratio", self.impratio, words, lambda x: x > 0))
        defaults = {f: Ground.__dataclass_fields__[f].default for f in ("solref", "solimp")}
        own = [f for f, usual in defaults.items() if getattr(self, f) != usual]
        if own and self.rigid and not (self.limits or self.dry_friction):
            fix = "leave them out, or rigid=True"
            raise NotApplicableError(f"Ground: {', '.join(own)}", "rigid contacts", fix)


_HEIGHT = "a finite number [m], or a function of (x, y)"
