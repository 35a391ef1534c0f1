"""Equality constraints of MJCF files: loops and gears with the meaning they have in MuJoCo."""

import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold.interop.mujoco import from_mujoco

mujoco = pytest.importorskip("mujoco")

TREE = """<mujoco><compiler angle="radian"/>{head}<worldbody>
 <body name="a" pos="0.3 0 0.1" euler="0.1 0.2 0.3">
  <joint name="j" axis="0 0.6 0.8" pos="0.1 0 0" ref="0.4"/><joint name="s" type="slide"/>
  <geom size="0.1" contype="0" conaffinity="0"/>
  <site name="sa" pos="0.1 0.2 0.3" euler="0.4 0.1 0.2"/>
  <body name="b" pos="0 0.5 0">
   <joint name="k" axis="1 0 0" ref="-0.3"/><joint name="l" axis="0 1 0"/>
   <geom size="0.1" contype="0" conaffinity="0"/>
   <body name="still" pos="0 0 0.2" euler="0.3 0 0"/></body></body>
 <body name="c" pos="0.5 0.5 0"><joint name="n" axis="0 0 1"/>
  <joint name="o" axis="1 0 0" pos="0 0.2 0"/><geom size="0.1" contype="0" conaffinity="0"/>
  <site name="sc" pos="0.1 0.2 0.3" euler="0.4 0.5 0.2"/></body>
</worldbody><equality>
{equality}
</equality></mujoco>"""


def written(folder, equality, head=""):
    path = folder / "m.xml"
    path.write_text(TREE.format(equality=equality, head=head))
    return path


def loaded(folder, equality, head="", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.errors.RobotFileWarning)
        return sf.load(written(folder, equality, head), **options)


def of_mujoco(path, q):
    """Return MuJoCo's own residual and Jacobian of the equality constraints."""
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    d = mujoco.MjData(m)
    d.qpos[:] = q
    mujoco.mj_forward(m, d)
    mine = d.efc_type[: d.nefc] == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    return d.efc_pos[: d.nefc][mine], d.efc_J.reshape(-1, m.nv)[: d.nefc][mine]


def span(J):
    return np.linalg.pinv(J) @ J


POINTS = {
    "connect to the world": '<connect body1="b" anchor="0.1 0.2 0.3"/>',
    "connect": '<connect body1="b" body2="c" anchor="0.1 0.2 0.3"/>',
    "connect a static body": '<connect body1="still" body2="c" anchor="0.1 0.2 0.3"/>',
    "connect sites": '<connect site1="sa" site2="sc"/>',
}
WELDS = {
    "weld to the world": '<weld body1="b"/>',
    "weld": '<weld body1="b" body2="c"/>',
    "weld from the world": '<weld body1="world" body2="c"/>',
    "weld at a pose": '<weld body1="b" body2="c" relpose="0.1 0.2 0.3 0.9 0.1 0.2 0.3"/>',
    "weld at an anchor": '<weld body1="b" body2="c" anchor="0.3 0.1 0.2"/>',
    "weld at both": '<weld body1="b" body2="c" anchor="1 2 3" relpose="3 2 1 0.5 0.5 0.5 0.5"/>',
    "weld sites": '<weld site1="sa" site2="sc"/>',
}
GEARS = {
    "joint": '<joint joint1="j" joint2="k"/>',
    "polynomial": '<joint joint1="k" joint2="j" polycoef="0.1 0.5 -0.3 0.2 0.7"/>',
    "slide": '<joint joint1="s" joint2="n" polycoef="0.1 0.2 0 0 0"/>',
    "one joint": '<joint joint1="j" polycoef="0.25 1 0 0 0"/>',
    "constant": '<joint joint1="j" joint2="k" polycoef="0.25 0 0 0 0"/>',
}


@pytest.mark.parametrize("equality", POINTS.values(), ids=POINTS)
def test_points_mean_what_they_mean_in_mujoco(tmp_path, equality):
    model = loaded(tmp_path, equality)
    (loop,) = model.constraints
    assert loop.kind == "point"
    for q in sf.random_state(model, 5, seed=0)[0]:
        gap, _ = of_mujoco(tmp_path / "m.xml", q)
        ours = sf.loops.constraint_gaps(model, q)
        np.testing.assert_allclose(np.linalg.norm(ours), np.linalg.norm(gap), rtol=1e-12)


@pytest.mark.parametrize("equality", WELDS.values(), ids=WELDS)
def test_welds_mean_what_they_mean_in_mujoco(tmp_path, equality):
    model = loaded(tmp_path, equality)
    (loop,) = model.constraints
    assert loop.kind == "weld"
    for q in sf.random_state(model, 5, seed=1)[0]:
        gap, _ = of_mujoco(tmp_path / "m.xml", q)
        ours = sf.loops.constraint_gaps(model, q)
        place = np.linalg.norm(ours[[0, 1, 2]]), np.linalg.norm(ours[[3, 4, 5]])
        # turns in MuJoCo are sin(angle / 2), here 2 tan(angle / 2)
        half = np.linalg.norm(gap[3:])
        np.testing.assert_allclose(place[1], np.linalg.norm(gap[:3]), rtol=1e-12)
        np.testing.assert_allclose(place[0], 2 * half / np.sqrt(1 - half**2), rtol=1e-9)


CLOSING = [*POINTS.values(), *GEARS.values(), WELDS["weld"], WELDS["weld at an anchor"]]


@pytest.mark.parametrize("equality", CLOSING)
def test_closed_here_is_closed_there(tmp_path, equality):
    model = loaded(tmp_path, equality)
    q = sf.loops.assemble(model)
    gap, J = of_mujoco(tmp_path / "m.xml", q)
    np.testing.assert_allclose(gap, 0.0, atol=1e-10)
    # rows of one may be those of the other in turned axes
    np.testing.assert_allclose(span(sf.loops.constraint_jacobian(model, q)), span(J), atol=1e-9)


@pytest.mark.parametrize("equality", GEARS.values(), ids=GEARS)
def test_gears_mean_what_they_mean_in_mujoco(tmp_path, equality):
    model = loaded(tmp_path, equality)
    for q in sf.random_state(model, 5, seed=2)[0]:
        gap, J = of_mujoco(tmp_path / "m.xml", q)
        np.testing.assert_allclose(sf.loops.constraint_gaps(model, q), gap, atol=1e-13)
        np.testing.assert_allclose(sf.loops.constraint_jacobian(model, q), J, atol=1e-13)


def test_a_weld_without_torque_holds_a_point(tmp_path):
    model = loaded(tmp_path, '<weld body1="b" body2="c" anchor="0.1 0 0" torquescale="0"/>')
    assert model.constraints[0].kind == "point"
    q = sf.random_state(model, seed=3)[0]
    gap, _ = of_mujoco(tmp_path / "m.xml", q)
    ours = sf.loops.constraint_gaps(model, q)
    np.testing.assert_allclose(np.linalg.norm(ours), np.linalg.norm(gap[:3]), rtol=1e-12)


def test_names_defaults_and_flags(tmp_path):
    two = '<connect name="pin" body1="b" anchor="0 0 0"/>\n<joint joint1="j" solref="0.1 1"/>'
    model = loaded(tmp_path, two)
    assert [each.name for each in model.constraints] == ["pin", "equality1"]
    assert any("2 equality constraints hold exactly here" in x for x in model.origin.notes)
    off = '<default><equality active="false" solimp="0.9"/></default>'
    assert loaded(tmp_path, two, off).constraints == ()
    for flag in ("equality", "constraint"):
        head = f'<option><flag {flag}="disable"/></option>'
        model = loaded(tmp_path, two, head)
        assert model.constraints == ()
        assert any("switched off" in note for note in model.origin.notes)


def test_models_of_mujoco_bring_their_loops(tmp_path):
    path = written(tmp_path, POINTS["connect"])
    assert from_mujoco(mujoco.MjModel.from_xml_path(str(path))).nc == 3


def test_a_floating_base_closes_loops_with_the_world(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(
        """<mujoco><worldbody><body name="a" pos="1 0 0"><geom size="0.1"/></body></worldbody>
        <equality><connect body1="a" anchor="0 0 0.5"/></equality></mujoco>"""
    )
    with pytest.warns(sf.errors.RobotFileWarning, match=r"equality connect \(line 2\)"):
        assert sf.load(path).nc == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sf.load(path, floating_base=True)
    assert model.nc == 3
    q = np.array([1.0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(sf.loops.constraint_gaps(model, q), 0, atol=1e-15)


def test_what_has_no_counterpart_is_said_once_with_its_line(tmp_path):
    lines = (
        '<joint joint1="j" active="false"/>',
        '<tendon tendon1="x"/>',
        '<tendon tendon1="y"/>',
        '<weld body1="b" body2="still"/>',
    )
    path = written(tmp_path, "\n".join(lines))
    with pytest.warns(sf.errors.RobotFileWarning) as caught:
        model = sf.load(path)
    assert model.constraints == ()
    first = path.read_text().splitlines().index(lines[0]) + 1
    (text,) = [str(w.message) for w in caught]
    assert f"2 x equality (line {first + 1})" in text
    assert f"equality weld (line {first + 3})" in text
    assert "inactive" not in text
    notes = "\n".join(model.origin.notes)
    assert "its bodies cannot move against each other" in notes
    inactive = "inactive equality joint: it is off when the simulation starts"
    assert f"{inactive} (first at {path}:{first})" in notes
    with pytest.raises(sf.errors.RobotFileError) as refused:
        sf.load(path, strict=True)
    assert refused.value.line == first + 1


def test_wrong_numbers_are_refused_at_their_line(tmp_path):
    path = written(tmp_path, '<connect body1="b" anchor="0 0 x"/>')
    with pytest.raises(sf.errors.RobotFileError, match="anchor"):
        sf.load(path)
    path = written(tmp_path, '<connect body1="nobody" anchor="0 0 0"/>')
    with pytest.raises(sf.errors.RobotFileError, match="nobody"):
        sf.load(path)
    path = written(tmp_path, '<joint joint1="j" joint2="j"/>')
    with pytest.raises(sf.errors.RobotFileError) as caught:
        sf.load(path)
    lines = path.read_text().splitlines()
    assert caught.value.line == lines.index('<joint joint1="j" joint2="j"/>') + 1
