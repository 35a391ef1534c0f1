"""States and results keep their meaning on the way to another library and back."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.interop.mujoco import from_mujoco, to_mujoco
from sixfold.interop.pinocchio import from_pinocchio, to_pinocchio
from tests.interop.models import gripper, zoo

SEEDS = (0, 1, 2)


@pytest.fixture(params=["pinocchio", "mujoco"])
def pair(request):
    """A model and its converter, for each library that is installed."""
    pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    model = zoo(helical=request.param == "pinocchio")
    other = (to_pinocchio if request.param == "pinocchio" else to_mujoco)(model)
    return model, sf.interop.convert(model, other), other


def states(model: sf.Model, shape=(4, 3), seed: int = 5):
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, shape, seed=rng)
    a, tau = rng.standard_normal((2, *shape, model.nv))
    return q, v, a, tau


def test_every_way_there_has_its_way_back(pair):
    model, c, _ = pair
    q, v, a, tau = states(model)
    there = c.q_to(q)
    assert there.shape == (4, 3, c.nq)
    assert np.allclose(c.q_from(there), q, atol=1e-15)
    assert np.allclose(c.v_from(there, c.v_to(q, v)), v, atol=1e-14)
    assert np.allclose(c.a_from(there, c.v_to(q, v), c.a_to(q, v, a)), a, atol=1e-13)
    assert np.allclose(c.tau_from(there, c.tau_to(q, tau)), tau, atol=1e-14)
    M = sf.mass_matrix(model, q)
    assert np.allclose(c.mass_matrix_from(there, c.mass_matrix_to(q, M)), M, atol=1e-13)
    poses = sf.body_poses(model, q)
    assert np.allclose(c.pose_from(c.pose_to(poses)), poses, atol=1e-14)
    assert np.array_equal(c.spatial_from(c.spatial_to(q[..., :6])), q[..., :6])


def test_arguments_broadcast_over_leading_axes(pair):
    model, c, _ = pair
    q, v, a, tau = states(model)
    one = c.a_to(q[2, 1], v[2, 1], a[2, 1])
    assert np.allclose(c.a_to(q, v, a)[2, 1], one, atol=1e-14)
    assert c.a_to(q[0, 0], v, a[:, :1]).shape == (4, 3, c.nv)
    assert c.tau_to(q[0, 0], tau).shape == (4, 3, c.nv)


def test_power_and_energy_are_the_same_in_both(pair):
    model, c, _ = pair
    q, v, _, tau = states(model)
    there = c.v_to(q, v)
    assert np.allclose((c.tau_to(q, tau) * there).sum(-1), (tau * v).sum(-1), atol=1e-12)
    M = c.mass_matrix_to(q, sf.mass_matrix(model, q))
    energy = 0.5 * np.einsum("...i,...ij,...j", there, M, there)
    assert np.allclose(energy, sf.kinetic_energy(model, q, v), rtol=1e-12)


def test_the_acceleration_is_the_rate_of_the_velocity(pair):
    """Along a motion of constant acceleration here, v_to changes at the rate a_to gives."""
    model, c, _ = pair
    q, v, a, _ = states(model, ())
    h = 1e-5
    ahead, behind = (c.v_to(sf.integrate(model, q, v, s * h), v + s * h * a) for s in (1, -1))
    assert np.allclose((ahead - behind) / (2 * h), c.a_to(q, v, a), atol=1e-7)


def test_pinocchio_integrates_to_the_same_place():
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    model = zoo(helical=True)
    other = to_pinocchio(model)
    c = sf.interop.convert(model, other)
    q, v, _, _ = states(model, ())
    moved = pin.integrate(other, c.q_to(q), 0.1 * c.v_to(q, v))
    assert np.allclose(
        sf.difference(model, sf.integrate(model, q, v, 0.1), c.q_from(moved)), 0, atol=1e-13
    )


def test_mujoco_integrates_to_the_same_place_but_for_the_path_of_a_free_joint():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = zoo(helical=False)
    other = to_mujoco(model)
    c = sf.interop.convert(model, other)
    q, v, _, _ = states(model, ())
    moved = c.q_to(q)
    mujoco.mj_integratePos(other, moved, c.v_to(q, v), 0.1)
    ours, theirs = sf.integrate(model, q, v, 0.1), c.q_from(moved)
    # MuJoCo moves a free body's origin along a straight line, Sixfold along a screw
    assert np.allclose(theirs[:3], c.q_to(q)[:3] + 0.1 * c.v_to(q, v)[:3], atol=1e-14)
    theirs[:3] = ours[:3]
    assert np.allclose(sf.difference(model, ours, theirs), 0, atol=1e-13)


def test_external_forces_act_alike(pair):
    model, c, other = pair
    q, v, a, _ = states(model, ())
    f_ext = np.random.default_rng(7).standard_normal((model.nb, 6))
    for frame in ("world", "body"):
        rows = c.f_ext_to(q, f_ext, f_ext_frame=frame)
        free = sf.inverse_dynamics(model, q, v, a)
        change = sf.inverse_dynamics(model, q, v, a, f_ext, f_ext_frame=frame) - free
        assert np.allclose(_generalised(c, other, q, rows), -change, atol=1e-12)


def _generalised(c, other, q, rows):
    """Return the joint forces of external ones as the other library computes them."""
    at = c.q_to(q)
    if c.library == "mujoco":
        import mujoco

        d = mujoco.MjData(other)
        d.qpos[:] = at
        mujoco.mj_fwdPosition(other, d)
        total = np.zeros(other.nv)
        for b, row in enumerate(rows):
            mujoco.mj_applyFT(other, d, row[:3], row[3:], d.xipos[b], b, total)
        return c.tau_from(at, total)
    import pinocchio as pin

    data, zero = other.createData(), np.zeros(other.nv)
    loaded = pin.rnea(other, data, at, zero, zero, [pin.Force(row) for row in rows]).copy()
    return c.tau_from(at, pin.rnea(other, data, at, zero, zero) - loaded)


def test_poses_come_in_the_other_librarys_order(pair):
    model, c, other = pair
    q, _, _, _ = states(model, ())
    pose = sf.frame_pose(model, q, "b3")
    if c.library == "mujoco":
        import mujoco

        d = mujoco.MjData(other)
        d.qpos[:] = c.q_to(q)
        mujoco.mj_kinematics(other, d)
        expected = np.concatenate([d.body("b3").xpos, d.body("b3").xquat])
    else:
        import pinocchio as pin

        data = other.createData()
        pin.forwardKinematics(other, data, c.q_to(q))
        expected = pin.SE3ToXYZQUAT(data.oMi[other.getJointId("j3")])
    found = c.pose_to(pose)
    sign = np.sign(found[3:] @ expected[3:])
    assert np.allclose(np.r_[found[:3], sign * found[3:]], expected, atol=1e-14)


def test_continuous_and_planar_joints_of_pinocchio_have_cosines_and_sines():
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    other = pin.Model()
    j = other.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Random(), "turn")
    other.appendBodyToJoint(j, pin.Inertia.Random(), pin.SE3.Identity())
    j = other.addJoint(j, pin.JointModelPlanar(), pin.SE3.Random(), "plane")
    other.appendBodyToJoint(j, pin.Inertia.Random(), pin.SE3.Identity())
    builder = sf.ModelBuilder("flat", gravity=other.gravity.linear.tolist())
    for k, (name, joint) in enumerate((("turn", sf.Revolute("z")), ("plane", sf.Planar()))):
        placement, inertia = other.jointPlacements[k + 1], other.inertias[k + 1]
        builder.add_body(
            f"b{k}",
            parent="world" if k == 0 else "b0",
            joint=joint,
            joint_name=name,
            placement=sf.Transform.from_pose(placement.rotation.tolist(), placement.translation),
            inertia=sf.Inertia.from_mass(inertia.mass, inertia.lever, inertia.inertia.tolist()),
        )
    model = builder.build()
    c = sf.interop.convert(model, other)
    assert (c.nq, c.nv) == (6, 4)
    q, v, a, _ = states(model)
    assert np.allclose(c.q_from(c.q_to(q)), q)
    data = other.createData()
    at, speed, rate = c.q_to(q)[1, 1], c.v_to(q, v)[1, 1], c.a_to(q, v, a)[1, 1]
    tau = c.tau_from(at, pin.rnea(other, data, at, speed, rate))
    assert np.allclose(tau, sf.inverse_dynamics(model, q, v, a)[1, 1], atol=1e-12)


def test_followers_are_computed_on_the_way_there_and_work_on_their_masters():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    model = gripper()
    c = sf.interop.convert(model, to_mujoco(model))
    assert (model.nv, c.nv) == (1, 2)
    assert np.allclose(c.q_to([0.3]), (0.3, -0.5))
    assert np.allclose(c.v_to([0.3], [1.0]), (1.0, -2.0))
    assert np.allclose(c.q_from([0.3, 7.0]), [0.3])
    assert np.allclose(c.tau_from([0.3, -0.5], [1.0, 5.0]), [1.0 - 10.0])
    assert np.allclose(c.tau_to([0.3], [2.0]), (2.0, 0.0))
    assert np.allclose(c.mass_matrix_from([0.3, -0.5], np.diag([0.2, 0.2])), 0.2 + 4 * 0.2)
    with pytest.raises(sf.errors.NotApplicableError, match="reduced by couplings"):
        c.mass_matrix_to([0.3], [[1.0]])


def test_wrong_partners_are_refused():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    other = to_mujoco(gripper())
    with pytest.raises(sf.errors.UnknownNameError, match="no joint named 'shoulder'"):
        sf.interop.convert(sf.rename(gripper(), joints={"l_joint": "shoulder"}), other)
    with pytest.raises(sf.errors.NotApplicableError, match=r"r_joint.*has not"):
        sf.interop.convert(sf.lock_joints(gripper(), ["l_joint"]), other)
    builder = sf.ModelBuilder("other")
    for name in ("l_joint", "r_joint"):
        builder.add_body(name[0], joint=sf.Spherical(), joint_name=name)
    with pytest.raises(sf.errors.NotApplicableError, match="spherical here"):
        sf.interop.convert(builder.build(), other)
    with pytest.raises(sf.errors.NumberError, match=r"pinocchio.Model or mujoco.MjModel"):
        sf.interop.convert(gripper(), "mujoco")
    with pytest.raises(sf.errors.ArgumentError, match="argument 'model'"):
        sf.interop.convert("panda", other)


def test_wrong_shapes_name_the_argument(pair):
    model, c, _ = pair
    q, v, _, _ = states(model, ())
    with pytest.raises(sf.errors.ShapeError, match="q_to: argument 'q'"):
        c.q_to(v)
    with pytest.raises(sf.errors.ShapeError, match="v_to: argument 'v'"):
        c.v_to(q, q)
    with pytest.raises(sf.errors.ShapeError, match="argument 'f_ext'"):
        c.f_ext_to(q, v)
    with pytest.raises(sf.errors.ShapeError, match="argument 'M'"):
        c.mass_matrix_from(c.q_to(q), np.eye(2))
    with pytest.raises(sf.errors.ShapeError, match="argument 'pose'"):
        c.pose_to(np.eye(3))


def test_models_come_back_from_the_other_library():
    pytest.importorskip("mujoco", reason="mujoco is not installed")
    pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    tree = sf.load("tree6")
    q, v = sf.random_state(tree, 5, seed=0)
    expected = sf.inverse_dynamics(tree, q, v, v)
    there_and_back = from_mujoco(to_mujoco(tree))
    assert np.allclose(sf.inverse_dynamics(there_and_back, q, v, v), expected, rtol=1e-12)
    bare = sf.load("puma560").without(damping=True, friction=True, armature=True)
    expected = sf.inverse_dynamics(bare, q, v, v)
    there_and_back = from_pinocchio(to_pinocchio(bare))
    assert np.allclose(sf.inverse_dynamics(there_and_back, q, v, v), expected, rtol=1e-12)


def test_a_force_on_a_body_that_mujoco_does_not_have_is_refused():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = """<mujoco><worldbody><body name="b"><joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/><geom size="0.1"/></body></worldbody></mujoco>"""
    other = mujoco.MjModel.from_xml_string(text)
    model = from_mujoco(other)
    c = sf.interop.convert(model, other)
    f_ext = np.zeros((2, 6))
    f_ext[1] = 1.0
    assert c.f_ext_to([0, 0], f_ext).shape == (2, 6)
    f_ext[0, 3] = 1.0
    with pytest.raises(sf.errors.NotApplicableError, match="'b/x'"):
        c.f_ext_to([0, 0], f_ext)


def test_every_floating_robot_converts_to_what_pinocchio_builds_by_default():
    """Pinocchio calls a floating base "root_joint" unless told otherwise."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    from sixfold.formats import bundled

    known = [name for name in sorted(bundled.robots()) if name != "ur3_empty"]  # without a link
    if not known:
        pytest.skip("example-robot-data is not installed")
    for name in known:
        model = sf.load(name, floating_base=True)
        model = model.without(damping=True, friction=True, armature=True)
        other = pin.buildModelFromUrdf(str(model.origin.file), pin.JointModelFreeFlyer())
        assert "root_joint" in other.names, name
        c = sf.interop.convert(model, other)
        q, v, a, _ = (x[0, 0] for x in states(model, (1, 1)))
        there = c.q_to(q)
        assert np.allclose(c.q_from(there), wrapped(model, other, q), atol=1e-12), name
        assert np.allclose(c.v_from(there, c.v_to(q, v)), v, atol=1e-12), name
        other.gravity.linear = np.array(model.gravity)
        other.armature = np.zeros(other.nv)
        data = other.createData()
        force = c.tau_from(there, pin.rnea(other, data, there, c.v_to(q, v), c.a_to(q, v, a)))
        expected = sf.inverse_dynamics(model, q, v, a, backend="numpy")
        size = np.abs(expected).max()
        assert np.abs(force - expected).max() < 1e-11 * size, name
        upper = np.triu(pin.crba(other, data, there))
        M = c.mass_matrix_from(there, upper + np.triu(upper, 1).T)
        inertia = sf.mass_matrix(model, q, backend="numpy")
        assert np.abs(M - inertia).max() < 1e-12 * np.abs(inertia).max(), name


def wrapped(model, other, q):
    """Return q with the angles that Pinocchio has as cosine and sine in (-pi, pi]."""
    q = q.copy()
    for j in range(1, other.njoints):
        if other.nqs[j] == 2 and other.names[j] in model.joint_names:
            part = model.q_slice(other.names[j])
            q[part] = np.arctan2(np.sin(q[part]), np.cos(q[part]))
    return q


def test_a_floating_base_is_not_guessed_where_there_are_two():
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed")
    builder = sf.ModelBuilder("two")
    inertia = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.2, 0.25))
    for name in ("a", "b"):
        builder.add_body(name, joint=sf.Free(), joint_name=f"{name}_free", inertia=inertia)
    model, other = builder.build(), pin.Model()
    for name in ("first", "second"):
        other.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), name)
    with pytest.raises(sf.errors.UnknownNameError, match="a_free"):
        sf.interop.convert(model, other)


def test_a_floating_base_of_mujoco_may_have_a_name_of_its_own():
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    text = """<mujoco><worldbody><body name="box"><freejoint name="floating"/>
    <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.2 0.25"/></body></worldbody></mujoco>"""
    builder = sf.ModelBuilder("box")
    inertia = sf.Inertia.from_mass(1.0, rotational=(0.1, 0.2, 0.25))
    builder.add_body("box", joint=sf.Free(), joint_name="base", inertia=inertia)
    model, other = builder.build(), mujoco.MjModel.from_xml_string(text)
    q, v = sf.random_state(model, seed=2)
    c = sf.interop.convert(model, other)
    assert np.allclose(c.v_from(c.q_to(q), c.v_to(q, v)), v)
