"""Equations as a page of its own: MathML, which browsers show without any script or network."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any

from sixfold.errors import visible
from sixfold.symbolic.latex import latex
from sixfold.symbolic.polynomial import COSINE, SINE, Angle, Ring, Variable
from sixfold.symbolic.shorthand import TITLES, entries, number_text, term_names, used_angles
from sixfold.symbolic.simplify import Power, Product, Sum, Term

# -- the page: light and dark, with contents


STYLE = """
:root { --ink: #1c1a17; --soft: #6a645a; --paper: #fdfcf9; --line: #e3ddd0; --accent: #8a3b12;
  color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e3d8; --soft: #a39b8b; --paper: #17161a; --line: #35322e; --accent: #e39a6b; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1.06rem/1.6 "Iowan Old Style", "Palatino Linotype", Palatino, "TeX Gyre Pagella",
    "Libertinus Serif", "STIX Two Text", "DejaVu Serif", Georgia, serif; }
.page { display: grid; grid-template-columns: 13rem minmax(0, 52rem); gap: 3.5rem;
  justify-content: center; padding: 3rem 1.5rem 5rem; }
nav { position: sticky; top: 3rem; align-self: start; font-size: .92rem; line-height: 1.4; }
nav ol { list-style: none; margin: 0; padding: 0; border-left: 1px solid var(--line); }
nav a { display: block; padding: .25rem 0 .25rem .9rem; color: var(--soft); text-decoration: none; }
nav a:hover { color: var(--accent); }
h1 { font-size: 1.9rem; font-weight: 500; line-height: 1.2; margin: 0 0 1.4rem;
  overflow-wrap: anywhere; }
h2 { display: flex; align-items: baseline; gap: 1rem; font-size: 1.25rem; font-weight: 500;
  margin: 2.6rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h2 button { margin-left: auto; font: .8rem/1.4 inherit; font-family: inherit; color: var(--soft);
  background: none; border: 1px solid var(--line); border-radius: .3rem; padding: .1rem .6rem;
  cursor: pointer; }
h2 button:hover, h2 button:focus-visible { color: var(--accent); border-color: var(--accent); }
math { font-size: 1.1rem; font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math",
  "Libertinus Math", "TeX Gyre Pagella Math", "TeX Gyre Termes Math", "XITS Math", "STIX Math",
  "Noto Sans Math", "DejaVu Math TeX Gyre", math, serif; }
.motion { text-align: center; margin: 1.6rem 0; } .motion math { font-size: 1.25rem; }
.eq { display: flex; flex-wrap: wrap; align-items: baseline; gap: .35rem .3rem;
  margin: .7rem 0 .7rem 5rem; }
.eq > :first-child { margin-left: -5rem; min-width: 4.7rem; justify-content: end;
  text-align: right; }
.note { color: var(--soft); }
.columns { columns: 13rem; } .columns p { margin: .15rem 0; break-inside: avoid; }
@media (max-width: 60rem) {
  .page { grid-template-columns: minmax(0, 1fr); gap: 1.5rem; padding: 1.5rem 1rem 3rem; }
  nav { position: static; } nav ol { border: 0; display: flex; flex-wrap: wrap; gap: 0 1rem; }
  nav a { padding: .1rem 0; }
  .eq { margin-left: 1.5rem; } .eq > :first-child { margin-left: -1.5rem; min-width: 0; }
}
@media print { nav, h2 button { display: none; } .page { display: block; padding: 0; } }
"""

SCRIPT = """
for (const button of document.querySelectorAll("h2 button")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.of).textContent;
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select();
      done = document.execCommand("copy"); area.remove();
    }
    button.textContent = done ? "copied" : "not copied";
    setTimeout(() => { button.textContent = "copy LaTeX"; }, 1500);
  });
}
"""

#: Browsers run the script with this hash and no other one.
DIGEST = b64encode(sha256(SCRIPT.encode()).digest()).decode()

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div class="page">
<nav aria-label="contents"><ol>{contents}</ol></nav>
<main>
<h1>{title}</h1>
{body}
</main>
</div>
<script>{script}</script>
</body>
</html>
"""


# -- formulas


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
    return PAGE.format(**filled, style=STYLE, script=SCRIPT, digest=DIGEST)


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
            full = f"<mi>{word}</mi><mo>&#x2061;</mo>{OPEN}{_inside(angle)}{CLOSE}"
            rows.append(f"<p>{_math(f'{write.variable(v, 1)}<mo>=</mo>{full}')}</p>")
    return f'<div class="columns">{"".join(rows)}</div>'


def _entry(write: Markup, entry: Any) -> str:
    letter = {"tau": "τ"}.get(entry.term, entry.term)
    index = "<mo>,</mo>".join(f"<mn>{k}</mn>" for k in entry.indices)
    name = f"<msub>{_mi(letter)}<mrow>{index}</mrow></msub>" if index else _mi(letter)
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
            index = _label(self.ring.angles[v.angle])
            if n == 1:
                return f"<msub>{_mi(letter)}<mrow>{index}</mrow></msub>"
            return f"<msubsup>{_mi(letter)}<mrow>{index}</mrow><mn>{n}</mn></msubsup>"
        return _name(v.name, n)


def _label(angle: Angle) -> str:
    if angle.name:
        return _name(angle.name)
    return _sum([(n, f"<mn>{j + 1}</mn>") for j, n in angle.combination])


def _inside(angle: Angle) -> str:
    if angle.name:
        return _name(angle.name)
    return _sum([(n, f"<msub><mi>q</mi><mn>{j + 1}</mn></msub>") for j, n in angle.combination])


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
