"""A browser to look at pages with, and what its pictures hold."""

import io
import shutil
import time
from contextlib import contextmanager

import numpy as np
import pytest

FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium():
    """Yield a browser, or skip and say what is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    pytest.importorskip("PIL", reason="pillow is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            headless=True, executable_path=program, args=list(FLAGS)
        )
        yield browser
        browser.close()


@contextmanager
def page(browser, url, **options):
    """Yield an open page and the list of all addresses that it asks for."""
    size = options.pop("size", (1000, 640))
    shown = browser.new_page(viewport={"width": size[0], "height": size[1]}, **options)
    asked = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.on("websocket", lambda socket: asked.append(socket.url))
    shown.goto(url)
    yield shown, asked
    shown.close()


def picture(shown, clip=None):
    """Return a picture of the page as an array (h, w, 3)."""
    from PIL import Image

    area = dict(zip(("x", "y", "width", "height"), clip, strict=True)) if clip else None
    data = shown.screenshot(clip=area)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def colored(pixels):
    """Return the share of pixels that are no shade of grey, as paper, grid and shadow are."""
    return float((np.ptp(pixels, axis=2) > 40).mean())


def changed(before, after):
    """Return the share of pixels that differ clearly."""
    return float((np.abs(before - after).max(axis=2) > 30).mean())


def until(condition, what, seconds=25.0):
    """Wait for a condition and return its value; software rendering takes its time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds} s in vain: {what}")
