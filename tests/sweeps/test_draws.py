"""Draws depend on the seed and the row alone, and have the distributions that they say."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.sweeps.draws import draw_rows, uniforms
from tests.sweeps.studies import ARM


@pytest.mark.parametrize("width", [1, 3, 4, 7])
@pytest.mark.parametrize("seed", [0, 5, 2**128 - 1])
def test_a_row_is_the_same_in_every_block(width, seed):
    whole = uniforms(seed, 0, 100, width)
    assert whole.shape == (100, width)
    for start, stop in [(0, 1), (13, 50), (99, 100)]:
        np.testing.assert_array_equal(uniforms(seed, start, stop, width), whole[start:stop])
    assert len(np.unique(whole)) == whole.size


def test_uniform_numbers_are_the_words_of_the_counter():
    words = np.random.Philox(key=5).random_raw(40).reshape(10, 4)
    np.testing.assert_array_equal(uniforms(5, 0, 10, 4), (words >> np.uint64(11)) * 2.0**-53)


def test_far_rows_can_be_drawn_at_once():
    far = 2**53 - 2
    np.testing.assert_array_equal(
        uniforms(1, far, far + 2, 3)[1:], uniforms(1, far + 1, far + 2, 3)
    )


def test_seeds_give_other_numbers():
    assert not np.array_equal(uniforms(1, 0, 5, 4), uniforms(2, 0, 5, 4))


def test_draws_have_the_moments_that_they_say():
    n = 40_000
    found = draw_rows(
        {
            "u": sf.sweeps.draws.uniform([-1.0, 2.0], [1.0, 6.0]),
            "z": sf.sweeps.draws.normal(3.0, [1.0, 0.5]),
            "g": sf.sweeps.draws.log_uniform(0.01, 100.0),
            "c": sf.sweeps.draws.choice([1.0, 2.0, 4.0]),
        },
        11,
        0,
        n,
    )
    assert found["u"].shape == (n, 2) and found["g"].shape == (n,) and found["c"].shape == (n,)
    np.testing.assert_allclose(found["u"].mean(axis=0), [0.0, 4.0], atol=0.03)
    assert found["u"].min() >= -1 and found["u"].max() < 6
    np.testing.assert_allclose(found["z"].mean(axis=0), 3.0, atol=0.03)
    np.testing.assert_allclose(found["z"].std(axis=0), [1.0, 0.5], rtol=0.03)
    fourth = ((found["z"][:, 0] - 3.0) ** 4).mean()
    np.testing.assert_allclose(fourth, 3.0, rtol=0.1)
    np.testing.assert_allclose(np.log10(found["g"]).mean(), 0.0, atol=0.05)
    assert found["g"].min() >= 0.0099 and found["g"].max() <= 100.1
    np.testing.assert_allclose(np.unique(found["c"], return_counts=True)[1] / n, 1 / 3, atol=0.01)


def test_configurations_are_states_of_the_model():
    model = sf.load("floating_link")
    q = draw_rows({"q": sf.sweeps.draws.configuration(model)}, 2, 0, 20_000)["q"]
    part = model.coordinates.quaternions[0][1]
    np.testing.assert_allclose(np.linalg.norm(q[:, part], axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(q[:, part].mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose((q[:, part] ** 2).mean(axis=0), 0.25, atol=0.01)
    arm = draw_rows({"q": sf.sweeps.draws.configuration(ARM)}, 2, 0, 1000)["q"]
    assert np.abs(arm).max() <= np.pi


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: sf.sweeps.draws.uniform(1.0, 0.0), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.uniform([1.0, 2.0], [1.0, 2.0, 3.0]), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.uniform("low", 1.0), sf.errors.NumberError),
        (lambda: sf.sweeps.draws.uniform(0.0, np.inf), sf.errors.NumberError),
        (lambda: sf.sweeps.draws.log_uniform(0.0, 1.0), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.normal(0.0, -1.0), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.choice([]), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.choice(1.0), sf.errors.OptionError),
        (lambda: sf.sweeps.draws.configuration("panda"), sf.errors.ArgumentError),
    ],
)
def test_bad_draws_are_refused(call, error):
    with pytest.raises(error):
        call()
