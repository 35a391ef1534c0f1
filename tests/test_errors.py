"""Every error says what and where, what was expected and what came, and the way out."""

import pickle

import pytest

import sixfold as sf
from sixfold import errors

EXAMPLES = {
    "shape": errors.ShapeError("mass_matrix", "q", "(..., 6) = nq", (5,), "transpose it"),
    "number": errors.NumberError("mass_matrix: argument 'q'", "floats", "str", "convert it"),
    "option": errors.OptionError("jacobian", "frame", ("body", "world"), "wrld"),
    "name": errors.UnknownNameError("joint", "elbw", ["elbow", "wrist"], where="model 'arm'"),
    "model": errors.ModelError("body 'arm'", "has no mass", "give it one"),
    "singular": errors.SingularModelError("arm", [("elbow", "lower"), ("wrist", "hand")]),
    "applicable": errors.NotApplicableError("the split", "a free joint", "use the matrix"),
    "internal": errors.InternalError("schedule", "node 3 is in no piece"),
    "disagreement": errors.DisagreementError("two formulations disagree"),
    "state": errors.StateError("simulate: argument 'q0'", "finite numbers", "nan", "fix it"),
    "callback": errors.CallbackError("simulate: control", "two numbers", "one", "return two"),
    "simulation": errors.SimulationError(
        "v of joint 'elbow' is not finite", time=0.1, got="nan", fix="shorten dt", trajectory=None
    ),
    "memory": errors.KernelMemoryError("no memory for a kernel", "none", "drop some"),
    "trajectory": errors.TrajectoryFileError("run.npz", "is cut short", "write it again"),
}
each = pytest.mark.parametrize("error", EXAMPLES.values(), ids=EXAMPLES)


@each
def test_all_errors_share_one_root(error):
    assert isinstance(error, errors.SixfoldError)
    assert not isinstance(error, Warning)


@each
def test_errors_cross_between_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.args == error.args


def test_notes_survive_a_pickle():
    error = errors.ModelError("body 'arm'", "has no mass", "give it one")
    error.add_note("in file arm.urdf")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["in file arm.urdf"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("shape", ValueError),
        ("number", TypeError),
        ("option", ValueError),
        ("name", KeyError),
        ("model", ValueError),
        ("singular", ValueError),
        ("applicable", ValueError),
        ("disagreement", AssertionError),
        ("internal", AssertionError),
        ("memory", MemoryError),
        ("state", ValueError),
        ("callback", ValueError),
        ("simulation", RuntimeError),
        ("trajectory", ValueError),
    ],
)
def test_errors_are_also_of_the_builtin_kind(name, kind):
    assert isinstance(EXAMPLES[name], kind)


def test_a_shape_error_names_function_argument_and_both_shapes():
    assert str(EXAMPLES["shape"]) == (
        "mass_matrix: argument 'q' has the wrong shape\n"
        "  expected: (..., 6) = nq\n  got: (5,)\n  fix: transpose it"
    )


def test_a_number_error_says_where_and_both_kinds():
    assert str(EXAMPLES["number"]) == (
        "mass_matrix: argument 'q'\n  expected: floats\n  got: str\n  fix: convert it"
    )


def test_an_option_error_lists_the_choices():
    assert str(EXAMPLES["option"]) == (
        "jacobian: option 'frame' is not one of its choices\n"
        "  expected: 'body', 'world'\n  got: 'wrld'\n  fix: did you mean 'world'?"
    )


def test_an_option_that_takes_a_kind_of_number_says_so_in_words():
    model = sf.load("pendulum")
    with pytest.raises(sf.errors.OptionError) as caught:
        sf.rollout(model, [0.0], [0.0], dt=-0.1, steps=3)
    assert str(caught.value) == ("rollout: option 'dt' cannot be -0.1\n  fix: pass a time > 0 [s]")


def test_an_unknown_name_error_offers_near_names():
    assert str(EXAMPLES["name"]) == (
        "model 'arm': no joint named 'elbw'\n  known: elbow, wrist\n  fix: did you mean 'elbow'?"
    )


def test_an_unknown_name_with_nothing_near_lists_what_is_known():
    error = errors.UnknownNameError("joint", "xyz", ["elbow", "wrist"], where="model 'arm'")
    assert "known: elbow, wrist\n  fix: pass one of the known names" in str(error)
    assert "did you mean" not in str(error)


def test_an_unknown_name_error_shows_at_most_three_near_and_twelve_known():
    names = [f"joint{k}" for k in range(30)]
    text = str(errors.UnknownNameError("joint", "joint", names, where="model 'arm'"))
    known, fix = text.splitlines()[1:]
    assert known.count("joint") == 12 and known.endswith(", ...")
    assert fix.count("joint") == 3


@pytest.mark.parametrize("name", [None, 3, ("a", "b"), b"elbow"])
def test_an_unknown_name_may_be_anything(name):
    text = str(errors.UnknownNameError("joint", name, ["elbow"], where="model 'arm'"))
    assert f"no joint named {name!r}" in text


def test_a_model_error_says_where_what_and_fix():
    assert str(EXAMPLES["model"]) == "body 'arm': has no mass\n  fix: give it one"


def test_a_singular_model_error_names_every_joint_and_body():
    text = str(EXAMPLES["singular"])
    assert text.startswith("model 'arm': forward dynamics has no solution")
    assert "joint 'elbow' of body 'lower'; joint 'wrist' of body 'hand'" in text
    assert "expected: " in text and "got: " in text and "fix: " in text


def test_a_not_applicable_error_says_to_what_and_what_does():
    assert str(EXAMPLES["applicable"]) == (
        "the split does not apply to a free joint\n  fix: use the matrix"
    )


def test_a_model_without_inertia_is_refused_before_evaluating():
    builder = sf.ModelBuilder("ghost").add_body("a", joint=sf.Revolute("z"), joint_name="pin")
    model = builder.build()
    for run in (
        lambda: sf.forward_dynamics(model, [0.0], [0.0], [0.0]),
        lambda: sf.inverse_mass_matrix(model, [0.0]),
    ):
        with pytest.raises(sf.errors.SingularModelError, match="joint 'pin' of body 'a'"):
            run()
    assert sf.inverse_dynamics(model, [0.0], [0.0], [1.0]) == 0


def test_a_pivot_lost_at_some_states_warns_once_and_gives_nan_there():
    builder = sf.ModelBuilder("gimbal", gravity=(0, 0, 0))
    builder.add_body("yaw", joint=sf.Revolute("z"))
    builder.add_body("pitch", parent="yaw", joint=sf.Revolute("y"))
    top = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.2, 0.15))
    builder.add_body("top", parent="pitch", joint=sf.Revolute("z"), inertia=top)
    model = builder.build()
    q = [[0.1, 0.2, 0.3], [0.1, 0.0, 0.3], [0.0, -0.4, 0.0]]  # the second aligns two axes
    with pytest.warns(
        sf.errors.SingularPivotWarning, match="1 of 3 states .* joint 'yaw_joint'"
    ) as seen:
        acc = sf.forward_dynamics(model, q, [0.0] * 3, [1.0] * 3)
    assert len(seen) == 1
    assert (acc[1] != acc[1]).all()
    assert (acc[[0, 2]] == acc[[0, 2]]).all()


def test_every_error_is_exported_by_the_package():
    names = [
        n
        for n, x in vars(errors).items()
        if isinstance(x, type) and x.__module__ == errors.__name__
    ]
    assert len(names) >= 9
    assert sorted(names) == errors.__all__ == dir(sf.errors)
