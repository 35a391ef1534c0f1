"""A model from the arrays of Featherstone's slides: lambda, jtype, X_T and I."""

import doctest
from math import inf

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import tables as module

TREE6 = {"parent": [0, 1, 2, 1, 4, 4], "jtype": "RPPRRR"}


def arrays_of(model):
    """Return X_T and I of a model."""
    tree = model.tree
    return [tree.Xtree[i] for i in tree.bodies], [tree.inertia[i] for i in tree.bodies]


def agree(a, b):
    q, v = sf.random_state(a, 5, seed=2)
    for function, args in ((sf.inverse_dynamics, (q, v, v)), (sf.forward_dynamics, (q, v, v))):
        assert np.allclose(function(a, *args), function(b, *args), rtol=1e-10, atol=1e-12)


def test_the_slides_example_is_the_sample_to_the_last_bit():
    sample = sf.load("tree6")
    X, I = arrays_of(sample)
    made = sf.from_arrays(**TREE6, Xtree=X, inertia=I, name="tree6")
    assert made == sample and made.digest == sample.digest


@pytest.mark.parametrize("placement", [np.asarray, lambda X: sf.spatial.to_array(X.pose())])
@pytest.mark.parametrize("solid", [np.asarray, lambda I: I.array(), lambda I: I.parameters()])
def test_matrices_and_parameters_give_the_same_robot(placement, solid):
    sample = sf.load("tree6")
    X, I = arrays_of(sample)
    agree(
        sample, sf.from_arrays(**TREE6, Xtree=list(map(placement, X)), inertia=list(map(solid, I)))
    )


def test_stacked_arrays_are_taken_too():
    sample = sf.load("tree10")
    X, I = arrays_of(sample)
    lam = np.array([0, 1, 1, 3, 3, 5, 4, 7, 1, 9])
    made = sf.from_arrays(lam, ["R"] * 10, np.stack(X), np.stack(I))
    agree(sample, made)
    assert made.parent == tuple(int(p) - 1 for p in lam)


def test_joints_by_letters_by_pitch_and_as_objects():
    given = ["R", "Px", ("H", 0.1), ("Hy", -0.2), 0, inf, 0.3, sf.Spherical()]
    n = len(given)
    made = sf.from_arrays(list(range(n)), given, [None] * n, [None] * n)
    wanted = [
        *(sf.Revolute("z"), sf.Prismatic("x"), sf.Helical("z", pitch=0.1)),
        *(sf.Helical("y", pitch=-0.2), sf.Revolute("z"), sf.Prismatic("z")),
        *(sf.Helical("z", pitch=0.3), sf.Spherical()),
    ]
    assert [body.joint for body in made.bodies] == wanted
    short = sf.from_arrays([0, 1, 2], "RxPRz", [None] * 3, [None] * 3)
    assert [body.joint for body in short.bodies] == [
        sf.Revolute("x"),
        sf.Prismatic("z"),
        sf.Revolute("z"),
    ]


def test_names_and_gravity_are_given_on():
    made = sf.from_arrays(
        *([0], "P", [(0, 0, 1)], [None]),
        name="lift",
        gravity=(0, -9.81, 0),
        body_names=["cabin"],
        joint_names=["rope"],
    )
    assert (made.name, made.body_names, made.joint_names) == ("lift", ("cabin",), ("rope",))
    assert np.allclose(sf.body_poses(made, [2.0])[0, :3, 3], (0, 0, 3))
    assert tuple(made.gravity) == (0, -9.81, 0)


ONE = {"parent": [0], "jtype": "R", "Xtree": [None], "inertia": [None]}
SKEWED = np.eye(6)
SKEWED[3, 0] = 1.0
LINEAR_FIRST = np.asarray(sf.Transform.translation((1.0, 2.0, 3.0))).T
HEAVY = np.diag([1.0, 1.0, 1.0, 2.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"parent": [1]}, sf.errors.ModelError, "body 1: parent is 1"),
        ({"parent": [-1]}, sf.errors.ModelError, "from 0 .the base. to 0"),
        ({"parent": [0.0]}, sf.errors.ModelError, "body 1: parent is 0.0"),
        ({"parent": [True]}, sf.errors.ModelError, "body 1: parent is True"),
        ({"parent": 0}, sf.errors.ArgumentError, "argument 'parent'"),
        ({"parent": [0, 1]}, sf.errors.ModelError, "jtype has 1 entries, parent has 2"),
        ({"jtype": "Q"}, sf.errors.ModelError, "does not read as joints"),
        ({"jtype": ["Ra"]}, sf.errors.ModelError, "body 1: jtype is 'Ra'"),
        ({"jtype": [("R", 0.1)]}, sf.errors.ModelError, "jtype is"),
        ({"jtype": [float("nan")]}, sf.errors.ModelError, "jtype is nan"),
        ({"jtype": None}, sf.errors.ArgumentError, "argument 'jtype'"),
        ({"Xtree": [np.eye(5)]}, sf.errors.ModelError, r"shape \(6, 6\) or \(4, 4\)"),
        ({"Xtree": [SKEWED]}, sf.errors.ModelError, "body 1: the 6x6 Xtree is no transform"),
        ({"Xtree": [LINEAR_FIRST]}, sf.errors.ModelError, "angular part first"),
        ({"Xtree": [np.ones((4, 4))]}, sf.errors.ModelError, "last row of the 4x4 Xtree"),
        ({"Xtree": [2 * np.diag([1, 1, 1, 0.5])]}, sf.errors.ModelError, "rotation"),
        ({"Xtree": ["here"]}, sf.errors.ModelError, "Xtree is 'here'"),
        ({"inertia": [HEAVY]}, sf.errors.ModelError, "not that of a rigid body"),
        ({"inertia": [np.ones(9)]}, sf.errors.ModelError, r"shape \(6, 6\) or \(10,\)"),
        ({"inertia": [[np.nan] * 10]}, sf.errors.ModelError, "body 1: inertia"),
        ({"inertia": np.eye(6)}, sf.errors.ModelError, "inertia has 6 entries, parent has 1"),
        ({"body_names": ["a", "b"]}, sf.errors.ModelError, "body_names has 2 entries"),
        ({"parent": [0] * 100_001}, sf.errors.TooLargeError, "100001 bodies"),
    ],
)
def test_what_makes_no_sense_is_said_with_the_body(change, error, words):
    with pytest.raises(error, match=words):
        sf.from_arrays(**{**ONE, **change})


def test_the_example_runs():
    assert not doctest.testmod(module).failed
