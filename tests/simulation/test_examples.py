"""Every example runs and prints what it promises."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def main_of(name, *arguments):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](*arguments)


def test_the_pendulum_swings_with_the_exact_period(capsys):
    found = main_of("pendulum")
    assert found["measured"] == pytest.approx(found["exact"], rel=1e-11)
    assert "period exact" in capsys.readouterr().out


def test_the_cart_stays_about_its_centre(capsys):
    found = main_of("cart_pendulum")
    assert found["travel"] == pytest.approx(0.16, abs=1e-5)
    assert found["wander"] < 1e-10 and found["energy"] < 1e-9


def test_the_body_flips_again_and_again(capsys):
    found = main_of("flipping_body")
    gaps = np.diff(found["flips"])
    assert len(gaps) >= 5 and np.ptp(gaps) < 1e-3
    assert found["momentum"] < 1e-11


def test_the_top_precesses_by_the_formula(capsys):
    found = main_of("heavy_top")
    assert found["rate"] == pytest.approx(found["exact"], rel=1e-8)
    assert found["nod"] < 1e-6


def test_the_fan_opens(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "fan.png"
    found = main_of("double_pendulum_fan", ["--count", "60", "--picture", str(picture)])
    assert found["spread"][0] < 1e-5 < 0.1 < found["spread"][-1]
    assert 4 < found["apart"] < 8
    assert picture.stat().st_size > 20_000


def test_computed_torque_beats_springs(capsys):
    found = main_of("computed_torque_arm")
    assert found["computed torque"] < 0.05 < found["springs to the goal"]


def test_the_quadruped_keeps_its_momentum_in_the_air(capsys):
    found = main_of("hopping_quadruped")
    assert found["spin"] < 1e-12 and found["parabola"] < 1e-12
    assert found["pitch"] > 5


def test_the_ball_rolls_five_sevenths(capsys):
    found = main_of("rolling_ball")
    assert found["way"] == pytest.approx(found["exact"], rel=1e-12)


def test_the_pendulum_is_swung_up(capsys):
    found = main_of("swing_up")
    assert found["costs"][-1] < 0.01 * found["costs"][0]
    assert found["upright"] < 0.05 and found["speed"] < 0.1
    assert "from upright" in capsys.readouterr().out


def test_the_arm_is_shot_at_its_goal(capsys):
    found = main_of("shooting")
    missed = found["missed"]
    assert missed[0] > 0.3 and missed[-1] < 1e-9 and len(missed) < 12
    assert missed[-2] < missed[-3] ** 1.5  # faster than linear at the end


def test_the_regulator_balances_what_stands_upright(capsys, tmp_path):
    pytest.importorskip("scipy", reason="the Riccati equation is solved by SciPy")
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "balance.png"
    found = main_of("lqr_balance", ["--picture", str(picture)])
    for one in found.values():
        assert one["error"].shape[0] == 50 and one["error"][:, -1].max() < 1e-4
        assert np.abs(one["run"].q[-1] - one["upright"]).max() < 1e-4
        assert np.abs(one["run"].q[0] - one["upright"]).max() > 0.1
    assert found["double_pendulum"]["slowest"] < -2 and found["cart_pendulum"]["slowest"] < 1
    assert not found["double_pendulum"]["run"].tau[:, 0].any()  # the shoulder has no motor
    assert capsys.readouterr().out.count("50 of 50") == 2
    assert picture.stat().st_size > 20_000


def test_the_wheel_without_a_rim_finds_its_speed(capsys):
    found = main_of("rimless_wheel")
    for start in (1.0, 3.0):
        assert found[start]["speeds"][-1] == pytest.approx(found["exact"], abs=1e-10)
        np.testing.assert_allclose(found[start]["shrinks"], 0.5, rtol=1e-6)
    assert "by the formula" in capsys.readouterr().out


def test_the_walker_finds_its_gait(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "gait.png"
    found = main_of("compass_gait", ["--picture", str(picture)])
    state = [0.218668802939, -0.323388558059, -1.091826677490, -0.377181558403]
    np.testing.assert_allclose(found["state"], state, atol=1e-11)
    assert found["period"] == pytest.approx(0.734720962155, abs=1e-11)
    assert found["last"] == pytest.approx(found["period"], abs=1e-4)
    assert np.abs(found["multipliers"]).max() < 0.6
    assert picture.stat().st_size > 20_000


def test_the_arm_draws_a_circle(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "circle.png"
    found = main_of("draw_circle", ["--picture", str(picture)])
    assert np.abs(found["off"]).max() < 5e-4
    assert found["ways"] == 8
    assert np.abs(found["motion"].v).max() <= 2.0 + 1e-9
    assert "circle drawn" in capsys.readouterr().out
    assert picture.stat().st_size > 20_000


def test_the_acrobot_swings_up(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "acrobot.png"
    found = main_of("acrobot", ["--picture", str(picture)])
    assert (found["up"] > 0.999).sum() >= 11
    assert not found["plan"].tau[..., 0].any()  # the shoulder has no motor
    assert found["ends"]["with feedback"] < 0.01 < found["ends"]["without feedback"]
    assert "guesses end upright" in capsys.readouterr().out
    assert picture.stat().st_size > 20_000


def test_there_is_a_test_for_every_example():
    tested = Path(__file__).read_text(encoding="utf-8")
    names = [path.stem for path in EXAMPLES.glob("*.py")]
    assert len(names) >= 8
    for name in names:
        assert f'main_of("{name}"' in tested


def test_the_bicycle_balances_itself_between_weave_and_capsize(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "bicycle.png"
    found = main_of("bicycle", ["--picture", str(picture)])
    assert found["stable"].tolist() == [4.5, 5.0, 5.5, 6.0]
    assert found["error"] < 1e-9
    assert picture.stat().st_size > 20_000
    assert "balances itself" in capsys.readouterr().out


def test_the_four_bar_turns_and_its_motor_works_for_nothing(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "four_bar.png"
    found = main_of("four_bar", ["--picture", str(picture)])
    assert found["mobility"].mobility == 1 and found["mobility"].redundant == 3
    assert abs(found["work"]) < 1e-10  # a whole turn
    assert np.abs(found["torque"]).max() > 10 and found["drift"] < 1e-5
    np.testing.assert_allclose(
        found["q"][-1] - found["q"][0], [2 * np.pi, -2 * np.pi, 0], atol=1e-9
    )
    assert picture.stat().st_size > 20_000


def test_two_tasks_are_learned_without_gradients(capsys):
    found = main_of("learn_by_cross_entropy")
    assert found["pole"] == 500
    before, after = found["reach"]
    assert after < 0.5 * before


def test_an_arm_is_identified_and_its_payload_weighed(capsys):
    found = main_of("identify_panda", ["--robot", "puma560", "--duration", "6", "--rounds", "2"])
    assert found["after"] < 0.02 < found["before"]
    assert found["payload"] == pytest.approx(1.0, rel=0.01)
    assert "hold-out" in capsys.readouterr().out


def test_the_payload_study_finds_overloaded_motors(capsys):
    found = main_of("payload_study")
    share = float(found["mean"]["overloaded"])
    assert 0.05 < share < 0.3 and found.rows == 20_000
    assert "overloaded" in capsys.readouterr().out


def test_the_front_picture_shows_three_motions(capsys, tmp_path):
    pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
    picture = tmp_path / "front.png"
    found = main_of("front_picture", ["--size", "20", "--picture", str(picture)])
    when = found["flips"]
    assert np.isinf(when[7:13, 7:13]).all()  # near the lowest place nothing turns over
    assert 0.3 < np.isfinite(when).mean() < 0.6
    np.testing.assert_array_equal(when, when[::-1, ::-1])  # the mirror image does the same
    drawn = found["circle"][:, -1]
    assert np.allclose(np.hypot(*(drawn - drawn.mean(axis=0)).T[:2]), 0.2, atol=0.01)
    links = np.linalg.norm(np.diff(found["falling"], axis=1), axis=-1)
    assert np.allclose(links, 1.0) and picture.stat().st_size > 20_000
