"""Other engines find the same, and where they do not, the comparison says so."""

import sys
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sixfold as sf
from sixfold.cli import main
from sixfold.interop.compare import compare
from sixfold.interop.mujoco import MuJoCo, from_mujoco, to_mujoco
from sixfold.interop.pinocchio import to_pinocchio
from tests.interop.models import gripper, zoo

MJCF = {
    "gymnasium": (
        "envs/mujoco/assets/ant.xml",
        "envs/mujoco/assets/hopper.xml",
        "envs/mujoco/assets/humanoid.xml",
    ),
    "dm_control": (
        "suite/cheetah.xml",
        "suite/quadruped.xml",
        "suite/fish.xml",
        "suite/manipulator.xml",
        "mujoco/testing/assets/model_with_ball_joints.xml",
        "third_party/kinova/jaco_arm.xml",
    ),
}

SPRINGS = """<mujoco>
  <compiler angle="radian"/>
  <option gravity="1 2 -9"/>
  <worldbody>
    <body name="cart" pos="0 0 1">
      <joint name="x" type="slide" axis="1 0 0" stiffness="20" springref="0.2" ref="0.5"
        damping="2" armature="0.3"/>
      <joint name="turn" axis="0 1 1" pos="0.1 0 0.2" stiffness="5" springref="-1" ref="0.7"
        damping="0.5" armature="0.1"/>
      <geom type="box" size="0.2 0.1 0.3" euler="0.1 0.2 0.3" pos="0.1 0 0"/>
      <body name="bob" pos="0 0 -0.5">
        <joint name="ball" type="ball" pos="0 0.1 0" stiffness="3" damping="0.2" armature="0.05"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.1 0.2 -0.3"/>
        <body name="pad"><geom size="0.1" pos="0 0 -0.4"/></body>
      </body>
    </body>
    <body name="ship" pos="3 0 0">
      <joint name="sail" type="free" stiffness="2" damping="0.3" armature="0.7"/>
      <geom type="ellipsoid" size="0.3 0.2 0.1" pos="0.1 0 0"/>
    </body>
    <body name="still"><geom size="0.1" pos="0 0 5"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        yield


def needs(*packages: str) -> None:
    for package in packages:
        pytest.importorskip(package, reason=f"{package} is not installed")


def agrees(found: sf.interop.Comparison) -> bool:
    assert found.differences
    return found.agrees or pytest.fail(str(found))


@pytest.mark.parametrize(
    ("package", "path"), [(package, path) for package, paths in MJCF.items() for path in paths]
)
def test_robots_of_other_packages_agree_with_mujoco(package, path):
    needs("mujoco")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    found = sf.interop.compare_with("mujoco", Path(spec.origin).parent / path, samples=20)
    assert agrees(found)
    assert len(found.differences) == 7


def test_springs_offsets_and_references_agree_with_mujoco(tmp_path):
    needs("mujoco")
    path = tmp_path / "springs.xml"
    path.write_text(SPRINGS)
    found = sf.interop.compare_with("mujoco", path, samples=20)
    assert agrees(found)
    assert found.worst("springs and damping") > 0  # they are there, and differ by rounding


@pytest.mark.parametrize("robot", ["panda", "ur5", "solo12", "double_pendulum_continuous"])
@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("floating_base", [False, True])
def test_urdf_robots_agree_whoever_reads_them(library, robot, floating_base):
    needs(library)
    from sixfold.formats import bundled

    if robot not in bundled.robots():
        pytest.skip("example-robot-data is not installed")
    options = {"samples": 10, "floating_base": floating_base}
    assert agrees(sf.interop.compare_with(library, robot, **options))


@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
@pytest.mark.parametrize("seed", [0, 1])
def test_models_agree_for_every_joint_that_the_library_has(library, seed):
    needs(library)
    model = zoo(helical=library == "pinocchio", seed=seed)
    assert agrees(sf.interop.compare_with(library, model, samples=20))


@pytest.mark.parametrize("library", ["pinocchio", "mujoco"])
def test_coupled_joints_are_moved_as_they_are_coupled(library):
    needs(library)
    found = sf.interop.compare_with(library, gripper(), samples=5)
    assert agrees(found)
    assert any("1 coupled joints" in text for text in found.left_out)


def test_pinocchio_uses_armature_but_neither_damping_nor_friction():
    needs("pinocchio")
    puma = sf.load("puma560")
    assert any(any(body.armature) for body in puma.bodies)
    found = sf.interop.compare_with("pinocchio", puma, samples=5)
    assert agrees(found)
    text = str(found)
    assert "damping of" in text and "dry friction of" in text


def test_a_difference_is_found():
    needs("mujoco")
    model = sf.load("tree6")
    heavier = replace(model.bodies[1], inertia=model.bodies[1].inertia * (1 + 1e-9))
    other = replace(model, bodies=(model.bodies[0], heavier, *model.bodies[2:]))
    found = compare(model, MuJoCo(to_mujoco(other)), samples=5)
    assert not found.agrees
    assert 1e-11 < found.worst("mass matrix") < 1e-8
    assert "differs (state" in str(found)


def test_a_joint_without_inertia_leaves_forward_dynamics_out():
    needs("pinocchio")
    builder = sf.ModelBuilder("light")
    builder.add_body("a", joint=sf.Revolute("x"), inertia=sf.Inertia.from_mass(1, (0, 0, 1)))
    builder.add_body("b", parent="a", joint=sf.Revolute("x"))
    found = sf.interop.compare_with("pinocchio", builder.build(), samples=5)
    assert [d.quantity for d in found.differences][:2] == ["inverse dynamics", "mass matrix"]
    assert any("no inertia behind" in text for text in found.left_out)


def test_the_comparison_is_plain_data_and_the_same_every_time():
    needs("mujoco")
    once, twice = (sf.interop.compare_with("mujoco", sf.load("tree6"), samples=5) for _ in range(2))
    assert once == twice
    assert once != sf.interop.compare_with("mujoco", sf.load("tree6"), samples=5, seed=1)
    assert once.library == "mujoco" and once.robot == "tree6"
    assert "quantity" in str(once) and "inverse dynamics" in str(once)


def test_joints_without_a_counterpart_are_refused():
    needs("mujoco", "pinocchio")
    with pytest.raises(sf.errors.NotApplicableError, match="helical"):
        to_mujoco(zoo(helical=True))
    with pytest.raises(sf.errors.NotApplicableError, match="custom"):
        to_pinocchio(sf.load("rolling_ball"))
    builder = sf.ModelBuilder("raised")
    ball = sf.Inertia.from_mass(1, (0, 0, 0), (1, 1, 1))
    builder.add_body("b", joint=sf.Free(), placement=(0, 0, 1), inertia=ball)
    with pytest.raises(sf.errors.NotApplicableError, match="world's origin"):
        to_mujoco(builder.build())
    builder = sf.ModelBuilder("geared")
    builder.add_body("b", joint=sf.Free(), inertia=ball, armature=1.0)
    with pytest.raises(sf.errors.NotApplicableError, match="with armature"):
        to_mujoco(builder.build())
    builder = sf.ModelBuilder("uneven")
    builder.add_body("b", joint=sf.Spherical(), inertia=ball, damping=(1, 2, 3))
    with pytest.raises(sf.errors.NotApplicableError, match="differs by axis"):
        to_mujoco(builder.build())
    builder = sf.ModelBuilder("massless")
    builder.add_body("b", joint=sf.Revolute("z"))
    with pytest.raises(sf.errors.NotApplicableError, match=r"MuJoCo says: .*mjMINVAL"):
        to_mujoco(builder.build())


def test_ball_springs_rest_where_they_should_in_mujoco():
    needs("mujoco")
    builder = sf.ModelBuilder("sprung")
    builder.add_body(
        "b",
        joint=sf.Spherical(),
        joint_name="j",
        inertia=sf.Inertia.from_mass(1, (0, 0, 0.1), (1, 1, 1)),
        stiffness=4.0,
        rest=(0.5, 0.5, 0.5, 0.5),
        damping=0.3,
    )
    model = builder.build()
    assert agrees(sf.interop.compare_with("mujoco", model, samples=10))
    back = from_mujoco(to_mujoco(model))
    assert np.allclose(back.bodies[0].rest, (0.5, 0.5, 0.5, 0.5))


def test_wrong_options_are_refused(tmp_path):
    with pytest.raises(sf.errors.OptionError, match="pinocchio"):
        sf.interop.compare_with("bullet", sf.load("tree6"))
    with pytest.raises(sf.errors.OptionError, match="samples"):
        sf.interop.compare_with("mujoco", sf.load("tree6"), samples=0)
    with pytest.raises(sf.errors.ArgumentError, match="argument 'robot'"):
        sf.interop.compare_with("mujoco", 5)


@pytest.mark.parametrize(("library", "package"), [("pinocchio", "pin"), ("mujoco", "mujoco")])
def test_a_missing_library_is_explained(library, package, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(sf.errors.NotApplicableError, match=f"pip install {package}"):
        sf.interop.compare_with(library, sf.load("tree6"))


def test_what_mujoco_refuses_is_said_in_its_words(tmp_path):
    needs("mujoco")
    path = tmp_path / "odd.urdf"
    path.write_text(
        """<robot name="odd"><link name="a"/><link name="b"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    )
    with (
        warnings.catch_warnings(),
        pytest.raises(sf.errors.NotApplicableError, match=r"A . B >= C"),
    ):
        warnings.simplefilter("ignore")
        sf.interop.compare_with("mujoco", path)


def test_the_command_prints_the_table_and_says_by_its_status_whether_they_agree():
    needs("mujoco")
    done = CliRunner().invoke(main, ["compare", "tree6", "--with", "mujoco", "--samples", "5"])
    assert done.exit_code == 0, done.output
    assert "mass matrix" in done.output
