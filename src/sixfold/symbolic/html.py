"""Equations as a page of its own: MathML, which browsers show without any script or network."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from sixfold.errors import visible
from sixfold.symbolic.latex import latex
from sixfold.symbolic.polynomial import COSINE, SINE, Angle, Ring, Variable
from sixfold.symbolic.shorthand import TITLES, entries, number_text, term_names, used_angles
from sixfold.symbolic.simplify import Power, Product, Sum, Term

#: The page: light and dark, with contents, and buttons that copy LaTeX.
PAGE = Path(__file__).with_name("equations_page.html").read_text(encoding="utf-8")
#: Browsers run the script with this hash and no other one.
DIGEST = b64encode(
    sha256(PAGE.partition("<script>")[2].partition("</script>")[0].encode()).digest()
)

# -- formulas


POSITION = "<msub><mi>q</mi><mn>{}</mn></msub>"
OPEN, CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
PLUS, MINUS = '<mo form="infix">+</mo>', '<mo form="infix">&#x2212;</mo>'


def html(equations: Any, terms: str) -> str:
    """Return the page."""
    parts, sections = _parts(equations, terms)
    parts += [_section(k, *section) for k, section in enumerate(sections)]
    contents = "".join(
        f'<li><a href="#s{k}">{escape(title)}</a></li>' for k, (title, *_) in enumerate(sections)
    )
    title = escape(f"Equations of motion of {visible(equations.model.name)}")
    filled = {"title": title, "contents": contents, "body": "\n".join(parts)}
    return Template(PAGE).substitute(filled, digest=DIGEST)


def formulas(equations: Any, terms: str) -> str:
    """Return what stands on the page, for pages of others: no buttons, no contents."""
    parts, sections = _parts(equations, terms)
    return "\n".join([*parts, *(f"<h2>{escape(t)}</h2>\n{body}" for t, _, body in sections)])


def _parts(equations: Any, terms: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Return the first lines, and each section: title, LaTeX text, body."""
    write = Markup(equations.ring)
    parts = [
        f'<p class="motion">{_math(_motion())}</p>',
        '<p class="note">S and C are sine and cosine of the joint positions in the index; '
        "elements that are not listed are zero, M is symmetric. Every expression was compared with "
        f"the recursive algorithms on random states: {_errors(equations)}.</p>",
    ]
    sections = []
    if angles := used_angles(equations, terms):
        sections.append(("Shorthand", "", _shorthand(write, angles)))
    for term in term_names(terms):
        lines = "\n".join(_entry(write, entry) for entry in entries(equations, term))
        source = latex(equations, term, shorthand=True, document=False)
        sections.append((TITLES[term], source, lines))
    if numbers := _parameters(equations):
        sections.append(("Parameters", "", numbers))
    return parts, sections


def _section(k: int, title: str, source: str, body: str) -> str:
    """Return a part of the page; with a button that copies its LaTeX text, if there is one."""
    button = f'<button type="button" data-of="l{k}">copy LaTeX</button>' if source else ""
    kept = f'<pre id="l{k}" hidden="hidden">{escape(source)}</pre>' if source else ""
    return f'<section><h2 id="s{k}">{escape(title)}{button}</h2>{kept}\n{body}</section>'


def _errors(equations: Any) -> str:
    worst = max(equations.errors.values())
    return f"largest relative difference {worst:.1e}"


def _motion() -> str:
    q = _mi("q")
    moved = f"<mover>{q}<mo>&#x00A8;</mo></mover>"
    rate = f"<mover>{q}<mo>&#x02D9;</mo></mover>"

    def of(letter: str, *inside: str) -> str:
        return f"{_mi(letter)}{OPEN}{'<mo>,</mo>'.join(inside)}{CLOSE}"

    return (
        f"{of('M', q)}{moved}<mo>+</mo>{of('V', q, rate)}<mo>+</mo>{of('G', q)}<mo>+</mo>"
        f"{of('F', q, rate)}<mo>=</mo>{_mi('τ')}"
    )


def _shorthand(write: Markup, angles: list[int]) -> str:
    rows = []
    for k in angles:
        angle = write.ring.angles[k]
        for v, word in ((angle.sine, "sin"), (angle.cosine, "cos")):
            full = f"<mi>{word}</mi><mo>&#x2061;</mo>{OPEN}{_angle_text(angle, POSITION)}{CLOSE}"
            rows.append(f"<p>{_math(f'{write.variable(v, 1)}<mo>=</mo>{full}')}</p>")
    return f'<div class="columns">{"".join(rows)}</div>'


def _entry(write: Markup, entry: Any) -> str:
    letter = {"tau": "τ"}.get(entry.term, entry.term)
    index = "<mo>,</mo>".join(f"<mn>{k}</mn>" for k in entry.indices)
    name = f"<msub>{_mi(letter)}<mrow>{index}</mrow></msub>" if index else _mi(letter)
    # each piece is a formula of its own, so that the line may break between them
    pieces = write.pieces(entry.value) or ["<mn>0</mn>"]
    pieces[0] = _leading(pieces[0])
    spans = "".join(_math(piece) for piece in pieces)
    return f'<div class="eq">{_math(f"{name}<mo>=</mo>")}{spans}</div>'


def _parameters(equations: Any) -> str:
    rows = "".join(
        f"<p>{_math(f'{_name(name)}<mo>=</mo><mn>{value:.6g}</mn>')}</p>"
        for name, value in equations.values.items()
    )
    return rows and f'<div class="columns">{rows}</div>'


def _leading(piece: str) -> str:
    """Return the first piece of a sum: no plus, and a minus that belongs to what follows."""
    if piece.startswith(PLUS):
        return piece.removeprefix(PLUS)
    return piece.replace(MINUS, '<mo form="prefix">&#x2212;</mo>', 1)


class Markup:
    """Writes sums as pieces of MathML between which a line may break."""

    def __init__(self, ring: Ring) -> None:
        """Take the ring."""
        self.ring = ring

    def pieces(self, total: Sum) -> list[str]:
        """Return the parts of a sum, each with its sign."""
        return total.map_parts(self._term, self._bracket)

    def _bracket(self, product: Product) -> list[str]:
        inner = self.pieces(product.inner)
        head = f"{PLUS}{self._factors(product.head)}"
        inner[0] = f"{head}{OPEN}{_leading(inner[0])}"
        inner[-1] += CLOSE
        return inner

    def _term(self, term: Term) -> str:
        sign = MINUS if term.number < 0 else PLUS
        size, factors = number_text(abs(term.number)), self._factors(term.powers)
        if "/" in size:
            top, bottom = size.split("/")
            number = f"<mfrac><mn>{top}</mn><mn>{bottom}</mn></mfrac>"
        else:
            number = "" if size == "1" and factors else f"<mn>{size}</mn>"
        return f"{sign}{number}{factors}"

    def _factors(self, powers: tuple[Power, ...]) -> str:
        return '<mspace width="0.17em"/>'.join(self.variable(v, n) for v, n in powers)

    def variable(self, v: Variable, n: int) -> str:
        """Return a power of a variable."""
        if v.kind in (COSINE, SINE):
            letter = "S" if v.kind == SINE else "C"
            index = _angle_text(self.ring.angles[v.angle], "<mn>{}</mn>")
            if n == 1:
                return f"<msub>{_mi(letter)}<mrow>{index}</mrow></msub>"
            return f"<msubsup>{_mi(letter)}<mrow>{index}</mrow><mn>{n}</mn></msubsup>"
        return _name(v.name, n)


def _angle_text(angle: Angle, position: str) -> str:
    """Return the name of a constant angle, or a sum of positions."""
    if angle.name:
        return _name(angle.name)
    return _sum([(n, position.format(j + 1)) for j, n in angle.combination])


def _sum(parts: list[tuple[int, str]]) -> str:
    text = "".join(
        f"<mo>{'+' if n > 0 else '&#x2212;'}</mo>{'' if abs(n) == 1 else f'<mn>{abs(n)}</mn>'}{x}"
        for n, x in parts
    )
    return text.removeprefix("<mo>+</mo>")


_ACCENT = {"qd": "&#x02D9;", "qdd": "&#x00A8;"}
_GREEK = {"al": "\u03b1", "be": "\u03b2", "ga": "\u03b3"}


def _name(name: str, power: int = 1) -> str:
    """Return a name as a letter with an index, raised to a power."""
    # qd2 is q with a dot and index 2, al1 is alpha 1, any other name a letter and an index
    match = re.fullmatch(r"(qdd|qd|q|al|be|ga)(\d+)", name)
    letter, index = (match[1], match[2]) if match else (name[0], name[1:])
    base = _mi(_GREEK.get(letter, letter[0]))
    if letter in _ACCENT:
        base = f"<mover>{base}<mo>{_ACCENT[letter]}</mo></mover>"
    if power == 1:
        return f"<msub>{base}<mi>{escape(index)}</mi></msub>" if index else base
    raised = f"<mn>{power}</mn>"
    if not index:
        return f"<msup>{base}{raised}</msup>"
    return f"<msubsup>{base}<mi>{escape(index)}</mi>{raised}</msubsup>"


def _mi(text: str) -> str:
    return f"<mi>{escape(text)}</mi>"


def _math(inside: str) -> str:
    return f"<math><mrow>{inside}</mrow></math>"
