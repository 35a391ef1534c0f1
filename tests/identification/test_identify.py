"""From a log to a model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.identification.problem import start_of
from tests.identification.robots import arm, changed, log, motion, truth


def relative_error(result, model, run):
    """Return the error of the torques on a motion, relative to the torques."""
    right = sf.inverse_dynamics(model, run.q, run.v, run.a)
    wrong = result.predict(run.q, run.v, run.a) - right
    return np.sqrt((wrong**2).mean(axis=0) / (right**2).mean(axis=0))


def true_base(result, model):
    """Return the true base parameters."""
    problem = result.problem
    return problem.base @ start_of(model, problem.choice, problem.unknowns)


@pytest.fixture(scope="module")
def result():
    q, v, a, tau, t = log()
    return sf.identification.identify(arm(), q, v, a, tau, t=t)


def test_the_identified_arm_predicts_torques_of_another_motion(result):
    assert relative_error(result, truth(), motion(seed=7)).max() < 0.02
    assert result.ok and result.findings == ()


def test_every_body_is_physical(result):
    for body in result.model.bodies:
        assert sf.spatial.physical_consistency(body.inertia, tolerance=0.0).physical


def test_base_parameters_lie_within_their_standard_errors(result):
    z = [
        (p.value - right) / p.error
        for p, right in zip(result.parameters, true_base(result, truth()), strict=False)
    ]
    assert np.abs(z).max() < 4 and 0.4 < np.sqrt(np.mean(np.square(z))) < 1.6


def test_residuals_are_the_noise_on_the_fit_and_on_what_was_held_out(result):
    for joint in result.joints:
        assert joint.fit == pytest.approx(0.05, rel=0.1)
        assert joint.hold_out == pytest.approx(0.05, rel=0.1)
    q, v, a, tau, _t = log()
    np.testing.assert_allclose(result.evaluate(q, v, a, tau), 0.05, rtol=0.1)


def test_without_noise_the_base_parameters_are_exact():
    q, v, a, tau, _t = log(0.0)
    found = sf.identification.identify(arm(), q, v, a, tau)
    values = [p.value for p in found.parameters]
    np.testing.assert_allclose(values, true_base(found, truth()), rtol=1e-6, atol=1e-8)


def test_velocities_and_accelerations_are_made_from_positions():
    q, v, _a, tau, t = log()
    noisy = q + 1e-5 * np.random.default_rng(2).standard_normal(q.shape)
    found = sf.identification.identify(arm(), noisy, tau=tau, t=t)
    assert found.filter == 10.0 and found.samples < len(q)
    assert relative_error(found, truth(), motion(seed=7)).max() < 0.02
    given = sf.identification.identify(arm(), noisy, v, tau=tau, t=t, filter=8.0)
    assert given.filter == 8.0
    assert relative_error(given, truth(), motion(seed=7)).max() < 0.02


def test_chunks_of_any_size_give_the_same_bits():
    q, v, a, tau, _ = log()
    whole = sf.identification.identify(arm(), q, v, a, tau)
    for size in (100, 777, 4096):
        parts = [
            (q[k : k + size], v[k : k + size], a[k : k + size], tau[k : k + size])
            for k in range(0, len(q), size)
        ]
        for given in (
            parts,
            iter(parts),
            [dict(zip("qva", p, strict=False), tau=p[3]) for p in parts],
        ):
            found = sf.identification.identify(arm(), given)
            assert found.model == whole.model
            assert [p.error for p in found.parameters] == [p.error for p in whole.parameters]


def test_threads_give_the_same_bits():
    q, v, a, tau, _ = log()
    before = sf.get_threads()
    try:
        models = []
        for count in (1, 3):
            sf.set_threads(count)
            models.append(sf.identification.identify(arm(), q, v, a, tau).model)
    finally:
        sf.set_threads(before)
    assert models[0] == models[1]


class Lazy:
    """An array that is read when it is sliced, in the chunks of a Dask array."""

    def __init__(self, array, chunks):
        self.array, self.shape, self.chunks = array, array.shape, (chunks, array.shape[1:])

    def __getitem__(self, part):
        return self.array[part]


def test_arrays_that_are_read_when_sliced_are_read_in_their_chunks():
    arrays = log()[:4]
    sizes = (1000, 2001, len(arrays[0]) - 3001)
    lazy = [Lazy(x, sizes) for x in arrays]
    assert (
        sf.identification.identify(arm(), *lazy).model
        == sf.identification.identify(arm(), *arrays).model
    )


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_logs_are_read_from_files(tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"log.{suffix}"
    q, v, a, tau, t = log()
    run = motion()
    replace(run, tau=tau).save(path)
    assert (
        sf.identification.identify(arm(), path).model
        == sf.identification.identify(arm(), q, v, a, tau, t=t).model
    )


def test_columns_may_have_other_names(tmp_path):
    q, _v, _a, tau, t = (x[:3000] for x in log())
    table = np.column_stack([t, q, tau])
    path = tmp_path / "log.csv"
    names = "stamp,q1,q2,q3,m1,m2,m3"
    np.savetxt(path, table, delimiter=",", header=names, comments="")
    found = sf.identification.Log.read(path, arm(), columns={"tau": ["m1", "m2", "m3"]})
    np.testing.assert_allclose(found.q, q)
    np.testing.assert_allclose(found.t, t)
    np.testing.assert_allclose(found.tau, tau)
    with pytest.raises(sf.errors.TrajectoryFileError, match="joint forces"):
        sf.identification.Log.read(path, arm())
    with pytest.raises(sf.errors.TrajectoryFileError, match="'m9'"):
        sf.identification.Log.read(path, arm(), columns={"tau": ["m1", "m2", "m9"]})


def test_a_payload_is_found():
    q, v, a, _, _t = log()
    load = sf.add_payload(truth(), "fore", mass=1.0, com=(0.2, 0.01, 0.0), inertia=(0.002,) * 3)
    rng = np.random.default_rng(4)
    tau = sf.inverse_dynamics(load, q, v, a) + 0.05 * rng.standard_normal(q.shape)
    found = sf.identification.identify(truth(), q, v, a, tau, bodies="fore", friction=False)
    payload = found.added_inertia("fore")
    # a planar forearm shows the mass only through what the turret carries
    assert float(payload.m) == pytest.approx(1.0, rel=0.05)
    assert float(payload.h.x) == pytest.approx(0.2, rel=0.01)


def special(**fields):
    """Return a real arm with more numbers of its joints, and noisy torques on the motion."""
    base = changed(arm(), seed=5)
    real = replace(base, bodies=tuple(replace(b, **fields) for b in base.bodies))
    run = motion()
    tau = sf.inverse_dynamics(real, run.q, run.v, run.a)
    return run, tau + 0.02 * np.random.default_rng(4).standard_normal(tau.shape)


def test_rotors_offsets_and_springs_are_found():
    run, tau = special(armature=(0.3,), stiffness=(4.0,))
    offset = np.array([0.4, -0.3, 0.2])
    more = {"rotors": True, "offsets": True, "springs": True}
    found = sf.identification.identify(arm(), run.q, run.v, run.a, tau + offset, **more)
    # gravity holds the lifting joints: an offset there is what gravity leaves
    np.testing.assert_allclose(found.offsets, offset, atol=0.05)
    for body in found.model.bodies[1:]:
        assert body.stiffness[0] == pytest.approx(4.0, abs=0.1)
    assert found.model.bodies[2].armature[0] == pytest.approx(0.3, abs=0.05)
    # rotors of the first joints turn with their bodies about the same axis, whatever the motion
    for joint in ("turn", "lift"):
        assert any(f"rotor inertia of {joint}: acts only" in line for line in found.not_shown)


def test_dry_friction_may_differ_by_direction():
    run, tau = special(friction=(0.9,), friction_negative=(0.6,))
    found = sf.identification.identify(arm(), run.q, run.v, run.a, tau, friction="direction")
    for body in found.model.bodies:
        assert body.friction[0] == pytest.approx(0.9, abs=0.03)
        assert body.friction_negative[0] == pytest.approx(0.6, abs=0.03)
    # friction of both directions and an offset are three names for two numbers
    with_offset = sf.identification.identify(
        arm(), run.q, run.v, run.a, tau, friction="direction", offsets=True
    )
    assert any(line.startswith("offset of turn: acts only") for line in with_offset.not_shown)


def test_currents_in_place_of_torques_need_one_known_gain():
    model = sf.load("puma560").without(friction=True)
    run = sf.identification.excitation(model, 6.0, dt=2e-3, rounds=2)
    tau = run.tau + 0.02 * np.random.default_rng(0).standard_normal(run.tau.shape)
    gains = np.array([10.0, 20.0, 15.0, 5.0, 4.0, 3.0])
    found = sf.identification.identify(
        model, run.q, run.v, run.a, tau / gains, gains={"joint1": 10.0}
    )
    np.testing.assert_allclose(found.gains, gains, rtol=0.01)
    assert "uncertain-gain" not in {f.code for f in found.findings}
    noisy = run.tau + 0.2 * np.random.default_rng(0).standard_normal(tau.shape)
    rough = sf.identification.identify(
        model, run.q, run.v, run.a, noisy / gains, gains={"joint1": 10.0}
    )
    (finding,) = [f for f in rough.findings if f.severity in ("warning", "error")]
    assert (finding.code, finding.severity) == ("uncertain-gain", "error")
    with pytest.raises(sf.errors.OptionError, match="at least one that is known"):
        sf.identification.identify(model, run.q, run.v, run.a, tau, gains=[None] * 6)


def test_a_floating_base_needs_no_base_torques():
    model = sf.load("floating_link")
    real = changed(model, seed=1, damping=0.0, friction=0.0)
    rng = np.random.default_rng(0)
    n, dt = 6000, 1e-3
    t = dt * np.arange(n)

    def law(t, q, v):
        force = [0.6 * sf.math.sin(5 * t) + 0.4 * sf.math.cos(11 * t) - 0.1 * v[6]]
        return np.array([0, 0, 0, 0, 0, 0, *force], object)

    run = sf.simulate(
        real, sf.neutral(real), [0.6, -0.8, 0.7, 0, 0, 0, 0.5], n * dt, dt=dt, control=law
    )
    tau = run.tau[:, 6:] + 1e-3 * rng.standard_normal((len(run), 1))
    found = sf.identification.identify(model, run.q, run.v, run.a, tau, friction=False)
    right = true_base(found, real)
    for p, value in zip(found.parameters, right, strict=True):
        if p.identifiability == "good":
            assert p.value == pytest.approx(value, abs=max(0.05 * abs(value), 6 * p.error, 1e-3))
    assert sum(p.identifiability == "good" for p in found.parameters) > 8
    del t


def test_measured_contact_forces_hold_a_floating_base():
    """Held by a force on its base that is measured: the weight then shows in the base rows."""
    model = sf.load("floating_link")
    real = changed(model, seed=2, damping=0.0, friction=0.0)
    q, v = sf.random_state(model, 3000, seed=1)
    a = np.random.default_rng(1).standard_normal(v.shape)
    whole = sf.inverse_dynamics(real, q, v, a)
    # the wrench that makes the six forces of the base zero, given in world axes about the origin
    f_ext = np.zeros((len(q), model.nb, 6))
    pose = sf.body_poses(model, q)[:, 0]
    n, f = (np.einsum("kij,kj->ki", pose[:, :3, :3], x) for x in (whole[:, :3], whole[:, 3:6]))
    f_ext[:, 0, 3:] = f
    f_ext[:, 0, :3] = n + np.cross(pose[:, :3, 3], f)
    tau = sf.inverse_dynamics(real, q, v, a, f_ext)
    assert np.abs(tau[:, :6]).max() < 1e-9
    found = sf.identification.identify(model, q, v, a, tau[:, 6:], f_ext=f_ext, friction=False)
    values = [p.value for p in found.parameters]
    np.testing.assert_allclose(values, true_base(found, real), rtol=1e-5, atol=1e-6)


def test_the_prior_keeps_what_the_data_do_not_show():
    q, v, a, tau, _ = log()
    found = sf.identification.identify(arm(), q, v, a, tau, prior=1.0)
    # no torque depends on the mass of the turret: it stays near, as far as its moments allow
    assert float(found.model.bodies[0].inertia.m) == pytest.approx(2.0, rel=0.3)
    assert any("mass of turret" in line for line in found.not_shown)


def test_free_parameters_may_be_unphysical_and_fit_a_little_better():
    q, v, a, tau, _ = log()
    free = sf.identification.identify(arm(), q, v, a, tau, consistent=False)
    assert not free.consistent
    for joint in free.joints:
        assert joint.fit == pytest.approx(joint.free, rel=1e-6)


def test_a_delay_between_torque_and_motion_is_searched():
    q, v, a, tau, t = log()
    late = 4
    arrays = q[late:], v[late:], a[late:], tau[:-late]
    found = sf.identification.identify(arm(), *arrays, t=t[late:], lag="search")
    assert found.lag == pytest.approx(late * 2e-3, abs=4e-4)
    assert found.findings == ()
    told = sf.identification.identify(arm(), *arrays, t=t[late:])
    assert [f.code for f in told.findings if f.code == "lag"] == ["lag"]


def test_outliers_count_less():
    q, v, a, tau, _ = log()
    tau = tau.copy()
    rng = np.random.default_rng(5)
    tau[rng.integers(0, len(tau), 100), 1] += 50.0
    found = sf.identification.identify(arm(), q, v, a, tau)
    assert [f.code for f in found.findings] == ["outliers"]
    assert relative_error(found, truth(), motion(seed=7)).max() < 0.02
    plain = sf.identification.identify(arm(), q, v, a, tau, robust=False)
    right = true_base(found, truth())
    errors = [
        np.linalg.norm([p.value - x for p, x in zip(r.parameters, right, strict=True)])
        for r in (found, plain)
    ]
    assert errors[0] < 0.5 * errors[1]


def test_the_new_robot_saves_to_urdf(result, tmp_path):
    path = tmp_path / "arm.urdf"
    sf.save(result.model, path)
    again = sf.load(path)
    run = motion()
    np.testing.assert_allclose(
        sf.inverse_dynamics(again, run.q, run.v, run.a),
        sf.inverse_dynamics(result.model, run.q, run.v, run.a),
        atol=1e-6,
    )


def test_the_result_is_shown_in_words_tables_and_pictures(result, tmp_path):
    assert "residual at most" in repr(result) and len(repr(result)) < 400
    assert all(len(line) <= 80 for line in result.text(80).splitlines())
    assert result._repr_html_().count("<tr") > len(result.parameters)
    page = sf.write_report(tmp_path / "report.html", result.model, result)
    text = page.read_text(encoding="utf-8")
    assert "Base parameters" in text and "What is not shown" in text
    pytest.importorskip("matplotlib")
    sf.plot(result, tmp_path / "torques.png")
    assert (tmp_path / "torques.png").stat().st_size > 10_000


def test_options_without_effect_and_wrong_arguments_are_refused(tmp_path):
    q, v, a, tau, t = log()
    some = sf.identification.Log(q, v, a, tau, t)
    refused = [
        lambda: sf.identification.identify(arm(), some, v),
        lambda: sf.identification.identify(arm(), q, v, a, tau, columns={"t": "x"}),
        lambda: sf.identification.identify(arm(), iter([(q, v, a, tau)]), lag=0.01),
        lambda: sf.identification.identify(arm(), iter([(q, v, a, tau)]), robust=True),
        lambda: sf.identification.identify(arm(), q, v, a, tau, lag="search"),
        lambda: sf.identification.identify(arm(), q, tau=tau),
        lambda: sf.identification.identify(arm(), q, v, a),
        lambda: sf.identification.identify(arm(), q[:, :2], v, a, tau),
        lambda: sf.identification.identify(arm(), q[:4], v[:4], a[:4], tau[:4]),
        lambda: sf.identification.identify(arm(), q, v, a, tau, friction="much"),
        lambda: sf.identification.identify(arm(), q, v, a, tau, bodies="hand"),
        lambda: sf.identification.identify(arm(), q, v, a, tau, bodies=[], friction=False),
        lambda: sf.identification.identify(arm(), q, tau=tau, t=t, filter=1e6),
        lambda: sf.identification.identify(arm(), q, v, a, tau, gains=[1.0, 0.0, 1.0]),
        lambda: sf.identification.identify(arm(), tmp_path / "none.npz"),
        lambda: sf.identification.identify(arm(), []),
        lambda: sf.identification.identify(sf.load("four_bar_leg"), q, v, a, tau),
    ]
    for call in refused:
        with pytest.raises(sf.errors.SixfoldError):
            call()


def test_hard_problems_are_solved_by_triangular_factors_if_samples_can_be_read_again():
    """Accelerations that almost follow velocities: a rotor looks like viscous friction."""
    q, v, a, _, _ = (x[:4000].copy() for x in log())
    a[:, 2] = v[:, 2] + 1e-7 * np.random.default_rng(0).standard_normal(4000)
    samples = (q, v, a, sf.inverse_dynamics(truth(), q, v, a))
    again = sf.identification.identify(arm(), [samples], rotors=True)
    assert again.condition > 1e6
    assert "hard-problem" not in {f.code for f in again.findings}
    once = sf.identification.identify(arm(), iter([samples]), rotors=True)
    assert "hard-problem" in {f.code for f in once.findings}
    for found in (again, once):
        assert max(joint.share for joint in found.joints) < 1e-3
