"""The report in a real browser: the robot moves, plots answer, and nothing is asked of anyone."""

import numpy as np
import pytest

import sixfold as sf
from tests.viewer.support import changed, colored, page, picture, until


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    model = sf.load("puma560")
    t = np.linspace(0.0, 3.0, 301)
    q = np.sin(t)[:, None] * np.linspace(0.5, 1.0, model.nq)
    trajectory = {"t": t, "q": q, "v": np.gradient(q, t, axis=0), "tau": q}
    return sf.write_report(tmp_path_factory.mktemp("page") / "run.html", model, trajectory)


def clip(shown):
    box = shown.locator("#scene").bounding_box()
    return (box["x"], box["y"], box["width"], box["height"])


def test_the_robot_plays_and_follows_hands(written, browser):
    with page(browser, written.as_uri()) as (shown, asked):
        # it plays by itself
        until(lambda: shown.evaluate("sixfold.player.time") > 0.3, "time passes")
        shown.click("#play")
        assert shown.evaluate("sixfold.player.playing") is False
        shown.evaluate("sixfold.player.seek(0)")
        shown.wait_for_timeout(200)
        start = picture(shown, clip(shown))
        assert colored(start) > 0.005
        assert shown.evaluate("document.querySelectorAll('.plot path').length") == 6 * 3 + 3 + 1

        # a click into a plot goes to that moment, in the picture and on the clock
        box = shown.locator(".plot svg").first.bounding_box()
        shown.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 60)
        time = shown.evaluate("sixfold.player.time")
        assert 1.2 < time < 2.2
        assert shown.locator("#clock").inner_text() == f"{time:.2f} s"
        until(lambda: changed(start, picture(shown, clip(shown))) > 0.01, "the robot moves")
        tip = shown.locator(".tip").inner_text()
        assert "t = " in tip
        assert "joint1" in tip

        # drag to turn, wheel to zoom, and back
        turned = picture(shown, clip(shown))
        x, y, w, h = clip(shown)
        shown.mouse.move(x + w / 2, y + h / 2)
        shown.mouse.down()
        shown.mouse.move(x + w / 2 + 120, y + h / 2 + 20)
        shown.mouse.up()
        shown.mouse.wheel(0, -200)
        until(lambda: changed(turned, picture(shown, clip(shown))) > 0.01, "the eye moves")
        shown.click("#home")
        until(lambda: changed(turned, picture(shown, clip(shown))) < 0.01, "the eye comes back")
        assert {url.split(":")[0] for url in asked} == {"file"}
        assert len(asked) == 1


def test_contact_forces_are_drawn_over_the_robot(browser, tmp_path):
    builder = sf.ModelBuilder("ball")
    builder.add_body("ball", joint=sf.Free(), inertia=sf.spatial.solids.sphere(0.1, mass=2.0))
    model, ground = (
        builder.build(),
        sf.contact.Ground(points=[sf.contact.ContactPoint("ball", radius=0.1)]),
    )
    q = sf.neutral(model)
    q[2] = 0.12
    run = sf.simulate(model, q, None, 0.5, dt=1e-3, contacts=ground)
    path = sf.write_report(tmp_path / "ball.html", model, run)
    with page(browser, path.as_uri()) as (shown, _):
        until(lambda: shown.evaluate("!!window.sixfold"), "the page runs")
        shown.click("#play")
        pictures = []
        for time in (0.02, 0.5):
            shown.evaluate(f"sixfold.player.seek({time})")
            shown.wait_for_timeout(300)
            pictures.append(picture(shown, clip(shown)))
        # the ball falls without a force, and lies with one: orange, of the colours of a contact
        orange = [((p[..., 0] > 150) & (p[..., 2] < 90)).mean() for p in pictures]
        assert orange[1] > orange[0] + 0.001


def test_dark_pages_are_dark_and_narrow_ones_fit(written, browser):
    with page(browser, written.as_uri(), size=(390, 800), color_scheme="dark") as (shown, _):
        until(lambda: shown.evaluate("!!window.sixfold"), "the page runs")
        assert picture(shown, (0, 0, 20, 20)).mean() < 60
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390
        shown.click("#theme")
        assert picture(shown, (0, 0, 20, 20)).mean() > 200


def test_without_webgl_the_plots_still_work(written, browser):
    with page(browser, "about:blank") as (shown, _):
        shown.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        shown.goto(written.as_uri())
        until(lambda: shown.locator(".plot path").count() > 0, "the plots appear")
        assert shown.locator("#nogl").is_visible()
