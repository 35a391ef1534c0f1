"""The built documentation in a browser: no request to others, no dead link, nothing cut, search.

    make docs && python -m tests.long.site build/site

Every page is opened at the width of a desk and of a phone, one at all widths.  Takes about two
minutes.
"""

import argparse
import functools
import sys
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

from tests.viewer.support import chromium

WIDTHS = (1280, 390)
SOUGHT = ("apparent inverse inertia", "Phi", "articulated", "skeleton", "quaternion order")
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# what sticks out of the article without a box of its own that scrolls
CUT = """() => {
  const article = document.querySelector("article");
  if (!article) return [];
  const edge = article.getBoundingClientRect().right + 2;
  const scrolls = (e) => e !== article
    && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return [...article.querySelectorAll("table, pre, img, math, p, li")]
    .filter((e) => e.getBoundingClientRect().right > edge && !scrolls(e))
    .map((e) => `${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """Serve a folder on the loopback and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def visit(browser, base, names):
    """Open all pages at all widths; return faults, links and anchors."""
    faults, links, anchors = [], {}, {}
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(180_000)  # [ms]: other work may hold the machine up
        page.on("request", lambda r: foreign(r.url, base, faults))
        page.on("response", lambda r: r.status < 400 or faults.append(f"{r.status} for {r.url}"))
        for name in names:
            page.goto(base + name, wait_until="load")
            if page.evaluate(WIDE):
                faults.append(f"{name} is wider than {width} px")
            faults.extend(f"{name} at {width} px cuts {what}" for what in page.evaluate(CUT))
            every = "es => es.map(e => e.href)"
            links[name] = page.eval_on_selector_all("a[href]", every)
            anchors[name] = set(page.eval_on_selector_all("[id]", "es => es.map(e => e.id)"))
        page.close()
    return faults, links, anchors


def overflows(browser, base):
    """Yield the widths of a window at which the frame of a page is wider than the window."""
    page = browser.new_page()
    page.goto(base + "index.html", wait_until="load")
    for width in range(360, 1800, 20):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate(WIDE):
            yield f"index.html is wider than {width} px"


def foreign(url, base, faults):
    if not url.startswith((base, "data:")):
        faults.append(f"a request to {url}")


def dead(folder, base, links, anchors):
    """Yield the links within the site that lead nowhere."""
    for name, urls in links.items():
        for url in urls:
            if not url.startswith(base):
                continue
            path, _, anchor = unquote(url[len(base) :]).partition("#")
            path = path.partition("?")[0] or "index.html"
            known = anchors.get(path)
            if not (folder / path).is_file() or (anchor and known and anchor not in known):
                yield f"{name} links to {path}#{anchor}"


def search(browser, base):
    """Yield the words that the search page does not find."""
    page = browser.new_page()
    page.set_default_timeout(180_000)
    for words in SOUGHT:
        page.goto(f"{base}search.html?q={quote(words)}")
        page.wait_for_function("document.querySelector('.search-summary')?.textContent")
        page.wait_for_timeout(2000)
        titles = page.eval_on_selector_all("#search-results li > a", "es => es.map(e => e.text)")
        print(f"{words}: {len(titles)} pages, first {titles[:2]}")
        if not titles:
            yield f"the search does not find {words!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder with index.html")
    folder = parser.parse_args().site.resolve()
    html = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.html"))
    names = [name for name in html if not name.startswith(("_modules/", "_static/"))]
    assert "index.html" in names, f"{folder} holds no site"
    with served(folder) as base, chromium() as browser:
        faults, links, anchors = visit(browser, base, names)
        faults += dead(folder, base, links, anchors)
        faults += search(browser, base)
        faults += overflows(browser, base)
    print(f"{len(names)} pages, {sum(map(len, links.values()))} links, {len(faults)} faults")
    print("\n".join(sorted(set(faults))))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
