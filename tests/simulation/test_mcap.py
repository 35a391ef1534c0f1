"""MCAP files: what ROS 2's own decoder reads is the motion, to the last bit."""

import numpy as np
import pytest

import sixfold as sf

pytest.importorskip("mcap", reason="mcap is not installed")
ros2 = pytest.importorskip("mcap_ros2.reader", reason="mcap-ros2-support is not installed")
make_reader = pytest.importorskip("mcap.reader").make_reader


def read(path):
    """Return messages by topic, each with its time [ns]."""
    found = {}
    for message in ros2.read_ros2_messages(str(path)):
        found.setdefault(message.channel.topic, []).append((message.log_time_ns, message.ros_msg))
    return found


def pose(transform):
    """Return a message's pose as a matrix."""
    p, r = transform.translation, transform.rotation
    x, y, z, w = r.x, r.y, r.z, r.w
    R = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = R, [p.x, p.y, p.z]
    return found


def world_poses(messages, base):
    """Return the pose of each frame in the world, from those in their parents."""
    found = {base: np.eye(4)}
    for each in messages:
        found[each.child_frame_id] = found[each.header.frame_id] @ pose(each.transform)
    return found


@pytest.mark.parametrize("name", ["puma560", "floating_link", "tree6", "quadruped"])
def test_a_saved_motion_is_read_by_the_decoder_of_ros(tmp_path, name):
    model = sf.load(name)
    q, v = sf.random_state(model, seed=1)
    run = sf.simulate(model, q, v, duration=0.03, dt=1e-2)
    path = tmp_path / "run.mcap"
    run.save(path)
    found = read(path)
    assert [t for t, _ in found["/tf"]] == [round(t * 1e9) for t in run.t]
    for k, (_, message) in enumerate(found["/tf"]):
        poses = world_poses(message.transforms, model.base_name)
        for body, expected in zip(model.body_names, sf.body_poses(model, run.q[k]), strict=True):
            assert np.allclose(poses[body], expected, atol=1e-14, rtol=0)
        stamp = message.transforms[-1].header.stamp
        assert stamp.sec * 10**9 + stamp.nanosec == round(run.t[k] * 1e9)
    single = [j for j in model.coordinates.free if j.q.stop - j.q.start == 1]
    for k, (_, message) in enumerate(found.get("/joint_states", [])):
        assert list(message.name) == [j.name for j in single]
        assert np.array_equal(message.position, [run.q[k, j.q.start] for j in single])
        assert np.array_equal(message.velocity, [run.v[k, j.v.start] for j in single])
        assert np.array_equal(message.effort, [run.tau[k, j.v.start] for j in single])
    assert ("/joint_states" in found) == bool(single)
    others = len(single) < len(model.coordinates.free)
    assert ("/coordinates" in found) == others
    if others:
        assert np.array_equal([m.position for _, m in found["/coordinates"]], run.q)
        assert np.array_equal([m.velocity for _, m in found["/velocities"]], run.v)
        assert tuple(found["/velocities"][0][1].name) == model.coordinates.v_names


def test_the_robot_and_its_frames_are_there_from_the_start(tmp_path):
    builder = sf.ModelBuilder("arm")
    solid = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4))
    builder.add_body("link", joint=sf.Revolute("x"), inertia=solid)
    builder.add_frame("tool", "link", sf.Transform.from_pose(np.eye(3), (1, 2, 3)))
    model = builder.build()
    with sf.McapLog(tmp_path / "a.mcap", model, start=100.0) as log:
        log.write([0.0, 0.5], [[0.1], [0.2]])
    found = read(tmp_path / "a.mcap")
    again = tmp_path / "again.urdf"
    again.write_text(found["/robot_description"][0][1].data)
    assert sf.load(again) == model
    ((at, static),) = found["/tf_static"]
    assert at == 100 * 10**9
    assert static.transforms[0].header.frame_id == "link"
    assert np.array_equal(pose(static.transforms[0].transform)[:3, 3], [1, 2, 3])
    assert [t for t, _ in found["/joint_states"]] == [100 * 10**9, 1005 * 10**8]
    assert len(found["/joint_states"][0][1].velocity) == 0
    with open(tmp_path / "a.mcap", "rb") as stream:
        summary = make_reader(stream).get_summary()
    channels = {c.topic: c.metadata for c in summary.channels.values()}
    assert "durability: 1" in channels["/tf_static"]["offered_qos_profiles"]
    assert {s.name for s in summary.schemas.values()} == {
        *("sensor_msgs/msg/JointState", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage")
    }


@pytest.mark.parametrize("rows", [None, 3])
def test_a_stepper_is_recorded_while_it_runs(tmp_path, rows):
    model = sf.load("double_pendulum")
    stepper = sf.Stepper(model, rows, dt=1e-3, substeps=5)
    states = []
    with sf.McapLog(tmp_path / "live.mcap", model) as log:
        for k in range(20):
            tau = np.array([0.1 * k, -0.2])
            stepper.step(tau)
            log.record(stepper, tau, row=0 if rows is None else 2)
            states.append((*np.atleast_2d(stepper.q)[-1], *np.atleast_2d(stepper.v)[-1], *tau))
        assert "20 states, open" in repr(log)
    found = read(tmp_path / "live.mcap")["/joint_states"]
    assert [t for t, _ in found] == [5_000_000 * (k + 1) for k in range(20)]
    assert np.array_equal([[*m.position, *m.velocity, *m.effort] for _, m in found], states)


def test_what_makes_no_sense_is_refused(tmp_path):
    model = sf.load("double_pendulum")
    log = sf.McapLog(tmp_path / "a.mcap", model)
    for call, error, words in (
        (lambda: log.write(-1.0, [0, 0]), sf.errors.OptionError, "time >= 0"),
        (lambda: log.write(np.nan, [0, 0]), sf.errors.OptionError, "time >= 0"),
        (lambda: log.write(0.0, [0, 0, 0]), sf.errors.ShapeError, "'q'"),
        (lambda: log.write([0.0, 1.0], np.zeros((3, 2))), sf.errors.ShapeError, "'q'"),
        (lambda: log.record(3), sf.errors.ArgumentError, "Stepper"),
        (
            lambda: log.record(sf.Stepper(sf.load("puma560"), dt=0.1)),
            sf.errors.ArgumentError,
            "Stepper",
        ),
        (lambda: log.record(sf.Stepper(model, dt=0.1), row=1), sf.errors.OptionError, "row"),
        (
            lambda: sf.McapLog(tmp_path / "no" / "a.mcap", model),
            sf.errors.OutputFileError,
            "cannot",
        ),
        (lambda: sf.McapLog(tmp_path / "b.mcap", model, start=-2), sf.errors.OptionError, "start"),
    ):
        with pytest.raises(error, match=words):
            call()
    log.close()
    log.close()
    with pytest.raises(sf.errors.NotApplicableError, match="closed"):
        log.write(0.0, [0, 0])


def test_a_motion_of_several_starts_is_saved_one_by_one(tmp_path):
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 3, seed=0)
    run = sf.simulate(model, q, v, duration=0.02, dt=1e-2)
    with pytest.raises(sf.errors.NotApplicableError, match=r"3 starts(.|\n)*select\(0\)"):
        run.save(tmp_path / "run.mcap")
    assert not list(tmp_path.iterdir())
    run.select(1).save(tmp_path / "run.mcap")
    found = read(tmp_path / "run.mcap")["/joint_states"]
    assert np.array_equal([m.position for _, m in found], run.q[1])
    with pytest.raises(sf.errors.TrajectoryFileError, match=r"is a log(.|\n)*npz"):
        sf.Trajectory.load(tmp_path / "run.mcap")
