"""Messages say what a person would say: the fix is no repetition, and suggestions make sense."""

import difflib
import re

import numpy as np
import pytest

import sixfold as sf

ARM = sf.load("puma560")
Q = np.zeros(6)
URDF = '<?xml version="1.0"?>\n<robot name="x">\n' + '<link name="a"/>\n' * 500 + "</robot>"
WRONG = {
    "frame": lambda: sf.jacobian(ARM, Q, "dh6", frame="wrld"),
    "method": lambda: sf.forward_dynamics(ARM, Q, Q, Q, method="abba"),
    "backend": lambda: sf.mass_matrix(ARM, Q, backend="cpp"),
    "shape": lambda: sf.mass_matrix(ARM, np.zeros(5)),
    "transposed": lambda: sf.mass_matrix(ARM, np.zeros((6, 4))),
    "name": lambda: sf.frame_pose(ARM, Q, "tool"),
    "near name": lambda: sf.frame_pose(ARM, Q, "dh7"),
    "robot": lambda: sf.load("pumma560"),
    "no robot": lambda: sf.load("zzzz"),
    "task": lambda: sf.learn.VectorEnv("cartpole"),
    "dt": lambda: sf.simulate(ARM, Q, None, 1.0, dt=-1),
    "integrator": lambda: sf.simulate(ARM, Q, None, 1.0, integrator="rk5"),
    "steps": lambda: sf.rollout(ARM, Q, None, dt=1e-3, steps=1.5),
    "text": lambda: sf.mass_matrix(ARM, "0 0 0 0 0 0"),
    "gravity": lambda: sf.ModelBuilder(gravity=9.81),
    "friction": lambda: sf.contact.Ground(friction=-1),
    "normal": lambda: sf.contact.Ground(normal=(0, 0)),
    "weight": lambda: sf.inverse_kinematics(ARM, [sf.targets.Position("dh6", Q[:3], weight=0)]),
    "seed": lambda: sf.random_state(ARM, seed=-1),
    "threads": lambda: sf.set_threads(-1),
    "joint": lambda: sf.lock_joints(ARM, ["joint9"]),
    "XML": lambda: sf.load(URDF),
    "XML after blanks": lambda: sf.load("\ufeff\n " + URDF),
    "JSON": lambda: sf.load('{"name": "x"}'),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_message_is_short_and_its_fix_is_no_repetition(name):
    with pytest.raises(sf.errors.SixfoldError) as caught:
        WRONG[name]()
    lines = str(caught.value).split("\n")
    parts = dict(re.match(r"  (\w+): (.*)", line).groups() for line in lines[1:])
    assert len(parts) == len(lines) - 1  # one block: no message inside of a message
    assert len(str(caught.value)) < 1500
    fix = parts["fix"]
    assert fix not in (parts.get("expected"), parts.get("known"))
    known = parts.get("expected") or parts.get("known")
    assert known is None or known not in fix


@pytest.mark.parametrize("name", ["tool", "world", "base_link", "gripper", "x"])
def test_suggestions_are_like_what_was_written(name):
    with pytest.raises(sf.errors.UnknownNameError) as caught:
        sf.frame_pose(sf.load("quadruped"), None, name + "_")
    for near in re.findall(r"'([^']+)'", str(caught.value).partition("did you mean")[2]):
        assert difflib.SequenceMatcher(None, name + "_", near).ratio() >= 0.6


def test_tool_is_not_taken_for_world():
    error = sf.errors.UnknownNameError(
        "frame", "tool", ["world", "upper", "lower"], where="model 'arm'"
    )
    assert "did you mean" not in str(error)


def test_the_text_of_a_file_is_not_taken_for_its_path():
    with pytest.raises(
        sf.errors.NumberError, match=r"text of 8,[0-9]+ characters.*'<\?xml"
    ) as caught:
        sf.load(URDF)
    assert len(str(caught.value)) < 500 and "write_text" in str(caught.value)
