"""Tests of the built site in a browser: formulas, links, requests, phone width, dark mode (`make site-check`).

The file is not part of the test suite, because pytest does not collect its name. It needs build/site, playwright and
Chromium. The browser opens every page once, with the width of a phone. A script in the page (site_check.js) reports the
properties of the page. Each function of `CHECKS` searches this report for one kind of fault, and describes each fault
in a sentence. The last tests use small broken pages. The checks must find the faults of these pages.
"""

import asyncio
import functools
import gzip
import http.server
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from markup import anchor
from playwright.async_api import BrowserContext, ConsoleMessage, async_playwright

from nfa import ledger
from nfa.ledger import OURS, documents
from tests.project.tree import ROOT

SITE = ROOT / "build" / "site"
PHONE = {"width": 390, "height": 844}
TABS = 3  # tabs that load pages at the same time; if one of them waits for a page, the others go on
LOOK = (Path(__file__).parent / "site_check.js").read_text(encoding="utf-8")
THEMES = ("light", "auto", "dark")  # auto: the system asks for the dark theme


@dataclass
class Page:
    """The browser's report on one page. The names in `look` are those of site_check.js."""

    name: str
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    look: dict[str, Any] = field(default_factory=dict)
    colours: dict[str, dict[str, list]] = field(default_factory=dict)


Pages = dict[str, Page]


# --- the browser


def chromium() -> str:
    """The path of the system's Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    assert found, "the site is checked in Chromium, and there is none in PATH: install chromium or google-chrome"
    return found


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing. Connections stay open, and the browser may cache scripts."""

    protocol_version = "HTTP/1.1"

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, format, *args):
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Start a server for the folder, at an address of this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def visit(folder: Path) -> Pages:
    """Open every page of a folder on a server."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    with served(folder) as address:
        return visit_at(address, names)


def visit_at(address: str, names: list[str]) -> Pages:
    """Open these pages below an address."""
    return asyncio.run(_visit(address, [Page(name) for name in names]))


async def _visit(address: str, pages: list[Page]) -> Pages:
    async with async_playwright() as playwright:
        # Host names of other machines are unknown to this browser, so a request to another machine fails and is
        # recorded.
        alone = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        browser = await playwright.chromium.launch(executable_path=chromium(), args=[alone])
        context = await browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True, reduced_motion="reduce")
        context.set_default_navigation_timeout(120_000)  # milliseconds; enough for a busy machine
        todo = iter(pages)
        await asyncio.gather(*(_tab(context, address, todo) for _ in range(TABS)))
        await browser.close()
    return {page.name: page for page in pages}


def _told(said: ConsoleMessage) -> str:
    """A message of a script, with the script's file."""
    return f"{said.text} ({said.location['url']})"


async def _tab(context: BrowserContext, address: str, todo: Iterator[Page]) -> None:
    """One tab of the browser, which opens the pages one after another."""
    tab = await context.new_page()
    page = Page("")
    tab.on("request", lambda request: page.requests.append(request.url))
    tab.on("websocket", lambda socket: page.requests.append(socket.url))
    tab.on("console", lambda said: page.console.append(_told(said)) if said.type == "error" else None)
    tab.on("pageerror", lambda error: page.console.append(str(error)))
    for page in todo:  # the handlers above add to this page
        await tab.emulate_media(color_scheme="light")
        await tab.goto(address + page.name)
        for theme in THEMES:
            await tab.emulate_media(color_scheme="dark" if theme == "auto" else "light")
            found = await tab.evaluate(LOOK, {"width": PHONE["width"], "theme": theme})
            page.colours[theme] = {name: found.pop(name) for name in ("faint", "bare")}
            page.look |= found
        for link in page.look["links"]:
            link["to"] = link["to"].removeprefix(address)
    await tab.close()


# --- what is wrong


def formulas(pages: Pages) -> Iterator[str]:
    """Every formula is drawn, and nothing else is drawn as a formula."""
    told = {
        "unrendered": "is not drawn",
        "errors": "is no TeX that MathJax understands",
        "stray": "is drawn as a formula and is none",
        "raw": "shows its source",
    }
    for page in pages.values():
        for kind, wrong in told.items():
            yield from (f"{page.name}: {text!r} {wrong}" for text in page.look["formulas"][kind])


def console(pages: Pages) -> Iterator[str]:
    """No script fails, and no file is missing."""
    for page in pages.values():
        for text in page.console:
            if not text.endswith("/favicon.ico)"):  # browsers request this file without a link
                yield f"{page.name}: the browser says {text!r}"


def links(pages: Pages, folder: Path = SITE) -> Iterator[str]:
    """Every link inside the site leads to an existing page and to an existing label on this page."""
    for page in pages.values():
        for target in sorted({link["to"] for link in page.look["links"]}):
            path, fragment = map(unquote, urldefrag(target))
            if urlsplit(target).scheme:
                continue
            path = f"{path}index.html" if path.endswith("/") or not path else path
            if path not in pages and not (folder / path).is_file():
                yield f"{page.name}: a link to {path}, which is not there"
            elif fragment and path in pages and fragment not in pages[path].look["anchors"]:
                yield f"{page.name}: a link to {path}#{fragment}, and that page has no such place"


def images(pages: Pages) -> Iterator[str]:
    """Every picture exists."""
    for page in pages.values():
        for image in page.look["images"]:
            if not image["loaded"]:
                yield f"{page.name}: the picture {image['src']} is not there"


def requests(pages: Pages) -> Iterator[str]:
    """No page sends a request to another machine."""
    for page in pages.values():
        for url in page.requests:
            if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1":
                yield f"{page.name}: asks for {url}"


def phone(pages: Pages) -> Iterator[str]:
    """On a phone, no page scrolls sideways, all text is inside the window, and no text is tiny."""
    for page in pages.values():
        look = page.look["phone"]
        if look["width"] > PHONE["width"]:
            yield f"{page.name}: {look['width']} pixels wide on a phone of {PHONE['width']}"
        yield from (f"{page.name}: {text!r} ends beyond the edge of a phone" for text in look["outside"])
        yield from (f"{page.name}: {text!r} is tiny" for text in look["tiny"])
        if look["body"] < 14:
            yield f"{page.name}: paragraphs in letters of {look['body']:g} pixels"


def colours(pages: Pages) -> Iterator[str]:
    """In every theme, text has a contrast of at least 4.5, and each picture has a background on which it is visible."""
    for page in pages.values():
        for theme, found in page.colours.items():
            for one in found["faint"]:
                yield f"{page.name}, {theme}: {one['text']!r} has contrast {one['contrast']:.1f}, {one['colors']}"
            yield from (f"{page.name}, {theme}: {src} is transparent on a dark ground" for src in found["bare"])


CHECKS: dict[str, Callable[[Pages], Iterator[str]]] = {
    check.__name__: check for check in (formulas, console, links, images, requests, phone, colours)
}


# --- the site. pytest-xdist gives this whole file to one process, so that the site is opened once


@pytest.fixture(scope="module")
def pages() -> Pages:
    """The whole site, opened once."""
    assert (SITE / "index.html").is_file(), f"there is no site in {SITE}: run make site first"
    return visit(SITE)


@pytest.mark.parametrize("check", CHECKS)
def test_the_site(pages, check):
    found = list(CHECKS[check](pages))
    assert not found, "\n".join([f"{len(found)} findings", *found[:100]])


def test_pages_and_site_are_light():
    """Every page loads fast on a phone's network, and the whole site fits on a free host.

    Web hosts send pages compressed by gzip, so the test measures the compressed pages.
    """
    sent = {path.name: len(gzip.compress(path.read_bytes())) for path in SITE.rglob("*.html")}
    heavy = {name: size for name, size in sent.items() if size > 120_000}
    assert not heavy
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 45e6


def test_the_code_pages_are_of_our_own_code():
    """The code pages show only nfa's code, not the Python classes of some objects."""
    assert {path.name for path in (SITE / "_modules").iterdir()} == {"index.html", "nfa"}


def test_there_was_something_to_look_at(pages):
    """The browser has found pages, formulas, pictures and links; an empty folder would pass the other tests."""
    looks = [page.look for page in pages.values()]
    counts = {
        "pages": len(pages),
        "formulas": sum(look["formulas"]["count"] for look in looks),
        "pictures": sum(len(look["images"]) for look in looks),
        "links": sum(len({link["to"] for link in look["links"]}) for look in looks),
        "places": sum(len(look["anchors"]) for look in looks),
    }
    print("\n" + ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    least = {"pages": 300, "formulas": 800, "pictures": 50, "links": 10_000, "places": 10_000}
    assert all(counts[what] >= least[what] for what in least), counts


def test_every_false_verdict_is_one_click_from_the_cell_that_shows_it(pages):
    """Each false statement and its erratum link to the tutorial's cell that shows it, which links back."""
    false = [item for item in ledger.items() if item.verdict == "false"]
    assert len(false) > 10
    for item in false:
        name, cell = anchor(item.id), f"shown-{anchor(item.id)}"
        tutorial = f"{Path(item.tutorial).stem}.html"
        statement = f"generated/papers/{item.paper}.html"
        assert cell in pages[tutorial].look["anchors"], f"{tutorial} has no cell {cell}"
        from_here = [link["to"] for link in pages[statement].look["links"] if name in link["from"]]
        assert f"{tutorial}#{cell}" in from_here, f"{item.id} does not lead to the cell that shows it"
        for page, target in (("generated/errata.html", f"{tutorial}#{cell}"), (tutorial, f"{statement}#{name}")):
            assert target in [link["to"] for link in pages[page].look["links"]], f"{page} does not lead to {target}"


def test_a_verdict_that_names_another_statement_links_to_it(pages):
    """A statement's name in brackets in a verdict's prose is a link; in formulas and commands it stays plain text."""
    found, own = 0, (*documents(), OURS)
    for item in ledger.items():
        prose = " ".join(line for line in item.right.split("\n") if not line.startswith(" "))
        for name in re.findall(r"\(([a-z]+\d{4}:[^ ,;()]+)\)", prose):
            other = ledger.find(name)
            page, target = (
                f"generated/papers/{one.paper if one.paper in own else 'external'}.html" for one in (item, other)
            )
            links = [link["to"] for link in pages[page].look["links"] if anchor(item.id) in link["from"]]
            assert f"{target}#{anchor(other.id)}" in links, f"{item.id} does not lead to {name}"
            found += 1
    assert found > 40


# --- broken pages

HEAD = """<!doctype html><html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><script defer src="tex-svg-full.js"></script>
<style>body { background: white; color: black; } @media (prefers-color-scheme: dark) { body { background: black;
color: white; } } body[data-theme=dark] { background: black; color: white; } a { color: inherit; }
pre { overflow-x: auto; }</style></head>"""
SOUND = """<p>A <a href="#here">link</a> and <span class="math">\\(x^2\\)</span>.
<pre id="here">a very long line of output that scrolls in its box, for it is wider than any phone is</pre>
<details><summary>More</summary>folded</details></p>"""
WIDE = "<td>" + "".join(f"column{i}</td><td>" for i in range(20)) + "</td>"
TRANSPARENT = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='9' height='9'%3E"
    "%3Ccircle r='4' cx='4' cy='4'/%3E%3C/svg%3E"
)
BROKEN = {
    "formulas: bad TeX": (r'<span class="math">\(\frac{1}\)</span>', "is no TeX that MathJax understands"),
    "formulas: unknown macro": (r'<span class="math">\(\nosuch\)</span>', "is no TeX that MathJax understands"),
    "formulas: braces": (r'<span class="math">\(\frac{1\)</span>', "is not drawn"),
    "formulas: no delimiters": ('<span class="math">x^2</span>', "'x^2' is not drawn"),
    "formulas: not recognised": (r"<p>so \(x</p>", r"'so \\(x' shows its source"),
    "formulas: dollars in an output": (r"<pre>x</pre><p>\(5\)</p>", "is drawn as a formula and is none"),
    "console: a script fails": ("<script>nowhere.to.be.found</script>", "nowhere is not defined"),
    "links: no page": ('<a href="gone.html">gone</a>', "a link to gone.html, which is not there"),
    "links: no place": ('<a href="other.html#gone">gone</a>', "a link to other.html#gone, and that page has no such"),
    "images: no picture": ('<img src="gone.png" alt="">', "gone.png is not there"),
    "requests: a picture": ('<img src="http://example.com/x.png" alt="">', "asks for http://example.com/x.png"),
    "requests: a script by number": ('<script src="https://192.0.2.1/x.js"></script>', "asks for https://192.0.2.1/x"),
    "requests: a font": (
        "<style>@font-face { font-family: f; src: url(http://example.com/f.woff2); } p { font-family: f; }</style>",
        "asks for http://example.com/f.woff2",
    ),
    "phone: a wide table": (f"<table><tr>{WIDE}</tr></table>", "pixels wide on a phone of 390"),
    "phone: cut off": (
        f'<div style="overflow: hidden"><table><tr>{WIDE}</tr></table></div>',
        "'column19' ends beyond the edge of a phone",
    ),
    "phone: tiny": ('<p style="font-size: 8px">fine print</p>', "'fine print' is tiny"),
    "colours: grey on white": ('<p style="color: #999">faint</p>', "light: 'faint' has contrast 2.8"),
    "colours: only when the system is dark": (
        "<style>@media (prefers-color-scheme: dark) { p { color: #333 } }</style>",
        "auto: 'A' has contrast 1.7",
    ),
    "colours: only when dark is chosen": (
        "<style>[data-theme=dark] p { color: #333 }</style>",
        "dark: 'A' has contrast",
    ),
    "colours: half transparent": ('<p style="opacity: 1; color: rgb(0 0 0 / 40%)">half</p>', "light: 'half' has contr"),
    "colours: folded": ('<details><p style="color: #999">faint</p></details>', "light: 'faint' has contrast 2.8"),
    "colours: a drawing": (f'<img src="{TRANSPARENT}" alt="">', "is transparent on a dark ground"),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Pages:
    """A folder with a correct page and with pages that have one fault each."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "tex-svg-full.js").symlink_to(SITE / "_static" / "tex-svg-full.js")
    bodies = {"other": "", **{re.sub(r"\W+", "-", name): body for name, (body, _) in BROKEN.items()}}
    for name, body in bodies.items():
        text = f"{HEAD}<body><article>{SOUND}{body}</article></body></html>"
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return visit(folder)


def test_a_sound_page_has_no_finding(broken):
    for check in CHECKS.values():
        assert list(check({"other.html": broken["other.html"]})) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(broken, name):
    check, page = name.partition(":")[0], re.sub(r"\W+", "-", name) + ".html"
    found = list(CHECKS[check]({page: broken[page], "other.html": broken["other.html"]}))
    assert found, f"nothing was found; the browser says {broken[page].console}"
    assert all(one.startswith(page) for one in found)
    assert any(BROKEN[name][1] in one for one in found), found
