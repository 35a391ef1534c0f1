"""A class attribute that says more of a subspace than is true is refused when a model is built."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Joint, JointState
from sixfold.model.joint import check_promises
from sixfold.scalar import ZERO, cos, sin
from sixfold.spatial import Motion, Subspace, Transform, Vector3, rotation

EX, EY = Vector3(1.0, ZERO, ZERO), Vector3(ZERO, 1.0, ZERO)
O = Vector3(ZERO, ZERO, ZERO)
PROMISES = ("constant_subspace", "orthonormal_subspace", "velocity_is_rate", "fixed_axis")


def universal(constant, orthonormal, scale=1.0):
    @dataclass(frozen=True)
    class Own(Joint):
        nq: ClassVar[int] = 2
        nv: ClassVar[int] = 2
        constant_subspace: ClassVar[bool] = constant
        orthonormal_subspace: ClassVar[bool] = orthonormal

        def calc(self, q, qd):
            E = rotation(EY, cos(q[1] * scale), sin(q[1] * scale))
            x = E @ EX
            S = Subspace(Motion(x, O), Motion(EY * scale, O))
            bias = Motion(x.cross(EY) * (qd[0] * qd[1] * scale), O)
            return JointState(Transform(E @ rotation(EX, cos(q[0]), sin(q[0])), O), S, S @ qd, bias)

    return Own()


def slide(scale, constant=True, orthonormal=True, result=None):
    @dataclass(frozen=True)
    class Own(Joint):
        nq: ClassVar[int] = 1
        nv: ClassVar[int] = 1
        constant_subspace: ClassVar[bool] = constant
        orthonormal_subspace: ClassVar[bool] = orthonormal

        def calc(self, q, qd):
            S = Subspace(Motion(O, EX * scale))
            X = Transform.translation((q[0] * scale, 0.0, 0.0))
            return result or JointState(X, S, S @ qd, Motion.zero())

    return Own()


def build(joint):
    builder = sf.ModelBuilder("own")
    builder.add_body("box", joint=joint, inertia=sf.Inertia.from_mass(1.0, (0, 0, 0), (1, 1, 1)))
    return builder.build()


@pytest.mark.parametrize(
    "joint",
    [
        universal(False, True),
        universal(False, False, 2.0),
        slide(1.0),
        slide(2.0, orthonormal=False),
        slide(2.0, False, False),
    ],
)
def test_promises_that_hold_are_taken(joint):
    model = build(joint)
    q, v = sf.random_state(model, 3, seed=0)
    assert np.isfinite(sf.forward_dynamics(model, q, v, v)).all()


@pytest.mark.parametrize(
    ("joint", "promise"),
    [
        (universal(True, True), "constant_subspace"),
        (universal(True, False), "constant_subspace"),
        (universal(False, True, 2.0), "orthonormal_subspace"),
        (slide(2.0), "orthonormal_subspace"),
        (slide(1.0 + 1e-6), "orthonormal_subspace"),
    ],
)
def test_a_broken_promise_is_named(joint, promise):
    with pytest.raises(sf.errors.ModelError, match=rf"box_joint.*Own\.{promise} is True") as caught:
        build(joint)
    assert f"set {promise} = False" in str(caught.value)


def test_a_subspace_of_another_size_is_refused():
    motion = Motion(O, EX)
    state = JointState(Transform.identity(), Subspace(motion, motion), motion, Motion.zero())
    with pytest.raises(sf.errors.ModelError, match="nv = 1 columns"):
        build(slide(1.0, result=state))
    with pytest.raises(sf.errors.ModelError, match="calc returned"):
        build(slide(1.0, result=(1, 2)))


def test_a_joint_that_is_not_defined_everywhere_can_be_built():
    @dataclass(frozen=True)
    class Root(Joint):
        nq: ClassVar[int] = 1
        nv: ClassVar[int] = 1

        def calc(self, q, qd):
            if q[0] < 100.0:
                raise ValueError("only far away")
            S = Subspace(Motion(O, EX))
            return JointState(Transform.identity(), S, S @ qd, Motion.zero())

    assert build(Root()).nv == 1


def screw(axis, **attributes):
    """Return a joint that turns about x and moves along x, with an axis field of its own."""

    @dataclass(frozen=True)
    class Own(Joint):
        axis: Vector3
        nq: ClassVar[int] = 1
        nv: ClassVar[int] = 1
        orthonormal_subspace: ClassVar[bool] = False
        fixed_axis: ClassVar[bool] = True

        def calc(self, q, qd):
            S = Subspace(Motion(EX, EX * 0.5))
            X = Transform(rotation(EX, cos(q[0]), sin(q[0])), EX * (q[0] * 0.5))
            return JointState(X, S, S @ qd, Motion.zero())

    for name, value in attributes.items():
        setattr(Own, name, value)
    return Own(axis)


def _wide(self, q, qd):
    return [qd[0] * 2.0]


def test_a_fixed_axis_has_to_be_the_axis_of_the_motion():
    assert build(screw(EX)).nv == 1
    with pytest.raises(sf.errors.ModelError, match=r"Own\.fixed_axis is True"):
        build(screw(EY))


def test_a_velocity_that_is_no_rate_is_named():
    assert build(screw(EX, rate=_wide, velocity_is_rate=False)).nv == 1
    with pytest.raises(sf.errors.ModelError, match=r"Own\.velocity_is_rate is True"):
        build(screw(EX, rate=_wide))


@pytest.mark.parametrize("kind", sf.model.STANDARD_JOINTS, ids=lambda kind: kind.__name__)
def test_the_promises_of_the_library_hold(kind):
    axes = {"axis": (0.36, 0.48, 0.8)} if "axis" in kind.__dataclass_fields__ else {}
    check_promises("here", kind(**axes))


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("kind", sf.model.STANDARD_JOINTS, ids=lambda kind: kind.__name__)
def test_what_the_library_does_not_promise_is_not_so(kind, promise, monkeypatch):
    axes = {"axis": (0.36, 0.48, 0.8)} if "axis" in kind.__dataclass_fields__ else {}
    joint = kind(**axes)
    if getattr(joint, promise) or not joint.nv:
        return
    monkeypatch.setattr(kind, promise, True)
    with pytest.raises(sf.errors.ModelError, match=promise):
        check_promises("here", joint)
