"""Joints of the user's own, and how they are told apart."""

import pickle
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.spatial import Motion, Subspace, Transform, Vector3, rotation

EX, EY, EZ = Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0)
NOWHERE = Vector3(0.0, 0.0, 0.0)
RADIUS = 0.3
CENTER = Vector3(0.0, 0.0, 0.1)


def revolute(q):
    return Transform(rotation(EY, sf.math.cos(q[0]), sf.math.sin(q[0])), NOWHERE)


def planar(q):
    E = rotation(EZ, sf.math.cos(q[2]), sf.math.sin(q[2]))
    return Transform(E, Vector3(q[0], q[1], 0.0))


def universal(q):
    E = rotation(EY, sf.math.cos(q[1]), sf.math.sin(q[1])) @ rotation(
        EX, sf.math.cos(q[0]), sf.math.sin(q[0])
    )
    return Transform(E, NOWHERE)


def planar_subspace(q):
    E = rotation(EZ, sf.math.cos(q[2]), sf.math.sin(q[2]))
    return Subspace(Motion(NOWHERE, E @ EX), Motion(NOWHERE, E @ EY), Motion(EZ, NOWHERE))


def planar_bias(q, qd):
    v = (planar_subspace(q) @ tuple(qd)).lin
    return Motion(NOWHERE, v.cross(EZ) * qd[2])


def arm(joint):
    builder = sf.ModelBuilder("arm")
    for k, each in enumerate((sf.Revolute("x"), joint, sf.Revolute("z"))):
        builder.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k else None,
            joint=each,
            placement=sf.Transform.from_rpy((0.1, 0.2, 0.3), (0.3, -0.2, 0.1)),
            inertia=sf.Inertia.from_mass(1.0 + k, (0.1, 0.2, -0.3), (0.02, 0.03, 0.04)),
        )
    return builder.build()


def flat(x):
    """Return the numbers of nested tuples and subspaces."""
    parts = x.columns if isinstance(x, Subspace) else x
    if not isinstance(parts, tuple):
        return [float(parts)]
    return [number for part in parts for number in flat(part)]


def assert_same_dynamics(one, other):
    assert (one.nq, one.nv) == (other.nq, other.nv)
    q, v = sf.random_state(one, 6, seed=0)
    a = np.random.default_rng(1).standard_normal(v.shape)
    for function, arguments in (
        (sf.inverse_dynamics, (q, v, a)),
        (sf.forward_dynamics, (q, v, a)),
        (sf.mass_matrix, (q,)),
        (sf.body_poses, (q,)),
        (sf.body_accelerations, (q, v, a)),
    ):
        x, y = function(one, *arguments), function(other, *arguments)
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize(
    ("function", "nq", "joint"),
    [(revolute, 1, sf.Revolute("y")), (planar, 3, sf.Planar()), (universal, 2, sf.Universal())],
    ids=["revolute", "planar", "universal"],
)
def test_a_joint_given_by_its_transform_moves_like_the_standard_one(function, nq, joint):
    assert_same_dynamics(arm(sf.CustomJoint(function, nq=nq)), arm(joint))


@pytest.mark.parametrize(
    "more",
    [
        dict(subspace=planar_subspace),
        dict(bias=planar_bias),
        dict(subspace=planar_subspace, bias=planar_bias),
    ],
)
def test_a_subspace_or_bias_that_is_given_equals_the_differentiated_one(more):
    given, derived = sf.CustomJoint(planar, nq=3, **more), sf.CustomJoint(planar, nq=3)
    q, qd = (0.3, -0.4, 0.5), (1.0, -2.0, 3.0)
    np.testing.assert_allclose(flat(given.calc(q, qd)), flat(derived.calc(q, qd)), atol=1e-15)
    assert_same_dynamics(arm(given), arm(derived))


def test_a_model_with_a_custom_joint_pickles():
    model = arm(sf.CustomJoint(planar, nq=3))
    again = pickle.loads(pickle.dumps(model))
    assert again == model and hash(again) == hash(model)
    q, v = sf.random_state(model, seed=0)
    np.testing.assert_array_equal(sf.bias_force(again, q, v), sf.bias_force(model, q, v))


# -- mistakes


def text(q):
    return "not a transform"


def two_columns(q):
    return Subspace(Motion(EX, NOWHERE), Motion(EY, NOWHERE))


MISTAKES = {
    "nq zero": (dict(transform=revolute, nq=0), "nq = 0\n  fix: a joint has 1 to 6"),
    "nq seven": (dict(transform=revolute, nq=7), "nq = 7"),
    "nq text": (dict(transform=revolute, nq="1"), "nq = .1."),
    "nq float": (dict(transform=revolute, nq=1.0), "nq = 1.0"),
    "no function": (dict(transform=None), "transform is None\n  fix: pass a function of q"),
    "transform": (dict(transform=Transform.identity()), "transform is Transform"),
    "subspace": (dict(transform=revolute, subspace=Subspace()), "subspace is Subspace"),
    "bias": (dict(transform=revolute, bias=0.0), "bias is 0.0"),
    "transform result": (dict(transform=text), r"transform\(q\) returned str\n  fix: return a"),
    "subspace result": (
        dict(transform=revolute, subspace=text),
        r"subspace\(q\) returned str\n  fix: return a Subspace",
    ),
    "columns": (
        dict(transform=revolute, subspace=two_columns),
        "subspace has 2 columns\n  fix: return 1 columns",
    ),
    "bias result": (
        dict(transform=revolute, bias=lambda q, qd: 0.0),
        r"bias\(q, qd\) returned float\n  fix: return a Motion",
    ),
}


@pytest.mark.parametrize(("given", "what"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_shows_when_the_joint_is_made(given, what):
    with pytest.raises(sf.errors.ModelError, match=f"CustomJoint: {what}"):
        sf.CustomJoint(**given)


# -- identity


def identity(transform):
    return sf.CustomJoint(transform).constants()


def with_closure(radius, offset=0.0):
    def rolling(q):
        return Transform.translation((radius * q[0], offset, 0.0))

    return rolling


def reads_global(q):
    return Transform.translation((RADIUS * q[0], 0.0, 0.0))


def reads_global_inside(q):
    return Transform.translation([RADIUS * x for x in (q[0], 0.0, 0.0)])


def reads_vector(q):
    return Transform(rotation(EY, sf.math.cos(q[0]), sf.math.sin(q[0])), CENTER)


def with_default(q, radius=0.1, *, offset=0.0):
    return Transform.translation((radius * q[0], offset, 0.0))


def with_settings(settings):
    return lambda q: Transform.translation((settings["radius"] * q[0], 0.0, 0.0))


class Plain:
    def __init__(self, radius):
        self.radius = radius

    def transform(self, q):
        return Transform.translation((self.radius * q[0], 0.0, 0.0))


@dataclass(frozen=True)
class Callable:
    radius: float

    def __call__(self, q):
        return Transform.translation((self.radius * q[0], 0.0, 0.0))


@pytest.mark.parametrize(
    "make",
    [
        with_closure,
        lambda r: with_closure(0.1, r),
        lambda r: with_closure(np.array([r]).item()),
        lambda r: partial(with_default, radius=r),
        lambda r: partial(with_default, offset=r),
        lambda r: Plain(r).transform,
        lambda r: with_settings({"radius": r}),
        lambda r: with_settings({"radius": np.float64(r)}),
        Callable,
        lambda r: partial(Callable(r)),
    ],
)
def test_the_identity_depends_on_every_number_a_function_holds(make):
    assert identity(make(0.1)) == identity(make(0.1))
    assert identity(make(0.1)) != identity(make(0.2))
    assert sf.CustomJoint(make(0.1)).constants() != sf.CustomJoint(make(0.2)).constants()
    assert arm(sf.CustomJoint(make(0.1))) == arm(sf.CustomJoint(make(0.1)))
    assert arm(sf.CustomJoint(make(0.1))) != arm(sf.CustomJoint(make(0.2)))


@pytest.mark.parametrize("function", [reads_global, reads_global_inside])
def test_the_identity_depends_on_the_globals_a_function_reads(function, monkeypatch):
    before = identity(function)
    assert identity(function) == before
    monkeypatch.setitem(globals(), "RADIUS", 0.4)
    assert identity(function) != before


def test_the_identity_depends_on_vectors_among_the_globals(monkeypatch):
    before = identity(reads_vector)
    monkeypatch.setitem(globals(), "CENTER", Vector3(0.0, 0.0, 0.2))
    assert identity(reads_vector) != before


def calls_helper(q):
    return helper(q)


def helper(q):
    return Transform.translation((q[0], 0.0, 0.0))


def other_helper(q):
    return Transform.translation((q[0], q[0], 0.0))


def test_the_identity_depends_on_the_functions_a_function_calls(monkeypatch):
    before = identity(calls_helper)
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert identity(calls_helper) != before


def compiled(text):
    space = {"sf": sf, "Transform": Transform}
    exec(f"def f(q, *, k=1.0):\n    return {text}", space)
    return space["f"]


def test_the_identity_depends_on_the_code_and_its_constants():
    texts = [
        "Transform.translation((q[0], 0.0, 0.0))",
        "Transform.translation((q[0], 1.0, 0.0))",
        "Transform.translation((q[0] * 2, 0.0, 0.0))",
        "Transform.translation((q[0] + 2, 0.0, 0.0))",
        "Transform.translation((sf.math.sin(q[0]), 0.0, 0.0))",
        "Transform.translation((sf.math.cos(q[0]), 0.0, 0.0))",
    ]
    prints = [identity(compiled(text)) for text in texts]
    assert len(set(prints)) == len(texts)
    assert prints == [identity(compiled(text)) for text in texts]


def test_the_identity_depends_on_defaults():
    text = "Transform.translation((k * q[0], 0.0, 0.0))"
    one, two = compiled(text), compiled(text)
    assert identity(one) == identity(two)
    two.__kwdefaults__ = {"k": 2.0}
    assert identity(one) != identity(two)


def test_functions_that_do_the_same_are_the_same_joint():
    one = compiled("Transform.translation((q[0] * 2.0, 0.0, 0.0))")
    two = compiled("Transform.translation((q[0] * sum([1.5, 0.5]), 0.0, 0.0))")
    assert identity(one) == identity(two)


def test_neighbouring_numbers_do_not_run_together():
    def pair(a, b):
        return lambda q: Transform.translation((a, b, q[0]))

    assert identity(pair(1, 23)) != identity(pair(12, 3))


def test_a_function_that_calls_itself_has_a_identity():
    def turn(q, depth=2):
        return turn(q, depth - 1) if depth else Transform.identity()

    assert identity(turn) == identity(turn)


def test_functions_and_arrays_of_numpy_have_identities():
    def scaled(table):
        return lambda q: Transform.translation((float(np.sum(table)) * q[0], 0.0, 0.0))

    one, two = scaled(np.arange(3.0)), scaled(np.arange(3.0) + 1e-16 + 1)
    assert identity(one) == identity(scaled(np.arange(3.0)))
    assert identity(one) != identity(two)


# -- classes outside the library


def _slide(radius, text="q[0] * self.radius", decorate=True):
    """Return a joint of a class of its own, made from text."""
    code = f"""
from dataclasses import dataclass
from typing import ClassVar
from sixfold.model import Joint
from sixfold.model.joint import JointState
from sixfold.scalar import ZERO
from sixfold.spatial import Matrix3, Motion, Subspace, Transform, Vector3

{"@dataclass(frozen=True)" if decorate else ""}
class Slide(Joint):
    radius: float
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    orthonormal_subspace: ClassVar[bool] = False

    def calc(self, q, qd):
        S = Subspace(Motion(Vector3(ZERO, ZERO, ZERO), Vector3(self.radius, ZERO, ZERO)))
        X = Transform.translation((helper({text}), 0.0, 0.0))
        return JointState(X, S, S @ qd, Motion.zero())

def helper(x):
    return x
"""
    names = {"__name__": "outside"}
    exec(code, names)
    return names["Slide"](radius) if decorate else names["Slide"]()


def test_a_class_outside_the_library_is_known_by_its_code():
    one, same, other = _slide(0.3), _slide(0.3), _slide(0.3, "q[0] * self.radius * 2")
    assert one.is_code and not sf.Revolute("z").is_code
    assert one.constants() == same.constants() != other.constants()


def test_edited_code_of_a_joint_never_meets_an_old_kernel():
    results = []
    for text in ("q[0] * self.radius", "q[0] * self.radius * 2"):
        builder = sf.ModelBuilder("slide")
        builder.add_body("box", joint=_slide(0.5, text))
        results.append(sf.frame_pose(builder.build(), np.array([1.0]), "box")[0, 3])
    assert results == [0.5, 1.0]


def test_a_class_that_is_no_dataclass_is_refused():
    with pytest.raises(sf.errors.ModelError, match="no dataclass"):
        _slide(0.3, decorate=False).constants()
