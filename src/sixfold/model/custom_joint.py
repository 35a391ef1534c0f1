"""Joints defined by user code: give the transform as a function of q, the rest follows.

The motion subspace is the derivative of the transform and the bias is the derivative of the
subspace, both by dual numbers over the kind of number that the algorithm runs on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from sixfold.errors import ArgumentError, CallbackError, ModelError, SixfoldError, kind_of, quote
from sixfold.model.joint import Joint, JointState, Values, identity_of
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, Matrix3, Motion, Subspace, Transform, Vector3


@final
@dataclass(frozen=True)
class CustomJoint(Joint):
    """A joint defined by its transform, a function of q written with `sixfold` functions.

    Args:
        transform: function of the tuple q that returns the Transform from parent to body.
        nq: number of coordinates; the velocity is dq/dt.
        subspace: optional function of q that returns S (a Subspace in body coordinates).
        bias: optional function of (q, qd) that returns the componentwise dS/dt qd as a Motion.

    The functions are read when a model is built: what they compute then is part of its identity.
    They depend on q alone, without a memory, random numbers or a clock.  Where something that they
    read (a global, a captured list) is changed later, a call of the model that would have to run
    them again is refused, and says to build the model again.

    The functions must be importable (defined at module level) for the model to be picklable.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> def on_a_parabola(q):  # z = x^2 / 2, without turning
        ...     return sf.Transform.translation((q[0], 0.0, 0.5 * q[0] * q[0]))
        >>> bead = sf.Inertia.from_mass(2.0)
        >>> wire = sf.ModelBuilder("wire")
        >>> model = wire.add_body("bead", joint=sf.CustomJoint(on_a_parabola), inertia=bead).build()
        >>> sf.mass_matrix(model, [1.0]).tolist()  # m (1 + x^2)
        [[4.0]]
    """

    transform: Callable[[Values], Transform]
    nq: int = 1  # type: ignore[misc]
    subspace: Callable[[Values], Subspace] | None = None
    bias: Callable[[Values, Values], Motion] | None = None
    constant_subspace: ClassVar[bool] = False
    orthonormal_subspace: ClassVar[bool] = False
    is_code: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Try the functions once, so that a mistake shows here and not inside an algorithm."""
        whole = isinstance(self.nq, int) and not isinstance(self.nq, bool)
        if not whole or self.nq < 1 or self.nq > 6:
            fix = "a joint has 1 to 6 coordinates"
            raise ModelError("CustomJoint", f"nq = {quote(self.nq)}", fix)
        # transform is required, the others may be None
        for name in ("transform", "subspace", "bias"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name == "transform"):
                raise ModelError("CustomJoint", f"{name} is {quote(given)}", "pass a function of q")
        try:
            self._try()
        except SixfoldError:
            raise
        except Exception as error:
            where, got = "CustomJoint: a function of the joint failed", f"{kind_of(error)}: {error}"
            fix = "write functions of q (bias: of q and qd) that take any kind of number"
            raise CallbackError(where, "a result at q = 0.1", got, fix) from error

    def _try(self) -> None:
        """Call each function once and look at what it returns."""
        # call each function once, at 0.1, and look at what comes back
        X = self.transform((0.1,) * self.nq)
        if not isinstance(X, Transform):
            raise ModelError(
                "CustomJoint",
                f"transform(q) returned {type(X).__name__}",
                "return a sixfold Transform (for example Transform.from_pose(R, p))",
            )
        S = self._subspace((0.1,) * self.nq)
        if not isinstance(S, Subspace):
            raise ModelError(
                "CustomJoint", f"subspace(q) returned {type(S).__name__}", "return a Subspace"
            )
        if len(S.columns) != self.nq:
            raise ModelError(
                "CustomJoint", f"subspace has {len(S.columns)} columns", f"return {self.nq} columns"
            )
        c = self.bias((0.1,) * self.nq, (0.1,) * self.nq) if self.bias else None
        if self.bias and not isinstance(c, Motion):
            raise ModelError(
                "CustomJoint", f"bias(q, qd) returned {type(c).__name__}", "return a Motion"
            )

    @property
    def nv(self) -> int:  # type: ignore[override]
        """As many velocities as coordinates."""
        return self.nq

    def calc(self, q: Values, qd: Values) -> JointState:
        """Evaluate the transform; differentiate it for S, and S along qd for the bias."""
        for x in (*q, *qd):
            if isinstance(x, np.matrix):  # its products are not those of numbers
                raise ArgumentError("CustomJoint.calc", "numbers", x, "pass tuples or arrays")
        # S and cJ by differentiation, where no functions are given
        S = self._subspace(q)
        cJ = self.bias(q, qd) if self.bias else self._bias(q, qd)
        return JointState(self.transform(q), S, S @ qd, cJ)

    def _subspace(self, q: Values) -> Subspace:
        if self.subspace is not None:
            return self.subspace(q)
        unit = np.eye(self.nq)
        return Subspace(*(self._column(q, [x or ZERO for x in row.tolist()]) for row in unit))

    def _column(self, q: Values, direction: Values) -> Motion:
        """Omega x = -dE E^T and v = E dr, in body coordinates."""
        values, rates = differentiate(lambda at: _flat(self.transform(at)), q, direction)
        E, dE = _matrix(values[:9]), _matrix(rates[:9])
        turn = E @ dE.T  # = -(dE E^T)
        return Motion(Vector3(turn.c.y, turn.a.z, turn.b.x), E @ Vector3(*rates[9:]))

    def _bias(self, q: Values, qd: Values) -> Motion:
        def velocity(at: Values) -> tuple[Scalar, ...]:
            ang, lin = self._subspace(at) @ Column(qd)
            return (*ang, *lin)

        _, rates = differentiate(velocity, q, qd)
        return Motion(Vector3(*rates[:3]), Vector3(*rates[3:]))

    def constants(self) -> tuple[Any, ...]:
        """Identify the joint by what its functions compute."""
        q, qd = ("q", self.nq), ("qd", self.nq)
        functions = {
            "transform": (self.transform, [q]),
            "subspace": (self.subspace, [q]),
            "bias": (self.bias, [q, qd]),
        }
        # the programs that the functions record identify them
        programs = tuple(
            "" if f is None else identity_of(f"CustomJoint: {name}", f, arguments, f)
            for name, (f, arguments) in functions.items()
        )
        return ("CustomJoint", self.nq, programs)


def _flat(X: Transform) -> tuple[Scalar, ...]:
    return (*X.E.a, *X.E.b, *X.E.c, *X.r)


def _matrix(nine: Values) -> Matrix3:
    return Matrix3(Vector3(*nine[:3]), Vector3(*nine[3:6]), Vector3(*nine[6:]))
