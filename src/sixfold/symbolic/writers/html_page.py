"""The page that equations are set on: a book's, in light and dark, with contents."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

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

DIGEST = b64encode(sha256(SCRIPT.encode()).digest()).decode()
"""Browsers run the script with this hash and no other one."""

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
