"""What a ground refuses, what it is equal to, and bits of steps with contact."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import sixfold as sf
from sixfold.model import Box, Capsule, Cylinder, Geometry, Sphere
from sixfold.spatial import Transform
from tests.contact.scenes import ball, feet, hopper, quadruped, standing


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: sf.contact.Ground(friction=-0.1), sf.errors.OptionError, "friction"),
        (lambda: sf.contact.Ground(friction=float("nan")), sf.errors.OptionError, "friction"),
        (lambda: sf.contact.Ground(normal=(0, 0, 0)), sf.errors.OptionError, "normal"),
        (lambda: sf.contact.Ground(height=float("inf")), sf.errors.OptionError, "height"),
        (lambda: sf.contact.Ground(solref=(0.02, -1.0)), sf.errors.OptionError, "solref"),
        (
            lambda: sf.contact.Ground(solimp=(0.9, float("nan"), 0.001, 0.5, 2)),
            sf.errors.OptionError,
            "solimp",
        ),
        (lambda: sf.contact.Ground(points="feet"), sf.errors.OptionError, "points"),
        (lambda: sf.contact.Ground(iterations=0), sf.errors.OptionError, "iterations"),
        (lambda: sf.contact.Ground(restitution=0.5), sf.errors.NotApplicableError, "restitution"),
        (
            lambda: sf.contact.Ground(rigid=True, solref=(0.1, 1.0)),
            sf.errors.NotApplicableError,
            "solref",
        ),
        (lambda: sf.contact.Ground(grid=[[1.0, 2.0], [1.0]]), sf.errors.OptionError, "grid"),
        (lambda: sf.contact.Ground(grid_corner=(1.0, 0.0)), sf.errors.NotApplicableError, "grid"),
        (
            lambda: sf.contact.Ground(grid=np.zeros((3, 3)), height=1.0),
            sf.errors.NotApplicableError,
            "height",
        ),
        (lambda: sf.contact.ContactPoint("foot", radius=-1.0), sf.errors.OptionError, "radius"),
        (lambda: sf.contact.ContactPoint("foot", (1.0, 2.0)), sf.errors.OptionError, "position"),
        (lambda: sf.contact.ContactPoint("foot", friction=-1.0), sf.errors.OptionError, "friction"),
        (
            lambda: sf.contact.ContactCapsule("foot", (0, 0, 0), (0, 0, 1), 0.0),
            sf.errors.OptionError,
            "radius",
        ),
        (
            lambda: sf.contact.ContactPair(
                sf.contact.ContactPoint("a"), sf.contact.ContactPoint("b")
            ),
            sf.errors.OptionError,
            "first",
        ),
    ],
)
def test_impossible_descriptions_are_refused(make: Any, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        make()
    assert "fix: " in str(caught.value)


def _call(ground: Any, **options: Any) -> Any:
    model = ball()
    return sf.contact.contact_forces(
        model, sf.neutral(model), np.zeros(6), np.zeros(6), contacts=ground, **options
    )


def test_what_does_not_suit_the_model_is_refused() -> None:
    with pytest.raises(sf.errors.UnknownNameError, match="bdy"):
        _call(sf.contact.Ground(points=[sf.contact.ContactPoint("bdy")]))
    with pytest.raises(sf.errors.NotApplicableError, match="nothing of which may touch"):
        _call(sf.contact.Ground())
    with pytest.raises(sf.errors.NotApplicableError, match="no joint of which has a limit"):
        _call(sf.contact.Ground(points=[sf.contact.ContactPoint("body")], limits=True))
    with pytest.raises(sf.errors.ArgumentError, match="contacts"):
        _call(0.0)
    rigid = sf.contact.Ground(points=[sf.contact.ContactPoint("body")], rigid=True)
    with pytest.raises(sf.errors.NotApplicableError, match="without dt"):
        _call(rigid)
    with pytest.raises(sf.errors.NotApplicableError, match="'dt'"):
        _call(sf.contact.Ground(points=[sf.contact.ContactPoint("body")]), dt=0.01)
    assert _call(rigid, dt=0.01).forces.shape == (1, 3)
    with pytest.raises(sf.errors.ArgumentError, match="height"):
        _call(
            sf.contact.Ground(height=lambda x, y: "high", points=[sf.contact.ContactPoint("body")])
        )


def test_options_without_effect_are_refused() -> None:
    model = ball()
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("body", radius=0.1)])
    for options in ({"integrator": "rk4"}, {"method": "crba"}, {"compensated": True}):
        with pytest.raises(sf.errors.NotApplicableError, match="contacts"):
            sf.simulate(model, None, None, 0.01, contacts=ground, **options)
        with pytest.raises(sf.errors.NotApplicableError, match="contacts"):
            sf.rollout(model, None, None, dt=0.01, steps=2, contacts=ground, **options)


def test_a_ground_is_a_value() -> None:
    one, two = feet(grid=None), feet()
    assert one == two and hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != feet(friction=0.7)


def test_points_come_from_collision_shapes() -> None:
    from dataclasses import replace

    turned = Transform.from_rpy((0.0, np.pi / 2, 0.0), (0.0, 0.0, -0.1))
    shapes = (Sphere(0.1), Capsule(0.05, 0.4), Box((0.2, 0.4, 0.6)), Cylinder(0.1, 0.2))
    geometries = tuple(Geometry(0, turned, shape, collides=True) for shape in shapes)
    model = replace(ball(), geometries=geometries)
    q = sf.neutral(model)
    with pytest.warns(sf.errors.ContactShapeWarning, match="1 Cylinder"):
        found = sf.contact.contact_forces(
            model, q, np.zeros(6), np.zeros(6), contacts=sf.contact.Ground()
        )
    assert found.gaps.shape == (1 + 2 + 8,)
    # the capsule lies along x, the box has its z along x
    assert np.allclose(found.gaps[:3], [-0.2, -0.15, -0.15])
    assert np.allclose(sorted(found.gaps[3:]), [-0.2] * 4 + [0.0] * 4)


def test_backends_batches_and_forces_from_outside_agree() -> None:
    model, ground = quadruped(), feet()
    rng = np.random.default_rng(7)
    states = [standing(model, rng, height=0.29, spread=0.02) for _ in range(6)]
    q, v, tau = (np.array(x).reshape(2, 3, -1) for x in zip(*states, strict=True))
    f_ext = rng.standard_normal((3, model.nb, 6))
    found = sf.contact.contact_forces(model, q, v, tau, f_ext, contacts=ground)
    slow = sf.contact.contact_forces(model, q, v, tau, f_ext, contacts=ground, backend="numpy")
    shapes = [(2, 3, 18), (2, 3, 4, 3), (2, 3, 4, 3), (2, 3, 4), (2, 3, 18), (2, 3)]
    assert [x.shape for x in found] == shapes
    for x, y in zip(found[:5], slow[:5], strict=True):
        assert np.allclose(x, y, rtol=1e-9, atol=1e-7)
    one = sf.contact.contact_forces(model, q[1, 2], v[1, 2], tau[1, 2], f_ext[2], contacts=ground)
    assert np.array_equal(one.forces, found.forces[1, 2])


def test_forces_explain_the_accelerations() -> None:
    model, ground = quadruped(), feet()
    q, v, tau = standing(model, np.random.default_rng(1), height=0.28, spread=0.0)
    found = sf.contact.contact_forces(model, q, v, tau, contacts=ground)
    pushes = np.zeros((model.nb, 6))
    legs = [k for k, name in enumerate(model.body_names) if name.endswith("calf")]
    for leg, force, point in zip(legs, found.forces, found.points, strict=True):
        pushes[leg] += [*np.cross(point, force), *force]
    a = sf.forward_dynamics(model, q, v, tau, pushes)
    assert np.abs(found.forces).max() > 1.0
    assert np.allclose(found.a, a, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_limbs_that_touch_nothing_move_with_those_that_do(backend: str) -> None:
    """Contacts act on one limb, limits on another; a third has neither."""
    builder = sf.ModelBuilder("limbs")
    body = sf.Inertia.from_mass(1.0, (0.1, 0.02, -0.03), (0.02, 0.03, 0.04))
    builder.add_body("trunk", joint=sf.Free(), inertia=body)
    hinge = sf.Revolute("y")
    for limb, end in (("leg", None), ("stopped", 0.1), ("loose", None)):
        low = None if end is None else -end
        builder.add_body(f"{limb}1", parent="trunk", joint=sf.Spherical(), inertia=body)
        on = {"parent": f"{limb}1", "placement": (0.3, 0, 0), "lower": low, "upper": end}
        builder.add_body(f"{limb}2", joint=hinge, inertia=body, **on)
    model = builder.build()
    ground = sf.contact.Ground(
        points=[sf.contact.ContactPoint("leg2", (0.2, 0, 0), 0.02)], limits=True
    )
    q, v = sf.random_state(model, seed=4)
    q[model.q_slice("stopped2_joint")] = 0.12
    where = sf.contact.contact_forces(
        model, q, v, np.zeros(model.nv), contacts=ground, backend=backend
    )
    q[2] -= where.gaps[0] + 1e-3
    tau = np.random.default_rng(5).normal(size=model.nv)
    found = sf.contact.contact_forces(model, q, v, tau, contacts=ground, backend=backend)
    assert found.forces[0, 2] > 1 and found.joint_forces[model.v_slice("stopped2_joint")] < -0.1
    push = np.zeros((len(model.bodies), 6))
    push[model.body_names.index("leg2")] = (
        *np.cross(found.points[0], found.forces[0]),
        *found.forces[0],
    )
    needed = sf.inverse_dynamics(model, q, v, found.a, push, backend=backend)
    scale = np.abs(found.forces).max()
    np.testing.assert_allclose(needed, tau + found.joint_forces, rtol=0, atol=1e-12 * scale)


def test_a_run_is_the_same_as_a_rollout_and_is_kept() -> None:
    model, ground = quadruped(), feet()
    q, v, _ = standing(model, np.random.default_rng(1), height=0.3, spread=0.0)
    run = sf.simulate(model, q, v, 0.05, dt=1e-3, contacts=ground)
    there, fast = sf.rollout(model, q, v, dt=1e-3, steps=50, contacts=ground)
    assert np.array_equal(run.q[1:], there) and np.array_equal(run.v[1:], fast)
    # the recorded acceleration is that of the step
    speeds = (run.v[1:, 6:] - run.v[:-1, 6:]) / 1e-3
    assert np.allclose(speeds, run.a[:-1, 6:], rtol=1e-6, atol=1e-4)
    half = run.at([0.0105]).contact_gaps
    assert np.allclose(half, 0.5 * (run.contact_gaps[10] + run.contact_gaps[11]))
    assert run[3:7].contact_forces.shape == (4, 4, 3)


def test_a_motion_with_contacts_is_saved_with_them(tmp_path: Any) -> None:
    model = ball()
    ground = sf.contact.Ground(points=[sf.contact.ContactPoint("body", radius=0.1)])
    q = np.tile(sf.neutral(model), (2, 1))
    q[:, 2] = 0.1
    run = sf.simulate(model, q, None, 0.02, dt=1e-3, contacts=ground)
    run.save(tmp_path / "run.npz")
    again = sf.Trajectory.load(tmp_path / "run.npz")
    for name in ("forces", "points", "normals", "gaps", "friction"):
        name = f"contact_{name}"
        assert np.array_equal(getattr(again, name), getattr(run, name))
    assert again.select(1).contact_forces.shape == (21, 1, 3)
    assert np.array_equal(again.contact_normals, np.broadcast_to([0.0, 0.0, 1.0], (2, 21, 1, 3)))
    assert np.array_equal(again[3:5].contact_friction, [1.0])
    run.save(tmp_path / "run.csv")
    assert "contact_force[0].z" in (tmp_path / "run.csv").read_text().splitlines()[0]


def test_controllers_states_and_threads() -> None:
    model, ground = hopper()

    def law(t: Any, q: Any, v: Any, x: Any) -> Any:
        return np.concatenate([np.zeros(6), -200.0 * q[7:] - 5.0 * v[6:] + x]), -q[7:]

    q = sf.neutral(model)
    q[2] = 0.36
    starts = np.tile(q, (5, 1))
    starts[:, 2] += np.linspace(0.0, 0.1, 5)
    given: dict[str, Any] = {"dt": 1e-3, "steps": 300, "contacts": ground, "control": law}
    given["x0"] = [0.0]
    many = sf.rollout(model, starts, None, **given)
    one = sf.rollout(model, starts[3], None, **given)
    for x, y in zip(many, one, strict=True):
        assert np.array_equal(x[3], y)
    slow = sf.rollout(model, starts, None, **given, backend="numpy")
    assert np.allclose(slow[0], many[0], rtol=0, atol=1e-9)


SCRIPT = """
import hashlib
import numpy as np, sixfold as sf
from tests.contact.scenes import hopper
model, ground = hopper()
q = np.tile(sf.neutral(model), (9, 1))
q[:, 2] = np.linspace(0.33, 0.4, 9)
v = np.random.default_rng(0).standard_normal((9, model.nv))
after = sf.rollout(model, q, v, dt=1e-3, steps=300, contacts=ground)
print(hashlib.sha256(after[0].tobytes() + after[1].tobytes()).hexdigest())
"""


def test_bits_do_not_depend_on_the_lanes() -> None:
    found = set()
    for lanes in (1, 2, 4, 8):
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "SIXFOLD_LANES": str(lanes)},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(ran.stdout.strip())
    assert len(found) == 1
