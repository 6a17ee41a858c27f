"""Tests of the site as one archive, after `make site`: each kind of page works without a server after unpacking."""

import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest
from archive import ARCHIVE, FOLDER
from notebooks import names
from playwright.sync_api import sync_playwright

from nfa.ledger import documents
from tests.project.site_check import chromium, console, formulas, images, links, visit_at

OTHERS = ("index", "search", "student", "generated/errata", "generated/moving", "generated/experiments/index")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of the unpacked archive. Its name has a space and a letter that addresses encode differently."""
    place = tmp_path_factory.mktemp("my téléchargements")
    with zipfile.ZipFile(ARCHIVE) as archive:
        assert archive.testzip() is None
        assert {name.split("/")[0] for name in archive.namelist()} == {FOLDER}
        archive.extractall(place)
    return place / FOLDER


@pytest.fixture(scope="module")
def pages(folder):
    papers = [f"generated/papers/{paper}" for paper in documents()]
    return visit_at(f"{folder.as_uri()}/", [f"{name}.html" for name in (*OTHERS, *names(), *papers)])


def test_formulas_pictures_links_and_scripts_work(pages, folder):
    assert [*formulas(pages), *images(pages), *links(pages, folder), *console(pages)] == []
    for name in names():
        look = pages[f"{name}.html"].look
        assert look["formulas"]["count"], name
        assert len(look["images"]) > 1, name


def test_nothing_is_asked_of_another_machine(pages, folder):
    own = (f"{folder.as_uri()}/", "data:", "blob:")
    assert [url for page in pages.values() for url in page.requests if not url.startswith(own)] == []


def test_no_link_leads_to_a_folder(folder):
    """No link leads to a folder, because a browser without a server would show the folder's list of files."""
    link = re.compile(r'<a [^>]*href="((?![a-z]+:)[^"#]*/|\.{1,2})["#]')
    assert {path.name for path in folder.rglob("*.html") if link.search(path.read_text(encoding="utf-8"))} == set()


def test_the_search_finds_a_page_and_opens_it(folder):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1300, "height": 900})
        tab.set_default_timeout(120_000)  # milliseconds; enough for a busy machine
        failed = []
        tab.on("pageerror", lambda error: failed.append(str(error)))
        tab.on("console", lambda said: failed.append(said.text) if said.type == "error" else None)
        tab.goto(f"{folder.as_uri()}/index.html")
        tab.fill("input[name=q]", "ternary")
        tab.press("input[name=q]", "Enter")
        found = tab.wait_for_selector("#search-results li a")
        tab.wait_for_function("() => /Search finished/.test(document.querySelector('#search-results').textContent)")
        assert tab.locator("#search-results li a").count() > 3
        found.click()
        tab.wait_for_load_state()
        assert unquote(tab.url).startswith(unquote(folder.as_uri()))
        assert "ternary" in tab.locator("article").inner_text().lower()
        browser.close()
    assert failed == []
