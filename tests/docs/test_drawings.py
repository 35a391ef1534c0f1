"""The drawings of the book are what their script draws, and can be read on a phone."""

import re
import sys

import pytest

from tests.docs.blocks import DOCS

sys.path.insert(0, str(DOCS / "_ext"))
from drawings import DRAWINGS, SIZE, WIDTH, Drawing

LETTER = 0.58 * SIZE  # mean width of a letter of a sans-serif font
TEXT = re.compile(
    r'<text x="([\d.-]+)" y="([\d.-]+)" fill="(#\w+)" text-anchor="(\w+)">(.*)</text>'
)
NAMES = [draw.__name__ for draw in DRAWINGS]


def brightness(color):
    """Return the relative luminance of a colour such as #1d4ed8 (WCAG)."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("draw", DRAWINGS, ids=NAMES)
def test_a_drawing_is_that_of_the_script(draw):
    kept = (DOCS / "pictures" / f"{draw.__name__}.svg").read_text(encoding="utf-8")
    assert kept == draw().svg(), "run python docs/_ext/drawings.py docs/pictures"


@pytest.mark.parametrize("draw", DRAWINGS, ids=NAMES)
def test_a_drawing_is_on_a_page(draw):
    pages = [*DOCS.glob("*.md"), *DOCS.glob("book/*.md")]
    assert any(f"pictures/{draw.__name__}.svg)" in page.read_text("utf-8") for page in pages)


@pytest.mark.parametrize("draw", DRAWINGS, ids=NAMES)
def test_letters_stay_on_the_sheet_and_are_dark_on_white_paper(draw):
    drawing = draw()
    texts = TEXT.findall(drawing.svg())
    assert len(texts) >= 5 and WIDTH <= 400 and SIZE >= 14
    for x, y, color, anchor, spans in texts:
        width = LETTER * len(re.sub(r"<[^>]*>", "", spans))
        left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        assert left > -2 and left + width < WIDTH + 2, spans
        assert SIZE * 0.7 < float(y) < drawing.height - 2, spans
        assert 1.05 / (brightness(color) + 0.05) > 4.5, color  # contrast to white


def test_letters_outside_the_sheet_are_found():
    drawing = Drawing(100, "x")
    drawing.text((370, 50), "far too long", anchor="start")
    x, _, _, _, spans = TEXT.findall(drawing.svg())[0]
    assert float(x) + LETTER * len(re.sub(r"<[^>]*>", "", spans)) > WIDTH


def test_a_subscript_goes_down_and_the_next_letter_comes_back():
    drawing = Drawing(100, "x")
    drawing.text((10, 10), "f_{i+1} x^2")
    assert re.findall(r'dy="(-?\d+)"', drawing.svg()) == ["0", "4", "-4", "-6"]
