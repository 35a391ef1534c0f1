"""Rollouts in single precision: the same steps with fewer bits."""

import itertools

import numpy as np
import pytest

import sixfold as sf

OPTIONS = {"dt": 1e-3, "steps": 50}


def law(t, q, v, gains):
    return gains[0] * (0.3 - q) - gains[1] * v


@pytest.mark.parametrize("lanes", ["1", "2", "4", "8"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_single_precision_stays_near_double(integrator, lanes, monkeypatch):
    arm = sf.load("puma560")
    q, v = sf.random_state(arm, 13, seed=2)
    gains = np.array([40.0, 8.0])
    options = {**OPTIONS, "integrator": integrator, "control": law, "parameters": gains}
    wide = sf.rollout(arm, q, v, **options)
    monkeypatch.setenv("SIXFOLD_LANES", lanes)
    single = sf.rollout(arm, q, v, **options, dtype="float32")
    for x, y in zip(single, wide, strict=True):
        assert x.dtype == np.float32 and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-4 * np.abs(y).max())
    out = tuple(np.empty(x.shape, np.float32) for x in single)
    again = sf.rollout(arm, q, v, **options, dtype="float32", out=out)
    assert all(np.array_equal(x, y) for x, y in zip(again, single, strict=True))
    one = sf.rollout(arm, q[7], v[7], **options, dtype="float32")
    assert np.array_equal(one[0], single[0][7])  # the same bits alone


def test_contact_in_single_precision():
    builder = sf.ModelBuilder("box")
    inertia = sf.Inertia.from_mass(2.0, rotational=(0.02, 0.02, 0.02))
    builder.add_body("box", joint=sf.Free(), inertia=inertia)
    box = builder.build()
    corners = itertools.product((-0.1, 0.1), repeat=3)
    ground = sf.contact.Ground(
        points=tuple(sf.contact.ContactPoint("box", corner) for corner in corners)
    )
    q = np.tile(sf.neutral(box), (9, 1))
    q[:, 2] = 0.15
    options = {"dt": 5e-4, "steps": 800, "every": 800, "contacts": ground}
    (wide, _), (single, _) = (
        sf.rollout(box, q, None, **options, dtype=dtype) for dtype in ("float64", "float32")
    )
    assert np.isfinite(single).all()
    np.testing.assert_allclose(single[..., :3], wide[..., :3], rtol=0, atol=1e-4)


def test_single_precision_is_refused_where_nothing_is_compiled():
    arm = sf.load("pendulum")
    with pytest.raises(sf.errors.NotApplicableError, match="float32"):
        sf.rollout(arm, None, None, **OPTIONS, dtype="float32", backend="numpy")
    with pytest.raises(sf.errors.OptionError, match="dtype"):
        sf.rollout(arm, None, None, **OPTIONS, dtype="float16")
    with pytest.raises(sf.errors.ShapeError, match="float32"):
        out = (np.empty((50, 1)), np.empty((50, 1)))
        sf.rollout(arm, None, None, **OPTIONS, dtype="float32", out=out)
