"""Formulas as MathML, which browsers set themselves: no script and no request.

A browser needs a font with the tables of mathematics to place indices and to stretch brackets, and
many systems have none.  So the site carries one: the letters that its formulas use, out of STIX Two
Math (SIL Open Font License), which comes with the package ziamath.
"""

import logging
import re
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

FONT = "STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)
TAG_OR_ENTITY = re.compile(r"<[^>]*>")
# letters that browsers take for <mi>x</mi>: italic latin and greek, and what brackets are built of
ITALIC = (*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x210E, 0x2044, 0x20D7)


def _text(node):
    return node.astext().replace(r"\label{}", "")


def inline(self, node):
    self.body.append(convert(_text(node), display="inline"))
    raise nodes.SkipNode


def block(self, node):
    self.body.append(f'<div class="math">{convert(_text(node), display="block")}</div>')
    raise nodes.SkipNode


def letters(pages):
    """Return the code points of all formulas in the HTML pages of a folder."""
    import html

    found = set(
        map(ord, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ()[]{}|+-=,.")
    )
    for page in pages:
        for formula in FORMULA.findall(page.read_text(encoding="utf-8")):
            found |= set(map(ord, html.unescape(TAG_OR_ENTITY.sub("", formula))))
    return found | set(ITALIC)


def write_font(app, error):
    """Write the font of the formulas next to the pages, once they are all there."""
    if error is not None or app.builder.format != "html":
        return
    from fontTools import subset
    from fontTools.ttLib import TTFont

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # pages may have switched INFO on
    package = find_spec("ziamath")
    assert package is not None and package.origin, "the font is in the package ziamath"
    out = Path(app.outdir)
    options = subset.Options(layout_features=["*"], name_IDs=["*"], notdef_outline=True)
    font = TTFont(Path(package.origin).parent / "fonts" / FONT)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=letters(sorted(out.rglob("*.html"))))
    subsetter.subset(font)
    font.flavor = "woff"
    font.save(out / "_static" / "math.woff")


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True}
